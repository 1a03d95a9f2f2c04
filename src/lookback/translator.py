"""The one small interface that every translator of the book offers.

Training, decoding, metrics and widgets know only this, so a chapter may
replace any part of a model without touching the bench.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Translator(nn.Module):
    """A model of p(target | source), one target word at a time.

    A memory and a state are tensors, or tuples of such, whose first axis is
    the batch, so that beam search can pick rows from them.
    """

    @property
    def device(self) -> torch.device:
        """Where its weights are, and what it is given has to be."""
        return next(self.parameters()).device

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target_in: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target vocab"]:
        """Logits of every target word, given the true words before it."""
        raise NotImplementedError

    def encode(self, source: Int[Tensor, "batch source"]) -> tuple:
        """What the decoder may look at."""
        raise NotImplementedError

    def start(self, memory: tuple) -> tuple:
        """The decoder's state before its first word."""
        raise NotImplementedError

    def step(
        self,
        token: Int[Tensor, " batch"],
        state: tuple,
        memory: tuple,
    ) -> tuple[
        Float[Tensor, "batch vocab"],
        tuple,
        Float[Tensor, "batch source"] | None,
    ]:
        """Logits of the next word, the new state, and where it looked."""
        raise NotImplementedError
