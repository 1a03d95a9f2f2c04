"""Who can hold one bit over T steps of noise, and who never learns to?

The task of Bengio, Simard and Frasconi 1994, with letters: the first letter
says which of two classes a string has, T − 1 random letters follow, and then
the class is asked. Every network gets the same budget of updates; a run ends
earlier when enough strings in a row were right. The size of the gradient, over
the distance that it goes back, is measured before training and after it, and
so is the forget gate. Last, a network whose gradient explodes is trained by
plain gradient descent with and without clipping. Two networks get twenty
seeds, where five do not decide. Writes records/latch.json. Needs no corpus.

    python -m lookback.experiments.latch
    python -m lookback.experiments.latch --seeds 20 \\
        --only LSTM-20 "LSTM, gate fixed-20"
    python -m lookback.experiments.latch --seeds 20 --record
"""

from collections.abc import Sequence
from math import inf
from statistics import median

import torch
from torch import nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.experiments.runs import campaign
from lookback.experiments.serial import biased

LETTERS, HIDDEN = 6, 32  # letters 0 and 1 are the classes
LENGTHS = (20, 40, 80, 160)
SEEDS = 5
UPDATES, BATCH, RATE = 1500, 32, 3e-3  # Adam
IN_A_ROW = 20  # updates without a mistake that end a run
TESTS = 1000
REACH = 80  # letters of the strings on which gradients are measured
WATCHED = 80  # the length whose networks' gradients are drawn
NETWORKS = (
    "tanh",
    "tanh, orthogonal",
    "GRU",
    "LSTM",
    "LSTM, gate fixed",
    "LSTM, forget bias +1",
    "LSTM, forget bias +3",
    "LSTM, no forget gate",
)
MANY = 20  # seeds of those that five do not decide
UNDECIDED = ("LSTM-20", "LSTM, gate fixed-20")
CLIPPED = {"unclipped": inf, "clipped": 1.0}  # longest step in the gradient
RATES = (0.1, 0.03, 0.01, 0.003)  # of the descent with and without clipping
STEEP, STEEP_RATE, STEEP_LENGTH = 2.0, 0.1, 40  # U's stretch; descent's rate


def without_forget_gate(lstm: nn.LSTM) -> nn.LSTM:
    """As in 1997: σ(100) is 1, and its slope is 0, so that f stays 1."""
    gate = slice(lstm.hidden_size, 2 * lstm.hidden_size)
    with torch.no_grad():
        for part in (lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_hh_l0):
            part[gate] = 0.0
        lstm.bias_ih_l0[gate] = 100.0
    return lstm


def fixed(lstm: nn.LSTM) -> nn.LSTM:
    """Its forget gate's numbers stay as drawn: no gradient reaches them."""
    gate = slice(lstm.hidden_size, 2 * lstm.hidden_size)

    def cut(gradient: torch.Tensor) -> torch.Tensor:
        gradient = gradient.clone()
        gradient[gate] = 0.0
        return gradient

    for part in lstm.parameters():
        part.register_hook(cut)
    return lstm


def orthogonal(rnn: nn.RNN, stretch: float = 1.0) -> nn.RNN:
    """Its U turns every vector and makes it `stretch` times as long."""
    nn.init.orthogonal_(rnn.weight_hh_l0, stretch)
    return rnn


def network(name: str) -> nn.Module:
    """A layer with torch's own random numbers but for what its name says."""
    kind = name.split()[0].strip(",")
    made = {"tanh": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}[kind]
    layer = made(LETTERS, HIDDEN, batch_first=True)
    if name.endswith("orthogonal"):
        return orthogonal(layer)
    if name.endswith("fixed"):
        return fixed(layer)
    if "bias" in name:
        return biased(layer, float(name[-1]))
    return (
        without_forget_gate(layer) if name.endswith("no forget gate") else layer
    )


class Latch(nn.Module):
    """A recurrent layer, and a number for each class after the last letter."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer
        self.answer = nn.Linear(HIDDEN, 2)

    def forward(self, letters: torch.Tensor) -> torch.Tensor:
        """Logits [batch, 2] for letters [batch, source, LETTERS]."""
        states, _ = self.layer(letters.to(self.answer.weight.device))
        return self.answer(states[:, -1])


def strings(count: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Strings, one number a letter, [count, length], and their classes."""
    classes = torch.randint(2, (count,))
    letters = torch.randint(2, LETTERS, (count, length))
    letters[:, 0] = classes
    return F.one_hot(letters, LETTERS).float(), classes


def reach(model: Latch, length: int) -> list[float]:
    """‖∂ (logit 1 − logit 0) / ∂ x_t‖, its median over strings, by distance.

    The first of the list is for the last letter, distance 0.
    """
    letters, _ = strings(100, length)
    letters = letters.double().requires_grad_()
    logits = model.double()(letters)
    model.float()
    lean = (logits[:, 1] - logits[:, 0]).sum()
    (gradient,) = torch.autograd.grad(lean, letters)
    return gradient.norm(dim=-1).median(0).values.flip(0).tolist()


@torch.no_grad()
def gate(model: Latch, length: int) -> float | None:
    """The forget gate's mean over letters, strings and numbers of the state.

    None for a network that has none.
    """
    layer = model.layer
    if not isinstance(layer, nn.LSTM):
        return None
    letters = strings(100, length)[0].to(layer.bias_ih_l0.device)
    states, _ = layer(letters)
    before = F.pad(states, (0, 0, 1, 0))[:, :-1]  # h_{t−1}
    part = slice(HIDDEN, 2 * HIDDEN)
    f = torch.sigmoid(
        F.linear(letters, layer.weight_ih_l0[part], layer.bias_ih_l0[part])
        + F.linear(before, layer.weight_hh_l0[part], layer.bias_hh_l0[part])
    )
    return float(f.mean())


def teach(
    model: Latch,
    length: int,
    optimizer: torch.optim.Optimizer,
    limit: float,
    show: bool = False,
) -> dict:
    """Train until IN_A_ROW updates were right, UPDATES at most.

    `updates` is None for a run that did not come to its end before that. A
    gradient longer than `limit` is shortened to it. `show` shows progress.
    """
    sizes, losses, right = [], [], 0
    bar = tqdm(total=UPDATES, unit="update", leave=False, disable=not show)
    while len(sizes) < UPDATES and right < IN_A_ROW:
        letters, classes = strings(BATCH, length)
        logits = model(letters)
        classes = classes.to(logits.device)
        loss = F.cross_entropy(logits, classes)
        optimizer.zero_grad()
        loss.backward()
        size = nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        sizes.append(size.item())
        losses.append(loss.item())
        every = bool((logits.argmax(-1) == classes).all())
        right = right + 1 if every else 0
        bar.update()
        bar.set_postfix(loss=f"{losses[-1]:.2f}", refresh=False)
    bar.close()
    with torch.no_grad():
        letters, classes = strings(TESTS, length)
        hits = model(letters).argmax(-1).cpu() == classes
    return {
        "updates": len(sizes) if right == IN_A_ROW else None,
        "accuracy": float(hits.float().mean()),
        "largest": max(sizes),
        "long": sum(size > 1 for size in sizes) / len(sizes),
        "worst": max(losses),
    }


def latch(name: str, length: int, seed: int) -> dict:
    """One network, one length; for its gradient's figure, before and after."""
    torch.manual_seed(seed)
    model = Latch(network(name))
    before = {"reach": reach(model, REACH), "gate": gate(model, length)}
    adam = torch.optim.Adam(model.parameters(), RATE)
    found = teach(model, length, adam, inf)
    after = {"reach": reach(model, REACH), "gate": gate(model, length)}
    return found | {"before": before, "after": after}


def explode(limit: float, rate: float, seed: int) -> dict:
    """A tanh network whose U stretches, by plain gradient descent."""
    torch.manual_seed(seed)
    layer = nn.RNN(LETTERS, HIDDEN, batch_first=True)
    model = Latch(orthogonal(layer, STEEP))
    descent = torch.optim.SGD(model.parameters(), rate)
    return teach(model, STEEP_LENGTH, descent, limit)


def parts() -> dict:
    """What is trained, by the names of its folders."""
    made = {
        f"{name}-{length}": lambda seed, _, name=name, length=length: latch(
            name, length, seed
        )
        for name in NETWORKS
        for length in LENGTHS
    }
    for name, limit in CLIPPED.items():
        for rate in RATES:
            made[f"{name}, {rate}"] = lambda seed, _, limit=limit, rate=rate: (
                explode(limit, rate, seed)
            )
    return made


def over_seeds(runs: list[dict]) -> dict:
    """How many latched, and after how many updates; figures in the middle."""
    needed = [run["updates"] for run in runs]
    done = [n for n in needed if n is not None]
    return {
        "latched": len(done),
        "updates": needed,
        "median": median(done) if done else None,
        "accuracy": [run["accuracy"] for run in runs],
        "largest": median(run["largest"] for run in runs),
        "long": median(run["long"] for run in runs),
    }


def curve(runs: list[dict], when: str) -> list[float]:
    """The gradient's size by distance, its median over the seeds."""
    sizes = zip(*(run[when]["reach"] for run in runs), strict=True)
    return [float(f"{median(each):.3g}") for each in sizes]


def middle(runs: list[dict], length: int, when: str) -> dict:
    """Medians over the seeds of what was measured before or after training.

    `first` is the gradient of the first letter, or of the REACHth from the
    end where that is nearer.
    """
    gates = [run[when]["gate"] for run in runs]
    back = min(length, REACH) - 1
    each = [float(f"{run[when]['reach'][back]:.3g}") for run in runs]
    return {
        "first": median(each),
        "each": each,
        "gate": None if None in gates else median(gates),
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """How many latched, what became of the gradients, and the clipping."""
    results: dict[str, dict] = {"latch": {}, "reach": {}}
    for name in NETWORKS:
        runs = {n: found[f"{name}-{n}"][:SEEDS] for n in LENGTHS}
        results["latch"][name] = {
            str(n): over_seeds(each)
            | {when: middle(each, n, when) for when in ("before", "after")}
            for n, each in runs.items()
        }
        results["reach"][name] = {
            when: curve(runs[WATCHED], when) for when in ("before", "after")
        }
    results["clipping"] = {
        name: {str(r): over_seeds(found[f"{name}, {r}"][:SEEDS]) for r in RATES}
        for name in CLIPPED
    }
    results["undecided"] = {
        name: over_seeds(found[name])
        | {"gates": [run["after"]["gate"] for run in found[name]]}
        for name in UNDECIDED
    }
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "latch",
        __doc__,
        parts(),
        summary,
        config={
            "letters": LETTERS,
            "hidden": HIDDEN,
            "lengths": list(LENGTHS),
            "updates": UPDATES,
            "batch": BATCH,
            "learning_rate": RATE,
            "in_a_row": IN_A_ROW,
            "tests": TESTS,
            "reach": REACH,
            "stretch": STEEP,
            "descent_rate": STEEP_RATE,
            "descent_length": STEEP_LENGTH,
        },
        seeds=SEEDS,
        device=torch.device("cpu"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
