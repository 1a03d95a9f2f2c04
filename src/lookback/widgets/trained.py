"""Widgets that are filled from the book's trained models."""

import html
import string
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from lookback.bottleneck import Bottleneck
from lookback.handwriting import Writer
from lookback.heads import attention_weights
from lookback.lab import weights
from lookback.lab.decoding import translate
from lookback.memory_networks import MemN2N
from lookback.rnnsearch import RNNsearch
from lookback.transducer import Transducer
from lookback.transformer import Transformer
from lookback.vocabulary import END, SPECIALS, START, Vocabulary
from lookback.widgets.alignment_stepper import AlignmentStepper
from lookback.widgets.handwriting import Handwriting
from lookback.widgets.lattice import Lattice
from lookback.widgets.lib import rows
from lookback.widgets.lib.half import pack
from lookback.widgets.other_weights import OtherWeights
from lookback.widgets.squeeze import Squeeze
from lookback.widgets.story import MOST, Story

LEAST = 5e-5  # the smallest weight whose logarithm is taken


def squeeze(text: str, width: int = 16) -> Squeeze:
    """The models of the experiment `copying` that are small enough to send."""
    models = {
        str(size): pack(
            weights.load(f"copying-{size}", Bottleneck)[0].cpu().state_dict()
        )
        for size in (8, 16, 32)
    }
    return Squeeze(string.ascii_lowercase, models, str(width), text)


def lattice(sentences: Sequence[str]) -> Lattice:
    """The phrasebook's transducer and its RNNsearch, a letter a number."""
    loaded = {
        "cursors": weights.load("transducer", Transducer),
        "rnnsearch": weights.load("phrasebook", RNNsearch),
    }
    models = {
        name: rows.pack(model.cpu().state_dict())
        for name, (model, *_) in loaded.items()
    }
    words = [
        [vocabulary.words[len(SPECIALS) :] for vocabulary in both]
        for _, *both in loaded.values()
    ]
    if words[0] != words[1]:
        raise ValueError("the two models know different words")
    vocabularies = dict(zip(("source", "target"), words[0], strict=True))
    return Lattice(vocabularies, models, sentences)


def other_weights(sentences: Sequence[str], **place) -> OtherWeights:
    """The phrasebook's RNNsearch, whose looks the reader may change."""
    model, *both = weights.load("phrasebook", RNNsearch)
    words = [vocabulary.words[len(SPECIALS) :] for vocabulary in both]
    vocabularies = dict(zip(("source", "target"), words, strict=True))
    machine = rows.pack(model.cpu().state_dict())
    return OtherWeights(vocabularies, machine, sentences, **place)


def story(told: Sequence[tuple[str, str]], asked: str, step: int = -1) -> Story:
    """The recorded memory network, with the ages that are needed."""
    model, words, _ = weights.load("memory_networks", MemN2N)
    tensors = pack(
        {
            name: part[:MOST] if name.startswith("ages") else part
            for name, part in model.cpu().state_dict().items()
        }
    )
    return Story(words.words[len(SPECIALS) :], tensors, told, asked, step)


def handwriting(text: str) -> Handwriting:
    """The writer of the experiment `handwriting`."""
    model = weights.load("handwriting", Writer)[0]
    return Handwriting(rows.pack(model.cpu().state_dict(), most=127), text)


def alignments(
    model: RNNsearch,
    source: Vocabulary,
    target: Vocabulary,
    sentences: Sequence[str],
    numbers: int = 12,
) -> AlignmentStepper:
    """How the model translates each sentence, ready to be stepped through.

    The translation is found by beam search; of each annotation the page gets
    the first `numbers` numbers. Raises ValueError for an empty sentence.
    """
    return AlignmentStepper(
        examples(model, source, target, sentences, energies, numbers)
    )


def cross_heads(
    model: Transformer,
    source: Vocabulary,
    target: Vocabulary,
    sentence: str,
    numbers: int = 12,
) -> AlignmentStepper:
    """Cross-attention of the last decoder layer, one example for each head."""
    found = []
    for head in range(model.config.heads):

        def see(*given, head=head):
            return log_weights(*given, head=head)

        found += examples(model, source, target, [sentence], see, numbers)
        found[-1] |= {
            "by": f"head {head + 1}",
            "symbol": "v",
            "score": "log α",
        }
    return AlignmentStepper(found)


def examples(model, source, target, sentences, see, numbers) -> list[dict]:
    """The translation of each sentence, and what `see` found in it."""
    questions = [sentence.split() for sentence in sentences]
    answers = translate(model, questions, source, target, width=5)
    found = []
    for words, (said, _) in zip(questions, answers, strict=True):
        e, h = see(model, words, said, source, target)
        found.append(
            {
                "source": [*words, "<end>"],
                "target": [*map(html.unescape, said), "<end>"],
                "energies": rounded(e),
                "values": rounded(h[:, :numbers]),
            }
        )
    return found


@torch.no_grad()
def energies(
    model: RNNsearch,
    source_words: list[str],
    target_words: list[str],
    source: Vocabulary,
    target: Vocabulary,
) -> tuple[Float[Tensor, "target source"], Float[Tensor, "source two_hidden"]]:
    """All e_ij and h_j while the model writes `target_words` and <end>."""
    model.eval()
    where = model.device
    numbers = [*source.encode(source_words), END]
    memory = model.encode(torch.tensor([numbers], device=where))
    state, rows = model.start(memory), []
    for word in [START, *target.encode(target_words)]:
        rows.append(model.attention.scores(state.hidden, memory.keys)[0])
        token = torch.tensor([word], device=where)
        _, state, _ = model.step(token, state, memory)
    return torch.stack(rows).cpu(), memory.values[0].cpu()


@torch.no_grad()
def log_weights(
    model: Transformer,
    source_words: list[str],
    target_words: list[str],
    source: Vocabulary,
    target: Vocabulary,
    head: int,
) -> tuple[Float[Tensor, "target source"], Float[Tensor, "source d_k"]]:
    """Logarithms of a head's cross-attention weights, whose softmax they are,
    and the values v_j that they average; of the last decoder layer.

    Weights below LEAST count as LEAST, since 0 has no logarithm.
    """
    model.eval()
    where = model.device
    numbers = [[*source.encode(source_words), END]]
    numbers = torch.tensor(numbers, device=where)
    given = [[START, *target.encode(target_words)]]
    given = torch.tensor(given, device=where)
    memory = model.encode(numbers)
    with attention_weights(model.decoder[-1].cross) as found:
        model.decode(given, memory)
    weights = found[0][0, head]
    return weights.clamp_min(LEAST).log(), memory.layers[-1][1][0, head]


def rounded(rows) -> list[list[float]]:
    """Four decimals are enough for a page."""
    return [[round(x, 4) for x in row] for row in rows.tolist()]
