"""Files that are fetched once, checked by SHA-256, and kept: Multi30k's and
tinyshakespeare here, the trained models' in `weights`.

Each comes from its corpus's public repository at a pinned commit. The
environment variable LOOKBACK_DATA names a folder that already holds the
files, either directly or under `multi30k/` and `tinyshakespeare/`. Whatever
goes wrong, the cache is left as it was. And it ends: no file grows beyond its
known size, and none takes longer than `LONGEST`.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from subprocess import SubprocessError
from threading import Thread
from typing import BinaryIO

import requests
from tqdm.auto import tqdm
from urllib3.exceptions import HTTPError

from lookback.lab import files
from lookback.lab.files import short

LONGEST = 900  # seconds, for one file from the first to the last byte
LANGUAGES = ("en", "fr", "de")
TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
SPLITS = ("train", "val", *TESTS)
SITE = (
    "https://raw.githubusercontent.com/multi30k/dataset/"
    "a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/tok/"
)
SHAKESPEARE = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/"
    "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt"
)
SHAKESPEARE_SHA256 = (
    "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
)
SHAKESPEARE_SIZE = 1_115_394  # bytes, and characters
SHA256 = {
    "test_2016_flickr.de": "c6a33d39d48f9f510de147651316cd9d"
    "918e09ad0219df734a2f16b6baccacc4",
    "test_2016_flickr.en": "5b7f32627cf99eced828311b955dae98"
    "00bb52bc8b91cf8b6526829e605b29d2",
    "test_2016_flickr.fr": "1463bd5960f9bfe098ec3cd752d3df0c"
    "49c84dc646fb518964a29232658cd836",
    "test_2017_flickr.de": "02067e4a9402786a4fcb8c1b6f4307e4"
    "a5073ced64800abead5273b54f5f31f6",
    "test_2017_flickr.en": "c9d1dfd7a26add989382e534af235af9"
    "f0f658b2a30e7eb0efdaf142496ee54f",
    "test_2017_flickr.fr": "c0583117a47b31e8a6c6a97cfe8de153"
    "e462074668f4e994764fcc80b21d33b4",
    "test_2017_mscoco.de": "e2825990b8a4e5289d2cdba801d57c18"
    "7810bab9b4f5d87a30c35800a0d871b6",
    "test_2017_mscoco.en": "fe69ae004d71c42ead0301e70c57de5b"
    "1b6b5fb7f52210d42b22801e98e656f3",
    "test_2017_mscoco.fr": "0b6a4620f02b6b9acf7811fda23f90fe"
    "d9c6baa0b96aa224db50a273078c84d1",
    "train.de": "cb5a23529b65ec2061f1dc446192a9c3"
    "7382b63cc75f81a0be59d34894b3a505",
    "train.en": "08925f8e0572bcd5a006702fc5fe20e2"
    "d77c6917d4eebd576fc20de6693c2119",
    "train.fr": "8fa41bb718412bcb7c5dfa58603842810"
    "a01543eae86a51279f9886b901266e1",
    "val.de": "97232bd273eceb7207f689527386a97e"
    "4be2616b18ada47576bdaf96c8ae1f00",
    "val.en": "46573ce391ae227f1c72f873392436a2"
    "0ef18e0a6d518098cfbd70b77c8572ec",
    "val.fr": "b303e301aa21fe7822a846b2b3fb2d5a"
    "1121ec807cd5b1d006fb7b2b5507168a",
}
SIZES = {  # in bytes
    "test_2016_flickr.de": 71_917,
    "test_2016_flickr.en": 63_307,
    "test_2016_flickr.fr": 76_394,
    "test_2017_flickr.de": 65_228,
    "test_2017_flickr.en": 56_123,
    "test_2017_flickr.fr": 69_537,
    "test_2017_mscoco.de": 30_464,
    "test_2017_mscoco.en": 25_380,
    "test_2017_mscoco.fr": 31_725,
    "train.de": 2_150_008,
    "train.en": 1_837_696,
    "train.fr": 2_235_588,
    "val.de": 77_273,
    "val.en": 64_608,
    "val.fr": 78_242,
}


class DownloadError(RuntimeError):
    """A file cannot be had or is not what it should be."""


class CorpusError(DownloadError):
    """The corpus cannot be had or is not what it should be."""


def cache(kind: str) -> Path:
    """The folder where downloaded files of one kind are kept."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError as error:
        raise DownloadError(
            f"nobody knows where your files are ({error}): set XDG_CACHE_HOME"
            " to a folder"
        ) from error
    return Path(base) / "lookback" / kind


def digest(data: bytes) -> str:
    """SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def digests(
    *languages: str, tests: Iterable[str] = TESTS[:1]
) -> dict[str, str]:
    """The digests of the training, the validation and the test files in the
    given languages."""
    splits = ("train", "val", *tests)
    return {
        f"{split}.{language}": SHA256[f"{split}.{language}"]
        for split in splits
        for language in languages
    }


def check(split: str, language: str) -> None:
    """Raise CorpusError for a split or a language that there is not."""
    if language not in LANGUAGES:
        raise CorpusError(
            f"unknown language {language!r}: choose one of {LANGUAGES}"
        )
    if split not in SPLITS:
        raise CorpusError(f"unknown split {split!r}: choose one of {SPLITS}")


def file(split: str, language: str) -> Path:
    """The path of one checked file, downloaded if it is not here yet.

    Raises CorpusError, with what to do, for an unknown split or language, no
    network, a cut-off download, a wrong digest, an unwritable or full cache.
    """
    check(split, language)
    name, each = f"{split}.lc.norm.tok.{language}", f"{split}.{language}"
    return _part("multi30k", name, SITE + name, SHA256[each], SIZES[each])


def shakespeare() -> Path:
    """The path of tinyshakespeare, 1.1 MB of the plays in one checked file,
    downloaded if it is not here yet. Raises CorpusError as `file` does."""
    return _part(
        "tinyshakespeare",
        "input.txt",
        SHAKESPEARE,
        SHAKESPEARE_SHA256,
        SHAKESPEARE_SIZE,
    )


def _part(kind: str, name: str, url: str, expected: str, size: int) -> Path:
    """One file of a corpus: the reader's own copy, else the cached one."""
    if local := os.environ.get("LOOKBACK_DATA"):
        return _local(Path(local), kind, name, expected)
    try:
        return fetch(
            url,
            cache(kind) / name,
            expected,
            size,
            "set LOOKBACK_DATA to a folder that holds the files",
        )
    except DownloadError as error:
        raise CorpusError(str(error)) from error


def http(url: str, out: BinaryIO, most: int) -> None:
    """Write what is at `url` into a file, and no more than `most` bytes."""
    asked = {
        "stream": True,
        "timeout": 30,
        "headers": {"Accept-Encoding": "identity"},
    }
    with (
        requests.get(url, **asked) as answer,
        tqdm(total=most, unit="B", unit_scale=True) as bar,
    ):
        answer.raise_for_status()
        for chunk in answer.iter_content(1 << 16):
            out.write(chunk)
            bar.update(len(chunk))
            if bar.n > most:
                raise ValueError(f"it goes on after {most} bytes")


def fetch(
    url: str,
    path: Path,
    expected: str,
    most: int,
    instead: str,
    download: Callable[[str, BinaryIO, int], None] = http,
) -> Path:
    """The file at `path`, downloaded where it is missing or damaged.

    `most` is its size in bytes, or a bound. Raises DownloadError, which says
    what to do: try again, or `instead`.
    """
    try:
        if files.exists(path) and digest(files.read(path)) == expected:
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        for old in path.parent.glob(f"{path.name}.*.part"):
            if time.time() - old.stat().st_mtime > LONGEST:
                old.unlink(missing_ok=True)  # of a process that was killed
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as out:  # closed, it ends a late download
                _in_time(lambda: download(url, out, most))
            if digest(part.read_bytes()) != expected:
                raise DownloadError(
                    f"{url} is not the file this book was made with (its"
                    f" SHA-256 is not {expected}): nothing was kept; try"
                    f" again, or {instead}"
                )
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except files.FileError as error:
        raise DownloadError(
            f"{error}, or set XDG_CACHE_HOME to another folder"
        ) from error
    except (
        requests.RequestException,
        HTTPError,
        SubprocessError,
        ValueError,  # of an address or a header that makes no sense
    ) as error:
        said = " ".join(str(error).split())
        raise DownloadError(
            f"cannot download {url} ({said}): nothing was kept; check the"
            f" network and try again, or {instead}"
        ) from error
    except OSError as error:
        raise DownloadError(
            f"cannot read or write {short(path)} ({files.why(error)}): free"
            " some space or make the folder writable, or set XDG_CACHE_HOME to"
            " another folder"
        ) from error
    return path


def _in_time(work: Callable[[], None]) -> None:
    """Do it, or raise ValueError once it has taken LONGEST seconds.

    In a thread of its own, since a server may send a byte now and then for
    ever, and no library counts the seconds of all of them together.
    """
    raised = []

    def go() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = Thread(target=go, daemon=True)
    thread.start()
    thread.join(LONGEST)
    if thread.is_alive():
        raise ValueError(f"it takes longer than {LONGEST} s")
    if raised:
        raise raised[0]


def _local(folder: Path, kind: str, name: str, expected: str) -> Path:
    """A file of the folder that LOOKBACK_DATA names, its digest checked."""
    for path in (folder / name, folder / kind / name):
        try:
            if not files.exists(path):
                continue
            data = files.read(path)
        except files.FileError as error:
            raise CorpusError(
                f"{error}, or unset LOOKBACK_DATA to download the file"
            ) from error
        if digest(data) == expected:
            return path
        raise CorpusError(
            f"{path} has a wrong SHA-256 digest: replace the file, or unset"
            " LOOKBACK_DATA to download it"
        )
    raise CorpusError(
        f"LOOKBACK_DATA={short(folder)} holds no {name}, neither directly nor"
        f" under {kind}/: add the file, or unset LOOKBACK_DATA to download it"
    )
