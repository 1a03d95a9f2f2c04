r"""Parameter counts: where the weights of real models are, by formula.

With d = d_model, V the vocabulary and L layers, the matrices hold

    embeddings     V d a table, and P d for learned positions
    attention      4 d² each: W_Q, W_K, W_V and W_O, however many heads
    feed-forward   2 d d_ff a layer, 3 d d_ff with a gate
    experts        feed-forward layers of width d_expert each, and a
                   router with experts · (d + 1) numbers
    norms, biases  every vector that is left

Vaswani et al. 2017, section 3 and table 3; Shazeer 2020 for the gate;
DeepSeek-AI 2024, arXiv 2412.19437, section 4.2, for experts and the
compressed ("latent") attention. The widget `parameter_budget` computes the
same in the page; the tests compare both with models built in torch.
"""

from dataclasses import dataclass

PARTS = ("embeddings", "attention", "feed-forward", "router", "norms, biases")
Q_RANK, KV_RANK, D_NOPE, D_ROPE, D_V = 1536, 512, 128, 64, 128  # DeepSeek-V3
LIMIT = 2**53  # a browser counts exactly up to here


@dataclass(frozen=True)
class Sizes:
    """All that a count needs; with both stacks there is cross-attention."""

    d_model: int
    d_ff: int
    heads: int
    vocab: int
    encoder: int = 0  # layers
    decoder: int = 0
    positions: int = 0  # rows that are learned
    tied: bool = True  # one table for source, target and output
    gated: bool = False  # SwiGLU: a third matrix
    experts: int = 0  # 0: every layer is dense
    active: int = 0  # routed experts that a token uses
    shared: int = 0  # experts that every token uses
    d_expert: int = 0  # 0: as wide as d_ff
    dense: int = 0  # layers before the first with experts
    biases: bool = True  # of linear maps and of norms
    latent: bool = False  # DeepSeek-V3's attention
    norms: int = 0  # besides those of the layers
    segments: int = 0  # BERT: rows for sentence A and B
    pooler: bool = False  # BERT: one more d² at the end

    def __post_init__(self):
        for name, value in vars(self).items():
            if type(value) is not int and type(value) is not bool:
                raise ValueError(f"{name} is {value!r}, not a whole number")
            low = 1 if name in ("d_model", "d_ff", "heads", "vocab") else 0
            if value < low:
                raise ValueError(f"{name} is {value}: at least {low}")
        if self.layers == 0:
            raise ValueError("no layers: give encoder or decoder at least one")
        if self.d_model % self.heads and not self.latent:
            raise ValueError(
                f"{self.heads} heads cannot share d_model {self.d_model}"
                " equally"
            )
        if self.active > self.experts:
            raise ValueError(
                f"active is {self.active}, and there are {self.experts} experts"
            )
        if sum(count(self).values()) >= LIMIT:
            raise ValueError("more than 2^53 parameters: not counted")

    @property
    def layers(self) -> int:
        return self.encoder + self.decoder

    @property
    def wide(self) -> int:
        """Hidden units of one expert."""
        return self.d_expert or self.d_ff

    @property
    def sparse(self) -> int:
        """Layers with experts."""
        any_expert = self.experts + self.shared
        return max(0, self.layers - self.dense) if any_expert else 0


def count(sizes: Sizes) -> dict[str, int]:
    """Parameters of every part; the five sum to the whole model."""
    s, d = sizes, sizes.d_model
    tables = 1 if s.tied else bool(s.encoder) + 2 * bool(s.decoder)
    attentions = s.layers + (s.decoder if s.encoder else 0)
    maps = 3 if s.gated else 2
    flat = s.layers - s.sparse
    width = flat * s.d_ff + s.sparse * (s.experts + s.shared) * s.wide
    if s.latent:
        each = d * (Q_RANK + KV_RANK + D_ROPE) + s.heads * (
            Q_RANK * (D_NOPE + D_ROPE) + KV_RANK * (D_NOPE + D_V) + D_V * d
        )
        vectors = attentions * (Q_RANK + KV_RANK)
    else:
        each, vectors = 4 * d * d, attentions * 4 * d * s.biases
    blocks = flat + s.sparse * (s.experts + s.shared)  # feed-forward layers
    vectors += (blocks * d + (maps - 1) * width) * s.biases
    vectors += (attentions + s.layers + s.norms) * d * (1 + s.biases)
    vectors += d * (s.pooler and s.biases)
    return {
        "embeddings": (s.vocab * tables + s.positions + s.segments) * d
        + d * d * s.pooler,
        "attention": attentions * each,
        "feed-forward": maps * d * width,
        "router": s.sparse * s.experts * (d + 1),
        "norms, biases": vectors,
    }


def touched(sizes: Sizes) -> int:
    """Parameters that one token uses: experts not chosen are left out."""
    maps = 3 if sizes.gated else 2
    idle = sizes.sparse * (sizes.experts - sizes.active)
    per_expert = maps * sizes.d_model * sizes.wide
    if sizes.biases:
        per_expert += (maps - 1) * sizes.wide + sizes.d_model
    return sum(count(sizes).values()) - idle * per_expert


def gpt(d_model: int, layers: int, heads: int, positions: int) -> Sizes:
    """OpenAI's shape: a decoder alone, learned positions, a last norm."""
    return Sizes(
        d_model,
        4 * d_model,
        heads,
        50257,
        decoder=layers,
        positions=positions,
        norms=1,
    )


MODELS = {
    "Transformer base": Sizes(512, 2048, 8, 37_000, encoder=6, decoder=6),
    "Transformer big": Sizes(1024, 4096, 16, 37_000, encoder=6, decoder=6),
    "BERT-base": Sizes(
        768,
        3072,
        12,
        30522,
        encoder=12,
        positions=512,
        norms=1,
        segments=2,
        pooler=True,
    ),
    "GPT-2 small": gpt(768, 12, 12, 1024),
    "GPT-3": gpt(12288, 96, 96, 2048),
    "DeepSeek-V3": Sizes(
        7168,
        18432,
        128,
        129_280,
        decoder=61,
        tied=False,
        gated=True,
        experts=256,
        active=8,
        shared=1,
        d_expert=2048,
        dense=3,
        biases=False,
        latent=True,
        norms=1,
    ),
}
REPORTED = {  # what the papers say
    "Transformer base": "65 M",
    "Transformer big": "213 M",
    "BERT-base": "110 M",
    "GPT-2 small": "117 M",
    "GPT-3": "175 B",
    "DeepSeek-V3": "671 B",
}
