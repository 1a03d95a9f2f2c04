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
    expect,
    float64,
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
    """One round of IBM model 1, and the expectation of the next."""
    half, all_of = first / 2, first + second
    truth = [(half + second) / all_of, half / all_of, 0.5]
    wrongs = {
        "Give shares from 0 to 1, and no per cent.": [100 * t for t in truth],
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
        "each French word is shared out: a half to red, a half to house.": [
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
        "You gave the empty word e_0 a share. Here there is none: a French "
        "word comes from red or from house.": [
            (first / 3 + second / 2) / (2 * first / 3 + second / 2),
            (first / 3) / (2 * first / 3 + second / 2),
            0.5,
        ],
        "That is after a second round. Asked is one round, from t that are "
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
        "That was before the round. Now take the new t: t(rouge | red) "
        "against t(rouge | house).": 0.5,
        "That is t(rouge | house). Divide t(rouge | red) by the sum of both.": (
            truth[1]
        ),
        "That is how likely rouge comes from house; asked is red.": 1 - share,
        "You divided t(rouge | red) by t(rouge | house). Divide it by the sum "
        "of both.": 0.5 / truth[1],
        "You compared with t(maison | house). Both t are of rouge: how likely "
        "red becomes it, and how likely house does.": 0.5 / (0.5 + truth[0]),
        "Nothing is certain after one round: house may still become rouge, "
        "with the t that you have found.": 1.0,
        "You multiplied the two. Divide t(rouge | red) by the sum of both.": (
            0.5 * truth[1]
        ),
        "Give a share from 0 to 1, and no per cent.": 100 * share,
    }
    if (first, second) == (1, 1):
        wrongs = {k: v for k, v in wrongs.items() if v != truth}
    return (
        "the pair that leaves no choice has begun to explain the other one.",
        stage(
            truth,
            wrongs,
            "The three t are no slip that the check knows. In the first pair "
            "each French word counts a half for red and a half for house; in "
            "the second maison counts 1 for house. Then divide, for each "
            "English word.",
            _two_decimals,
        ),
        stage(
            [share],
            later,
            "The three t are right; p is no slip that the check knows. "
            "It is t(rouge | red) over t(rouge | red) + t(rouge | house).",
            _two_decimals,
            3,
        ),
    )


def fair_accuracy_solution(said, senses):
    """The mean of two shares: of each sense, how many are right."""
    right = said == senses
    return sum(right[senses == k].float().mean() for k in (0, 1)) / 2


def _counted(said, senses):
    """(how many there are of sense k, how many are said k, right) for k."""
    pairs = list(zip(said.tolist(), senses.tolist(), strict=True))
    return [
        (
            sum(y == k for _, y in pairs),
            sum(x == k for x, _ in pairs),
            sum(x == y == k for x, y in pairs),
        )
        for k in (0, 1)
    ]


@exercise(fair_accuracy_solution)
def fair_accuracy(mine):
    """Balanced accuracy of a list of verdicts."""
    for seed, (size, rare) in enumerate(((40, 0.2), (9, 0.4), (25, 0.7))):
        a, b = random_inputs(seed, (size,), (size,))
        senses = (a > a.quantile(1 - rare)).long()
        said = torch.where(b > 0.6, 1 - senses, senses)
        said[senses.argmax()] = 1  # one of each is right
        said[senses.argmin()] = 0
        found = as_number(mine(said, senses))
        (n0, m0, r0), (n1, m1, r1) = _counted(said, senses)
        one, two = r0 / n0, r1 / n1
        ranks = ("better", "worse") if one > two else ("worse", "better")
        mistakes = {
            "That is the plain accuracy, in which the frequent sense has more "
            "to say; the two shares weighted by how many there are come to "
            "the same. Take their plain mean.": (r0 + r1) / (n0 + n1),
            "You divided by how often a sense is SAID. Of the occurrences "
            "that HAVE sense k, how many are right?": (r0 / m0 + r1 / m1) / 2,
            "That is the sum of the two shares; take half of it.": one + two,
            "Python divides before it adds: (a + b) / 2 needs its brackets. "
            "You halved the share of sense 1 alone.": one + two / 2,
            "Python divides before it adds: (a + b) / 2 needs its brackets. "
            "You halved the share of sense 0 alone.": two + one / 2,
            "That is how often 1 is SAID of either sense. Of sense 0, what is "
            "right is a 0.": (1 - one + two) / 2,
            "You divided the hits of both senses by all occurrences, and then "
            "by 2. Each sense is divided by how many it has.": (r0 + r1)
            / (n0 + n1)
            / 2,
            "That is 0, though some are right. Did you divide with //? It "
            "drops the fraction: take /.": 0.0,
            "That is scaled so that guessing gives 0. Give the mean of the two "
            "shares as it is.": one + two - 1,
            "That is the geometric mean of the two shares; take half of their "
            "sum.": (one * two) ** 0.5,
            "That is the F1 score of sense 1. Asked is half of the sum of two "
            "shares, one for each sense.": 2 * r1 / (m1 + n1),
            f"That is the share right of sense 1 alone, here the {ranks[1]}; "
            "take the mean of both.": two,
            f"That is the share right of sense 0 alone, here the {ranks[0]}; "
            "take the mean of both.": one,
            "You multiplied the two shares; take their mean.": one * two,
            "That is the share that is WRONG.": 1 - (one + two) / 2,
            "That is the mean of two counts. Divide each by how many have its "
            "sense: two shares, and their mean.": (r0 + r1) / 2,
            "Give a share from 0 to 1, and no per cent.": 50 * (one + two),
            "You divided the hits of both senses by half of all occurrences. "
            "Each sense is divided by how many it has.": 2
            * (r0 + r1)
            / (n0 + n1),
        }
        expect(
            found,
            (one + two) / 2,
            mistakes,
            otherwise="This is no slip that the check knows. For k = 0 and "
            "k = 1: among the occurrences whose sense is k, the share said k; "
            "then the mean of the two.",
        )
    return "three lists of verdicts, with rare and with frequent senses."


def shuffled_control_solution(examine, x, senses, order, many):
    """The senses change places first; then all is as ever."""
    y = senses[order]
    return examine(x[:many], y[:many], x[many:], y[many:])


def _complaint(x_seen, y_seen, x_new, y_new, size):
    """What is wrong with what `examine` was given, or None."""
    if not (x_seen.ndim == x_new.ndim == 2 and y_seen.ndim == y_new.ndim == 1):
        return (
            "The order is examine(x_seen, y_seen, x_new, y_new): vectors and "
            "their senses for fitting, then vectors and senses for testing."
        )
    if len(x_seen) != len(y_seen) or len(x_new) != len(y_new):
        return (
            "examine was given unequal numbers of vectors and of senses: "
            "cut x and senses at the same place."
        )
    if len(x_new) == 0 or len(x_seen) == 0:
        return "One part is empty: the first `many` are for fitting."
    if x_seen.shape == x_new.shape and torch.equal(x_seen, x_new):
        return (
            "The probe is tested on what it was fitted to. The first `many` "
            "are for fitting, the others for testing."
        )
    if len(x_seen) + len(x_new) != size:
        return (
            "Every occurrence belongs to one part and no more: x[:many] for "
            "fitting, x[many:] for testing."
        )
    if not set(y_seen.tolist() + y_new.tolist()) <= {0, 1}:
        return (
            "What you hand over as senses is not of zeros and ones: it is "
            "senses[order], and not `order`."
        )
    return None


def _remembers(senses, complaints):
    """An `examine` whose number tells what it was given."""
    weigh = torch.arange(1, len(senses) + 1).double()

    def examine(x_seen, y_seen, x_new, y_new):
        given = x_seen, y_seen, x_new, y_new
        if complaint := _complaint(*given, len(senses)):
            complaints.append(complaint)
            return 0.0
        rows, ys = torch.cat([x_seen, x_new]), torch.cat([y_seen, y_new])
        told = (weigh * rows[:, 0].double()).sum()
        said = (weigh.square() * ys.double()).sum()
        return float(told / 7 + said / 11 + len(x_seen) / 13)

    return examine


def _heard(number, complaints):
    """The reader's number; or what a function of ours had to complain of."""
    try:
        found = number()
    except Hint:
        if complaints:
            raise Hint(complaints[0]) from None
        raise
    if complaints:
        raise Hint(complaints[0])
    return found


@exercise(shuffled_control_solution)
def shuffled_control(mine):
    """The control: every occurrence gets another one's sense, before all."""
    for seed, (size, many) in enumerate(((12, 8), (9, 5), (15, 12))):
        (x,) = random_inputs(seed, (size, 3))
        draw = torch.Generator().manual_seed(seed)
        senses = torch.randint(2, (size,), generator=draw)
        order = torch.randperm(size, generator=draw)
        complaints = []
        examine = _remembers(senses, complaints)

        def given(rows, ys, first=many, examine=examine):
            return examine(rows[:first], ys[:first], rows[first:], ys[first:])

        y = senses[order]
        seen, new = senses[:many], senses[many:]
        inside = torch.cat(
            [seen[order[order < many]], new[order[order >= many] - many]]
        )

        def number(given=(examine, x, senses, order, many)):
            return as_number(mine(*given), "the number of `examine`")

        found, again = (_heard(number, complaints) for _ in range(2))
        if found != again:
            raise Hint(
                "The same call gives another number every time: do you draw "
                "an order of your own? Take `order`."
            )
        truth = given(x, y)
        mistakes = {
            "Only the senses that are tested were exchanged. The probe has "
            "learned the true ones, so a score of one half says nothing about "
            "what it can learn: shuffle before the split.": given(
                x, torch.cat([seen, y[many:]])
            ),
            "Only the senses that are fitted were exchanged: then a probe is "
            "asked for the truth that it never saw. Shuffle all, before the "
            "split.": given(x, torch.cat([y[:many], new])),
            "You exchanged the senses after the split, within each part. Do "
            "it before, so that nothing of the true order is left.": given(
                x, inside
            ),
            "You shuffled vectors and senses alike, so that each vector kept "
            "its own sense: nothing has been taken away.": given(x[order], y),
            "You exchanged the vectors, and not the senses. That unties them "
            "just as well, but `order` is meant for the senses.": given(
                x[order], senses
            ),
            "You exchanged the vectors, so that other occurrences come to the "
            "first `many`. Leave x as it is, and shuffle the senses.": given(
                x[order.argsort()], senses
            ),
            "You wrote 0 for 1 and 1 for 0. A probe learns that as well as the "
            "truth: give every occurrence another one's sense.": given(
                x, 1 - senses
            ),
            "You cut `many` from the end. The first `many` are for fitting: "
            "x[:many], and x[many:] for testing.": given(x, y, size - many),
            "Nothing is shuffled: those are the true senses.": given(x, senses),
            "You used `order` backwards (argsort): give occurrence i the "
            "sense of occurrence order[i].": given(x, senses[order.argsort()]),
            "The first `many` are for fitting, the rest for testing: yours "
            "are exchanged.": examine(x[many:], y[many:], x[:many], y[:many]),
        }
        expect(
            found,
            truth,
            mistakes,
            otherwise="This is no slip that the check knows. Make the shuffled "
            "list of senses first, senses[order]; then cut x and that list at "
            "`many`, and call examine.",
        )
    return "three sets of occurrences, each with its senses shuffled."


def moved_by_solution(weights, values, says, order):
    """½ Σ |what own weights say − what weights in another order say|."""
    before = says(weights @ values)
    after = says(weights[order] @ values)
    return (before - after).abs().sum() / 2


@exercise(moved_by_solution)
def moved_by(mine):
    """By how much other weights move the next word."""
    for seed, (source, d, vocab) in enumerate(
        ((5, 4, 6), (3, 2, 9), (7, 3, 4))
    ):
        raw, values, out = random_inputs(
            seed, (source,), (source, d), (d, vocab)
        )
        weights = (2 * raw).softmax(-1)
        order = torch.arange(source).roll(1)

        complaints = []

        def says(context, out=out, complaints=complaints):
            if tuple(context.shape) != (out.shape[0],):
                complaints.append(
                    f"`says` wants one context vector, [d], and was given "
                    f"{list(context.shape)}: c = Σ_j α_j h_j."
                )
                return out[0].softmax(-1)
            return (2 * context @ out).softmax(-1)

        def told(w, v=values, says=says):
            context = sum(float(w[j]) * v[j] for j in range(len(w)))
            return float64(says(context))

        found = _heard(
            lambda given=(weights, values, says, order): as_number(
                mine(*given)
            ),
            complaints,
        )
        p, q = told(weights), told(weights[order])
        twice = told(weights.softmax(0)), told(weights.softmax(0)[order])
        context = float64(weights) @ float64(values)
        context = context - float64(weights[order]) @ float64(values)
        back = told(weights[order.argsort()])
        middle = (p + q) / 2

        def kl(a, b):
            return (a * (a / b).log()).sum()

        mistakes = {
            "That is twice the total variation: take half of the sum, so that "
            "1 is the most.": (p - q).abs().sum(),
            "Your answer is 0. Either differences of both signs cancel: abs() "
            "before sum(). Or nothing has moved, since weights and values were "
            "put in the same order, so that each word keeps its weight.": 0.0,
            "That is the largest change of a single word. Sum over all words, "
            "and take half.": (p - q).abs().max(),
            "That is half of the mean over the words. Sum over all of them, "
            "and take half of that.": (p - q).abs().mean() / 2,
            "That is half of the largest change of a single word. Sum over "
            "all words first.": (p - q).abs().max() / 2,
            "You squared the differences. Sum their sizes, abs(), and take "
            "half.": (p - q).square().sum() / 2,
            "You squared the differences: sum their sizes, and take half of "
            "that.": (p - q).square().sum(),
            "That is half of the Euclidean distance. Sum the sizes of the "
            "differences, abs(), and take half.": (p - q).norm() / 2,
            "That is the Euclidean distance. Sum the sizes, and take half.": (
                (p - q).norm()
            ),
            "That is a Kullback–Leibler divergence; asked is ½ Σ |p − q|.": kl(
                p, q
            ),
            "That is the Jensen–Shannon divergence; asked is ½ Σ |p − q|.": (
                kl(p, middle) + kl(q, middle)
            )
            / 2,
            "That is by how much the WEIGHTS differ. Ask `says` what each of "
            "them would write, and compare the answers.": (
                (weights - weights[order]).abs().sum() / 2
            ),
            "That is by how much the CONTEXTS differ. Ask `says` what each of "
            "them would write, and compare the answers.": (
                context.abs().sum() / 2
            ),
            "That is a Kullback–Leibler divergence, the other way round; asked "
            "is ½ Σ |p − q|.": kl(q, p),
            "The weights went through a softmax once more. They are shares "
            "already.": (twice[0] - twice[1]).abs().sum() / 2,
            "You took the order backwards, or put the VALUES in another order, "
            "which comes to the same. Place j keeps its value, and gets the "
            "weight of place order[j].": (p - back).abs().sum() / 2,
            "That is the mean over the words. Sum over them, and take half.": (
                (p - q).abs().mean()
            ),
        }
        expect(
            found,
            (p - q).abs().sum() / 2,
            mistakes,
            otherwise="This is no slip that the check knows. Two contexts, "
            "weights @ values and weights[order] @ values; what `says` makes "
            "of each; then half of the sum of the sizes of the differences.",
        )
    return "three looks, each with its weights in another order."
