"""The exercises of `families`: each check beside its reference solution.

What is right is found by loops over places, words and pixels, never by the
solution's formula.
"""

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
    "t5": "T5's mask",
}


def _may(family, i, j, prefix):
    """Whether place i may see place j."""
    if family == "bert":
        return True
    return j <= i or (family == "t5" and j < prefix)


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
    "the numbers of pairs under GPT's mask, BERT's and T5's",
    ["GPT", "BERT", "T5"],
    vary=("{n} tokens, of which T5's source has {prefix}", _other_mask),
)
def mask_by_hand(n=5, prefix=3):
    """How many pairs of places each mask allows."""
    gpt, bert, t5 = (_count(family, n, prefix) for family in _NAMES)
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
            t5,
            {
                "That is GPT's: T5's source words see one another in both "
                "directions.": gpt,
                "That is BERT's: the target's places may not see what comes "
                "later.": bert,
                "You counted the source alone. The target's places see the "
                "source and themselves.": prefix**2,
                "In yours the target cannot see the source. There is a look "
                "from one to the other.": prefix**2 + rest * (rest + 1) / 2,
                "In yours the source sees the target. It is read before a "
                "word is written.": _count("t5", n, prefix) + prefix * rest,
                "You left out the diagonal of the target.": t5 - rest,
                "You left out the whole diagonal: every place sees itself.": t5
                - n,
            },
            "The first two are right; the third is no slip that the check "
            "knows. The source is a full square; each place of the target "
            "sees all of the source, and the target up to itself.",
            around(1e-9),
            2,
        ),
    ]
    return f"{gpt}, {bert} and {t5} pairs.", *stages


def prefix_mask_solution(length, prefix):
    """True where j ≤ i, or where j is in the prefix."""
    place = torch.arange(length)
    return (place <= place[:, None]) | (place < prefix)


@exercise(prefix_mask_solution)
def prefix_mask(mine):
    """T5's mask in one row of tokens, for any prefix."""
    for length, prefix in ((5, 3), (6, 1), (4, 4), (7, 0), (1, 1)):
        rows = range(length)

        def table(may, rows=rows):
            return float64([[float(may(i, j)) for j in rows] for i in rows])

        result = mine(length, prefix)
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            if bool(torch.isinf(result).any()):
                raise Hint(
                    "Give back True and False, True where one may look: what "
                    "is added to the scores comes later."
                )
        truth = table(lambda i, j, p=prefix: _may("t5", i, j, p))
        found = as_tensor(result, (length, length), "[length, length]")
        mistakes = {
            "You say True where nobody may look. In this book True means: may "
            "attend.": 1 - truth,
            "Rows look and columns are looked at: yours is the transpose.": (
                truth.T
            ),
            "That is GPT's mask. The words of the prefix see one another in "
            "both directions.": table(lambda i, j: j <= i),
            "That is BERT's mask: in yours the target sees what comes "
            "later.": table(lambda i, j: True),
            "The diagonal is missing: a place may see itself.": table(
                lambda i, j, p=prefix: j < i or j < p
            ),
            "One too many: the prefix is the places 0 to prefix − 1.": table(
                lambda i, j, p=prefix: j <= i or j <= p
            ),
            "One too few: the prefix is the places 0 to prefix − 1.": table(
                lambda i, j, p=prefix: j <= i or j < p - 1
            ),
            "In yours the rows of the prefix see the target, too. It is the "
            "columns that are free.": table(
                lambda i, j, p=prefix: j <= i or i < p
            ),
            "In yours the target does not see the prefix: there must be a look "
            "from one to the other.": table(
                lambda i, j, p=prefix: (
                    (i < p and j < p) or (i >= p and p <= j <= i)
                )
            ),
            "In yours the prefix sees itself and nobody else sees anything.": (
                table(lambda i, j, p=prefix: i < p and j < p)
            ),
        }
        given = f"with {length} tokens, {prefix} of them source"
        expect(found, truth, mistakes, given)
    return "five rows of tokens, one without a source, one without a target."


def spoil_words_solution(tokens, chosen, fate, other, mask):
    """80 % of the chosen become <mask>, 10 % another word, 10 % stay."""
    spoiled = torch.where(chosen & (fate < 0.8), mask, tokens)
    return torch.where(chosen & (fate >= 0.9), other, spoiled)


def _spoiled(tokens, chosen, fate, other, mask, first=0.8, last=0.9):
    """Word by word: what a fate makes of the chosen ones."""
    found = []
    for row in zip(tokens, chosen, fate, other, strict=True):
        new = []
        for token, is_chosen, chance, word in zip(*row, strict=True):
            if is_chosen and chance < first:
                new.append(mask)
            elif is_chosen and chance >= last:
                new.append(int(word))
            else:
                new.append(int(token))
        found.append(new)
    return float64(found)


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
        everywhere = torch.ones_like(chosen)
        mistakes = {
            "You spoil every word by its fate. Only the chosen ones have one; "
            "the others stay.": _spoiled(
                tokens, everywhere, chance, other, mask
            ),
            "Every chosen word became <mask>. A tenth of them become another "
            "word, and a tenth stay as they are.": _spoiled(
                tokens, chosen, chance, other, mask, 2.0, 2.0
            ),
            "In yours no chosen word stays as it is: those from 0.8 to 0.9 "
            "do.": _spoiled(tokens, chosen, chance, other, mask, 0.8, 0.8),
            "In yours no word becomes another: from 0.9 on they do.": _spoiled(
                tokens, chosen, chance, other, mask, 0.8, 2.0
            ),
            "You exchanged the two tenths: from 0.8 to 0.9 a word stays, from "
            "0.9 on it becomes another.": torch.where(
                chosen & (chance >= 0.8) & (chance < 0.9),
                other,
                torch.where(chosen & (chance < 0.8), mask, tokens),
            ),
            "You spoil the words that were not chosen.": _spoiled(
                tokens, ~chosen, chance, other, mask
            ),
            "The shares are 80, 10 and 10 in a hundred: yours mask the chosen "
            "below 0.1.": _spoiled(
                tokens, chosen, 1 - chance, other, mask, 0.1, 0.2
            ),
            "You take 15 in a hundred anew. Who is chosen is given.": _spoiled(
                tokens, chance < 0.15, chance, other, mask
            ),
            "That is <mask> in every place where a word could be spoiled; only "
            "80 in a hundred of the chosen get one.": torch.where(
                chosen | (chance < 0.8), mask, tokens
            ),
        }
        expect(
            found,
            _spoiled(tokens, chosen, chance, other, mask),
            mistakes,
            f"on {batch} × {length} words",
            otherwise="This is no slip that the check knows. Of the chosen "
            "words those with a fate below 0.8 become <mask>, those from 0.9 "
            "on become `other`; all else stays.",
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
        over_places = torch.log_softmax(float64(logits), dim=1)
        wrong_axis = over_places.gather(-1, tokens[..., None])[..., 0]
        mistakes = {
            "You ask for all words. Those that stand there for all to see "
            "need only be copied: the mean is over the chosen ones.": sum(nats)
            / len(nats),
            "You sum over the chosen, and divide by all words.": sum(kept)
            / len(nats),
            "That is the sum. Divide by how many were chosen.": sum(kept),
            "The sign: −log p is never below 0.": -sum(kept) / len(kept),
            "You ask for the words that were NOT chosen.": (
                sum(nats) - sum(kept)
            )
            / (len(nats) - len(kept)),
            "You take the mean of each caption first. Then a word counts the "
            "more, the fewer were chosen beside it.": sum(by_row) / len(by_row),
            "Your softmax is over the places; it has to be over the words.": (
                -wrong_axis[chosen].mean()
            ),
            "That is −z of the right word. The logits have to go through a "
            "softmax first.": -float64(logits)
            .gather(-1, tokens[..., None])[..., 0][chosen]
            .mean(),
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


def _left(words, places, marks, same=False, each=False):
    """Word by word: (source, target), or with a slip."""
    source, target = [], []
    inside = {}
    for number, (start, length) in enumerate(places):
        for i in range(start, start + length):
            inside[i] = (number, i == start)
    for i, word in enumerate(words):
        if i not in inside:
            source.append(word)
            continue
        number, first = inside[i]
        mark = marks[0] if same else marks[number]
        if first or each:
            source.append(mark)
            target.append(mark)
        target.append(word)
    return source, [*target, marks[len(places)]]


@exercise(leave_spans_solution)
def leave_spans(mine):
    """T5's exercise: what is left, and what was left out."""
    marks = ["<X>", "<Y>", "<Z>"]
    for text, places in (
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
        found = [list(map(str, plain(one))) for one in result]
        source, target = _left(words, places, marks)
        right = [source, target]
        if found == right:
            continue
        bare = [word for word in target if word not in marks]
        one = list(_left(words, places, marks, same=True))
        every = list(_left(words, places, marks, each=True))
        known = [
            (
                [source, target[:-1]],
                "The target lacks its last mark, which says that nothing "
                "more is missing.",
            ),
            (
                [source, bare],
                "The target has to say which words belong to which gap: set "
                "each span behind its mark, and a mark at the end.",
            ),
            (
                [source, [*bare, target[-1]]],
                "In the target each span stands behind its own mark; yours "
                "has only the last one.",
            ),
            ([target, source], "The source comes first, then the target."),
            (
                one,
                "Each gap has a mark of its own, or one cannot tell which is "
                "which: the first <X>, the second <Y>.",
            ),
            (
                every,
                "A span leaves one mark, however many words it has.",
            ),
            (
                [source, [*words]],
                "That is the whole text. T5 is asked only for what is missing.",
            ),
            (
                [[w for w in source if w not in marks], target],
                "In your source nobody can see where the gaps are: each "
                "leaves its mark.",
            ),
            (
                [words, target],
                "Your source still has the words that the target is to say.",
            ),
        ]
        for wrong, hint in known:
            if found == [list(each) for each in wrong]:
                raise Hint(hint)
        where = "source" if found[0] != source else "target"
        mine_says = " ".join(found[where == "target"])
        raise Hint(
            f"This is no slip that the check knows. For “{text}” and the "
            f"places {places} your {where} is “{mine_says}”, and it should be "
            f"“{' '.join(right[where == 'target'])}”."
        )
    return "four texts, one with a gap at its start, one with none."


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


def _until(q, threshold, order):
    """The first words of an order whose sum reaches the threshold."""
    kept, total = torch.zeros(len(q), dtype=torch.float64), 0.0
    for i in order:
        if total < threshold - 1e-9:
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
    return {
        "The right words are left, but they no longer sum to 1: divide by "
        "their sum.": reached,
        "You stop before the threshold is reached. The word that carries the "
        "sum over it is kept, too; so the likeliest word always stays.": (
            _whole(soon)
        ),
        "You stop before the threshold is reached, and do not divide by the "
        "sum either.": soon,
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
        "Nothing is cut off: those are the probabilities as they came.": q,
    }


@exercise(top_p_solution)
def top_p(mine):
    """What is left to draw from under top-p."""
    cases = (
        ([0.05, 0.5, 0.15, 0.3], 0.6),
        ([0.125, 0.25, 0.5, 0.125], 0.75),
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
            (size * size, count * count): "Yours is the transpose: a row for "
            "each patch.",
        }
        known.pop((count * count, size * size), None)
        result = mine(picture, size)
        shape = (count * count, size * size)
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
