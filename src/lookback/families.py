r"""BERT, GPT, T5 and ViT: one stack, four masks, four training objectives.

A stack of the Transformer's encoder layers and, as its output layer, the
transpose of the embedding matrix (weight tying):

    x = √d E[token] + P[position]
    x = layer_L(… layer_1(x, mask) …, mask)
    p(token | what was seen) = softmax(E LN(x))

    GPT   Radford et al. 2018: i sees j ≤ i; predicts the word at i + 1
    BERT  Devlin et al. 2018, arXiv 1810.04805: all see all; predicts the
          words that `mask_tokens` has masked
    T5    Raffel et al. 2019, arXiv 1910.10683: the source sees itself, the
          target the source and j ≤ i; predicts the missing `spans`
    ViT   Dosovitskiy et al. 2020, arXiv 2010.11929: all see all; the tokens
          are `patches` of a picture, and it predicts what that shows

Departures: sizes; words for subwords; GPT and BERT are post-norm, as in
2017, this is pre-norm, as ViT is; BERT's second objective (does one sentence
follow the other?) is left out, as in most of its heirs; T5 needs two stacks,
and `attention_mask` has their masks side by side, which is the prefix mask of
a single stack.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from lookback.attention import causal
from lookback.layers import Embedding, EncoderLayer, LayerConfig, xavier
from lookback.positions import LearnedPositions
from lookback.vocabulary import END, PAD, SPECIALS, START, UNK

FAMILIES = ("GPT", "BERT", "T5", "ViT")
MASK = len(SPECIALS)  # the number of <mask>: first of a body's own words
MASKED = "<mask>"


@dataclass(frozen=True)
class BodyConfig:
    """Sizes of a body; GPT's of 2018 and BERT-base's are alike."""

    vocab: int  # about 40,000 and 30,000 pieces of words
    d_model: int = 128  # 768
    heads: int = 4  # 12
    layers: int = 4  # 12
    d_ff: int = 512  # 3072
    dropout: float = 0.1
    longest: int = 64  # 512
    activation: str = "gelu"


def attention_mask(
    tokens: Int[Tensor, "batch length"],
    family: str,
    prefix: Int[Tensor, " batch"] | None = None,
) -> Bool[Tensor, "batch 1 length length"]:
    """The mask of a family: True where place i (row) may see place j.

    Nobody sees padding. T5's is the masks of its two stacks side by side, the
    prefix mask; `prefix` says how many tokens are source.
    Raises ValueError for another family.
    """
    if family not in FAMILIES:
        raise ValueError(f"family is {family!r}: one of {', '.join(FAMILIES)}")
    length = tokens.shape[1]
    if family in ("BERT", "ViT"):
        seen = tokens.new_ones(length, length, dtype=torch.bool)
    else:
        seen = causal(length, tokens.device)
    if family == "T5":
        place = torch.arange(length, device=tokens.device)
        seen = seen | (place < prefix[:, None])[:, None]
    return (seen & (tokens != PAD)[:, None])[:, None]


def stack(
    config: "BodyConfig | ViTConfig", activation: str = "gelu"
) -> nn.ModuleList:
    """Encoder layers, norms first; their maps drawn as in the Transformer."""
    layer = LayerConfig(
        d_model=config.d_model,
        heads=config.heads,
        d_ff=config.d_ff,
        dropout=config.dropout,
        norm="pre",
        activation=activation,
    )
    layers = nn.ModuleList(EncoderLayer(layer) for _ in range(config.layers))
    xavier(layers)
    return layers


class Body(nn.Module):
    """Words in, logits out; which family it is, the mask decides."""

    def __init__(self, config: BodyConfig):
        super().__init__()
        self.config = config
        self.embedding = Embedding(
            config.vocab,
            config.d_model,
            "learned",
            config.dropout,
            config.longest,
        )
        self.layers = stack(config, config.activation)
        self.last = nn.LayerNorm(config.d_model)

    def hidden_states(
        self,
        tokens: Int[Tensor, "batch length"],
        mask: Bool[Tensor, "#batch 1 length length"],
    ) -> list[Float[Tensor, "batch length d_model"]]:
        """x before the first layer, and after each: layers + 1 of them."""
        levels = [self.embedding(tokens)]
        for layer in self.layers:
            levels.append(layer(levels[-1], mask))
        return levels

    def logits(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch vocab"]:
        """E LN(x): how well each word of the vocabulary fits here."""
        return F.linear(self.last(x), self.embedding.words.weight)

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        mask: Bool[Tensor, "#batch 1 length length"],
    ) -> Float[Tensor, "batch length vocab"]:
        return self.logits(self.hidden_states(tokens, mask)[-1])


def next_words(
    body: Body, tokens: Int[Tensor, "batch length"], family: str = "GPT"
) -> Float[Tensor, " words"]:
    """Causal language model: −log p of each word, given those before it."""
    given, asked = tokens[:, :-1], tokens[:, 1:]
    x = body.hidden_states(given, attention_mask(given, family))[-1]
    there = asked != PAD
    return F.cross_entropy(
        body.logits(x[there]).float(), asked[there], reduction="none"
    )


def masked_words(
    body: Body,
    corrupted: Int[Tensor, "batch length"],
    tokens: Int[Tensor, "batch length"],
    chosen: Bool[Tensor, "batch length"],
) -> Float[Tensor, " words"]:
    """Masked language model: −log p of each chosen word, given the rest."""
    x = body.hidden_states(corrupted, attention_mask(corrupted, "BERT"))[-1]
    return F.cross_entropy(
        body.logits(x[chosen]).float(), tokens[chosen], reduction="none"
    )


def mask_tokens(
    tokens: Int[Tensor, "batch length"],
    vocab: int,
    share: float = 0.15,
) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
    """BERT's masking: tokens with some words corrupted, and which these are.

    Each word is chosen with probability `share`. Of the chosen, 80 % become
    <mask>, 10 % any word at all, and 10 % stay as they are; the loss is of all
    of the chosen, and of no other. The ends and padding are never chosen.
    """
    word = (tokens != PAD) & (tokens != START) & (tokens != END)
    chosen = word & (torch.rand(tokens.shape, device=tokens.device) < share)
    fate = torch.rand(tokens.shape, device=tokens.device)
    other = torch.randint_like(tokens, MASK + 1, vocab)
    corrupted = torch.where(chosen & (fate < 0.8), MASK, tokens)
    corrupted = torch.where(chosen & (fate >= 0.9), other, corrupted)
    return corrupted, chosen


SENTINELS = ("<X>", "<Y>", "<Z>")  # marks of missing spans; T5 has a hundred


def spans(
    words: Sequence[str], places: Sequence[tuple[int, int]]
) -> tuple[list[str], list[str]]:
    """T5's corruption: the text without some spans, and the spans alone.

    `places` are the spans, (first word, how many words), from left to right;
    they do not touch. Each leaves one mark, a sentinel, in the source. In the
    target the same mark stands before its words, and one more ends it.

    Raises:
        ValueError: for as many spans as there are marks; one is for the end.
    """
    if len(places) >= len(SENTINELS):
        raise ValueError(
            f"{len(places)} spans and {len(SENTINELS)} marks, one of them for"
            " the end: give fewer spans"
        )
    source, target, at = [], [], 0
    for mark, (start, length) in zip(SENTINELS, places, strict=False):
        source += [*words[at:start], mark]
        target += [mark, *words[start : start + length]]
        at = start + length
    return [*source, *words[at:]], [*target, SENTINELS[len(places)]]


def patches(
    pictures: Float[Tensor, "batch side side"], size: int
) -> Float[Tensor, "batch patches pixels"]:
    """ViT's tokens: squares of size · size pixels, row by row, each flattened.

    Raises ValueError where they do not cover the picture.
    """
    side = pictures.shape[-1]
    if side % size:
        raise ValueError(f"squares of {size} do not cover a side of {side}")
    count = side // size
    cut = pictures.unflatten(2, (count, size)).unflatten(1, (count, size))
    return cut.transpose(2, 3).flatten(3).flatten(1, 2)


@dataclass(frozen=True)
class ViTConfig:
    """Sizes of a Vision Transformer; those of ViT-Base beside ours."""

    side: int = 24  # 224 pixels
    patch: int = 6  # 16
    classes: int = 26  # 1,000
    d_model: int = 64  # 768
    heads: int = 4  # 12
    layers: int = 3  # 12
    d_ff: int = 256  # 3072
    dropout: float = 0.0
    positions: bool = True


class ViT(nn.Module):
    """Patches for words, and one more token, whose last vector is classified.

    x_0 = c + p_0,   x_i = W patch_i + b + p_i
    p(class) = softmax(V LN(x_0 after L layers))
    """

    def __init__(self, config: ViTConfig):
        super().__init__()
        self.config = config
        count = (config.side // config.patch) ** 2
        self.embed = nn.Linear(config.patch**2, config.d_model)
        self.first = nn.Parameter(torch.zeros(config.d_model))  # c
        self.positions = LearnedPositions(count + 1, config.d_model)
        self.layers = stack(config)
        self.last = nn.LayerNorm(config.d_model)
        self.output = nn.Linear(config.d_model, config.classes)

    def forward(
        self, pictures: Float[Tensor, "batch side side"]
    ) -> Float[Tensor, "batch classes"]:
        words = self.embed(patches(pictures, self.config.patch))
        first = self.first.expand(len(words), 1, -1)
        x = torch.cat([first, words], dim=1)
        if self.config.positions:
            x = x + self.positions(x.shape[1])
        for layer in self.layers:
            x = layer(x)
        return self.output(self.last(x[:, 0]))


def sampling_probs(
    logits: Float[Tensor, "*batch vocab"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Float[Tensor, "*batch vocab"]:
    """The probabilities from which the next word is sampled.

    softmax(logits / temperature), or the likeliest at temperature 0; of these
    the `top_k` largest, if it is given; of these the fewest, largest first,
    whose sum reaches `top_p` of what is left. What remains is divided by its
    sum.

    Raises:
        ValueError: for temperature < 0, top_k < 1, or a top_p of 0 or less.
    """
    if temperature < 0 or top_p <= 0 or (top_k is not None and top_k < 1):
        raise ValueError(
            f"temperature is {temperature}, top_k {top_k}, top_p {top_p}: give"
            " a temperature of 0 or more, a top_k of 1 or more or None, and a"
            " top_p above 0"
        )
    if temperature == 0:
        temperature, top_k = 1.0, 1
    p = torch.softmax(logits / temperature, dim=-1)
    ordered, order = p.sort(dim=-1, descending=True)
    if top_k is not None:
        ordered[..., top_k:] = 0
    if top_p < 1:
        ordered = ordered / ordered.sum(dim=-1, keepdim=True)
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.masked_fill(before >= top_p, 0)
    kept = torch.zeros_like(p).scatter(-1, order, ordered)
    return kept / kept.sum(dim=-1, keepdim=True)


SILENT = (PAD, UNK, START, MASK)  # never written


@torch.no_grad()
def generate(
    body: Body,
    tokens: Sequence[int],
    most: int = 20,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> list[int]:
    """Sample from a GPT: one word after another, until <end>; no dropout."""
    body.eval()
    written = list(tokens)
    where = body.last.weight.device
    while len(written) < body.config.longest and most > 0:
        given = torch.tensor([written], device=where)
        logits = body(given, attention_mask(given, "GPT"))[0, -1]
        logits[list(SILENT)] = -torch.inf
        p = sampling_probs(logits, temperature, top_k, top_p)
        written.append(int(torch.multinomial(p, 1)))
        most -= 1
        if written[-1] == END:
            break
    return written


@torch.no_grad()
def gibbs_sample(
    body: Body, tokens: Int[Tensor, "batch length"], rounds: int
) -> Int[Tensor, "batch length"]:
    """Sample from a BERT: mask a word, draw it anew, then another (Gibbs
    sampling; Wang & Cho 2019). In each round it takes every word once."""
    body.eval()
    tokens = tokens.clone()
    word = (tokens != PAD) & (tokens != END)
    inner = torch.arange(1, tokens.shape[1] - 1).tolist()
    for _ in range(rounds):
        for i in (inner[k] for k in torch.randperm(len(inner))):
            given = tokens.clone()
            given[word[:, i], i] = MASK
            logits = body(given, attention_mask(given, "BERT"))[:, i]
            logits[:, [*SILENT, END]] = -torch.inf
            p = torch.softmax(logits, dim=-1)
            drawn = torch.multinomial(p, 1)[:, 0]
            tokens[:, i] = torch.where(word[:, i], drawn, tokens[:, i])
    return tokens


class Guess(NamedTuple):
    """What a GPT gives each candidate at one position of a sentence."""

    left: Float[Tensor, " candidates"]  # log p(word | the words before)
    whole: Float[Tensor, " candidates"]  # log p(the sentence with it)


@torch.no_grad()
def rescore(
    body: Body,
    tokens: Int[Tensor, " length"],
    place: int,
    candidates: Int[Tensor, " candidates"],
) -> Guess:
    """A GPT's log-likelihood of candidates for one word of a sentence.

    `whole` leaves out what is the same for every candidate: the words before.
    """
    body.eval()
    rows = tokens.repeat(len(candidates), 1)
    rows[:, place] = candidates
    given, asked = rows[:, :-1], rows[:, 1:]
    x = body.hidden_states(given, attention_mask(given, "GPT"))[-1][
        :, place - 1 :
    ]
    each = torch.log_softmax(body.logits(x), dim=-1)
    each = each.gather(-1, asked[:, place - 1 :, None])[..., 0]
    each = each * (asked[:, place - 1 :] != PAD)
    return Guess(each[:, 0], each.sum(dim=-1))
