"""The exercises of `probing`: each check beside its reference solution.

What is right is counted one occurrence at a time, or told by a function that
remembers what it was given, never by the solution's formula.
"""

import torch

from lookback.exercises.by_hand import by_hand, stage
from lookback.exercises.checking import (
    Hint,
    as_number,
    exercise,
    random_inputs,
)


def em_by_hand_solution():
    """Half a count for each house in the first pair, a whole in the second."""
    return [0.75, 0.25, 0.5, 2 / 3]


def _two_decimals(x):
    """What somebody writes who rounds to two decimals, or to a per cent."""
    by = 0.0055 * max(1, abs(x))
    return [x - by, x + by]


def _second_round(t, first, second):
    """The three t that another round makes of three."""
    red, house = t[2], t[0]  # of maison; the rest is rouge's
    maison = house / (house + red)
    rouge = (1 - house) / (2 - house - red)
    counts = first * maison + second, first * rouge
    rest = first * (1 - maison), first * (1 - rouge)
    return [
        counts[0] / sum(counts),
        counts[1] / sum(counts),
        rest[0] / sum(rest),
    ]


def _drawn_pairs(drawn):
    return {"first": drawn.randint(1, 4), "second": drawn.randint(1, 4)}


@by_hand(
    em_by_hand_solution,
    "three numbers t, and p",
    ["t(maison | house)", "t(rouge | house)", "t(maison | red)"],
    ["p(rouge from red)"],
    vary=(
        "Of the pair *red house, maison rouge* the corpus has {first}, of the"
        " pair *house, maison* it has {second}.",
        _drawn_pairs,
    ),
)
def em_by_hand(first=1, second=1):
    """One iteration of IBM model 1, and the next expectation."""
    half, all_of = first / 2, first + second
    truth = [(half + second) / all_of, half / all_of, 0.5]
    wrongs = {
        "Give proportions from 0 to 1, not percentages.": [
            100 * t for t in truth
        ],
        "Those are counts. Divide those of each English word by their sum, so "
        "that its t sum to 1.": [half + second, half, half],
        "You divided by what each FRENCH word has together. t(f | e) sums to "
        "1 over the French words f of one English word e.": [
            (half + second) / all_of,
            half / first,
            half / all_of,
        ],
        "You divided by all counts there are. t(f | e) sums to 1 for each "
        "English word on its own.": [
            (half + second) / (2 * first + second),
            half / (2 * first + second),
            half / (2 * first + second),
        ],
        "You counted 1 for every pair of words that meet. In the first pair "
        "each French word is divided: a half to red, a half to house.": [
            all_of / (2 * first + second),
            first / (2 * first + second),
            0.5,
        ],
        "That is where it began, with all t alike. The second pair leaves "
        "maison no choice: it counts 1 for house.": [0.5, 0.5, 0.5],
        "You counted each of the pairs once, however often it stands.": [
            0.75,
            0.25,
            0.5,
        ],
        "You exchanged maison and rouge: the first is t(maison | house), the "
        "second t(rouge | house).": [truth[1], truth[0], truth[2]],
        "You gave the empty word e_0 a part. Here there is none: a French "
        "word comes from red or from house.": [
            (first / 3 + second / 2) / (2 * first / 3 + second / 2),
            (first / 3) / (2 * first / 3 + second / 2),
            0.5,
        ],
        "That is after a second iteration. Asked is one, from t that are "
        "all alike.": _second_round(truth, first, second),
        "You took the word order for known, and rouge for red. Model 1 does "
        "not look at the order; in the first pair both are as likely.": [
            1.0,
            0.0,
            0.0,
        ],
    }
    share = 0.5 / (0.5 + truth[1])
    later = {
        "That was before the iteration. Now take the new t: t(rouge | red) "
        "against t(rouge | house).": 0.5,
        "That is t(rouge | house). Divide t(rouge | red) by the sum of both.": (
            truth[1]
        ),
        "That is how likely rouge comes from house; asked is red.": 1 - share,
        "You divided t(rouge | red) by t(rouge | house). Divide it by the sum "
        "of both.": 0.5 / truth[1],
        "You compared with t(maison | house). Both t are of rouge: how likely "
        "red becomes it, and how likely house does.": 0.5 / (0.5 + truth[0]),
        "Nothing is certain after one iteration: house may still become rouge, "
        "with the t that you have found.": 1.0,
        "You multiplied the two. Divide t(rouge | red) by the sum of both.": (
            0.5 * truth[1]
        ),
        "Give a proportion from 0 to 1, not a percentage.": 100 * share,
    }
    if (first, second) == (1, 1):
        wrongs = {k: v for k, v in wrongs.items() if v != truth}
    return (
        "the pair that leaves no choice has begun to explain the other one.",
        stage(
            truth,
            wrongs,
            "The check does not recognize the mistake in the three t. In the "
            "first pair each French word counts a half for red and a half for "
            "house; in the second maison counts 1 for house. Then divide, for "
            "each English word.",
            _two_decimals,
            share=True,
        ),
        stage(
            [share],
            later,
            "The three t are right; the check does not recognize the mistake "
            "in p. It is t(rouge | red) over t(rouge | red) + t(rouge | "
            "house).",
            _two_decimals,
            3,
            share=True,
        ),
    )


em_by_hand.style([0.75, 0.25, 0.5, 0.67])


def fair_accuracy_solution(said, senses):
    """The mean of two accuracies: of each sense, how many are right."""
    right = said == senses
    return sum(right[senses == k].float().mean() for k in (0, 1)) / 2


def _by_counting(said, senses):
    """The mean of the two accuracies, one occurrence at a time."""
    pairs = list(zip(said.tolist(), senses.tolist(), strict=True))
    one = pairs.count((0, 0)) / (pairs.count((0, 0)) + pairs.count((1, 0)))
    two = pairs.count((1, 1)) / (pairs.count((1, 1)) + pairs.count((0, 1)))
    return (one + two) / 2


@exercise(fair_accuracy_solution)
def fair_accuracy(mine):
    """Balanced accuracy of a list of predictions."""
    cases = []
    sizes = ((40, 0.2), (9, 0.4), (25, 0.7))
    for seed, (size, rare) in enumerate(sizes, 3):
        a, b = random_inputs(seed, (size,), (size,))
        senses = (a > a.quantile(1 - rare)).long()
        said = torch.where(b > 0.6, 1 - senses, senses)
        said[senses.argmax()] = 1  # one of each is right
        said[senses.argmin()] = 0
        cases.append(((said, senses), _by_counting(said, senses)))
    otherwise = (
        "The check does not recognize this mistake. For k = 0 and k = 1: "
        "among the occurrences whose sense is k, the accuracy said k; then the "
        "mean of the two."
    )
    fair_accuracy.compare(mine, cases, otherwise=otherwise)
    return "three lists of predictions, with rare and with frequent senses."


_SHARE = "right[senses == k].float().mean()"
_ZERO, _ONE = (_SHARE.replace("k", k) for k in "01")
_MEAN = f"sum({_SHARE} for k in (0, 1)) / 2"
for _hint, *_typed in (
    (
        "That is the plain accuracy, in which the frequent sense has more to "
        "say; the two accuracies weighted by how many there are come to the "
        "same. Take their plain mean.",
        *(_MEAN, "right.float().mean()"),
    ),
    (
        "You divided by how often a sense is SAID. Of the occurrences that "
        "HAVE sense k, how many are right?",
        *("senses == k", "said == k"),
    ),
    (
        "You exchanged the two denominators: the hits of each sense are "
        "divided by how many the OTHER one has.",
        *(_SHARE, "right[senses == k].sum() / (senses != k).sum()"),
    ),
    ("That is the sum of the two accuracies; take half of it.", " / 2", ""),
    (
        "Python divides before it adds: (a + b) / 2 needs its brackets. You "
        "halved the accuracy of sense 1 alone.",
        *(_MEAN, f"{_ZERO} + {_ONE} / 2"),
    ),
    (
        "Python divides before it adds: (a + b) / 2 needs its brackets. You "
        "halved the accuracy of sense 0 alone.",
        *(_MEAN, f"{_ONE} + {_ZERO} / 2"),
    ),
    (
        "That is how often 1 is SAID of either sense. Of sense 0, what is "
        "right is a 0.",
        *("right[", "said["),
    ),
    (
        "You divided the hits of both senses by all occurrences, and then by "
        "2. Each sense is divided by how many it has.",
        *("right[senses == k]", "(right & (senses == k))"),
    ),
    (
        "That is 0, though some are right. Did you divide with //? It drops "
        "the fraction: take /.",
        *(_SHARE, "right[senses == k].sum() // (senses == k).sum()"),
    ),
    (
        "That is scaled so that guessing gives 0. Give the mean of the two "
        "accuracies as it is.",
        *(" / 2", " - 1"),
    ),
    (
        "That is the geometric mean of the two accuracies; take half of their "
        "sum.",
        *(_MEAN, f"({_ZERO} * {_ONE}) ** 0.5"),
    ),
    (
        "That is the F1 score of sense 1. Asked is half of the sum of two "
        "accuracies, one for each sense.",
        *(_MEAN, "2 * (said & senses).sum() / (said + senses).sum()"),
    ),
    (
        "That is the accuracy right of sense 1 alone; take the mean of both.",
        *(_MEAN, _ONE),
    ),
    (
        "That is the accuracy right of sense 0 alone; take the mean of both.",
        *(_MEAN, _ZERO),
    ),
    (
        "That is the worse of the two accuracies; take the mean of both.",
        *(_MEAN, f"min({_ZERO}, {_ONE})"),
    ),
    (
        "That is the better of the two accuracies; take the mean of both.",
        *(_MEAN, f"max({_ZERO}, {_ONE})"),
    ),
    (
        "You multiplied the two accuracies; take their mean.",
        *(_MEAN, f"{_ZERO} * {_ONE}"),
    ),
    (
        "That is the proportion that is WRONG.",
        *("said == senses", "said != senses"),
    ),
    (
        "That is the mean of two counts. Divide each by how many have its "
        "sense: two accuracies, and their mean.",
        *(".float().mean()", ".sum()"),
    ),
    ("Give a proportion from 0 to 1, not a percentage.", " / 2", " * 50"),
    (
        "You divided the hits of both senses by half of all occurrences. Each "
        "sense is divided by how many it has.",
        *(_MEAN, "2 * right.float().mean()"),
    ),
):
    fair_accuracy.slip(_hint, *_typed)


fair_accuracy.style(_by_counting)


@fair_accuracy.style
def _by_weights(said, senses):
    counts = torch.bincount(senses)
    return ((said == senses) / counts[senses]).sum().item() / 2


@fair_accuracy.style
def _by_numpy(said, senses):
    right, senses = (said == senses).numpy(), senses.numpy()
    return (right[senses == 0].mean() + right[senses == 1].mean()) / 2


def shuffled_control_solution(examine, x, senses, order, many):
    """The senses change places first; then all is as ever."""
    y = senses[order]
    return examine(x[:many], y[:many], x[many:], y[many:])


_ARGUMENTS = (
    "The order is examine(x_seen, y_seen, x_new, y_new): vectors and their "
    "senses for fitting, then vectors and senses for testing."
)
_UNEQUAL = (
    "examine was given unequal numbers of vectors and of senses: cut x and "
    "senses at the same place."
)
_EMPTY = "One part is empty: the first `many` are for fitting."
_FITTED = (
    "The probe is tested on what it was fitted to. The first `many` are for "
    "fitting, the others for testing."
)
_PARTS = (
    "Every occurrence belongs to one part and no more: x[:many] for fitting, "
    "x[many:] for testing."
)
_NO_SENSES = (
    "What you hand over as senses is not of zeros and ones: it is "
    "senses[order], and not `order`."
)
_DRAWN = (
    "The same call gives another number every time: do you draw an order of "
    "your own? Take `order`."
)


def _complaint(x_seen, y_seen, x_new, y_new, size):
    """What is wrong with what `examine` was given, or None."""
    if not (x_seen.ndim == x_new.ndim == 2 and y_seen.ndim == y_new.ndim == 1):
        return _ARGUMENTS
    if len(x_seen) != len(y_seen) or len(x_new) != len(y_new):
        return _UNEQUAL
    if len(x_new) == 0 or len(x_seen) == 0:
        return _EMPTY
    if x_seen.shape == x_new.shape and torch.equal(x_seen, x_new):
        return _FITTED
    if len(x_seen) + len(x_new) != size:
        return _PARTS
    if not set(y_seen.tolist() + y_new.tolist()) <= {0, 1}:
        return _NO_SENSES
    return None


def _remembers(size):
    """An `examine` whose number tells what it was given."""
    weigh = torch.arange(1, size + 1).double()

    def examine(x_seen, y_seen, x_new, y_new):
        given = x_seen, y_seen, x_new, y_new
        if complaint := _complaint(*given, size):
            examine.complaints.append(complaint)
            return 0.0
        rows, ys = torch.cat([x_seen, x_new]), torch.cat([y_seen, y_new])
        told = (weigh * rows[:, 0].double()).sum()
        said = (weigh.square() * ys.double()).sum()
        return float(told / 7 + said / 11 + len(x_seen) / 13)

    examine.complaints = []
    return examine


def heard(answer, *given):
    """An answer's number; or what a function of ours had to complain of."""
    [complaints] = [f.complaints for f in given if hasattr(f, "complaints")]
    complaints.clear()
    try:
        found = answer(*given)
    except Hint:
        if complaints:
            raise Hint(complaints[0]) from None
        raise
    if complaints:
        raise Hint(complaints[0])
    return found


def _heard_twice(answer, *given):
    """An answer's number, which has to be the same in a second call."""
    found, again = (
        as_number(heard(answer, *given), "the number of `examine`")
        for _ in range(2)
    )
    if found != again:
        raise Hint(_DRAWN)
    return found


@exercise(shuffled_control_solution)
def shuffled_control(mine):
    """The control: the senses are shuffled, before all else."""
    cases = []
    for seed, (size, many) in enumerate(((12, 8), (9, 5), (15, 12))):
        (x,) = random_inputs(seed, (size, 3))
        draw = torch.Generator().manual_seed(seed)
        senses = torch.randint(2, (size,), generator=draw)
        order = torch.randperm(size, generator=draw)
        examine, cut = _remembers(size), (many, size - many)
        y = torch.tensor([int(senses[i]) for i in order])
        (a, c), (b, d) = x.split(cut), y.split(cut)
        truth = examine(a, b, c, d)
        cases.append(((examine, x, senses, order, many), truth))
    otherwise = (
        "The check does not recognize this mistake. Make the shuffled list of "
        "senses first, senses[order]; then cut x and that list at `many`, and "
        "call examine."
    )
    shuffled_control.compare(mine, cases, otherwise=otherwise, ask=_heard_twice)
    return "three sets of occurrences, each with its senses shuffled."


_Y, _CALL = "y = senses[order]", "x[:many], y[:many], x[many:], y[many:]"
for _hint, *_typed in (
    (
        "Only the senses that are tested were exchanged. The probe has "
        "learned the true ones, so a score of one half says nothing about "
        "what it can learn: shuffle before the split.",
        *("y[:many]", "senses[:many]"),
    ),
    (
        "Only the senses that are fitted were exchanged: then a probe is "
        "asked for the truth that it never saw. Shuffle all, before the "
        "split.",
        *("y[many:]", "senses[many:]"),
    ),
    (
        "You shuffled vectors and senses alike, so that each vector kept its "
        "own sense: nothing has been taken away.",
        *(_Y, "x, y = x[order], senses[order]"),
    ),
    (
        "You exchanged the vectors, and not the senses. That unties them just "
        "as well, but `order` is meant for the senses.",
        *(_Y, "x, y = x[order], senses"),
    ),
    (
        "You exchanged the vectors, so that other occurrences come to the "
        "first `many`. Leave x as it is, and shuffle the senses.",
        *(_Y, "x, y = x[order.argsort()], senses"),
    ),
    (
        "You wrote 0 for 1 and 1 for 0. A probe learns that as well as the "
        "truth: shuffle the senses among the occurrences.",
        *("senses[order]", "1 - senses"),
    ),
    (
        "You cut `many` from the end. The first `many` are for fitting: "
        "x[:many], and x[many:] for testing.",
        *("[:many]", "[:-many]", "[many:]", "[-many:]"),
    ),
    ("Nothing is shuffled: those are the true senses.", "[order]", ""),
    (
        "You used `order` backwards (argsort): give occurrence i the sense of "
        "occurrence order[i].",
        *("[order]", "[order.argsort()]"),
    ),
    (
        "The first `many` are for fitting, the rest for testing: yours are "
        "exchanged.",
        *(_CALL, "x[many:], y[many:], x[:many], y[:many]"),
    ),
    (_ARGUMENTS, "y[:many], x[many:]", "x[many:], y[:many]"),
    (_UNEQUAL, "y[:many]", "y"),
    (_EMPTY, "[:many]", "", "[many:]", "[len(x):]"),
    (_FITTED, "[many:]", "[:many]"),
    (_FITTED, "[many:]", "", "[:many]", ""),
    (_PARTS, "[:many]", ""),
    (_PARTS, "[many:]", "[many + 1:]"),
    (_NO_SENSES, "senses[order]", "order"),
    (_DRAWN, "[order]", "[torch.randperm(len(x))]"),
):
    shuffled_control.slip(_hint, *_typed)


@shuffled_control.slip(
    "You exchanged the senses after the split, within each part. Do it "
    "before, so that nothing of the true order is left."
)
def _after_the_split(examine, x, senses, order, many):
    seen, new = senses[:many], senses[many:]
    seen = seen[order[order < many]]
    new = new[order[order >= many] - many]
    return examine(x[:many], seen, x[many:], new)


@shuffled_control.style
def _by_places(examine, x, senses, order, many):
    seen, new = order[:many], order[many:]
    return examine(x[:many], senses[seen], x[many:], senses[new])


@shuffled_control.style
def _by_mask(examine, x, senses, order, many):
    y = torch.tensor([int(senses[i]) for i in order.tolist()])
    seen = torch.arange(len(x)) < many
    return float(examine(x[seen], y[seen], x[~seen], y[~seen]))
