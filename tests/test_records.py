"""Records and weights: written whole, read strictly, refused clearly."""

import gzip
import importlib
import json
import math
import os
import pickle
import subprocess
import zipfile
from dataclasses import asdict
from pathlib import Path
from shutil import copyfile, rmtree
from unittest.mock import Mock

import numpy as np
import pytest
import safetensors.torch
import torch

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments import EXPERIMENTS, copying
from lookback.families import Body
from lookback.handwriting import Writer
from lookback.lab import int8, records, tables, weights
from lookback.lab.checkpoints import TrainingConfig
from lookback.lab.corpus import TESTS, digests
from lookback.lab.download import SHAKESPEARE_SHA256, digest
from lookback.lab.records import (
    RecordError,
    load,
    quote,
    save,
)
from lookback.memory_networks import MemN2N
from lookback.modern_gpt import GPT, GPTConfig
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transducer import Transducer
from lookback.transformer import Transformer
from lookback.vocabulary import Vocabulary

CORPUS = {  # the languages that an experiment reads
    "search": [("en", "fr")],
    "length": [("en", "fr")],
    "feedforward_memories": [("en", "fr")],
    "pruning": [("en", "fr")],
    "ladder": [("en", "fr")],
    "tuned_baselines": [("en", "fr")],
    "german": [("en", "de")],
    "growth": [("en", "fr")],
    "quantization": [("en", "fr")],
    "switches": [("en", "fr")],
    "brevity": [("en", "fr")],
    "families": [("en", "fr")],
    "pretraining": [("en", "fr")],
    "ablation": [("en", "fr")],
    "probing": [("en", "fr")],
    "neighbours": [("en", "fr")],
    "explanation": [("en", "fr")],
    "tuned": [("en", "fr"), ("de", "en")],
}
PLAYS = {
    "shakespeare": "input.txt",
    "modern_gpt": "tinyshakespeare",
}  # as each names it
ALL_TESTS = (
    "ladder",
    "tuned_baselines",
    "brevity",
    "german",
    "growth",
    "ablation",
    "tuned",
)
KINDS = {
    "bert": Body,
    "bottleneck": Bottleneck,
    **{f"copying-{n}": Bottleneck for n in copying.WIDTHS},
    "transducer": Transducer,
    "gpt": Body,
    "memory_networks": MemN2N,
    "phrasebook": RNNsearch,
    "rnnsearch": RNNsearch,
    "probing": Body,
    "transformer": Transformer,
    "tuned-en-fr": Transformer,
    "tuned-rnnsearch": RNNsearch,
    "handwriting": Writer,
}
COMMITTED = sorted(records.FOLDER.glob("*.json"))
WEIGHTS = {  # by the model's name
    path.name.removesuffix(weights.SUFFIX): path
    for path in sorted(records.FOLDER.glob(f"*{weights.SUFFIX}"))
}
CPU = torch.device("cpu")
COMMIT = {"commit": "0" * 40, "dirty": False}
RESULTS = {
    "bleu": 51.449,
    "runs": [{"bleu": 51.0}, {"bleu": 52.0}],
    "sentences": 29000,
    "spread": None,
    "name": "été",
    "gain": -1.5,
    "step": "half-way",
    "config": {"embed": 256},
}


def written(folder, **changes):
    given = dict(
        config={"epochs": 3},
        seeds=[0, 1],
        data={"train.en": "0" * 64},
        device=CPU,
        wall_seconds=1.5,
        results=RESULTS,
        git=records.commit(),
    )
    return save("trial", folder=folder, **{**given, **changes})


def test_there_and_back(tmp_path):
    path = written(tmp_path)
    assert [*tmp_path.iterdir()] == [path]
    assert path == tmp_path / "trial.json"
    record = load("trial", tmp_path)
    assert record["results"] == RESULTS
    assert record["command"] == "python -m lookback.experiments.trial"
    assert record["seeds"] == [0, 1] and record["wall_seconds"] == 1.5
    assert record["versions"]["torch"] == torch.__version__
    assert record["device"].startswith("CPU")


def test_a_result_has_the_digits_of_a_float32_and_settings_all(tmp_path):
    single = torch.tensor(2.0).sqrt().item()
    written(tmp_path, config={"rate": 1 / 3}, results={"root": single})
    record = load("trial", tmp_path)
    assert record["results"] == {"root": 1.41421354}
    assert torch.tensor(record["results"]["root"]).item() == single
    assert record["config"] == {"rate": 1 / 3}


SPOILT = {
    "a NaN": ("51.449", "NaN"),
    "an infinity": ("51.449", "-Infinity"),
    "too large a number": ("51.449", "1e999"),
    "too long a number": ("51.449", "1" * 5000),
    "half a letter": ("été", "\\ud800"),
    "a key twice": ('"sentences"', '"bleu"'),
    "absurd depth": ("51.449", "[" * 100_000 + "]" * 100_000),
}


@pytest.mark.parametrize("what", SPOILT)
def test_a_record_is_refused_that_holds(tmp_path, what):
    path = written(tmp_path)
    old, new = SPOILT[what]
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RecordError) as caught:
        load("trial", tmp_path)
    assert str(path) in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, "\ud800", {1: 0, "1": 0}, {0, 1}, 1j],
    ids=repr,
)
def test_a_record_that_would_not_load_is_not_saved(tmp_path, value):
    with pytest.raises(RecordError, match="trial.json is no record"):
        written(tmp_path, results={"value": value})
    assert not [*tmp_path.iterdir()]


def test_a_record_without_end_is_not_saved(tmp_path):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecordError, match="trial.json is no record"):
        written(tmp_path, results={"value": deep})


def test_a_full_disk_leaves_the_old_record_and_no_half_one(
    tmp_path, monkeypatch
):
    path = written(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left.*: free some space"):
        written(tmp_path, seeds=[7])
    assert [*tmp_path.iterdir()] == [path]
    assert load("trial", tmp_path)["seeds"] == [0, 1]


def test_the_folder_can_be_moved(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    assert written(None).parent == tmp_path
    assert load("trial")["results"] == RESULTS
    assert quote("trial/sentences") == "29000"


def git(folder, *words):
    return subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def test_provenance_tells_the_commit_and_whether_the_code_is_its(
    tmp_path, monkeypatch
):
    package = tmp_path / "lookback"
    for folder in ("lab", "records"):
        (package / folder).mkdir(parents=True)
    (package / "lab" / "records.py").write_text("")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    monkeypatch.setattr(
        records, "__file__", str(package / "lab" / "records.py")
    )
    clean = {"commit": git(tmp_path, "rev-parse", "HEAD"), "dirty": False}
    assert records.commit() == clean
    (package / "records" / "new.json").write_text("{}")
    (tmp_path / "page.md").write_text("not code")
    assert records.commit() == clean
    for name in ("lab/records.py", "new_model.py"):  # changed, then new
        (package / name).write_text("x = 1\n")
        assert records.commit()["dirty"]
        git(tmp_path, "add", ".")
        assert records.commit()["dirty"]
        git(tmp_path, "commit", "-q", "-m", name)
        assert not records.commit()["dirty"]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package in a stranger's repository, from what it is told."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "a stranger's")
    site = tmp_path / ".venv" / "site-packages"
    module = site / "lookback" / "lab" / "records.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    info = site / "lookback-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: lookback\nVersion: 0.1.0\n"
        f"Project-URL: Repository, file://{tmp_path}/origin\n"
    )
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(records, "__file__", str(module))
    monkeypatch.setattr(records, "INSTALLED", True)
    monkeypatch.setattr(records, "FOLDER", site / "lookback" / "records")

    def install(source=None):
        path = info / "direct_url.json"
        path.unlink(missing_ok=True)
        if source:
            path.write_text(json.dumps(source))

    return install


def of_git(url, commit):
    return {"url": url, "vcs_info": {"vcs": "git", "commit_id": commit}}


def test_an_installed_package_knows_its_commit_from_pip(installed, tmp_path):
    installed(of_git("https://github.com/me/fork", "a" * 40))
    assert records.commit() == {"commit": "a" * 40, "dirty": None}
    path = written(tmp_path)
    assert load("trial", tmp_path)["git"]["dirty"] is None
    for source in (None, {"url": "file:///a/folder", "dir_info": {}}):
        installed(source)  # and never takes a stranger's
        assert records.commit() is None
        written(tmp_path)
        assert json.loads(path.read_text())["git"] is None
        assert load("trial", tmp_path)["results"] == RESULTS


def test_source_code_does_not_take_the_commit_of_an_installed_copy(
    installed, tmp_path, monkeypatch
):
    installed(of_git("https://github.com/me/fork", "a" * 40))
    monkeypatch.setattr(records, "__file__", str(tmp_path / "records.py"))
    assert records.commit() is None


def test_nothing_is_written_into_an_installed_package(
    installed, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert written(None) == Path("records/trial.json")
    path = weights.save("tiny", model_of(RNNsearch), SOURCE, TARGET)
    assert path == Path("records/tiny.safetensors.gz")
    assert not records.FOLDER.exists()
    assert {p.name for p in Path("records").iterdir()} == {
        "trial.json",
        "tiny.safetensors.gz",
    }
    assert load("trial", Path("records"))["results"] == RESULTS


def test_a_missing_record_says_how_to_make_it(tmp_path):
    command = "python -m lookback.experiments.search"
    with pytest.raises(RecordError, match=command):
        load("search", tmp_path)


@pytest.mark.parametrize("data", [b"", b'{"experiment": ', b"\xff\xfe{}"])
def test_a_broken_record(tmp_path, data):
    (tmp_path / "trial.json").write_bytes(data)
    with pytest.raises(RecordError, match="cannot read.*make it with"):
        load("trial", tmp_path)


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (["git", "commit"], "abc", "git/commit"),
        (["git", "dirty"], "no", "git/dirty"),
        (["git"], "abc", "git"),
        (["seeds"], [0, "one"], "seeds/1"),
        (["wall_seconds"], -1, "wall_seconds"),
        (["data", "train.en"], 5, "data/train.en"),
        (["results"], {}, "results"),
        (["versions", "torch"], ..., "versions"),
        (["config"], ..., "the top"),
        (["extra"], 1, "the top"),
    ],
)
def test_a_record_that_does_not_fit_names_the_place(
    tmp_path, monkeypatch, place, value, named
):
    monkeypatch.setattr(records, "commit", lambda: COMMIT)
    path = written(tmp_path)
    record = json.loads(path.read_text(encoding="utf-8"))
    *steps, last = place
    part = record
    for step in steps:
        part = part[step]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    path.write_text(json.dumps(record))
    with pytest.raises(RecordError, match=f"schema at {named}"):
        load("trial", tmp_path)


NO_FILES = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path),
    "forbidden": lambda path: path.symlink_to("/proc/self/mem"),
}


@pytest.mark.parametrize("what", NO_FILES)
@pytest.mark.parametrize("name", ["trial.json", "trial.npz", "tiny"])
def test_what_is_no_file_is_named_and_nobody_waits(tmp_path, what, name):
    if name == "tiny":
        path = tmp_path / f"tiny{weights.SUFFIX}"
    else:
        written(tmp_path, results=COUNTED)
        path = tmp_path / name
        path.unlink()
    NO_FILES[what](path)
    with pytest.raises(RecordError) as caught:
        if name == "tiny":
            weights.load("tiny", RNNsearch, tmp_path)
        else:
            load("trial", tmp_path)
    said = str(caught.value)
    assert "\n" not in said and len(said) < 900 and "experiment" in said


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "../" * 2000 + "a"])
def test_a_name_that_cannot_be_is_a_sentence(tmp_path, name):
    for ask in (load, lambda name, folder: quote(f"{name}:.1f", folder)):
        with pytest.raises(RecordError) as caught:
            ask(name, tmp_path)
        said = str(caught.value)
        assert "\n" not in said and len(said) < 1500 and "make it" in said


@pytest.mark.parametrize(
    "commit",
    [
        "a" * 40 + "\n",
        "a" * 39,
        "A" * 40,
        "a" * 41,
        "-" * 40,
        "--help",
        7,
        None,
    ],
)
def test_a_commit_that_is_none(tmp_path, installed, commit):
    with pytest.raises(RecordError, match="at git/commit"):
        written(tmp_path, git={"commit": commit, "dirty": False})
    assert not [*tmp_path.glob("trial*")]
    installed(of_git("https://github.com/me/fork", commit))
    assert records.installed_from() == {} and records.commit() is None


@pytest.mark.parametrize(
    "source",
    [
        [],
        7,
        {},
        {"url": 7},
        {"url": None, "dir_info": {}},
        {"url": "https://a", "vcs_info": None},
        {"url": "https://a", "vcs_info": []},
        {"url": "https://a", "vcs_info": {}},
    ],
    ids=repr,
)
def test_what_pip_could_not_have_written(installed, source):
    installed(source or {"": 0})
    assert records.commit() is None


def test_a_record_that_is_no_object(tmp_path):
    (tmp_path / "trial.json").write_text("[1, 2]")
    with pytest.raises(RecordError, match="at the top"):
        load("trial", tmp_path)


def test_a_record_under_another_name(tmp_path):
    written(tmp_path).rename(tmp_path / "other.json")
    with pytest.raises(RecordError, match="of 'trial'"):
        load("other", tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"results": {}},
        {"wall_seconds": -1.0},
        {"results": {"bleu": math.nan}},
        {"results": {"deep": [{"loss": math.inf}]}},
    ],
)
def test_a_bad_record_is_not_written(tmp_path, changes):
    path = written(tmp_path)
    before = path.read_bytes()
    with pytest.raises(RecordError):
        written(tmp_path, **changes)
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("trial/bleu:.1f", "51.4"),
        ("trial/bleu", "51.449"),
        ("trial/sentences:,", "29,000"),
        ("trial/runs/1/bleu:.2f", "52.00"),
        ("trial/runs/-1/bleu:.0f", "52"),
        ("trial/name", "été"),
        ("trial/gain:+.1f", "−1.5"),
        ("-trial/gain:.1f", "1.5"),  # the same, as a loss
        ("trial/step", "half-way"),
        ("trial/wall_seconds:.0f", "2"),
        ("trial/results/bleu:.2f", "51.45"),
        ("trial/seeds/1", "1"),
    ],
)
def test_quote(tmp_path, place, text):
    written(tmp_path)
    assert quote(place, tmp_path) == text


def test_a_quote_follows_its_record(tmp_path, monkeypatch):
    """It is read once for as long as it stays, and anew when it changes."""
    written(tmp_path)
    read = Mock(side_effect=load)
    monkeypatch.setattr(records, "load", read)
    for _ in range(2):
        assert quote("trial/sentences", tmp_path) == "29000"
    assert read.call_count == 1
    path = written(tmp_path, results={"sentences": 28000})
    assert quote("trial/sentences", tmp_path) == "28000"
    path.unlink()
    with pytest.raises(RecordError, match="cannot read"):
        quote("trial/sentences", tmp_path)


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("trial/blue:.1f", "'blue'.*bleu"),
        ("trial/runs/2/bleu", "'2'"),
        ("trial/runs/first", "'first'"),
        ("trial/bleu/deeper", "'deeper'"),
        ("trial/", "''"),
        ("trial/spread:.1f", "spread:.1f"),
        ("trial/name:.1f", "name:.1f"),
        ("-trial/name", "-trial/name"),
        ("trial/bleu:.1q", "bleu:.1q"),
        ("trial/runs", "not one value"),
        ("trial", "not one value"),
        ("nothing/bleu", "experiments.nothing"),
    ],
)
def test_quote_refuses(tmp_path, place, named):
    written(tmp_path)
    with pytest.raises(RecordError, match=named):
        quote(place, tmp_path)


# Tables beside a record.


def counted(seed, rows=200):
    table = np.random.default_rng(seed).integers(0, 40, (rows, 6))
    return ", ".join(" ".join(map(str, row)) for row in table)


COUNTED = {
    "one": {"runs": [{"counts": counted(0)}, {"counts": counted(1)}]},
    "other": {"counts": counted(2, 300), "bleu": 9.5, "again": counted(0)},
}


def test_tables_there_and_back(tmp_path):
    path = written(tmp_path, results=COUNTED)
    arrays = tmp_path / "trial.npz"
    assert {*tmp_path.iterdir()} == {path, arrays}
    assert load("trial", tmp_path)["results"] == COUNTED
    told = json.loads(path.read_text())["results"]["other"]
    name = f"sha256:{digest(counted(2, 300).encode())}"
    assert told["counts"] == name and told["bleu"] == 9.5
    assert path.stat().st_size < 2000
    with np.load(arrays) as held:  # what stands there twice is kept once
        assert {k: held[k].shape for k in held} == {
            "200x6": (2, 200, 6),
            "300x6": (1, 300, 6),
        }
        assert {held[k].dtype for k in held} == {np.dtype("uint8")}
    before = arrays.read_bytes()
    written(tmp_path, results=load("trial", tmp_path)["results"])
    assert arrays.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "1 2, 3 4",  # short
        counted(0) + ", 1 2",
        counted(0).replace(", ", " ,", 1),
        counted(0).replace(", ", ", 0", 1),
        counted(0) + " ",
        "-" + counted(0),
        "9" * 2000,
        "1 2 3 4 5 6 é" * 200,
        "1.5 2.5, " * 200,
        ", " * 600,
    ],
)
def test_what_is_no_table_stays_text(tmp_path, text):
    path = written(tmp_path, results={"counts": text})
    assert [*tmp_path.iterdir()] == [path]
    assert load("trial", tmp_path)["results"] == {"counts": text}


def test_large_numbers_of_a_table_stay_what_they_are(tmp_path):
    text = ", ".join(f"{n} {n**3} {2**40 + n}" for n in range(200))
    written(tmp_path, results={"counts": text})
    assert load("trial", tmp_path)["results"] == {"counts": text}


def test_a_record_without_tables_leaves_none(tmp_path):
    written(tmp_path, results=COUNTED)
    path = written(tmp_path)
    assert [*tmp_path.iterdir()] == [path]


class Died(BaseException):
    pass


@pytest.mark.parametrize("moment", range(4))
def test_a_record_that_was_not_written_whole(tmp_path, monkeypatch, moment):
    """Killed before or after any of the files, it is the old or the new."""
    written(tmp_path, results=COUNTED)
    new = {"one": COUNTED["one"], "counts": counted(3)}
    moves = []

    def kill(source, place):
        if len(moves) == moment:
            raise Died
        moves.append(place)
        Path(source).rename(place)

    with monkeypatch.context() as patched, pytest.raises(Died):
        patched.setattr(os, "replace", kill)
        written(tmp_path, results=new)
        raise Died  # after the last
    found = load("trial", tmp_path)["results"]
    assert found == (new if moment > 1 else COUNTED)


def other_tables(path):
    np.savez_compressed(path, a=np.zeros((2, 200, 6), np.uint8))


def one_number_changed(path):
    with np.load(path) as held:
        arrays = dict(held)
    arrays["200x6"] = arrays["200x6"].copy()
    arrays["200x6"][0, 7, 3] ^= 1
    np.savez_compressed(path, **arrays)


def same_numbers_as(kind):
    def change(path):
        with np.load(path) as held:
            arrays = {name: held[name].astype(kind) for name in held}
        np.savez_compressed(path, **arrays)

    return change


def pickled(path):
    path.write_bytes(pickle.dumps(COUNTED))


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", bytes(tables.MOST + 1))


def lie(path):
    """An array that says it is larger than the file."""
    with zipfile.ZipFile(path, "w") as file, file.open("a.npy", "w") as one:
        np.lib.format.write_array_header_1_0(
            one,
            {"descr": "|u1", "fortran_order": False, "shape": (10**15, 6)},
        )


SPOILT_TABLES = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "cut off": lambda path: os.truncate(path, path.stat().st_size // 2),
    "no zip": lambda path: path.write_bytes(b"tables"),
    "of another": other_tables,
    "another number": one_number_changed,
    "floats": same_numbers_as(float),
    "objects": same_numbers_as(object),
    "truths": same_numbers_as(bool),
    "no axis": lambda path: np.savez(path, a=np.uint8(1)),
    "one axis": lambda path: np.savez(path, a=np.zeros(7, np.uint8)),
    "text": lambda path: np.savez(path, a=np.array(["1 2", "3 4"])),
    "records": lambda path: np.savez(path, a=np.zeros((2, 2), "u1,u1")),
    "one array": lambda path: np.save(path.open("wb"), np.zeros((2, 2, 2))),
    "a pickle": pickled,
    "a bomb": bomb,
    "a lie": lie,
}


@pytest.mark.parametrize("what", SPOILT_TABLES)
def test_tables_that_are_not_the_record_s(tmp_path, what):
    path = written(tmp_path, results=COUNTED)
    SPOILT_TABLES[what](tmp_path / "trial.npz")
    with pytest.raises(RecordError, match="not whole without") as caught:
        load("trial", tmp_path)
    said = str(caught.value)
    assert str(path) in said and "experiments.trial" in said
    assert "\n" not in said and len(said) < 600


@pytest.mark.parametrize("what", SPOILT_TABLES)
def test_spoilt_tables_are_written_over(tmp_path, what):
    written(tmp_path, results=COUNTED)
    SPOILT_TABLES[what](tmp_path / "trial.npz")
    if what != "a folder":  # which stands in the way
        written(tmp_path, results=COUNTED)
        assert load("trial", tmp_path)["results"] == COUNTED


def test_every_byte_of_the_tables_counts(tmp_path):
    written(tmp_path, results=COUNTED)
    path = tmp_path / "trial.npz"
    data = path.read_bytes()
    for at in range(0, len(data), 41):
        harmed = bytearray(data)
        harmed[at] ^= 1
        path.write_bytes(harmed)
        try:  # a date in the zip does not
            assert load("trial", tmp_path)["results"] == COUNTED
        except RecordError as error:
            assert "not whole" in str(error)


# Weights.

SOURCE, TARGET = Vocabulary(["a", "b", "é"]), Vocabulary(["x", "y"])


def model_of(kind):
    torch.manual_seed(0)
    sizes = dict(embed=4, hidden=5, maxout=3)
    if kind is Bottleneck:
        config = BottleneckConfig(7, 6, reverse=True, **sizes)
    else:
        config = RNNsearchConfig(7, 6, align=4, **sizes)
    return kind(config)


def test_a_model_of_letters_needs_no_vocabulary(tmp_path):
    model = GPT(GPTConfig(vocab=7, d_model=8, layers=1, d_ff=8))
    weights.save("letters", model, folder=tmp_path)
    assert weights.load("letters", GPT, tmp_path)[0].config == model.config


@pytest.mark.parametrize("kind", [Bottleneck, RNNsearch])
def test_weights_there_and_back(tmp_path, kind):
    model = model_of(kind)
    path = weights.save("tiny", model, SOURCE, TARGET, tmp_path)
    assert [*tmp_path.iterdir()] == [path]
    again, source, target = weights.load("tiny", kind, tmp_path)
    assert type(again) is kind and again.config == model.config
    assert (source.words, target.words) == (SOURCE.words, TARGET.words)
    assert not again.training
    for key, value in again.state_dict().items():
        assert value.dtype == torch.float32
        true = model.state_dict()[key]
        off = (value - true).abs()
        if true.ndim == 2:  # half of a level, and the scale's own rounding
            levels = true.abs().amax(1, keepdim=True) / int8.MOST
            assert (off <= 0.57 * levels).all(), key
        else:
            assert (off <= 1e-3 * true.abs() + 1e-6).all(), key


@pytest.fixture
def stored(tmp_path):
    """A file of weights as (path, tensors, metadata), to be spoiled."""
    path = weights.save("tiny", model_of(RNNsearch), SOURCE, TARGET, tmp_path)
    return path, *weights.read(path)


def write(path, tensors, meta=None):
    data = safetensors.torch.save(tensors, metadata=meta)
    path.write_bytes(gzip.compress(data))


def refused(path, why=""):
    name = path.name.removesuffix(weights.SUFFIX)
    with pytest.raises(RecordError, match="cannot be used") as caught:
        weights.load(name, RNNsearch, path.parent)
    said = str(caught.value)
    assert why in said and str(path) in said and "experiment" in said


def test_weights_of_wrong_shapes(stored):
    path, tensors, meta = stored
    tensors["attention.v"] = torch.zeros(9).half()
    write(path, tensors, meta)
    refused(path, "attention.v")


@pytest.mark.parametrize("change", ["less", "more"])
def test_weights_lacking_or_unknown(stored, change):
    path, tensors, meta = stored
    if change == "less":
        del tensors["bridge.bias"]
    else:
        tensors["bridge.scale"] = torch.zeros(1).half()
    write(path, tensors, meta)
    refused(path, "bridge.")


SPOILS = {
    "nan": ("bridge.bias", lambda w: w * math.nan, "not finite"),
    "infinite": ("bridge.bias", lambda w: w / 0, "not finite"),
    "wider": ("bridge.bias", lambda w: w.float(), "float32 and not torch.fl"),
    "whole": ("bridge.bias", lambda w: w.int(), "int32 and not torch.float16"),
    "truth": ("bridge.bias", lambda w: w > 0, "bool and not torch.float16"),
    "levels": ("bridge.weight", lambda w: w.half(), "float16 and not torch.in"),
    "scales": ("bridge.weight.scale", lambda s: s.float(), "float32 and not"),
    "a scale": ("bridge.weight.scale", lambda s: s / 0, "not finite"),
    "one scale": ("bridge.weight.scale", lambda s: s[:1], "scales of shape"),
    "no axis": ("bridge.weight.scale", lambda s: s[0], "scales of shape"),
    "a column": ("bridge.weight.scale", lambda s: s[:, None], "scales of sh"),
    "a vector": ("bridge.weight", lambda w: w[0], "scales of shape"),
    "a number": ("bridge.weight", lambda w: w[0, 0], "scales of shape"),
}


@pytest.mark.parametrize("how", SPOILS)
def test_weights_that_are_not_as_they_were_kept(stored, how):
    path, tensors, meta = stored
    name, spoil, why = SPOILS[how]
    tensors[name] = spoil(tensors[name]).contiguous()
    write(path, tensors, meta)
    refused(path, f"({name.removesuffix('.scale')}")
    refused(path, why)


def test_levels_without_their_scales(stored):
    path, tensors, meta = stored
    del tensors["bridge.weight.scale"]
    write(path, tensors, meta)
    refused(path, "bridge.weight is torch.int8 and not torch.float16")


def test_scales_without_their_levels(stored):
    path, tensors, meta = stored
    del tensors["bridge.weight"]
    write(path, tensors, meta)
    refused(path, "bridge.weight")


def test_weights_that_stay_fp16(tmp_path):
    model = model_of(RNNsearch)
    weights.save("tiny", model, SOURCE, TARGET, tmp_path, halves=True)
    again, *_ = weights.load("tiny", RNNsearch, tmp_path)
    for name, weight in again.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name].half().float())


def test_what_is_loaded_is_kept_as_the_same_bytes(stored):
    path, before, meta = stored
    model, source, target = weights.load("tiny", RNNsearch, path.parent)
    weights.save("tiny", model.cpu(), source, target, path.parent)
    after, again = weights.read(path)
    assert again == meta and after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in after)


@pytest.mark.parametrize("part", ["bias", "weight"])
@pytest.mark.parametrize("weight", [math.nan, math.inf, 1e7])
def test_weights_that_would_not_load_are_not_saved(tmp_path, part, weight):
    """fp16 ends at 65504, and a matrix at 127 times as much."""
    model = model_of(RNNsearch)
    getattr(model.bridge, part).data.view(-1)[0] = weight
    with pytest.raises(ValueError, match=f"bridge.{part}.*not finite in fp16"):
        weights.save("tiny", model, SOURCE, TARGET, tmp_path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("share", [0.0, 0.2, 0.99])
def test_weights_cut_off(stored, share):
    path, _, _ = stored
    os.truncate(path, int(path.stat().st_size * share))
    refused(path)


def test_weights_missing(tmp_path):
    refused(tmp_path / "nothing.safetensors.gz")


def test_weights_without_metadata(stored):
    path, tensors, _ = stored
    write(path, tensors)
    refused(path, "model")


SIZES_OF = '{"source_vocab": 7, "target_vocab": 6, '


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("model", "Transformer9", "Transformer9"),
        ("model", "Bottleneck", "a Bottleneck's and not a RNNsearch's"),
        ("config", "{", ""),
        ("config", "[]", ""),
        ("config", "[" * 100_000, ""),
        ("config", '{"source_vocab": 1e30, "target_vocab": 6}', ""),
        ("source", "[" * 100_000, ""),
        ("source", "[1, 2, 3]", ""),
        ("source", "null", ""),
        ("source", '[["a"], "b", "c"]', ""),
        ("config", '{"source_vocab": 7}', "target_vocab"),
        ("config", '{"source_vocab": 7, "source_vocab": 7}', "twice"),
        ("config", SIZES_OF + '"dropout": NaN}', "NaN is no number"),
        ("config", SIZES_OF + '"dropout": 7.5}', "dropout is 7.5"),
        ("config", SIZES_OF + '"embed": 1e999}', ""),
        ("source", '["a", "b"]', "differ in size"),
        ("target", '["x", "x"]', "twice"),
    ],
)
def test_weights_whose_metadata_do_not_fit(stored, key, value, why):
    path, tensors, meta = stored
    write(path, tensors, {**meta, key: value})
    refused(path, why)


@pytest.mark.parametrize("place", [open, gzip.open])
def test_a_pickle_is_never_loaded(tmp_path, place):
    path = tmp_path / "tiny.safetensors.gz"
    with place(path, "wb") as file:
        torch.save(model_of(RNNsearch).state_dict(), file)
    refused(path)


def test_weights_that_would_fill_the_memory(stored, monkeypatch):
    monkeypatch.setattr(weights, "UNPACKED", 1000)
    refused(stored[0], "more than 1000 bytes")


def test_weights_with_another_byte(stored):
    """Beyond the header of the zip there is no byte that does not count."""
    path = stored[0]
    data = path.read_bytes()
    for at in range(10, len(data), 97):
        harmed = bytearray(data)
        harmed[at] ^= 1
        path.write_bytes(harmed)
        refused(path)


# The book's weights, where they are and where they are not.


@pytest.fixture
def shelf(installed, tmp_path, monkeypatch):
    """A repository of the book with one model; no cache, no weights here."""
    shelf = tmp_path / "origin"
    folder = shelf / weights.INSIDE
    folder.mkdir(parents=True)
    git(shelf, "init", "-q")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with monkeypatch.context() as source:
        source.setattr(records, "FOLDER", folder)
        source.setattr(records, "INSTALLED", False)
        weights.save("tiny", model_of(RNNsearch), SOURCE, TARGET)
    git(shelf, "add", ".")
    git(shelf, "commit", "-q", "-m", "one model")
    records.FOLDER.mkdir(parents=True)
    copyfile(folder / "weights.sha256", records.FOLDER / "weights.sha256")
    return shelf


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "cache" / "lookback" / "weights" / "tiny.safetensors.gz"


def unavailable(why, name="tiny"):
    with pytest.raises(RecordError, match=why) as caught:
        weights.load(name, RNNsearch)
    assert "\n" not in str(caught.value)


LINES = {
    "no name": "a" * 64,
    "a name that is a path": f"{'a' * 64}  ../x",
    "a short digest": "abc  tiny.safetensors.gz",
    "three words": f"{'a' * 64}  tiny.safetensors.gz x",
    "an empty line": "",
    "one twice": f"{'a' * 64}  tiny.safetensors.gz",
    "no text": "\udc80",
    "a long one": "x" * 5000,
}


@pytest.mark.parametrize("what", LINES)
def test_a_registry_that_is_not_as_it_is_written(shelf, what, monkeypatch):
    path = records.FOLDER / "weights.sha256"
    text = path.read_text() + LINES[what] + "\n"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    unavailable("weights.sha256 does not name each file once.*git checkout")
    monkeypatch.setattr(records, "INSTALLED", False)
    before = {*records.FOLDER.iterdir()}
    with pytest.raises(RecordError, match="does not name each file once"):
        weights.save("other", model_of(RNNsearch), SOURCE, TARGET)
    assert {*records.FOLDER.iterdir()} == before


@pytest.mark.parametrize("what", ["a pipe", "a folder"])
def test_a_registry_that_is_no_file(shelf, what):
    path = records.FOLDER / "weights.sha256"
    path.unlink()
    NO_FILES[what](path)
    unavailable("weights.sha256 .*is a folder, a pipe.*git checkout")


def test_saved_weights_are_registered(shelf):
    path = shelf / weights.INSIDE / "weights.sha256"
    data = path.with_name("tiny.safetensors.gz").read_bytes()
    assert path.read_text() == f"{digest(data)}  tiny.safetensors.gz\n"


@pytest.mark.parametrize("source", ["git", "unknown"])
def test_weights_come_from_the_repository_that_was_installed(
    shelf, installed, kept, source
):
    commit = git(shelf, "rev-parse", "HEAD")
    if source == "git":
        installed(of_git(f"file://{shelf}", commit))
        git(shelf, "rm", "-q", "-r", "src")  # later there is another model
        git(shelf, "commit", "-q", "-m", "none")
    model, *_ = weights.load("tiny", RNNsearch)
    assert model.config == model_of(RNNsearch).config
    assert [*kept.parent.iterdir()] == [kept]
    rmtree(shelf)  # the cache is enough now
    assert weights.load("tiny", RNNsearch)
    kept.write_bytes(b"damaged")
    unavailable(f"cannot download file://{shelf}.*git repository.*try again")


def test_weights_of_an_installed_folder_are_read_there(shelf, installed, kept):
    installed({"url": f"file://{shelf}", "dir_info": {}})
    assert weights.load("tiny", RNNsearch) and not kept.exists()


def test_githubs_weights_come_over_http(shelf, installed, kept, monkeypatch):
    asked = []

    def http(url, out, most):
        asked.append(url)
        path = shelf / weights.INSIDE / "tiny.safetensors.gz"
        assert path.stat().st_size < most
        out.write(path.read_bytes())

    monkeypatch.setattr(weights, "http", http)
    installed(of_git("https://github.com/me/fork.git", "a" * 40))
    assert weights.load("tiny", RNNsearch) and kept.is_file()
    assert asked == [
        "https://raw.githubusercontent.com/me/fork/"
        + f"{'a' * 40}/src/lookback/records/tiny.safetensors.gz"
    ]


def test_weights_with_a_flipped_byte_are_refused(shelf, installed, kept):
    path = shelf / weights.INSIDE / "tiny.safetensors.gz"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    installed({"url": f"file://{shelf}", "dir_info": {}})
    unavailable("not the file that this book was made with.*git checkout")
    git(shelf, "commit", "-q", "-a", "-m", "flipped")
    installed(of_git(f"file://{shelf}", git(shelf, "rev-parse", "HEAD")))
    unavailable("is not the file this book was made with.*nothing was kept")
    assert not kept.exists()


def test_weights_too_large_are_not_fetched(shelf, kept, monkeypatch):
    monkeypatch.setattr(weights, "LARGEST", 100)
    unavailable("it has [0-9]+ bytes, 100 are allowed")
    assert not [*kept.parent.iterdir()]


def test_weights_that_cannot_be_had(shelf, installed, tmp_path, monkeypatch):
    unavailable("the book has no weights 'large', only: tiny", "large")
    installed(of_git(f"file://{shelf}", "a" * 40))
    unavailable(f"cannot download file://{shelf}.*{'a' * 40}.*work in a clone")
    monkeypatch.setenv("PATH", str(tmp_path))
    unavailable("git is not installed")
    installed(None)
    metadata = (
        tmp_path / ".venv/site-packages/lookback-0.1.0.dist-info/METADATA"
    )
    metadata.write_text("Name: lookback\n")
    unavailable("nothing says where they can be had: work in a clone")


# What is in the repository.


def test_every_experiment_has_its_record():
    assert {path.stem for path in COMMITTED} == set(EXPERIMENTS)


def test_every_experiment_is_known_here():
    folder = Path(records.__file__).parents[1] / "experiments"
    shared = {"__init__", "__main__", "train_small", "runs"}
    assert {p.stem for p in folder.glob("*.py")} - shared == set(EXPERIMENTS)


# What an experiment was called when it ran, at the commit that its record has.
FORMERLY = {
    "ablation": "removal",
    "feedforward_memories": "memories",
    "linear_attention": "linear",
    "page_speed": "pages",
    "positions": "order",
    "quantization": "in_page",
    "handwriting": "window",
    "linear_cross_attention": "softless",
    "memory_networks": "hops",
    "modern_gpt": "since",
    "ntm": "tape",
    "probing": "senses",
    "shakespeare": "plays",
    "transducer": "cursors",
    "tuned_baselines": "best",
}


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_record_loads_and_names_its_experiment(path):
    record, name = load(path.stem), path.stem
    *program, module = record["command"].split()
    assert program == ["python", "-m"]
    known = {f"lookback.experiments.{n}" for n in (name, FORMERLY.get(name))}
    assert module in known
    experiment = importlib.import_module(f"lookback.experiments.{name}")
    assert callable(experiment.main)
    made_by = record.get("made_by", [record])
    assert all(made["git"]["dirty"] is not None for made in made_by)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_record_was_written_by_its_experiment(path):
    """Not typed in, and not of settings that the experiment has no more."""
    record = load(path.stem)
    module = importlib.import_module(f"lookback.experiments.{path.stem}")
    if hasattr(module, "TRAINING"):
        config = asdict(TrainingConfig()) | record["config"]  # a field may be
        assert asdict(module.TRAINING).items() <= config.items()  # younger
    data, tests = {}, TESTS if path.stem in ALL_TESTS else TESTS[:1]
    for languages in CORPUS.get(path.stem, []):
        data |= digests(*languages, tests=tests)
    if path.stem in PLAYS:
        data[PLAYS[path.stem]] = SHAKESPEARE_SHA256
    assert record["data"] == data


@pytest.mark.parametrize("name", WEIGHTS)
def test_committed_weights_are_small_and_load(name):
    assert WEIGHTS[name].stat().st_size <= weights.LARGEST
    model, source, target = weights.load(name, KINDS[name])
    assert all(weight.isfinite().all() for weight in model.parameters())
    config = model.config
    if hasattr(config, "vocab"):  # one for both
        assert len(source) == len(target) == config.vocab
    elif hasattr(config, "source_vocab"):
        sizes = config.source_vocab, config.target_vocab
        assert (len(source), len(target)) == sizes
    else:  # no vocabularies, no sentences
        assert source is target is None


def test_nothing_else_lies_among_the_records():
    endings = {path.suffix for path in records.FOLDER.iterdir()}
    assert endings == {".json", ".npz", ".gz", ".sha256"}
    arrays = {path.stem for path in records.FOLDER.glob("*.npz")}
    assert arrays <= {path.stem for path in COMMITTED}


LIGHT = 45_000_000  # bytes: each reader of a notebook clones them


def test_what_git_tracks_is_light():
    root = Path(__file__).parents[1]
    try:
        names = git(root, "ls-files", "-z").rstrip("\0").split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no clone, so nobody knows what is tracked")
    sizes = {name: (root / name).lstat().st_size for name in names}
    largest = sorted(sizes, key=sizes.get)[-10:]
    assert sum(sizes.values()) <= LIGHT, largest


def test_the_digests_are_those_of_the_committed_weights():
    assert {
        path.name: digest(path.read_bytes()) for path in WEIGHTS.values()
    } == (weights.digests()), (
        "in src/lookback/records: LC_ALL=C sha256sum *.safetensors.gz"
        " > weights.sha256"
    )
