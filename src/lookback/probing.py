r"""Probing: can a linear classifier read after a layer what a word means?

A *probe* is a linear classifier that reads the sense of a word from its vector
after one layer of an encoder (Alain & Bengio 2016, arXiv 1610.01644).

    z = (x − m) / s                m the mean of x, s² the mean of ‖x − m‖²
    p(sense 1 | x) = σ(w · z + b)
    w, b minimise  − Σ_i c_i log p(sense_i | x_i) + λ/2 ‖w‖²
    c_i = ½ / how many have that sense
    balanced accuracy = ½ (right of sense 0 + right of sense 1)

Senses come from a French translation: what an aligner links the word to (Gale,
Church & Yarowsky 1992), or, in a *pseudo-word*, from two groups of words that
are written as one. λ is chosen without the part that is tested.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from lookback.vocabulary import SPECIALS, Vocabulary

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)  # λ
FOLDS = 5
# Steps. With 50 of them 142 of 150 accuracies of the book's BERT and bags stay
# as they are, and the others change by 0.025 at most.
NEWTON = 5


class Occurrence(NamedTuple):
    """A word in its sentence, and which of two senses it has there."""

    words: list[str]
    place: int
    sense: int


def occurrences(
    word: str,
    senses: Sequence[Sequence[str]],
    sentences: Sequence[Sequence[str]],
    translated: Sequence[Sequence[str | None]],
) -> list[Occurrence]:
    """Where the word stands once, and its translation is one of a sense's.

    `translated` has for every word of every sentence the foreign word that an
    aligner links it to.
    """
    found = []
    for words, others in zip(sentences, translated, strict=True):
        if words.count(word) == 1:
            place = words.index(word)
            for sense, names in enumerate(senses):
                if others[place] in names:
                    found.append(Occurrence(list(words), place, sense))
    return found


def merged(
    name: str, senses: Sequence[Sequence[str]], words: Sequence[str]
) -> list[str]:
    """The sentence, with every word of either sense written as `name`."""
    both = {word for group in senses for word in group}
    return [name if word in both else word for word in words]


def pseudo_word(
    name: str,
    senses: Sequence[Sequence[str]],
    sentences: Sequence[Sequence[str]],
) -> list[Occurrence]:
    """The merged word, where it stands once, and which it was."""
    found = []
    for words in sentences:
        now = merged(name, senses, words)
        if now.count(name) == 1:
            place = now.index(name)
            sense = int(words[place] in senses[1])
            found.append(Occurrence(now, place, sense))
    return found


def bag(
    found: Sequence[Occurrence],
    first: int,
    last: int,
    like: Sequence[Occurrence] | None = None,
) -> Float[Tensor, "occurrences vocab"]:
    """1 for each word from `first` to `last` places behind the occurrence.

    bag(found, -2, 2) has two neighbours on either side. The word itself is
    left out, and so is what stands only once. Which words have a column is
    told by the occurrences themselves, or by those that they are to be `like`.
    """

    def around(one: Occurrence) -> list[str]:
        places = (one.place + k for k in range(first, last + 1) if k)
        return sorted({one.words[k] for k in places if 0 <= k < len(one.words)})

    known = Vocabulary.count(map(around, like or found), least=2)
    x = torch.zeros(len(found), len(known), dtype=torch.float64)
    for row, one in zip(x, found, strict=True):
        row[known.encode(around(one))] = 1
    return x[:, len(SPECIALS) :]


def balanced_accuracy(
    said: Int[Tensor, " occurrences"], senses: Int[Tensor, " occurrences"]
) -> float:
    """½ (accuracy on sense 0 + accuracy on sense 1)."""
    right = (said == senses).double()
    return float((right[senses == 0].mean() + right[senses == 1].mean()) / 2)


class Probe(NamedTuple):
    """p(sense 1 | x) = σ(w · x + b), with w and b for x as it is."""

    w: Float[Tensor, " d"]
    b: Float[Tensor, ""]

    def lean(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch"]:
        """The probability of sense 1."""
        return (x @ self.w + self.b).sigmoid()


def fit(
    x: Float[Tensor, "occurrences d"],
    senses: Int[Tensor, " occurrences"],
    penalty: float,
) -> Probe:
    """The probe that fits best, by Newton's method; both senses count equally.

    λ, the penalty, is on w of z = (x − m) / s; given back are w and b of x.
    """
    m = x.mean(0)
    s = (x - m).norm(dim=1).square().mean().sqrt()  # one number, for all of x
    z = torch.cat([(x - m) / s, torch.ones_like(x[:, :1])], dim=1)  # 1 for b
    y = senses.to(x.dtype)
    c = 0.5 * (y / y.sum() + (1 - y) / (1 - y).sum())
    ridge = torch.full_like(z[0], penalty)
    ridge[-1] = 1e-9  # b is free
    a = torch.zeros_like(z[0])  # [w; b]
    for _ in range(NEWTON):
        p = (z @ a).sigmoid()
        gradient = z.T @ (c * (p - y)) + ridge * a
        curvature = (z.T * (c * p * (1 - p))) @ z + ridge.diag()
        step = torch.linalg.solve(curvature, gradient)
        a = a - step
        if step.abs().max() < 1e-3:
            break
    w = a[:-1] / s  # of x
    return Probe(w, a[-1] - w @ m)


def folds(
    senses: Int[Tensor, " occurrences"], seed: int
) -> Int[Tensor, " occurrences"]:
    """Each occurrence's fold, 0 to 4; every sense is dealt out evenly.

    Raises ValueError for a sense that does not stand in every fold.
    """
    dice = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(senses), generator=dice)
    found = torch.empty(len(senses), dtype=torch.long)
    for k in (0, 1):
        mine = order[senses[order] == k]
        if len(mine) < FOLDS:
            raise ValueError(
                f"sense {k} occurs {len(mine)} times: give {FOLDS} or more"
            )
        found[mine] = torch.arange(len(mine)) % FOLDS
    return found


def chosen(
    x: Float[Tensor, "occurrences d"],
    senses: Int[Tensor, " occurrences"],
    tune: Bool[Tensor, " occurrences"],
) -> Probe:
    """Fitted to all, with the λ that does best on `tune` if fitted without."""

    def score(penalty: float) -> float:
        probe = fit(x[~tune], senses[~tune], penalty)
        return balanced_accuracy(
            (probe.lean(x[tune]) > 0.5).long(), senses[tune]
        )

    return fit(x, senses, max(PENALTIES, key=score))


def probes(
    x: Float[Tensor, "occurrences d"],
    senses: Int[Tensor, " occurrences"],
    seed: int = 0,
) -> list[Probe]:
    """One probe for each fold, which it has not seen."""
    fold = folds(senses, seed)
    found = []
    for k in range(FOLDS):
        seen = fold != k
        tune = fold[seen] == (k + 1) % FOLDS
        found.append(chosen(x[seen], senses[seen], tune))
    return found


def predictions(
    x: Float[Tensor, "occurrences d"],
    senses: Int[Tensor, " occurrences"],
    seed: int = 0,
) -> Int[Tensor, " occurrences"]:
    """What the probe that has not seen it says of each occurrence."""
    fold, said = folds(senses, seed), torch.empty_like(senses)
    for k, probe in enumerate(probes(x, senses, seed)):
        said[fold == k] = (probe.lean(x[fold == k]) > 0.5).long()
    return said


def examine(
    x: Float[Tensor, "occurrences d"],
    senses: Int[Tensor, " occurrences"],
    seed: int = 0,
    shuffled: bool = False,
) -> float:
    """Balanced accuracy on folds that the probes have not seen.

    `shuffled` is the control: the senses are shuffled among the occurrences
    first, and then everything is done as usual.
    """
    if shuffled:
        dice = torch.Generator().manual_seed(seed + 1000)
        senses = senses[torch.randperm(len(senses), generator=dice)]
    return balanced_accuracy(predictions(compact(x), senses, seed), senses)


def compact(
    x: Float[Tensor, "occurrences d"],
) -> Float[Tensor, "occurrences _"]:
    """The same points in as few numbers as they need: no probe changes."""
    u, s, _ = torch.linalg.svd(x, full_matrices=False)
    kept = s > 1e-9 * s.max()
    return (u * s)[:, kept]
