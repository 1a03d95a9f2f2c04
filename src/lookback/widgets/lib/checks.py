"""What the widgets refuse, and what they say when they do."""

import numpy as np
from traitlets import TraitError

from lookback.widgets.lib import rows
from lookback.widgets.lib.half import unpack, whole

LARGEST = 1e6  # the size of a number that is drawn
LEAST = 1e-3  # of a temperature: scores divided by it stay finite
NOT_DRAWN = "a number is not finite, or its size is above 1,000,000"
EMBEDDINGS = ("source_embedding.weight", "target_embedding.weight")


def need(fits: object, message: str) -> None:
    """Refuse traits that do not fit, with this message.

    Raises:
        TraitError: when they do not.
    """
    if not fits:
        raise TraitError(message)


def plain(numbers) -> list:
    """Lists of numbers from lists, arrays or tensors of any depth."""
    if hasattr(numbers, "tolist"):
        return numbers.tolist()
    return [
        plain(one) if hasattr(one, "__len__") else float(one) for one in numbers
    ]


def finite(*rows: list) -> bool:
    """Whether all that stands in the rows are numbers that can be drawn."""
    return all(
        type(x) in (int, float) and abs(x) <= LARGEST
        for row in rows
        for x in row
    )


def even(rows: list, width: int | None = None) -> bool:
    """Whether all rows are lists of one length: `width`, if it is given."""
    if not all(isinstance(row, (list, tuple)) for row in rows):
        return False
    lengths = {len(row) for row in rows}
    return len(lengths) <= 1 and (width is None or lengths <= {width})


def check_example(one: dict, where: str) -> None:
    """Refuse an example that lacks a part or whose parts do not fit.

    Raises:
        TraitError: which names the part.
    """
    parts = ("source", "target", "energies", "values")
    for part in parts:
        need(len(one.get(part, ())) > 0, f"{where} lacks {part}")
    source, target, energies, values = (one[part] for part in parts)
    n, m = len(target), len(source)
    fit = len(energies) == n and even(energies, m)
    need(fit, f"{where}: energies must be target × source, {n} × {m}")
    fit = len(values) == m and even(values) and len(values[0]) > 0
    need(fit, f"{where}: values must have {m} even rows, one a source word")
    fit = finite(*energies, *values)
    need(fit, f"{where}: {NOT_DRAWN}")


def check_tensors(tensors: dict, letters: int, where: str) -> None:
    """Refuse weights that lack a tensor, or whose bytes or words do not fit.

    Raises:
        TraitError: which names the tensor.
    """
    for name in (*EMBEDDINGS, "squeeze.weight", "readout.output.weight"):
        need(name in tensors, f"{where} lacks {name}")
    for name, tensor in tensors.items():
        shape = tensor["shape"]
        need(whole(tensor), f"{where}: {name} is not {shape} float16")
    for name in (*EMBEDDINGS, "readout.output.weight"):
        fit = tensors[name]["shape"][0] == letters + 4
        need(fit, f"{where}: {name} must have 4 + {letters} rows")


def check_rows(tensors: dict, source: int, target: int, where: str) -> None:
    """Refuse weights in rows whose bytes, or whose words, do not fit.

    Raises:
        TraitError: which names the tensor.
    """
    for name, words in zip(EMBEDDINGS, (source, target), strict=True):
        need(name in tensors, f"{where} lacks {name}")
        fit = tensors[name]["shape"][0] == words + 4
        need(fit, f"{where}: {name} must have 4 + {words} rows")
    for name, tensor in tensors.items():
        fit = rows.whole(tensor)
        need(fit, f"{where}: {name} is not {tensor['shape']} in rows")


def check_heads(one: dict, where: str) -> tuple[int, int]:
    """Layers and heads of an example, once its parts fit each other.

    Raises:
        TraitError: which names the part that does not.
    """
    for part in ("words", "queries", "keys"):
        need(one.get(part), f"{where} lacks {part}")
    shape, words = tuple(one["queries"]["shape"]), len(one["words"])
    fit = tuple(one["keys"]["shape"]) == shape and len(shape) == 4
    fit = fit and shape[2] == words
    need(fit, f"{where}: queries, keys must be [layers, heads, {words}, d_k]")
    for part in ("queries", "keys"):
        need(whole(one[part]), f"{where}: {part} is not {shape} in float16")
        fit = np.isfinite(unpack(one[part])).all()
        need(fit, f"{where}: a number of {part} is not finite")
    return shape[:2]
