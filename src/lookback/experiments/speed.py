"""What do the abstractions cost? The book's models against bare torch.

RNNsearch against the same sizes written directly on nn.GRU and nn.GRUCell,
the Transformer against the same sizes of torch.nn.Transformer: both of a
couple train on the same batches in turn, so that their ratio does not depend on
how busy the machine is. Decoding is timed for one sentence at a time and for
a hundred together, and for the Transformer with its cache of keys and values
and without. The rungs of the ladder take turns, too. Writes
records/speed.json.

    python -m lookback.experiments.speed
"""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.attention import causal
from lookback.experiments.runs import campaign
from lookback.lab import phrasebook, training
from lookback.lab.corpus import Batch, Pair, collate, pad
from lookback.lab.decoding import greedy
from lookback.ladder import RUNGS, way_to
from lookback.positions import sinusoidal
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator
from lookback.vocabulary import END, PAD, START, Vocabulary

VOCAB, BATCH, ROUNDS = 6000, 64, 15
PIECES = 3000  # the vocabulary of the rungs
LONGEST = 20  # words decoded
TURNS = 5  # of decoding


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


class BareTransformer(nn.Module):
    """torch.nn.Transformer between embeddings and a tied output."""

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.E_x = nn.Embedding(config.source_vocab, config.d_model, PAD)
        self.E_y = nn.Embedding(config.target_vocab, config.d_model, PAD)
        self.body = nn.Transformer(
            config.d_model,
            config.heads,
            config.layers,
            config.layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        for layer in (*self.body.encoder.layers, *self.body.decoder.layers):
            layer.dropout.p = 0.0  # ours, and the paper, drop only what each
            layer.self_attn.dropout = 0.0  # sublayer gives back
        for layer in self.body.decoder.layers:
            layer.multihead_attn.dropout = 0.0
        self.rate = config.dropout

    def embed(self, table, tokens):
        x = table(tokens) * table.embedding_dim**0.5
        pe = sinusoidal(*x.shape[1:], device=x.device)
        return F.dropout(x + pe, self.rate)

    def forward(self, source, target_in):
        none = source == PAD
        y = self.body(
            self.embed(self.E_x, source),
            self.embed(self.E_y, target_in),
            tgt_mask=~causal(target_in.shape[1], source.device),
            src_key_padding_mask=none,
            memory_key_padding_mask=none,
            tgt_is_causal=True,
        )
        return F.linear(y, self.E_y.weight)


class Uncached(Transformer):
    """Reads its whole translation again before every next word."""

    def start(self, memory):
        return Prefix(memory.mask.new_zeros(len(memory.mask), 0).long())

    def step(self, token, state, memory):
        tokens = torch.cat([state.tokens, token[:, None]], dim=1)
        return self.decode(tokens, memory)[:, -1], Prefix(tokens), None


class Prefix(NamedTuple):
    """The words so far."""

    tokens: Tensor


def seconds(model, optimizer, batch) -> float:
    """One training step, timed."""
    started = time.perf_counter()
    logits = model(batch.source, batch.target_in)
    loss = training.loss(logits, batch.target_out)
    optimizer.zero_grad(set_to_none=True)
    (loss / (batch.target_out != PAD).sum()).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    loss.item()  # waits for the device
    return time.perf_counter() - started


def rates(models: dict, batches: list) -> dict[str, float]:
    """Median training tokens/s of each, all on the same batches in turn."""
    optimizers = {
        name: torch.optim.Adam(model.parameters())
        for name, model in models.items()
    }
    found: dict[str, list[float]] = {name: [] for name in models}
    for turn in range(ROUNDS + 1):
        for batch in batches:
            words = int((batch.target_out != PAD).sum())
            for name, model in models.items():
                spent = seconds(model, optimizers[name], batch)
                if turn:  # the first round warms up
                    found[name].append(words / spent)
    return {name: median(each) for name, each in found.items()}


def decoding(cases: dict) -> dict[str, float]:
    """Median seconds of each case, (model, batches of sentences), in turn."""
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(TURNS):
        for name, (model, parts) in cases.items():
            started = time.perf_counter()
            for rows in parts:
                greedy(model, rows, longest=LONGEST)
            spent[name].append(time.perf_counter() - started)
    return {name: median(each) for name, each in spent.items()}


@torch.no_grad()
def writing(model: Translator, source: Tensor) -> float:
    """Tokens/s of greedy decoding; nobody may stop before LONGEST words."""
    started = time.perf_counter()
    memory = model.encode(source)
    state = model.start(memory)
    token = torch.full((len(source),), START, device=source.device)
    for _ in range(LONGEST):
        logits, state, _ = model.step(token, state, memory)
        token = logits.argmax(dim=-1)
    token.tolist()  # waits for the device
    return LONGEST * len(source) / (time.perf_counter() - started)


def paces(models: dict[str, Translator]) -> dict[str, dict[str, float]]:
    """Tokens/s of each model in training and in greedy decoding.

    All take turns on the same phrasebook sentences, so that their ratios do
    not depend on how busy the machine is.
    """
    device = next(iter(models.values())).device
    batches = batched(*phrases(2), device)
    trained = rates(models, batches)
    decoded: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(TURNS):
        for name, model in models.items():
            decoded[name].append(writing(model.eval(), batches[0].source))
    return {
        name: {"train": trained[name], "decode": median(decoded[name])}
        for name in models
    }


def phrases(count: int) -> tuple[list[Pair], Vocabulary, Vocabulary]:
    """So many batches of the phrasebook's sentences, and both vocabularies."""
    sentences = phrasebook.sample(BATCH * count, seed=0)
    pairs = [Pair(each.source, each.target) for each in sentences]
    source, target = (Vocabulary(words) for words in phrasebook.words())
    return pairs, source, target


def batched(
    pairs: list[Pair],
    source: Vocabulary,
    target: Vocabulary,
    device: torch.device,
) -> list[Batch]:
    """The same, on the device."""
    return [
        collate(pairs[i : i + BATCH], source, target).to(device)
        for i in range(0, len(pairs), BATCH)
    ]


def compare(device: torch.device) -> dict:
    """Both couples, decoding, and the rungs of the ladder."""
    pairs, source, target = phrases(4)
    batches = batched(pairs, source, target, device)
    torch.manual_seed(0)
    search = RNNsearch(RNNsearchConfig(VOCAB, VOCAB)).to(device)
    config = TransformerConfig(VOCAB, VOCAB)
    ours = Transformer(config).to(device)
    typical = rates({"ours": search, "bare": Bare().to(device)}, batches)
    theirs = BareTransformer(config).to(device)
    other = rates({"ours": ours, "torch": theirs}, batches)
    again = Uncached(config).to(device)
    again.load_state_dict(ours.state_dict())
    numbers = pad([[*source.encode(p.source), END] for p in pairs[:100]])
    numbers = numbers.to(device)
    spent = decoding(
        {
            "alone": (search, numbers.split(1)),
            "together": (search, numbers.split(100)),
            "cached": (ours, numbers.split(25)),
            "uncached": (again, numbers.split(25)),
        }
    )
    rungs = {
        name: RUNGS[name].make(PIECES, PIECES).to(device)
        for name in way_to("transformer")
    }
    return {
        "rungs": paces(rungs),
        "tokens_per_second": typical["ours"],
        "bare_tokens_per_second": typical["bare"],
        "ratio": typical["ours"] / typical["bare"],
        "transformer_tokens_per_second": other["ours"],
        "torch_tokens_per_second": other["torch"],
        "transformer_ratio": other["ours"] / other["torch"],
        "decode_seconds": spent,
        "decode_ratio": spent["alone"] / spent["together"],
        "cache_ratio": spent["uncached"] / spent["cached"],
    }


def run(seed: int, folder: Path) -> dict:
    """Everything, in one go: the times are compared with each other."""
    results = compare(training.device())
    print(results)
    return {"measured": results}


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "speed",
        __doc__,
        {"models": run},
        lambda found: found["models"][0]["measured"],
        config={"batch": BATCH, "rounds": ROUNDS, "vocab": VOCAB},
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
