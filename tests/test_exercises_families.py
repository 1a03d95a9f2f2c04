"""Plausible wrong answers to the chapter `families`, and their hints."""

import math

import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback.exercises import check
from lookback.families import see, shape


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([10, 25, 18], "You left out the diagonal. A place"),
        ([25, 25, 18], "That is BERT's: in yours"),
        ([12.5, 25, 18], "counted once"),
        ([5, 25, 18], "only the last row"),
        ([14, 25, 18], "first number is no slip"),
        ([15, 20, 18], "With BERT a place may see itself"),
        ([15, 15, 18], "see what comes later, too"),
        ([15, 5, 18], "a row for every place"),
        ([15, 10, 18], "are two"),
        ([15, 24, 18], "second is no slip"),
        ([15, 25, 15], "in both directions"),
        ([15, 25, 25], "may not see what comes later"),
        ([15, 25, 9], "You counted the source alone"),
        ([15, 25, 12], "cannot see the source"),
        ([15, 25, 24], "the source sees the target"),
        ([15, 25, 16], "the diagonal of the target"),
        ([15, 25, 13], "the whole diagonal"),
        ([15, 25, 17], "third is no slip"),
        ([15, 25], "You gave 2 numbers"),
    ],
)
def test_mask_by_hand(answer, words, capsys):
    assert words in said_about(capsys, "mask_by_hand", answer)


def full(n):
    return torch.ones(n, n, dtype=torch.bool)


def place(n):
    return torch.arange(n)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda n, p: ~(full(n).tril() | (place(n) < p)), "True means"),
        (lambda n, p: (full(n).tril() | (place(n) < p)).T, "transpose"),
        (lambda n, p: full(n).tril(), "That is GPT's mask"),
        (lambda n, p: full(n), "That is BERT's mask"),
        (lambda n, p: full(n).tril(-1) | (place(n) < p), "diagonal is missing"),
        (lambda n, p: full(n).tril() | (place(n) <= p), "One too many"),
        (lambda n, p: full(n).tril() | (place(n) < p - 1), "One too few"),
        (
            lambda n, p: full(n).tril() | (place(n) < p)[:, None],
            "the columns that are free",
        ),
        (
            lambda n, p: (
                ((place(n) < p) & (place(n) < p)[:, None])
                | (full(n).tril() & (place(n) >= p) & (place(n) >= p)[:, None])
            ),
            "target does not see the prefix",
        ),
        (
            lambda n, p: (place(n) < p) & (place(n) < p)[:, None],
            "nobody else sees anything",
        ),
        (
            lambda n, p: torch.where(
                full(n).tril() | (place(n) < p), 0.0, -torch.inf
            ),
            "added to the scores comes later",
        ),
        (lambda n, p: [[True] * n] * n, "torch tensor"),
        (lambda n, p: full(n)[0], "Shape first"),
    ],
)
def test_prefix_mask(mine, words, capsys):
    def named(length, prefix):
        return mine(length, prefix)

    assert words in said_about(capsys, "prefix_mask", named)


def by_loop(length, prefix):
    rows = [
        [j <= i or j < prefix for j in range(length)] for i in range(length)
    ]
    return torch.tensor(rows)


def by_slice(length, prefix):
    mask = torch.ones(length, length).tril()
    mask[:, :prefix] = 1
    return mask


def by_the_chapter(length, prefix):
    tokens = torch.full((1, length), 7)
    return see(tokens, "T5", torch.tensor([prefix]))[0, 0]


@pytest.mark.parametrize("mine", [by_loop, by_slice, by_the_chapter])
def test_prefix_mask_by_another_route(mine):
    assert check.prefix_mask(mine) is True


def three(t, c, f, o, m, first=0.8, last=0.9):
    return torch.where(c & (f >= last), o, torch.where(c & (f < first), m, t))


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda t, c, f, o, m: three(t, c | ~c, f, o, m),
            "You spoil every word by its fate",
        ),
        (
            lambda t, c, f, o, m: torch.where(c, m, t),
            "Every chosen word became <mask>",
        ),
        (
            lambda t, c, f, o, m: three(t, c, f, o, m, 0.8, 0.8),
            "no chosen word stays",
        ),
        (
            lambda t, c, f, o, m: three(t, c, f, o, m, 0.8, 2),
            "no word becomes another",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f < 0.8), m, torch.where(c & (f < 0.9), o, t)
            ),
            "You exchanged the two tenths",
        ),
        (
            lambda t, c, f, o, m: three(t, ~c, f, o, m),
            "that were not chosen",
        ),
        (
            lambda t, c, f, o, m: three(t, f < 0.15, f, o, m),
            "Who is chosen is given",
        ),
        (
            lambda t, c, f, o, m: torch.where(c | (f < 0.8), m, t),
            "in every place where a word could be spoiled",
        ),
        (lambda t, c, f, o, m: t, "no slip that the check knows"),
        (lambda t, c, f, o, m: t[c], "Shape first"),
        (lambda t, c, f, o, m: t.masked_fill_(c, m), "`tokens` in place"),
    ],
)
def test_spoil_words(mine, words, capsys):
    def named(tokens, chosen, fate, other, mask):
        return mine(tokens, chosen, fate, other, mask)

    assert words in said_about(capsys, "spoil_words", named)


def in_place(tokens, chosen, fate, other, mask):
    spoiled = tokens.clone()
    spoiled[chosen & (fate < 0.8)] = mask
    at = chosen & (fate >= 0.9)
    spoiled[at] = other[at]
    return spoiled


def word_by_word(tokens, chosen, fate, other, mask):
    spoiled = tokens.clone()
    for n, i in chosen.nonzero().tolist():
        if fate[n, i] < 0.8:
            spoiled[n, i] = mask
        elif fate[n, i] >= 0.9:
            spoiled[n, i] = other[n, i]
    return spoiled


@pytest.mark.parametrize("mine", [in_place, word_by_word])
def test_spoil_words_by_another_route(mine):
    assert check.spoil_words(mine) is True


def nats(logits, tokens):
    return F.cross_entropy(logits.transpose(1, 2), tokens, reduction="none")


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda z, t, c: nats(z, t).mean(), "You ask for all words"),
        (
            lambda z, t, c: (nats(z, t) * c).mean(),
            "divide by all words",
        ),
        (lambda z, t, c: nats(z, t)[c].sum(), "That is the sum"),
        (lambda z, t, c: -nats(z, t)[c].mean(), "never below 0"),
        (lambda z, t, c: nats(z, t)[~c].mean(), "NOT chosen"),
        (
            lambda z, t, c: torch.stack(
                [n[k].mean() for n, k in zip(nats(z, t), c, strict=True)]
            ).nanmean(),
            "mean of each caption first",
        ),
        (
            lambda z, t, c: (
                -z.log_softmax(1).gather(-1, t[..., None])[..., 0][c].mean()
            ),
            "over the places",
        ),
        (
            lambda z, t, c: -z.gather(-1, t[..., None])[..., 0][c].mean(),
            "through a softmax first",
        ),
        (
            lambda z, t, c: (-nats(z, t)[c]).exp().mean(),
            "without a logarithm",
        ),
        (lambda z, t, c: nats(z, t)[c].mean() / math.log(2), "in bits"),
        (lambda z, t, c: z.mean(), "no slip that the check knows"),
        (lambda z, t, c: nats(z, t)[c], "Give back one number"),
    ],
)
def test_covered_loss(mine, words, capsys):
    def named(logits, tokens, chosen):
        return mine(logits, tokens, chosen)

    assert words in said_about(capsys, "covered_loss", named)


def by_cross_entropy(logits, tokens, chosen):
    return F.cross_entropy(logits[chosen], tokens[chosen])


def by_ignored(logits, tokens, chosen):
    asked = tokens.masked_fill(~chosen, -100)
    return F.cross_entropy(logits.flatten(0, 1), asked.flatten())


def by_item(logits, tokens, chosen):
    return float(by_cross_entropy(logits, tokens, chosen))


@pytest.mark.parametrize("mine", [by_cross_entropy, by_ignored, by_item])
def test_covered_loss_by_another_route(mine):
    assert check.covered_loss(mine) is True


def left(words, places, marks):
    source, target, at = [], [], 0
    for n, (start, length) in enumerate(places):
        source += words[at:start] + [marks[n]]
        target += [marks[n]] + words[start : start + length]
        at = start + length
    return source + words[at:], target + [marks[len(places)]]


def bare(words, marks):
    return [word for word in words if word not in marks]


def same_mark(words, places, marks):
    source, target = left(words, places, [marks[0]] * 2 + marks[2:])
    return source, [*target[:-1], marks[len(places)]]


def mark_a_word(words, places, marks):
    source, target, gaps = [], [], {}
    for n, (start, length) in enumerate(places):
        gaps |= dict.fromkeys(range(start, start + length), marks[n])
    for i, word in enumerate(words):
        source.append(gaps.get(i, word))
        target += [gaps[i], word] if i in gaps else []
    return source, [*target, marks[len(places)]]


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda w, p, m: (left(w, p, m)[0], left(w, p, m)[1][:-1]),
            "lacks its last mark",
        ),
        (
            lambda w, p, m: (left(w, p, m)[0], bare(left(w, p, m)[1], m)),
            "which words belong to which gap",
        ),
        (
            lambda w, p, m: (
                left(w, p, m)[0],
                [*bare(left(w, p, m)[1], m), m[len(p)]],
            ),
            "behind its own mark",
        ),
        (lambda w, p, m: left(w, p, m)[::-1], "The source comes first"),
        (same_mark, "a mark of its own"),
        (mark_a_word, "A span leaves one mark"),
        (lambda w, p, m: (left(w, p, m)[0], w), "That is the whole text"),
        (
            lambda w, p, m: (bare(left(w, p, m)[0], m), left(w, p, m)[1]),
            "nobody can see where the gaps are",
        ),
        (
            lambda w, p, m: (w, left(w, p, m)[1]),
            "still has the words",
        ),
        (
            lambda w, p, m: (left(w, p, m)[0][1:], left(w, p, m)[1]),
            "no slip that the check knows",
        ),
        (lambda w, p, m: left(w, p, m)[0], "two lists"),
        (lambda w, p, m: " ".join(w), "two lists"),
        (
            lambda w, p, m: tuple(map(" ".join, left(w, p, m))),
            "lists of words",
        ),
    ],
)
def test_leave_spans(mine, words, capsys):
    def named(words, places, marks):
        return mine(words, places, marks)

    assert words in said_about(capsys, "leave_spans", named)


def from_behind(words, places, marks):
    source, target = list(words), []
    for n in reversed(range(len(places))):
        start, length = places[n]
        source[start : start + length] = [marks[n]]
        target = [marks[n], *words[start : start + length], *target]
    return [source, [*target, marks[len(places)]]]


@pytest.mark.parametrize("mine", [left, from_behind])
def test_leave_spans_by_another_route(mine):
    assert check.leave_spans(mine) is True


def sums(p):
    ordered, order = p.sort(descending=True)
    return ordered, order, ordered.cumsum(0)


def soon(p, t, divide=True):
    ordered, order, total = sums(p)
    kept = torch.zeros_like(p)
    kept[order] = torch.where(total <= t, ordered, 0)
    return kept / kept.sum().clamp(min=1e-9) if divide else kept


def in_vocabulary_order(p, t):
    kept = torch.where(p.cumsum(0) - p < t, p, 0)
    return kept / kept.sum()


def from_below(p, t):
    return -in_vocabulary_order_of(-p, t)


def in_vocabulary_order_of(p, t):
    ordered, order = (-p).sort()
    kept = torch.zeros_like(p)
    before = ordered.cumsum(0) - ordered
    kept[order] = torch.where(before < t, ordered, 0)
    return -kept / kept.sum()


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda p, t: soon(p, t), "before the threshold is reached"),
        (lambda p, t: soon(p, t, False), "and do not divide by the sum"),
        (
            lambda p, t: (
                shape(p.log(), top_p=t) * p[shape(p.log(), top_p=t) > 0].sum()
            ),
            "no longer sum to 1",
        ),
        (
            lambda p, t: shape(p.log(), top_p=t).sort(descending=True).values,
            "give each back to its own word",
        ),
        (
            lambda p, t: torch.where(p >= t, p, 0) / p[p >= t].sum(),
            "the threshold each on its own",
        ),
        (
            lambda p, t: torch.where(p >= 1 - t, p, 0) / p[p >= 1 - t].sum(),
            "above 1 − threshold",
        ),
        (in_vocabulary_order, "in the order of the vocabulary"),
        (from_below, "least likely"),
        (
            lambda p, t: torch.where(
                shape(p.log(), top_p=t) > 0, p, -torch.inf
            ).softmax(0),
            "softmax would make other",
        ),
        (lambda p, t: p, "Nothing is cut off"),
        (lambda p, t: p[:2], "Shape first"),
        (lambda p, t: p * 0.5, "no slip that the check knows"),
        (lambda p, t: p.tolist(), "torch tensor"),
    ],
)
def test_top_p(mine, words, capsys):
    def named(p, threshold):
        return mine(p, threshold)

    assert words in said_about(capsys, "top_p", named)


def one_by_one(p, threshold):
    kept, total = torch.zeros_like(p), 0.0
    for i in p.argsort(descending=True).tolist():
        kept[i] = p[i]
        total += float(p[i])
        if total >= threshold - 1e-6:
            break
    return kept / total


def by_shape(p, threshold):
    return shape(p.log(), top_p=threshold)


@pytest.mark.parametrize("mine", [one_by_one, by_shape])
def test_top_p_by_another_route(mine):
    assert check.top_p(mine) is True


def four(picture, size):
    count = len(picture) // size
    return picture.view(count, size, count, size)


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda x, n: x.reshape(-1, n * n), "Those are not squares"),
        (
            lambda x, n: four(x, n).permute(2, 0, 1, 3).reshape(-1, n * n),
            "column by column",
        ),
        (
            lambda x, n: four(x, n).permute(0, 2, 3, 1).reshape(-1, n * n),
            "you go down first",
        ),
        (
            lambda x, n: four(x.T, n).permute(0, 2, 1, 3).reshape(-1, n * n),
            "the picture's transpose",
        ),
        (
            lambda x, n: (
                x.view(n, len(x) // n, n, len(x) // n)
                .permute(1, 3, 0, 2)
                .reshape(-1, n * n)
            ),
            "every n-th pixel",
        ),
        (lambda x, n: four(x, n).transpose(1, 2), "each of them flat"),
        (
            lambda x, n: four(x, n).transpose(1, 2).flatten(0, 1),
            "lay it flat",
        ),
        (
            lambda x, n: four(x, n).transpose(1, 2).flatten(2),
            "stand in one row",
        ),
        (
            lambda x, n: four(x, n).transpose(1, 2).reshape(-1, n * n).T,
            "a row for each patch",
        ),
        (
            lambda x, n: four(x, n).transpose(1, 2).reshape(-1, n * n).flip(0),
            "no slip that the check knows",
        ),
        (lambda x, n: x.tolist(), "torch tensor"),
    ],
)
def test_cut_patches(mine, words, capsys):
    def named(picture, size):
        return mine(picture, size)

    assert words in said_about(capsys, "cut_patches", named)


def by_unfold(picture, size):
    return F.unfold(picture[None, None], size, stride=size)[0].T


def by_slices(picture, size):
    rows = range(0, len(picture), size)
    return torch.stack(
        [
            picture[y : y + size, x : x + size].flatten()
            for y in rows
            for x in rows
        ]
    )


@pytest.mark.parametrize("mine", [by_unfold, by_slices])
def test_cut_patches_by_another_route(mine):
    assert check.cut_patches(mine) is True
