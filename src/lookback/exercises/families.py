"""The exercises of `families`: each check beside its reference solution.

What is right is found by loops over places, words and pixels, never by the
solution's formula.
"""

from functools import partial

import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Hint,
    as_number,
    as_tensor,
    exercise,
    expect,
    float64,
    plain,
    random_inputs,
)

_NAMES = {
    "gpt": "GPT's mask",
    "bert": "BERT's mask",
    "prefix": "the prefix mask",
}


def _may(family, i, j, prefix):
    """Whether place i may see place j."""
    if family == "bert":
        return True
    return j <= i or (family == "prefix" and j < prefix)


def _count(family, n, prefix):
    """The pairs of places that a mask allows."""
    return sum(_may(family, i, j, prefix) for i in range(n) for j in range(n))


def mask_by_hand_solution():
    """n(n + 1)/2; n²; the prefix's square, and the triangle below it."""
    return [15, 25, 18]


def _other_mask(draw):
    n = draw.randint(6, 9)
    return {"n": n, "prefix": draw.randint(3, n - 2)}


@by_hand(
    mask_by_hand_solution,
    "the numbers of pairs under GPT's mask, BERT's and the prefix mask",
    ["GPT", "BERT", "prefix"],
    vary=("{n} tokens, of which the prefix has {prefix}", _other_mask),
)
def mask_by_hand(n=5, prefix=3):
    """How many pairs of places each mask allows."""
    gpt, bert, both = (_count(family, n, prefix) for family in _NAMES)
    rest = n - prefix
    stages = [
        stage(
            gpt,
            {
                "You left out the diagonal. A place sees itself: the word "
                "that stands there is known, and the next one is asked.": gpt
                - n,
                "That is BERT's: in yours every place sees every place.": bert,
                "That is half of all pairs; the diagonal belongs to both "
                "halves, and is counted once.": bert / 2,
                "You counted only the last row. Every row has its own "
                "pairs.": n,
            },
            "The first number is no slip that the check knows. Count row by "
            "row: the first place sees 1, the second 2, and so on.",
            around(1e-9),
        ),
        stage(
            bert,
            {
                "You left out the diagonal. With BERT a place may see itself, "
                "too.": bert - n,
                "That is GPT's: BERT's places see what comes later, too.": gpt,
                "That is one row. There is a row for every place.": n,
                "You counted each pair of places once. Place 1 seeing place 2 "
                "and place 2 seeing place 1 are two.": gpt - n,
            },
            "The first number is right; the second is no slip that the check "
            "knows. Every place sees every place.",
            around(1e-9),
            1,
        ),
        stage(
            both,
            {
                "That is as many as under GPT's. The prefix is a full square: "
                "its words see one another in both directions. And each later "
                "place sees all of the prefix, the later places before it, "
                "and itself.": gpt,
                "That is BERT's: places behind the prefix may not see what "
                "comes later.": bert,
                "You counted the prefix alone. The later places see the "
                "prefix and themselves.": prefix**2,
                "In yours the later places cannot see the prefix. There is a "
                "look from one to the other.": prefix**2
                + rest * (rest + 1) / 2,
                "In yours the prefix sees what follows it. It is read before "
                "a word is written.": both + prefix * rest,
                "In yours the later places see one another in both "
                "directions. That only the prefix may.": prefix * n + rest**2,
                "You left out the diagonal of the later places: each sees "
                "itself.": both - rest,
                "You left out the whole diagonal: every place sees "
                "itself.": both - n,
            },
            "The first two are right; the third is no slip that the check "
            "knows. The prefix is a full square; each later place sees all of "
            "the prefix, and of what follows it the part up to itself.",
            around(1e-9),
            2,
        ),
    ]
    return f"{gpt}, {bert} and {both} pairs.", *stages


def prefix_mask_solution(length, prefix):
    """True where j ≤ i, or where j is in the prefix."""
    place = torch.arange(length)
    return (place <= place[:, None]) | (place < prefix)


@exercise(prefix_mask_solution)
def prefix_mask(mine):
    """The prefix mask over one row of tokens, for any prefix."""
    for length, prefix in ((5, 3), (6, 1), (4, 4), (7, 0), (1, 1)):
        rows = range(length)

        def table(may, rows=rows):
            return float64([[float(may(i, j)) for j in rows] for i in rows])

        result = mine(length, prefix)
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            if bool((result < 0).any()):
                raise Hint(
                    "Give back True and False, True where one may look: what "
                    "is added to the scores comes later."
                )
        truth = table(lambda i, j, p=prefix: _may("prefix", i, j, p))
        found = as_tensor(result, (length, length), "[length, length]")
        mistakes = {
            "You say True where nobody may look. In this book True means: may "
            "attend.": 1 - truth,
            "Rows look and columns are looked at: yours is the transpose.": (
                truth.T
            ),
            "That is GPT's mask. The words of the prefix see one another in "
            "both directions.": table(lambda i, j: j <= i),
            "That is BERT's mask: in yours those behind the prefix see what "
            "comes later.": table(lambda i, j: True),
            "The diagonal is missing: a place may see itself.": table(
                lambda i, j, p=prefix: j < i or j < p
            ),
            "One too many: the prefix is the places 0 to prefix − 1.": table(
                lambda i, j, p=prefix: j <= i or j <= p
            ),
            "One too few: the prefix is the places 0 to prefix − 1.": table(
                lambda i, j, p=prefix: j <= i or j < p - 1
            ),
            "In yours the rows of the prefix see everything. It is the columns "
            "of the prefix that are free.": table(
                lambda i, j, p=prefix: j <= i or i < p
            ),
            "In yours those behind the prefix do not see it: there must be a "
            "look from one to the other.": table(
                lambda i, j, p=prefix: (
                    (i < p and j < p) or (i >= p and p <= j <= i)
                )
            ),
            "In yours the prefix sees itself and nobody else sees anything.": (
                table(lambda i, j, p=prefix: i < p and j < p)
            ),
            "Your triangle is the wrong one: in it each place sees what stands "
            "to its right.": table(lambda i, j: j >= i),
            "The columns of the prefix are free, but your triangle is the "
            "wrong one: in it each place sees what stands to its right.": (
                table(lambda i, j, p=prefix: j >= i or j < p)
            ),
            "You ask for two things at once, left and in the prefix. Either "
            "is enough: |, not &.": table(
                lambda i, j, p=prefix: j <= i and j < p
            ),
            "You moved the whole triangle by `prefix`. Then each place looks a "
            "few places ahead, also behind the prefix.": table(
                lambda i, j, p=prefix: j <= i + p
            ),
            "You moved the whole triangle by `prefix` − 1. Then each place "
            "looks a few places ahead, also behind the prefix.": table(
                lambda i, j, p=prefix: j <= i + p - 1
            ),
            "In yours those behind the prefix see one another in both "
            "directions, and the prefix does not.": table(
                lambda i, j, p=prefix: j <= i or (i >= p and j >= p)
            ),
        }
        given = f"with {length} tokens, {prefix} of them in the prefix"
        expect(found, truth, mistakes, given)
    return "five rows of tokens, one without a prefix, one that is all prefix."


def spoil_words_solution(tokens, chosen, fate, other, mask):
    """80 % of the chosen become <mask>, 10 % another word, 10 % stay."""
    spoiled = torch.where(chosen & (fate < 0.9), other, tokens)
    return torch.where(chosen & (fate < 0.8), mask, spoiled)


def _dealt(fate, masked=0.8, others=0.9):
    """What becomes of a chosen word: <mask>, another, or nothing."""
    return "mask" if fate < masked else "other" if fate < others else "stays"


def _spoiled(made, chosen, fates, kinds=_dealt):
    """Word by word; `made` has the tables, kinds(fate) says which is taken."""
    batch, length = chosen.shape
    found = torch.empty(batch, length, dtype=torch.float64)
    for n in range(batch):
        for i in range(length):
            kind = kinds(float(fates[n, i])) if chosen[n, i] else "stays"
            found[n, i] = made[kind][n, i]
    return found


# What a slip makes of the fate of a chosen word.
_FATES = {
    "You exchanged the two tenths: from 0.8 to 0.9 a word becomes `other`, "
    "from 0.9 on it stays. (The page's `mask_tokens` deals these two the other "
    "way round; the shares are the same.)": lambda fate: (
        "mask" if fate < 0.8 else "stays" if fate < 0.9 else "other"
    ),
    "Every chosen word became `mask`. A tenth of them become another word, "
    "and a tenth stay as they are.": lambda fate: "mask",
    "In yours no chosen word stays as it is: from 0.9 on they do.": (
        lambda fate: _dealt(fate, 0.8, 2.0)
    ),
    "In yours no word becomes another: from 0.8 to 0.9 they do.": (
        lambda fate: _dealt(fate, 0.8, 0.8)
    ),
    "In yours nothing becomes `mask`: whatever is below 0.9 is `other`. The "
    "later line writes over what the earlier one did; a fate below 0.8 is "
    "below 0.9, too.": lambda fate: _dealt(fate, 0.0, 0.9),
    "In yours every chosen word below 0.9 becomes `mask`, and none `other`: "
    "from 0.8 on that is its turn.": lambda fate: _dealt(fate, 0.9, 0.9),
    "You took the shares 10, 10 and 80 in a hundred: below 0.1 `mask`, below "
    "0.2 `other`. It is 80, 10 and 10.": lambda fate: _dealt(fate, 0.1, 0.2),
    "You count the fates from above: `mask` goes to those below 0.8, not to "
    "those above 0.2.": lambda fate: _dealt(1 - fate, 0.8, 0.9),
    "`mask` and `other` have changed places: it is `mask` that those below 0.8 "
    "become.": lambda fate: (
        "other" if fate < 0.8 else "mask" if fate < 0.9 else "stays"
    ),
    "Almost: look at the edges. A fate of exactly 0.8 is no longer below 0.8, "
    "and becomes `other`; one of exactly 0.9 stays.": lambda fate: (
        "mask" if fate <= 0.8 else "other" if fate <= 0.9 else "stays"
    ),
    "Almost: look at the edge of 0.8. A fate of exactly 0.8 is no longer below "
    "0.8, and becomes `other`.": lambda fate: (
        "mask" if fate <= 0.8 else "other" if fate < 0.9 else "stays"
    ),
    "Almost: look at the edge of 0.9. A fate of exactly 0.9 stays.": (
        lambda fate: (
            "mask" if fate < 0.8 else "other" if fate <= 0.9 else "stays"
        )
    ),
    "Almost: look at the edge of 0.8. Yours leaves a fate of exactly 0.8 as it "
    "is; it becomes `other`.": lambda fate: (
        "mask" if fate < 0.8 else "other" if 0.8 < fate < 0.9 else "stays"
    ),
}


@exercise(spoil_words_solution)
def spoil_words(mine):
    """BERT's exercise, with all chance given."""
    for seed, (batch, length) in enumerate(((3, 40), (1, 7), (2, 90))):
        a, b, c, d = random_inputs(seed, *[(batch, length)] * 4)
        tokens = (a.abs() * 500).long() + 5
        other = (b.abs() * 500).long() + 2_000
        chance = torch.special.ndtr(c.double())
        chance[0, 0], chance[0, 1] = 0.8, 0.9  # on the edges
        chosen, mask = d < 0, 4
        chosen[0, :2] = True
        result = mine(tokens, chosen, chance, other, mask)
        found = as_tensor(result, (batch, length), "[batch, length]")
        given = {
            "mask": torch.full_like(tokens, mask),
            "other": other,
            "stays": tokens,
        }
        words = partial(_spoiled, given)
        right = words(chosen, chance)
        everywhere = torch.ones_like(chosen)
        mistakes = {
            hint: words(chosen, chance, kinds) for hint, kinds in _FATES.items()
        }
        mistakes |= {
            "You spoil every word by its fate. Only the chosen ones have one; "
            "the others stay.": words(everywhere, chance),
            "You spoil the words that were not chosen.": words(~chosen, chance),
            "You take 15 in a hundred anew. Who is chosen is given.": words(
                chance < 0.15, chance
            ),
            "`mask` goes to the right words, but `other` also to words that "
            "were not chosen.": torch.where(
                (chance >= 0.8) & (chance < 0.9), other, right
            ),
            "`mask` goes to the right words, but `other` to all the rest below "
            "0.9, whether chosen or not.": torch.where(
                ~chosen & (chance < 0.9), other, right
            ),
            "`other` goes to the right words, but `mask` also to words that "
            "were not chosen.": torch.where(
                ~chosen & (chance < 0.8), mask, right
            ),
            "You ask for `chosen` or a fate below 0.8; both have to be true "
            "of a word for it to become `mask`.": torch.where(
                chosen | (chance < 0.8), mask, tokens
            ),
            "Nothing is spoiled: those are the tokens as they came.": tokens,
        }
        at = (found - right).abs().argmax()
        n, i = divmod(int(at), length)
        expect(
            found,
            right,
            mistakes,
            f"on {batch} × {length} words",
            otherwise="This is no slip that the check knows. Of the chosen "
            "words those with a fate below 0.8 become `mask`, those from 0.8 "
            "up to 0.9 become `other`; all else stays. Yours at "
            f"[{n}, {i}], where `chosen` is {bool(chosen[n, i])} and the fate "
            f"{float(chance[n, i]):.3f}, is {found[n, i].item():.0f}; the "
            f"token was {int(tokens[n, i])}, `other` is {int(other[n, i])}, "
            f"and `mask` is {mask}.",
        )
    return "three batches: chosen and not, masked, exchanged and left."


def covered_loss_solution(logits, tokens, chosen):
    """The mean of −log p(token) over the chosen places."""
    log_p = torch.log_softmax(logits, dim=-1)
    right = log_p.gather(-1, tokens[..., None])[..., 0]
    return -right[chosen].mean()


@exercise(covered_loss_solution)
def covered_loss(mine):
    """BERT's loss, on the chosen words."""
    for seed, (batch, length, vocab) in enumerate(((3, 7, 5), (1, 4, 9))):
        logits, a, b = random_inputs(
            seed, (batch, length, vocab), (batch, length), (batch, length)
        )
        logits = 2 * logits
        tokens = (a.abs() * 10).long() % vocab
        chosen = b > 0
        chosen[0, 0], chosen[0, 1] = True, False
        found = as_number(mine(logits, tokens, chosen), "one number, the mean")
        nats, places = [], []
        for n in range(batch):
            for i in range(length):
                z = float64(logits[n, i])
                nats.append(float(z.logsumexp(0) - z[tokens[n, i]]))
                places.append(bool(chosen[n, i]))
        kept = [x for x, yes in zip(nats, places, strict=True) if yes]
        table = float64(nats).view(batch, length)
        by_row = [
            float(table[n][chosen[n]].mean())
            for n in range(batch)
            if bool(chosen[n].any())
        ]
        z, index = float64(logits), tokens[..., None]
        p = z.softmax(-1)

        def at_chosen(scores, index=index, chosen=chosen):
            return scores.gather(-1, index)[..., 0][chosen]

        among = torch.log_softmax(z[chosen], dim=0)  # over the chosen places
        ahead = z[:, :-1].log_softmax(-1).gather(-1, index[:, 1:])[..., 0]
        mistakes = {
            "You ask for all words. Those that stand there for all to see "
            "need only be copied: the mean is over the chosen ones.": sum(nats)
            / len(nats),
            "You sum over the chosen, and divide by all words.": sum(kept)
            / len(nats),
            "That is the sum. Divide by how many were chosen.": sum(kept),
            "You divide by the number of captions. Divide by how many words "
            "were chosen.": sum(kept) / batch,
            "You ask how sure it is of its likeliest word. Asked for is the "
            "word that stood there.": (
                -float64(logits).log_softmax(-1).max(-1).values[chosen].mean()
            ),
            "The sign: −log p is never below 0.": -sum(kept) / len(kept),
            "You ask for the words that were NOT chosen.": (
                sum(nats) - sum(kept)
            )
            / (len(nats) - len(kept)),
            "You take the mean of each caption first. Then a word counts the "
            "more, the fewer were chosen beside it.": sum(by_row) / len(by_row),
            "Your softmax is over the places; it has to be over the words.": (
                -at_chosen(z.log_softmax(1)).mean()
            ),
            "Your softmax is over the chosen places, one below the other; it "
            "has to be over the words, the last axis.": (
                -among.gather(-1, index[chosen]).mean()
            ),
            "Your softmax is over the captions of the batch; it has to be "
            "over the words, the last axis.": -at_chosen(
                z.log_softmax(0)
            ).mean(),
            "You ask each place for the next word. That is GPT's question; "
            "BERT is asked what stood at the place itself.": (
                -ahead[chosen[:, 1:]].mean()
            ),
            "You ask each chosen place for the next word. That is GPT's "
            "question; BERT is asked what stood at the place itself.": (
                -ahead[chosen[:, :-1]].mean()
            ),
            "Softmax twice: cross_entropy and log_softmax want the logits as "
            "they are.": -at_chosen(p.log_softmax(-1)).mean(),
            "The loss is right, and then you took its exponential. Asked for "
            "are the nats.": float64(sum(kept) / len(kept)).exp(),
            "That is the logarithm of the mean probability. Take the logarithm "
            "of each, then the mean.": -at_chosen(p).mean().log(),
            "That is the mean of −p: the logarithm is missing. (nll_loss wants "
            "log_softmax, not softmax.)": -at_chosen(p).mean(),
            "That is −z of the right word. The logits have to go through a "
            "softmax first.": -at_chosen(z).mean(),
            "That is the mean of the probabilities, without a logarithm.": (
                float64(kept).neg().exp().mean()
            ),
            "That is in bits; here it is in nats, the natural logarithm.": (
                sum(kept) / len(kept) / 0.6931471805599453
            ),
        }
        expect(
            found,
            sum(kept) / len(kept),
            mistakes,
            otherwise="This is no slip that the check knows. Take −log of the "
            "softmax at the right word, in every chosen place, and the mean of "
            "these.",
        )
    return "two batches, by a sum over the chosen places."


def leave_spans_solution(words, places, marks):
    """Spans go out of the source and into the target, behind their mark."""
    source, target, at = [], [], 0
    for mark, (start, length) in zip(marks, places, strict=False):
        source += [*words[at:start], mark]
        target += [mark, *words[start : start + length]]
        at = start + length
    return [*source, *words[at:]], [*target, marks[len(places)]]


def _left(words, places, marks, mark="span"):
    """Word by word: (source, target).

    `mark` says what leaves one in the source: each "span", as it should; each
    "word", that of its span; or each "word, a new one".
    """
    source, target, inside = [], [], {}
    for number, (start, length) in enumerate(places):
        for i in range(start, start + length):
            inside[i] = (number, i == start)
    used = 0
    for i, word in enumerate(words):
        if i not in inside:
            source.append(word)
            continue
        number, first = inside[i]
        own = marks[used if "new" in mark else number]
        if first or "word" in mark:
            source.append(own)
            target.append(own)
            used += 1
        target.append(word)
    return source, [*target, marks[used if "new" in mark else len(places)]]


def _read_otherwise(places):
    """Spans as (first, how many), if `places` are taken for something else."""
    return {
        "A place is (first word, how many), not (first, last): (3, 4) takes "
        "four words out, those numbered 3, 4, 5 and 6.": [
            (first, last - first + 1) for first, last in places
        ],
        "A place is (first word, how many), and you slice from the one number "
        "to the other: (3, 4) takes four words out, words[3 : 3 + 4].": [
            (first, last - first) for first, last in places
        ],
        "Words are counted from 0: a span that begins at 3 begins with the "
        "fourth word.": [(first - 1, many) for first, many in places],
        "One word too many: a span of four that begins at 3 ends before 3 + "
        "4.": [(first, many + 1) for first, many in places],
        "One word too few: a span of four that begins at 3 ends before 3 + "
        "4.": [(first, many - 1) for first, many in places],
    }


def _span_slips(words, places, marks):
    """Each likely mistake: its hint, the source and target that it gives.

    None stands for whatever is there.
    """
    source, target = _left(words, places, marks)
    bare = [word for word in target if word not in marks]
    word_source, word_target = _left(words, places, marks, "word")
    new_source, new_target = _left(words, places, marks, "word, a new one")
    same = {mark: marks[0] for mark in marks[: len(places)]}
    ahead, behind, end = [], [], 0
    for mark, (start, many) in zip(marks, places, strict=False):
        span = words[start : start + many]
        ahead += [*words[end:start], mark, *span]
        behind += [*span, mark]
        end = start + many
    ahead += words[end:]
    moved = list(words)
    for mark, (start, many) in zip(marks, places, strict=False):
        moved[start : start + many] = [mark]
    cut = source[: len(source) - len(words[end:])] if places else []
    last = marks[len(places)]
    each_word = (
        "A span leaves one mark, however many words it has: yours has one for "
        "each word."
    )
    known = [
        ("The source comes first, then the target.", target, source),
        (each_word, word_source, None),
        (each_word, new_source, None),
        (
            "The source is right. In the target, too, a mark stands once "
            "before all the words of its span, not before each word.",
            source,
            word_target,
        ),
        (
            "The source is right. In the target, too, there is one mark for "
            "a span, not one for each word.",
            source,
            new_target,
        ),
        (
            "The target lacks its last mark, which says that nothing more is "
            "missing.",
            source,
            target[:-1],
        ),
        (
            "The last mark is the next one that has not been used, "
            "marks[len(places)], not the last of the list.",
            source,
            [*target[:-1], marks[-1]],
        ),
        (
            "The last mark is the next one that has not been used; yours has "
            "one again that a span already has.",
            source,
            [*target[:-1], marks[len(places) - 1]],
        ),
        (
            "The last mark is the next one that has not been used; yours has "
            "one again that a span already has.",
            source,
            [*target[:-1], marks[0]],
        ),
        (
            "The target has to say which words belong to which gap: set each "
            "span behind its mark, and a mark at the end.",
            source,
            bare,
        ),
        (
            "In the target each span stands behind its own mark; yours has "
            "only the last one.",
            source,
            [*bare, last],
        ),
        (
            "In the target a mark stands before the words of its span; yours "
            "stand behind them.",
            source,
            [*behind, last],
        ),
        (
            "In the target a mark stands before the words of its span; yours "
            "stand behind them. And one more mark ends it.",
            source,
            behind,
        ),
        (
            "Each gap has a mark of its own, or one cannot tell which is "
            "which: the first <X>, the second <Y>.",
            [same.get(word, word) for word in source],
            None,
        ),
        (
            "That is the whole text. T5 is asked only for what is missing.",
            source,
            list(words),
        ),
        (
            "In your source nobody can see where the gaps are: each leaves "
            "its mark.",
            [word for word in source if word not in marks],
            None,
        ),
        (
            "Your source still has the words that the target is to say.",
            list(words),
            None,
        ),
        (
            "Your source has the marks, and behind them still the words that "
            "the target is to say: go on behind the span, not at its start.",
            ahead,
            None,
        ),
        (
            "You put a mark in for a span, and the words behind it moved up: "
            "the next place no longer fits. Go from right to left, or build "
            "a new list.",
            moved,
            None,
        ),
        (
            "Your source ends at the last span. What comes after it stays, "
            "too.",
            cut,
            None,
        ),
        (
            "The source has a mark for each gap and no more: the last mark is "
            "only for the target.",
            [*source, last],
            None,
        ),
    ]
    for hint, spans in _read_otherwise(places).items():
        wrong_source, wrong_target = _left(words, spans, marks)
        known.append((hint, wrong_source, None))
        known.append((f"The source is right. {hint}", source, wrong_target))
    return [one for one in known if one[1] != source or one[2] is not None]


@exercise(leave_spans_solution)
def leave_spans(mine):
    """T5's exercise: what is left, and what was left out."""
    marks = ["<X>", "<Y>", "<Z>", "<U>", "<V>", "<W>"]
    for text, places in (
        ("two dogs play in the deep snow near a house", [(3, 4)]),
        ("thank you for inviting me to your party last week", [(2, 2), (8, 1)]),
        ("a man sleeps", [(0, 1)]),
        ("two dogs play in the snow", [(1, 1), (4, 2)]),
        ("nothing is missing", []),
    ):
        words = text.split()
        result = mine(words, places, marks)
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise Hint("Give back two lists of words: the source, the target.")
        if isinstance(result[0], str) or isinstance(result[1], str):
            raise Hint("Give back lists of words, not one string.")
        if any(isinstance(x, list) for one in result for x in plain(one)):
            raise Hint(
                "One of your lists has a list inside it. Add its words one by "
                "one: += or extend, not append."
            )
        found = [list(map(str, plain(one))) for one in result]
        right = [list(one) for one in _left(words, places, marks)]
        if found == right:
            continue
        for hint, source, target in _span_slips(words, places, marks):
            if found[0] == source and target in (None, found[1]):
                raise Hint(hint)
        where = "source" if found[0] != right[0] else "target"
        mine_says = " ".join(found[where == "target"])
        raise Hint(
            f"This is no slip that the check knows. For “{text}” and the "
            f"places {places} your {where} is “{mine_says}”, and it should be "
            f"“{' '.join(right[where == 'target'])}”."
        )
    return "five texts, one with a gap at its start, one with none."


def top_p_solution(p, threshold):
    """The fewest words, likeliest first, whose sum reaches the threshold."""
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(dim=0) - ordered
    kept = torch.zeros_like(p)
    kept[order] = torch.where(before < threshold, ordered, 0)
    return kept / kept.sum()


def _nucleus(p, threshold, past=True, divided=True):
    """Word by word, from the likeliest on."""
    order = sorted(range(len(p)), key=lambda i: -float(p[i]))
    kept, total = torch.zeros(len(p), dtype=torch.float64), 0.0
    for i in order:
        if total >= threshold or (not past and total + p[i] > threshold):
            break
        kept[i] = p[i]
        total += float(p[i])
    if divided and total:
        kept = kept / total
    return kept


def _whole(kept):
    """Divided by its sum, where there is one."""
    return kept / kept.sum().clamp(min=1e-12)


def _until(q, threshold, order, short=False, over=False, more=0):
    """The first words of an order whose sum reaches the threshold.

    A slip stops `short` of it, has to get `over` it, or takes some `more`.
    """
    kept, total = torch.zeros(len(q), dtype=torch.float64), 0.0
    for i in order:
        reached = total >= threshold - (-1e-9 if over else 1e-9)
        if short:
            reached = total + float(q[i]) >= threshold - 1e-9
        more -= reached
        if reached and more < 0:
            break
        kept[i] = q[i]
        total += float(q[i])
    return kept


def _top_p_slips(q, threshold):
    """Each likely mistake, and what it leaves."""
    truth = _nucleus(q, threshold)
    reached = _nucleus(q, threshold, divided=False)
    soon = _nucleus(q, threshold, past=False, divided=False)
    zero = torch.zeros_like(q)
    words = range(len(q))
    order = sorted(words, key=lambda i: -float(q[i]))
    return {
        "The right words are left, but they no longer sum to 1: divide by "
        "their sum.": reached,
        "You stop before the threshold is reached. The word that carries the "
        "sum over it is kept, too; so the likeliest word always stays.": (
            _whole(soon)
        ),
        "You stop before the threshold is reached, and do not divide by the "
        "sum either.": soon,
        "You stop before the threshold is reached, even where the sum meets "
        "it exactly. The word that carries the sum to it is kept; so the "
        "likeliest word always stays.": _whole(
            _until(q, threshold, order, short=True)
        ),
        "You stop before the threshold is reached, even where the sum meets "
        "it exactly, and do not divide by the sum either.": _until(
            q, threshold, order, short=True
        ),
        "One word too many where the sum is exactly the threshold: then it is "
        "reached, and no further word is needed.": _whole(
            _until(q, threshold, order, over=True)
        ),
        "You keep one word too many: the one that carries the sum to the "
        "threshold is the last.": _whole(_until(q, threshold, order, more=1)),
        "You sorted, and then put the words back by the same indexing. "
        "Sorting is p[order]; the way back is kept[order] = ….": (
            truth[order][order]
        ),
        "You sorted, and then put the words back by the same indexing, and "
        "do not divide by the sum. Sorting is p[order]; the way back is "
        "kept[order] = ….": reached[order][order],
        "You keep the words that are cut off, and cut off those that are "
        "kept.": _whole(q - reached),
        "The probabilities are right, but they stand in the order of their "
        "size: give each back to its own word.": (
            truth.sort(descending=True).values
        ),
        "They stand in the order of their size, and are not divided by their "
        "sum.": reached.sort(descending=True).values,
        "You keep the words that have the threshold each on its own. It is "
        "their sum, likeliest first, that has to reach it.": _whole(
            torch.where(q >= threshold, q, zero)
        ),
        "You keep the words that have the threshold each on its own, and do "
        "not divide. It is their sum, likeliest first, that has to reach it, "
        "and what is left has to sum to 1.": torch.where(
            q >= threshold, q, zero
        ),
        "You keep what is above 1 − threshold. It is the sum, likeliest "
        "first, that has to reach the threshold.": _whole(
            torch.where(q >= 1 - threshold, q, zero)
        ),
        "You add up in the order of the vocabulary. Sort first: the likeliest "
        "words come first.": _whole(_until(q, threshold, words)),
        "You begin with the least likely words.": _whole(
            _until(q, threshold, sorted(words, key=lambda i: float(q[i])))
        ),
        "Divide by the sum of what is left; softmax would make other "
        "probabilities of them.": torch.where(truth > 0, q, -torch.inf).softmax(
            0
        ),
        "Divide by the sum of what is left; softmax would make other "
        "probabilities of them, and wake those that were cut off.": (
            truth.softmax(0)
        ),
        "Nothing is cut off: those are the probabilities as they came.": q,
    }


@exercise(top_p_solution)
def top_p(mine):
    """What is left to draw from under top-p."""
    cases = (
        ([0.05, 0.5, 0.15, 0.3], 0.6),
        ([0.0625, 0.25, 0.5, 0.1875], 0.75),
        ([0.35, 0.1, 0.4, 0.15], 0.3),
        ([0.3, 0.1, 0.4, 0.2], 1.0),
        ([0.06, 0.24, 0.1, 0.22, 0.2, 0.18], 0.55),
    )
    found, truth, slips, first = [], [], {}, ""
    for numbers, threshold in cases:
        q, n = float64(numbers), len(numbers)
        result = mine(torch.tensor(numbers), threshold)
        one = as_tensor(result, (n,), "[vocab]").nan_to_num(0.0)
        right = _nucleus(q, threshold)
        found.append(one)
        truth.append(right)
        for hint, wrong in _top_p_slips(q, threshold).items():
            slips.setdefault(hint, []).append(wrong)
        if not first and not torch.allclose(one, right, atol=1e-4):
            left = [round(float(x), 3) for x in right]
            yours = [round(float(x), 3) for x in one]
            first = (
                f"Of {numbers} with {threshold} there should be left {left}; "
                f"yours is {yours}."
            )
    expect(
        torch.cat(found),
        torch.cat(truth),
        {hint: torch.cat(wrong) for hint, wrong in slips.items()},
        otherwise=f"This is no slip that the check knows. {first}",
    )
    return "five vocabularies, one in which the sum is met exactly."


def cut_patches_solution(picture, size):
    """Squares of size · size pixels, row by row, each laid flat."""
    count = len(picture) // size
    cut = picture.view(count, size, count, size)
    return cut.transpose(1, 2).flatten(2).flatten(0, 1)


def _squares(side, size, where):
    """Square by square, pixel by pixel: the number of the pixel at `where`."""
    count = side // size
    found = []
    for top in range(count):
        for left in range(count):
            square = []
            for y in range(size):
                for x in range(size):
                    row, column = where(top, left, y, x, size)
                    square.append(float(row * side + column))
            found.append(square)
    return float64(found)


def _is_transpose(result, side, size):
    """Whether these are the right patches, a column for each."""
    truth = _squares(side, size, lambda t, w, y, x, n: (t * n + y, w * n + x))
    if not isinstance(result, torch.Tensor) or result.shape != truth.T.shape:
        return False
    return torch.equal(float64(result.detach()), truth.T)


@exercise(cut_patches_solution)
def cut_patches(mine):
    """A picture as a row of patches."""
    for side, size in ((6, 2), (6, 3), (8, 2), (4, 4)):
        picture = torch.arange(float(side * side)).view(side, side)
        count = side // size
        known = {
            (count, count, size, size): "Lay the squares in one row, and each "
            "of them flat.",
            (count * count, size, size): "Each patch is to be a row of "
            "numbers: lay it flat.",
            (count, count, size * size): "The patches are to stand in one row.",
            (size, size, count, count): "Four axes are a beginning. Lay the "
            "squares in one row, and each of them flat.",
            (side - size + 1, side - size + 1, size, size): "Your squares "
            "overlap: go on by `size` pixels, not by one. And lay each flat.",
            ((side - size + 1) ** 2, size * size): "Your squares overlap: go "
            "on by `size` pixels, not by one.",
        }
        result = mine(picture, size)
        shape = (count * count, size * size)
        known[shape[::-1]] = (
            "Yours is the transpose: a row for each patch."
            if _is_transpose(result, side, size)
            else "`size` is how many pixels a square has on a side, not how "
            "many squares there are."
        )
        known.pop(shape, None)
        found = as_tensor(result, shape, "[patches, pixels]", known)

        n = size
        truth = _squares(side, n, lambda t, w, y, x, n: (t * n + y, w * n + x))
        strips = float64(picture).view(shape)
        columns = _squares(
            side, n, lambda t, w, y, x, n: (w * n + y, t * n + x)
        )
        down = _squares(side, n, lambda t, w, y, x, n: (t * n + x, w * n + y))
        turned = _squares(side, n, lambda t, w, y, x, n: (w * n + x, t * n + y))
        apart = _squares(
            side,
            n,
            lambda t, w, y, x, n, c=count: (y * c + t, x * c + w),
        )
        mistakes = {
            "Those are not squares: a plain view cuts the picture into strips "
            "of one row after another. Four axes are needed, and two of them "
            "have to change places.": strips,
            "The squares are right, but come column by column. Row by row: "
            "first to the right, then down.": columns,
            "Inside each square you go down first. Row by row there, too.": (
                down
            ),
            "You took the picture's transpose: columns for rows throughout.": (
                turned
            ),
            "You took every n-th pixel: those lie far apart. A patch is a "
            "square of neighbours.": apart,
        }
        expect(
            found,
            truth,
            mistakes,
            f"of {side} × {side} pixels",
            otherwise="This is no slip that the check knows. The first patch "
            f"of a picture of {side} × {side} whose pixels are counted row by "
            f"row is {[int(x) for x in truth[0]]}; yours is "
            f"{[int(x) for x in found[0]]}.",
        )
    return "four pictures, one of a single patch."
