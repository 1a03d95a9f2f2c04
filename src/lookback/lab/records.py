"""What the experiments measured, with where it came from.

A record is a JSON file that says what was run, on what, and what came out. A
file that does not fit is refused, never guessed at. What BLEU counts of every
caption lies in an array beside it (`tables`), and `load` puts it back. The
book's records ship with the package, and `load` reads these. A new record is
written over the old one in the source tree, and into `./records` where the
package is installed.
"""

import json
import platform
import re
import subprocess
import sys
import textwrap
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import fastjsonschema
import torch

from lookback.lab import arguments, files, tables
from lookback.lab.download import digest
from lookback.lab.schema import SCHEMA

FOLDER = Path(__file__).parent.parent / "records"  # the book's
FITS = fastjsonschema.compile(SCHEMA)
CODE = ("..", ":(exclude)../records")  # what must agree with the commit
COMMIT = re.compile("[0-9a-f]{40}([0-9a-f]{24})?")  # SHA-1 or SHA-256
INSTALLED = FOLDER.parents[1].name != "src"  # and not a source tree


class RecordError(ValueError):
    """A record or its weights are missing, broken or do not fit."""


def place() -> Path:
    """The folder of new records; nothing is written into an installation."""
    return Path("records") if INSTALLED else FOLDER


def installed_from() -> dict:
    """Where pip found the package, as pip's `direct_url.json` has it.

    https://packaging.python.org/specifications/direct-url; {} if it has
    nothing about this copy of the package, or nothing that makes sense.
    """
    try:
        found = distribution("lookback")
        text = found.read_text("direct_url.json")
    except PackageNotFoundError:
        return {}
    ours = found.locate_file("lookback/lab/records.py")
    if text is None or Path(ours).resolve() != Path(__file__).resolve():
        return {}
    try:
        told = files.parse(text)
        if "vcs_info" in told:
            COMMIT.fullmatch(told["vcs_info"]["commit_id"])[0]  # or TypeError
        if isinstance(told["url"], str):
            return told
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    return {}


def commit() -> dict | None:
    """The commit of the code, and whether it was changed since.

    Git says it of a file that it tracks; else pip names the commit that it
    installed, and nobody knows of changes. None if there is neither.
    """

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return {
            "commit": git("rev-parse", "HEAD"),
            "dirty": bool(git("status", "--porcelain", "--", *CODE)),
        }
    except (OSError, subprocess.CalledProcessError):
        known = installed_from().get("vcs_info", {}).get("commit_id")
        return {"commit": known, "dirty": None} if known else None


def made_by() -> dict:
    """The commit of the code, and a digest of all the package's Python."""
    package = Path(__file__).parents[1]
    code = (
        f"{path.relative_to(package).as_posix()} {digest(path.read_bytes())}"
        for path in sorted(package.rglob("*.py"))
    )
    return {"git": commit(), "code": digest("\n".join(code).encode())}


def provenance(device: torch.device) -> dict:
    """Where a result came from: the versions and the device."""
    count = torch.get_num_threads()
    many = f"{count} thread{'s' * (count > 1)}"
    cuda = device.type == "cuda"
    return {
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "sacrebleu": version("sacrebleu"),
        },
        "device": torch.cuda.get_device_name()
        if cuda
        else f"CPU ({platform.machine()}, {many})",
    }


def save(
    experiment: str,
    *,
    config: dict,
    seeds: list[int],
    data: dict[str, str],
    device: torch.device,
    wall_seconds: float,
    results: dict,
    git: dict | None,
    code: str | None = None,
    made_by: list[dict] | None = None,
    devices: str = "",
    folder: Path | None = None,
) -> Path:
    """Write a record; raises RecordError if it does not fit the schema.

    `git` is the commit of its runs, None where nobody knows or where they have
    several, and `code` the digest of theirs; `made_by` then says it of each.
    `devices` is where they ran, if not on the present one alone.
    """
    record = {
        "experiment": experiment,
        "command": f"python -m lookback.experiments.{experiment}",
        "config": config,
        "seeds": seeds,
        "data": data,
        "wall_seconds": wall_seconds,
        "git": git,
        "results": results,
        **provenance(device),
    }
    record |= {"code": code} if code else {}
    record |= {"made_by": made_by} if made_by else {}
    record["device"] = devices or record["device"]
    path = (folder or place()) / f"{experiment}.json"
    validate(record, path)
    held: dict[str, str] = {}
    record["results"] = measured(tables.take(results, held))
    text = _in_lines(json.loads(json.dumps(record)))
    arrays = path.with_suffix(".npz")
    try:
        before = tables.read(arrays)
    except ValueError:
        before = {}
    if held:  # a kill leaves the old record or this one, with its tables
        files.put(arrays, tables.pack((before | held).values()))
    files.put(path, f"{text}\n".encode())
    if held:
        files.put(arrays, tables.pack(held.values()))
    else:
        arrays.unlink(missing_ok=True)
    print(f"wrote {path}", file=sys.stderr)
    return path


def measured(results: dict) -> dict:
    """Results with the digits that a float32 has; more were not measured."""

    def rounded(text: str) -> float:
        return float(f"{float(text):.9g}")

    return json.loads(json.dumps(results), parse_float=rounded)


def _in_lines(value: Any, indent: str = "") -> str:
    """JSON in lines of 80, where they can be: a row of numbers takes few."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent + line) <= 80 or not isinstance(value, list | dict):
        return line
    inner = f"{indent} "
    if isinstance(value, dict):
        items = [
            f"{json.dumps(key, ensure_ascii=False)}: {_in_lines(one, inner)}"
            for key, one in value.items()
        ]
    elif any(isinstance(one, str | list | dict) for one in value):
        items = [_in_lines(one, inner) for one in value]
    else:
        items = textwrap.wrap(line[1:-1], 80 - len(inner))
        return "\n".join([line[0], *(inner + i for i in items), indent + "]"])
    body = f",\n{inner}".join(items)
    return f"{line[0]}\n{inner}{body}\n{indent}{line[-1]}"


def validate(record: object, path: Path) -> None:
    """Raise RecordError, naming the place, if a record does not fit.

    It can be written and read, so it has no NaN and no infinity, no key twice,
    and is not nested without end.
    """
    try:
        text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        files.parse(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} is no record: {files.why(error)}") from error
    try:
        FITS(record)
    except fastjsonschema.JsonSchemaValueException as error:
        place = "/".join(error.path[1:]) or "the top"
        raise RecordError(
            f"{path} does not fit the record schema at {place}:"
            f" {error.message}; run its experiment again"
        ) from error
    if record["experiment"] != path.stem:
        raise RecordError(
            f"{path} says that it is of {record['experiment']!r}: a record"
            " bears its experiment's name"
        )


def load(name: str, folder: Path | None = None) -> dict:
    """A record of the book's, or of a folder's, checked.

    Raises RecordError if it is missing or broken.
    """
    arguments.kind("name", name, str, 'a record\'s name, "search"')
    if folder is not None:
        arguments.folder("folder", folder)
    path = (folder or FOLDER) / f"{name}.json"
    try:
        record = files.read_json(path)
    except files.FileError as error:
        raise RecordError(
            f"{error}, so there is no record {files.short(name)!r}: make it"
            f" with `python -m lookback.experiments.{files.short(name)}`"
        ) from error
    validate(record, path)
    if names := tables.names(record["results"]):
        record["results"] = _whole(record["results"], names, path)
    return record


def _whole(results: dict, names: set[str], path: Path) -> dict:
    """A record's results with the tables of these names, from beside it."""
    arrays = path.with_suffix(".npz")
    try:
        held = tables.read(arrays)
        if lost := names - held.keys():
            raise ValueError(f"{arrays} lacks {len(lost)} of {len(names)}")
    except ValueError as error:
        raise RecordError(
            f"the record {path} is not whole without its tables ({error}): get"
            f" both files again, or make them with `python -m"
            f" lookback.experiments.{path.stem}`"
        ) from error
    return tables.put(results, held)


@lru_cache(maxsize=8)
def _read(name: str, folder: Path, _: tuple[int, int] | None) -> dict:
    """`load`, once for each state of the file."""
    return load(name, folder)


def quote(place: str, folder: Path | None = None) -> str:
    """A number of a record as text: "search/rnnsearch/bleu:.1f".

    The path goes into the record's results or, where it leads nowhere there,
    into the record itself ("search/config/epochs"); after the colon stands a
    Python format. The minus of a number is a minus and no hyphen; one before
    the path turns the sign around, so that a gain reads as a loss. Raises
    RecordError if there is nothing at that place, or nothing that fits the
    format.
    """
    arguments.kind("place", place, str, 'a path, "search/rnnsearch/bleu:.1f"')
    path, _, form = place.partition(":")
    turned = path.startswith("-")
    name, *steps = path.removeprefix("-").split("/")
    folder = folder or FOLDER
    file = folder / f"{name}.json"
    try:
        told = file.stat()
    except (OSError, ValueError):  # `load` says what it is
        told = None
    record = _read(name, folder, told and (told.st_mtime_ns, told.st_size))
    try:
        value = follow(record["results"], steps)
    except LookupError as error:
        try:
            value = follow(record, steps)
        except LookupError:
            raise RecordError(
                f"the record {name} has nothing at {place!r}: {error}"
            ) from error
    try:
        if isinstance(value, (dict, list)):
            raise TypeError(f"a {type(value).__name__} is not one value")
        text = format(-value if turned else value, form)
        return text if isinstance(value, str) else text.replace("-", "−")
    except (TypeError, ValueError) as error:
        raise RecordError(
            f"the record {name} cannot be quoted at {place!r}: {error}"
        ) from error


def follow(value: object, steps: list[str]) -> object:
    """What stands at the end of the steps; LookupError if one leads nowhere."""
    for step in steps:
        try:
            value = value[int(step) if isinstance(value, list) else step]
        except (LookupError, ValueError, TypeError) as error:
            known = list(value) if isinstance(value, dict) else type(value)
            raise LookupError(f"no {step!r} among {known}") from error
    return value
