"""What does each part of the trained Transformer cost when it is switched off?

The pages' Transformer, its weights in a byte each, translates all captions of
the validation set greedily: as it is, with each single part of
`opened.switches` off, and with each of `opened.PRESETS`. What changes is given
in BLEU, with the interval of the paired bootstrap over captions, and in
captions that come out different. The model was trained with all its parts, so
this is not the ladder's question, what a model trained without one would lose.
Writes records/switches.json.

    python -m lookback.experiments.switches
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from lookback import opened
from lookback.experiments.pruning import gain
from lookback.experiments.runs import campaign
from lookback.lab import corpus, int8, metrics, significance, weights
from lookback.lab.decoding import translate
from lookback.transformer import Transformer

NAME = "tuned-en-fr"
SPLIT = "val"


def groups() -> dict[str, list[str]]:
    """The names that one part of the campaign measures: presets, or a layer."""
    model, _, _ = weights.load(NAME, Transformer)
    names = opened.switches(model)
    found = {"presets": list(opened.PRESETS)}
    for side in ("encoder", "decoder"):
        for layer in range(model.config.layers):
            start = f"{side}.{layer}."
            found[start[:-1]] = [n for n in names if n.startswith(start)]
    known = {name for each in found.values() for name in each}
    found["rest"] = [name for name in names if name not in known]
    return found


def run(names: list[str], seed: int, folder: Path) -> dict:
    """Each of these off, against the model as it is."""
    model, pieces, _ = weights.load(NAME, Transformer)
    int8.rounded(model)
    pairs = corpus.load(SPLIT)

    def said(off: list[str]) -> list[list[str]]:
        with opened.switched(model, off):
            found = translate(model, [p.source for p in pairs], pieces, pieces)
        return [words for words, _ in found]

    def rows(translations: list[list[str]]):
        counted = metrics.counts(translations, [p.target for p in pairs])
        return significance.caption_rows(
            ",".join(" ".join(map(str, row)) for row in counted)
        )

    own = said([])
    full, found = rows(own), []
    for name in names:
        known = name in opened.PRESETS
        other = said(opened.preset(model, name) if known else [name])
        lame = rows(other)
        same = sum(a == b for a, b in zip(own, other, strict=True))
        found.append(
            {
                "name": name,
                "bleu": significance.bleu(lame.sum(0)).item(),
                "step": gain(full, lame),
                "same": same,
            }
        )
        print(found[-1], flush=True)
    return {
        "bleu": significance.bleu(full.sum(0)).item(),
        "captions": len(pairs),
        "off": found,
    }


def summary(found: dict[str, list[dict]]) -> dict:
    """Every switch by its name, beside the model as it is."""
    first = found["presets"][0]
    return {
        "bleu": first["bleu"],
        "captions": first["captions"],
        "off": {
            row.pop("name"): row
            for (each,) in found.values()
            for row in map(dict, each["off"])
        },
    }


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "switches",
        __doc__,
        {part: partial(run, names) for part, names in groups().items()},
        summary,
        config={"split": SPLIT, "model": NAME},
        data=corpus.digests("en", "fr"),
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
