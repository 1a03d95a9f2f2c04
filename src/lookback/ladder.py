r"""The ladder: from a fixed vector to the Transformer, one change a rung.

Every rung is one `Parts`, and neighbours differ in one field of it:

    reader     what reads the source in order: a GRU one way, or both ways
    beside     whether each word's embedding stands beside the reader's states
    look       what of the source a recurrent decoder is handed at each word
                   fixed      c = tanh(V [→h_T; ←h_1])
                   diagonal   c_i = h_i: two cursors that move together
                   additive   RNNsearch's look, `rnnsearch.AdditiveAttention`
                   dot        e_ij = (W_a s_{i−1}) · (U_a h_j) / √d_k
                   inside, outside   `latent_alignment.Mixing`: softmax of a
                              sum, sum of softmaxes
                   cursors    `transducer.Transducer`: every monotone path,
                              summed
    positions, layers, heads, d_ff, residual, norm
                   the stack of `layers` that stands in a reader's place
    part_dropout   what is dropped in that stack, where it is not as elsewhere
    decoder    a GRU that looks once a word, or the Transformer's layers
    readout    the maxout of 2014, one matrix, or the target's embeddings (tied)

All rungs are drawn by `draw`, embed words alike (`layers.Embedding`) and drop
at the same places: both sides' embeddings, what a sublayer gives back, and what
a maxout is handed of the source and of the decoder's state.

The diagonal is the stop-gap that came before RNNsearch (Bahdanau's e-mail,
published by Karpathy 2024); the dot product is Luong et al. 2015, section 3.1,
scaled as in Vaswani et al. 2017. The decoder starts from s_0 = tanh(W_s last),
where last is h_T (one-way), ←h_1 (two-way) or the mean of the words.
"""

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from lookback.attention import attend
from lookback.bottleneck import Readout, RecurrentTranslator, reverse
from lookback.latent_alignment import Mixing, MixingConfig
from lookback.layers import Embedding, EncoderLayer, LayerConfig
from lookback.rnnsearch import AdditiveAttention, annotate
from lookback.transducer import Transducer, TransducerConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator
from lookback.vocabulary import PAD

CHOICES = {
    "reader": ("one-way", "two-way", "none"),
    "look": (
        "fixed",
        "diagonal",
        "additive",
        "dot",
        "inside",
        "outside",
        "cursors",
    ),
    "decoder": ("recurrent", "attention"),
    "readout": ("maxout", "linear", "tied"),
}
# Of looks that are machines of their own: how wide the maxout is where all else
# is 128 wide. So they have as many weights as RNNsearch, within 1 %.
MAXOUT = {"inside": 76, "outside": 76, "cursors": 93}


@dataclass(frozen=True)
class Parts:
    """What a rung is made of; the defaults are the first rung's.

    Raises ValueError for a name that is not known, and for fields that exclude
    each other.
    """

    source_vocab: int = 0  # the corpus fills them in
    target_vocab: int = 0
    width: int = 128  # of every vector
    dropout: float = 0.3
    part_dropout: float | None = None  # in the stack; None: as elsewhere
    reader: str = "one-way"
    reverse: bool = False  # the source is read from its end
    beside: bool = False  # [→h_j; ←h_j; E x_j]: the word itself, beside h_j
    look: str = "fixed"
    positions: str = "none"
    layers: int = 0
    heads: int = 1
    d_ff: int = 0  # 0: no feed-forward layer
    residual: bool = False
    norm: str = "none"
    decoder: str = "recurrent"
    readout: str = "maxout"

    def __post_init__(self):
        for name, known in CHOICES.items():
            if (found := getattr(self, name)) not in known:
                raise ValueError(
                    f"{name} is {found!r}: choose one of {', '.join(known)}"
                )
        if self.part_dropout is not None and self.decoder != "recurrent":
            raise ValueError(
                "part_dropout is for a stack under a recurrent decoder: the"
                " Transformer has one dropout"
            )
        if self.layers and self.reader != "none":
            raise ValueError(
                f"layers is {self.layers} and reader {self.reader!r}: layers"
                ' stand in a reader\'s place, give reader="none"'
            )


class Source(NamedTuple):
    """What a recurrent decoder may be handed of the source."""

    values: Float[Tensor, "batch source d_v"]  # h_j, or c alone
    keys: Float[Tensor, "batch source align"]  # U_a h_j, for a look
    mask: Bool[Tensor, "batch source"]  # True = may be looked at
    last: Float[Tensor, "batch width"]  # for s_0


class Walk(NamedTuple):
    """The decoder's state, and how many words it has written."""

    hidden: Float[Tensor, "batch width"]
    place: Int[Tensor, " batch"]


class FixedVector(nn.Module):
    """The same c at every word."""

    def __init__(self, d_value: int):
        super().__init__()
        self.V = nn.Linear(d_value, d_value)

    def prepare(self, values, mask, last):
        """c = tanh(V h_T); read both ways, tanh(V [→h_T; ←h_1])."""
        end = mask.sum(1) - 1
        summary = values[torch.arange(len(end), device=end.device), end]
        if (forward := values.shape[-1] - last.shape[-1]) > 0:
            summary = torch.cat([summary[:, :forward], last], dim=-1)
        c = torch.tanh(self.V(summary))[:, None]
        return Source(c, c, mask[:, :1], last)

    def forward(self, state: Walk, source: Source):
        return source.values[:, 0], None


class Diagonal(nn.Module):
    """For word i the vector of the source's word i, and at its end the last."""

    def prepare(self, values, mask, last):
        return Source(values, values, mask, last)

    def forward(self, state: Walk, source: Source):
        place = torch.minimum(state.place, source.mask.sum(1) - 1)
        weights = nn.functional.one_hot(place, source.mask.shape[1])
        rows = torch.arange(len(place), device=place.device)
        return source.values[rows, place], weights.to(source.values.dtype)


class DotProductAttention(nn.Module):
    """RNNsearch's look with a product where it has a sum and a tanh."""

    def __init__(self, d_query: int, d_key: int, align: int):
        super().__init__()
        self.W = nn.Linear(d_query, align, bias=False)  # W_a
        self.U = nn.Linear(d_key, align)  # U_a and a bias

    def forward(
        self,
        query: Float[Tensor, "batch d_query"],
        keys: Float[Tensor, "batch source align"],
        values: Float[Tensor, "batch source d_v"],
        mask: Bool[Tensor, "batch source"],
    ) -> tuple[Float[Tensor, "batch d_v"], Float[Tensor, "batch source"]]:
        """One query for each sentence."""
        context, weights = attend(
            self.W(query)[:, None], keys, values, mask[:, None]
        )
        return context[:, 0], weights[:, 0]


class Search(nn.Module):
    """A look at the whole source, from the state s_{i−1}."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention

    def prepare(self, values, mask, last):
        """U_a h_j is computed once for all words."""
        return Source(values, self.attention.U(values), mask, last)

    def forward(self, state: Walk, source: Source):
        return self.attention(
            state.hidden, source.keys, source.values, source.mask
        )


class DroppingReadout(Readout):
    """The readout of 2014, with dropout on the context that it reads."""

    def __init__(self, d_in: int, maxout: int, vocab: int, dropout: float):
        super().__init__(d_in, maxout, vocab)
        self.dropout = nn.Dropout(dropout)

    def forward(self, state: Tensor, embedded: Tensor, context: Tensor):
        return super().forward(state, embedded, self.dropout(context))


def layer_options(parts: Parts) -> dict:
    """What a Transformer's layer of this rung is told."""
    return {
        "d_model": parts.width,
        "heads": parts.heads,
        "d_ff": parts.d_ff,
        "dropout": parts.dropout,
        "norm": parts.norm,
        "residual": parts.residual,
    }


class Recurrent(RecurrentTranslator):
    """Any reader or stack, any look, and the recurrent decoder of 2014."""

    def __init__(self, config: Parts):
        width = config.width
        d_value = 2 * width if config.reader == "two-way" else width
        d_value += width if config.beside else 0
        sizes = _Sizes(config.target_vocab, width, width, width, config.dropout)
        super().__init__(sizes, context=d_value)
        self.config = config
        self.readout = DroppingReadout(
            2 * width + d_value, width, config.target_vocab, config.dropout
        )
        self.target_embedding = Embedding(config.target_vocab, width, "none")
        self.source_embedding = Embedding(
            config.source_vocab, width, config.positions
        )
        if config.reader != "none":
            self.reader = nn.GRU(
                width,
                width,
                batch_first=True,
                bidirectional=config.reader == "two-way",
            )
        layer = layer_options(config)
        if config.part_dropout is not None:
            layer["dropout"] = config.part_dropout
        self.stack = nn.ModuleList(
            EncoderLayer(LayerConfig(**layer)) for _ in range(config.layers)
        )
        last = config.layers and config.norm == "pre"
        self.after_stack = nn.LayerNorm(width) if last else nn.Identity()
        self.bridge = nn.Linear(width, width)  # W_s
        self.looking = {
            "fixed": lambda: FixedVector(d_value),
            "diagonal": Diagonal,
            "additive": lambda: Search(
                AdditiveAttention(width, d_value, width)
            ),
            "dot": lambda: Search(DotProductAttention(width, d_value, width)),
        }[config.look]()

    def encode(self, source: Int[Tensor, "batch source"]) -> Source:
        """One vector for every source word, as the look wants them."""
        if self.config.reverse:
            source = reverse(source)
        mask = source != PAD
        embedded = self.source_embedding(source)
        x = self.dropout(embedded)
        if self.config.reader != "none":
            x = annotate(self.reader, x, mask)
            if self.config.reader == "two-way":
                last = x[:, 0, self.config.width :]  # ←h_1
            else:
                end = mask.sum(1) - 1
                last = x[torch.arange(len(end), device=end.device), end]  # h_T
            if self.config.beside:
                x = torch.cat([x, embedded], dim=-1)
        else:
            for layer in self.stack:
                x = layer(x, mask[:, None, None])
            x = self.after_stack(x)
            words = mask[..., None]
            last = (x * words).sum(1) / words.sum(1)
        return self.looking.prepare(x, mask, last)

    def start(self, memory: Source) -> Walk:
        """s_0 = tanh(W_s last), and no word written."""
        s_0 = torch.tanh(self.bridge(memory.last))
        place = torch.zeros(len(s_0), dtype=torch.long, device=s_0.device)
        return Walk(s_0, place)

    def look(self, state: Walk, memory: Source):
        return self.looking(state, memory)

    def advance(self, embedded, state, memory):
        """One word on, and one place."""
        moved, context, weights = super().advance(embedded, state, memory)
        return Walk(moved.hidden, state.place + 1), context, weights

    def step(self, token, state, memory):
        embedded = self.target_embedding(token[:, None])[:, 0]
        state, context, weights = self.advance(embedded, state, memory)
        return self.readout(state.hidden, embedded, context), state, weights


class _Sizes(NamedTuple):
    """What `RecurrentTranslator` asks of a config."""

    target_vocab: int
    embed: int
    hidden: int
    maxout: int
    dropout: float


class MaxoutTransformer(Transformer):
    """The Transformer with the readout of 2014 on its decoder."""

    def __init__(self, config: TransformerConfig):
        super().__init__(config)
        self.readout = Readout(
            config.d_model, config.d_model, config.target_vocab
        )
        self.dropout = nn.Dropout(config.dropout)

    def logits(self, y):
        """W_o maxout(O y)."""
        return self.readout(self.dropout(y))


def own(parts: Parts) -> Translator:
    """A look that is a machine of its own, with the rungs' embeddings."""
    width, maxout = parts.width, parts.width * MAXOUT[parts.look] // 128
    sizes = {
        "source_vocab": parts.source_vocab,
        "target_vocab": parts.target_vocab,
        "embed": width,
        "hidden": width,
        "maxout": maxout,
        "dropout": parts.dropout,
    }
    if parts.look == "cursors":
        model = Transducer(TransducerConfig(**sizes))
    else:
        outside = parts.look == "outside"
        model = Mixing(MixingConfig(**sizes, align=width, outside=outside))
    model.source_embedding = Embedding(parts.source_vocab, width, "none")
    model.target_embedding = Embedding(parts.target_vocab, width, "none")
    return model


def build(parts: Parts) -> Translator:
    """The untrained model, drawn by `draw`."""
    if parts.look in MAXOUT:
        return draw(own(parts))
    if parts.decoder == "recurrent":
        return draw(Recurrent(parts))
    kind = MaxoutTransformer if parts.readout == "maxout" else Transformer
    config = TransformerConfig(
        parts.source_vocab,
        parts.target_vocab,
        layers=parts.layers,
        positions=parts.positions,
        **layer_options(parts),
        tied="none" if parts.readout == "linear" else "output",
    )
    model = draw(kind(config))
    if parts.readout == "linear":  # as loud as the embeddings that follow it
        nn.init.normal_(model.output.weight, std=parts.width**-0.5)
    return model


def draw(model: Translator) -> Translator:
    """Every map Xavier, each gate for itself; every bias 0.

    Glorot & Bengio 2010. The embeddings keep their draw, and so does v_a of
    RNNsearch: it starts at 0, so that the first look is uniform.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.RNNBase | nn.RNNCellBase):
            for name, weight in module.named_parameters(recurse=False):
                if "bias" in name:
                    nn.init.zeros_(weight)
                else:
                    for gate in weight.chunk(3):
                        nn.init.xavier_uniform_(gate)
    return model


@dataclass(frozen=True)
class Rung:
    """One stop of the ladder, and what it changes in another."""

    name: str
    label: str
    before: str | None  # the rung that it changes
    change: str
    parts: Parts

    def make(self, source_vocab: int, target_vocab: int) -> Translator:
        """The untrained model for vocabularies of these sizes."""
        sizes = {"source_vocab": source_vocab, "target_vocab": target_vocab}
        return build(replace(self.parts, **sizes))


def differences(one: Parts, other: Parts) -> dict[str, tuple]:
    """The fields in which two rungs differ, with both values."""
    pairs = {
        f.name: (getattr(one, f.name), getattr(other, f.name))
        for f in fields(Parts)
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


FIXED = Parts()
BOTH_WAYS = replace(FIXED, reader="two-way")
DIAGONAL = replace(BOTH_WAYS, look="diagonal")
RNNSEARCH = replace(DIAGONAL, look="additive")
DOT = replace(RNNSEARCH, look="dot")
WORDS = replace(DOT, reader="none")
PLACED = replace(WORDS, positions="sinusoidal")
LOOKING = replace(PLACED, layers=1)
HEADS = replace(LOOKING, heads=4)
FEEDING = replace(HEADS, d_ff=512)
SUM = replace(FEEDING, residual=True)
NORM = replace(SUM, norm="pre")
DEEP = replace(NORM, layers=3)
ATTENDING = replace(DEEP, decoder="attention")
LINEAR = replace(ATTENDING, readout="linear")
TRANSFORMER = replace(LINEAR, readout="tied")
LADDER = (
    Rung(
        "fixed",
        "fixed vector",
        None,
        "One vector holds the whole sentence.",
        FIXED,
    ),
    Rung(
        "reversed",
        "source reversed",
        "fixed",
        "The same, the source read from its end.",
        replace(FIXED, reverse=True),
    ),
    Rung(
        "two-way",
        "bidirectional encoder",
        "fixed",
        "The one vector joins two encoders' last states, one from each end.",
        BOTH_WAYS,
    ),
    Rung(
        "diagonal",
        "diagonal",
        "two-way",
        "For word i the decoder is handed the encoder's state i.",
        DIAGONAL,
    ),
    Rung(
        "cursors",
        "transducer",
        "diagonal",
        "The marginal likelihood of all monotonic alignments is summed.",
        replace(DIAGONAL, look="cursors"),
    ),
    Rung(
        "rnnsearch",
        "RNNsearch",
        "diagonal",
        "The decoder attends to all states, with the additive score.",
        RNNSEARCH,
    ),
    Rung(
        "beside",
        "embeddings beside",
        "rnnsearch",
        "Beside each annotation stands the embedding of its word.",
        replace(RNNSEARCH, beside=True),
    ),
    Rung(
        "inside",
        "averaged inside",
        "rnnsearch",
        "What an annotation says does not go through the maxout.",
        replace(RNNSEARCH, look="inside"),
    ),
    Rung(
        "outside",
        "mixture",
        "inside",
        "Each annotation has its own distribution, and these are averaged.",
        replace(RNNSEARCH, look="outside"),
    ),
    Rung(
        "dot",
        "dot product",
        "rnnsearch",
        "The score is a scaled dot product.",
        DOT,
    ),
    Rung(
        "words",
        "no recurrent encoder",
        "dot",
        "The encoder is gone: attention goes to bare embeddings.",
        WORDS,
    ),
    Rung(
        "positions",
        "positions",
        "words",
        "Sinusoidal encodings are added to the embeddings.",
        PLACED,
    ),
    Rung(
        "self-attention",
        "self-attention",
        "positions",
        "A layer of self-attention follows, with one head.",
        LOOKING,
    ),
    Rung(
        "heads",
        "four heads",
        "self-attention",
        "The same with four heads.",
        HEADS,
    ),
    Rung(
        "feedforward",
        "feed-forward",
        "heads",
        "A feed-forward layer follows the attention.",
        FEEDING,
    ),
    Rung(
        "sum",
        "residual connections",
        "feedforward",
        "The output of each sublayer is added to its input.",
        SUM,
    ),
    Rung(
        "norm",
        "layer normalization",
        "sum",
        "LayerNorm before each sublayer (pre-norm).",
        NORM,
    ),
    Rung(
        "post-norm",
        "post-norm",
        "sum",
        "LayerNorm after each residual connection, as published.",
        replace(SUM, norm="post"),
    ),
    Rung(
        "depth",
        "three layers",
        "norm",
        "Three such layers.",
        DEEP,
    ),
    Rung(
        "decoder",
        "Transformer decoder",
        "depth",
        "Three Transformer layers replace the GRU decoder.",
        ATTENDING,
    ),
    Rung(
        "linear",
        "linear output",
        "decoder",
        "One matrix makes the logits; the maxout layer is gone.",
        LINEAR,
    ),
    Rung(
        "transformer",
        "Transformer",
        "linear",
        "The output matrix is that of the target embeddings.",
        TRANSFORMER,
    ),
)
RUNGS = {rung.name: rung for rung in LADDER}


def way_to(name: str) -> list[str]:
    """The rungs from the first one to this, each changed by the next."""
    rung = RUNGS[name]
    return [*(way_to(rung.before) if rung.before else []), name]
