"""What does depth need? Three measurements on stacks of encoder layers.

How alike the tokens become on the way up, before any training, with and
without the parts that stand around attention (after Dong et al. 2021). How
large the gradients of each layer are at the first step, post-norm against
pre-norm (after Xiong et al. 2020). And whether a stack learns to reverse
strings of ten letters, by the number of its layers and, for four layers, by
the learning rate with and without warm-up. Writes records/depth.json. Needs
no corpus.

    python -m lookback.experiments.depth
"""

from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

from lookback.experiments.runs import campaign
from lookback.layers import Embedding, EncoderLayer, LayerConfig, xavier
from lookback.residual import token_spread

LETTERS, LENGTH = 16, 10
D, HEADS, D_FF = 32, 4, 64
LAYERS = 24  # of the stacks whose tokens are compared
SEEDS = tuple(range(10))
GRADIENT_SEEDS = SEEDS[:5]
GRADIENT_DEPTHS = (3, 6, 12, 24)
TRAINING_SEEDS = 3
DEPTHS = (2, 4, 8)
STEPS, BATCH, TESTS = 400, 32, 500
RATE, WARMUP = 3e-3, 100  # Adam's learning rate, and its steps of warm-up
RATES = (3e-3, 1e-2, 3e-2)  # for stacks of RATED layers
RATED = 4
# name: norm, residual, feed-forward
PARTS = {
    "attention": ("none", False, False),
    "feedforward": ("none", False, True),
    "residual": ("none", True, False),
    "both": ("none", True, True),
    "norm": ("post", False, True),
    "post": ("post", True, True),
    "pre": ("pre", True, True),
}
TRAINED = {  # the part, and whether the learning rate is warmed up
    "none": ("feedforward", False),
    "norm": ("norm", False),
    "residual": ("both", False),
    "post": ("post", False),
    "post, warm-up": ("post", True),
    "pre": ("pre", False),
    "pre, warm-up": ("pre", True),
}
BY_DEPTH = [kind for kind in TRAINED if kind != "pre, warm-up"]
BY_RATE = [kind for kind in TRAINED if kind.startswith("p")]


class Stack(nn.Module):
    """Encoder layers between an embedding and a letter at every position."""

    def __init__(self, part: str, layers: int):
        super().__init__()
        norm, residual, feedforward = PARTS[part]
        d_ff = D_FF if feedforward else 0
        self.embedding = Embedding(LETTERS + 1, D)
        config = LayerConfig(
            d_model=D,
            heads=HEADS,
            d_ff=d_ff,
            dropout=0.0,
            norm=norm,
            residual=residual,
        )
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        self.last = nn.LayerNorm(D) if norm == "pre" else nn.Identity()
        self.output = nn.Linear(D, LETTERS + 1)
        xavier(self.layers)

    def forward(self, letters, keep=None):
        """Logits; `keep` is called with x at every level of the stack."""
        x = self.embedding(letters)
        for layer in self.layers:
            if keep:
                keep(x)
            x = layer(x)
        if keep:
            keep(x)
        return self.output(self.last(x))


def strings(count: int) -> torch.Tensor:
    """Random strings; 0 is the padding, so letters begin at 1."""
    return torch.randint(1, LETTERS + 1, (count, LENGTH))


def loss(model: Stack, letters: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in nats of the string written backwards."""
    return F.cross_entropy(
        model(letters).flatten(0, 1), letters.flip(1).flatten()
    )


def collapse(part: str) -> dict:
    """‖X − 1 x̄ᵀ‖ / ‖X‖ and ‖X‖ at every level, over the seeds, in float64."""
    distances, sizes = [], []
    for seed in SEEDS:
        torch.manual_seed(seed)
        model, levels = Stack(part, LAYERS).double(), []
        with torch.no_grad():
            model(strings(16), levels.append)
        distances.append([float(token_spread(x).mean()) for x in levels])
        rms = [float(x.square().mean().sqrt()) for x in levels]
        sizes.append(rms)
    rows = torch.tensor(distances, dtype=torch.float64)
    return {
        "median": rows.median(0).values.tolist(),
        "low": rows.min(0).values.tolist(),
        "high": rows.max(0).values.tolist(),
        "size": torch.tensor(sizes).median(0).values.tolist(),
    }


def gradients(part: str, layers: int) -> dict:
    """Norms of ∂ loss / ∂ W of each layer at the first step, in float64."""
    found: dict[str, list] = {"W_Q": [], "W_V": [], "W_2": []}
    for seed in GRADIENT_SEEDS:
        torch.manual_seed(seed)
        model = Stack(part, layers).double()
        loss(model, strings(64)).backward()
        for name in found:
            modules = [
                layer.feedforward if name == "W_2" else layer.attention
                for layer in model.layers
            ]
            found[name].append(
                [float(getattr(m, name).weight.grad.norm()) for m in modules]
            )
    rows = {
        name: torch.tensor(each, dtype=torch.float64)
        for name, each in found.items()
    }
    return {
        name: {
            "median": each.median(0).values.tolist(),
            "low": each.min(0).values.tolist(),
            "high": each.max(0).values.tolist(),
        }
        for name, each in rows.items()
    }


def train(kind: str, layers: int, rate: float, seed: int) -> dict:
    """Accuracy after STEPS updates, and the loss after every 20."""
    part, warm = TRAINED[kind]
    torch.manual_seed(seed)
    model = Stack(part, layers)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    curve, recent = [], []
    for step in range(1, STEPS + 1):
        for group in adam.param_groups:
            group["lr"] = rate * (min(1, step / WARMUP) if warm else 1)
        total = loss(model, strings(BATCH))
        adam.zero_grad()
        total.backward()
        adam.step()
        recent.append(total.item())
        if step % 20 == 0:
            curve.append(round(sum(recent) / len(recent), 4))
            recent = []
    with torch.no_grad():
        letters = strings(TESTS)
        right = model(letters).argmax(-1) == letters.flip(1)
    return {"accuracy": float(right.float().mean()), "curve": curve}


def parts() -> dict[str, tuple]:
    """What is trained, by the names of its folders: part, layers, rate."""
    plan = [(kind, n, RATE) for n in DEPTHS for kind in BY_DEPTH]
    plan += [(kind, RATED, rate) for rate in RATES for kind in BY_RATE]
    return {f"{kind}-{n}-{rate}": (kind, n, rate) for kind, n, rate in plan}


def over_seeds(runs: list[dict]) -> dict:
    """The accuracies, and the mean curve."""
    found = [run["accuracy"] for run in runs]
    curves = zip(*(run["curve"] for run in runs), strict=True)
    return {
        "mean": sum(found) / len(found),
        "low": min(found),
        "high": max(found),
        "accuracy": found,
        "curve": [sum(each) / len(each) for each in curves],
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """All three measurements; those without training are made here."""
    trained = {name: over_seeds(runs) for name, runs in found.items()}
    return {
        "collapse": {part: collapse(part) for part in PARTS},
        "gradients": {
            part: {str(n): gradients(part, n) for n in GRADIENT_DEPTHS}
            for part in ("feedforward", "norm", "both", "post", "pre")
        },
        "by_depth": {
            kind: {str(n): trained[f"{kind}-{n}-{RATE}"] for n in DEPTHS}
            for kind in BY_DEPTH
        },
        "by_rate": {
            kind: {str(r): trained[f"{kind}-{RATED}-{r}"] for r in RATES}
            for kind in BY_RATE
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    torch.set_num_threads(1)
    campaign(
        "depth",
        __doc__,
        {
            name: lambda seed, folder, given=given: train(*given, seed)
            for name, given in parts().items()
        },
        summary,
        config={
            "layers": LAYERS,
            "d_model": D,
            "heads": HEADS,
            "d_ff": D_FF,
            "letters": LETTERS,
            "length": LENGTH,
            "steps": STEPS,
            "batch": BATCH,
            "learning_rate": RATE,
            "rated_layers": RATED,
            "warmup": WARMUP,
        },
        seeds=TRAINING_SEEDS,
        device=torch.device("cpu"),
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
