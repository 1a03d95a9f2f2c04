"""Three glimpses of a letter: who chooses best where they fall?

Letters of our pen, cut into 25 windows of which three may be seen. An eye
learns with places drawn at random, and joins what it sees with where it is by
multiplying, by adding, or not at all. From there it goes on, each time with
the same number of updates: with random places; with the three that were best
for the letters it had learned from; with a policy that REINFORCE trains,
with a baseline and without; and with a table that says, by its guess so far,
where to look next. Of the policies three are tried, at three rates, and the
one that is best on the letters it learned from is kept. Beside them what three
looks could show, if somebody knew the letter. Last, how much the gradient of
REINFORCE varies around the true one, which three looks are few enough to add
up. Writes records/glimpses.json with one eye in it. Needs no corpus.

    python -m lookback.experiments.glimpses
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import lru_cache, partial
from itertools import combinations, permutations

import torch
from torch import Tensor
from torch.distributions import Categorical
from torch.nn import functional as F

from lookback.experiments.ntm import packed, unpacked
from lookback.experiments.runs import campaign
from lookback.glimpses import (
    JOINS,
    Eye,
    EyeConfig,
    Policy,
    look,
    reinforce,
    unseen,
    windows,
)
from lookback.lab import glyphs, records
from lookback.lab.significance import mean_and_spread

SEEDS, LOOKS = 5, 3
EACH, TESTS = 100, 50  # pictures of each letter
HELD_OUT = 1_000_000  # the seed of the letters that nobody learns from
UPDATES, ON, BATCH, RATE = 1500, 1000, 64, 3e-3  # Adam, falling to 0
RATES = (1e-3, 3e-3, 1e-2)  # of the policies
WAYS = ("random", "fixed", "learned", "no baseline", "table")
FEWER = ("random", "fixed", "learned", "table")  # where places are not times
PICTURES, DRAWS = 26, 500  # to measure the gradient
Seen = tuple[Tensor, Tensor]  # windows [batch, places, pixels]; letters
Choose = Callable[[Tensor, Tensor], Tensor]


@lru_cache(maxsize=16)
def letters(each: int, seed: int) -> Seen:
    """So many pictures of each letter, cut into windows, and the letters."""
    drawn, which = glyphs.pictures(each, seed)
    return windows(drawn, EyeConfig.across), which


def anywhere(h: Tensor, before: Tensor) -> Tensor:
    """A place at random, and none twice."""
    chance = torch.rand(len(h), EyeConfig().places, device=h.device)
    return unseen(chance, before).argmax(1)


def in_order(places: Sequence[int], h: Tensor, before: Tensor) -> Tensor:
    """The same places for every picture."""
    return before.new_full((len(h),), places[before.shape[1]])


def again(places: Tensor, h: Tensor, before: Tensor) -> Tensor:
    """Where each picture was looked at once before."""
    return places[:, before.shape[1]]


def most_likely(policy: Policy, h: Tensor, before: Tensor) -> Tensor:
    """The place that the policy finds likeliest."""
    return unseen(policy(h), before).argmax(1)


@torch.no_grad()
def right(eye: Eye, choose: Choose, seen: Seen) -> float:
    """The accuracy: how many of the letters are named."""
    h, _ = look(eye, seen[0], LOOKS, choose)
    return float((eye(h).argmax(1) == seen[1]).float().mean())


def batches(seen: Seen, count: int):
    """So many batches, drawn at random."""
    for _ in range(count):
        rows = torch.randint(len(seen[1]), (BATCH,))
        yield seen[0][rows], seen[1][rows]


def falling(optimiser, updates: int):
    return torch.optim.lr_scheduler.LinearLR(optimiser, 1, 0, updates)


def practise(eye: Eye, choose: Choose, seen: Seen, updates: int) -> None:
    """Train the eye on looks that somebody else chooses."""
    adam = torch.optim.Adam(eye.parameters(), RATE, fused=True)
    slower = falling(adam, updates)
    for pixels, which in batches(seen, updates):
        with torch.no_grad():
            _, places = look(eye, pixels, LOOKS, choose)
        h, _ = look(eye, pixels, LOOKS, partial(again, places))
        adam.zero_grad()
        F.cross_entropy(eye(h), which).backward()
        adam.step()
        slower.step()


class Sampled:
    """Places sampled from the policy, and log p of all so far."""

    def __init__(self, policy: Policy):
        self.policy, self.log_p = policy, 0.0

    def __call__(self, h: Tensor, before: Tensor) -> Tensor:
        logits = unseen(self.policy(h.detach()), before)
        drawn = Categorical(logits=logits, validate_args=False)
        place = drawn.sample()
        self.log_p = self.log_p + drawn.log_prob(place)
        return place


def together(
    eye: Eye, seen: Seen, updates: int, rate: float, baseline: bool
) -> Policy:
    """Train the eye on where the policy looks, and the policy on
    whether the eye was right."""
    policy = Policy(eye.config).to(eye.where.device)
    adam = torch.optim.Adam(
        [
            {"params": list(eye.parameters())},
            {"params": list(policy.parameters()), "lr": rate},
        ],
        RATE,
        fused=True,
    )
    slower = falling(adam, updates)
    for pixels, which in batches(seen, updates):
        sampled = Sampled(policy)
        h, _ = look(eye, pixels, LOOKS, sampled)
        logits = eye(h)
        reward = (logits.argmax(1) == which).float()
        loss = F.cross_entropy(logits, which)
        adam.zero_grad()
        (loss + reinforce(sampled.log_p, reward, baseline)).backward()
        adam.step()
        slower.step()
    return policy


def triples(places: int) -> Tensor:
    """All ways to choose three places: [2300, 3] of 25."""
    return torch.tensor(list(combinations(range(places), LOOKS)))


@torch.no_grad()
def every(eye: Eye, seen: Seen) -> Tensor:
    """Who would be right with which three places: [pictures, 2300]."""
    three = triples(eye.config.places)
    found = []
    for pixels, which in zip(seen[0].split(50), seen[1].split(50), strict=True):
        z = all_glimpses(eye, pixels)
        h = z[:, three[:, 0]] + z[:, three[:, 1]] + z[:, three[:, 2]]
        found.append(eye(h).argmax(-1) == which[:, None])
    return torch.cat(found)


def all_glimpses(eye: Eye, pixels: Tensor) -> Tensor:
    """What each place would add: [batch, places, hidden]."""
    places = torch.arange(eye.config.places).expand(len(pixels), -1)
    return eye.glimpse(pixels, places)


@torch.no_grad()
def tabulate(eye: Eye, seen: Seen, hits: Tensor) -> dict:
    """The best table: first place; second by guess; third by both guesses.

    Of all tables it is the one that leaves most of these letters right.
    """
    z = all_glimpses(eye, seen[0])
    guesses = eye(z).argmax(-1)  # after one look, at each place
    best = {"right": -1}
    for first in range(eye.config.places):
        rows = [
            (guesses[:, first] == guess).nonzero()[:, 0]
            for guess in range(eye.config.vocab)
        ]
        found = [go_on(eye, z[each], hits[each], first) for each in rows]
        total = sum(one[0] for one in found)
        if total > best["right"]:
            best = {
                "right": total,
                "first": first,
                "second": [one[1] for one in found],
                "third": [one[2] for one in found],
            }
    return best | {"right": best["right"] / len(seen[1])}


def go_on(
    eye: Eye, z: Tensor, hits: Tensor, first: int
) -> tuple[int, int, list[int]]:
    """For pictures that one first look makes look alike: how many are right
    in the end, the best second place, and the third for each guess."""
    places, vocab = eye.config.places, eye.config.vocab
    index = column(places)
    best = (-1, 0, [0])
    for second in set(range(places)) - {first}:
        free = sorted(set(range(places)) - {first, second})
        guess = eye(z[:, first] + z[:, second]).argmax(-1)
        won = hits[:, index[first, second, free]].float()
        sums = torch.zeros(vocab, len(free)).index_add_(0, guess, won)
        most, at = sums.max(1)
        if int(most.sum()) > best[0]:
            third = [free[i] for i in at.tolist()]
            best = (int(most.sum()), second, third)
    return best


@lru_cache(maxsize=1)
def column(places: int) -> Tensor:
    """Which of `triples` three places are, in whatever order."""
    index = torch.zeros(places, places, places, dtype=torch.long)
    three = triples(places)
    for order in permutations(range(LOOKS)):
        index[tuple(three[:, list(order)].T)] = torch.arange(len(three))
    return index


class Table:
    """Looks where the table sends one who guesses so."""

    def __init__(self, table: dict, eye: Eye):
        self.table, self.eye = table, eye

    def __call__(self, h: Tensor, before: Tensor) -> Tensor:
        if not before.shape[1]:
            return torch.full((len(h),), self.table["first"])
        guess = self.eye(h).argmax(1)
        if before.shape[1] == 1:
            self.guessed = guess
            return torch.tensor(self.table["second"])[guess]
        return torch.tensor(self.table["third"])[self.guessed, guess]


def expected(eye: Eye, policy: Policy, seen: Seen) -> Tensor:
    """E[R] of a policy, over all ways to look: 25 · 24 · 23 of them."""
    n = eye.config.places
    with torch.no_grad():
        z = all_glimpses(eye, seen[0])
        hits = every(eye, seen)[:, column(n)].float()
    same = torch.eye(n, dtype=torch.bool)
    used = same[:, None, :] | same[None, :, :]  # k is i, or k is j
    first = policy(z.new_zeros(1, z.shape[-1])).softmax(-1)[0]
    second = policy(z).masked_fill(same, -torch.inf).softmax(-1)
    third = policy(z[:, :, None] + z[:, None])
    third = third.masked_fill(used, -torch.inf).softmax(-1)
    paths = first[:, None] * second  # [batch, i, j]
    return torch.einsum("bij,bijk,bijk->b", paths, third, hits).mean()


def gradients(eye: Eye, policy: Policy, seen: Seen) -> dict:
    """How far single estimates lie from the true gradient of E[R].

    An estimate has one draw for each picture. `true` is the squared length of
    the gradient that `expected` has; `variance` the mean squared distance of
    an estimate from all estimates' mean; `off` the squared distance of that
    mean from the true gradient, and `by chance` what it would be if nothing
    but the number of draws were to blame.
    """
    own = list(policy.parameters())

    def flat(loss: Tensor) -> Tensor:
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, own)])

    truth = flat(-expected(eye, policy, seen))
    found = {"true": float(truth.square().sum())}
    for name, baseline in (("without", False), ("with", True)):
        each = []
        for _ in range(DRAWS):
            sampled = Sampled(policy)
            h, _ = look(eye, seen[0], LOOKS, sampled)
            reward = (eye(h).argmax(1) == seen[1]).float()
            each.append(flat(reinforce(sampled.log_p, reward, baseline)))
        stack = torch.stack(each)
        variance = float(stack.var(0).sum())
        found[name] = {
            "variance": variance,
            "off": float((stack.mean(0) - truth).square().sum()),
            "by chance": variance / DRAWS,
        }
    return found


@torch.no_grad()
def orders(eye: Eye, choose: Choose, seen: Seen) -> dict:
    """How many ways of looking occur, and how often the commonest does."""
    _, places = look(eye, seen[0], LOOKS, choose)
    found, counts = places.unique(dim=0, return_counts=True)
    return {
        "orders": len(found),
        "commonest": float(counts.max() / counts.sum()),
    }


def taught(eye: Eye, seen: Seen, baseline: bool) -> tuple[Eye, Policy, list]:
    """The best of the attempts at all rates, on the letters it learned from;
    and how good each was."""
    tried = []
    for rate in RATES:
        model = deepcopy(eye)
        told = together(model, seen, ON, rate, baseline)
        score = right(model, partial(most_likely, told), seen)
        tried.append((score, model, told))
    _, model, told = max(tried, key=lambda one: one[0])
    return model, told, [score for score, _, _ in tried]


def run(join: str, seed: int) -> dict:
    """One eye: taught at random, then taken on in every way."""
    torch.manual_seed(seed)
    own, test = letters(EACH, seed), letters(TESTS, HELD_OUT)
    eye = Eye(EyeConfig(join))
    practise(eye, anywhere, own, UPDATES)
    hits = every(eye, own)
    best = triples(eye.config.places)[hits.float().mean(0).argmax()].tolist()
    table = tabulate(eye, own, hits)
    could = every(eye, test)
    found = {
        "fixed": best,
        "oracle": float(could.any(1).float().mean()),
        "weights": sum(part.numel() for part in eye.parameters()),
    }
    choices = {
        "random": anywhere,
        "fixed": partial(in_order, best),
        "table": Table(table, eye),
    }
    found["start"] = {
        way: right(eye, choose, test) for way, choose in choices.items()
    }
    few = tuple(part[:: len(own[1]) // PICTURES] for part in own)
    measured = join == JOINS[0]
    if measured:
        fresh = Policy(eye.config)
        found["gradient"] = {"start": gradients(eye, fresh, few)}
    found |= {"right": {}, "orders": {}, "tried": {}}
    for way in WAYS if measured else FEWER:
        after = deepcopy(eye)
        if way in choices:
            choose = choices[way]
            practise(after, choose, own, ON)
        else:
            after, told, found["tried"][way] = taught(
                eye, own, way == "learned"
            )
            choose = partial(most_likely, told)
            found["orders"][way] = orders(after, choose, test)
            if measured and way == "learned":
                found["gradient"]["end"] = gradients(after, told, few)
        found["right"][way] = right(after, choose, test)
        if measured and seed == 0 and way == "fixed":
            found["eyes"] = {"random": packed(eye), "fixed": packed(after)}
    return found


def eye(name: str) -> Eye:
    """A recorded one: taught on `random` places, or on the `fixed` three."""
    held = records.load("glimpses")["results"][JOINS[0]]["eyes"]
    model = Eye(EyeConfig())
    model.load_state_dict(unpacked(held[name]))
    return model.eval()


def hidden(each: int = 2) -> tuple[Tensor, str]:
    """Letters that no eye has seen, in no order: pictures, and their names."""
    drawn, which = glyphs.pictures(each, HELD_OUT + 1)
    order = torch.randperm(
        len(which), generator=torch.Generator().manual_seed(0)
    )
    named = "".join(glyphs.ALPHABET[i] for i in which[order].tolist())
    return drawn[order], named


def over_seeds(runs: list[dict]) -> dict:
    """Each way's share of letters right; the gap between two, seed by seed."""
    found = {
        kind: {
            way: mean_and_spread([one[kind][way] for one in runs])
            for way in runs[0][kind]
        }
        for kind in ("start", "right")
    }
    gap = {
        way: mean_and_spread(
            [one["right"][way] - one["right"]["fixed"] for one in runs]
        )
        for way in runs[0]["right"]
        if way != "fixed"
    }
    found |= {
        "gap": gap,
        "oracle": mean_and_spread([one["oracle"] for one in runs]),
    }
    found["ahead"] = {
        way: sum(x > 0 for x in one["each"]) for way, one in gap.items()
    }
    found["orders"] = {
        way: mean_and_spread([one["orders"][way]["commonest"] for one in runs])
        for way in runs[0]["orders"]
    }
    if "gradient" in runs[0]:
        found["gradient"] = {
            when: ratios([one["gradient"][when] for one in runs])
            for when in ("start", "end")
        }
    if "eyes" in runs[0]:
        found |= {"eyes": runs[0]["eyes"], "fixed": runs[0]["fixed"]}
    kept = [{k: v for k, v in one.items() if k != "eyes"} for one in runs]
    return found | {"weights": runs[0]["weights"], "runs": kept}


def ratios(found: list[dict]) -> dict:
    """An estimate's variance, by the squared length of the true gradient."""
    ways = ("without", "with")
    return {
        way: mean_and_spread(
            [one[way]["variance"] / one["true"] for one in found]
        )
        for way in ways
    } | {
        "saved": mean_and_spread(
            [
                1 - one["with"]["variance"] / one["without"]["variance"]
                for one in found
            ]
        ),
        "off": mean_and_spread(
            [
                one[way]["off"] / one[way]["by chance"]
                for one in found
                for way in ways
            ]
        ),
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Each join by itself; what `times` gains on `plus`; the ways to look."""
    results = {join: over_seeds(runs) for join, runs in found.items()}
    places = EyeConfig().places
    results["ways"] = places * (places - 1) * (places - 2)
    if "plus" in found:
        results["join"] = {
            way: mean_and_spread(
                [
                    a["right"][way] - b["right"][way]
                    for a, b in zip(found["times"], found["plus"], strict=True)
                ]
            )
            for way in FEWER
        }
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "glimpses",
        __doc__,
        {join: lambda seed, _, join=join: run(join, seed) for join in JOINS},
        summary,
        config={
            "looks": LOOKS,
            "places": EyeConfig().places,
            "hidden": EyeConfig.hidden,
            "side": glyphs.SIDE,
            "each": EACH,
            "tests": TESTS,
            "updates": UPDATES,
            "on": ON,
            "batch": BATCH,
            "learning_rate": RATE,
            "rates": list(RATES),
            "pictures": PICTURES,
            "draws": DRAWS,
        },
        seeds=SEEDS,
        device=torch.device("cpu"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
