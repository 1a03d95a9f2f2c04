"""The bottleneck's exercises: each solution, and the check beside it.

What is right is taken from plain loops over Python lists, never from the
solution. The GRU's exercises stand in `recurrence`.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import Hint, as_tensor, expect, random_inputs


def reverse_source_solution(source, pad=0, end=3):
    """Words in reverse; the end token and the padding stay in place."""
    words = ((source != pad) & (source != end)).sum(dim=1, keepdim=True)
    place = torch.arange(source.shape[1], device=source.device)
    mirrored = torch.where(place < words, words - 1 - place, place)
    return source.gather(1, mirrored)


def _rebuilt(rows, pad, end, order):
    """Each row put together anew from its words, padding and end token."""
    built = []
    for row in rows:
        words = [token for token in row if token not in (pad, end)]
        built.append(order(words[::-1], [pad] * row.count(pad), [end]))
    return torch.tensor(built)


_REVERSED_WRONG = {
    "The end token comes first. It must stay last: what the encoder knows "
    "when it has read <end> is its summary.": lambda w, p, e: e + w + p,
    "The words are right, but the padding has moved to the front. It stays "
    "at the right, behind <end>.": lambda w, p, e: p + w + e,
    "The padding slipped in before <end>: first the words, then <end>, then "
    "the padding.": lambda w, p, e: w + p + e,
    "<end> has become padding: every sentence needs its end token.": (
        lambda w, p, e: w + p + p[:1] if p else w + e
    ),
}


@exercise("bottleneck", reverse_source_solution)
def reverse_source(mine):
    """Sutskever's reversal of the source, in a padded batch."""
    padded = [[5, 6, 7, 8, 3, 0, 0], [9, 4, 3, 0, 0, 0, 0], [3] + 6 * [0]]
    full = [[7, 5, 5, 6, 4, 9, 3], [4, 5, 6, 7, 8, 9, 3]]
    renamed = [[5, 0, 6, 1, 2, 2], [8, 9, 3, 6, 0, 1]]
    for rows, pad, end in ((padded, 0, 3), (full, 0, 3), (renamed, 2, 1)):
        source = torch.tensor(rows)
        result = mine(source, pad, end)
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            raise Hint("Token ids are whole numbers: keep source's dtype.")
        found = as_tensor(result, source.shape, "[batch, source]").long()
        truth = _rebuilt(rows, pad, end, lambda w, p, e: w + e + p)
        if rows is renamed and not torch.equal(found, truth):
            raise Hint(
                "Right for pad = 0 and end = 3, wrong for pad = 2 and "
                "end = 1: use the two arguments, not the numbers."
            )
        mistakes = {
            "Nothing is reversed yet.": source,
            "You flipped the whole row, padding and <end> with it, so the "
            "encoder reads padding first. Turn the words only.": (
                source.flip(1)
            ),
            "You reversed the order of the sentences in the batch; turn the "
            "words within each sentence.": source.flip(0),
        }
        for hint, order in _REVERSED_WRONG.items():
            mistakes[hint] = _rebuilt(rows, pad, end, order)
        expect(found, truth, mistakes, f"for {rows},")
    return (
        "words turned, <end> behind them, padding at the right; also with "
        "full rows, an empty sentence and other ids for pad and end."
    )


def masked_loss_solution(logits, target, pad=0):
    """Mean of −log p(y_i | y_<i, x) over the target's real tokens."""
    wanted = target[:, 1:]  # what should come after each token read
    losses = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), wanted, reduction="none"
    )  # [batch, target - 1]
    real = wanted != pad
    return (losses * real).sum() / real.sum()


def _losses(logits, wanted, pad):
    """−log p, one place at a time: of every place, of the real ones."""
    every, real = [], []
    for numbers, tokens in zip(logits.tolist(), wanted.tolist(), strict=True):
        row = [
            (math.log(sum(map(math.exp, scores))) - scores[token], token)
            for scores, token in zip(numbers, tokens, strict=True)
        ]
        every.append([loss for loss, _ in row])
        real.append([loss for loss, token in row if token != pad])
    return every, real


def _mean(rows):
    return sum(map(sum, rows)) / sum(map(len, rows))


def _loss_gone_wrong(logits, target, pad):
    """What each likely mistake in the loss gives, by its hint."""
    every, real = _losses(logits, target[:, 1:], pad)
    unshifted = _losses(logits, target[:, :-1], pad)
    total = sum(map(sum, real))
    return {
        "You average over the padding too: padded places count as words to "
        "predict. Only real target tokens belong in the mean.": _mean(every),
        "Padding adds nothing to your sum, but is still counted when you "
        "divide. Divide by the number of real tokens.": (
            total / sum(map(len, every))
        ),
        "You averaged each sentence first, then the sentences: a word in a "
        "short sentence weighs more than one in a long one. Sum over all "
        "real tokens, divide once.": (
            sum(_mean([row]) for row in real) / len(real)
        ),
        "The target is not shifted: logits[:, i], given y_0 … y_i, must "
        "predict target[:, i + 1]; yours predicts the word just read.": (
            _mean(unshifted[1])
        ),
        "The target is not shifted, and padding is averaged in as well. "
        "Shift first: logits[:, i] must predict target[:, i + 1].": (
            _mean(unshifted[0])
        ),
        "That is the sum; divide by the number of real tokens.": total,
        "You divide by the number of sentences, not of real tokens.": (
            total / len(real)
        ),
        "The sign: the loss is MINUS the log-probability.": -_mean(real),
    }


@exercise("bottleneck", masked_loss_solution)
def masked_loss(mine):
    """Cross-entropy, a mean over the real target tokens."""
    batches = (
        (1, [[2, 7, 5, 4, 6, 3], [2, 5, 3, 0, 0, 0]], 0),
        (2, [[2, 4, 3, 1, 1], [2, 6, 7, 5, 3], [2, 3, 1, 1, 1]], 1),
    )
    for seed, rows, pad in batches:
        target = torch.tensor(rows)
        (logits,) = random_inputs(seed, (len(rows), len(rows[0]) - 1, 8))
        logits.requires_grad_()
        result = mine(logits, target, pad)
        if isinstance(result, (int, float)):
            raise Hint(
                "A plain number cannot be trained on: return the tensor "
                "itself, without .item() or float()."
            )
        found = as_tensor(result, (), "a single number, shape []")
        truth = _mean(_losses(logits.double(), target[:, 1:], pad)[1])
        wrong = _loss_gone_wrong(logits.double(), target, pad)
        expect(
            found,
            torch.tensor(truth).double(),
            wrong if pad == 0 else {},
            otherwise=None
            if pad == 0
            else "Right with pad = 0, wrong with pad = 1: use the argument "
            "pad, not the number 0.",
        )
        if not result.requires_grad:
            raise Hint(
                "The value is right, but no gradient can flow back: "
                ".detach() or torch.tensor(...) has cut the graph."
            )
    return (
        "shifted target, mean over real tokens only (two batches, two ids "
        "for padding), and gradients flow."
    )


def half_length_solution(rates):
    """The first length with a rate under one half, None if there is none."""
    for length in sorted(rates, key=int):
        if rates[length] < 0.5:
            return int(length)
    return None


_RECORDS = (
    (
        {"2": 1.0, "4": 0.9, "8": 0.6, "16": 0.4, "32": 0.1},
        16,
        {
            8: "That is the last length still above one half; the one after "
            "it is wanted.",
            32: "That is the longest length; the first one under one half "
            "is wanted.",
        },
    ),
    (
        {"30": 0.0, "4": 0.9, "10": 0.2, "5": 0.3},
        5,
        {
            30: "You took the lengths in the dictionary's order; sort them.",
            10: "JSON's keys are text, and as text '10' comes before '5'. "
            "Sort them as numbers: sorted(rates, key=int).",
        },
    ),
    ({"3": 0.5, "4": 0.4}, 4, {3: "One half is not under one half: use <."}),
    (
        {"3": 0.4, "4": 0.6, "5": 0.3},
        3,
        {5: "A rate may rise again. The first length under one half counts."},
    ),
    ({"3": 0.9, "4": 0.8}, None, {}),
)


@exercise("bottleneck", half_length_solution)
def half_length(mine):
    """The length at which the rate of exact copies falls under one half."""
    for rates, truth, mistakes in _RECORDS:
        found = mine(rates, may_be_none=truth is None)
        if isinstance(found, str):
            raise Hint("Give the length as a number: int(length).")
        if isinstance(found, float) and found in rates.values():
            raise Hint("That is the rate; its length is wanted.")
        if found == truth:
            continue
        if truth is None:
            raise Hint("Never under one half: give back None, not a length.")
        if found in list(mistakes):
            raise Hint(mistakes[found])
        raise Hint(f"For {rates} yours gives {found}; it should be {truth}.")
    return "five records: unsorted lengths, an exact half, rates that rise."
