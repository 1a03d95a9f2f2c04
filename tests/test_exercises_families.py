"""Plausible wrong answers to the chapter `families`, and their hints."""

import math

import pytest
import torch
from test_exercises import said_about
from torch.nn import functional as F

from lookback.exercises import check
from lookback.families import attention_mask, sampling_probs

pytestmark = pytest.mark.nightly


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
        ([15, 25, 15], "as many as under GPT's"),
        ([15, 25, 25], "may not see what comes later"),
        ([15, 25, 9], "You counted the prefix alone"),
        ([15, 25, 12], "cannot see the prefix"),
        ([15, 25, 24], "the prefix sees what follows it"),
        ([15, 25, 19], "That only the prefix may"),
        ([15, 25, 16], "the diagonal of the later places"),
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
            "prefix that are free",
        ),
        (
            lambda n, p: (
                ((place(n) < p) & (place(n) < p)[:, None])
                | (full(n).tril() & (place(n) >= p) & (place(n) >= p)[:, None])
            ),
            "those behind the prefix do not see it",
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
        (
            lambda n, p: torch.where(
                full(n).tril() | (place(n) < p), 0.0, -1e9
            ),
            "added to the scores comes later",
        ),
        (lambda n, p: full(n).tril(p), "the whole triangle by `prefix`. Then"),
        (
            lambda n, p: full(n).tril(p - 1),
            "the whole triangle by `prefix` − 1",
        ),
        (lambda n, p: full(n).triu(), "Your triangle is the wrong one"),
        (
            lambda n, p: full(n).triu() | (place(n) < p),
            "prefix are free, but your triangle",
        ),
        (lambda n, p: full(n).tril() & (place(n) < p), "Either is enough"),
        (
            lambda n, p: (
                full(n).tril() | ((place(n) >= p) & (place(n) >= p)[:, None])
            ),
            "and the prefix does not",
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
    return attention_mask(tokens, "T5", torch.tensor([prefix]))[0, 0]


def by_square(length, prefix):
    mask = torch.tril(torch.ones(length, length, dtype=torch.bool))
    mask[:prefix, :prefix] = True
    return mask


def by_index(length, prefix):
    i, j = torch.meshgrid(place(length), place(length), indexing="ij")
    return torch.logical_or(j <= i, j < prefix).long()


@pytest.mark.parametrize(
    "mine", [by_loop, by_slice, by_square, by_index, by_the_chapter]
)
def test_prefix_mask_by_another_route(mine):
    assert check.prefix_mask(mine) is True


def three(t, c, f, o, m, first=0.8, last=0.9):
    return torch.where(c & (f < first), m, torch.where(c & (f < last), o, t))


def written_over(t, c, f, o, m):
    """The second line takes back what the first did."""
    spoiled = t.clone()
    spoiled[c & (f < 0.8)] = m
    spoiled[c & (f < 0.9)] = o[c & (f < 0.9)]
    return spoiled


def as_the_page_deals(t, c, f, o, m):
    return torch.where(c & (f >= 0.9), o, torch.where(c & (f < 0.8), m, t))


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            lambda t, c, f, o, m: three(t, c | ~c, f, o, m),
            "You spoil every word by its fate",
        ),
        (
            lambda t, c, f, o, m: torch.where(c, m, t),
            "Every chosen word became `mask`",
        ),
        (
            lambda t, c, f, o, m: three(t, c, f, o, m, 0.8, 2),
            "no chosen word stays",
        ),
        (
            lambda t, c, f, o, m: three(t, c, f, o, m, 0.8, 0.8),
            "no word becomes another",
        ),
        (as_the_page_deals, "You exchanged the two tenths"),
        (written_over, "The later line writes over"),
        (
            lambda t, c, f, o, m: three(t, c, f, o, m, 0.9, 0.9),
            "chosen word below 0.9 becomes `mask`",
        ),
        (
            lambda t, c, f, o, m: three(t, c, f, o, m, 0.1, 0.2),
            "the shares 10, 10 and 80",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f > 0.2), m, torch.where(c & (f > 0.1), o, t)
            ),
            "You count the fates from above",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f < 0.8), o, torch.where(c & (f < 0.9), m, t)
            ),
            "have changed places",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f <= 0.8), m, torch.where(c & (f <= 0.9), o, t)
            ),
            "look at the edges",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f <= 0.8), m, torch.where(c & (f < 0.9), o, t)
            ),
            "the edge of 0.8. A fate",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f < 0.8), m, torch.where(c & (f <= 0.9), o, t)
            ),
            "the edge of 0.9",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f < 0.8), m, torch.where(c & (f > 0.8) & (f < 0.9), o, t)
            ),
            "Yours leaves a fate of exactly 0.8",
        ),
        (
            lambda t, c, f, o, m: three(t, ~c, f, o, m),
            "that were not chosen",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f < 0.8), m, torch.where((f >= 0.8) & (f < 0.9), o, t)
            ),
            "but `other` also to words",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                c & (f < 0.8), m, torch.where(f < 0.9, o, t)
            ),
            "`other` to all the rest below 0.9",
        ),
        (
            lambda t, c, f, o, m: torch.where(
                f < 0.8, m, torch.where(c & (f < 0.9), o, t)
            ),
            "but `mask` also to words",
        ),
        (
            lambda t, c, f, o, m: three(t, f < 0.15, f, o, m),
            "Who is chosen is given",
        ),
        (
            lambda t, c, f, o, m: torch.where(c | (f < 0.8), m, t),
            "both have to be true",
        ),
        (lambda t, c, f, o, m: t, "Nothing is spoiled"),
        (
            lambda t, c, f, o, m: three(t, c, f.flip(1), o, m),
            "no slip that the check knows",
        ),
        (lambda t, c, f, o, m: t[c], "Shape first"),
        (lambda t, c, f, o, m: t.masked_fill_(c, m), "`tokens` in place"),
        (
            lambda t, c, f, o, m: torch.where(c and f < 0.8, m, t),
            "neither True nor False",
        ),
    ],
)
def test_spoil_words(mine, words, capsys):
    def named(tokens, chosen, fate, other, mask):
        return mine(tokens, chosen, fate, other, mask)

    assert words in said_about(capsys, "spoil_words", named)


def in_place(tokens, chosen, fate, other, mask):
    spoiled = tokens.clone()
    spoiled[chosen & (fate < 0.8)] = mask
    at = chosen & (fate >= 0.8) & (fate < 0.9)
    spoiled[at] = other[at]
    return spoiled


def others_first(tokens, chosen, fate, other, mask):
    spoiled = tokens.clone()
    spoiled[chosen & (fate < 0.9)] = other[chosen & (fate < 0.9)]
    spoiled[chosen & (fate < 0.8)] = mask
    return spoiled


def word_by_word(tokens, chosen, fate, other, mask):
    spoiled = tokens.clone()
    for n, i in chosen.nonzero().tolist():
        if fate[n, i] < 0.8:
            spoiled[n, i] = mask
        elif fate[n, i] < 0.9:
            spoiled[n, i] = other[n, i]
    return spoiled


def of_lists(tokens, chosen, fate, other, mask):
    def one(token, is_chosen, chance, word):
        if not is_chosen or chance >= 0.9:
            return token
        return mask if chance < 0.8 else word

    rows = zip(
        *(x.tolist() for x in (tokens, chosen, fate, other)), strict=True
    )
    return torch.tensor([list(map(one, *row)) for row in rows])


def by_sums(tokens, chosen, fate, other, mask):
    masked = (chosen & (fate < 0.8)).long()
    another = (chosen & (fate < 0.9)).long() - masked
    return masked * mask + another * other + (1 - masked - another) * tokens


def by_wheres(tokens, chosen, fate, other, mask):
    spoiled = torch.where(fate < 0.9, other, tokens)
    spoiled = torch.where(fate < 0.8, torch.full_like(tokens, mask), spoiled)
    return torch.where(chosen, spoiled, tokens)


@pytest.mark.parametrize(
    "mine",
    [in_place, others_first, word_by_word, of_lists, by_sums, by_wheres, three],
)
def test_spoil_words_by_another_route(mine):
    def named(tokens, chosen, fate, other, mask):
        return mine(tokens, chosen, fate, other, mask)

    assert check.spoil_words(named) is True


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
        (lambda z, t, c: nats(z, t)[c].sum() / len(t), "number of captions"),
        (
            lambda z, t, c: (
                -z[c].log_softmax(0).gather(-1, t[c][:, None]).mean()
            ),
            "over the chosen places",
        ),
        (
            lambda z, t, c: (
                -z.log_softmax(0).gather(-1, t[..., None])[..., 0][c].mean()
            ),
            "over the captions of the batch",
        ),
        (
            lambda z, t, c: nats(z[:, :-1], t[:, 1:])[c[:, 1:]].mean(),
            "You ask each place for the next word",
        ),
        (
            lambda z, t, c: nats(z[:, :-1], t[:, 1:])[c[:, :-1]].mean(),
            "You ask each chosen place for the next word",
        ),
        (
            lambda z, t, c: F.cross_entropy(z.softmax(-1)[c], t[c]),
            "Softmax twice",
        ),
        (
            lambda z, t, c: F.nll_loss(z.softmax(-1)[c], t[c]),
            "the logarithm is missing",
        ),
        (lambda z, t, c: nats(z, t)[c].mean().exp(), "its exponential"),
        (
            lambda z, t, c: -(-nats(z, t)[c]).exp().mean().log(),
            "logarithm of the mean probability",
        ),
        (
            lambda z, t, c: -z.log_softmax(-1).max(-1).values[c].mean(),
            "of its likeliest word",
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


def by_two_loops(logits, tokens, chosen):
    total = 0.0
    for n, i in chosen.nonzero().tolist():
        total -= torch.log_softmax(logits[n, i], 0)[tokens[n, i]]
    return total / chosen.sum()


def by_one_hot(logits, tokens, chosen):
    right = (logits * F.one_hot(tokens, logits.shape[-1])).sum(-1)
    return (logits.logsumexp(-1) - right).masked_select(chosen).mean()


@pytest.mark.parametrize(
    "mine",
    [by_cross_entropy, by_ignored, by_item, by_two_loops, by_one_hot],
)
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


def a_new_mark_a_word(words, places, marks):
    source, target, left_over = [], [], iter(marks)
    gone = {i for start, many in places for i in range(start, start + many)}
    for i, word in enumerate(words):
        if i in gone:
            mark = next(left_over)
            source.append(mark)
            target += [mark, word]
        else:
            source.append(word)
    return source, [*target, next(left_over)]


def marks_in_target(words, places, marks):
    """The source is right; the target has a mark for each word."""
    target = []
    for mark, (start, many) in zip(marks, places, strict=False):
        for word in words[start : start + many]:
            target += [mark, word]
    return left(words, places, marks)[0], [*target, marks[len(places)]]


def read_as(span):
    """As `left`, with another idea of what a place says."""

    def mine(words, places, marks):
        source, target, at = [], [], 0
        for mark, place in zip(marks, places, strict=False):
            start, end = span(*place)
            source += [*words[at:start], mark]
            target += [mark, *words[start:end]]
            at = end
        return [*source, *words[at:]], [*target, marks[len(places)]]

    return mine


def not_going_on(words, places, marks):
    source, target, at = [], [], 0
    for mark, (start, many) in zip(marks, places, strict=False):
        source += [*words[at:start], mark]
        target += [mark, *words[start : start + many]]
        at = start
    return source + words[at:], [*target, marks[len(places)]]


def moving_up(words, places, marks):
    source = list(words)
    for mark, (start, many) in zip(marks, places, strict=False):
        source[start : start + many] = [mark]
    return source, left(words, places, marks)[1]


def without_the_rest(words, places, marks):
    source, target = left(words, places, marks)
    end = sum(places[-1]) if places else 0
    return source[: len(source) - len(words[end:])], target


def behind_their_words(words, places, marks):
    target = []
    for mark, (start, many) in zip(marks, places, strict=False):
        target += [*words[start : start + many], mark]
    return left(words, places, marks)[0], [*target, marks[len(places)]]


def appended(words, places, marks):
    target = []
    for mark, (start, many) in zip(marks, places, strict=False):
        target.append(mark)
        target.append(words[start : start + many])
    return left(words, places, marks)[0], [*target, marks[len(places)]]


def popped(words, places, marks):
    target = []
    for mark, (start, many) in zip(marks, places, strict=False):
        target += [mark, *[words.pop(start) for _ in range(many)]]
        words.insert(start, mark)
    return words, target


def ended_by(at):
    def mine(words, places, marks):
        source, target = left(words, places, marks)
        return source, [*target[:-1], marks[at(len(places))]]

    return mine


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
        (mark_a_word, "yours has one for each word"),
        (a_new_mark_a_word, "yours has one for each word"),
        (marks_in_target, "not before each word"),
        (read_as(lambda a, b: (a, b + 1)), "not (first, last)"),
        (read_as(lambda a, b: (a, b)), "slice from the one number"),
        (
            lambda w, p, m: (
                left(w, p, m)[0],
                read_as(lambda a, b: (a, b))(w, p, m)[1],
            ),
            "The source is right. A place is",
        ),
        (read_as(lambda a, b: (a - 1, a - 1 + b)), "counted from 0"),
        (read_as(lambda a, b: (a, a + b + 1)), "One word too many"),
        (read_as(lambda a, b: (a, a + b - 1)), "One word too few"),
        (not_going_on, "go on behind the span"),
        (moving_up, "moved up"),
        (without_the_rest, "ends at the last span"),
        (behind_their_words, "yours stand behind them"),
        (appended, "a list inside it"),
        (popped, "a copy: list(words)"),
        (ended_by(lambda n: -1), "not the last of the list"),
        (ended_by(lambda n: n - 1), "that a span already has"),
        (
            lambda w, p, m: (
                [*left(w, p, m)[0], m[len(p)]],
                left(w, p, m)[1],
            ),
            "only for the target",
        ),
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


def one_by_one_word(words, places, marks):
    spans, unused = dict(places), iter(marks)
    source, target, i = [], [], 0
    while i < len(words):
        if i in spans:
            mark = next(unused)
            source.append(mark)
            target += [mark, *words[i : i + spans[i]]]
            i += spans[i]
        else:
            source.append(words[i])
            i += 1
    return tuple(source), (*target, next(unused))


def with_an_offset(words, places, marks):
    source, target, gone = words[:], [], 0
    for (start, many), mark in zip(places, marks, strict=False):
        target += [mark, *words[start : start + many]]
        source[start - gone : start - gone + many] = [mark]
        gone += many - 1
    return source, target + [marks[len(places)]]


@pytest.mark.parametrize(
    "mine", [left, from_behind, one_by_one_word, with_an_offset]
)
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


def sorted_by(keep, back="right", divide=True):
    """Sort, keep, put back, divide; each step can be another's."""

    def mine(p, t):
        ordered, order, total = sums(p)
        kept = torch.where(keep(ordered, total, t), ordered, 0)
        if back == "right":
            kept = torch.zeros_like(p).scatter(0, order, kept)
        else:
            kept = kept[order]
        return kept / kept.sum() if divide else kept

    return mine


def one_more(p, t):
    ordered, order, total = sums(p)
    count = int((total < t).sum()) + 2
    kept = torch.zeros_like(p)
    kept[order[:count]] = ordered[:count]
    return kept / kept.sum()


def the_others(p, t):
    kept = p * (sampling_probs(p.log(), top_p=t) == 0)
    return kept / kept.sum()


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            sorted_by(lambda o, c, t: c < t),
            "even where the sum meets it exactly. The word",
        ),
        (
            sorted_by(lambda o, c, t: c < t, divide=False),
            "even where the sum meets it exactly, and do not divide",
        ),
        (sorted_by(lambda o, c, t: c - o <= t), "no further word is needed"),
        (one_more, "You keep one word too many"),
        (
            sorted_by(lambda o, c, t: c - o < t, back="same"),
            "the same indexing. Sorting",
        ),
        (
            sorted_by(lambda o, c, t: c - o < t, back="same", divide=False),
            "the same indexing, and do not divide",
        ),
        (the_others, "You keep the words that are cut off"),
        (lambda p, t: torch.where(p >= t, p, 0), "and do not divide. It is"),
        (
            lambda p, t: sampling_probs(p.log(), top_p=t).softmax(0),
            "wake those that were cut off",
        ),
        (lambda p, t: soon(p, t), "before the threshold is reached"),
        (lambda p, t: soon(p, t, False), "and do not divide by the sum"),
        (
            lambda p, t: (
                sampling_probs(p.log(), top_p=t)
                * p[sampling_probs(p.log(), top_p=t) > 0].sum()
            ),
            "no longer sum to 1",
        ),
        (
            lambda p, t: (
                sampling_probs(p.log(), top_p=t).sort(descending=True).values
            ),
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
                sampling_probs(p.log(), top_p=t) > 0, p, -torch.inf
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
    return sampling_probs(p.log(), top_p=threshold)


def by_count(p, threshold):
    ordered, order = torch.sort(p, descending=True)
    count = int((ordered.cumsum(0) < threshold).sum()) + 1
    kept = torch.zeros_like(p)
    kept[order[:count]] = ordered[:count] / ordered[:count].sum()
    return kept


def by_largest(p, threshold):
    rest, kept = p.clone(), torch.zeros_like(p)
    while kept.sum() < threshold:
        at = rest.argmax()
        kept[at], rest[at] = p[at], 0
    return kept / kept.sum()


def by_places(p, threshold):
    ordered, order = p.sort(descending=True)
    kept = torch.where(ordered.cumsum(0) - ordered < threshold, ordered, 0)
    return (kept / kept.sum())[order.argsort()]


def by_larger_ones(p, threshold):
    larger = torch.stack([p[p > one].sum() for one in p])
    kept = p * (larger < threshold)
    return kept / kept.sum()


@pytest.mark.parametrize(
    "mine",
    [one_by_one, by_shape, by_count, by_largest, by_places, by_larger_ones],
)
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
            lambda x, n: (
                four(x, len(x) // n)
                .transpose(1, 2)
                .reshape(n * n, (len(x) // n) ** 2)
            ),
            "not how many squares there are",
        ),
        (
            lambda x, n: F.unfold(x[None, None], n, stride=n)[0],
            "a row for each patch",
        ),
        (
            lambda x, n: F.unfold(x[None, None], n)[0].T,
            "Your squares overlap",
        ),
        (
            lambda x, n: x.unfold(0, n, 1).unfold(1, n, 1),
            "Your squares overlap",
        ),
        (
            lambda x, n: four(x, n).transpose(1, 2).view(-1, n * n),
            "Use .reshape(...) instead",
        ),
        (
            lambda x, n: four(x, n).permute(2, 0, 3, 1).reshape(-1, n * n),
            "the picture's transpose",
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


def by_two_unfolds(picture, size):
    rows = picture.unfold(0, size, size).unfold(1, size, size)
    return rows.reshape(-1, size * size)


def by_splits(picture, size):
    rows = [part.split(size, 1) for part in picture.split(size)]
    return torch.stack([part.flatten() for row in rows for part in row])


@pytest.mark.parametrize(
    "mine", [by_unfold, by_slices, by_two_unfolds, by_splits]
)
def test_cut_patches_by_another_route(mine):
    assert check.cut_patches(mine) is True
