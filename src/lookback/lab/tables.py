"""The counts of every caption: out of a record's text, into arrays beside it.

A table is a text of whole numbers, as `significance.caption_rows` reads it:
numbers with a blank between them, rows with a comma. In the record stands the
SHA-256 of that text in its place, which a person can read past and a diff
shows; the tables themselves are arrays, compressed, in a `.npz` beside it. What
is read from there has the digest, or it is refused: they are the very texts.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import numpy as np

from lookback.lab import files
from lookback.lab.download import digest

LEAST = 1000  # characters of a table; a shorter one stays where it is
NAME = re.compile("sha256:[0-9a-f]{64}")
MOST = 200_000_000  # bytes of all arrays of a file


def named(text: str) -> str:
    """What stands for a table in the record."""
    return f"sha256:{digest(text.encode())}"


def written(table: np.ndarray) -> str:
    """The text of a table, [rows, columns]."""
    rows = str(table.tolist())[2:-2]  # quicker than number by number
    return rows.replace("], [", ";").replace(",", "").replace(";", ", ")


def array(text: str) -> np.ndarray | None:
    """The numbers, [rows, columns]; None if the text is no table."""
    if len(text) < LEAST or not re.fullmatch("[0-9, ]+", text):
        return None
    numbers = np.fromstring(text.replace(",", " "), np.int64, sep=" ")
    rows = text.count(",") + 1
    if not len(numbers) or len(numbers) % rows:
        return None
    table = numbers.reshape(rows, -1)
    return table if written(table) == text else None


def take(value: object, found: dict[str, str]) -> object:
    """The value with its tables' names in their place; `found` gets them."""
    if isinstance(value, dict):
        return {key: take(each, found) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [take(each, found) for each in value]
    if isinstance(value, str) and array(value) is not None:
        found[named(value)] = value
        return named(value)
    return value


def names(value: object) -> set[str]:
    """The names of tables that stand in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*map(names, value))
    told = isinstance(value, str) and NAME.fullmatch(value)
    return {value} if told else set()


def put(value: object, tables: dict[str, str]) -> object:
    """The reverse of `take`."""
    if isinstance(value, dict):
        return {key: put(each, tables) for key, each in value.items()}
    if isinstance(value, list):
        return [put(each, tables) for each in value]
    return tables.get(value, value) if isinstance(value, str) else value


def pack(texts: Iterable[str]) -> bytes:
    """Tables as an npz: those of one shape are one array.

    It is [tables, rows, columns], column by column, so that equal columns of
    different tables, the lengths of the references, lie beside each other.
    """
    shapes: dict[str, list[np.ndarray]] = {}
    for rows in map(array, texts):
        if rows is not None:  # as a stranger's file may have it
            shapes.setdefault("x".join(map(str, rows.shape)), []).append(rows)
    arrays = {}
    for shape, alike in shapes.items():
        whole = np.stack(alike)
        small = whole.astype(np.min_scalar_type(whole.max()))
        arrays[shape] = np.asfortranarray(small)
    file = BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def read(path: Path) -> dict[str, str]:
    """The tables of a file by their names; ValueError if it has none."""
    try:
        files.exists(path)
        with zipfile.ZipFile(path) as held:
            if sum(each.file_size for each in held.infolist()) > MOST:
                raise ValueError(f"{path} would unpack to more than {MOST}")
        with np.load(path, allow_pickle=False) as arrays:
            whole = list(arrays.values())
            if any(each.ndim != 3 for each in whole):
                raise ValueError("a table in it has not two axes")
            texts = [written(table) for each in whole for table in each]
    except (
        OSError,
        EOFError,
        KeyError,
        MemoryError,
        NotImplementedError,
        RuntimeError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(f"cannot read {path} ({error})") from error
    return {named(text): text for text in texts}
