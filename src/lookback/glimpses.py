r"""Hard attention: a few small glimpses of a picture, and who places them.

After Larochelle & Hinton 2010, who combine what is seen with where by
multiplying, and Mnih et al. 2014 (arXiv 1406.6247), who train the choice of
places by REINFORCE. x_l is the window at place l of 25, v_l a learned vector:

    z_l = ReLU(A x_l + a) ∘ v_l            times
    z_l = ReLU(A x_l + a) + v_l            plus
    z_l = ReLU(A x_l + a)                  no place
    h_t = h_{t−1} + z_{l_t},  h_0 = 0      the sum of the glimpses so far
    letter ~ softmax(W ReLU(M h_T + m) + w)
    l_{t+1} ~ softmax(C tanh(B h_t + b) + c), the policy; no place twice

A sampled place passes no gradient on. REINFORCE (Williams 1992), the policy
gradient:

    ∇ E[R] = E[(R − R̄) Σ_t ∇ log p(l_t | h_{t−1})]

for every baseline R̄ that does not depend on what was sampled. Ours is the mean
reward of the others in the batch. Departures: where ours is a sum, the paper of
2010 has a Boltzmann machine and that of 2014 a recurrent network, and both have
windows sharp in the middle and blurred around it. That of 2014 joins what with
where by adding them in front of a ReLU.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

JOINS = ("times", "plus", "no place")


@dataclass(frozen=True)
class EyeConfig:
    """Sizes of an eye; pictures are cut into `across` × `across` windows."""

    join: str = "times"  # one of JOINS
    across: int = 5
    pixels: int = 16  # of a window
    hidden: int = 64
    vocab: int = 26

    @property
    def places(self) -> int:
        return self.across**2


def windows(
    picture: Float[Tensor, "batch rows columns"], across: int
) -> Float[Tensor, "batch source d"]:
    """The picture, cut: one row of pixels for each place, in reading order."""
    side = picture.shape[-1] // across
    cut = picture.unfold(1, side, side).unfold(2, side, side)
    return cut.reshape(len(picture), across**2, side**2)


class Eye(nn.Module):
    """Names a letter from a few windows and their places."""

    def __init__(self, config: EyeConfig):
        super().__init__()
        self.config, d = config, config.hidden
        self.what = nn.Linear(config.pixels, d)  # A, a
        self.where = nn.Parameter(torch.randn(config.places, d))  # v
        self.mix = nn.Linear(d, d)  # M, m
        self.name = nn.Linear(d, config.vocab)  # W, w

    def glimpse(
        self, window: Float[Tensor, "*batch d"], place: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch hidden"]:
        """z: what is seen there, combined with where it is."""
        what, where = self.what(window).relu(), self.where[place]
        if self.config.join == "times":
            return what * where
        return what + where if self.config.join == "plus" else what

    def forward(self, h: Float[Tensor, "*batch hidden"]) -> Tensor:
        """The letters' logits, from the sum of the glimpses."""
        return self.name(self.mix(h).relu())


class Policy(nn.Module):
    """Where to look next: logits over the places."""

    def __init__(self, config: EyeConfig):
        super().__init__()
        self.hidden = nn.Linear(config.hidden, config.hidden)  # B, b
        self.place = nn.Linear(config.hidden, config.places)  # C, c

    def forward(
        self, h: Float[Tensor, "*batch hidden"]
    ) -> Float[Tensor, "*batch source"]:
        return self.place(torch.tanh(self.hidden(h)))


def look(
    eye: Eye,
    seen: Float[Tensor, "batch source d"],
    looks: int,
    choose,
) -> tuple[Float[Tensor, "batch hidden"], Int[Tensor, "batch looks"]]:
    """h after so many glimpses, and where they fell.

    `choose(h, before)` says the next places: [batch], from h and from the
    places [batch, t] that were looked at before.
    """
    batch = torch.arange(len(seen), device=seen.device)
    h = seen.new_zeros(len(seen), eye.config.hidden)
    before = batch.new_zeros(len(seen), 0)
    for _ in range(looks):
        place = choose(h, before)
        h = h + eye.glimpse(seen[batch, place], place)
        before = torch.cat([before, place[:, None]], 1)
    return h, before


def unseen(
    logits: Float[Tensor, "batch source"], before: Int[Tensor, "batch looks"]
) -> Float[Tensor, "batch source"]:
    """−∞ at the places that were looked at before."""
    return logits.scatter(1, before, -torch.inf)


def reinforce(
    log_p: Float[Tensor, " batch"],
    reward: Float[Tensor, " batch"],
    baseline: bool = True,
) -> Float[Tensor, ""]:
    """A loss whose gradient is, on average, that of −E[reward].

    log_p adds up all that was sampled for one picture. The baseline is the
    mean reward of the other pictures.

    Raises:
        ValueError: for a baseline of fewer than two pictures.
    """
    if baseline and len(reward) < 2:
        raise ValueError("a baseline needs two pictures or more")
    less = (reward.sum() - reward) / (len(reward) - 1) if baseline else 0.0
    return -((reward - less) * log_p).mean()
