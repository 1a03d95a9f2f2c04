"""The Transformer's exercises on label smoothing: solutions and checks.

What is right is summed up word by word with `math`, never from the solution.
"""

import math

import torch

from lookback.exercises.checking import exercise
from lookback.exercises.judging import (
    as_numbers,
    as_tensor,
    expect,
    random_inputs,
)


def smoothing_by_hand_solution():
    """−Σ_w q_w ln p_w with q = (0.9333, 0.0333, 0.0333), for two p."""
    q = [0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3]
    return [
        -sum(share * math.log(p) for share, p in zip(q, belief, strict=True))
        for belief in ((0.7, 0.2, 0.1), (0.9998, 0.0001, 0.0001))
    ]  # 0.463, 0.614


@exercise("transformer", smoothing_by_hand_solution, by_hand=True)
def smoothing_by_hand(answer):
    """The smoothed loss of two beliefs; the answer is both numbers."""
    found = as_numbers(answer, 2, "the two losses")
    beliefs = torch.tensor([[0.7, 0.2, 0.1], [0.9998, 0.0001, 0.0001]]).double()
    logs = beliefs.log()

    def lost(*q):
        return -(logs @ torch.tensor(q).double())

    third = 0.1 / 3
    mistakes = {
        "Those are the losses without smoothing, −ln p of the true word "
        "alone.": lost(1, 0, 0),
        "The 0.1 is shared among all three words, the true one included: it "
        "keeps 0.9 + 0.1/3.": lost(0.9, 0.05, 0.05),
        "The true word keeps 0.9 and its own share of the 0.1 as well: "
        "0.9333, so that the three sum to 1.": lost(0.9, third, third),
        "You gave each other word 0.1; all three share one 0.1.": (
            lost(0.9, 0.1, 0.1)
        ),
        "Those are logarithms to base 2; a nat is ln.": (
            lost(0.9 + third, third, third) / math.log(2)
        ),
        "Those are logarithms to base 10; take ln.": (
            lost(0.9 + third, third, third) / math.log(10)
        ),
        "The sign: ln of a probability is negative, and the loss is minus "
        "the sum.": -lost(0.9 + third, third, third),
        "You smoothed what the model believes; the true answer is smoothed, "
        "and the belief stays.": -(0.9 * beliefs[:, 0] + third).log(),
    }
    truth = torch.tensor([0.463290, 0.614214]).double()
    otherwise = (
        "Not yet right, and no slip that I know. The smoothed truth is "
        "(0.9333, 0.0333, 0.0333); the loss is −Σ q ln p."
    )
    expect(found, truth, mistakes, tolerance=0.006, otherwise=otherwise)
    return "0.46 and 0.61: to be surer than the smoothed truth costs."


def smoothed_loss_solution(logits, target, epsilon):
    """−Σ_w q_w ln p_w, q = (1 − ε) one-hot + ε / vocab."""
    logp = torch.log_softmax(logits, dim=-1)
    true = logp.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -(1 - epsilon) * true - epsilon * logp.mean(dim=-1)


def _smooth_loop(logits, target, epsilon, share=None):
    """The smoothed loss, word by word of the vocabulary."""
    losses = []
    for row, true in zip(logits.tolist(), target.tolist(), strict=True):
        total = sum(math.exp(x) for x in row)
        rest = epsilon / len(row) if share is None else share(len(row))
        q = [rest + (1 - epsilon) * (w == true) for w in range(len(row))]
        losses.append(
            -sum(
                p * math.log(math.exp(x) / total)
                for p, x in zip(q, row, strict=True)
            )
        )
    return torch.tensor(losses, dtype=torch.float64)


@exercise("transformer", smoothed_loss_solution)
def smoothed_loss(mine):
    """Cross-entropy with label smoothing, one loss for each row."""
    for seed, (batch, vocab, epsilon) in enumerate(
        ((4, 5, 0.1), (1, 3, 0.3), (2, 4, 0.0))
    ):
        (logits,) = random_inputs(seed, (batch, vocab))
        target = torch.arange(batch) % vocab
        known = {
            (): "You summed or averaged over the batch; give one loss a row.",
            (batch, vocab): "The sum over the vocabulary is missing.",
            (batch, 1): "One axis too many: squeeze(-1).",
        }
        found = as_tensor(
            mine(logits, target, epsilon), (batch,), "[batch]", known
        )
        truth = _smooth_loop(logits, target, epsilon)
        plain = _smooth_loop(logits, target, 0.0)
        each = logits.double().log_softmax(-1).sum(-1)
        mistakes = {
            "ε is not used: that is the plain cross-entropy.": plain,
            "The other words get ε / (vocab − 1) here; the paper's formula "
            "gives every word ε / vocab, the true one too.": (
                (1 - epsilon) * plain
                - epsilon * (each + plain) / max(1, vocab - 1)
            ),
            "You give every word the whole ε: divide it by vocab.": (
                (1 - epsilon) * plain - epsilon * each
            ),
            "1 − ε and ε are exchanged.": (
                epsilon * plain - (1 - epsilon) * each / vocab
            ),
            "The true word keeps weight 1 here; it keeps 1 − ε, so that all "
            "weights sum to 1.": plain - epsilon * each / vocab,
            "The sign is wrong: a loss is positive.": -truth,
            "You forgot softmax: these are logits, not logarithms of "
            "probabilities.": -(1 - epsilon)
            * logits.double()[torch.arange(batch), target]
            - epsilon * logits.double().mean(-1),
        }
        expect(found, truth, mistakes, f"for ε = {epsilon}:")
    return "three cases, ε = 0 among them, equal to the sum over all words."
