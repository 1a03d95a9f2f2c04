"""Greedy and beam search for every translator, many sentences at once.

Beam search keeps the `width` best prefixes and, at the end, picks the one
with the highest log-probability per word (length normalisation as in Cho et
al. 2014b, arXiv 1409.1259), or per word to some other power of the length.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from lookback.lab import arguments
from lookback.lab.corpus import Pair, collate, pad
from lookback.translator import Translator
from lookback.vocabulary import END, PAD, START, UNK, Vocabulary


class Translation(NamedTuple):
    """Word numbers up to and with <end>, and how they came about."""

    tokens: list[int]
    score: float  # log-probability / length^power, <end> included
    weights: Tensor | None  # [target, source], None if it never looks


def limit(source: Int[Tensor, "batch source"]) -> Int[Tensor, " batch"]:
    """The longest translation that is tried: twice the source and 10."""
    source = arguments.rows("source", source)
    return 2 * (source != PAD).sum(dim=1) + 10


@torch.no_grad()
def greedy(
    model: Translator,
    source: Int[Tensor, "batch source"],
    longest: int | None = None,
    forbid_unknown: bool = False,
) -> list[Translation]:
    """The most probable word at every step."""
    return beam(model, source, 1, longest, forbid_unknown)


@torch.no_grad()
def beam(
    model: Translator,
    source: Int[Tensor, "batch source"],
    width: int = 5,
    longest: int | None = None,
    forbid_unknown: bool = False,
    power: float = 1.0,
) -> list[Translation]:
    """The best of `width` prefixes kept at every step, for each sentence.

    Raises ValueError for a width or a longest translation below 1, for a
    sentence without a word, and for a model whose logits are NaN.
    """
    arguments.translator(model)
    arguments.tokens("source", source, arguments.sizes(model)["source"])
    width = arguments.whole("width", width, 1)
    if longest is not None:
        longest = arguments.whole("longest", longest, 1)
    arguments.kind("forbid_unknown", forbid_unknown, bool, "True or False")
    power = arguments.number("power", power, 0)
    model.eval()
    count, where = len(source), source.device
    memory = model.encode(source)
    rows = torch.arange(count, device=where).repeat_interleave(width)
    state, memory = pick(model.start(memory), rows), pick(memory, rows)
    token = torch.full((count * width,), START, device=where)
    # Only the first of the equal prefixes may grow at the first step.
    total = torch.full((count, width), -torch.inf, device=where)
    total[:, 0] = 0.0
    lengths = torch.zeros(count, width, device=where)
    over = torch.zeros(count, width, dtype=torch.bool, device=where)
    tokens = token.new_empty(count, width, 0)
    looks: list[Tensor] = []
    origins: list[Tensor] = []  # in which row each prefix was a step before
    broken = torch.zeros((), dtype=torch.bool, device=where)
    base = torch.arange(count, device=where).unsqueeze(1) * width
    most = limit(source)
    if longest is not None:
        most = torch.full_like(most, longest)
    forbidden = [PAD, START] + [UNK] * forbid_unknown
    forbidden = torch.tensor(forbidden, device=where)
    for length in range(1, int(most.max()) + 1):
        logits, state, weights = model.step(token, state, memory)
        broken = broken | logits.isnan().any()
        logits = logits.float().index_fill(1, forbidden, -torch.inf)
        logp = torch.log_softmax(logits, -1).view(count, width, -1)
        # A finished prefix grows by <pad>, at no cost.
        logp.masked_fill_(over.unsqueeze(-1), -torch.inf)
        logp[..., PAD] = torch.where(over, 0.0, logp[..., PAD])
        grown = total.unsqueeze(-1) + logp
        grown_lengths = lengths + ~over
        ranked = grown / grown_lengths.unsqueeze(-1) ** power
        _, best = ranked.flatten(1).topk(width, dim=-1)
        origin, word = best // logp.shape[-1], best % logp.shape[-1]
        total = grown.flatten(1).gather(1, best)
        lengths, over = grown_lengths.gather(1, origin), over.gather(1, origin)
        rows = (base + origin).flatten()
        state, token = pick(state, rows), word.flatten()
        tokens = torch.cat(
            [
                tokens.flatten(0, 1)[rows].view(count, width, -1),
                word[..., None],
            ],
            dim=-1,
        )
        if weights is not None:
            looks.append(weights)
            origins.append(rows)
        over = over | (word == END) | (length >= most).unsqueeze(1)
        # All that is asked of the device in a step, at once.
        finished, diverged = torch.stack([over.all(), broken]).tolist()
        if diverged:
            raise ValueError(
                "the model's logits are NaN: its training has diverged;"
                " train it again with a lower learning rate"
            )
        if finished:
            break
    scores = total / lengths**power
    score, first = scores.max(dim=-1)
    rows = base.squeeze(1) + first
    found = tokens.flatten(0, 1)[rows].tolist()
    said = [[word for word in row if word != PAD] for row in found]
    return [
        Translation(*each)
        for each in zip(
            said,
            score.tolist(),
            retrace(looks, origins, rows, said, source),
            strict=True,
        )
    ]


def retrace(looks, origins, rows, said, source) -> list[Tensor | None]:
    """Where each of the prefixes in `rows` looked, [target, source].

    Back from the last word, since a prefix has changed its row on its way.
    """
    if not looks:
        return [None] * len(said)
    path = []
    for look, origin in zip(reversed(looks), reversed(origins), strict=True):
        rows = origin[rows]
        path.append(look[rows])
    weights = torch.stack(path[::-1], dim=1).cpu()
    words_in = (source != PAD).sum(dim=1).tolist()
    return [
        part[: len(words), :count].clone()
        for part, words, count in zip(weights, said, words_in, strict=True)
    ]


def pick(part, rows: Tensor):
    """The given rows of every tensor of a memory or a state."""
    if part is None:
        return None
    if isinstance(part, Tensor):
        return part[rows.to(part.device)]
    make = getattr(part, "_make", tuple)  # a NamedTuple stays one
    return make(pick(each, rows) for each in part)


def translate(
    model: Translator,
    sentences: Sequence[Sequence[str]],
    source: Vocabulary,
    target: Vocabulary,
    width: int = 1,
    size: int = 100,
    power: float = 1.0,
) -> list[tuple[list[str], Translation]]:
    """Words of the translation of each sentence, and their Translation.

    Sentences of about one length are decoded together; the answers come in
    the order of the questions. Raises ValueError for an empty sentence, and
    for vocabularies that are not the model's.
    """
    arguments.translator(model, source=source, target=target)
    for number, words in enumerate(arguments.sentences("sentences", sentences)):
        if not words:
            raise ValueError(f"sentences[{number}] is empty: give it a word")
    size = arguments.whole("size", size, 1)
    order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
    answers: dict[int, tuple[list[str], Translation]] = {}
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        numbers = pad([[*source.encode(sentences[i]), END] for i in chosen])
        found = beam(model, numbers.to(model.device), width, power=power)
        for i, each in zip(chosen, found, strict=True):
            answers[i] = target.decode(each.tokens), each
    return [answers[i] for i in range(len(sentences))]


@torch.no_grad()
def force(
    model: Translator,
    pairs: Sequence[Pair],
    source: Vocabulary,
    target: Vocabulary,
    size: int = 100,
) -> list[Tensor]:
    """Where the model looks while it is made to say the given translations.

    For each pair the weights [target, source], both with <end>.
    Raises ValueError for a model that never looks, for an empty source, and
    for vocabularies that are not the model's.
    """
    arguments.translator(model, source=source, target=target).eval()
    arguments.pairs("pairs", pairs)
    size = arguments.whole("size", size, 1)
    answers = []
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size]
        batch = collate(part, source, target).to(model.device)
        memory = model.encode(batch.source)
        state, looks = model.start(memory), []
        for token in batch.target_in.unbind(dim=1):
            _, state, weights = model.step(token, state, memory)
            if weights is None:
                raise ValueError("model never looks at the source")
            looks.append(weights)
        for pair, rows in zip(part, torch.stack(looks, dim=1), strict=True):
            ends = len(pair.target) + 1, len(pair.source) + 1
            answers.append(rows[: ends[0], : ends[1]].cpu())
    return answers
