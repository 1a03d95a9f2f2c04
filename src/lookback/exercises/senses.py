"""The exercises of `senses`: each check beside its reference solution.

What is right is counted one occurrence at a time, or told by a function that
remembers what it was given, never by the solution's formula.
"""

import torch

from lookback.exercises.by_hand import around, by_hand, stage
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


def _drawn_pairs(drawn):
    return {"first": drawn.randint(1, 4), "second": drawn.randint(1, 4)}


@by_hand(
    em_by_hand_solution,
    "three numbers t, and p",
    ["t(maison | house)", "t(rouge | house)", "t(maison | red)"],
    ["p(rouge from red)"],
    vary=(
        "The pair *red house, maison rouge* stands {first} times in the"
        " corpus, the pair *house, maison* {second} times.",
        _drawn_pairs,
    ),
)
def em_by_hand(first=1, second=1):
    """One round of IBM model 1, and the expectation of the next."""
    half, all_of = first / 2, first + second
    truth = [(half + second) / all_of, half / all_of, 0.5]
    wrongs = {
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
            around(2e-3),
        ),
        stage(
            [share],
            later,
            "The three t are right; p is no slip that the check knows. "
            "It is t(rouge | red) over t(rouge | red) + t(rouge | house).",
            around(2e-3),
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
        mistakes = {
            "That is the plain accuracy, in which the frequent sense has more "
            "to say; the two shares weighted by how many there are come to "
            "the same. Take their plain mean.": (r0 + r1) / (n0 + n1),
            "You divided by how often a sense is SAID. Of the occurrences "
            "that HAVE sense k, how many are right?": (r0 / m0 + r1 / m1) / 2,
            "That is the sum of the two shares; take half of it.": one + two,
            "That is the share right of sense 1 alone.": two,
            "That is the share right of sense 0 alone.": one,
            "You multiplied the two shares; take their mean.": one * two,
            "That is the share that is WRONG.": 1 - (one + two) / 2,
            "Give a share from 0 to 1, and no per cent.": 50 * (one + two),
            "That is the better of the two shares; take their mean.": max(
                one, two
            ),
            "That is the worse of the two shares; take their mean.": min(
                one, two
            ),
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


def _remembers(x, senses):
    """An `examine` whose number tells what it was given."""
    weigh = torch.arange(1, len(senses) + 1).double()

    def examine(x_seen, y_seen, x_new, y_new):
        if not len(x_seen) == len(y_seen) or not len(x_new) == len(y_new):
            raise Hint(
                "examine was given unequal numbers of vectors and of senses: "
                "cut x and senses at the same place."
            )
        if len(x_new) == 0 or len(x_seen) == 0:
            raise Hint("One part is empty: the first `many` are for fitting.")
        rows, ys = torch.cat([x_seen, x_new]), torch.cat([y_seen, y_new])
        told = (weigh[: len(rows)] * rows[:, 0].double()).sum()
        said = (weigh[: len(ys)].square() * ys.double()).sum()
        return float(told / 7 + said / 11 + len(x_seen) / 13)

    return examine


@exercise(shuffled_control_solution)
def shuffled_control(mine):
    """The control: every occurrence gets another one's sense, before all."""
    for seed, (size, many) in enumerate(((12, 8), (9, 5), (15, 12))):
        (x,) = random_inputs(seed, (size, 3))
        draw = torch.Generator().manual_seed(seed)
        senses = torch.randint(2, (size,), generator=draw)
        order = torch.randperm(size, generator=draw)
        examine = _remembers(x, senses)

        def given(rows, ys, first=many, examine=examine):
            return examine(rows[:first], ys[:first], rows[first:], ys[first:])

        y = senses[order]
        seen, new = senses[:many], senses[many:]
        inside = torch.cat(
            [seen[order[order < many]], new[order[order >= many] - many]]
        )
        found = as_number(
            mine(examine, x, senses, order, many), "the number of `examine`"
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

        def says(context, out=out):
            if tuple(context.shape) != (out.shape[0],):
                raise Hint(
                    f"`says` wants one context vector, [d], and was given "
                    f"{list(context.shape)}: c = Σ_j α_j h_j."
                )
            return (2 * context @ out).softmax(-1)

        def told(w, v=values, says=says):
            context = sum(float(w[j]) * v[j] for j in range(len(w)))
            return float64(says(context))

        found = as_number(mine(weights, values, says, order))
        p, q = told(weights), told(weights[order])
        back = told(weights[order.argsort()])
        middle = (p + q) / 2

        def kl(a, b):
            return (a * (a / b).log()).sum()

        mistakes = {
            "That is twice the total variation: take half of the sum, so that "
            "1 is the most.": (p - q).abs().sum(),
            "Nothing has moved: did you permute weights and values alike? "
            "Then each word keeps its weight.": 0.0,
            "That is the largest change of a single word. Sum over all words, "
            "and take half.": (p - q).abs().max(),
            "The changes of all words, with their signs, sum to 0. Take their "
            "sizes: abs() before sum().": (p - q).sum() / 2,
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
            "You took the order backwards: place j gets the weight of place "
            "order[j].": (p - back).abs().sum() / 2,
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
