"""Files, read and written so that whatever is wrong with one is a sentence.

What is no regular file is never opened, since a pipe would keep its reader
waiting; JSON that is not what JSON should be is refused; and a file is
written whole or not at all.
"""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

LONGEST = 300  # letters of a path, or of an error, in a message


class FileError(OSError, ValueError):
    """A file that cannot be read or written, in one sentence."""


def short(thing: object) -> str:
    """One line of a path or of an error, its middle left out if it is long."""
    text = " ".join(str(thing).replace("\0", "\\0").split())
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[-half:]}"


def exists(path: Path) -> bool:
    """Whether a regular file is there. FileError if something else is, or if
    nobody can tell."""
    try:
        kind = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:  # a NUL, too long, not allowed
        raise FileError(
            f"cannot read {short(path)} ({why(error)}): give another path"
        ) from error
    if not stat.S_ISREG(kind):
        raise FileError(
            f"{short(path)} is a folder, a pipe or a device and no file:"
            " remove it"
        )
    return True


def why(error: Exception) -> str:
    """What the system says of an error, without the path."""
    return short(getattr(error, "strerror", None) or error)


def read(path: Path) -> bytes:
    """What a regular file holds; FileError."""
    if not exists(path):
        raise FileError(f"cannot read {short(path)}: there is no such file")
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {short(path)} ({why(error)})") from error


def parse(text: str | bytes, numbers: bool = True) -> object:
    """JSON; ValueError if it is none, if a key stands there twice or if it is
    nested without end, and for NaN, unless all `numbers` are allowed."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        named = {} if numbers else {"parse_constant": _no_number}
        return json.loads(text, object_pairs_hook=_once, **named)
    except RecursionError as error:
        raise ValueError("it is nested without end") from error


def read_json(path: Path) -> object:
    """The JSON of a regular file; FileError, as for `parse`."""
    data = read(path)
    try:
        return parse(data)
    except ValueError as error:
        raise FileError(f"cannot read {short(path)} ({why(error)})") from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _once(pairs: list[tuple[str, object]]) -> dict:
    """A dictionary of these pairs; ValueError if a key stands there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{short(repr(twice))} stands there twice")
    return found


def put(path: Path, data: bytes) -> None:
    """Write a file beside its place, and then move it there; FileError, and
    then what was there is as it was."""
    write(path, lambda temporary: temporary.write_bytes(data))


def write(path: Path, make: Callable[[Path], object]) -> None:
    """`put` what `make` writes into the file that it is given."""
    temporary = path.with_suffix(".part")  # what a kill leaves, the next uses
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)  # it may be a pipe
        try:
            make(temporary)
            temporary.chmod(0o644)
            os.replace(temporary, path)
        finally:  # a full disk leaves no half file
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError, SafetensorError) as error:
        raise FileError(
            f"cannot write {short(path)} ({why(error)}), and what was there is"
            " as it was: free some space or make the folder writable, and run"
            " the same command again",
        ) from error
