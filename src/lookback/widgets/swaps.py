"""Is one translator better than another? A paired randomization test.

In every trial each caption's two translations change places with probability
½ (lab.comparison). It runs in swaps.js, with the same random numbers.
"""

import re

import torch
from matplotlib.figure import Figure
from traitlets import Int, List, validate

from lookback.lab.significance import (
    bleu,
    caption_rows,
    randomized_differences,
)
from lookback.widgets import base
from lookback.widgets.lib.checks import need
from lookback.widgets.lib.mulberry import uniform
from lookback.widgets.lib.pictures import BLUE, INK

TRAITS = ("labels", "counts", "first", "second", "size", "trials", "seed")
MOST = base.limits("swaps")["trials"]
CAPTIONS = re.compile(r"((^|,)\s*(\d+\s+){5}\d+\s*)+")


class Swaps(base.Widget):
    """Two of several translators, the first `size` captions, `trials` swaps.

    `counts` holds a text for each label, as `caption_rows` reads it.

    Raises:
        TraitError: for what is missing, does not fit or is too large.
    """

    _esm = base.module("swaps")
    _css = base.style("swaps", "chart")
    labels = List().tag(sync=True)
    counts = List().tag(sync=True)
    first = Int(0).tag(sync=True)
    second = Int(1).tag(sync=True)
    size = Int(1000).tag(sync=True)
    trials = Int(0).tag(sync=True)
    seed = Int(0).tag(sync=True)

    def __init__(self, labels, counts, **state):
        super().__init__(labels=labels, counts=counts, **state)

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        count = len(new.labels)
        need(1 < count == len(new.counts), "give counts for two labels")
        for label, text in zip(new.labels, new.counts, strict=True):
            need(CAPTIONS.fullmatch(text), f"{label}: give six numbers a row")
            even = text.count(",") == new.counts[0].count(",")
            need(even, f"{label} has not as many captions as the first")
        for name in ("first", "second"):
            at = getattr(new, name)
            need(0 <= at < count, f"{name} is {at}: give 0 to {count - 1}")
        need(new.size > 0, f"size is {new.size}: give 1 caption at least")
        need(0 <= new.trials <= MOST, f"trials: give 0 to {MOST:,}")
        need(0 <= new.seed < 2**31, f"seed is {new.seed}: give one from 0 up")
        return proposal["value"]

    def gaps(self, trials: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Both BLEU scores, and the gap after each of the trials."""
        texts = self.counts[self.first], self.counts[self.second]
        one, two = (caption_rows(text)[: self.size] for text in texts)
        swaps = torch.tensor(uniform(self.seed, trials * len(one)) < 0.5)
        swaps = swaps.reshape(trials, len(one))
        gaps = randomized_differences(one, two, swaps)
        return bleu(torch.stack([one.sum(0), two.sum(0)])), gaps

    def words(self) -> str:
        one, two = self.labels[self.first], self.labels[self.second]
        a, b = self.gaps(1)[0]
        return f"BLEU: {one} {a:.2f}, {two} {b:.2f}; {self.trials} trials."

    def draw(self, figure: Figure) -> None:
        (a, b), gaps = self.gaps(max(self.trials, 200))
        axes = figure.subplots()
        axes.hist(gaps.tolist(), bins=31, color=BLUE)
        axes.vlines([a - b, b - a], *axes.get_ylim(), INK, "--")
        axes.set(xlabel="BLEU, second minus first, after swapping", yticks=[])
