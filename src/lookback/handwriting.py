r"""Handwriting synthesis: a soft window slides along the text that is written.

Graves 2013, arXiv 1308.0850, section 5; the output is that of section 4.1.

    (α̂_t, β̂_t, κ̂_t) = W h_t + b
    α_t = exp α̂_t,  β_t = exp β̂_t                              eqs. 49, 50
    κ_t = κ_{t−1} + exp κ̂_t                                      eq. 51
    φ(t, u) = Σ_k α_t^k exp(−β_t^k (κ_t^k − u)²)                 eq. 46
    w_t = Σ_u φ(t, u) c_u                                        eq. 47

    p(x_{t+1}) = Σ_m π^m N(Δ; μ^m, σ^m, ρ^m) · Bernoulli(e)    section 4.1

κ counts letters from 1 and starts at 0. Departures: two layers of GRU cells in
place of three of LSTM; the paper's sizes stand beside ours. After the text
comes a symbol of its own, at u = U + 1, and after the writing a point of rest
that belongs to it: so the network is taught to leave the last letter. Writing
ends when φ(t, U + 1) is the largest, and that point is not drawn. The sampling
bias also sharpens the probability that the pen is lifted.
"""

from dataclasses import dataclass
from math import log, pi
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F


def window(
    alpha: Float[Tensor, "batch kernels"],
    beta: Float[Tensor, "batch kernels"],
    kappa: Float[Tensor, "batch kernels"],
    length: int,
) -> Float[Tensor, "batch source"]:
    """φ(t, u) = Σ_k α^k exp(−β^k (κ^k − u)²), u = 1 … length; eq. 46."""
    u = torch.arange(1, length + 1, device=kappa.device)
    far = (kappa[:, :, None] - u) ** 2
    return (alpha[:, :, None] * (-beta[:, :, None] * far).exp()).sum(1)


class Mixture(NamedTuple):
    """Of the next point: bivariate Gaussians, and whether the pen is lifted.

    Made of any numbers by `mixture`.
    """

    log_pi: Float[Tensor, "*batch mixtures"]  # how likely each Gaussian is
    mu: Float[Tensor, "*batch mixtures 2"]  # means
    log_sigma: Float[Tensor, "*batch mixtures 2"]  # standard deviations
    rho: Float[Tensor, "*batch mixtures"]  # correlations, between −1 and 1
    lifted: Float[Tensor, "*batch"]  # logit of e


def mixture(raw: Float[Tensor, "*batch _"], bias: float = 0.0) -> Mixture:
    """Six numbers for each Gaussian and one more, each in its range.

    The sampling bias makes the likely likelier, every σ smaller and, unlike
    the paper's, e surer: else ink runs through the spaces.
    """
    m = raw.shape[-1] // 6
    log_pi, mu, log_sigma, rho, lifted = raw.split((m, 2 * m, 2 * m, m, 1), -1)
    return Mixture(
        ((1 + bias) * log_pi).log_softmax(-1),
        mu.unflatten(-1, (m, 2)),
        log_sigma.unflatten(-1, (m, 2)) - bias,
        rho.tanh(),
        (1 + bias) * lifted[..., 0],
    )


def negative_log_likelihood(
    mixture: Mixture, point: Float[Tensor, "*batch 3"]
) -> Float[Tensor, "*batch"]:
    """−log Σ_m π^m N(Δ; μ^m, σ^m, ρ^m) − log p(lifted or not), in nats."""
    z = (point[..., None, :2] - mixture.mu) / mixture.log_sigma.exp()
    tiny = torch.finfo(mixture.rho.dtype).eps  # where ρ rounds to 1
    one = (1 - mixture.rho**2).clamp_min(tiny)
    Z = (z**2).sum(-1) - 2 * mixture.rho * z.prod(-1)
    density = -Z / (2 * one) - log(2 * pi) - mixture.log_sigma.sum(-1)
    density = density - one.log() / 2
    where = (mixture.log_pi + density).logsumexp(-1)
    return -where + F.binary_cross_entropy_with_logits(
        mixture.lifted, point[..., 2], reduction="none"
    )


def sample(
    mixture: Mixture, uniform: Float[Tensor, "batch 4"]
) -> Float[Tensor, "batch 3"]:
    """A point for four numbers drawn uniformly between 0 and 1.

    The first chooses the Gaussian, two more (by the Box–Muller transform) a
    point of it, the last whether the pen is lifted.
    """
    below = mixture.log_pi.exp().cumsum(-1) < uniform[:, :1]
    which = below.sum(-1, keepdim=True).clamp(max=below.shape[1] - 1)
    each = torch.arange(len(which), device=which.device), which[:, 0]
    rho = mixture.rho[each]
    radius = (-2 * (1 - uniform[:, 1]).log()).sqrt()
    a, b = (
        radius * turn(2 * pi * uniform[:, 2]) for turn in (torch.cos, torch.sin)
    )
    z = torch.stack([a, rho * a + (1 - rho**2).sqrt() * b], -1)
    move = mixture.mu[each] + mixture.log_sigma[each].exp() * z
    lifted = uniform[:, 3] < mixture.lifted.sigmoid()
    return torch.cat([move, lifted[:, None].to(move)], -1)


@dataclass(frozen=True)
class WriterConfig:
    """Sizes; in the comments the paper's."""

    signs: int = 28  # letters a to z, the space, the end; 57
    hidden: int = 96  # two layers of GRU cells; three of 400 LSTM cells
    kernels: int = 3  # Gaussians of the window; 10
    mixtures: int = 8  # Gaussians of the output; 20
    points: float = 13.0  # of a letter, on average: the window's first speed


class State(NamedTuple):
    """All that is carried from one point to the next."""

    h: Float[Tensor, "batch hidden"]  # of the layer that moves the window
    top: Float[Tensor, "1 batch hidden"]  # of the layer above it
    kappa: Float[Tensor, "batch kernels"]  # where the window stands
    seen: Float[Tensor, "batch vocab"]  # w, through the window


class Writer(nn.Module):
    """A network that writes a text by hand, point after point."""

    def __init__(self, config: WriterConfig):
        super().__init__()
        self.config = config
        self.build(config)

    def build(self, config: WriterConfig) -> None:
        """Two recurrent layers; what moves the window; what is predicted."""
        signs, hidden = config.signs, config.hidden
        self.first = nn.GRUCell(3 + signs, hidden)
        self.window = nn.Linear(hidden, 3 * config.kernels)
        self.second = nn.GRU(3 + signs + hidden, hidden, batch_first=True)
        self.output = nn.Linear(2 * hidden, 6 * config.mixtures + 1)
        with torch.no_grad():
            self.window.bias[:] = 0.0
            self.window.bias[-config.kernels :] = -log(config.points)

    def begin(self, text: Float[Tensor, "batch source vocab"]) -> State:
        """Nothing written, nothing seen, the window before the first letter."""
        batch, hidden = len(text), self.config.hidden
        return State(
            text.new_zeros(batch, hidden),
            text.new_zeros(1, batch, hidden),
            text.new_zeros(batch, self.config.kernels),
            text.new_zeros(batch, self.config.signs),
        )

    def place(
        self,
        h: Float[Tensor, "batch hidden"],
        kappa: Float[Tensor, "batch kernels"],
        length: int,
    ) -> tuple[Float[Tensor, "batch source"], Float[Tensor, "batch kernels"]]:
        """φ, and where the window stands now; eqs. 48 to 51."""
        alpha, beta, forward = self.window(h).exp().chunk(3, -1)
        kappa = kappa + forward  # never back
        return window(alpha, beta, kappa, length), kappa

    def slide(
        self,
        point: Float[Tensor, "batch 3"],
        text: Float[Tensor, "batch source vocab"],
        state: State,
    ) -> tuple[State, Float[Tensor, "batch source"]]:
        """The first layer takes a point in, and the window moves."""
        h = self.first(torch.cat([point, state.seen], -1), state.h)
        phi, kappa = self.place(h, state.kappa, text.shape[1])
        seen = (phi[:, None] @ text)[:, 0]  # w_t, eq. 47
        return state._replace(h=h, kappa=kappa, seen=seen), phi

    def forward(
        self,
        points: Float[Tensor, "batch points 3"],
        text: Float[Tensor, "batch source vocab"],
    ) -> tuple[
        Float[Tensor, "batch points _"],
        Float[Tensor, "batch points source"],
    ]:
        """For each point the numbers of its mixture, and φ where it was made.

        Each is made from the points before it. (The layer above does not
        move the window, so that it can take all points at once.)
        """
        state, rows, phis = self.begin(text), [], []
        for point in F.pad(points, (0, 0, 1, -1)).unbind(1):
            state, phi = self.slide(point, text, state)
            rows.append(torch.cat([point, state.seen, state.h], -1))
            phis.append(phi)
        below = torch.stack(rows, 1)
        top, _ = self.second(below)
        h = below[..., -self.config.hidden :]
        return self.output(torch.cat([h, top], -1)), torch.stack(phis, 1)

    def step(
        self,
        point: Float[Tensor, "batch 3"],
        text: Float[Tensor, "batch source vocab"],
        state: State,
    ) -> tuple[Float[Tensor, "batch _"], Float[Tensor, "batch source"], State]:
        """After a point: the raw numbers of the next, φ, the state."""
        state, phi = self.slide(point, text, state)
        below = torch.cat([point, state.seen, state.h], -1)
        top, above = self.second(below[:, None], state.top)
        raw = self.output(torch.cat([state.h, top[:, 0]], -1))
        return raw, phi, state._replace(top=above)


@torch.no_grad()
def write(
    model: Writer,
    text: Float[Tensor, "source vocab"],
    uniform: Float[Tensor, "_ 4"],
    bias: float = 0.0,
) -> tuple[Float[Tensor, "points 3"], Float[Tensor, "points source"]]:
    """Write a text, with four uniform numbers for each point; and φ there.

    It ends when the window is on the end's symbol more than on any letter, or
    when there are no more numbers.
    """
    text = text[None]
    state, point = model.begin(text), text.new_zeros(1, 3)
    points, phis = [], []
    for each in uniform.to(text):
        raw, phi, state = model.step(point, text, state)
        if phi[0].argmax() == text.shape[1] - 1:
            break
        point = sample(mixture(raw, bias), each[None])
        points.append(point[0])
        phis.append(phi[0])
    if not points:
        return text.new_zeros(0, 3), text.new_zeros(0, text.shape[1])
    return torch.stack(points), torch.stack(phis)
