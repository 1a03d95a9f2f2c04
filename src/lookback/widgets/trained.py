"""Widgets that are filled from the book's trained models."""

import html
import string
from collections.abc import Sequence

from lookback.lab import records
from lookback.lab.corpus import Vocabulary
from lookback.lab.decoding import translate
from lookback.rnnsearch import RNNsearch, energies
from lookback.widgets.alignment_stepper import AlignmentStepper
from lookback.widgets.squeeze import Squeeze, pack


def squeeze(text: str, width: int = 16) -> Squeeze:
    """The models of the experiment `copying`, narrow enough for a page."""
    models = {
        str(size): pack(records.load_model(f"copying-{size}")[0].state_dict())
        for size in (8, 16, 32, 64)
    }
    return Squeeze(string.ascii_lowercase, models, str(width), text)


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
    questions = [sentence.split() for sentence in sentences]
    answers = translate(model, questions, source, target, width=5)
    examples = []
    for words, (said, _) in zip(questions, answers, strict=True):
        e, h = energies(model, words, said, source, target)
        examples.append(
            {
                "source": [*words, "<end>"],
                "target": [*map(html.unescape, said), "<end>"],
                "energies": rounded(e),
                "values": rounded(h[:, :numbers]),
            }
        )
    return AlignmentStepper(examples)


def rounded(rows) -> list[list[float]]:
    """Four decimals are enough for a page."""
    return [[round(x, 4) for x in row] for row in rows.tolist()]
