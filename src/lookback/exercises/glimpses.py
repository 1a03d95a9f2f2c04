"""The exercises of `glimpses`: each check beside its reference solution.

What is right is found by loops over places or samples, never by the solution's
formula.
"""

import itertools

import torch
from torch.nn import functional as F

from lookback.exercises.by_hand import around, by_hand, stage
from lookback.exercises.checking import (
    BACKWARD,
    Hint,
    as_number,
    exercise,
    float64,
    gradients,
    random_inputs,
)


def policy_gradient_by_hand_solution():
    """E[R] = ¾; then p_i (R_i − E[R])."""
    return [0.75, 0.125, -0.1875, 0.0625]


def _other_rewards(draw):
    """The probabilities in another order, and other rewards."""
    return {
        "p": tuple(draw.sample((0.5, 0.25, 0.25), 3)),
        "rewards": draw.choice(((1, 0, 1), (0, 1, 0), (1, 1, 0), (0, 1, 1))),
    }


@by_hand(
    policy_gradient_by_hand_solution,
    "the expected reward and its gradient",
    ["expected reward"],
    ["logit 1", "logit 2", "logit 3"],
    known={
        1: "First the expected reward, and then its gradient: four numbers.",
        3: "Three of four: the expected reward, and then the gradient.",
    },
    vary=("probabilities {p}, rewards {rewards}", _other_rewards),
)
def policy_gradient_by_hand(p=(0.5, 0.25, 0.25), rewards=(1, 0, 1)):
    """The expected reward of a policy, and its gradient."""
    p, r = float64(p), float64(rewards)
    mean = float(p @ r)
    mistakes = {
        "That is the mean of the three rewards. Weigh each with its "
        "probability.": float(r.mean()),
        "That is the sum of the rewards. Weigh each with its probability.": (
            float(r.sum())
        ),
        "That is the expected loss, 1 − E[R].": 1 - mean,
    }
    otherwise = (
        "The check does not recognize this mistake. Probability times reward, "
        "three times, and add up."
    )
    expected = stage([mean], mistakes, otherwise, around(0.004), share=True)
    truth = [
        sum(float(p[j] * r[j]) * ((i == j) - float(p[i])) for j in range(3))
        for i in range(3)
    ]
    mistakes = {
        "You left out the second term: ∇ log p of a place is 1 there MINUS "
        "the probabilities, at all three.": p * r,
        "The sign is wrong: that is the gradient of what should shrink.": [
            -x for x in truth
        ],
        "That is the reward minus its expected value. How often a place is "
        "sampled counts too: times p.": r - mean,
        "You did not weigh ∇ log p with how often the place is sampled.": [
            sum(float(r[j]) * ((i == j) - float(p[i])) for j in range(3))
            for i in range(3)
        ],
        "That is the derivative with respect to the probabilities. The "
        "logits are asked for.": r,
        "Half of it: a probability is the softmax of ALL logits, so that a "
        "logit also lowers the other places.": p * r * (1 - p),
    }
    otherwise = (
        "The expected reward is right; the check does not recognize the "
        "mistake in the gradient. Each logit gets p (R − E[R])."
    )
    said = ", ".join(f"{x:.4f}" for x in truth)
    return (
        f"{mean:.2f}, and ({said}), which sums to 0.",
        expected,
        stage(truth, mistakes, otherwise, around(0.003), at=1),
    )


def expected_reward_solution(first, second, reward):
    """Σ_i p(i) Σ_{j≠i} p(j | i) R_ij."""
    same = torch.eye(len(first), dtype=torch.bool)
    then = second.masked_fill(same, -torch.inf).softmax(-1)
    return (first.softmax(-1)[:, None] * then * reward).sum()


def _way_by_way(first, second, reward):
    """The sum over ordered pairs, one after the other."""
    total = 0.0
    for i, j in itertools.permutations(range(len(first)), 2):
        others = [second[i, k].exp() for k in range(len(first)) if k != i]
        p = first[i].exp() / first.exp().sum()
        total = total + p * second[i, j].exp() / sum(others) * reward[i, j]
    return total


@exercise(expected_reward_solution)
def expected_reward(mine):
    """The reward of all ways to take two glimpses."""
    cases = []
    for seed, places in enumerate((4, 2, 6)):
        shapes = (places,), (places, places), (places, places)
        given = random_inputs(seed, *shapes)
        cases.append((given, _way_by_way(*map(float64, given))))
    expected_reward.compare(
        mine, cases, "[], one number", "with {0.shape[0]} places,"
    )
    return "all ordered pairs of 4, 2 and 6 places."


_FILLED = ".masked_fill(same, -torch.inf)"
for _hint, *_typed in (
    (
        "Yours looks at the same place twice. Take place i out of row i: "
        "its logit becomes −∞.",
        *(_FILLED, ""),
    ),
    (
        "You set the probability of place i to 0 after the softmax, so the "
        "others no longer sum to 1. Take it out before: logit −∞.",
        *(f"{_FILLED}.softmax(-1)", ".softmax(-1).masked_fill(same, 0)"),
    ),
    (
        "A logit of 0 is not “never”: e^0 is 1. It takes −∞.",
        *("-torch.inf", "0"),
    ),
    (
        "The second softmax runs over the first place. Row i has the logits "
        "after place i: the last axis.",
        *(f"{_FILLED}.softmax(-1)", f"{_FILLED}.softmax(0)"),
    ),
    (
        "You weighed with the logits of the first place; they go through a "
        "softmax first.",
        *("first.softmax(-1)[", "first["),
    ),
    (
        "The probabilities of the first place stand along the wrong axis: "
        "row i belongs to the first place i.",
        *("[:, None]", "[None]"),
    ),
    (
        "You took the mean over all pairs. The probabilities weigh them "
        "already: add up.",
        *(".sum()", ".mean()"),
    ),
    (
        "The first place does not count in yours. Weigh row i with its "
        "probability.",
        *("first.softmax(-1)[:, None] * ", ""),
    ),
    (
        "Those are log-probabilities. Rewards are weighed with probabilities.",
        *("then * reward", "then.log().masked_fill(same, 0) * reward"),
    ),
    (
        "One number for every first place; add them up.",
        *(".sum()", ".sum(-1)"),
    ),
    (
        "One number for every pair; add them up.",
        *(".sum()", ""),
    ),
    (
        "The rewards are missing. The probabilities alone sum to 1.",
        *(" * reward", ""),
    ),
):
    expected_reward.slip(_hint, *_typed)


expected_reward.style(_way_by_way)
expected_reward.style(lambda *given: _way_by_way(*given).item())


@expected_reward.style
def _by_einsum(first, second, reward):
    never = torch.full((len(first),), -torch.inf).diag_embed()
    p, then = first.softmax(0), (second + never).softmax(1)
    return torch.einsum("i,ij,ij->", p, then, reward)


def reinforce_loss_solution(logits, chosen, reward):
    """−mean (R_b − mean of the others' R) log p(chosen_b)."""
    log_p = logits.log_softmax(-1)[torch.arange(len(chosen)), chosen]
    others = (reward.sum() - reward) / (len(reward) - 1)
    return -((reward - others) * log_p).mean()


def _gradients(logits, chosen, factors):
    """−mean of factors (one-hot − p): the gradient, sample by sample."""
    found = torch.zeros_like(logits)
    for b, place in enumerate(chosen.tolist()):
        p = logits[b].exp() / logits[b].exp().sum()
        one = F.one_hot(torch.tensor(place), len(p))
        found[b] = -factors[b] * (one - p) / len(chosen)
    return found


_EACH = "That is a loss for each picture; give back their mean."
_CANCELS = (
    "Your loss has the gradient 0, mostly because a reward meets all samples, "
    "or all places. Both factors must be [batch]: after gather take [:, 0]; "
    'cross_entropy needs reduction="none".'
)
_UNTIED = (
    "Your loss does not depend on the logits: the log-probability of what was "
    "sampled must be in it, with no detach() or item()."
)


def _gradient(answer, *given):
    """The gradient that a loss leaves at the logits."""
    loss = answer(*given)
    if not isinstance(loss, torch.Tensor):
        raise Hint(
            f"Give back a loss, a tensor; yours is {type(loss).__name__}."
        )
    if loss.numel() == len(given[1]):
        raise Hint(_EACH)
    as_number(loss.detach(), "one number, the loss")
    logits, found = answer.handed[0], None
    if loss.requires_grad:
        (found,) = gradients(loss, logits)
    if found is None:
        raise Hint(_UNTIED)
    return found


@exercise(reinforce_loss_solution)
def reinforce_loss(mine):
    """A loss whose gradient is the estimate of REINFORCE."""
    cases = []
    for seed, (batch, places) in enumerate(((4, 5), (3, 2), (6, 25))):
        logits, draws, good = random_inputs(
            seed, (batch, places), (batch, places), (batch,)
        )
        chosen = draws.argmax(1)
        reward = (good > 0).to(logits)
        reward[0], reward[-1] = 1.0, 0.0
        r = float64(reward)
        others = torch.stack(
            [torch.cat([r[:b], r[b + 1 :]]).mean() for b in range(batch)]
        )
        truth = _gradients(float64(logits), chosen, r - others)
        cases.append(((logits.requires_grad_(), chosen, reward), truth))
    reinforce_loss.compare(
        mine,
        cases,
        "[batch, places]",
        "with {0.shape[0]} samples of {0.shape[1]} places,",
        ask=_gradient,
    )
    return "three batches, by the gradient that the loss leaves."


_DRAWN = "[torch.arange(len(chosen)), chosen]"
_LOSS = "-((reward - others) * log_p).mean()"
for _hint, *_typed in (
    (
        "You took the logit of what was sampled. It is its log-probability "
        "that counts: log_softmax first.",
        *(".log_softmax(-1)", ""),
    ),
    (
        "Your log_softmax runs over the batch. Each picture has its own "
        "distribution, over the places: the last axis.",
        *("log_softmax(-1)", "log_softmax(0)"),
    ),
    (_CANCELS, _DRAWN, ".gather(1, chosen[:, None])"),
    (
        _CANCELS,
        *("return -", "log_p = -F.cross_entropy(logits, chosen)\n    return -"),
    ),
    (_CANCELS, _LOSS, "-(reward[:, None] * logits.softmax(-1)).sum(1).mean()"),
    (
        "log_p[:, chosen] gives every picture the samples of all others. Pair "
        "them: log_p[torch.arange(batch), chosen].",
        *(_DRAWN, "[:, chosen]"),
    ),
    (
        "All places are praised in yours; only the one that was sampled "
        "should be.",
        *(_DRAWN, "", "(reward - others)", "(reward - others)[:, None]"),
    ),
    (
        "The sign: training goes downhill, so the loss is minus what "
        "should grow.",
        *("return -", "return "),
    ),
    (
        "There is no log in yours: it is ∇ log p that is weighted, which is "
        "∇p / p. Without it what is sampled often counts twice.",
        *("log_softmax", "softmax"),
    ),
    (
        "No log, and the sign is wrong.",
        *("log_softmax", "softmax", "return -", "return "),
    ),
    (
        "The baseline is missing: subtract from each reward the mean of the "
        "others'.",
        *(" - others", ""),
    ),
    (
        "The baseline is missing, and the sign is wrong.",
        *(" - others", "", "return -", "return "),
    ),
    (
        "Your baseline holds the picture's own reward: the mean of ALL. That "
        "makes the estimate too short, by (n − 1)/n. Take the mean of the "
        "others.",
        *("- others", "- reward.mean()"),
    ),
    (
        "The baseline is the mean of the others: divide by n − 1, not by n.",
        *("(len(reward) - 1)", "len(reward)"),
    ),
    (
        "You added the baseline; subtract it.",
        *("reward - others", "reward + others"),
    ),
    ("You took the sum over the batch; take the mean.", "mean()", "sum()"),
    (
        "You divided the rewards by their spread as well. That changes the "
        "length of the estimate.",
        *("(reward - others)", "(reward - others) / reward.std()"),
    ),
    (
        "The rewards are brought to mean 0 and spread 1 in yours. Subtract "
        "the mean of the others, and nothing more.",
        *("(reward - others)", "(reward - reward.mean()) / reward.std()"),
    ),
    (
        "That is the cross-entropy with what was sampled: all samples are "
        "praised alike, whatever the reward.",
        *("(reward - others) * ", ""),
    ),
    (_EACH, ".mean()", ""),
    (
        BACKWARD,
        f"return {_LOSS}",
        f"loss = {_LOSS}\n    loss.backward()\n    return loss",
    ),
    (_UNTIED, " * log_p", ""),
    (_UNTIED, "logits.", "logits.detach()."),
    (_UNTIED, "logits.", "logits.detach().requires_grad_()."),
    (
        "Give back a loss, a tensor; yours is float.",
        *(".mean()", ".mean().item()"),
    ),
):
    reinforce_loss.slip(_hint, *_typed)


@reinforce_loss.style
def _by_distribution(logits, chosen, reward):
    drawn = torch.distributions.Categorical(logits=logits)
    total = 0.0
    for b, r in enumerate(reward):
        rest = torch.cat([reward[:b], reward[b + 1 :]])
        total = total - (r - rest.mean()) * drawn.log_prob(chosen)[b]
    return total / len(reward)


@reinforce_loss.style
def _by_cross_entropy(logits, chosen, reward):
    each = F.cross_entropy(logits, chosen, reduction="none")
    n = len(reward)
    return ((reward - reward.mean()) * n / (n - 1) * each).mean()
