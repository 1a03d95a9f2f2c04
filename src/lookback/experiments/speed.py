"""What do the abstractions cost? RNNsearch against the bare loop.

The same sizes are written directly on nn.GRU and nn.GRUCell, with nothing in
between, and both train on the same batches in turn, so that their ratio does
not hang on how busy the machine is. Decoding is timed for one sentence at a
time and for a hundred together. Writes records/speed.json.

    python -m lookback.experiments.speed
"""

import time
from statistics import median

import torch
from torch import nn
from torch.nn import functional as F

from lookback.lab import phrasebook, records, training
from lookback.lab.corpus import END, PAD, Pair, Vocabulary, collate, pad
from lookback.lab.decoding import greedy
from lookback.rnnsearch import RNNsearch, RNNsearchConfig

VOCAB, BATCH, ROUNDS = 6000, 64, 15


class Bare(nn.Module):
    """RNNsearch in one forward, as one would type it for speed alone."""

    def __init__(self, size: int = 256):
        super().__init__()
        self.E_x = nn.Embedding(VOCAB, size, PAD)
        self.E_y = nn.Embedding(VOCAB, size, PAD)
        self.encoder = nn.GRU(size, size, batch_first=True, bidirectional=True)
        self.cell = nn.GRUCell(3 * size, size)
        self.W = nn.Linear(size, size, bias=False)
        self.U = nn.Linear(2 * size, size)
        self.v = nn.Parameter(torch.zeros(size))
        self.bridge = nn.Linear(size, size)
        self.maxout = nn.Linear(4 * size, 2 * size)
        self.output = nn.Linear(size, VOCAB)

    def forward(self, source, target_in):
        mask = source != PAD
        packed = nn.utils.rnn.pack_padded_sequence(
            F.dropout(self.E_x(source), 0.2),
            mask.sum(1).cpu(),
            batch_first=True,
            enforce_sorted=False,
        )
        h, _ = nn.utils.rnn.pad_packed_sequence(
            self.encoder(packed)[0], batch_first=True
        )
        keys = self.U(h)
        s = torch.tanh(self.bridge(h[:, 0, h.shape[-1] // 2 :]))
        y = F.dropout(self.E_y(target_in), 0.2)
        states, contexts = [], []
        for i in range(y.shape[1]):
            e = torch.tanh(self.W(s)[:, None] + keys) @ self.v
            a = e.masked_fill(~mask, -torch.inf).softmax(-1)
            c = torch.einsum("bs,bsd->bd", a, h)
            s = self.cell(torch.cat([y[:, i], c], -1), s)
            states.append(s)
            contexts.append(c)
        s = F.dropout(torch.stack(states, 1), 0.2)
        t = self.maxout(torch.cat([s, y, torch.stack(contexts, 1)], -1))
        return self.output(t.unflatten(-1, (-1, 2)).amax(-1))


def seconds(model, optimizer, batch) -> float:
    """One training step, timed."""
    started = time.perf_counter()
    loss = training.loss(model(batch.source, batch.target_in), batch.target_out)
    optimizer.zero_grad(set_to_none=True)
    (loss / (batch.target_out != PAD).sum()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    loss.item()  # waits for the device
    return time.perf_counter() - started


def compare(device: torch.device) -> dict:
    """Training tokens/s of both, in turn; decoding with and without batch."""
    sentences = phrasebook.sample(BATCH * 4, seed=0)
    pairs = [Pair(each.source, each.target) for each in sentences]
    source, target = (Vocabulary(words) for words in phrasebook.words())
    torch.manual_seed(0)
    ours = RNNsearch(RNNsearchConfig(VOCAB, VOCAB)).to(device)
    models = {"ours": ours, "bare": Bare().to(device)}
    optimizers = {
        k: torch.optim.Adam(m.parameters()) for k, m in models.items()
    }
    batches = [
        collate(pairs[i : i + BATCH], source, target).to(device)
        for i in range(0, len(pairs), BATCH)
    ]
    rates: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(ROUNDS + 1):
        for batch in batches:
            words = int((batch.target_out != PAD).sum())
            for name, model in models.items():
                spent = seconds(model, optimizers[name], batch)
                if turn:  # the first round warms up
                    rates[name].append(words / spent)
    typical = {name: median(each) for name, each in rates.items()}
    numbers = pad([[*source.encode(p.source), END] for p in pairs[:100]])
    numbers = numbers.to(device)
    spent = {}
    for name, size in (("alone", 1), ("together", 100)):
        started = time.perf_counter()
        for rows in numbers.split(size):
            greedy(ours, rows, longest=20)
        spent[name] = time.perf_counter() - started
    return {
        "tokens_per_second": typical["ours"],
        "bare_tokens_per_second": typical["bare"],
        "ratio": typical["ours"] / typical["bare"],
        "decode_seconds": spent,
        "decode_ratio": spent["alone"] / spent["together"],
    }


def main() -> None:
    started = time.perf_counter()
    results = compare(training.device())
    print(results)
    records.save(
        "speed",
        config={"batch": BATCH, "rounds": ROUNDS, "vocab": VOCAB},
        seeds=[0],
        data={},
        device=training.device(),
        wall_seconds=time.perf_counter() - started,
        results=results,
    )


if __name__ == "__main__":
    main()
