r"""A GPT of the Llama family: one model, and a flag for each change since 2017.

    pre-norm   x ← x + f(norm(x))                          Xiong et al. 2020
    RMSNorm    g ∘ x / √(mean(x²) + ε)              Zhang & Sennrich 2019
    GELU       a Φ(a)                              Hendrycks & Gimpel 2016
    SwiGLU     (Swish(x W_1) ∘ x W_3) W_2                     Shazeer 2020
    RoPE       (R_m q) · (R_n k), R_p turns pairs by p ω_i   Su et al. 2021
    ALiBi      q_i · k_j / √d_k − m_h (i − j),  m_h = 2^(−8h/heads)
                                              Press, Smith & Lewis 2021
    MQA, GQA   heads share their keys and values   Shazeer 2019; Ainslie 2023
    KV cache   2 · layers · kv_heads · d_k · length numbers
    flash      the same softmax, tile by tile            Dao et al. 2022
    experts    p_j(x) FFN_j(x), j = argmax_i p_i(x)      Fedus et al. 2021
    window     i − j < window         Beltagy et al. 2020; Jiang et al. 2023

With all flags as they are by default it is the decoder of 2017 without
cross-attention. Departures: letters in place of words; no dropout; embeddings
are not multiplied by √d_model; the output has a matrix of its own, where in
2017 it was tied to the embeddings; the attention has no biases, as in the
paper; ALiBi's slopes are those for a power of two of heads.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from lookback.feedforward import ACTIVATIONS, FeedForward
from lookback.kv_cache import KVCache
from lookback.layers import SelfAttention, xavier
from lookback.positions import sinusoidal
from lookback.residual import NORMS, Sublayer

POSITIONS = ("sinusoidal", "rope", "alibi")


@dataclass(frozen=True)
class GPTConfig:
    """The sizes, and the flags of the chapter's table but `cached`."""

    vocab: int = 65  # characters of the text
    d_model: int = 64
    layers: int = 2
    heads: int = 4
    d_ff: int = 256  # with SwiGLU two thirds of it
    norm: str = "post"  # "pre": the norm stands before its part
    rms: bool = False  # True: RMSNorm for LayerNorm
    activation: str = "relu"  # "gelu", "swiglu"
    positions: str = "sinusoidal"  # "rope", "alibi"
    kv_heads: int = 4  # fewer: grouped-query; 1: multi-query
    window: int | None = None  # so many positions are seen, one's own too
    experts: int = 1  # more: each token is sent to one of them
    tile: int | None = None  # so many keys at a time, by `flash`

    def __post_init__(self):
        refuse(self)


def refuse(config: GPTConfig) -> None:
    """ValueError for a name that is not known, heads that do not share, or a
    window or tile of nothing."""
    for name, value, known in (
        ("norm", config.norm, NORMS[:2]),
        ("activation", config.activation, tuple(ACTIVATIONS)),
        ("positions", config.positions, POSITIONS),
    ):
        if value not in known:
            raise ValueError(
                f"{name} is {value!r}: choose one of {', '.join(known)}"
            )
    for many, few in (("d_model", "heads"), ("heads", "kv_heads")):
        one, other = getattr(config, many), getattr(config, few)
        if other < 1 or one % other:
            raise ValueError(
                f"{few} is {other}: give a number that divides {many}, {one}"
            )
    for name in ("window", "tile"):
        value = getattr(config, name)
        if value is not None and value < 1:
            raise ValueError(f"{name} is {value}: give 1 or more, or None")


def width_of(config: GPTConfig) -> int:
    """The feed-forward layer's width: with a third matrix two thirds."""
    gated = config.activation == "swiglu"
    return 2 * config.d_ff // 3 if gated else config.d_ff


def rms_norm(
    x: Float[Tensor, "*batch d_model"],
    gain: Float[Tensor, " d_model"],
    epsilon: float = 1e-5,
) -> Float[Tensor, "*batch d_model"]:
    """g ∘ x / √(mean(x²) + ε): no mean is subtracted, no bias is added.

    In half precision a square soon overflows, so it is computed in float32.
    """
    fine = x.to(torch.promote_types(x.dtype, torch.float32))
    square = (fine * fine).mean(dim=-1, keepdim=True)
    return (gain * fine / torch.sqrt(square + epsilon)).to(x.dtype)


class RMSNorm(nn.Module):
    """`rms_norm` with a gain that is learned."""

    def __init__(self, d_model: int):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        return rms_norm(x, self.gain)


def slopes(heads: int, device=None) -> Float[Tensor, " heads"]:
    """ALiBi's m_h = 2^(−8h/heads), h = 1 … heads: each head its own."""
    return 2 ** (-8 * torch.arange(1, heads + 1, device=device) / heads)


def flash(
    query: Float[Tensor, "*batch target d_k"],
    key: Float[Tensor, "*batch source d_k"],
    value: Float[Tensor, "*batch source d_v"],
    tile: int,
    bias: Shaped[Tensor, "*#batch target source"] | None = None,
) -> Float[Tensor, "*batch target d_v"]:
    """softmax(Q Kᵀ / √d_k + bias) V, from so many keys at a time.

    What is kept of all keys before: the largest score μ, the sum ℓ of the
    exponentials and the sum o of the values, both as if μ were the maximum.
    Raises ValueError for a bias of True and False, which would count as 1, 0.
    """
    if bias is not None and not bias.is_floating_point():
        raise ValueError(f"bias is {bias.dtype}: give floats, −inf for False")
    most = torch.full_like(query[..., :1], torch.finfo(query.dtype).min)  # μ
    total = torch.zeros_like(most)  # ℓ
    context = torch.zeros_like(query[..., :1] * value[..., :1, :])  # o
    for first in range(0, key.shape[-2], tile):
        here = slice(first, first + tile)
        scores = query @ key[..., here, :].mT / math.sqrt(query.shape[-1])
        if bias is not None:
            scores = scores + bias[..., here]
        new = torch.maximum(most, scores.amax(-1, keepdim=True))
        raised = torch.exp(scores - new)
        shrink = torch.exp(most - new)  # the old sums had another maximum
        total = shrink * total + raised.sum(-1, keepdim=True)
        context = shrink * context + raised @ value[..., here, :]
        most = new
    return context / total


def traffic(length: int, d_k: int, tile: int | None = None) -> int:
    """Numbers that pass between HBM and SRAM, for one head.

    It has `length` queries and as many keys. Without tiles the scores are
    written, read, written as weights and read: 4 n² beside Q, K, V and the
    result. In tiles of so many queries Q and the result pass once, K and V
    once for each tile: 2 n d + 2 n d · n / tile.
    """
    if tile is None:
        return 4 * length**2 + 4 * length * d_k
    return 2 * length * d_k * (1 + math.ceil(length / tile))


def cache_bytes(
    layers: int,
    kv_heads: int,
    d_k: int,
    length: int,
    size: int = 2,
    window: int | None = None,
) -> int:
    """2 · layers · kv_heads · d_k · length · bytes of a number.

    The 2 is for keys and values; a number in half precision has 2 bytes. With
    a window no more than so many tokens are kept.
    """
    kept = length if window is None else min(length, window)
    return 2 * layers * kv_heads * d_k * kept * size


class TiledAttention(SelfAttention):
    """Self-attention by `flash`, which never has all the weights at once.

    Raises ValueError for a scale, since that of `flash` is 1/√d_k, and for a
    mask that is not of floats.
    """

    def __init__(self, *options, tile: int, **more):
        super().__init__(*options, **more)
        self.tile = tile

    def attend(self, query, key, value, mask, need_weights, scale):
        if scale is not None:
            raise ValueError(f"scale is {scale}: give None, flash has 1/√d_k")
        return flash(query, key, value, self.tile, mask), None


def biases(
    config: GPTConfig, target: int, source: int, device=None
) -> Float[Tensor, "#heads target source"]:
    """What is added to the scores: −∞ on what may not be seen, and ALiBi's
    −m_h · distance. The last query stands on the last key."""
    places = torch.arange(source, device=device)
    distance = places[source - target :, None] - places
    seen = distance >= 0
    if config.window is not None:
        seen &= distance < config.window
    bias = torch.zeros(1, target, source, device=device)
    if config.positions == "alibi":
        m = slopes(config.heads, device)
        bias = -m[:, None, None] * distance
    return bias.masked_fill(~seen, -torch.inf)


class Experts(nn.Module):
    """Feed-forward layers side by side; a router sends each token to one.

    The result is the chosen expert's, times the router's probability for it,
    so that the router learns from the loss as well. With one expert the
    probability is 1, and it is the plain layer.
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        d, count = config.d_model, config.experts
        self.router = nn.Linear(d, count, bias=False)
        self.each = nn.ModuleList(
            FeedForward(d, width_of(config), config.activation)
            for _ in range(count)
        )

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """p_j FFN_j(x) with the likeliest j."""
        best, chosen = self.router(x).softmax(dim=-1).max(dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.each):
            mine = chosen == e
            out[mine] = best[mine][:, None] * expert(x[mine])
        return out


@contextmanager
def routing(model: nn.Module) -> Iterator[list[Tensor]]:
    """A list that gets each router's p, [batch, length, experts]."""
    found: list[Tensor] = []
    hooks = [
        part.router.register_forward_hook(
            lambda _, __, scores: found.append(scores.softmax(dim=-1))
        )
        for part in model.modules()
        if isinstance(part, Experts)
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def imbalance(p: Float[Tensor, "batch length experts"]) -> Float[Tensor, ""]:
    """experts · Σ_e (share of tokens sent to e) · (mean p_e); 1 if even.

    Fedus et al. 2021, eq. 4: added to the loss, lest one expert get all.
    """
    count, chosen = p.shape[-1], p.argmax(dim=-1)
    sent = torch.bincount(chosen.flatten(), minlength=count)
    share = sent / chosen.numel()
    return count * (share * p.flatten(0, 1).mean(0)).sum()


class Block(nn.Module):
    """Attention, then a feed-forward layer, with sums and norms around."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        d, norm = config.d_model, RMSNorm if config.rms else nn.LayerNorm
        kind = SelfAttention
        if config.tile is not None:
            kind = partial(TiledAttention, tile=config.tile)
        self.attention = kind(
            d,
            config.heads,
            kv_heads=config.kv_heads,
            bias=False,
            rope=config.positions == "rope",
        )
        self.around_attention = Sublayer(d, 0.0, config.norm, kind=norm)
        self.feedforward = (
            Experts(config)
            if config.experts > 1
            else FeedForward(d, width_of(config), config.activation)
        )
        self.around_feedforward = Sublayer(d, 0.0, config.norm, kind=norm)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        bias: Float[Tensor, "#heads length source"],
        cache: KVCache | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """x changed twice."""
        x = self.around_attention(
            x, lambda x: self.attention(x, bias, cache)[0]
        )
        return self.around_feedforward(x, self.feedforward)


class GPT(nn.Module):
    """Letters in, for each place the logits of the next letter out."""

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config, d = config, config.d_model
        self.embedding = nn.Embedding(config.vocab, d)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        last = RMSNorm if config.rms else nn.LayerNorm
        self.norm = last(d) if config.norm == "pre" else nn.Identity()
        self.output = nn.Linear(d, config.vocab, bias=False)
        xavier(self)

    def start(self) -> list[KVCache]:
        """A cache for each block, which holds no token yet."""
        return [KVCache(window=self.config.window) for _ in self.blocks]

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        caches: list[KVCache] | None = None,
    ) -> Float[Tensor, "batch length vocab"]:
        """With caches, `tokens` are those after the ones they hold."""
        caches = caches or [None] * len(self.blocks)
        x, length, start, kept = self.embedding(tokens), tokens.shape[1], 0, 0
        if first := caches[0]:
            start, kept = first.length, first.kept()
        if self.config.positions == "sinusoidal":
            fine = torch.promote_types(x.dtype, torch.float32)
            sines = sinusoidal(length, x.shape[-1], start, x.device, fine)
            x = x + sines.to(x.dtype)
        bias = biases(self.config, length, kept + length, x.device).to(x.dtype)
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, bias, cache)
        return self.output(self.norm(x))


@torch.no_grad()
def generate(
    model: GPT,
    tokens: Int[Tensor, "batch length"],
    count: int,
    cached: bool = True,
    temperature: float = 1.0,
) -> Int[Tensor, "batch _"]:
    """So many letters more, drawn one by one; at temperature 0 the likeliest.

    Without the cache every step reads the whole text again.
    """
    caches, given = model.start() if cached else None, tokens
    for _ in range(count):
        logits = model(given, caches)[:, -1]
        if temperature:
            p = (logits / temperature).softmax(dim=-1)
            new = torch.multinomial(p, 1)
        else:
            new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
        given = new if cached else tokens
    return tokens


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a model's published config says, in the book's symbols."""

    layers: int  # num_hidden_layers, n_layer
    d_model: int  # hidden_size, n_embd
    heads: int  # num_attention_heads, n_head
    kv_heads: int  # num_key_value_heads
    d_ff: int  # intermediate_size
    vocab: int  # vocab_size
    positions: int = 0  # rows of a learned table; 0 with RoPE
    tied: bool = False  # tie_word_embeddings
    gated: bool = True  # SwiGLU: a third matrix
    biases: bool = False  # of the linear maps; with them LayerNorm has one
    window: int | None = None  # sliding_window
    head_dim: int | None = None  # where it is not hidden_size / heads
    qk_norm: bool = False  # an RMSNorm of queries and one of keys
    experts: int = 0  # num_local_experts; more than 0: with a router

    @property
    def d_k(self) -> int:
        return self.head_dim or self.d_model // self.heads

    def parameters(self) -> int:
        """Every weight, counted by formula."""
        d, q, kv = self.d_model, self.heads * self.d_k, self.kv_heads * self.d_k
        maps = 3 if self.gated else 2
        attention = 2 * d * q + 2 * d * kv  # W_Q and W_O; W_K and W_V
        attention += 2 * self.d_k * self.qk_norm
        feedforward = maps * d * self.d_ff
        if self.experts:
            feedforward = self.experts * (feedforward + d)
        norms = 2 * d * (1 + self.biases)
        biases = self.biases * (q + d + 2 * kv + (maps - 1) * self.d_ff + d)
        tables = (1 if self.tied else 2) * self.vocab + self.positions
        last = d * (1 + self.biases)
        layer = attention + feedforward + norms + biases
        return tables * d + self.layers * layer + last

    def cache(self, length: int, size: int = 2) -> int:
        """Bytes of its KV cache."""
        return cache_bytes(
            self.layers, self.kv_heads, self.d_k, length, size, self.window
        )


PUBLISHED = {
    "GPT-2 small": Published(
        layers=12,
        d_model=768,
        heads=12,
        kv_heads=12,
        d_ff=3072,
        vocab=50257,
        positions=1024,
        tied=True,
        gated=False,
        biases=True,
    ),
    "Llama 2 7B": Published(
        layers=32,
        d_model=4096,
        heads=32,
        kv_heads=32,
        d_ff=11008,
        vocab=32000,
    ),
    "Mistral 7B": Published(
        layers=32,
        d_model=4096,
        heads=32,
        kv_heads=8,
        d_ff=14336,
        vocab=32000,
        window=4096,
    ),
    "Qwen3 0.6B": Published(
        layers=28,
        d_model=1024,
        heads=16,
        kv_heads=8,
        d_ff=3072,
        vocab=151936,
        tied=True,
        head_dim=128,
        qk_norm=True,
    ),
}
