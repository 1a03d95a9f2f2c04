"""Where is the key? How many hops does it take to know?

Stories of `lab.stories`, whose questions need one fact, two or three. Networks
with one, two and three hops learn from the same stories and answers, all three
kinds of question together; for their first updates they have no softmax, the
paper's linear start. Of the others three differ from the network with three
hops in one thing each: no linear start, ages with gaps, stories of many
lengths. Two differ in one thing from the one without the start: it is "told"
the supporting facts (strong supervision), or has "hard" attention. These three
and the one with three hops learn at a quarter of the rate too, and that without
the start at half of it. Two differ from the single hop: one has no temporal
encoding ("no ages"), the other vectors so long that it has as many parameters
as three hops. The memory network of 2014 stands by itself, with hard attention
and strong supervision. All are asked about longer stories too.

    python -m lookback.experiments.memory_networks

writes records/memory_networks.json, and the weights of the network with gaps.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from statistics import mean, stdev

import torch
from torch.nn import functional as F

from lookback.experiments.runs import campaign
from lookback.lab import weights
from lookback.lab.story_task import (
    NAMES,
    Batch,
    collate,
    follow,
    stories,
    vocabulary,
)
from lookback.lab.training import device
from lookback.memory_networks import (
    MemN2N,
    MemNN,
    MemoryConfig,
    ages,
    hinge_loss,
    scattered,
)
from lookback.vocabulary import PAD

SEEDS = 5
STORIES, TESTS = 6_000, 400  # of each kind of question
HELD_OUT = 1_000_000  # the seed of the stories that nobody learns from
UPDATES, BATCH, RATE, CLIP = 1600, 128, 0.02, 1.0  # Adam, falling to 0
START = 400  # updates without softmax: the linear start
LENGTH, LENGTHS = 12, (12, 18, 30)  # sentences; the first is trained on
WIDE = 64  # numbers in a vector of the wide hop
SOLVED = 0.9  # of the answers right
EVERY = 400  # updates between two points of a curve
NETWORKS = (
    "1 hop",
    "1 wide hop",
    "2 hops",
    "3 hops",
    "3 hops, a quarter",
    "no ages",
    "no start",
    "no start, half the rate",
    "no start, a quarter",
    "told",
    "told, a quarter",
    "hard",
    "hard, a quarter",
    "gaps",
    "long",
    "memory network",
)
SLOWER = {"half the rate": 0.5, "a quarter": 0.25}
PLAIN = ("no start", "told", "hard", "memory network")  # no linear start
KEPT = "gaps"  # whose weights the book shows, those of the first seed


def kind(name: str) -> str:
    """What a network is, whatever its rate."""
    return name.partition(", ")[0]


@lru_cache(maxsize=16)
def gather(seed: int, count: int, length: int) -> Batch:
    """So many stories of each kind of question, one kind after another."""
    told = [
        one for facts in NAMES for one in stories(seed, count, length, facts)
    ]
    return collate(told, vocabulary())


def lessons(name: str, seed: int) -> list[Batch]:
    """What a network learns from: one batch for each length of story."""
    lengths = LENGTHS if name == "long" else (LENGTH,)
    count = STORIES // len(lengths)
    return [gather(seed, count, length) for length in lengths]


def network(name: str) -> MemN2N | MemNN:
    """Untrained, and sent to the device."""
    few = {"1 hop": 1, "1 wide hop": 1, "no ages": 1, "2 hops": 2}.get(name, 3)
    d = WIDE if name == "1 wide hop" else MemoryConfig.d
    config = MemoryConfig(len(vocabulary()), few, d)
    model = (MemNN if name == "memory network" else MemN2N)(config)
    if name == "no ages":
        for rows in model.ages:
            rows.requires_grad_(False).zero_()
    return model.to(device())


def loss(
    name: str, model: MemN2N | MemNN, batch: Batch, starts: bool = False
) -> torch.Tensor:
    """What a batch of stories costs: the answer and, if told, the hops.

    While it `starts` it has no softmax.
    """
    if isinstance(model, MemNN):
        scores, looks = model(
            batch.story, batch.question, batch.facts, batch.support
        )
        cost = hinge_loss(scores, batch.answer)
        for k, look in enumerate(looks):
            known = batch.support[:, k] >= 0
            right = batch.support[:, k].clamp(min=0)
            cost = cost + known * hinge_loss(look, right)
        return cost.mean()
    old = None
    if name == "gaps":
        old = scattered(*batch.story.shape[:2], model.config.ages, device())
    temperature = None if starts else temperature_of(name)
    logits, looks = model(batch.story, batch.question, old, temperature)
    cost = F.cross_entropy(logits, batch.answer)
    if kind(name) == "told":
        for k, p in enumerate(looks):
            known = batch.support[:, k] >= 0
            right = p.gather(1, batch.support[:, k : k + 1].clamp(min=0))
            cost = cost - (known * right[:, 0].clamp_min(1e-30).log()).mean()
    return cost


@torch.no_grad()
def asked(
    model, batch: Batch, oldest: int | None = None, temperature: float = 1.0
):
    """Who is right, [batch], and each hop's weights (or scores).

    With `oldest` all that is older has this age.
    """
    batch = batch.to(device())
    if isinstance(model, MemNN):
        scores, looks = model(batch.story, batch.question, batch.facts)
    else:
        old = None
        if oldest is not None:
            old = ages(batch.story.ne(PAD).any(dim=-1)).clamp(max=oldest)
        scores, looks = model(batch.story, batch.question, old, temperature)
    right = scores.argmax(dim=-1) == batch.answer
    return right.float(), looks


def by_facts(numbers: torch.Tensor) -> dict[str, float]:
    """The mean for each kind of question; they stand one after another."""
    parts = numbers.float().chunk(len(NAMES))
    return {
        str(facts): float(part.mean())
        for facts, part in zip(NAMES, parts, strict=True)
    }


def looked(model, batch: Batch, temperature: float = 1.0) -> tuple[dict, dict]:
    """On which sentence each hop's largest weight is, by the question's facts.

    The first has a row for each hop, and in it how often that was each of the
    facts, in the order of need; the second says how often none was missed.
    """
    _, looks = asked(model, batch, temperature=temperature)
    best = torch.stack([look.argmax(dim=-1).cpu() for look in looks], dim=1)
    hits = best[:, :, None] == batch.support[:, None, :]
    parts = hits.float().chunk(len(NAMES))
    missed = (~hits.any(dim=1) & (batch.support >= 0)).any(dim=1)
    rows = {
        str(facts): part.mean(dim=0)[:, :facts].tolist()
        for facts, part in zip(NAMES, parts, strict=True)
    }
    return rows, by_facts(~missed)


def temperature_of(name: str) -> float:
    """At which temperature it looks once it has started."""
    return 0.0 if kind(name) == "hard" else 1.0


def rate_of(name: str) -> float:
    """The learning rate that it begins with."""
    return RATE * SLOWER.get(name.partition(", ")[2], 1.0)


def teach(name: str, model, seed: int, updates: int) -> list[dict]:
    """Train; give back who is right, every so often."""
    temperature, rate = temperature_of(name), rate_of(name)
    taught = [part.to(device()) for part in lessons(name, seed)]
    trained = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.Adam(trained, RATE, fused=True)
    curve = []
    for update in range(1, updates + 1):
        for group in adam.param_groups:
            group["lr"] = rate * (1 - (update - 1) / updates)
        part = taught[update % len(taught)]
        rows = torch.randint(len(part.answer), (BATCH,))
        starts = update <= START and kind(name) not in PLAIN
        cost = loss(name, model, part.pick(rows.to(device())), starts)
        adam.zero_grad()
        cost.backward()
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        adam.step()
        if update % EVERY == 0:
            watched = gather(HELD_OUT + 1, TESTS, LENGTH)
            right, _ = asked(model, watched, temperature=temperature)
            curve.append({"updates": update} | by_facts(right))
    return curve


def run(name: str, seed: int, folder: Path) -> dict:
    """One network: trained, then asked about stories of every length."""
    torch.manual_seed(seed)
    model = network(name)
    curve, temperature = teach(name, model, seed, UPDATES), temperature_of(name)
    tests = {str(n): gather(HELD_OUT, TESTS, n) for n in LENGTHS}
    own = tests[str(LENGTH)]

    def right(**how) -> dict:
        each = {n: asked(model, test, **how)[0] for n, test in tests.items()}
        return {n: by_facts(who) for n, who in each.items()}

    rows, chained = looked(model, own, temperature)
    found = {
        "curve": curve,
        "right": right(temperature=temperature),
        "looked": rows,
        "chained": chained,
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    if isinstance(model, MemN2N):
        found["oldest"] = right(temperature=temperature, oldest=LENGTH - 1)
        found["cold"] = by_facts(asked(model, own, temperature=0.0)[0])
    if name == KEPT and seed == 0:
        words = vocabulary()
        weights.save("memory_networks", model.cpu(), words, words)
    return found


def guess(facts: int) -> float:
    """How often one is right who names a person and says where that one is."""
    test = stories(HELD_OUT, TESTS, LENGTH, facts)
    hits = [
        follow(one.sentences, person)[0] == one.answer
        for one in test
        for person in NAMES[1]
    ]
    return mean(hits)


def average(parts: list):
    """The mean of numbers; of lists and dicts the mean of each entry."""
    if isinstance(parts[0], dict):
        return {key: average([one[key] for one in parts]) for key in parts[0]}
    if isinstance(parts[0], list):
        return [average(list(row)) for row in zip(*parts, strict=True)]
    return mean(parts)


def over_seeds(runs: list[dict]) -> dict:
    """Mean and spread, by length and facts, who solved what, and each run."""

    def middle(what: str) -> dict:
        return {
            n: {
                facts: {
                    "mean": mean(run[what][n][facts] for run in runs),
                    "spread": stdev(run[what][n][facts] for run in runs)
                    if len(runs) > 1
                    else None,
                }
                for facts in row
            }
            for n, row in runs[0][what].items()
        }

    def solved(facts: str) -> int:
        own = str(LENGTH)
        return sum(run["right"][own][facts] >= SOLVED for run in runs)

    wanted = [what for what in ("right", "oldest") if what in runs[0]]
    found = {what: middle(what) for what in wanted}
    for what in ("looked", "chained", "cold"):
        if what in runs[0]:
            found[what] = average([run[what] for run in runs])
    found["early"] = average([run["curve"][0] for run in runs])
    found["solved"] = {str(facts): solved(str(facts)) for facts in NAMES}
    return found | {"seeds": len(runs), "runs": runs}


def summary(found: dict[str, list[dict]]) -> dict:
    """Every network's runs and their means, and what guessing gives."""
    guessed = {"guess": {str(facts): guess(facts) for facts in NAMES}}
    return {name: over_seeds(runs) for name, runs in found.items()} | guessed


def parts() -> dict:
    """What is trained, by its name."""
    return {name: partial(run, name) for name in NETWORKS}


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "memory_networks",
        __doc__,
        parts(),
        summary,
        config={
            "stories": STORIES,
            "tests": TESTS,
            "updates": UPDATES,
            "start": START,
            "batch": BATCH,
            "learning_rate": RATE,
            "clip": CLIP,
            "lengths": list(LENGTHS),
            "d": MemoryConfig.d,
            "ages": MemoryConfig.ages,
            "draw": MemoryConfig.draw,
        },
        seeds=SEEDS,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
