"""Put other weights into a look, and see what would be written next.

    TV(p, q) = ½ Σ |p − q|        JS(α, β) = ½ KL(α ‖ μ) + ½ KL(β ‖ μ)

with μ = ½ (α + β); see `experiments.explanation`. The RNNsearch of the
phrasebook is run in the page by rnnsearch.js.
"""

import torch
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Dict, Float, Int, List, Unicode, validate

from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.vocabulary import END, START, Vocabulary
from lookback.widgets import base
from lookback.widgets.lib import pictures
from lookback.widgets.lib.checks import check_rows, need
from lookback.widgets.lib.rows import unpack

LIMITS = base.limits("other_weights")
TRAITS = (
    "vocabularies",
    "machine",
    "sentences",
    "text",
    "step",
    "weights",
    "seed",
)


class OtherWeights(base.Widget):
    """A trained look, whose weights the reader may exchange.

    `vocabularies` holds the words of `source` and `target`, `machine` the
    weights of an RNNsearch, as `lib.rows.pack` makes them. `text` is one of
    the `sentences`, `step` the word that is about to be written; `weights`,
    where there are any, stand in place of the model's own. `seed` is what the
    next shuffle is drawn from.

    Raises:
        TraitError: for weights or words that do not fit.
    """

    _esm = base.module("other_weights")
    _css = base.style("other_weights", "chart")
    vocabularies = Dict().tag(sync=True)
    machine = Dict().tag(sync=True)
    sentences = List(Unicode()).tag(sync=True)
    text = Unicode().tag(sync=True)
    step = Int(0).tag(sync=True)
    weights = List(Float()).tag(sync=True)
    seed = Int(0).tag(sync=True)

    def __init__(self, vocabularies, machine, sentences, **place):
        super().__init__(
            vocabularies=vocabularies,
            machine=machine,
            sentences=list(sentences),
            **{"text": sentences[0]} | place,
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        sizes = [len(new.vocabularies[side]) for side in ("source", "target")]
        check_rows(new.machine, *sizes, "machine")
        most = LIMITS["words"]
        for text in new.sentences:
            words = text.split(" ")
            strange = sorted(set(words) - {*new.vocabularies["source"]})
            need(not strange, f"{text!r}: {strange} are not in the vocabulary")
            need(len(words) <= most, f"{text!r}: give 1 to {most} words")
        need(new.text in new.sentences, f"{new.text!r} is no sentence of these")
        need(new.step >= 0, f"step is {new.step}: give 0 or more")
        places = len(new.text.split(" ")) + 1
        fit = len(new.weights) in (0, places) or proposal["trait"].name != (
            "weights"
        )
        need(fit, f"weights: give {places}, one a word and one for <end>")
        fit = all(0 <= w <= 1 for w in new.weights)
        need(fit, "weights: numbers from 0 to 1")
        need(new.seed >= 0, f"seed is {new.seed}: give 0 or more")
        return proposal["value"]

    @torch.no_grad()
    def told(self) -> tuple[list[str], Tensor, Tensor, Tensor]:
        """What is written; the weights then; p of the word at `step`, with
        the model's own weights and with `weights`."""
        source, target = map(Vocabulary, self.vocabularies.values())
        model = build(self.machine)
        words = source.encode(self.text.split(" "))
        memory = model.encode(torch.tensor([[*words, END]]))
        state, token = model.start(memory), torch.tensor([START])
        said, looks, both = [], [], None
        while not said or said[-1] != END:
            logits, after, own = model.step(token, state, memory)
            if len(said) == self.step:
                other = own
                if len(self.weights) == own.shape[1]:
                    other = torch.tensor([self.weights], dtype=own.dtype)
                context = other @ memory.values[0]
                embedded = model.target_embedding(token)
                fed = torch.cat([embedded, context], dim=-1)
                hidden = model.decoder(fed, state.hidden)
                changed = model.readout(hidden, embedded, context)
                both = [x.softmax(-1)[0] for x in (logits, changed)]
            logits[:, [0, START]] = -torch.inf
            full = len(said) == LIMITS["written"]
            said.append(END if full else int(logits.argmax()))
            looks.append(own[0])
            state, token = after, torch.tensor([said[-1]])
        names = [*target.decode(said), "<end>"]
        if both is None:  # a step behind the end is the last one
            both = [logits.softmax(-1)[0]] * 2
        return names, torch.stack(looks), *both

    def words(self) -> str:
        names, looks, before, now = self.told()
        step = min(self.step, len(names) - 1)
        look = int(looks[step].argmax())
        source = [*self.text.split(" "), "<end>"]
        moved = float((before - now).abs().sum() / 2)
        return (
            f"“{self.text}” becomes “{' '.join(names[:-1])}”. For word"
            f" {step + 1}, “{names[step]}”, it looks most at “{source[look]}”."
            f" With the weights that are set, the next word's distribution"
            f" moves by {moved:.2f}."
        )

    def draw(self, figure: Figure) -> None:
        names, looks, *_ = self.told()
        source = [*self.text.split(" "), "<end>"]
        step = min(self.step, len(names) - 1)
        pictures.grid(figure, looks.numpy(), source, names, step)


def build(packed: dict) -> RNNsearch:
    """The model of the packed weights, in double precision."""
    parts = {k: torch.tensor(unpack(one)) for k, one in packed.items()}
    config = RNNsearchConfig(
        *(
            len(parts[f"{side}_embedding.weight"])
            for side in ("source", "target")
        ),
        embed=parts["source_embedding.weight"].shape[1],
        hidden=parts["encoder.weight_hh_l0"].shape[1],
        align=len(parts["attention.v"]),
        maxout=parts["readout.output.weight"].shape[1],
    )
    model = RNNsearch(config).double().eval()
    model.load_state_dict(parts)
    return model
