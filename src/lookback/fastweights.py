r"""Linear attention and fast weights: one matrix that every word rewrites.

Schmidhuber 1992, section 2 (report of 26 March 1991); Katharopoulos et al.
2020, arXiv 2006.16236; Choromanski et al. 2020, arXiv 2009.14794; Schlag,
Irie & Schmidhuber 2021, arXiv 2102.11174; Yang et al. 2024, arXiv 2406.06484
(chunkwise form) and 2412.06464 (gate). With φ a feature map:

    W_i = W_{i−1} + v_i φ(k_i)ᵀ                      sum rule
    W_i = W_{i−1} + β_i (v_i − W_{i−1} φ(k_i)) φ(k_i)ᵀ         delta rule
        = W_{i−1} (I − β_i φ(k_i) φ(k_i)ᵀ) + β_i v_i φ(k_i)ᵀ
    W_i = α_i W_{i−1} (I − β_i φ(k_i) φ(k_i)ᵀ) + β_i v_i φ(k_i)ᵀ
                                                     gated delta rule
    y_i = W_i φ(q_i)                                 reading
    z_i = z_{i−1} + φ(k_i),  y_i = W_i φ(q_i) / (z_i · φ(q_i))
                                                     linear attention

The rule of 1992 has a squashing function around the sum, and no query of its
own: there the fast network is given its input. Departures: queries and keys
come as they are, of length 1 where a caller makes them so (`scores.unit`);
Schlag et al. have feature maps of their own.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F


def outer(
    value: Float[Tensor, "*batch d_v"], key: Float[Tensor, "*batch features"]
) -> Float[Tensor, "*batch d_v features"]:
    """v kᵀ: a column times a row, one pair as a matrix."""
    return value[..., :, None] * key[..., None, :]


def blank(
    key: Float[Tensor, "*batch source features"],
    value: Float[Tensor, "*batch source d_v"],
) -> tuple[
    Float[Tensor, "*batch d_v features"], Float[Tensor, "*batch features"]
]:
    """W and z before the first word: zeros."""
    k, v = key[..., 0, :], value[..., 0, :]
    return torch.zeros_like(outer(v, k)), torch.zeros_like(k)


def remember(
    key: Float[Tensor, "*batch source features"],
    value: Float[Tensor, "*batch source d_v"],
) -> Float[Tensor, "*batch d_v features"]:
    """W = Σ_j v_j k_jᵀ: all pairs in one matrix."""
    return value.mT @ key


def recall(
    memory: Float[Tensor, "*batch d_v features"],
    query: Float[Tensor, "*batch features"],
) -> Float[Tensor, "*batch d_v"]:
    """y = W q."""
    return (memory @ query[..., None])[..., 0]


def elu_feature_map(x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """φ(x) = elu(x) + 1: x + 1 above 0, e^x below (Katharopoulos 2020)."""
    return F.elu(x) + 1


def linear_attention(
    query: Float[Tensor, "*batch target features"],
    key: Float[Tensor, "*batch source features"],
    value: Float[Tensor, "*batch source d_v"],
    mask: Bool[Tensor, "*#batch target_or_1 source"] | None = None,
) -> tuple[
    Float[Tensor, "*batch target d_v"], Float[Tensor, "*batch target source"]
]:
    """The parallel form: Σ_j (φ(q_i) · φ(k_j)) v_j / Σ_j φ(q_i) · φ(k_j).

    `query` and `key` are φ(q) and φ(k). mask: True = may attend.
    """
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, 0)
    weights = scores / scores.sum(-1, keepdim=True)
    return weights @ value, weights


def linear_recurrence(
    query: Float[Tensor, "*batch length features"],
    key: Float[Tensor, "*batch length features"],
    value: Float[Tensor, "*batch length d_v"],
) -> Float[Tensor, "*batch length d_v"]:
    """The recurrent form: token by token, with W and z alone."""
    (W, z), said = blank(key, value), []
    for i in range(key.shape[-2]):
        q, k, v = query[..., i, :], key[..., i, :], value[..., i, :]
        W, z = W + outer(v, k), z + k
        said.append(recall(W, q) / (z * q).sum(-1, keepdim=True))
    return torch.stack(said, -2)


def linear_chunks(
    query: Float[Tensor, "*batch length features"],
    key: Float[Tensor, "*batch length features"],
    value: Float[Tensor, "*batch length d_v"],
    size: int = 64,
) -> Float[Tensor, "*batch length d_v"]:
    """The chunkwise form: in parallel within a chunk, W from all before."""
    (W, z), said = blank(key, value), []
    for i in range(0, key.shape[-2], size):
        q, k, v = (x[..., i : i + size, :] for x in (query, key, value))
        scores = (q @ k.mT).tril()  # within the chunk
        total = scores.sum(-1, keepdim=True) + q @ z[..., None]
        said.append((scores @ v + q @ W.mT) / total)
        W, z = W + remember(k, v), z + k.sum(-2)
    return torch.cat(said, -2)


def delta(
    key: Float[Tensor, "*batch source features"],
    value: Float[Tensor, "*batch source d_v"],
    beta: Float[Tensor, "*batch source"],
) -> Float[Tensor, "*batch d_v features"]:
    """W after all pairs: each write adds only what is missing.

    W ← W + β (v − W k) kᵀ
    """
    W, _ = blank(key, value)
    for i in range(key.shape[-2]):
        k, v, b = key[..., i, :], value[..., i, :], beta[..., i, None]
        W = W + outer(b * (v - recall(W, k)), k)
    return W


def written(
    key: Float[Tensor, "*batch source features"],
    beta: Float[Tensor, "*batch source"],
) -> Float[Tensor, "*batch source source"]:
    """T, with which the delta rule writes u = T v: W = Σ_j u_j k_jᵀ.

    u_j = β_j (v_j − Σ_{i<j} (k_j · k_i) u_i), which is a triangular system; it
    needs no loop over the tokens (the UT transform of Yang et al. 2024).
    """
    before = (key @ key.mT).tril(-1)  # k_j · k_i, for i < j
    unit = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device)
    system = unit + beta[..., None] * before  # system u = β v
    return torch.linalg.solve_triangular(
        system, torch.diag_embed(beta), upper=False
    )


def delta_chunks(
    query: Float[Tensor, "*batch length features"],
    key: Float[Tensor, "*batch length features"],
    value: Float[Tensor, "*batch length d_v"],
    beta: Float[Tensor, "*batch length"],
    size: int = 64,
) -> Float[Tensor, "*batch length d_v"]:
    """The delta rule's chunkwise form: DeltaNet, Yang et al. 2024."""
    (W, _), said = blank(key, value), []
    for i in range(0, key.shape[-2], size):
        q, k, v = (x[..., i : i + size, :] for x in (query, key, value))
        missing = v - k @ W.mT  # what the chunks before did not hold
        u = written(k, beta[..., i : i + size]) @ missing
        said.append(q @ W.mT + (q @ k.mT).tril() @ u)
        W = W + remember(k, u)
    return torch.cat(said, -2)


def gated_delta(
    key: Float[Tensor, "*batch source features"],
    value: Float[Tensor, "*batch source d_v"],
    beta: Float[Tensor, "*batch source"],
    alpha: Float[Tensor, "*batch source"],
) -> Float[Tensor, "*batch d_v features"]:
    """W after all pairs, with a decay: W ← α W, then the delta rule."""
    W, _ = blank(key, value)
    for i in range(key.shape[-2]):
        k, v, b = key[..., i, :], value[..., i, :], beta[..., i, None]
        W = alpha[..., i, None, None] * W
        W = W + outer(b * (v - recall(W, k)), k)
    return W


def delta_weights(
    query: Float[Tensor, "*batch target features"],
    key: Float[Tensor, "*batch source features"],
    beta: Float[Tensor, "*batch source"],
) -> Float[Tensor, "*batch target source"]:
    """What W q takes of each value: (q Kᵀ) T. Some are negative."""
    return query @ key.mT @ written(key, beta)


def draw_features(
    count: int, d: int, orthogonal: bool = False
) -> Float[Tensor, "features d"]:
    """ω_1 … ω_m: normal numbers, in blocks of d at right angles if asked.

    A row keeps the length that a row of normal numbers has.
    """
    plain = torch.randn(count, d, dtype=torch.float64)
    if not orthogonal:
        return plain
    blocks = -(-count // d)
    Q, R = torch.linalg.qr(torch.randn(blocks, d, d, dtype=torch.float64))
    signs = R.diagonal(dim1=-2, dim2=-1).sign()  # or some ways are likelier
    turned = (Q * signs[:, None]).mT.flatten(0, 1)[:count]
    return turned * plain.norm(dim=-1, keepdim=True)


def favor(
    x: Float[Tensor, "*batch d"], omega: Float[Tensor, "features d"]
) -> Float[Tensor, "*batch features"]:
    """φ(x) = e^{−|x|²/2} / √m · (e^{ω_1 · x}, …, e^{ω_m · x}).

    Over draws of ω, φ(q) · φ(k) is e^{q · k} on average (Performer, 2020).
    """
    half = x.square().sum(-1, keepdim=True) / 2
    return (x @ omega.mT.to(x) - half).exp() / math.sqrt(len(omega))
