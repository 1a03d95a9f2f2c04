"""The exercises of `bottleneck`: each check beside its reference solution.

What is right comes from torch's own GRU cell and from plain loops over Python
lists, never from the solution.
"""

import math
from fractions import Fraction

import numpy as np
import torch

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    Called,
    Hint,
    as_tensor,
    edited,
    exercise,
    expect,
    float64,
    learnable,
    plain,
    random_inputs,
)


def gru_cell_solution(x, h, W_ih, W_hh, b_ih, b_hh):
    """h' = (1 − z) ∘ n + z ∘ h, with torch's stack of r, z, n."""
    W_r, W_z, W_n = (x @ W_ih.T + b_ih).chunk(3, dim=-1)
    U_r, U_z, U_n = (h @ W_hh.T + b_hh).chunk(3, dim=-1)
    r = torch.sigmoid(W_r + U_r)
    z = torch.sigmoid(W_z + U_z)
    n = torch.tanh(W_n + r * U_n)
    return (1 - z) * n + z * h


_MIX = "(1 - z) * n + z * h"
_RESET, _U = "r * U_n", "W_hh.chunk(3)[2].T"
_GRU = {
    hint: edited(gru_cell_solution, *typed)
    for hint, *typed in (
        (
            "Your update gate works the other way round. Here, as in Cho et "
            "al. 2014 and in torch, z weighs the OLD state: "
            "(1 − z) n + z h. Bahdanau et al. 2015 let z multiply the "
            "candidate n.",
            *(_MIX, "z * n + (1 - z) * h"),
        ),
        (
            "Your two gates are exchanged: r scales the past inside n, z mixes "
            "n with h (torch stacks the rows r, z, n).",
            *("W_r, W_z", "W_z, W_r", "U_r, U_z", "U_z, U_r"),
        ),
        (
            "The reset gate is missing: the past enters the candidate scaled "
            "by r, n = tanh(W x + r ∘ (U h + b)).",
            *(_RESET, "U_n"),
        ),
        (
            "The last bias escapes the reset gate: torch has r ∘ (U h + b), "
            "bias included.",
            *(_RESET, f"r * (h @ {_U}) + b_hh.chunk(3)[2]"),
        ),
        (
            "The bias b inside the reset bracket is missing: r ∘ (U h + b).",
            *(_RESET, f"r * (h @ {_U})"),
        ),
        (
            "Your reset gate also scales W x. It may only silence the past: "
            "n = tanh(W x + r ∘ (U h + b)).",
            *("W_n + r * U_n", "r * (W_n + U_n)"),
        ),
        (
            "The candidate goes through tanh, not through σ: it may be "
            "negative.",
            *("tanh", "sigmoid"),
        ),
        ("The candidate has no tanh yet.", "torch.tanh", ""),
        (
            "That is n, the candidate. One line is left: mix it with the old "
            "state, h' = (1 − z) n + z h.",
            *(_MIX, "n"),
        ),
        (
            "That is the reset gate r. n and h' are still to come.",
            *(_MIX, "r"),
        ),
        (
            "That is the update gate z. n and h' are still to come.",
            *(_MIX, "z"),
        ),
        (
            "The old state is missing from the mix: h' = (1 − z) n + z h.",
            *(" + z * h", ""),
        ),
        (
            "Your gates have no σ: r and z must lie between 0 and 1.",
            *("torch.sigmoid", ""),
        ),
        (
            "Your σ runs backwards: σ(a) = 1 / (1 + e^−a), minus in the "
            "exponent.",
            *("torch.sigmoid(", "1 / (1 + torch.exp("),
            *("W_r + U_r)", "W_r + U_r))", "W_z + U_z)", "W_z + U_z))"),
        ),
    )
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
    truth = torch.gru_cell(*step)
    mistakes = {hint: wrong(*step) for hint, wrong in _GRU.items()}
    mistakes["That is h' with the other sign."] = -truth
    r, z = (1 / (1 + math.exp(-(W[i] * x + U[i] * h))) for i in (0, 1))
    otherwise = (
        "The check does not recognize this mistake. Go line by line: the gates "
        f"are r = {r:.2f} and z = {z:.2f}; then n, then h'."
    )
    return (
        "h' is what torch's own cell gives with the same numbers.",
        stage(truth, mistakes, otherwise, around(0.005)),
    )


gru_by_hand.style([-0.44])


_OWN = (
    "The numbers are right. Now without torch's own cell: make the gates and "
    "the mix yourself."
)


@exercise(gru_cell_solution)
def gru_cell(mine):
    """A GRU cell with torch's layout of weights."""
    cases = []
    sizes = ((2, 3, 4), (1, 5, 2), (5, 3, 3))
    for seed, (batch, embed, hidden) in enumerate(sizes):
        three = 3 * hidden
        given = random_inputs(
            seed,
            (batch, embed),
            (batch, hidden),
            *((three, embed), (three, hidden)),
            *((three,), (three,)),
        )
        cases.append((given, torch.gru_cell(*map(float64, given))))
    with Called() as called:
        gru_cell.compare(mine, cases, "[batch, hidden]")
    if called.names & {"gru", "gru_cell"}:
        raise Hint(_OWN)
    for given, _ in cases:
        learnable(mine, *given)
    return (
        "shape, order of the gates, reset, candidate, update and biases "
        "agree with torch's own cell on three batches."
    )


for _hint, *_typed in (
    (
        "The reset gate stands in the wrong place: U (r ∘ h) + b, as Cho et "
        "al. 2014 have it. torch scales what comes out of the product, bias "
        "included: r ∘ (U h + b).",
        *(_RESET, f"(r * h) @ {_U} + b_hh.chunk(3)[2]"),
    ),
    (
        "The biases are not used: b_ih and b_hh belong to the sums.",
        *(" + b_ih", "", " + b_hh", ""),
    ),
    ("b_hh is not used.", " + b_hh", ""),
    ("b_ih is not used.", " + b_ih", ""),
    *_GRU.items(),
    (
        "Those are all three gates at once: cut them with chunk.",
        *(_MIX, "torch.sigmoid(x @ W_ih.T + h @ W_hh.T)"),
    ),
    ("Yours is [hidden, batch].", _MIX, f"({_MIX}).T"),
    (_OWN, lambda x, h, *weights: torch.gru_cell(x, h, *weights)),
    (NO_GRADIENT, _MIX, f"({_MIX}).detach()"),
    (NO_GRADIENT, "h @ W_hh", "h @ W_hh.detach()"),
    (OTHER_GRADIENT, "z * h", "z * h.detach()"),
):
    gru_cell.slip(_hint, *_typed)


@gru_cell.slip(_OWN)
def _by_torchs_module(x, h, W_ih, W_hh, b_ih, b_hh):
    cell = torch.nn.GRUCell(x.shape[1], h.shape[1]).requires_grad_(False)
    given = (W_ih, W_hh, b_ih, b_hh)
    for own, value in zip(cell.parameters(), given, strict=True):
        own.copy_(value)
    return cell(x, h)


gru_cell.style(
    edited(gru_cell_solution, _MIX, "torch.zeros(h.shape) + n + z * (h - n)")
)


@gru_cell.slip("numpy knows no gradients")
def _by_numpy(x, h, W_ih, W_hh, b_ih, b_hh):
    """In float64, one row of the batch after another."""
    given = (x, h, W_ih, W_hh, b_ih, b_hh)
    x, h, W_ih, W_hh, b_ih, b_hh = (each.double().numpy() for each in given)
    states = []
    for word, old in zip(x, h, strict=True):
        a_r, a_z, a_n = np.split(W_ih @ word + b_ih, 3)
        u_r, u_z, u_n = np.split(W_hh @ old + b_hh, 3)
        r, z = 1 / (1 + np.exp(-a_r - u_r)), 1 / (1 + np.exp(-a_z - u_z))
        n = np.tanh(a_n + r * u_n)
        states.append(n + z * (old - n))
    return torch.from_numpy(np.stack(states))


@gru_cell.style
def _by_einsum(x, h, W_ih, W_hh, b_ih, b_hh):
    gates, own = W_ih.view(3, -1, x.shape[1]), W_hh.view(3, -1, h.shape[1])
    a = torch.einsum("gij,bj->gib", gates, x) + b_ih.view(3, -1, 1)
    u = torch.einsum("gij,bj->gib", own, h) + b_hh.view(3, -1, 1)
    keep = (a[1] + u[1]).sigmoid()
    n = (a[2] + (a[0] + u[0]).sigmoid() * u[2]).tanh()
    return torch.lerp(n, h.T, keep).T


def reverse_source_solution(source, pad=0, end=3):
    """Words in reverse; the end token and the padding stay in place."""
    words = ((source != pad) & (source != end)).sum(dim=1, keepdim=True)
    place = torch.arange(source.shape[1], device=source.device)
    mirrored = torch.where(place < words, words - 1 - place, place)
    return source.gather(1, mirrored)


def _by_rows(order):
    """Rows put together from their turned words, padding and end token."""

    def mine(source, pad=0, end=3):
        built = []
        for row in source.tolist():
            words = [token for token in row if token not in (pad, end)]
            built.append(order(words[::-1], [pad] * row.count(pad), [end]))
        return torch.tensor(built)

    return mine


_WHOLE = "Token ids are whole numbers: keep source's dtype."
_ARGUMENTS = (
    "Right for pad = 0 and end = 3, wrong for pad = 2 and end = 1: use the two "
    "arguments, not the numbers. And the number of a word may be smaller than "
    "theirs."
)


@exercise(reverse_source_solution)
def reverse_source(mine):
    """Sutskever's reversal of the source, in a padded batch."""

    def turned(answer, rows, pad, end):
        result = answer(torch.tensor(rows), pad, end)
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            raise Hint(_WHOLE)
        return result

    padded = [[5, 6, 7, 8, 3, 0, 0], [9, 4, 3, 0, 0, 0, 0], [3] + 6 * [0]]
    full = [[7, 5, 5, 6, 4, 9, 3], [4, 5, 6, 7, 8, 9, 3]]
    renamed = [[5, 0, 6, 1, 2, 2], [8, 9, 3, 6, 0, 1]]
    right = _by_rows(lambda words, padding, end: words + end + padding)
    cases = [
        ((rows, pad, end), right(torch.tensor(rows), pad, end))
        for rows, pad, end in ((padded, 0, 3), (full, 0, 3), (renamed, 2, 1))
    ]
    for some, otherwise in ((cases[:2], None), (cases, _ARGUMENTS)):
        reverse_source.compare(
            mine,
            some,
            "[batch, source]",
            about="for {0},",
            otherwise=otherwise,
            ask=turned,
        )
    return (
        "words turned, <end> after them, padding at the right; also with "
        "full rows, an empty sentence and other ids for pad and end."
    )


for _hint, *_typed in (
    ("Nothing is reversed yet.", "source.gather(1, mirrored)", "source"),
    (
        "You flipped the whole row, padding and <end> with it, so the encoder "
        "reads padding first. Turn the words only.",
        lambda source, pad, end: source.flip(1),
    ),
    (
        "You reversed the order of the sentences in the batch; turn the words "
        "within each sentence.",
        lambda source, pad, end: source.flip(0),
    ),
    (
        "You turn every row as if it were as long as the first one. Each "
        "sentence has its own number of words: sum over dim=1.",
        *("sum(dim=1, keepdim=True)", "sum(dim=1)[0]"),
        *("source.gather(1, mirrored)", "source[:, mirrored]"),
    ),
    (
        "The end token comes first. It must stay last: what the encoder knows "
        "when it has read <end> is its summary.",
        _by_rows(lambda w, p, e: e + w + p),
    ),
    (
        "The words are right, but the padding has moved to the front. It stays "
        "at the right, after <end>.",
        _by_rows(lambda w, p, e: p + w + e),
    ),
    (
        "The padding slipped in before <end>: first the words, then <end>, "
        "then the padding.",
        _by_rows(lambda w, p, e: w + p + e),
    ),
    (
        "<end> has become padding: every sentence needs its end token.",
        _by_rows(lambda w, p, e: w + p + p[:1] if p else w + e),
    ),
    (_WHOLE, "mirrored)", "mirrored).float()"),
    (_ARGUMENTS, "!= pad", "!= 0", "!= end", "!= 3"),
    (_ARGUMENTS, "!= pad", "> pad"),
):
    reverse_source.slip(_hint, *_typed)

reverse_source.style(_by_rows(lambda w, p, e: w + e + p))


@reverse_source.style
def _up_to_the_end(source, pad=0, end=3):
    """Each row up to its <end>, turned."""
    built = source.numpy().copy()
    for row in built:
        n = list(row).index(end)
        row[:n] = row[:n][::-1]
    return torch.from_numpy(built)


@reverse_source.style
def _sorted_places(source, pad=0, end=3):
    """Words come by falling place, the rest by its own."""
    place = torch.arange(source.shape[1]).expand_as(source)
    words = (source != pad) & (source != end)
    order = torch.where(words, -place - 1, place).argsort(dim=1)
    return torch.take_along_dim(source, order, dim=1)


def masked_loss_solution(logits, target, pad=0):
    """Mean of −log p(y_i | y_<i, x) over the target's real tokens."""
    wanted = target[:, 1:]  # what should come after each token read
    losses = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), wanted, reduction="none"
    )  # [batch, target - 1]
    real = wanted != pad
    return (losses * real).sum() / real.sum()


def _mean_loss(logits, target, pad):
    """The mean of −log p, one real token at a time."""
    losses = [
        math.log(sum(map(math.exp, scores))) - scores[token]
        for row, tokens in zip(logits.tolist(), target.tolist(), strict=True)
        for scores, token in zip(row, tokens[1:], strict=True)
        if token != pad
    ]
    return float64(sum(losses) / len(losses))


_PLAIN = (
    "A plain number cannot be trained on: return the tensor itself, without "
    ".item() or float()."
)
_OTHER_PAD = (
    "Right with pad = 0, wrong with pad = 4: use the argument pad, not the "
    "number 0."
)
_FAR = (
    "Right for small logits. For 0, 2000 and −1000 exp overflows, or the "
    "softmax is 0, whose logarithm is infinite: take log_softmax or "
    "cross_entropy."
)


@exercise(masked_loss_solution)
def masked_loss(mine):
    """Cross-entropy, a mean over the real target tokens."""

    def trainable(answer, *given):
        result = answer(*given)
        if isinstance(result, (int, float)):
            raise Hint(_PLAIN)
        return result

    cases = []
    for seed, rows, pad in (
        (1, [[2, 7, 5, 4, 6, 3], [2, 5, 3, 0, 0, 0]], 0),
        (2, [[2, 0, 3, 4, 4], [2, 6, 7, 5, 3], [2, 3, 4, 4, 4]], 4),
    ):
        target = torch.tensor(rows)
        (logits,) = random_inputs(seed, (len(rows), len(rows[0]) - 1, 8))
        truth = _mean_loss(logits.double(), target, pad)
        cases.append(((logits, target, pad), truth))
    for some, otherwise in ((cases[:1], None), (cases, _OTHER_PAD)):
        masked_loss.compare(
            mine,
            some,
            "a single number, []",
            otherwise=otherwise,
            ask=trainable,
        )
    for given, _ in cases:
        learnable(mine, *given)
    far = torch.tensor([[[0.0, 2000, -1000]] * 2]), torch.tensor([[2, 1, 2]]), 0
    expect(as_tensor(mine(*far), (), "one number"), 1500.0, _FAR)
    return (
        "shifted target, mean over real tokens only (two batches, two ids "
        "for padding), logits far apart, and the gradient is right."
    )


def _by_logarithms(log_p):
    """Minus the mean of what `log_p` gives the true words."""

    def mine(logits, target, pad=0):
        wanted = target[:, 1:]
        true = log_p(logits).gather(2, wanted.unsqueeze(2)).squeeze(2)
        return -true[wanted != pad].mean()

    return mine


def _in_one_line(logits, target, pad=0):
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=pad
    )


_MEAN = "(losses * real).sum() / real.sum()"
for _hint, *_typed in (
    (
        "You average over the padding too: padded places count as words to "
        "predict. Only real target tokens belong in the mean.",
        *(_MEAN, "losses.mean()"),
    ),
    (
        "Padding adds nothing to your sum, but is still counted when you "
        "divide. Divide by the number of real tokens.",
        *(_MEAN, "(losses * real).mean()"),
    ),
    (
        "You averaged each sentence first, then the sentences: a word in a "
        "short sentence weighs more than one in a long one. Sum over all real "
        "tokens, divide once.",
        *(_MEAN, "((losses * real).sum(1) / real.sum(1)).mean()"),
    ),
    (
        "The target is not shifted: logits[:, i], given y_0 … y_i, must "
        "predict target[:, i + 1]; yours predicts the word just read.",
        *("target[:, 1:]", "target[:, :-1]"),
    ),
    (
        "The target is not shifted, and padding is averaged in as well. Shift "
        "first: logits[:, i] must predict target[:, i + 1].",
        *("target[:, 1:]", "target[:, :-1]", _MEAN, "losses.mean()"),
    ),
    (
        "That is the sum; divide by the number of real tokens.",
        *(" / real.sum()", ""),
    ),
    (
        "You divide by the number of sentences, not of real tokens.",
        *(" / real.sum()", " / len(real)"),
    ),
    (
        "Your divisor counts <start> as well, which nobody has to predict. "
        "Count in target[:, 1:].",
        *(" / real.sum()", " / (target != pad).sum()"),
    ),
    (
        "Your divisor leaves out one token of every sentence. <end> has to be "
        "predicted like any other word: it counts.",
        *(" / real.sum()", " / (real.sum() - len(real))"),
    ),
    (
        "The sign: the loss is MINUS the log-probability.",
        *("return ", "return -"),
    ),
    (
        "You left <end> out. It is a word to predict like any other: without "
        "it the model never learns to stop. Leave out the padding alone.",
        *("wanted != pad", "(wanted != pad) & (wanted != 3)"),
    ),
    (
        "You left out the last place of every row, and in a full row <end> "
        "stands there. Leave out the padding alone.",
        *("target[:, 1:]", "target[:, 1:-1]", "logits.tr", "logits[:, :-1].tr"),
    ),
    (
        "Softmax twice: cross_entropy wants the logits themselves.",
        *("logits.transpose", "logits.softmax(-1).transpose"),
    ),
    (
        "Your softmax runs over the places of a sentence; it belongs over the "
        "vocabulary, dim=-1.",
        _by_logarithms(lambda logits: logits.log_softmax(1)),
    ),
    (
        "softmax is missing: those are logits, not logarithms of "
        "probabilities.",
        _by_logarithms(lambda logits: logits),
    ),
    (
        "reshape does not turn a table: it deals the logits out to other "
        "places. transpose(1, 2) turns it.",
        *("logits.transpose(1, 2)", "logits.reshape(len(target), 8, -1)"),
    ),
    (
        "Word numbers may be smaller than pad: compare with !=, not with < or "
        ">.",
        *("wanted != pad", "wanted > pad"),
    ),
    (_OTHER_PAD, "wanted != pad", "wanted != 0"),
    (_PLAIN, _MEAN, f"({_MEAN}).item()"),
    (NO_GRADIENT, _MEAN, f"({_MEAN}).detach()"),
    (NO_GRADIENT, _MEAN, f"torch.tensor(({_MEAN}).item(), requires_grad=True)"),
    (NO_GRADIENT, "logits.transpose", "logits.detach().transpose"),
    (OTHER_GRADIENT, _MEAN, f"({_MEAN}).detach() + 0 * logits.sum()"),
    (OTHER_GRADIENT, _MEAN, "(losses + losses.detach())[real].mean() / 2"),
    (
        OTHER_GRADIENT,
        *(_MEAN, "(losses * real + ~real * (losses - losses.detach())).sum()"),
        *(".detach())).sum()", ".detach())).sum() / real.sum()"),
    ),
):
    masked_loss.slip(_hint, *_typed)

masked_loss.style(_in_one_line)
masked_loss.style(_by_logarithms(lambda logits: logits.log_softmax(-1)))
for _log_p in (
    lambda logits: logits.softmax(-1).log(),
    lambda logits: logits - logits.exp().sum(-1, keepdim=True).log(),
    lambda logits: (logits.softmax(-1) + 1e-9).log(),
):
    masked_loss.slip(_FAR, _by_logarithms(_log_p))


@masked_loss.style
def _word_by_word(logits, target, pad=0):
    """In float64, by log-sum-exp."""
    losses = []
    for row, words in zip(logits.double(), target[:, 1:].tolist(), strict=True):
        for scores, word in zip(row, words, strict=True):
            if word != pad:
                losses.append(scores.logsumexp(0) - scores[word])
    return sum(losses) / len(losses)


def half_length_solution(rates):
    """The first length with a rate under one half, None if there is none."""
    for length in sorted(rates, key=int):
        if rates[length] < 0.5:
            return int(length)
    return None


_RECORDS = (
    ({"2": 1.0, "4": 0.9, "8": 0.6, "16": 0.4, "32": 0.1}, 16),
    ({"30": 0.0, "4": 0.9, "10": 0.2, "5": 0.3}, 5),
    ({"3": 0.5, "4": 0.4}, 4),
    ({"3": 0.4, "4": 0.6, "5": 0.3}, 3),
    ({"3": 0.9, "4": 0.8}, None),
    ({"3": 0.51, "4": 0.502, "5": 0.498, "6": 0.48, "7": 0.2}, 5),
)
_TEXT = "Give the length as a number: int(length)."
_NEVER = "Never under one half: give back None, not a length."
_RATE = "That is the rate; its length is wanted."


def _length(answer, rates, truth):
    """What an answer gives; the hint if it is of another kind than asked."""
    result = answer(rates, may_be_none=True)
    if isinstance(result, str):
        raise Hint(_TEXT)
    if truth is None and result is not None:
        raise Hint(_NEVER)
    if truth is not None and result is None:
        raise Hint(f"For {rates} yours gives None; it should be {truth}.")
    if plain(result) in rates.values():
        raise Hint(_RATE)
    return result


@exercise(half_length_solution)
def half_length(mine):
    """The length at which the rate of exact copies falls under one half."""
    half_length.compare(
        mine,
        [(record, record[1]) for record in _RECORDS],
        "one length, or None",
        about="for {0}",
        tolerance=0,
        ask=_length,
    )
    return "six records: unsorted lengths, an exact half, rates that rise."


for _hint, *_typed in (
    (
        "That is the last length still at one half or above; the next one is "
        "wanted.",
        lambda rates: max(int(n) for n in rates if rates[n] >= 0.5),
    ),
    (
        "That is the longest length; the first one under one half is wanted.",
        lambda rates: max(int(n) for n in rates if rates[n] < 0.5),
    ),
    (
        "You took the lengths in the dictionary's order; sort them.",
        *("sorted(rates, key=int)", "rates"),
    ),
    (
        "JSON's keys are text, and as text '10' comes before '5'. Sort them as "
        "numbers: sorted(rates, key=int).",
        *(", key=int", ""),
    ),
    ("One half is not under one half: use <.", "< 0.5", "<= 0.5"),
    *(
        (
            "One half is 0.5; your line is drawn at another rate.",
            *("< 0.5", f"< {line}"),
        )
        for line in (0.42, 0.45, 0.4, 0.49, 0.505, 0.55)
    ),
    (_TEXT, "int(length)", "length"),
    (_NEVER, "return None", "return 0"),
    (
        "yours gives None; it should be 16.",
        *("int(length)\n    return", "int(length)\n        return"),
    ),
    (_RATE, "int(length)", "rates[length]"),
):
    half_length.slip(_hint, *_typed)


@half_length.slip(
    "A rate may rise again. The first length under one half counts."
)
def _from_the_end(rates):
    longer = None
    for length in sorted(rates, key=int, reverse=True):
        if rates[length] >= 0.5:
            break
        longer = int(length)
    return longer


for _kind in (float, Fraction, np.int64, torch.tensor):

    @half_length.style
    def _smallest(rates, kind=_kind):
        under = [int(length) for length in rates if rates[length] < 0.5]
        return kind(min(under)) if under else None
