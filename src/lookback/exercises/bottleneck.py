"""The exercises of `bottleneck`: each check beside its reference solution.

What is right comes from torch's own GRU cell and from plain loops over Python
lists, never from the solution.
"""

import math

import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    Called,
    Hint,
    as_number,
    as_tensor,
    exercise,
    expect,
    float64,
    random_inputs,
)


def _gru_gone_wrong(x, h, W_ih, W_hh, b_ih, b_hh):
    """What each likely mistake in a GRU step gives, by its hint."""
    a_r, a_z, a_n = (x @ W_ih.T + b_ih).chunk(3, dim=-1)
    u_r, u_z, u_n = (h @ W_hh.T + b_hh).chunk(3, dim=-1)
    b_n = b_hh.chunk(3)[2]
    r, z = torch.sigmoid(a_r + u_r), torch.sigmoid(a_z + u_z)
    n = torch.tanh(a_n + r * u_n)

    def mix(n, keep=z):
        return (1 - keep) * n + keep * h

    return {
        "Your update gate works the other way round. Here, as in Cho et al. "
        "2014 and in torch, z is the share of the OLD state: (1 − z) n + z h. "
        "Bahdanau et al. 2015 let z multiply the NEW content.": mix(n, 1 - z),
        "Your two gates are exchanged: r scales the past inside n, z mixes n "
        "with h (torch stacks the rows r, z, n).": mix(
            torch.tanh(a_n + z * u_n), r
        ),
        "The reset gate is missing: the past enters the new content scaled "
        "by r, n = tanh(W x + r ∘ (U h + b)).": mix(torch.tanh(a_n + u_n)),
        "The last bias escapes the reset gate: torch has r ∘ (U h + b), "
        "bias included.": mix(torch.tanh(a_n + r * (u_n - b_n) + b_n)),
        "The bias b inside the reset bracket is missing: r ∘ (U h + b).": mix(
            torch.tanh(a_n + r * (u_n - b_n))
        ),
        "Your reset gate also scales W x. It may only silence the past: "
        "n = tanh(W x + r ∘ (U h + b)).": mix(torch.tanh(r * (a_n + u_n))),
        "The new content goes through tanh, not through σ: it may be "
        "negative.": mix(torch.sigmoid(a_n + r * u_n)),
        "The new content has no tanh yet.": mix(a_n + r * u_n),
        "That is n, the new content. One line is left: mix it with the old "
        "state, h' = (1 − z) n + z h.": n,
        "That is the reset gate r. n and h' are still to come.": r,
        "That is the update gate z. n and h' are still to come.": z,
        "The old state is missing from the mix: h' = (1 − z) n + z h.": (
            (1 - z) * n
        ),
        "Your gates have no σ: r and z must lie between 0 and 1.": (
            (1 - a_z - u_z) * torch.tanh(a_n + (a_r + u_r) * u_n)
            + (a_z + u_z) * h
        ),
        "Your σ runs backwards: σ(a) = 1 / (1 + e^−a), minus in the "
        "exponent.": mix(torch.tanh(a_n + (1 - r) * u_n), 1 - z),
    }


def gru_by_hand_solution():
    """h' for x = 2, h = 0.5 and the weights of the exercise."""
    r = 1 / (1 + math.exp(-(0.5 * 2 - 1 * 0.5)))  # 0.622
    z = 1 / (1 + math.exp(-(-1 * 2 + 2 * 0.5)))  # 0.269
    n = math.tanh(-1 * 2 + r * (1 * 0.5 + 1))  # tanh(-1.066) = -0.788
    return (1 - z) * n + z * 0.5  # -0.442


def _other_gru(draw):
    """A word, a state, and the weights of both gates and of the content."""
    some = (-2, -1, -0.5, 0.5, 1, 2)
    return {
        "x": draw.choice((1, 2)),
        "h": draw.choice((-0.5, 0.5)),
        "W": tuple(draw.choices(some, k=3)),
        "U": tuple(draw.choices(some, k=3)),
        "b": draw.choice((-1, 1)),
    }


@by_hand(
    gru_by_hand_solution,
    "one number, h' to two decimals",
    ["h'"],
    vary=(
        "x = {x}, h = {h}, the weights of x {W} and of h {U} (for r, z and n), "
        "and b = {b}",
        _other_gru,
    ),
)
def gru_by_hand(x=2, h=0.5, W=(0.5, -1, -1), U=(-1, 2, 1), b=1):
    """One GRU step with given numbers; the answer is h'."""
    columns = [[[number] for number in rows] for rows in (W, U)]
    step = [*map(float64, ([[x]], [[h]], *columns, [0, 0, 0], [0, 0, b]))]
    truth, mistakes = torch.gru_cell(*step), _gru_gone_wrong(*step)
    r, z = (1 / (1 + math.exp(-(W[i] * x + U[i] * h))) for i in (0, 1))
    otherwise = (
        "This is no slip that the check knows. Go line by line: the gates "
        f"are r = {r:.2f} and z = {z:.2f}; then n, then h'."
    )
    return (
        "h' is what torch's own cell gives with the same numbers.",
        stage(truth, mistakes, otherwise, around(0.006)),
    )


def gru_cell_solution(x, h, W_ih, W_hh, b_ih, b_hh):
    """h' = (1 − z) ∘ n + z ∘ h, with torch's stack of r, z, n."""
    W_r, W_z, W_n = (x @ W_ih.T + b_ih).chunk(3, dim=-1)
    U_r, U_z, U_n = (h @ W_hh.T + b_hh).chunk(3, dim=-1)
    r = torch.sigmoid(W_r + U_r)
    z = torch.sigmoid(W_z + U_z)
    n = torch.tanh(W_n + r * U_n)
    return (1 - z) * n + z * h


def _cell_gone_wrong(x, h, W_ih, W_hh, b_ih, b_hh):
    """That, and what only a cell of several numbers can get wrong."""
    r, z, n = (x @ W_ih.T + b_ih).chunk(3, dim=-1)
    u_r, u_z, u_n = (h @ W_hh.T + b_hh).chunk(3, dim=-1)
    r, z = torch.sigmoid(r + u_r), torch.sigmoid(z + u_z)
    reset_first = (r * h) @ W_hh.chunk(3)[2].T + b_hh.chunk(3)[2]
    return {
        "The reset gate stands in the wrong place: U (r ∘ h) + b, as Cho et "
        "al. 2014 have it. torch scales what comes out of the product, bias "
        "included: r ∘ (U h + b).": (
            (1 - z) * torch.tanh(n + reset_first) + z * h
        ),
        "The biases are not used: b_ih and b_hh belong to the sums.": (
            torch.gru_cell(x, h, W_ih, W_hh)
        ),
        "b_hh is not used.": torch.gru_cell(x, h, W_ih, W_hh, b_ih, 0 * b_hh),
        "b_ih is not used.": torch.gru_cell(x, h, W_ih, W_hh, 0 * b_ih, b_hh),
        **_gru_gone_wrong(x, h, W_ih, W_hh, b_ih, b_hh),
    }


@exercise(gru_cell_solution)
def gru_cell(mine):
    """A GRU cell with torch's layout of weights."""
    for seed, (batch, embed, hidden) in enumerate(
        ((2, 3, 4), (1, 5, 2), (5, 3, 3))
    ):
        three = 3 * hidden
        given = random_inputs(
            seed,
            (batch, embed),
            (batch, hidden),
            *((three, embed), (three, hidden)),
            *((three,), (three,)),
        )
        known = {
            (batch, three): f"{three} is all three gates at once: cut them "
            "with chunk.",
            (hidden, batch): "Yours is [hidden, batch].",
        }
        shape, axes = (batch, hidden), "[batch, hidden]"
        with Called() as called:
            result = mine(*given)
        found = as_tensor(result, shape, axes, known)
        step = [*map(float64, given)]
        expect(found, torch.gru_cell(*step), _cell_gone_wrong(*step))
        if called.names & {"gru", "gru_cell"}:
            raise Hint(
                "The numbers are right. Now without torch's own cell: make "
                "the gates and the mix yourself."
            )
    return (
        "shape, order of the gates, reset, new content, update and biases "
        "agree with torch's own cell on three batches."
    )


def reverse_source_solution(source, pad=0, end=3):
    """Words in reverse; the end token and the padding stay in place."""
    words = ((source != pad) & (source != end)).sum(dim=1, keepdim=True)
    place = torch.arange(source.shape[1], device=source.device)
    mirrored = torch.where(place < words, words - 1 - place, place)
    return source.gather(1, mirrored)


def _rebuilt(rows, pad, end, order):
    """Each row rebuilt from its words, padding and end token."""
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


def _alike(rows, words):
    """Every row turned as if it had this many words."""
    return torch.tensor([row[:words][::-1] + row[words:] for row in rows])


@exercise(reverse_source_solution)
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
        found = as_tensor(result, source.shape, "[batch, source]")
        truth = _rebuilt(rows, pad, end, lambda w, p, e: w + e + p)
        if rows is renamed:
            otherwise = (
                "Right for pad = 0 and end = 3, wrong for pad = 2 and "
                "end = 1: use the two arguments, not the numbers. And the "
                "number of a word may be smaller than theirs."
            )
            expect(found, truth, {}, otherwise=otherwise)
        mistakes = {
            "Nothing is reversed yet.": source,
            "You flipped the whole row, padding and <end> with it, so the "
            "encoder reads padding first. Turn the words only.": (
                source.flip(1)
            ),
            "You reversed the order of the sentences in the batch; turn the "
            "words within each sentence.": source.flip(0),
            "You turn every row as if it were as long as the first one. Each "
            "sentence has its own number of words: sum over dim=1.": (
                _alike(rows, sum(token not in (pad, end) for token in rows[0]))
            ),
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
    """The mean over all numbers of all rows."""
    return sum(map(sum, rows)) / sum(map(len, rows))


def _loss_gone_wrong(logits, target, pad):
    """What each likely mistake in the loss gives, by its hint."""
    wanted = target[:, 1:]
    every, real = _losses(logits, wanted, pad)
    unshifted = _losses(logits, target[:, :-1], pad)
    total = sum(map(sum, real))
    batch, length, vocab = logits.shape
    chosen = logits.gather(2, wanted[:, :, None])[:, :, 0]

    def mean_of(numbers):
        return _mean(_losses(numbers, wanted, pad)[1])

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
        "You left <end> out. It is a word to predict like any other: without "
        "it the model never learns to stop. Leave out the padding alone.": (
            _mean([row[:-1] for row in real])
        ),
        "You left out the last place of every row, and in a full row <end> "
        "stands there. Leave out the padding alone.": (
            _mean(_losses(logits[:, :-1], wanted[:, :-1], pad)[1])
        ),
        "Softmax twice: cross_entropy wants the logits themselves.": (
            mean_of(logits.softmax(-1))
        ),
        "Your softmax runs over the places of a sentence; it belongs over the "
        "vocabulary, dim=-1.": (
            -logits.log_softmax(1)
            .gather(2, wanted[:, :, None])[:, :, 0][wanted != pad]
            .mean()
        ),
        "softmax is missing: those are logits, not logarithms of "
        "probabilities.": -chosen[wanted != pad].mean(),
        "reshape does not turn a table: it deals the logits out to other "
        "places. transpose(1, 2) turns it.": mean_of(
            logits.reshape(batch, vocab, length).mT
        ),
    }


def _slopes(logits, wanted, pad):
    """∂ loss / ∂ logits: (p − 1 at the true word) / n, and 0 at padding."""
    slopes = logits.softmax(-1)
    slopes -= torch.nn.functional.one_hot(wanted, logits.shape[-1])
    real = wanted != pad
    return slopes * real[:, :, None] / real.sum()


@exercise(masked_loss_solution)
def masked_loss(mine):
    """Cross-entropy, a mean over the real target tokens."""
    batches = (
        (1, [[2, 7, 5, 4, 6, 3], [2, 5, 3, 0, 0, 0]], 0),
        (2, [[2, 0, 3, 4, 4], [2, 6, 7, 5, 3], [2, 3, 4, 4, 4]], 4),
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
        exact, wanted = logits.detach().double(), target[:, 1:]
        truth = _mean(_losses(exact, wanted, pad)[1])
        if pad == 0:
            expect(found, truth, _loss_gone_wrong(exact, target, pad))
        larger = _losses(exact, wanted.masked_fill(wanted < pad, pad), pad)[1]
        mistakes = {
            "Word numbers may be smaller than pad: compare with !=, not with "
            "<  or >.": _mean(larger)
        }
        otherwise = (
            f"Right with pad = 0, wrong with pad = {pad}: use the argument "
            "pad, not the number 0."
        )
        expect(found, truth, mistakes, otherwise=otherwise)
        _train_on(result, *mine.handed[:1], _slopes(exact, wanted, pad))
    return (
        "shifted target, mean over real tokens only (two batches, two ids "
        "for padding), and the gradient is right."
    )


def _train_on(loss, logits, slopes):
    """The hint that the loss, of the right value, teaches nothing or wrong."""
    cut = (
        "The value is right, but no gradient can flow back: .detach() or "
        "torch.tensor(...) has cut the graph."
    )
    if not loss.requires_grad:
        raise Hint(cut)
    (found,) = torch.autograd.grad(loss, logits, allow_unused=True)
    if found is None or not found.any():
        raise Hint(cut)
    otherwise = (
        "The value is right, its gradient is not: a part of your loss was "
        "detached, or made anew from plain numbers."
    )
    expect(found.double(), slopes, {}, otherwise=otherwise)


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


@exercise(half_length_solution)
def half_length(mine):
    """The length at which the rate of exact copies falls under one half."""
    for turn, (rates, truth, mistakes) in enumerate(_RECORDS):
        result = mine(rates, may_be_none=turn > 0)
        if isinstance(result, str):
            raise Hint("Give the length as a number: int(length).")
        if result is None and truth is None:
            continue
        wrong = f"For {rates} yours gives {result}; it should be {truth}."
        if result is None:
            raise Hint(wrong)
        found = as_number(result, "one length, or None")
        if truth is None:
            raise Hint("Never under one half: give back None, not a length.")
        slips = {hint: length for length, hint in mistakes.items()}
        if float(found) in rates.values():
            wrong = "That is the rate; its length is wanted."
        expect(found, truth, slips, tolerance=0, otherwise=wrong)
    return "five records: unsorted lengths, an exact half, rates that rise."
