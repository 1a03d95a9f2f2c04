"""The exercises of `families`: each check beside its reference solution.

What is right is found by loops over places, words and pixels, never by the
solution's formula.
"""

import torch
from torch.nn import functional as F

from lookback import families
from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    NO_GRADIENT,
    OTHER_GRADIENT,
    Hint,
    as_tensor,
    exercise,
    expect,
    float64,
    learnable,
    plain,
    random_inputs,
)

_FAMILIES = ("gpt", "bert", "prefix")


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
    gpt, bert, both = (_count(family, n, prefix) for family in _FAMILIES)
    rest = n - prefix
    stages = [
        stage(
            gpt,
            {
                "You left out the diagonal, or counted what the mask forbids. "
                "A place sees itself: the word that stands there is known, "
                "and the next one is asked.": gpt - n,
                "That is BERT's: in yours every place sees every place.": bert,
                "That is half of all pairs; the diagonal belongs to both "
                "halves, and is counted once.": bert / 2,
                "You counted only the last row. Every row has its own "
                "pairs.": n,
            },
            "The check does not recognize the mistake in the first number. "
            "Count row by row: the first place sees 1, the second 2, and so "
            "on.",
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
            "The first number is right; the check does not recognize the "
            "mistake in the second. Every place sees every place.",
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
                "That is BERT's: places after the prefix may not see what "
                "comes later.": bert,
                "You counted the prefix alone. The later places see the "
                "prefix and themselves.": prefix**2,
                "In yours the later places cannot see the prefix. Each of them "
                "attends to all of it.": prefix**2 + rest * (rest + 1) / 2,
                "In yours the prefix sees what follows it. It is read before "
                "a word is written.": both + prefix * rest,
                "In yours the later places see one another in both "
                "directions. That only the prefix may.": prefix * n + rest**2,
                "You left out the diagonal of the later places: each sees "
                "itself.": both - rest,
                "You left out the whole diagonal: every place sees "
                "itself.": both - n,
            },
            "The first two are right; the check does not recognize the "
            "mistake in the third. The prefix is a full square; each later "
            "place sees all of the prefix, and of what follows it the part up "
            "to itself.",
            around(1e-9),
            2,
        ),
    ]
    return f"{gpt}, {bert} and {both} pairs.", *stages


def prefix_mask_solution(length, prefix):
    """True where j ≤ i, or where j is in the prefix."""
    place = torch.arange(length)
    return (place <= place[:, None]) | (place < prefix)


_ADDED = (
    "Return True and False, True where a position may attend: what is added to "
    "the scores comes later."
)


def _no_scores(mine, length, prefix):
    """The mask of an answer, which is not to hold what is added to scores."""
    mask = mine(length, prefix)
    if isinstance(mask, torch.Tensor) and mask.is_floating_point():
        if bool((mask < 0).any()):
            raise Hint(_ADDED)
    return mask


@exercise(prefix_mask_solution)
def prefix_mask(mine):
    """The prefix mask over one row of tokens, for any prefix."""
    cases = []
    for length, prefix in ((5, 3), (6, 1), (4, 4), (7, 0), (1, 1)):
        rows = range(length)
        truth = [[_may("prefix", i, j, prefix) for j in rows] for i in rows]
        cases.append(((length, prefix), float64(truth)))
    prefix_mask.compare(
        mine,
        cases,
        "[length, length]",
        "with {0} tokens, {1} of them in the prefix",
        ask=_no_scores,
    )
    return "five rows of tokens, one without a prefix, one that is all prefix."


def _ruled(rule):
    """A mask by a rule: may the row i see the column j, the prefix being p?"""

    def mask(length, prefix):
        place = torch.arange(length)
        may = rule(place[:, None], place, prefix)
        return may.expand(length, length)

    return mask


for _hint, _rule in {
    "You say True where nobody may attend. In this book True means: may "
    "attend.": lambda i, j, p: ~((j <= i) | (j < p)),
    "Rows attend and columns are attended to: yours is the transpose.": (
        lambda i, j, p: (i <= j) | (i < p)
    ),
    "That is GPT's mask. The words of the prefix see one another in both "
    "directions.": lambda i, j, p: j <= i,
    "That is BERT's mask: in yours those after the prefix see what comes "
    "later.": lambda i, j, p: j >= 0,
    "The diagonal is missing: a place may see itself.": (
        lambda i, j, p: (j < i) | (j < p)
    ),
    "One too many: the prefix is the places 0 to prefix − 1.": (
        lambda i, j, p: (j <= i) | (j <= p)
    ),
    "One too few: the prefix is the places 0 to prefix − 1.": (
        lambda i, j, p: (j <= i) | (j < p - 1)
    ),
    "In yours the rows of the prefix see everything. It is the columns of the "
    "prefix that are free.": lambda i, j, p: (j <= i) | (i < p),
    "In yours those after the prefix do not see it: each of them attends to "
    "all of it.": lambda i, j, p: (
        ((i < p) & (j < p)) | ((j <= i) & (i >= p) & (j >= p))
    ),
    "In yours the prefix sees itself and nobody else sees anything.": (
        lambda i, j, p: (i < p) & (j < p)
    ),
    "Your triangle is the wrong one: in it each place sees what stands to its "
    "right.": lambda i, j, p: j >= i,
    "The columns of the prefix are free, but your triangle is the wrong one: "
    "in it each place sees what stands to its right.": (
        lambda i, j, p: (j >= i) | (j < p)
    ),
    "You ask for two things at once, left and in the prefix. Either is "
    "enough: |, not &.": lambda i, j, p: (j <= i) & (j < p),
    "You moved the whole triangle by `prefix`. Then each position sees a few "
    "places ahead, also after the prefix.": lambda i, j, p: j <= i + p,
    "You moved the whole triangle by `prefix` − 1. Then each position sees a "
    "few places ahead, also after the prefix.": lambda i, j, p: j <= i + p - 1,
    "In yours those after the prefix see one another in both directions, and "
    "the prefix does not.": lambda i, j, p: (j <= i) | ((i >= p) & (j >= p)),
    _ADDED: lambda i, j, p: torch.where((j <= i) | (j < p), 0.0, -torch.inf),
}.items():
    prefix_mask.slip(_hint, _ruled(_rule))


prefix_mask.style(
    lambda length, prefix: families.attention_mask(
        torch.full((1, length), 7), "T5", torch.tensor([prefix])
    )[0, 0]
)


@prefix_mask.style
def _by_square(length, prefix):
    mask = torch.ones(length, length).tril()
    mask[:prefix, :prefix] = 1
    return mask


@prefix_mask.style
def _by_index(length, prefix):
    i, j = torch.meshgrid(
        torch.arange(length), torch.arange(length), indexing="ij"
    )
    return torch.logical_or(j <= i, j < prefix).long()


def corrupt_tokens_solution(tokens, chosen, fate, other, mask):
    """80 % of the chosen become <mask>, 10 % another word, 10 % stay."""
    corrupted = torch.where(chosen & (fate < 0.9), other, tokens)
    return torch.where(chosen & (fate < 0.8), mask, corrupted)


def _corrupted(tokens, chosen, fate, other, mask):
    """Word by word, in plain numbers."""
    corrupted = float64(tokens)
    for n, i in chosen.nonzero().tolist():
        if float(fate[n, i]) < 0.8:
            corrupted[n, i] = mask
        elif float(fate[n, i]) < 0.9:
            corrupted[n, i] = float(other[n, i])
    return corrupted


@exercise(corrupt_tokens_solution)
def corrupt_tokens(mine):
    """BERT's masking, with all randomness given."""
    cases = []
    for seed, (batch, length) in enumerate(((3, 40), (1, 7), (2, 90))):
        a, b, c, d = random_inputs(seed, *[(batch, length)] * 4)
        tokens = (a.abs() * 500).long() + 5
        other = (b.abs() * 500).long() + 2_000
        fate = torch.special.ndtr(c.double())
        fate[0, 0], fate[0, 1] = 0.8, 0.9  # on the edges
        chosen = d < 0
        chosen[0, :2] = True
        given = tokens, chosen, fate, other, 4
        cases.append((given, _corrupted(*given)))
    corrupt_tokens.compare(
        mine,
        cases,
        "[batch, length]",
        "of the chosen words those with a fate below 0.8 become `mask`, those "
        "from 0.8 up to 0.9 become `other`, and all else stays;",
    )
    return "three batches: chosen and not, masked, exchanged and left."


_LAST = "return torch.where(chosen & (fate < 0.8), mask, corrupted)"
for _hint, _typed in {
    "You exchanged the two tenths: from 0.8 to 0.9 a word becomes `other`, "
    "from 0.9 on it stays. (The page's `mask_tokens` takes these two the other "
    "way round.)": ("fate < 0.9", "fate >= 0.9"),
    "Every chosen word became `mask`. A tenth of them become another word, and "
    "a tenth stay as they are.": ("chosen & (fate < 0.8)", "chosen"),
    "In yours no chosen word stays as it is: from 0.9 on they do.": (
        "chosen & (fate < 0.9)",
        "chosen",
    ),
    "In yours no word becomes another: from 0.8 to 0.9 they do.": (
        "other, tokens",
        "tokens, tokens",
    ),
    "In yours nothing becomes `mask`: whatever is below 0.9 is `other`. The "
    "later line writes over what the earlier one did; a fate below 0.8 is "
    "below 0.9, too.": (
        _LAST,
        "corrupted = torch.where(chosen & (fate < 0.8), mask, tokens)\n"
        "    return torch.where(chosen & (fate < 0.9), other, corrupted)",
    ),
    "In yours every chosen word below 0.9 becomes `mask`, and none `other`: "
    "from 0.8 on that is its turn.": ("0.8", "0.9"),
    "You took 10%, 10% and 80%: below 0.1 `mask`, below "
    "0.2 `other`. It is 80%, 10% and 10%.": ("0.9", "0.2", "0.8", "0.1"),
    "You count the fates from above: `mask` goes to those below 0.8, not to "
    "those above 0.2.": ("< 0.9", "> 0.1", "< 0.8", "> 0.2"),
    "`mask` and `other` have changed places: it is `mask` that those below 0.8 "
    "become.": (
        "other, tokens",
        "mask, tokens",
        "mask, corrupted",
        "other, corrupted",
    ),
    "Almost: look at the edges. A fate of exactly 0.8 is no longer below 0.8, "
    "and becomes `other`; one of exactly 0.9 stays.": ("fate <", "fate <="),
    "Almost: look at the edge of 0.8. A fate of exactly 0.8 is no longer below "
    "0.8, and becomes `other`.": ("< 0.8", "<= 0.8"),
    "Almost: look at the edge of 0.9. A fate of exactly 0.9 stays.": (
        "< 0.9",
        "<= 0.9",
    ),
    "Almost: look at the edge of 0.8. Yours leaves a fate of exactly 0.8 as it "
    "is; it becomes `other`.": ("(fate < 0.9)", "(fate > 0.8) & (fate < 0.9)"),
    "You corrupt every word by its fate. Only the chosen ones have one; the "
    "others stay.": ("chosen & ", ""),
    "You corrupt the words that were not chosen.": ("chosen &", "~chosen &"),
    "You choose 15% anew. Who is chosen is given.": (
        "chosen &",
        "(fate < 0.15) &",
    ),
    "`mask` goes to the right words, but `other` also to words that were not "
    "chosen.": ("chosen & (fate < 0.9)", "(fate >= 0.8) & (fate < 0.9)"),
    "`mask` goes to the right words, but `other` to all the rest below 0.9, "
    "whether chosen or not.": ("chosen & (fate < 0.9)", "fate < 0.9"),
    "`other` goes to the right words, but `mask` also to words that were not "
    "chosen.": ("chosen & (fate < 0.8)", "fate < 0.8"),
    "You ask for `chosen` or a fate below 0.8; both have to be true of a word "
    "for it to become `mask`.": (
        *("chosen & (fate < 0.8)", "chosen | (fate < 0.8)"),
        *("other, tokens", "tokens, tokens"),
    ),
    "Nothing is corrupted: those are the tokens as they came.": (
        _LAST,
        "return tokens",
    ),
}.items():
    corrupt_tokens.slip(_hint, *_typed)


corrupt_tokens.style(_corrupted)


@corrupt_tokens.style
def _in_place(tokens, chosen, fate, other, mask):
    corrupted = tokens.clone()
    corrupted[chosen & (fate < 0.9)] = other[chosen & (fate < 0.9)]
    corrupted[chosen & (fate < 0.8)] = mask
    return corrupted


@corrupt_tokens.style
def _of_lists(tokens, chosen, fate, other, mask):
    def one(token, is_chosen, chance, word):
        if not is_chosen or chance >= 0.9:
            return token
        return mask if chance < 0.8 else word

    rows = zip(
        *(x.tolist() for x in (tokens, chosen, fate, other)), strict=True
    )
    return torch.tensor([list(map(one, *row)) for row in rows])


@corrupt_tokens.style
def _by_sums(tokens, chosen, fate, other, mask):
    masked = (chosen & (fate < 0.8)).long()
    another = (chosen & (fate < 0.9)).long() - masked
    return masked * mask + another * other + (1 - masked - another) * tokens


def covered_loss_solution(logits, tokens, chosen):
    """The mean of −log p(token) over the chosen places."""
    log_p = torch.log_softmax(logits, dim=-1)
    right = log_p.gather(-1, tokens[..., None])[..., 0]
    return -right[chosen].mean()


def _by_two_loops(logits, tokens, chosen):
    """The loss, chosen place by chosen place."""
    nats = []
    for n, i in chosen.nonzero().tolist():
        z = logits[n, i]
        nats.append(float(z.logsumexp(0) - z[tokens[n, i]]))
    return sum(nats) / len(nats)


@exercise(covered_loss_solution)
def covered_loss(mine):
    """BERT's loss, on the chosen words."""
    cases = []
    for seed, (batch, length, vocab) in enumerate(((3, 7, 5), (1, 4, 9))):
        logits, a, b = random_inputs(
            seed, (batch, length, vocab), (batch, length), (batch, length)
        )
        tokens = (a.abs() * 10).long() % vocab
        chosen = b > 0
        chosen[0, 0], chosen[0, 1] = True, False
        given = 2 * logits, tokens, chosen
        truth = _by_two_loops(float64(given[0]), tokens, chosen)
        cases.append((given, truth))
    covered_loss.compare(
        mine,
        cases,
        "one number, the mean",
        otherwise="The check does not recognize this mistake. Take −log of the "
        "softmax at the right word, in every chosen place, and the mean of "
        "these.",
    )
    learnable(mine, *cases[0][0])
    logits = torch.tensor([[[0.0, 2000, -1000]] * 2])
    far = logits, torch.tensor([[1, 2]]), torch.tensor([[True, True]])
    expect(as_tensor(mine(*far), (), "one number"), 1500.0, _FAR)
    return "two batches, logits far apart, and the gradient."


_FAR = (
    "Right for small logits. For 0, 2000 and −1000 exp overflows, or the "
    "softmax is 0, whose logarithm is infinite: take log_softmax or "
    "cross_entropy."
)
_LOG_P = "torch.log_softmax(logits, dim=-1)"
_MEAN = "-right[chosen].mean()"
for _hint, _typed in {
    "You ask for all words. Those that stand there for all to see need only be "
    "copied: the mean is over the chosen ones.": ("[chosen]", ""),
    "You sum over the chosen, and divide by all words.": (
        _MEAN,
        "-(right * chosen).mean()",
    ),
    "That is the sum. Divide by how many were chosen.": ("mean()", "sum()"),
    "You divide by the number of captions. Divide by how many words were "
    "chosen.": ("mean()", "sum() / len(tokens)"),
    "You ask how sure it is of its likeliest word. Asked for is the word that "
    "stood "
    "there.": ("log_p.gather(-1, tokens[..., None])[..., 0]", "log_p.amax(-1)"),
    "The sign: −log p is never below 0.": ("-right", "right"),
    "You ask for the words that were NOT chosen.": ("[chosen]", "[~chosen]"),
    "You take the mean of each caption first. Then a word counts the more, "
    "the fewer were chosen beside it.": (
        _MEAN,
        "-torch.stack([n[k].mean() for n, k in zip(right, chosen)]).nanmean()",
    ),
    "Your softmax is over the places; it has to be over the words.": (
        "dim=-1",
        "dim=1",
    ),
    "Your softmax is over the chosen places, one below the other; it has to "
    "be over the words, the last axis.": (
        *("logits, dim=-1", "logits[chosen], dim=0"),
        *("tokens[...,", "tokens[chosen][...,", "right[chosen]", "right"),
    ),
    "Your softmax is over the captions of the batch; it has to be over the "
    "words, the last axis.": ("dim=-1", "dim=0"),
    "You ask each place for the next word. That is GPT's objective; "
    "BERT predicts what stood at the place itself.": (
        *("logits, dim", "logits[:, :-1], dim", "tokens[...", "tokens[:, 1:"),
        *("[chosen]", "[chosen[:, 1:]]"),
    ),
    "You ask each chosen place for the next word. That is GPT's "
    "objective; BERT predicts what stood at the place itself.": (
        *("logits, dim", "logits[:, :-1], dim", "tokens[...", "tokens[:, 1:"),
        *("[chosen]", "[chosen[:, :-1]]"),
    ),
    "Softmax twice: cross_entropy and log_softmax want the logits as they "
    "are.": ("logits, dim", "logits.softmax(-1), dim"),
    "The loss is right, and then you took its exponential. Asked for are the "
    "nats.": (_MEAN, f"({_MEAN}).exp()"),
    "That is the logarithm of the mean probability. Take the logarithm of "
    "each, then the mean.": (_MEAN, "-right[chosen].exp().mean().log()"),
    "That is the mean of −p: the logarithm is missing. (nll_loss wants "
    "log_softmax, not softmax.)": ("torch.log_softmax", "torch.softmax"),
    "That is −z of the right word. The logits have to go through a softmax "
    "first.": (_LOG_P, "logits"),
    "That is the mean of the probabilities, without a logarithm.": (
        _MEAN,
        "right[chosen].exp().mean()",
    ),
    "That is in bits; here it is in nats, the natural logarithm.": (
        _MEAN,
        f"{_MEAN} / torch.tensor(2.0).log()",
    ),
    _FAR: (_LOG_P, "torch.softmax(logits, dim=-1).log()"),
}.items():
    covered_loss.slip(_hint, *_typed)
covered_loss.slip(_FAR, _LOG_P, "logits - logits.exp().sum(-1, True).log()")
covered_loss.slip(NO_GRADIENT, _MEAN, f"({_MEAN}).detach()")
covered_loss.slip(NO_GRADIENT, _by_two_loops)
covered_loss.slip(OTHER_GRADIENT, "-right", "-0.5 * (right + right.detach())")
covered_loss.style(
    lambda logits, tokens, chosen: F.cross_entropy(
        logits[chosen], tokens[chosen]
    )
)
covered_loss.style(
    lambda logits, tokens, chosen: F.cross_entropy(
        logits.flatten(0, 1), tokens.masked_fill(~chosen, -100).flatten()
    )
)


@covered_loss.style
def _by_one_hot(logits, tokens, chosen):
    right = (logits * F.one_hot(tokens, logits.shape[-1])).sum(-1)
    return (logits.logsumexp(-1) - right).masked_select(chosen).mean()


def leave_spans_solution(words, places, marks):
    """Spans go out of the source and into the target, behind their mark."""
    source, target, at = [], [], 0
    for mark, (start, length) in zip(marks, places, strict=False):
        source += [*words[at:start], mark]
        target += [mark, *words[start : start + length]]
        at = start + length
    return [*source, *words[at:]], [*target, marks[len(places)]]


def _left(words, places, marks):
    """Word by word: (source, target)."""
    source, target, inside = [], [], {}
    for mark, (start, length) in zip(marks, places, strict=False):
        inside |= dict.fromkeys(range(start, start + length), mark)
    for i, word in enumerate(words):
        mark = inside.get(i)
        if mark is None:
            source.append(word)
            continue
        if mark not in target:
            source.append(mark)
            target.append(mark)
        target.append(word)
    return source, [*target, marks[len(places)]]


_TWO = "Return two lists of words: the source, the target."
_STRING = "Return lists of words, not one string."
_NESTED = (
    "One of your lists has a list inside it. Add its words one by one: += or "
    "extend, not append."
)


def _two_lists(mine, words, places, marks):
    """An answer's source and target as lists of words."""
    result = mine(words, places, marks)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise Hint(_TWO)
    if isinstance(result[0], str) or isinstance(result[1], str):
        raise Hint(_STRING)
    if any(isinstance(x, list) for one in result for x in plain(one)):
        raise Hint(_NESTED)
    return [list(map(str, plain(one))) for one in result]


@exercise(leave_spans_solution)
def leave_spans(mine):
    """T5's spans: what is left, and what was left out."""
    marks = ["<X>", "<Y>", "<Z>", "<U>", "<V>", "<W>"]
    sources, both = [], []
    for text, places in (
        ("two dogs play in the deep snow near a house", [(3, 4)]),
        ("thank you for inviting me to your party last week", [(2, 2), (8, 1)]),
        ("a man sleeps", [(0, 1)]),
        ("two dogs play in the snow", [(1, 1), (4, 2)]),
        ("nothing is missing", []),
    ):
        given = text.split(), places, marks
        source, target = _left(*given)
        sources.append((given, source))
        both.append((given, [source, target]))
    leave_spans.compare(
        mine,
        sources,
        about="The check does not recognize this mistake. Of {0} with the "
        "places {1} the source is wrong:",
        ask=lambda *given: _two_lists(*given)[0],
    )
    leave_spans.compare(
        mine,
        both,
        about="The check does not recognize this mistake. Of {0} with the "
        "places {1} the source is right, the target is not:",
        ask=_two_lists,
    )
    return "five texts, one with a gap at its start, one with none."


_SPAN = "words[start : start + length]"
_SOURCE = "[*words[at:start], mark]"
_TARGET = f"[mark, *{_SPAN}]"
_WHOLE, _ENDED = "[*source, *words[at:]]", "[*target, marks[len(places)]]"
_FOR_EACH_WORD = (
    "A span leaves one mark, however many words it has: yours has one for "
    "each word."
)
_AGAIN = (
    "The last mark is the next one that has not been used; yours has one again "
    "that a span already has."
)
for _hint, _typed in {
    "The source comes first, then the target.": (
        f"return {_WHOLE}, {_ENDED}",
        f"return {_ENDED}, {_WHOLE}",
    ),
    "The source is right. In the target, too, a mark stands once before all "
    "the words of its span, not before each "
    "word.": (_TARGET, f"[x for word in {_SPAN} for x in (mark, word)]"),
    "The source is right. In the target, too, there is one mark for a "
    "span, not one for each word.": (
        *("at = [], [], 0", "at = [], [], 0; unused = iter(marks)"),
        *(_TARGET, f"[x for word in {_SPAN} for x in (next(unused), word)]"),
        *("marks[len(places)]", "next(unused)"),
    ),
    "The target lacks its last mark, which says that nothing more is "
    "missing.": (_ENDED, "target"),
    "The last mark is the next one that has not been used, marks[len(places)], "
    "not the last of the list.": ("len(places)", "-1"),
    "The target has to say which words belong to which gap: set each span "
    "after its mark, and a mark at the "
    "end.": (_TARGET, _SPAN, _ENDED, "target"),
    "In the target each span stands after its own mark; yours has only the "
    "last one.": (_TARGET, _SPAN),
    "In the target a mark stands before the words of its span; yours stand "
    "after them.": (_TARGET, f"[*{_SPAN}, mark]"),
    "In the target a mark stands before the words of its span; yours stand "
    "after them. And one more mark ends "
    "it.": (_TARGET, f"[*{_SPAN}, mark]", _ENDED, "target"),
    "Each gap has a mark of its own, or one cannot tell which is which: the "
    "first <X>, the second "
    "<Y>.": ("mark]", "marks[0]]", "[mark,", "[marks[0],"),
    "That is the whole text. T5 predicts only what is missing.": (
        _ENDED,
        "list(words)",
    ),
    "In your source nobody can see where the gaps are: each leaves its mark.": (
        _SOURCE,
        "words[at:start]",
    ),
    "Your source still has the words that the target is to say.": (
        _WHOLE,
        "list(words)",
    ),
    "Your source has the marks, and after them still the words that the target "
    "is to say: go on after the span, not at its "
    "start.": ("at = start + length", "at = start"),
    "You put a mark in for a span, and the words after it moved up: the "
    "next place no longer fits. Go from right to left, or build a new "
    "list.": (
        *("source, target, at = [], [], 0", "source, target = [*words], []"),
        *(f"source += {_SOURCE}", "source[start : start + length] = [mark]"),
        *(_WHOLE, "source"),
    ),
    "Your source ends at the last span. What comes after it stays, too.": (
        _WHOLE,
        "source",
    ),
    "The source has a mark for each gap and no more: the last mark is only for "
    "the target.": (_WHOLE, "[*source, *words[at:], marks[len(places)]]"),
    _TWO: (f", {_ENDED}", ""),
    _STRING: (f"{_WHOLE}, ", "' '.join(source), "),
    _NESTED: (_TARGET, f"[mark, {_SPAN}]"),
}.items():
    leave_spans.slip(_hint, *_typed)
leave_spans.slip(
    _FOR_EACH_WORD, _SOURCE, "[*words[at:start], *[mark] * length]"
)
leave_spans.slip(
    _FOR_EACH_WORD,
    *("at = [], [], 0", "at = [], [], 0; used = 0"),
    *(_SOURCE, "[*words[at:start], *marks[used : used + length]]"),
    *("at = start + length", "at = start + length; used += length"),
)
leave_spans.slip(_AGAIN, "len(places)", "len(places) - 1")
leave_spans.slip(_AGAIN, "len(places)", "0")
for _hint, _typed in {
    "A place is (first word, how many), not (first, last): (3, 4) takes four "
    "words out, those numbered 3, 4, 5 and "
    "6.": ("start + length", "length + 1"),
    "A place is (first word, how many), and you slice from the one number to "
    "the other: (3, 4) takes four words out, words[3 : 3 + "
    "4].": ("start + length", "length"),
    "Words are counted from 0: a span that begins at 3 begins with the fourth "
    "word.": (
        *("at:start", "at : start - 1", "start + length", "start - 1 + length"),
        *("words[start :", "words[start - 1 :"),
    ),
    "One word too many: a span of four that begins at 3 ends before 3 + 4.": (
        "start + length",
        "start + length + 1",
    ),
    "One word too few: a span of four that begins at 3 ends before 3 + 4.": (
        "start + length",
        "start + length - 1",
    ),
}.items():
    leave_spans.slip(_hint, *_typed)
    leave_spans.slip(
        f"The source is right. {_hint}",
        *[
            f"start : {piece}]" if "length" in piece else piece
            for piece in _typed
        ],
    )


leave_spans.style(_left)


@leave_spans.style
def _from_the_right(words, places, marks):
    source, target = list(words), []
    for n in reversed(range(len(places))):
        start, length = places[n]
        source[start : start + length] = [marks[n]]
        target = [marks[n], *words[start : start + length], *target]
    return [source, (*target, marks[len(places)])]


@leave_spans.style
def _with_an_offset(words, places, marks):
    source, target, gone = words[:], [], 0
    for (start, many), mark in zip(places, marks, strict=False):
        target += [mark, *words[start : start + many]]
        source[start - gone : start - gone + many] = [mark]
        gone += many - 1
    return source, target + [marks[len(places)]]


def top_p_solution(p, threshold):
    """The fewest words, likeliest first, whose sum reaches the threshold."""
    ordered, order = p.sort(descending=True)
    before = ordered.cumsum(dim=0) - ordered
    kept = torch.zeros_like(p)
    kept[order] = torch.where(before < threshold, ordered, 0)
    return kept / kept.sum()


def _nucleus(p, threshold):
    """Word by word, from the likeliest on."""
    kept, total = torch.zeros_like(p), 0.0
    for i in sorted(range(len(p)), key=lambda i: -float(p[i])):
        if total >= threshold:
            break
        kept[i] = p[i]
        total += float(p[i])
    return kept / total


@exercise(top_p_solution)
def top_p(mine):
    """What is left to draw from under top-p."""
    cases = []
    for numbers, threshold in (
        ([0.05, 0.5, 0.15, 0.3], 0.6),
        ([0.0625, 0.25, 0.5, 0.1875], 0.75),
        ([0.35, 0.1, 0.4, 0.15], 0.3),
        ([0.3, 0.1, 0.4, 0.2], 1.0),
        ([0.06, 0.24, 0.1, 0.22, 0.2, 0.18], 0.55),
        ([0.103338, 0.403738, 0.296258, 0.196666], 0.7),  # 0.699996 by two
    ):
        truth = _nucleus(float64(numbers), threshold)
        cases.append(((torch.tensor(numbers), threshold), truth))
    top_p.compare(
        mine,
        cases,
        about="of {0} with {1}",
        ask=lambda mine, p, threshold: as_tensor(
            mine(p, threshold), p.shape, "[vocab]"
        ).nan_to_num(0.0),  # where nothing is left
    )
    return "six vocabularies; in one the sum is met, in one just missed."


_ROUNDED = (
    "You rounded the probabilities or their sums. Take them as they are: a sum "
    "just below the threshold has not reached it."
)
_KEPT = "kept[order] = torch.where(before < threshold, ordered, 0)"
_SOON = ("before < threshold", "ordered.cumsum(dim=0) <= threshold")
_SOONER = ("before < threshold", "ordered.cumsum(dim=0) < threshold")
_SAME = (_KEPT, f"kept = {_KEPT[14:]}[order]")
_SORTED = ("kept[order] =", "kept =")
_EACH = (_KEPT, "kept = torch.where(p >= threshold, p, 0)")
_BARE = (" / kept.sum()", "")
for _hint, _typed in {
    "The right words are left, but they no longer sum to 1: divide by their "
    "sum.": _BARE,
    "You stop before the threshold is reached. The word that carries the sum "
    "over it is kept, too; so the likeliest word always stays.": _SOON,
    "You stop before the threshold is reached, and do not divide by the sum "
    "either.": (*_SOON, *_BARE),
    "You stop before the threshold is reached, even where the sum meets it "
    "exactly. The word that carries the sum to it is kept; so the likeliest "
    "word always stays.": _SOONER,
    "You stop before the threshold is reached, even where the sum meets it "
    "exactly, and do not divide by the sum either.": (*_SOONER, *_BARE),
    "One word too many where the sum is exactly the threshold: then it is "
    "reached, and no further word is needed.": ("before <", "before <="),
    "You keep one word too many: the one that carries the sum to the "
    "threshold is the last.": (
        _KEPT,
        "count = int((before < threshold).sum()) + 1\n"
        "    kept[order[:count]] = ordered[:count]",
    ),
    "You sorted, and then put the words back by the same indexing. Sorting is "
    "p[order]; the way back is kept[order] = ….": _SAME,
    "You sorted, and then put the words back by the same indexing, and do not "
    "divide by the sum. Sorting is p[order]; the way back is kept[order] = "
    "….": (*_SAME, *_BARE),
    "You keep the words that are cut off, and cut off those that are kept.": (
        "before <",
        "before >=",
    ),
    "The probabilities are right, but they stand in the order of their size: "
    "give each back to its own word.": _SORTED,
    "They stand in the order of their size, and are not divided by their "
    "sum.": (*_SORTED, *_BARE),
    "You keep the words that have the threshold each on its own. It is their "
    "sum, likeliest first, that has to reach it.": _EACH,
    "You keep the words that have the threshold each on its own, and do not "
    "divide. It is their sum, likeliest first, that has to reach it, and what "
    "is left has to sum to 1.": (*_EACH, *_BARE),
    "You keep what is above 1 − threshold. It is the sum, likeliest first, "
    "that has to reach the "
    "threshold.": (_KEPT, "kept = torch.where(p >= 1 - threshold, p, 0)"),
    "You add up in the order of the vocabulary. Sort first: the likeliest "
    "words come first.": ("p.sort(descending=True)", "p, torch.arange(len(p))"),
    "You begin with the least likely words.": ("descending=True", ""),
    "Divide by the sum of what is left; softmax would make other "
    "probabilities of them.": (
        *(
            "kept / kept.sum()",
            "torch.where(kept > 0, p, -torch.inf).softmax(0)",
        ),
    ),
    "Divide by the sum of what is left; softmax would make other probabilities "
    "of them, and wake those that were cut "
    "off.": ("kept / kept.sum()", "(kept / kept.sum()).softmax(0)"),
    "Nothing is cut off: those are the probabilities as they came.": (
        "return kept / kept.sum()",
        "return p",
    ),
}.items():
    top_p.slip(_hint, *_typed)


for _digits in (1, 2, 3, 4):
    _so = f", decimals={_digits})"
    top_p.slip(_ROUNDED, "p.sort(", f"torch.round(p{_so}.sort(")
    top_p.slip(_ROUNDED, "before <", f"torch.round(before{_so} <")


top_p.style(_nucleus)
top_p.style(
    lambda p, threshold: families.sampling_probs(p.log(), top_p=threshold)
)


@top_p.style
def _by_count(p, threshold):
    ordered, order = torch.sort(p, descending=True)
    count = int((ordered.cumsum(0) < threshold).sum()) + 1
    kept = torch.zeros_like(p)
    kept[order[:count]] = ordered[:count] / ordered[:count].sum()
    return kept


@top_p.style
def _by_largest(p, threshold):
    rest, kept = p.clone(), torch.zeros_like(p)
    while kept.sum() < threshold:
        at = rest.argmax()
        kept[at], rest[at] = p[at], 0
    return kept / kept.sum()


@top_p.style
def _by_places(p, threshold):
    ordered, order = p.sort(descending=True)
    kept = torch.where(ordered.cumsum(0) - ordered < threshold, ordered, 0)
    return (kept / kept.sum())[order.argsort()]


@top_p.style
def _by_larger_ones(p, threshold):
    larger = torch.stack([p[p > one].sum() for one in p])
    kept = p * (larger < threshold)
    return kept / kept.sum()


def cut_patches_solution(picture, size):
    """Squares of size · size pixels, row by row, each laid flat."""
    count = len(picture) // size
    cut = picture.view(count, size, count, size)
    return cut.transpose(1, 2).flatten(2).flatten(0, 1)


def _by_slices(picture, size):
    """Square by square."""
    at = range(0, len(picture), size)
    cut = [picture[y : y + size, x : x + size] for y in at for x in at]
    return torch.stack([square.flatten() for square in cut])


@exercise(cut_patches_solution)
def cut_patches(mine):
    """A picture as a row of patches."""
    cases = []
    for side, size in ((6, 2), (6, 3), (8, 2), (4, 4)):
        picture = torch.arange(float(side * side)).view(side, side)
        cases.append(((picture, size), _by_slices(picture, size)))
    cut_patches.compare(
        mine,
        cases,
        "[patches, pixels]",
        "in {0}, cut into squares of {1} × {1} pixels,",
    )
    return "four pictures, one of a single patch."


_FLAT = ".flatten(2).flatten(0, 1)"
_OTHER_CUT = ("count, size, count, size", "size, count, size, count")
for _hint, _typed in {
    "Those are not squares: a plain view cuts the picture into strips of one "
    "row after another. Four axes are needed, and two of them have to change "
    "places.": (f"cut.transpose(1, 2){_FLAT}", "picture.reshape(-1, size**2)"),
    "The squares are right, but come column by column. Row by row: first to "
    "the right, then down.": ("transpose(1, 2)", "permute(2, 0, 1, 3)"),
    "Inside each square you go down first. Row by row there, too.": (
        "transpose(1, 2)",
        "permute(0, 2, 3, 1)",
    ),
    "You took the picture's transpose: columns for rows throughout.": (
        "transpose(1, 2)",
        "permute(2, 0, 3, 1)",
    ),
    "You took every n-th pixel: those lie far apart. A patch is a square of "
    "neighbours.": (*_OTHER_CUT, "transpose(1, 2)", "permute(1, 3, 0, 2)"),
    "Lay the squares in one row, and each of them flat.": (_FLAT, ""),
    "Each patch is to be a row of numbers: lay it flat.": (".flatten(2)", ""),
    "The patches are to stand in one row.": (".flatten(0, 1)", ""),
    "Four axes are a beginning. Lay the squares in one row, and each of them "
    "flat.": (*_OTHER_CUT, _FLAT, ""),
    "Your squares overlap: go on by `size` pixels, not by one. And lay each "
    "flat.": (
        f"cut.transpose(1, 2){_FLAT}",
        "picture.unfold(0, size, 1).unfold(1, size, 1)",
    ),
    "Your squares overlap: go on by `size` pixels, not by one.": (
        f"cut.transpose(1, 2){_FLAT}",
        "F.unfold(picture[None, None], size)[0].T",
    ),
    "`size` is how many pixels a square has on a side, not how many squares "
    "there are.": (
        *(
            "count = len(picture) // size",
            "count, size = size, len(picture) // size",
        ),
    ),
    "Yours is the transpose: a row for each patch.": (_FLAT, f"{_FLAT}.T"),
}.items():
    cut_patches.slip(_hint, *_typed)


cut_patches.style(
    lambda picture, size: F.unfold(picture[None, None], size, stride=size)[0].T
)
cut_patches.style(
    lambda picture, size: (
        picture.unfold(0, size, size)
        .unfold(1, size, size)
        .reshape(-1, size * size)
    )
)


@cut_patches.style
def _by_splits(picture, size):
    rows = [part.split(size, 1) for part in picture.split(size)]
    return torch.stack([part.flatten() for row in rows for part in row])
