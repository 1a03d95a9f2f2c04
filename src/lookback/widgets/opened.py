"""The trained Transformer, opened: the reader's sentence at every station.

    encoder and decoder of `lookback.transformer`, every tensor named as in
    `lookback.opened`, each part with a switch, the logit lens, and patching

The picture that a page opens with is computed here; any other sentence, layer
or switch wakes the machine, whose weights (a byte each, `lab.int8`) the page
fetches then. What runs is tracer.js, in a worker.
"""

from functools import lru_cache
from html import unescape

import torch
from matplotlib.figure import Figure
from traitlets import Dict, Float, Int, List, Unicode, validate

from lookback import opened
from lookback.lab import int8, records
from lookback.lab.decoding import greedy
from lookback.lab.moses_tokenizer import words
from lookback.vocabulary import END, START
from lookback.widgets import base, machines
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.half import pack

LIMITS = base.limits("opened")
NAME = "tuned-en-fr"
MODES = ("walk", "tour", "switches", "lens", "patch")
TRAITS = (
    "machines",
    "text",
    "station",
    "layer",
    "head",
    "source",
    "target",
    "mode",
    "off",
    "other",
    "tour",
)
RIVALS, LIKELY = 5, 3


@lru_cache
def machine():
    """The model as the page's bytes have it, and its pieces."""
    model, pieces = machines.load(NAME)
    return int8.rounded(model).cpu().eval(), pieces


def shown(pieces, token: int) -> str:
    """A piece as a reader sees it: a dot where its word goes on."""
    text = pieces.words[token]
    if text.startswith("<") and not text.endswith("</w>"):
        return text
    whole = text.endswith("</w>")
    return unescape(text.removesuffix("</w>")) + ("" if whole else "·")


@lru_cache(16)
@torch.no_grad()
def answer(text: str) -> tuple[dict, dict[str, torch.Tensor]]:
    """A translation and its lens, as tracer.js gives them; and the trace."""
    model, pieces = machine()
    source = torch.tensor([*pieces.encode(words(text)), END])
    ids = greedy(model, source[None])[0].tokens
    target_in = torch.tensor([START, *ids[:-1]])
    found = opened.trace(model, source, target_in)

    def likely(logits: torch.Tensor, count: int) -> list[list[dict]]:
        logits = logits.clone()
        logits[:, [0, START]] = -torch.inf
        p, best = logits.softmax(-1).topk(count)
        return [
            [
                {"piece": shown(pieces, i), "p": round(x, 4)}
                for i, x in zip(*row, strict=True)
            ]
            for row in zip(best.tolist(), p.tolist(), strict=True)
        ]

    logits = found["decoder.logits"]
    rivals = likely(logits, RIVALS)
    told = {
        "text": text,
        "source": [shown(pieces, i) for i in source.tolist()],
        "target": [shown(pieces, i) for i in target_in.tolist()],
        "steps": [
            {
                "id": i,
                "piece": shown(pieces, i),
                "p": row[0]["p"],
                "rivals": row,
            }
            for i, row in zip(ids, rivals, strict=True)
        ],
        "sentence": unescape(" ".join(pieces.decode(ids))),
        "lens": [likely(level, LIKELY) for level in opened.lens(model, found)],
    }
    return told, found


def opening(found: dict[str, torch.Tensor], layer: int) -> dict:
    """What of a trace the page has from the start: one layer of each stack."""
    kept = {
        name: tensor
        for name, tensor in found.items()
        if name.count(".") == 1 or f".{layer}." in name
        if name != "decoder.logits"
    }
    return pack(kept)


def costs() -> tuple[dict, int]:
    """What each switch costs in BLEU, and on how many captions."""
    told = records.load("switches")["results"]
    return {
        name: {
            "change": row["step"]["gain"],
            "low": row["step"]["low"],
            "high": row["step"]["high"],
            "same": row["same"],
        }
        for name, row in told["off"].items()
    }, told["captions"]


class Opened(machines.Widget):
    """Every station of one sentence, and what becomes of it.

    `station` is a tensor's name in `opened.trace`, `head` and `layer` what the
    picture shows, `source` and `target` the tokens that are framed. `off` lists
    switches, as `opened.switches` names them. `mode` is the pane's: one of
    `walk`, `tour`, `switches`, `lens` and `patch`, where `other` is the
    sentence that a vector is carried from.

    Raises:
        TraitError: for what does not fit.
    """

    _esm = base.module("opened")
    _css = base.style("opened")
    answers = List().tag(sync=True)
    first = Dict().tag(sync=True)
    presets = Dict().tag(sync=True, **base.AS_PAIRS)
    costs = Dict().tag(sync=True)
    captions = Int().tag(sync=True)
    bleu = Float().tag(sync=True)
    text = Unicode().tag(sync=True)
    station = Unicode("decoder.3.cross.weights").tag(sync=True)
    layer = Int(3).tag(sync=True)
    head = Int(0).tag(sync=True)
    source = Int(2).tag(sync=True)
    target = Int(1).tag(sync=True)
    mode = Unicode("walk").tag(sync=True)
    off = List(Unicode()).tag(sync=True)
    other = Unicode("A white dog sleeps on a red chair.").tag(sync=True)
    tour = Int(0).tag(sync=True)

    def __init__(self, **place):
        model, _ = machine()
        config = model.config
        known = {
            "title": "Transformer",
            "layers": config.layers,
            "heads": config.heads,
            **machines.known(NAME),
        }
        told = [answer(text) for text in LIMITS["examples"]]
        cost, captions = costs()
        super().__init__(
            machines={NAME: known},
            answers=[one for one, _ in told],
            first=opening(told[0][1], config.layers - 1),
            presets={
                name: opened.preset(model, name) for name in opened.PRESETS
            },
            costs=cost,
            captions=captions,
            bleu=records.load("switches")["results"]["bleu"],
            **{"text": LIMITS["examples"][0]} | place,
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        most = LIMITS["letters"]
        for name in ("text", "other"):
            fit = len(getattr(new, name)) <= most
            need(fit, f"{name}: at most {most} letters")
        one = new.machines.get(NAME, {"layers": 4, "heads": 4})
        need(
            0 <= new.layer < one["layers"], "layer: one of the model's, from 0"
        )
        need(0 <= new.head < one["heads"], "head: one of the model's, from 0")
        need(min(new.source, new.target, new.tour) >= 0, "0 or more")
        need(new.mode in MODES, f"mode: one of {', '.join(MODES)}")
        known = set(opened.switches(machine()[0]))
        strange = ", ".join(set(new.off) - known)
        need(not strange, f"off: there is no {strange}")
        return proposal["value"]

    @property
    def model(self):
        """The trained Transformer itself, for hooks of one's own."""
        return machine()[0]

    def translate(
        self, text: str, off: tuple[str, ...] = ()
    ) -> tuple[torch.Tensor, list[int]]:
        """Its tokens, and those of its translation with these parts off."""
        pieces = machine()[1]
        source = torch.tensor([*pieces.encode(words(text)), END])
        with opened.switched(self.model, off):
            return source, greedy(self.model, source[None])[0].tokens

    def translation(self, text: str, off: tuple[str, ...] = ()) -> str:
        """What the model writes with these parts off."""
        _, ids = self.translate(text, off)
        return unescape(" ".join(machine()[1].decode(ids)))

    def trace(
        self, text: str, off: tuple[str, ...] = ()
    ) -> dict[str, torch.Tensor]:
        """Every station's tensor, by name, as `opened.trace` gives them."""
        source, ids = self.translate(text, off)
        with opened.switched(self.model, off):
            target_in = torch.tensor([START, *ids[:-1]])
            return opened.trace(self.model, source, target_in)

    def words(self) -> str:
        return (
            f"The Transformer, opened: “{self.text}” at every station, from"
            " embedding to probabilities, with a switch for each part."
        )

    def draw(self, figure: Figure) -> None:
        told, found = answer(self.text)
        charts = figure.subplots(1, 4)
        for head, axes in enumerate(charts):
            axes.imshow(
                found["decoder.3.cross.weights"][head].numpy(),
                cmap="Purples",
                vmin=0,
                vmax=1,
            )
            axes.set_title(f"head {head + 1}", fontsize=8)
            axes.set_xticks(
                range(len(told["source"])),
                told["source"],
                rotation=90,
                fontsize=7,
            )
            axes.set_yticks([])
        charts[0].set_yticks(
            range(len(told["target"])), told["target"], fontsize=7
        )
        figure.suptitle("Cross-attention of the last layer", fontsize=9)
