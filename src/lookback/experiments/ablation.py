"""What does the finished Transformer need? Take one part out, keep the rest.

On the ladder's bench, from the best Transformer of
records/tuned_baselines.json: its dropout, its rate, its epochs, and its runs
are those of the full model. Where a removal makes the training fail or
stumble, a second one at a quarter of the rate shows whether the part is needed
or the rate was too high; beside it stands the full model at that rate, which
`experiments.tuned_baselines` has tried. Without residual connections dropout
and the layers are on the only way through, so once it is trained with no
dropout and once with one layer. Without the norms one is left where a stack
ends: the logits are to begin at one scale. Without feed-forward layers the
model is trained a second time with more layers, so that it has as many
weights. Writes records/ablation.json.

    python -m lookback.experiments.ablation
    python -m lookback.experiments.ablation --only heads --seeds 3
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import mean

from torch import nn

from lookback.experiments.ladder import (
    asked,
    bench,
    described,
    fitted,
    runs_alone,
)
from lookback.experiments.tuned_baselines import chosen, recorded, rung_with
from lookback.lab import corpus
from lookback.lab.significance import compare_runs, cross_entropy, scores
from lookback.lab.training import Diverged
from lookback.ladder import draw
from lookback.transformer import Transformer

SLOW = {"slower": 4}  # so many times
# part: what is changed of the model, what of the training
REMOVALS = {
    "positions": ({"positions": "none"}, {}),
    "positions, learned": ({"positions": "learned"}, {}),
    "residual": ({"residual": False}, {}),
    "residual, slowly": ({"residual": False}, SLOW),
    "residual, no dropout": ({"residual": False, "dropout": 0.0}, {}),
    "residual, one layer": ({"residual": False, "layers": 1}, {}),
    "norm": ({"norm": "none"}, {}),
    "norm, slowly": ({"norm": "none"}, SLOW),
    "norm, behind": ({"norm": "post"}, {}),
    "norm, behind, slowly": ({"norm": "post"}, SLOW),
    "scale": ({"scaled": False}, {}),
    "scale, slowly": ({"scaled": False}, SLOW),
    "warmup": ({}, {"warmup": 0}),
    "warmup, slowly": ({}, {"warmup": 0} | SLOW),
    "feedforward": ({"d_ff": 0}, {}),
    "feedforward, 7 layers": ({"d_ff": 0, "layers": 7}, {}),
    "heads": ({"heads": 1}, {}),
    "depth": ({"layers": 1}, {}),
    "smoothing": ({}, {"smoothing": 0.0}),
    "dropout": ({"dropout": 0.0}, {}),
}


def without(
    name: str,
    make: Callable[[int, int], Transformer],
    source_vocab: int,
    target_vocab: int,
) -> Transformer:
    """The Transformer that `make` makes, without one part, untrained."""
    full = make(source_vocab, target_vocab).config
    model_changes, _ = REMOVALS[name]
    model = Transformer(replace(full, **model_changes))
    if model.config.norm == "none":
        model.after_encoder = nn.LayerNorm(full.d_model)
        model.after_decoder = nn.LayerNorm(full.d_model)
    return draw(model)


def run(name: str, seed: int, folder: Path) -> dict:
    """Train and test the Transformer without one part.

    Where it diverges before a round has ended there is nothing to test.
    """
    rung, settings = rung_with(
        "transformer", chosen("transformer")[0]["setting"]
    )
    changes = dict(REMOVALS[name][1])
    rate = settings.learning_rate / changes.pop("slower", 1)
    settings = replace(settings, learning_rate=rate, **changes, seed=seed)
    try:
        found = fitted(partial(without, name, rung.make), settings, folder)
    except Diverged:
        return {"training": asdict(settings), "diverged": True}
    tests = {split: asked(found, split) for split in corpus.TESTS}
    return described(settings, found) | {"tests": tests}


PARTS = {name: partial(run, name) for name in REMOVALS}


def survived(run: dict) -> bool:
    """Whether its weights were numbers to the last round.

    No run of the best Transformer's setting stops for want of patience.
    """
    return len(run.get("curve", [])) == run["training"]["epochs"]


def slowly() -> list[dict]:
    """The recorded run of the full model at the lower rate, if there is one."""
    setting = chosen("transformer")[0]["setting"]
    setting = setting | {"rate": setting["rate"] / SLOW["slower"]}
    return [
        run
        for part, run in recorded().items()
        if part.startswith("transformer") and run["setting"] == setting
    ]


def compared(
    runs: dict[str, list[dict]], name: str, split: str, kind: str
) -> dict:
    """A removal's scores, its change from the full model and, where it was
    trained at the lower rate, the BLEU of that model `beside` it and its
    change."""
    answer = scores(runs[name], split, kind)
    answer["change"] = compare_runs(runs, "full", name, split, kind)
    if "slow" in runs:
        answer["beside"] = {
            "bleu": scores(runs["slow"], split, kind)["bleu"],
            "change": compare_runs(runs, "slow", name, split, kind),
        }
    return answer


def summary(found: dict[str, list[dict]]) -> dict:
    """Every run; of each removal that could be trained to its end how it
    compares with the full model."""
    answer, full = runs_alone(found), {"full": chosen("transformer")}
    slow = {"slow": beside} if (beside := slowly()) else {}
    for name, runs in found.items():
        if not all(map(survived, runs)):
            continue
        both = full | {name: runs}
        if "slower" in REMOVALS[name][1]:
            both |= slow
        tests = {}
        for split in (*corpus.TESTS, "all"):
            greedy, beam = (
                compared(both, name, split, kind) for kind in ("greedy", "beam")
            )
            losses = mean(cross_entropy(run, split) for run in runs)
            tests[split] = greedy | {"beam": beam, "loss": losses}
        answer[name]["tests"] = tests
    return answer


def main(arguments: Sequence[str] | None = None) -> None:
    bench("ablation", __doc__, PARTS, summary, arguments)


if __name__ == "__main__":
    main()
