"""What has each change since 2017 bought, on one small GPT?

Two layers of width 64 read tinyshakespeare letter by letter. One flag of
`GPTConfig` is switched on at a time; then several together, which is
the machine of today. All get as many letters and updates. With the first seed
each has an attempt at each of a few learning rates, of which the validation
text keeps one for all seeds. Those that differ in where they look read the test
text in longer windows too. Today's machine is also trained at other widths, and
for fewer and more updates, at the first of the rates: how the loss falls, with
the error of the fitted line. Last, writing with the cache of keys and values
and without. Writes records/modern_gpt.json.

    python -m lookback.experiments.modern_gpt
    python -m lookback.experiments.modern_gpt --only RoPE ALiBi
"""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from statistics import mean, median, stdev

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from lookback.experiments.runs import campaign, kept
from lookback.lab import corpus, download
from lookback.lab.significance import mean_and_spread
from lookback.lab.training import device
from lookback.modern_gpt import GPT, GPTConfig, generate, imbalance, routing

SEEDS = 3
UPDATES, BATCH, CONTEXT = 500, 16, 64  # letters in a window of training
RATES = (1e-2, 2e-2)  # Adam's, after the warm-up; then falling to 0
WARMUP, CLIP = 50, 1.0
BALANCE = 0.01  # how much `imbalance` counts, as in Fedus et al.
SHARES = (0.9, 0.05)  # of the text: training, validation; the rest is the test
ASKED = 20_000  # letters of the validation text that choose the rate
LENGTHS = (64, 128, 256, 512)  # windows of the test; the first as trained
FAR = ("2017", "RoPE", "ALiBi", "window", "today")  # are given all of them
OLD = GPTConfig()
TODAY = replace(
    OLD,
    norm="pre",
    rms=True,
    activation="swiglu",
    positions="rope",
    kv_heads=2,
)
CHANGES = {
    "2017": OLD,
    "pre-norm": replace(OLD, norm="pre"),
    "RMSNorm": replace(OLD, rms=True),
    "GELU": replace(OLD, activation="gelu"),
    "SwiGLU": replace(OLD, activation="swiglu"),
    "RoPE": replace(OLD, positions="rope"),
    "ALiBi": replace(OLD, positions="alibi"),
    "GQA": replace(OLD, kv_heads=2),
    "MQA": replace(OLD, kv_heads=1),
    "experts": replace(OLD, experts=4),
    "window": replace(OLD, window=16),
    "today": TODAY,
}
WIDTHS, BUDGETS = (16, 32, 128), (125, 250, 1000)  # beside 64 and UPDATES
LONG = ("1000 updates", "width 128")  # minutes each: may be recorded later
PASSAGE = 1000  # letters; do experts know of passages?
WRITTEN = (64, 128, 256, 512)  # letters that are written, for the clock
PROMPT, SAID = "KING RICHARD:\n", 240  # what a trained one goes on from


def wide(width: int) -> GPTConfig:
    """Today's machine, narrower or wider."""
    return replace(TODAY, d_model=width, d_ff=4 * width)


@cache
def letters() -> dict[str, int]:
    """A number for each of the text's letters and signs."""
    return {sign: i for i, sign in enumerate(sorted(set(corpus.shakespeare())))}


@cache
def texts() -> tuple[Tensor, Tensor, Tensor]:
    """Training, validation and test text, as numbers, [letters] each."""
    whole = torch.tensor([letters()[sign] for sign in corpus.shakespeare()])
    first, second = (int(share * len(whole)) for share in SHARES)
    return whole.split([first, second, len(whole) - first - second])


def lesson(text: Int[Tensor, " letters"]) -> Int[Tensor, "batch longer"]:
    """Windows from anywhere, each one letter longer than the context."""
    first = torch.randint(len(text) - CONTEXT, (BATCH, 1))
    return text[first + torch.arange(CONTEXT + 1)]


def cost(model: GPT, window: Int[Tensor, "batch longer"]) -> Tensor:
    """Mean nats a letter; with experts their imbalance as well."""
    with routing(model) as routes:
        logits = model(window[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
    for p in routes:
        loss = loss + BALANCE * imbalance(p)
    return loss


def teach(
    config: GPTConfig,
    rate: float,
    seed: int,
    text: Tensor,
    updates: int = UPDATES,
) -> GPT:
    """A new model, trained; the same seed draws the same windows."""
    torch.manual_seed(seed)
    model = GPT(config).to(device())
    adam = torch.optim.Adam(model.parameters(), rate, fused=True)
    torch.manual_seed(seed)
    for update in range(updates):
        now = rate * min(1, (update + 1) / WARMUP) * (1 - update / updates)
        for group in adam.param_groups:
            group["lr"] = now
        loss = cost(model, lesson(text).to(device()))
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adam.step()
    return model.eval()


@torch.no_grad()
def nats(model: GPT, text: Int[Tensor, " letters"], length: int) -> float:
    """Mean nats a letter, in the second half of windows of this length.

    The letters that are asked for are the same whatever the length, and each
    is asked for once, from length/2 + 1 to length letters before it.
    """
    half, most = length // 2, max(LENGTHS) // 2
    count = (len(text) - 1 - most) // most * most
    starts = torch.arange(most - half, most - half + count, half)
    total = 0.0
    for some in starts.split(max(1, 4096 // length)):
        window = text[some[:, None] + torch.arange(length + 1)].to(device())
        logits = model(window[:, :-1])[:, half:].flatten(0, 1)
        asked = window[:, half + 1 :].flatten()
        total += F.cross_entropy(logits, asked, reduction="sum").item()
    return total / count


def attempt(
    config: GPTConfig, rate: float, seed: int, updates: int
) -> tuple[GPT, dict]:
    """Train once; what the validation text says, and the CPU's seconds."""
    train, valid, _ = texts()
    began = time.process_time()
    model = teach(config, rate, seed, train, updates)
    spent = time.process_time() - began
    found = nats(model, valid[:ASKED], LENGTHS[0])
    return model, {"rate": rate, "valid": found, "cpu_seconds": spent}


def run(
    config: GPTConfig,
    seed: int,
    updates: int,
    lengths: Sequence[int],
    rates: Sequence[float],
) -> dict:
    """One seed: an attempt at each rate, and the better one's test."""
    tried = [attempt(config, rate, seed, updates) for rate in rates]
    model, best = min(tried, key=lambda one: one[1]["valid"])
    _, _, test = texts()
    found = {
        "attempts": [one for _, one in tried],
        "rate": best["rate"],
        "parameters": sum(p.numel() for p in model.parameters()),
        "nats": {str(n): nats(model, test, n) for n in lengths},
        "said": said(model, seed),
    }
    if config.experts > 1:
        found["experts"] = [
            routed(model, test, k) for k in range(config.layers)
        ]
    return found


def rates_of(folder: Path) -> Sequence[float]:
    """All of them for the first seed of a part; for the others the one that
    it chose."""
    part = folder.name.rpartition("-")[0]
    first = folder.with_name(f"{part}-0") / "result.json"
    if first.parent != folder and (chosen := kept(first)):
        return (chosen["rate"],)
    return RATES


def said(model: GPT, seed: int) -> str:
    """What it writes after the prompt."""
    torch.manual_seed(seed)
    given = torch.tensor([[letters()[sign] for sign in PROMPT]])
    ids = generate(model, given.to(device()), SAID, temperature=0.8)[0].tolist()
    signs = list(letters())
    return "".join(signs[i] for i in ids)


@torch.no_grad()
def routed(model: GPT, text: Tensor, layer: int) -> dict:
    """Which expert takes which letter, and what predicts the expert.

    In bits: how much one knows of the expert who knows the letter that is
    read; the letter before it; the passage of PASSAGE letters that it is in.
    """
    count = len(text) // CONTEXT * CONTEXT
    windows = text[:count].view(-1, CONTEXT)
    chosen = []
    for some in windows.split(64):
        with routing(model) as routes:
            model(some.to(device()))
        chosen.append(routes[layer].argmax(dim=-1).cpu())
    expert = torch.cat(chosen).flatten()
    letter, place = text[:count], torch.arange(count)
    before = letter.roll(1)
    inside = place % CONTEXT > 0  # the first of a window sees none before
    table = crossed(letter, expert, len(letters()), model.config.experts)
    return {
        "entropy": entropy(table.sum(0)),
        "letter": shared(table),
        "before": shared(
            crossed(
                before[inside],
                expert[inside],
                len(letters()),
                model.config.experts,
            )
        ),
        "passage": shared(
            crossed(
                place // PASSAGE,
                expert,
                count // PASSAGE + 1,
                model.config.experts,
            )
        ),
        "share": (table.sum(0) / count).tolist(),
        "letters": {
            sign: (row / row.sum()).tolist()
            for sign, row in zip(letters(), table, strict=True)
            if row.sum() >= 100
        },
    }


def crossed(rows: Tensor, columns: Tensor, high: int, wide: int) -> Tensor:
    """How often each row's name meets each column's, [high, wide]."""
    both = torch.bincount(rows * wide + columns, minlength=high * wide)
    return both.view(high, wide).double()


def entropy(counts: Tensor) -> float:
    """−Σ p log₂ p, in bits."""
    p = counts[counts > 0] / counts.sum()
    return float(-(p * p.log2()).sum())


def shared(table: Tensor) -> float:
    """The mutual information of rows and columns, in bits."""
    sides = entropy(table.sum(0)) + entropy(table.sum(1))
    return sides - entropy(table.flatten())


@torch.no_grad()
def clocked(seed: int) -> dict:
    """Seconds to write so many letters, with the cache and without, and what
    the cache then holds, counted."""
    torch.manual_seed(seed)
    model = GPT(TODAY).to(device()).eval()
    given = torch.zeros(1, 1, dtype=torch.long, device=device())
    generate(model, given, 8)  # the first call is slower
    found = {}
    for count in WRITTEN:
        seconds = {}
        for name in ("cached", "anew"):
            began = time.process_time()
            generate(
                model, given, count, cached=name == "cached", temperature=0.0
            )
            seconds[name] = time.process_time() - began
        caches = model.start()
        whole = torch.zeros(1, count, dtype=torch.long, device=device())
        model(whole, caches)
        kept = sum(cache.bytes() for cache in caches)
        found[str(count)] = seconds | {"bytes": kept}
    return {"written": found}


def fitted(points: Sequence[tuple[float, float]]) -> dict:
    """The line ln(loss) = a + b ln(x) by least squares; b's standard error."""
    xs, ys = ([math.log(z) for z in side] for side in zip(*points, strict=True))
    middle, level = mean(xs), mean(ys)
    wide = sum((x - middle) ** 2 for x in xs)
    slope = (
        sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True))
        / wide
    )
    start = level - slope * middle
    left = sum(
        (y - start - slope * x) ** 2 for x, y in zip(xs, ys, strict=True)
    )
    error = math.sqrt(left / (len(xs) - 2) / wide)
    return {
        "start": start,
        "slope": slope,
        "error": error,
        "points": [list(one) for one in points],
    }


def over_seeds(runs: list[dict]) -> dict:
    """Mean and spread of the test's nats, and every run."""

    def of(length: str) -> dict:
        each = [one["nats"][length] for one in runs]
        return {
            "mean": mean(each),
            "spread": stdev(each) if len(each) > 1 else None,
        }

    return {
        "nats": {n: of(n) for n in runs[0]["nats"]},
        "parameters": runs[0]["parameters"],
        "rates": [one["rate"] for one in runs],
        "cpu_seconds": mean(
            each["cpu_seconds"] for one in runs for each in one["attempts"]
        ),
        "runs": runs,
    }


def gain(old: list[dict], new: list[dict]) -> dict:
    """How much lower the loss is, seed by seed: the same windows."""
    own = str(LENGTHS[0])
    each = [
        a["nats"][own] - b["nats"][own] for a, b in zip(old, new, strict=False)
    ]
    return mean_and_spread(each)


def summary(found: dict[str, list[dict]]) -> dict:
    """Every part over its seeds; each gain; the two lines."""
    clock = found["clock"]
    results = {
        name: over_seeds(runs)
        for name, runs in found.items()
        if name != "clock"
    }
    for name, runs in found.items():
        if name != "clock":
            results[name]["gain"] = gain(found["2017"], runs)
    own = str(LENGTHS[0])

    def dots(names) -> list[tuple[float, float]]:
        return [
            (float(x(one)), one["nats"][own])
            for name, x in names.items()
            for one in found.get(name, [])
        ]

    each = BATCH * CONTEXT
    by_weights = ["today", *(f"width {w}" for w in WIDTHS)]
    by_letters = {"today": UPDATES} | {f"{u} updates": u for u in BUDGETS}
    results["lines"] = {
        "weights": fitted(
            dots({name: lambda one: one["parameters"] for name in by_weights})
        ),
        "letters": fitted(
            dots(
                {
                    name: lambda _, u=u: u * each
                    for name, u in by_letters.items()
                }
            )
        ),
    }
    results["clock"] = {
        n: {
            "cached": median(one["written"][n]["cached"] for one in clock),
            "anew": median(one["written"][n]["anew"] for one in clock),
            "ratio": median(
                one["written"][n]["anew"] / one["written"][n]["cached"]
                for one in clock
            ),
            "bytes": clock[0]["written"][n]["bytes"],
        }
        for n in clock[0]["written"]
    } | {"runs": clock}
    return results


def parts() -> dict:
    """What is run, by its name."""

    def changed(name: str):
        lengths = LENGTHS if name in FAR else LENGTHS[:1]
        return lambda seed, folder: run(
            CHANGES[name], seed, UPDATES, lengths, rates_of(folder)
        )

    def scaled(config, updates=UPDATES):
        return lambda seed, folder: run(
            config, seed, updates, LENGTHS[:1], RATES[:1]
        )

    def timed(seed: int, folder: Path) -> dict:
        return clocked(seed)

    return (
        {name: changed(name) for name in CHANGES}
        | {f"{u} updates": scaled(TODAY, u) for u in BUDGETS}
        | {f"width {w}": scaled(wide(w)) for w in WIDTHS}
        | {"clock": timed}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "modern_gpt",
        __doc__,
        parts(),
        summary,
        config={
            "updates": UPDATES,
            "batch": BATCH,
            "context": CONTEXT,
            "rates": list(RATES),
            "warmup": WARMUP,
            "clip": CLIP,
            "balance": BALANCE,
            "shares": list(SHARES),
            "asked": ASKED,
            "lengths": list(LENGTHS),
            "widths": list(WIDTHS),
            "budgets": list(BUDGETS),
            "passage": PASSAGE,
            "prompt": PROMPT,
            "old": asdict(OLD),
            "today": asdict(TODAY),
        },
        data={"tinyshakespeare": download.SHAKESPEARE_SHA256},
        seeds=SEEDS,
        needed=[part for part in parts() if part not in LONG],
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
