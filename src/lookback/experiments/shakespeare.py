"""Our small GPT beside nanoGPT's, on Shakespeare, letter by letter.

nanoGPT (Karpathy, MIT licence) names settings for a computer without a GPU and
says what they come to: a validation loss of 1.88 after about three minutes.
Here its machine is written anew from its formulae (GPT-2's block and first
weights, AdamW, a rate that falls along a cosine) with those settings, and
beside it learns the book's own body, by the book's own training, from the same
batches; from a few less, so that it takes no longer. The third is nanoGPT's at
our rate: one change. All are asked for every letter of the last tenth of the
text, in pieces of 64. One thread, float32; seconds are the processor's.

    python -m lookback.experiments.shakespeare

writes records/shakespeare.json.
"""

import math
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import mean

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.experiments.families import over_seeds
from lookback.experiments.runs import campaign
from lookback.families import Body, BodyConfig, attention_mask
from lookback.lab import corpus
from lookback.lab.download import SHAKESPEARE_SHA256

SEEDS = 3
BLOCK, BATCH, UPDATES = 64, 12, 2_000  # nanoGPT's for a CPU, as all below
FEWER = 1_850  # updates of ours, each of which takes a little longer
LAYERS, HEADS, D = 4, 4, 128
PUBLISHED = 1.88  # and what its README says they come to
RATE, LEAST, WARMUP, CLIP = 1e-3, 1e-4, 100, 1.0
BETAS, DECAY = (0.9, 0.99), 0.1
OURS = 3e-3  # our rate, which falls straight to 0
EVERY = 100  # updates of a point on the curve
MACHINES = ("ours", "nanoGPT", "nanoGPT, our rate")


@lru_cache
def letters() -> tuple[Tensor, Tensor, int]:
    """The text as numbers: nine tenths to learn, one to be asked for."""
    text = corpus.shakespeare()
    known = {letter: i for i, letter in enumerate(sorted(set(text)))}
    numbers = torch.tensor([known[letter] for letter in text])
    cut = int(0.9 * len(numbers))
    return numbers[:cut], numbers[cut:], len(known)


class Block(nn.Module):
    """GPT-2's: x + attention(LN(x)), x + feed-forward(LN(x)), no biases."""

    def __init__(self):
        super().__init__()
        self.first = nn.LayerNorm(D, bias=False)
        self.maps = nn.Linear(D, 3 * D, bias=False)  # W_Q, W_K and W_V
        self.out = nn.Linear(D, D, bias=False)
        self.second = nn.LayerNorm(D, bias=False)
        self.W_1 = nn.Linear(D, 4 * D, bias=False)
        self.W_2 = nn.Linear(4 * D, D, bias=False)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        q, k, v = (
            each.unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for each in self.maps(self.first(x)).chunk(3, dim=-1)
        )
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.W_2(F.gelu(self.W_1(self.second(x))))


class Nano(nn.Module):
    """nanoGPT's machine: E[letter] + P[place], blocks, and E read backwards.

    All maps and tables are drawn with a standard deviation of 0.02; those that
    write to the stream of x with 0.02 / √(2 layers).
    """

    def __init__(self, vocab: int):
        super().__init__()
        self.letters = nn.Embedding(vocab, D)
        self.places = nn.Embedding(BLOCK, D)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.last = nn.LayerNorm(D, bias=False)
        for name, part in self.named_parameters():
            if part.ndim == 2:
                writes = name.endswith(("out.weight", "W_2.weight"))
                by = math.sqrt(2 * LAYERS) if writes else 1
                nn.init.normal_(part, std=0.02 / by)

    def forward(
        self, given: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        places = torch.arange(given.shape[1])
        x = self.blocks(self.letters(given) + self.places(places))
        return F.linear(self.last(x), self.letters.weight)


class Ours(nn.Module):
    """The book's body with GPT's mask; no letter is padding."""

    def __init__(self, vocab: int):
        super().__init__()
        config = BodyConfig(vocab + 1, D, HEADS, LAYERS, 4 * D, 0.0, BLOCK)
        self.body = Body(config)

    def forward(
        self, given: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        tokens = given + 1
        return self.body(tokens, attention_mask(tokens[:1], "GPT"))[..., 1:]


def rate(name: str, update: int) -> float:
    """Up for WARMUP updates; then nanoGPT's half cosine, or ours."""
    if name == "ours":
        return OURS * min(1, (update + 1) / WARMUP) * (1 - update / FEWER)
    top = OURS if name == "nanoGPT, our rate" else RATE
    if update < WARMUP:
        return top * (update + 1) / (WARMUP + 1)
    share = (update - WARMUP) / (UPDATES - WARMUP)
    return LEAST + (top - LEAST) * (1 + math.cos(math.pi * share)) / 2


def optimizer(name: str, model: nn.Module) -> torch.optim.Optimizer:
    """Our Adam; or AdamW, under which the matrices shrink and no vector."""
    if name == "ours":
        return torch.optim.Adam(model.parameters(), OURS, betas=(0.9, 0.98))
    parts = list(model.parameters())
    groups = [
        {"params": [p for p in parts if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in parts if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, RATE, betas=BETAS)


def asked(model: nn.Module, given: Tensor, wanted: Tensor) -> Tensor:
    """−log p a letter."""
    return F.cross_entropy(model(given).flatten(0, 1), wanted.flatten())


@torch.no_grad()
def validation(model: nn.Module) -> float:
    """Nats a letter, over the last tenth of the text in pieces of BLOCK."""
    _, text, _ = letters()
    count = (len(text) - 1) // BLOCK
    given = text[: count * BLOCK].view(count, BLOCK)
    wanted = text[1 : count * BLOCK + 1].view(count, BLOCK)
    split = zip(given.split(100), wanted.split(100), strict=True)
    total = sum(asked(model, a, b).item() * b.numel() for a, b in split)
    return total / wanted.numel()


def run(name: str, seed: int, folder: Path) -> dict:
    """One of MACHINES; all get the same batches."""
    text, _, vocab = letters()
    torch.manual_seed(seed)
    model = Ours(vocab) if name == "ours" else Nano(vocab)
    adam, losses, spent = optimizer(name, model), [], 0.0
    for update in range(FEWER if name == "ours" else UPDATES):
        torch.manual_seed(1_000_003 * seed + update)
        start = torch.randint(len(text) - BLOCK, (BATCH,))
        piece = text[start[:, None] + torch.arange(BLOCK + 1)]
        began = time.process_time()
        for group in adam.param_groups:
            group["lr"] = rate(name, update)
        loss = asked(model, piece[:, :-1], piece[:, 1:])
        adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adam.step()
        spent += time.process_time() - began
        losses.append(loss.item())
    return {
        "nats": validation(model),
        "seconds": spent,
        "weights": sum(part.numel() for part in model.parameters()),
        "curve": [
            round(mean(losses[i : i + EVERY]), 4)
            for i in range(0, len(losses), EVERY)
        ],
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Each machine over the seeds."""
    return {
        name: {
            "weights": runs[0]["weights"],
            "curve": [one["curve"] for one in runs],
            "nats": over_seeds([one["nats"] for one in runs]),
            "seconds": over_seeds([one["seconds"] for one in runs]),
        }
        for name, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "shakespeare",
        __doc__,
        {name: partial(run, name) for name in MACHINES},
        summary,
        config={
            "block": BLOCK,
            "batch": BATCH,
            "updates": UPDATES,
            "layers": LAYERS,
            "heads": HEADS,
            "d_model": D,
            "published": PUBLISHED,
            "rate": RATE,
            "least": LEAST,
            "warmup": WARMUP,
            "clip": CLIP,
            "betas": list(BETAS),
            "decay": DECAY,
            "ours": OURS,
            "fewer": FEWER,
        },
        data={"input.txt": SHAKESPEARE_SHA256},
        seeds=SEEDS,
        device=torch.device("cpu"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
