"""What does depth need? Three measurements on stacks of encoder layers.

How alike the tokens become on the way up, before any training, with and
without the parts that stand around attention (after Dong et al. 2021). How
large the gradients of each layer are at the first step, post-norm against
pre-norm (after Xiong et al. 2020). And whether a stack learns to reverse
strings of ten letters, by the number of its layers and, for four layers, by
the learning rate with and without warm-up. Writes records/depth.json. Needs
no corpus; finished runs are kept under runs/.

    python -m lookback.experiments.depth
"""

import time

import torch
from torch import nn
from torch.nn import functional as F
from tqdm.auto import tqdm

from lookback.experiments.runs import RUNS, once
from lookback.lab import records
from lookback.layers import Embedding, EncoderLayer
from lookback.residual import apart
from lookback.transformer import TransformerConfig

LETTERS, LENGTH = 16, 10
LAYERS = 24  # of the stacks whose tokens are compared
SEEDS = tuple(range(10))
GRADIENT_SEEDS = SEEDS[:5]
GRADIENT_DEPTHS = (3, 6, 12, 24)
TRAINING_SEEDS = SEEDS[:3]
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


class Stack(nn.Module):
    """Encoder layers between an embedding and a letter at every position."""

    def __init__(self, part: str, layers: int):
        super().__init__()
        norm, residual, feedforward = PARTS[part]
        config = TransformerConfig(
            LETTERS + 1,
            LETTERS + 1,
            d_model=32,
            heads=4,
            layers=layers,
            d_ff=64 if feedforward else 0,
            dropout=0.0,
            norm=norm,
            residual=residual,
        )
        self.embedding = Embedding(config, LETTERS + 1)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        pre = norm == "pre"
        self.last = nn.LayerNorm(32) if pre else nn.Identity()
        self.output = nn.Linear(32, LETTERS + 1)
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, letters, keep=None):
        """Logits; `keep` is called with x at every level of the stack."""
        x = self.embedding(letters)
        for layer in self.layers:
            if keep:
                keep(x)
            x, _ = layer(x)
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
        distances.append([float(apart(x).mean()) for x in levels])
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


def trained(kind: str, layers: int, rate: float) -> dict:
    """The accuracies and the mean curve over the seeds; kept when done."""
    runs = []
    for seed in TRAINING_SEEDS:
        folder = RUNS / "depth" / f"{kind}-{layers}-{rate}-{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        given = (kind, layers, rate, seed)
        runs.append(once(folder, lambda given=given: train(*given)))
    found = [run["accuracy"] for run in runs]
    curves = zip(*(run["curve"] for run in runs), strict=True)
    return {
        "mean": sum(found) / len(found),
        "low": min(found),
        "high": max(found),
        "accuracy": found,
        "curve": [sum(each) / len(each) for each in curves],
    }


def main() -> None:
    torch.set_num_threads(1)
    started = time.perf_counter()
    by_depth = {kind: {} for kind in TRAINED if kind != "pre, warm-up"}
    by_rate = {kind: {} for kind in TRAINED if kind.startswith("p")}
    plan = [(kind, n, RATE) for n in DEPTHS for kind in by_depth]
    plan += [(kind, RATED, rate) for rate in RATES for kind in by_rate]
    for kind, layers, rate in tqdm(plan, desc="training", mininterval=5):
        result = trained(kind, layers, rate)
        if rate == RATE and kind in by_depth:
            by_depth[kind][str(layers)] = result
        if layers == RATED and kind in by_rate:
            by_rate[kind][str(rate)] = result
    records.save(
        "depth",
        config={
            "layers": LAYERS,
            "d_model": 32,
            "heads": 4,
            "d_ff": 64,
            "letters": LETTERS,
            "length": LENGTH,
            "steps": STEPS,
            "batch": BATCH,
            "learning_rate": RATE,
            "rated_layers": RATED,
            "warmup": WARMUP,
        },
        seeds=list(SEEDS),
        data={},
        device=torch.device("cpu"),
        wall_seconds=time.perf_counter() - started,
        results={
            "collapse": {part: collapse(part) for part in PARTS},
            "gradients": {
                part: {str(n): gradients(part, n) for n in GRADIENT_DEPTHS}
                for part in ("feedforward", "norm", "both", "post", "pre")
            },
            "by_depth": by_depth,
            "by_rate": by_rate,
        },
    )


if __name__ == "__main__":
    main()
