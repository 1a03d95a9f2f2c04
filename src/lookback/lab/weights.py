"""Trained weights: safetensors that carry their config and vocabularies.

A matrix that has a partner of its name with `.scale` is int8 levels, and that
a float16 scale a row (see `int8`); all else is float16. The file is gzipped.
What does not fit the model that is asked for is refused, never guessed at. In
the source tree they lie beside the records of the experiments that trained
them. The package leaves them out, being 32 MB: `load` fetches each from the
repository that the package was installed from, at its commit, and keeps it in a
cache. `weights.sha256` has the digest of each, as `sha256sum` writes and checks
it.
"""

import gzip
import json
import os
import re
import subprocess
import zlib
from dataclasses import asdict
from functools import partial
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from subprocess import PIPE, CalledProcessError, SubprocessError
from tempfile import TemporaryDirectory
from typing import BinaryIO, TypeVar, get_type_hints
from urllib.parse import unquote, urlsplit

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from lookback.lab import arguments, checkpoints, files, int8, records, training
from lookback.lab.download import (
    LONGEST,
    DownloadError,
    cache,
    digest,
    fetch,
    http,
)
from lookback.lab.subwords import dump, restore
from lookback.vocabulary import Vocabulary

Model = TypeVar("Model", bound=nn.Module)
INSIDE = "src/lookback/records"  # where the repository holds them
SUFFIX = ".safetensors.gz"
SCALE = ".scale"  # after the name of a matrix
LINE = re.compile("([0-9a-f]{64})  ([^/\\s]+)")  # of weights.sha256
LARGEST = 10_000_000  # bytes of a file of the book's weights
UNPACKED = 1_000_000_000  # and of any file of weights, gunzipped
INSTEAD = "work in a clone of the repository, which holds the weights"


def save(
    name: str,
    model: nn.Module,
    source: Vocabulary | None = None,
    target: Vocabulary | None = None,
    folder: Path | None = None,
    halves: bool = False,
) -> Path:
    """Write a model's weights, with all that `load` needs.

    A translator has vocabularies; another model has none. Without a folder the
    weights become the book's, where this is its source tree. With `halves`
    matrices stay fp16, too: for small models that do by luck what they do.
    Raises ValueError, and writes nothing, if one is not finite in fp16.
    """
    arguments.kind("name", name, str, "a name as text")
    arguments.kind("model", model, nn.Module, "a model")
    for side, words in (("source", source), ("target", target)):
        if (source, target) != (None, None):
            arguments.kind(side, words, Vocabulary, "a Vocabulary")
    if folder is not None:
        arguments.folder("folder", folder)
    path = (folder or records.place()) / f"{name}{SUFFIX}"
    ours = path.parent == records.FOLDER
    known = digests() if ours else {}
    meta = {
        "model": type(model).__name__,
        "config": json.dumps(asdict(model.config)),
    }
    if source is not None:
        same = target is source
        meta |= {"source": dump(source), "target": "" if same else dump(target)}
    tensors = kept(model.state_dict(), halves)
    check(tensors)
    data = safetensors.torch.save(tensors, meta)
    packed = gzip.compress(data, 9, mtime=0)
    files.put(path, packed)
    if ours:
        known[path.name] = digest(packed)
        lines = [f"{known[each]}  {each}\n" for each in sorted(known)]
        files.put(records.FOLDER / "weights.sha256", "".join(lines).encode())
    return path


def kept(state: dict[str, Tensor], halves: bool) -> dict[str, Tensor]:
    """A model's weights as the file has them."""
    found = {}
    for name, weight in state.items():
        if weight.ndim == 2 and not halves:
            with np.errstate(all="ignore"):  # `check` says what is too large
                levels, scales = map(torch.from_numpy, int8.split(weight))
            found |= {name: levels, name + SCALE: scales}
        else:
            found[name] = weight.detach().cpu().half().contiguous()
    return found


def check(tensors: dict[str, Tensor]) -> None:
    """Raise ValueError, which names it, if one is not as `kept` makes it."""
    for name, tensor in tensors.items():
        scales = tensors.get(name + SCALE)
        right = torch.float16 if scales is None else torch.int8
        if tensor.dtype != right:
            raise ValueError(f"{name} is {tensor.dtype} and not {right}")
        if scales is not None and (
            tensor.ndim != 2 or scales.shape != tensor.shape[:1]
        ):
            raise ValueError(
                f"{name}, {[*tensor.shape]}, has scales of shape"
                f" {[*scales.shape]}, and not one a row"
            )
        if not tensor.isfinite().all():
            raise ValueError(f"{name} has a number that is not finite in fp16")


def whole(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights, in fp32, of a file's tensors."""
    found = {}
    for name, tensor in tensors.items():
        if name + SCALE in tensors:
            scales = tensors[name + SCALE]
            found[name] = int8.join(tensor.numpy(), scales.numpy()).float()
        elif name.removesuffix(SCALE) not in tensors.keys() - {name}:
            found[name] = tensor.float()
    return found


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """A file's tensors and its header."""
    files.exists(path)
    with gzip.open(path) as file:
        data = file.read(UNPACKED + 1)
    if len(data) > UNPACKED:
        raise ValueError(f"it would unpack to more than {UNPACKED} bytes")
    tensors = safetensors.torch.load(data)
    end = 8 + int.from_bytes(data[:8], "little")
    return tensors, files.parse(data[8:end]).get("__metadata__", {})


def digests() -> dict[str, str]:
    """The SHA-256 of each file of the book's weights.

    Raises RecordError if the registry is not as `sha256sum` writes it.
    """
    path = records.FOLDER / "weights.sha256"
    try:
        text = files.read(path).decode() if files.exists(path) else ""
        found = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if not (parts := LINE.fullmatch(line)) or parts[2] in found:
                raise ValueError(f"line {number} is {files.short(line)!r}")
            found[parts[2]] = parts[1]
    except ValueError as error:
        raise records.RecordError(
            f"{path} does not name each file once with its SHA-256"
            f" ({files.why(error)}): get it again with `git checkout"
            " weights.sha256` in its folder"
        ) from error
    return found


def find(name: str) -> Path:
    """The checked file of one of the book's models, fetched if need be.

    Raises RecordError, with what to do, if there is none of that name, if it
    is not what it was, or if it cannot be had.
    """
    arguments.kind("name", name, str, 'the name of weights, "transformer"')
    base = f"{name}{SUFFIX}"
    if (expected := digests().get(base)) is None:
        known = ", ".join(each.split(".")[0] for each in digests())
        raise records.RecordError(
            f"the book has no weights {name!r}, only: {known}"
        )
    source = records.installed_from()
    folders = [records.FOLDER]
    if "dir_info" in source:
        folders.append(Path(unquote(urlsplit(source["url"]).path)) / INSIDE)
    for path in (folder / base for folder in folders):
        try:
            found = digest(files.read(path)) if files.exists(path) else None
        except files.FileError as error:
            raise records.RecordError(
                f"{error}, and get it again with `git checkout {base}`"
            ) from error
        if found == expected:
            return path
        if found:
            raise records.RecordError(
                f"{path} is not the file that this book was made with (its"
                f" SHA-256 is not {expected}): get it again with `git"
                f" checkout {base}` in its folder, or train the model again"
                " with its experiment"
            )
    try:
        url, commit = origin(source)
        if url.startswith("https://github.com/"):
            fork = urlsplit(url).path.rstrip("/").removesuffix(".git")
            site = "https://raw.githubusercontent.com"
            url, way = f"{site}{fork}/{commit}/{INSIDE}/{base}", http
        else:
            way = partial(git_show, f"{commit}:{INSIDE}/{base}")
        kept = cache("weights") / base
        return fetch(url, kept, expected, LARGEST, INSTEAD, way)
    except DownloadError as error:
        raise records.RecordError(f"the weights {name!r}: {error}") from error


def origin(source: dict) -> tuple[str, str]:
    """The repository that holds the weights, and the commit to ask for.

    They are those that pip installed, else the address in the package's
    metadata and its newest commit.
    """
    if "vcs_info" in source:
        url, commit = source["url"], source["vcs_info"]["commit_id"]
    else:
        try:
            urls = metadata("lookback").get_all("Project-URL", [])
        except PackageNotFoundError:
            urls = []
        found = dict(each.split(", ", 1) for each in urls)
        if "Repository" not in found:
            raise DownloadError(
                f"nothing says where they can be had: {INSTEAD}"
            )
        url, commit = found["Repository"], "HEAD"
    return url, commit


def git_show(place: str, url: str, out: BinaryIO, most: int) -> None:
    """Write a file of a git repository into another, if it is that small."""
    env = os.environ | {"GIT_TERMINAL_PROMPT": "0"}  # it asks nothing

    def git(*words: str, **more) -> bytes | None:
        try:
            return subprocess.run(
                ["git", *words],
                check=True,
                stderr=PIPE,
                timeout=LONGEST,
                env=env,
                **more,
            ).stdout
        except FileNotFoundError as error:
            raise SubprocessError("git is not installed") from error
        except CalledProcessError as error:
            said = " ".join(error.stderr.decode(errors="replace").split())
            raise SubprocessError(said) from error

    with TemporaryDirectory() as folder:
        clone = ("clone", "--quiet", "--bare", "--filter=blob:none", "--")
        git(*clone, url, folder)
        size = int(git("-C", folder, "cat-file", "-s", place, stdout=PIPE))
        if size > most:
            raise SubprocessError(f"it has {size} bytes, {most} are allowed")
        git("-C", folder, "show", place, stdout=out)


def vocabularies(
    meta: dict[str, str], config: object
) -> tuple[Vocabulary | None, Vocabulary | None]:
    """Those of a file's header; none where neither it nor the config has any.

    Raises ValueError if they are not as large as the config says.
    """
    one = getattr(config, "vocab", None)  # where both sides have the same
    sizes = (
        getattr(config, "source_vocab", one),
        getattr(config, "target_vocab", one),
    )
    letters = "source" not in meta and not hasattr(config, "source_vocab")
    if sizes == (None, None) or letters:
        return None, None
    source = restore(meta["source"])
    target = restore(meta["target"]) if meta["target"] else source
    if (len(source), len(target)) != sizes:
        raise ValueError("vocabularies and config differ in size")
    return source, target


def load(
    name: str, kind: type[Model], folder: Path | None = None
) -> tuple[Model, Vocabulary | None, Vocabulary | None]:
    """A trained model of the class `kind`, and its vocabularies.

    These are None for what is no translator. It is the book's, or a folder's,
    in fp32, in evaluation mode, and on the GPU if there is one. Its config is
    of the class that `kind.__init__` names. Raises RecordError if the file is
    missing or broken, or if its weights are not those of such a model.
    """
    arguments.kind("name", name, str, 'the name of weights, "transformer"')
    arguments.kind("kind", kind, type, "a model's class, Transformer")
    if folder is not None:
        arguments.folder("folder", folder)
    path = folder / f"{name}{SUFFIX}" if folder else find(name)
    try:
        tensors, meta = read(path)
        check(tensors)
        if meta["model"] != kind.__name__:
            raise ValueError(
                f"they are a {meta['model']}'s and not a {kind.__name__}'s"
            )
        make_config = get_type_hints(kind.__init__)["config"]
        config = make_config(**files.parse(meta["config"], numbers=False))
        checkpoints.check(config)
        source, target = vocabularies(meta, config)
        model = kind(config)
        model.load_state_dict(whole(tensors))
    except (
        OSError,
        EOFError,
        zlib.error,
        OverflowError,
        RecursionError,
        SafetensorError,
        KeyError,
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:
        raise records.RecordError(
            f"the weights {path} cannot be used ({error}): get the file again,"
            " or train the model again with its experiment"
        ) from error
    return model.eval().to(training.device()), source, target
