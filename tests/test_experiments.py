"""Each experiment, at a toy's size: it writes a valid record and resumes."""

import importlib
import json
import math
import os
import random
import re
import runpy
import shutil
import subprocess
import sys
from collections import UserList
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from statistics import mean
from types import SimpleNamespace

import pytest
import torch
from sacrebleu.metrics import BLEU
from torch import nn
from torch.nn import functional as F

from lookback import ladder as bench
from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.experiments import (
    EXPERIMENTS,
    ablation,
    alignment,
    brevity,
    copying,
    families,
    feedforward_memories,
    german,
    gpu,
    growth,
    handwriting,
    ladder,
    length,
    pruning,
    quantization,
    runs,
    search,
    serial,
    speed,
    transducer,
    tuned,
    tuned_baselines,
)
from lookback.families import Body, BodyConfig, next_words
from lookback.handwriting import Writer, WriterConfig
from lookback.lab import (
    corpus,
    metrics,
    phrasebook,
    records,
    significance,
    training,
    weights,
)
from lookback.lab.corpus import Pair, collate
from lookback.lab.decoding import greedy
from lookback.lab.training import TrainingConfig
from lookback.ladder import way_to
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transducer import Transducer
from lookback.transformer import Transformer, TransformerConfig
from lookback.translator import Translator
from lookback.vocabulary import END, PAD, Vocabulary

ONE_EPOCH = TrainingConfig(epochs=1, batch=8, warmup=1)
SMALL = dict(embed=6, hidden=6, maxout=6)
TINY = TransformerConfig(0, 0, d_model=8, heads=2, layers=1, d_ff=8)
STACK = {"d_model": 8, "heads": 2, "layers": 1, "d_ff": 8}


def toy(kind, s, t, **sizes):
    """A chapter's machine, small: its model's class, config and sizes."""
    model, config = {
        "bottleneck": (Bottleneck, BottleneckConfig),
        "rnnsearch": (RNNsearch, RNNsearchConfig),
        "transformer": (Transformer, TransformerConfig),
    }[kind]
    return model(config(s, t, **sizes))


TOYS = {
    "bottleneck": partial(toy, "bottleneck", **SMALL),
    "reversed": partial(toy, "bottleneck", **SMALL, reverse=True),
    "rnnsearch": partial(toy, "rnnsearch", align=6, **SMALL),
    "transformer": partial(toy, "transformer", **STACK),
}
COMMIT = {"commit": "0" * 40, "dirty": False}
COUNTS = {"train": 40, "val": 10} | dict.fromkeys(corpus.TESTS, 12)
SHORT_RUNGS = {
    n: replace(rung, parts=replace(rung.parts, width=8))
    for n, rung in bench.RUNGS.items()
    if n in ("fixed", "two-way", "rnnsearch", "transformer")
}


def captions(split, source="en", target="fr"):
    """A corpus of a few made-up captions."""
    dice = random.Random(split)
    return [
        Pair([f"{source}{n}" for n in said], [f"{target}{n}" for n in said])
        for said in (
            dice.choices(range(5), k=dice.randint(4, 9))
            for _ in range(COUNTS[split])
        )
    ]


def short(monkeypatch):
    """The ladder's bench with three rungs and one trial."""
    monkeypatch.setattr(ladder, "PIECES", 60)
    monkeypatch.setattr(ladder, "RUNGS", SHORT_RUNGS)
    for module in (tuned_baselines, growth):
        monkeypatch.setattr(module, "RUNGS", SHORT_RUNGS)
    ladder.subwords.cache_clear()
    one = TrainingConfig(epochs=1, batch=8, warmup=1)
    for module in (ladder, tuned_baselines, growth):
        monkeypatch.setattr(module, "TRAINING", one)
    parts = {
        n: partial(ladder.run, SHORT_RUNGS[n], one)
        for n in ("fixed", "two-way", "rnnsearch")
    }
    changes = ({"dropout": 0.1}, {})
    parts["trial"] = partial(ladder.trial, "rnnsearch", changes)
    monkeypatch.setattr(ladder, "PARTS", parts)
    start = {"rate": 1e-3, "rounds": 2}
    stages = (
        {f"dropout {p}": {"dropout": p, **start} for p in (0.0, 0.1)},
        {"rate 2e-3": {"rate": 2e-3}},
    )
    monkeypatch.setattr(tuned_baselines, "STAGES", stages)
    few = {
        f"{name}, {label}": partial(tuned_baselines.trial, name, stage, label)
        for stage, trials in enumerate(stages)
        for label in trials
        for name in tuned_baselines.FAMILIES
    }
    monkeypatch.setattr(tuned_baselines, "PARTS", few)
    few = {
        name: partial(growth.run, *growth.PARTS[name].args[:2], [1, 2])
        for name in ("rnnsearch, 3000", "fixed, joined")
    }
    monkeypatch.setattr(growth, "PARTS", few)
    few = {
        n: partial(ladder.run, SHORT_RUNGS[n], one, language="de")
        for n in ("rnnsearch", "fixed")
    }
    monkeypatch.setattr(german, "PARTS", few)
    few = {n: ablation.PARTS[n] for n in ("heads", "warmup, slowly")}
    monkeypatch.setattr(ablation, "PARTS", few)
    monkeypatch.setattr(ablation, "chosen", cache(whole))


def whole(name):
    """Two runs of the best Transformer, as if the record had them."""
    setting = {"dropout": 0.1, "rate": 1e-3, "rounds": 1}
    rung, settings = tuned_baselines.rung_with(name, setting)
    return [
        {"setting": setting}
        | ladder.run(rung, settings, seed, Path(f"whole-{seed}"))
        for seed in range(2)
    ]


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Runs and records go to tmp_path, and trainings are counted."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records").mkdir()
    monkeypatch.setattr(records, "FOLDER", tmp_path / "records")
    monkeypatch.setattr(corpus, "load", captions)
    for module in (search, length, alignment, copying, tuned):
        monkeypatch.setattr(module, "TRAINING", ONE_EPOCH)
    monkeypatch.setattr(speed, "TURNS", 1)
    monkeypatch.setattr(speed, "BATCH", 2)
    monkeypatch.setattr(tuned, "PIECES", 60)
    short(monkeypatch)
    monkeypatch.setattr(tuned, "SIZES", STACK)
    monkeypatch.setattr(tuned, "WIDTHS", SMALL | {"align": 6})
    monkeypatch.setattr(tuned, "KEEP", 2)
    for module in (search, length):
        monkeypatch.setattr(module, "MAKE", TOYS)
    monkeypatch.setattr(alignment, "PAIRS", 40)
    monkeypatch.setattr(alignment, "TESTS", 12)
    monkeypatch.setattr(alignment, "HELD_OUT", 5)
    few = {
        "rnnsearch": partial(
            alignment.run, make=TOYS["rnnsearch"], save="phrasebook"
        ),
        "dot": partial(alignment.run, make=SHORT_RUNGS["rnnsearch"].make),
    }
    monkeypatch.setattr(alignment, "PARTS", few)
    for name, value in (("PAIRS", 40), ("TESTS", 12), ("HELD_OUT", 5)):
        monkeypatch.setattr(transducer, name, value)
    monkeypatch.setattr(transducer, "TRAINING", ONE_EPOCH)
    monkeypatch.setattr(transducer, "CLAUSES", (1, 2))
    monkeypatch.setattr(transducer, "LONG", 2)
    for name, value in (("PIECES", 40), ("LENGTHS", (3, 4)), ("ROUNDS", 1)):
        monkeypatch.setattr(transducer, name, value)
    few = {name: transducer.MAKE[name] for name in ("cursors", "outside")}
    monkeypatch.setattr(transducer, "MAKE", few)
    monkeypatch.setattr(copying, "WIDTHS", (4, 6))
    monkeypatch.setattr(copying, "LONGEST", 3)
    monkeypatch.setattr(copying, "TESTS", 5)
    monkeypatch.setattr(copying, "PER_EPOCH", 16)
    for name, value in (("VOCAB", 2000), ("BATCH", 2), ("ROUNDS", 1)):
        monkeypatch.setattr(speed, name, value)
    # No list, since a run's identity has the data that its functions hold.
    trained, train = UserList(), training.train

    def counted(model, *arguments, **options):
        trained.append(type(model).__name__)
        return train(model, *arguments, **options)

    monkeypatch.setattr(training, "train", counted)
    return tmp_path, trained


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_module_says_how_to_run_it(name, capsys):
    module = importlib.import_module(f"lookback.experiments.{name}")
    assert f"records/{name}.json" in re.sub(r"\s+", " ", module.__doc__)
    assert f"python -m lookback.experiments.{name}" in module.__doc__
    with pytest.raises(SystemExit):
        module.main(["--help"])
    said = capsys.readouterr().out
    for option in ("--only", "--seeds", "--record", "--runs"):
        assert option in said


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_record_is_of_the_settings_in_the_code(name, monkeypatch):
    """Who changes a setting has to run the experiment again."""
    module, asked = importlib.import_module(f"lookback.experiments.{name}"), {}
    for place in (module, ladder):
        if hasattr(place, "campaign"):
            monkeypatch.setattr(
                place, "campaign", lambda *_, **more: asked.update(more)
            )
    module.main([])
    record = records.load(name)
    assert json.loads(json.dumps(asked["config"])) == record["config"]
    assert asked.get("data", {}) == record["data"]


KINDS = {
    "bottleneck": Bottleneck,
    "copying-4": Bottleneck,
    "copying-6": Bottleneck,
    "phrasebook": RNNsearch,
    "transducer": Transducer,
    "rnnsearch": RNNsearch,
    "transformer": Transformer,
    "tuned-en-fr": Transformer,
    "tuned-rnnsearch": RNNsearch,
}


def trials():
    return {
        "search": (search, 4, {"bottleneck", "rnnsearch", "transformer"}),
        "length": (length, 2, set()),
        "alignment": (alignment, 2, {"phrasebook"}),
        "transducer": (transducer, 6, {"transducer"}),
        "copying": (copying, 2, {"copying-4", "copying-6"}),
        "tuned": (tuned, 8, {"tuned-en-fr", "tuned-rnnsearch"}),
        "ladder": (ladder, 4, set()),
        "tuned_baselines": (tuned_baselines, 6, set()),
        "german": (german, 2, set()),
        "growth": (growth, 4, set()),
        "ablation": (ablation, 4, set()),  # the whole twice
    }


def swapped_nouns() -> phrasebook.Pair:
    source = "the king 's old horse sleeps and they fall".split()
    target = "le cheval vieux du roi dort et ils tombent".split()
    links = {(0, 0), (4, 1), (3, 2), (2, 3), (1, 4), (5, 5)}
    links |= {(6, 6), (7, 7), (8, 8)}
    return phrasebook.Pair(source, target, frozenset(links))


def test_kinds_of_words_for_a_finger_that_never_goes_back():
    found = transducer.kinds(swapped_nouns())
    back = ["back 1", "back 2", "back 3"]
    assert found == ["plain"] * 2 + back + ["plain"] * 2 + ["pronoun", "plain"]


def test_words_of_each_kind_are_counted_and_those_that_are_right():
    class Knows(nn.Module):
        """Says each next word, but for the pronoun."""

        device = torch.device("cpu")

        def forward(self, source, target_in):
            out = target_in.roll(-1, dims=1)
            out[out == target.encode(["ils"])[0]] = PAD
            return F.one_hot(out, len(target)).float()

    pair = swapped_nouns()
    source, target = Vocabulary(pair.source), Vocabulary(pair.target)
    fitted = runs.Fitted(Knows(), source, target, {})
    found = transducer.by_kind(fitted, [pair] * 101)  # two batches
    words = {"plain": 5, "back 1": 1, "back 2": 1, "back 3": 1, "pronoun": 1}
    assert found == {
        kind: {"words": 101 * n, "right": 101 * n * (kind != "pronoun")}
        for kind, n in words.items()
    }


MAKE = transducer.MAKE


def test_the_cursors_and_their_rivals_have_as_many_weights():
    counts = {
        name: sum(p.numel() for p in make(186, 254).parameters())
        for name, make in MAKE.items()
    }
    assert max(counts.values()) < 1.05 * min(counts.values()), counts
    assert counts["inside"] == counts["outside"]


@pytest.mark.parametrize("name", MAKE)
def test_every_readout_drops_of_state_context_and_word(name):
    """What it is handed of the source, too; and all at one rate."""
    model = MAKE[name](186, 254).train()
    drops = [each for each in model.modules() if isinstance(each, nn.Dropout)]
    calls = []
    for each in drops:
        assert each.p == transducer.SIZES["dropout"]
        each.register_forward_hook(lambda _, given, out: calls.append(given[0]))
    model(torch.full((1, 3), 5), torch.full((1, 7), 5))
    shapes = sorted(tuple(each.shape[1:]) for each in calls)
    hidden = transducer.SIZES["hidden"]
    source, context = (3, hidden), {(3, 2 * hidden), (7, 2 * hidden)}
    assert shapes.count((7, hidden)) == 2  # the words, and the states
    assert shapes.count(source) == 1 and len(shapes) == 4
    assert len(context & set(shapes)) == 1


WHOLE = bench.RUNGS["transformer"].make


def test_without_norms_the_first_scores_are_as_loud():
    """So the last norm of each stack stays."""
    spreads = []
    for name in ("norm", "smoothing"):
        torch.manual_seed(0)
        model = ablation.without(name, WHOLE, 50, 50).eval()
        said = model(torch.full((1, 3), 5), torch.full((1, 7), 6))
        spreads.append(said.std().item())
    assert max(spreads) < 1.5 * min(spreads)  # without that one, 14 times
    assert ablation.without("norm", WHOLE, 9, 9).config.norm == "none"


@pytest.mark.parametrize("name", ablation.REMOVALS)
def test_every_removal_is_another_model_or_training(name):
    model, settings = ablation.REMOVALS[name]
    full = WHOLE(9, 9).config
    assert (replace(full, **model) == full) == (not model)
    assert model or settings


@pytest.mark.nightly
def test_a_slow_removal_has_a_quarter_of_the_rate(folders, monkeypatch):
    run = ablation.chosen("transformer")[1]
    low = run | {"setting": run["setting"] | {"rate": 1e-3 / 4}}
    other = run | {"setting": low["setting"], "tests": {}}
    tried = {
        "rnnsearch, rate": other,
        "transformer, rate": low,
        "transformer, at its best": run | {"tests": {}},
    }
    monkeypatch.setattr(ablation, "recorded", lambda: tried)
    ablation.main([])
    results = records.load("ablation")["results"]
    full = ablation.chosen("transformer")
    slow = results["warmup, slowly"]["runs"]
    assert full[0]["training"]["learning_rate"] == 1e-3
    changed = full[0]["training"] | {"learning_rate": 1e-3 / 4, "warmup": 0}
    assert slow[0]["training"] == changed
    assert slow[0]["config"] == full[0]["config"]
    assert full[0]["config"]["dropout"] == 0.1
    for kind in ("greedy", "beam"):
        place = results["warmup, slowly"]["tests"]["all"]
        place = place["beam"] if kind == "beam" else place
        one, two = (
            significance.scores(runs, "all", kind)["bleu"]
            for runs in (full, slow)
        )
        assert place["change"]["gain"] == pytest.approx(two - one)
        beside = significance.scores([low], "all", kind)["bleu"]
        assert place["beside"]["bleu"] == beside
        assert place["beside"]["change"]["gain"] == pytest.approx(two - beside)
    assert "beside" not in results["heads"]["tests"]["all"]


@pytest.mark.nightly
def test_a_removal_that_diverges_is_recorded_as_such(folders, monkeypatch):
    fast = [
        dict(run, setting=run["setting"] | {"rate": 1e30})
        for run in ablation.chosen("transformer")
    ]
    monkeypatch.setattr(ablation, "chosen", lambda _: fast)
    ablation.main(["--only", "heads"])
    ablation.main(["--record"])
    heads = records.load("ablation")["results"]["heads"]
    assert heads["runs"][0]["diverged"]
    assert heads["runs"][0]["training"]["learning_rate"] == 1e30
    assert "tests" not in heads


@pytest.mark.nightly
def test_a_removal_that_becomes_nan_after_a_round_has_no_score(folders):
    [run] = ablation.chosen("transformer")[:1]
    cut = run | {"curve": run["curve"][:-1]}
    assert ablation.survived(run) and not ablation.survived(cut)
    assert "tests" in ablation.summary({"heads": [run]})["heads"]
    assert "tests" not in ablation.summary({"heads": [run, cut]})["heads"]


def test_without_feed_forward_seven_layers_have_as_many_weights():
    """But for norms and biases, 84 d² in the layers of either."""
    full = WHOLE(9, 9)
    changes, _ = ablation.REMOVALS["feedforward, 7 layers"]
    other = Transformer(replace(full.config, **changes))
    counts = [sum(p.numel() for p in m.parameters()) for m in (full, other)]
    assert counts[1] == pytest.approx(counts[0], rel=0.01)


QUICK = ("alignment", "copying")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] * (name not in QUICK))
        for name in trials()
    ],
)
def test_writes_its_record_and_does_not_train_twice(name, folders, monkeypatch):
    folder, trained = folders
    module, models, kept = trials()[name]
    module.main([])
    record = records.load(name)
    assert record["config"]["epochs"] == 1 and record["wall_seconds"] > 0
    assert len(trained) == models
    stored = (folder / "records").glob(f"*{weights.SUFFIX}")
    assert {p.name for p in stored} == {f"{n}{weights.SUFFIX}" for n in kept}
    for each in kept:
        weights.load(each, KINDS[each])
    module.main([])  # all is finished: nothing is trained
    assert len(trained) == models
    assert records.load(name)["results"] == record["results"]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["search", "length", "copying"])
def test_an_interrupted_experiment_goes_on(name, folders, monkeypatch):
    folder, trained = folders
    module, models, _ = trials()[name]
    train = training.train

    def once(*arguments, **options):
        if trained:
            raise KeyboardInterrupt
        return train(*arguments, **options)

    monkeypatch.setattr(training, "train", once)
    with pytest.raises(SystemExit, match="the same command goes on"):
        module.main([])
    assert not (folder / "records" / f"{name}.json").exists()
    monkeypatch.setattr(training, "train", train)
    module.main([])
    assert len(trained) == models  # the first was not trained again
    records.load(name)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("module", "first", "rest"),
    [
        (search, "rnnsearch", ["bottleneck", "reversed", "transformer"]),
        (length, "rnnsearch", ["bottleneck"]),
        (copying, "4", ["6"]),
    ],
)
def test_the_parts_can_be_run_apart(
    module, first, rest, folders, monkeypatch, capsys
):
    folder, trained = folders
    name = module.__name__.rpartition(".")[2]
    module.main(["--only", first, "--runs", "elsewhere"])
    assert "--record" in capsys.readouterr().out and len(trained) == 1
    module.main(["--record", "--runs", "elsewhere"])
    said = capsys.readouterr().out
    assert f"not finished yet: {', '.join(rest)}" in said
    assert not (folder / "records" / f"{name}.json").exists()
    module.main(["--only", *rest, "--runs", "elsewhere"])
    module.main(["--record", "--runs", "elsewhere"])
    records.load(name)
    assert len(trained) == 1 + len(rest)
    assert not (folder / "runs").exists()


def measured_anew(module, monkeypatch):
    """An experiment that only measures; what it measures is how often."""
    times = []

    def measure(*_):
        times.append(len(times))
        return {"times": len(times), "sides": {"times": len(times)}}

    if module is feedforward_memories:
        monkeypatch.setattr(module, "run", measure)
    elif module is pruning:
        monkeypatch.setattr(module, "measured", measure)
        monkeypatch.setattr(module, "summary", lambda found: found)
        monkeypatch.setattr(weights, "load", lambda *_: (None, None, None))
    else:
        monkeypatch.setattr(module, "measure", measure)
    return times


def test_every_machine_s_pace_on_a_gpu_is_measured(monkeypatch):
    """With a CPU in its place."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    small = {"PIECES": 50, "TURNS": 1, "BATCHES": (2, 4), "LENGTHS": (3, 5)}
    for name, value in {**small, "MOST": 12}.items():
        monkeypatch.setattr(gpu, name, value)
    found = gpu.paces(torch.device("cpu"))
    assert set(found) == set(gpu.MACHINES)
    for bits in found.values():
        assert set(bits) == set(gpu.BITS)
        for paces in bits.values():
            assert {k: set(v) for k, v in paces.items()} == {
                "2": {"3", "5"},
                "4": {"3"},
            }
            assert all(n > 0 for row in paces.values() for n in row.values())


@pytest.mark.parametrize("module", [feedforward_memories, pruning, serial])
def test_what_is_measured_is_measured_anew(module, folders, monkeypatch):
    name = module.__name__.rpartition(".")[2]
    times = measured_anew(module, monkeypatch)
    for turn in (1, 2):
        module.main([])
        assert records.load(name)["results"]["times"] == turn
    assert len(times) == 2
    [part] = (folders[0] / "runs" / name).iterdir()
    module.main(["--only", part.name.removesuffix("-0")])
    module.main(["--record"])  # an interrupted one goes on
    assert records.load(name)["results"]["times"] == len(times) == 3


def test_without_a_repository_the_record_says_so(folders, monkeypatch):
    monkeypatch.setattr(runs, "MADE_BY", {"git": None, "code": "0" * 64})
    alignment.main([])
    assert records.load("alignment")["git"] is None


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.nightly
def test_run_again_where_the_package_is_installed(folders, monkeypatch):
    """It trains anew, and the package is left as it was."""
    alignment.main([])
    books = contents(records.FOLDER)
    monkeypatch.setattr(records, "INSTALLED", True)
    elsewhere = folders[0] / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    alignment.main([])
    assert len(folders[1]) == 4 and contents(records.FOLDER) == books
    own = elsewhere / "records"
    assert set(contents(own)) == set(books) - {"weights.sha256"}
    first, again = records.load("alignment"), records.load("alignment", own)
    assert first["results"].keys() == again["results"].keys()
    assert weights.load("phrasebook", RNNsearch, own)


def test_gains_are_over_the_fixed_vector():
    def run(bleu):
        score = {"bleu": bleu, "low": 0, "high": 9}
        return {
            "greedy": score,
            "beam": score,
            "counts": "1 1 1 1 4 4",
            "long": dict.fromkeys("234", score),
            "parameters": 1,
            "tokens_per_second": 2.0,
            "train_seconds": 3.0,
        }

    scores = {"bottleneck": [4.0], "reversed": [3.0], "rnnsearch": [7.0, 9.0]}
    found = {name: [run(x) for x in each] for name, each in scores.items()}
    results = search.summary(found)
    assert (results["gain"], results["gain_of_reversal"]) == (4.0, -1.0)


@pytest.mark.nightly
def test_another_seed_is_another_alignment(folders):
    losses = []
    for seed in (0, 1, 1):
        folder = folders[0] / str(seed)
        found = alignment.run(seed, folder, TOYS["rnnsearch"])
        losses.append(found["curve"][0]["loss"])
    assert losses[0] != losses[1] == losses[2]


@pytest.mark.nightly
def test_search_with_seeds(folders):
    search.main(["--seeds", "2"])
    record = records.load("search")
    results = record["results"]
    assert record["seeds"] == [0, 1]
    for kind in search.MAKE:
        scores = [run["greedy"]["bleu"] for run in results[kind]["runs"]]
        assert results[kind]["bleu"] == pytest.approx(sum(scores) / 2)
        assert results[kind]["spread"] == pytest.approx(
            abs(scores[0] - scores[1]) / 2**0.5
        )
    assert results["gain"] == pytest.approx(
        results["rnnsearch"]["bleu"] - results["bottleneck"]["bleu"]
    )
    splits = ("train", "val", "test_2016_flickr")
    assert set(record["data"]) == {
        f"{split}.{x}" for split in splits for x in ("en", "fr")
    }


@pytest.mark.nightly
def test_a_campaign_goes_on_from_its_record(folders, capsys):
    """As in another checkout, where no folder of runs is left."""
    folder, trained = folders
    ladder.main(["--only", "fixed", "two-way"])
    ladder.main(["--record"])
    assert len(trained) == 2
    ladder.main(["--runs", "elsewhere", "--seeds", "2"])
    assert trained[2:].count("Recurrent") == 6 and len(trained) == 8
    record = records.load("ladder")
    assert record["seeds"] == [0, 1]
    for part in record["results"].values():
        assert [run["seed"] for run in part["runs"]] == [0, 1]
    done = record["results"]["two-way"]["tests"]["all"]["step"]
    levels = [
        record["results"][n]["tests"]["all"]["bleu"]
        for n in ("fixed", "two-way")
    ]
    assert done["gain"] == pytest.approx(levels[1] - levels[0])
    assert done["low"] <= done["gain"] <= done["high"] and 0 < done["p"] <= 1
    tests = record["results"]["two-way"]["tests"]
    beam = tests["all"]["beam"]
    assert beam["over_rnnsearch"]["low"] <= beam["over_rnnsearch"]["high"]
    losses = [tests[split]["loss"] for split in corpus.TESTS]
    assert min(losses) <= tests["all"]["loss"] <= max(losses)


def test_processes_share_the_parts_of_a_campaign(folders, capsys):
    """What another process is at is left to it, and recorded if it ends."""
    ran, made = [], {"settings": {"x": 1}, "data": {}}
    elsewhere = folders[0] / "shared"

    def run(name, seed, folder):
        if name == "b":  # meanwhile the other process gets done with a
            runs.once(elsewhere / "a-0", lambda *_: {"of": "a"}, 0, made)
        ran.append(name)
        return {"of": name}

    def campaign():
        parts = {name: partial(run, name) for name in "abc"}
        told = ["--runs", str(elsewhere)]
        config = made["settings"]
        runs.campaign("shared", "", parts, dict, config=config, arguments=told)

    with runs.free(elsewhere / "a-0"), runs.free(elsewhere / "c-0"):
        campaign()
    printed = capsys.readouterr()
    assert "a, seed 0: another process is at it" in printed.err
    assert "not finished yet: c" in printed.out and ran == ["b"]
    campaign()
    assert ran == ["b", "c"]
    assert set(records.load("shared")["results"]) == set("abc")


@pytest.mark.nightly
def test_a_family_s_later_trials_stand_on_its_best_one(folders):
    tuned_baselines.main([])
    results = records.load("tuned_baselines")["results"]
    for name in tuned_baselines.FAMILIES:
        runs = {
            label: results[f"{name}, {label}"]["runs"][0]
            for label in ("dropout 0.0", "dropout 0.1", "rate 2e-3")
        }
        first = min(
            [*runs][:2], key=lambda label: tuned_baselines.lowest(runs[label])
        )
        setting = runs[first]["setting"] | {"rate": 2e-3}
        assert runs["rate 2e-3"]["setting"] == setting
        for run in runs.values():
            assert run["training"]["learning_rate"] == run["setting"]["rate"]
            assert run["config"]["dropout"] == run["setting"]["dropout"]
            assert run["training"]["epochs"] == len(run["curve"]) == 2
        trial = min(runs, key=lambda label: tuned_baselines.lowest(runs[label]))
        assert results[name]["trial"] == f"{name}, {trial}"
        assert (
            tuned_baselines.chosen(name) == results[f"{name}, {trial}"]["runs"]
        )
        level = significance.scores([runs[trial]], "all")
        bleu = results[name]["tests"]["all"]["bleu"]
        assert bleu == pytest.approx(level["bleu"])


@pytest.mark.nightly
def test_a_trial_waits_for_those_that_it_stands_on(folders):
    later = ["--only", "rnnsearch, rate 2e-3"]
    with pytest.raises(ValueError, match="dropout 0.0.*not finished yet"):
        tuned_baselines.main(later)
    tuned_baselines.main([])
    shutil.rmtree(folders[0] / "runs")  # the record knows them
    tuned_baselines.main([*later, "--seeds", "2"])
    folder = folders[0] / "runs" / "tuned_baselines" / "rnnsearch, rate 2e-3-1"
    found = json.loads((folder / "result.json").read_text())
    first = records.load("tuned_baselines")["results"]["rnnsearch, rate 2e-3"][
        "runs"
    ][0]
    assert found["setting"] == first["setting"]


@pytest.mark.nightly
def test_a_record_names_the_devices_of_its_runs(folders):
    ladder.main(["--only", "fixed", "two-way"])
    path = folders[0] / "runs" / "ladder" / "fixed-0" / "result.json"
    result = json.loads(path.read_text())
    here = result["device"]
    path.write_text(json.dumps(result | {"device": "another"}))
    ladder.main(["--record"])
    assert records.load("ladder")["device"] == f"{here} and another"


@pytest.mark.nightly
@pytest.mark.parametrize("rival", ladder.RIVALS)
def test_rivals_are_held_against_the_cursors(rival):
    good, bad = "5 4 3 2 5 5", "4 2 1 1 5 5"

    def runs(count):
        long = {"counts": good, "stops": [1.0, 1.0], "first": "un homme"}
        found = []
        for n in range(count, count + 3):
            counts = ", ".join([good] * n + [bad] * (20 - n))
            said = {"counts": counts, "chrf": 50.0}
            test = {"loss": 1.0, "greedy": said, "beam": said}
            tests = dict.fromkeys(corpus.TESTS, test)
            found.append({"tests": tests, "long": dict.fromkeys("234", long)})
        return found

    found = {"cursors": runs(9), rival: runs(5)}
    answer = ladder.summary(found)
    for split in (*corpus.TESTS, "all"):
        theirs = answer[rival]["tests"][split]
        ours = answer["cursors"]["tests"][split]
        for one, other in ((theirs, ours), (theirs["beam"], ours["beam"])):
            over = one["cursors_over"]
            assert over["gain"] == other["bleu"] - one["bleu"] > 0
            assert over["low"] < over["gain"] < over["high"]
    assert answer[rival]["long"][4]["stops"] == 1
    assert "cursors_over" not in str(ladder.summary({rival: runs(5)}))


def test_the_famous_parts_are_held_against_bare_words_with_positions():
    def runs(counts):
        said = {"counts": ", ".join([counts] * 9), "chrf": 50.0}
        tests = dict.fromkeys(corpus.TESTS, {"greedy": said})
        return [{"tests": tests}] * 2

    good, bad = "5 4 3 2 5 5", "4 2 1 1 5 5"
    names = ("positions", "heads", "feedforward", "sum")
    found = dict(zip(names, map(runs, (bad, bad, bad, good)), strict=True))
    over = ladder.gains(found, "all")
    assert over["sum"]["over_positions"]["gain"] > 0
    assert over["feedforward"]["over_positions"]["gain"] == 0
    assert not any("over_positions" in over[n] for n in names[:2])


def test_growth_compares_what_read_the_same_captions():
    def grown(counts):
        said = {"counts": ", ".join([counts] * 9), "chrf": 50.0}
        said |= {"first": "un chien .", "stops": [1, 1]}
        test = {"greedy": said, "beam": said, "loss": 1.0}
        tests = dict.fromkeys(corpus.TESTS, test)
        return {"tests": tests, "long": dict.fromkeys("234", said)}

    good, bad = "5 4 3 2 5 5", "4 2 1 1 5 5"
    found = {
        "rnnsearch, 3000": [grown(bad)] * 2,
        "cursors, 3000": [grown(good), grown(bad)],
        "cursors, 10000": [grown(good)],
    }
    answer = growth.summary(found)
    assert {name: each["runs"] for name, each in answer.items()} == found
    over = answer["cursors, 3000"]["tests"]
    assert set(over) == {*corpus.TESTS, "all"}
    gained = over["all"]["over_rnnsearch"]
    levels = [answer[f"{n}, 3000"]["tests"] for n in ("rnnsearch", "cursors")]
    apart = levels[1]["all"]["bleu"] - levels[0]["all"]["bleu"]
    assert gained["low"] < gained["gain"] == apart < gained["high"]
    assert apart > 0 and "over_rnnsearch" not in levels[0]["all"]
    alone = answer["cursors, 10000"]["tests"]["all"]
    assert "over_rnnsearch" not in alone and alone["spread"] is None
    assert over["all"]["beam"]["over_rnnsearch"] == gained
    assert levels[0]["all"]["cursors_over"] == gained
    joined = answer["cursors, 3000"]["long"][4]
    assert joined["bleu"] == pytest.approx(levels[1]["all"]["bleu"])


@pytest.mark.nightly
def test_growth_keeps_the_number_of_rounds_that_did_better(folders):
    growth.main(["--only", "rnnsearch, 3000"])
    path = folders[0] / "runs" / "growth" / "rnnsearch, 3000-0" / "result.json"
    run = json.loads(path.read_text())
    assert set(run["tried"]) == {"1", "2"}
    tuned_baselines = min(run["tried"], key=run["tried"].get)
    assert (
        len(run["curve"]) == run["training"]["epochs"] == int(tuned_baselines)
    )
    assert (
        min(row["loss"] for row in run["curve"])
        == run["tried"][tuned_baselines]
    )


def test_a_result_of_other_settings_is_refused(folders, monkeypatch):
    """It would stand in the record as of these."""
    ladder.main(["--only", "fixed"])
    monkeypatch.setattr(ladder, "PIECES", 61)
    with pytest.raises(ValueError, match=r"other settings \(pieces\): remove"):
        ladder.main(["--record"])


def test_a_result_that_cannot_be_read_is_named(folders):
    ladder.main(["--only", "fixed"])
    path = folders[0] / "runs" / "ladder" / "fixed-0" / "result.json"
    whole = json.loads(path.read_text())
    texts = ["{", "{}", "null", "[" * 10_000, "7", "[]", "\0", '{"a":1,"a":1}']
    for name in ("seed", "git", "wall_seconds", "made with"):
        texts.append(json.dumps({k: whole[k] for k in whole if k != name}))
        texts.append(json.dumps(whole | {name: "x"}))
    for name, value in (
        ("wall_seconds", math.nan),
        ("wall_seconds", True),
        ("wall_seconds", -1),
        ("seed", 0.5),
        ("git", {"commit": "a" * 40 + "\n", "dirty": False}),
        ("git", {"commit": "a" * 40}),
        ("code", "a" * 63),
        ("device", None),
    ):
        texts.append(json.dumps(whole | {name: value}))
    for text in texts:
        path.write_text(text)
        with pytest.raises(ValueError, match="cannot read.*remove it to run"):
            ladder.main(["--record"])
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ValueError, match="cannot read.*a pipe.*remove it to"):
        ladder.main(["--record"])


def test_a_result_of_another_seed_is_named(tmp_path):
    runs.once(tmp_path, lambda *_: {"x": 1}, seed=1)
    with pytest.raises(ValueError, match="is of seed 1: remove"):
        runs.once(tmp_path, lambda *_: {"x": 1}, seed=2)


@pytest.mark.parametrize(
    "value", [torch.ones(1), {1, 2}, {1: 0, "1": 0}, 1j, b"x"], ids=repr
)
def test_a_result_that_json_cannot_hold_is_named(tmp_path, value):
    with pytest.raises(ValueError, match="returned what JSON cannot hold"):
        runs.once(tmp_path, lambda *_: {"x": value})
    assert not [*tmp_path.iterdir()]


def test_a_result_on_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with pytest.raises(OSError, match="result.json.*No space left.*: free"):
            runs.once(tmp_path, lambda *_: {"x": 1})
    assert not [*tmp_path.iterdir()]


def campaign(folder, parts, *arguments, seeds=1):
    """A campaign of parts that train nothing."""
    told = ["--runs", str(folder / "toys"), *arguments]
    runs.campaign("toys", "", parts, dict, config={}, arguments=told)


@pytest.mark.parametrize("seeds", ["0", "-1", "1.5", "9" * 5000, "x", "², 3"])
def test_a_number_of_seeds_that_is_none_is_told_so(folders, capsys, seeds):
    with pytest.raises(SystemExit):
        campaign(folders[0], {"a": lambda *_: {}}, f"--seeds={seeds}")
    assert "is no number from 1 to 1000" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["x" * 5000, "file/x", "a\0b"], ids=len)
def test_a_folder_of_runs_that_cannot_be_is_named(folders, place):
    (folders[0] / "file").touch()
    with pytest.raises(ValueError, match="name another folder|another path"):
        campaign(folders[0], {"a": lambda *_: {}}, f"--runs={place}")


def commit_of(letter):
    return {"commit": letter * 40, "dirty": False}


def made_by(letter):
    return {"git": commit_of(letter), "code": letter * 64}


def test_a_record_s_commit_is_its_runs_(folders, monkeypatch):
    monkeypatch.setattr(runs, "MADE_BY", made_by("a"))
    ladder.main(["--only", "fixed"])
    monkeypatch.setattr(runs, "MADE_BY", made_by("b"))
    ladder.main(["--record"])
    record = records.load("ladder")
    assert record["git"] == commit_of("a") and record["code"] == "a" * 64
    assert "made_by" not in record
    ladder.main(["--only", "two-way"])
    ladder.main(["--record"])
    record = records.load("ladder")
    assert record["git"] is None and "code" not in record
    assert record["made_by"] == [
        made_by("a") | {"runs": ["fixed, seed 0"]},
        made_by("b") | {"runs": ["two-way, seed 0"]},
    ]
    assert record["results"]["fixed"]["runs"][0]["git"] == commit_of("a")


def test_a_record_says_that_its_code_changed_where_there_is_no_commit(
    folders, monkeypatch
):
    for part, letter in (("a", "a"), ("b", "b")):
        mine = {"git": None, "code": letter * 64}
        monkeypatch.setattr(runs, "MADE_BY", mine)
        campaign(folders[0], {n: lambda *_: {} for n in "ab"}, "--only", part)
    campaign(folders[0], {n: lambda *_: {} for n in "ab"}, "--record")
    record = records.load("toys")
    assert record["git"] is None
    told = [(each["code"][0], each["runs"]) for each in record["made_by"]]
    assert told == [("a", ["a, seed 0"]), ("b", ["b, seed 0"])]


def test_a_result_without_a_commit_stays_without(folders, monkeypatch):
    monkeypatch.setattr(runs, "MADE_BY", {"git": None, "code": "a" * 64})
    campaign(folders[0], {"a": lambda *_: {}}, "--only", "a")
    monkeypatch.setattr(runs, "MADE_BY", made_by("b"))
    campaign(folders[0], {"a": lambda *_: {}})
    assert records.load("toys")["git"] is None


CAMPAIGN = """
import subprocess, sys
from lookback.experiments import runs
from lookback.lab import records

def part(seed, folder):
    subprocess.run(["git", "checkout", "-q", "."], check=True)
    return {"x": seed}

runs.campaign("toys", "", {"a": part, "b": part}, dict, config={}, arguments=[])
"""


def test_a_campaign_s_commit_is_of_the_code_that_it_started_with(tmp_path):
    """A file is edited, the campaign starts, and the edit is undone."""
    package = Path(records.__file__).parents[1]
    copy = tmp_path / "src" / "lookback"
    copied = shutil.ignore_patterns("records", "widgets", "__pycache__")
    shutil.copytree(package, copy, ignore=copied)

    def git(*words):
        who = ["-c", "user.name=x", "-c", "user.email=x@x"]
        said = subprocess.run(
            ["git", *who, *words],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        return said.stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "clean")
    (copy / "lab" / "metrics.py").open("a").write("DIRTY = True\n")
    paths = [str(tmp_path / "src"), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # nothing ignores it here
    run = [sys.executable, "-c", CAMPAIGN]
    subprocess.run(run, cwd=tmp_path, env=env, check=True, timeout=300)
    assert git("status", "--porcelain", "--", "src/lookback/lab") == ""
    record = json.loads((copy / "records" / "toys.json").read_text())
    started = {"commit": git("rev-parse", "HEAD"), "dirty": True}
    assert record["git"] == started
    for name in "ab":
        [each] = record["results"][name]
        assert (each["git"], each["code"]) == (started, record["code"])


@pytest.mark.parametrize("kind", ["handwriting", "families"])
def test_other_trainings_go_on_with_their_own_code_and_data_alone(
    tmp_path, monkeypatch, kind
):
    """Those that have a loop of their own: killed, edited, gone on with."""

    def train(seed=0, rate=1e-3, text=5, stop=None):
        torch.manual_seed(0)
        if kind == "handwriting":
            model = Writer(WriterConfig(hidden=8, mixtures=2))
            plan = [(4, (text, text), 2)]
            handwriting.teach(model, plan, seed, rate, tmp_path)
        else:
            model = Body(BodyConfig(9, d_model=8, heads=2, layers=1, d_ff=8))
            rows = torch.full((2, 4), text)
            families.teach(
                model,
                lambda update: next_words(model, rows).mean(),
                4,
                rate,
                seed,
                tmp_path,
            )
        return model.state_dict()

    monkeypatch.setattr(handwriting, "SAVE", 2)
    monkeypatch.setattr(families, "SAVE", 2)
    path = tmp_path / "checkpoint.safetensors"
    whole = train()
    path.unlink()
    with monkeypatch.context() as killed:
        real, calls = torch.optim.Adam.step, []

        def die(adam, *given):
            calls.append(1)
            if len(calls) > 3:
                raise KeyboardInterrupt
            return real(adam, *given)

        killed.setattr(torch.optim.Adam, "step", die)
        with pytest.raises(KeyboardInterrupt):
            train()
    assert path.exists()
    for other in ({"seed": 1}, {"rate": 2e-3}, {"text": 6}):
        with pytest.raises(ValueError, match="of a run with other .*: go back"):
            train(**other)
    module = handwriting if kind == "handwriting" else families
    name = "follow" if kind == "handwriting" else "CLIP"
    with monkeypatch.context() as edited:
        edited.setattr(module, name, 0.5)
        with pytest.raises(ValueError, match="other training"):
            train()
    for name, weight in train().items():
        assert torch.equal(weight, whole[name]), name
    os.truncate(path, 100)
    with pytest.raises(ValueError, match="cannot go on from .*: remove"):
        train()


def test_all_experiments_are_imported_before_the_first_runs(monkeypatch):
    """Else a later one could be of code that was edited meanwhile."""
    order = []
    monkeypatch.setattr(
        importlib,
        "import_module",
        lambda name: (
            order.append("import")
            or SimpleNamespace(main=lambda _: order.append("run"))
        ),
    )
    runpy.run_module("lookback.experiments", run_name="__main__")
    count = len(EXPERIMENTS)
    assert order == ["import"] * count + ["run"] * count


@pytest.mark.nightly
def test_runs_of_other_settings_are_not_taken_from_the_record(
    folders, monkeypatch
):
    _, trained = folders
    ladder.main(["--only", "fixed"])
    ladder.main(["--record"])
    monkeypatch.setattr(ladder, "PIECES", 61)
    ladder.main(["--runs", "elsewhere", "--only", "fixed"])
    assert len(trained) == 2


def test_where_nothing_is_finished_nothing_is_recorded(folders, capsys):
    alignment.main(["--record"])
    said = capsys.readouterr().out
    assert (
        "not finished yet: rnnsearch, dot" in said and "when they are" in said
    )
    assert [*(folders[0] / "records").iterdir()] == []


def test_a_record_holds_what_is_finished(folders, capsys):
    _, trained = folders
    ladder.main(["--only", "rnnsearch"])
    assert len(trained) == 1 and "--record" in capsys.readouterr().out
    with pytest.raises(records.RecordError):
        records.load("ladder")
    ladder.main(["--record"])
    assert "not finished yet: fixed, two-way" in capsys.readouterr().out
    assert list(records.load("ladder")["results"]) == ["rnnsearch"]
    assert len(trained) == 1


@pytest.mark.nightly
def test_fewer_seeds_on_the_command_line_take_none_from_a_record(folders):
    _, trained = folders
    alignment.main(["--seeds", "2"])
    assert len(trained) == 4
    alignment.main([])
    record = records.load("alignment")
    assert record["seeds"] == [0, 1] and len(trained) == 4
    assert [len(each["runs"]) for each in record["results"].values()] == [2, 2]


@pytest.mark.nightly
def test_nothing_that_a_record_holds_is_lost(folders, capsys):
    search.main([])
    path = records.FOLDER / "search.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    for run in record["results"]["transformer"]["runs"]:
        del run["seed"]  # of an older record, whose runs no campaign takes up
    path.write_text(json.dumps(record), encoding="utf-8")
    search.main(["--record", "--runs", "elsewhere"])
    assert "transformer, which would be lost" in capsys.readouterr().out
    assert len(records.load("search")["results"]) == 7


@pytest.mark.nightly
def test_what_bleu_counted_makes_its_score_and_its_coins(folders):
    search.main([])
    results = records.load("search")["results"]
    [walking] = results["rnnsearch"]["runs"]
    rows = torch.tensor(
        [[int(x) for x in r.split()] for r in walking["counts"].split(",")]
    )
    assert rows.shape == (COUNTS["test_2016_flickr"], 6)
    scorer = BLEU(tokenize="none")
    total = rows.sum(0).tolist()
    lengths = [int((rows[:, 4] - n).clamp(min=0).sum()) for n in range(4)]
    again = scorer.compute_bleu(
        total[:4], lengths, total[4], total[5], smooth_method="exp"
    )
    assert again.score == pytest.approx(walking["greedy"]["bleu"])
    assert set(results["rnnsearch"]["joined"]) == {"2", "3", "4"}
    assert 0 < results["p_of_reversal"] <= 1


def test_search_tells_one_wrong_word_a_caption_from_none():
    truths = [pair.target for pair in captions("test_2016_flickr")]
    worse = [[*words[:-1], "wrong"] for words in truths]
    runs = [
        {"counts": ", ".join(" ".join(map(str, row)) for row in rows)}
        for rows in (metrics.counts(said, truths) for said in (worse, truths))
    ]
    assert 0 < search.significance(*runs) < 0.05
    sides = [
        [two[i > 4] for i, two in enumerate(zip(truths, worse, strict=True))]
        for truths, worse in ((truths, worse), (worse, truths))
    ]
    runs = [
        {"counts": ", ".join(" ".join(map(str, row)) for row in rows)}
        for rows in (metrics.counts(said, truths) for said in sides)
    ]
    # one is wrong in seven of twelve, the other in five
    assert 0.2 < search.significance(*runs) < 1


@pytest.mark.nightly
def test_tuned_averages_its_last_epochs(folders, monkeypatch):
    twice = replace(ONE_EPOCH, epochs=3)
    monkeypatch.setattr(tuned, "TRAINING", twice)
    tuned.main([])
    results = records.load("tuned")["results"]
    assert results["de-en"]["averaged"] == 2
    for each in results.values():
        trials = {float(p): loss for p, loss in each["trials"].items()}
        assert [*trials] == [*tuned.DROPOUTS]
        chosen = min(trials, key=trials.get)
        assert each["config"]["dropout"] == chosen
        assert tuned_baselines.lowest(each) == trials[chosen]
        assert [*each["tests"]] == [*corpus.TESTS]
    assert set(records.load("tuned")["data"]) >= {"train.de", "train.fr"}


@pytest.fixture
def tuned_weights(folders, monkeypatch):
    """The weights that `tuned` has just trained are the book's."""
    tuned.main([])
    load = partial(weights.load, folder=records.FOLDER)
    monkeypatch.setattr(weights, "load", load)


@pytest.mark.nightly
def test_in_page_measures_what_tuned_has_trained(tuned_weights):
    quantization.main([])
    for each in records.load("quantization")["results"].values():
        assert 0 <= each["same"] <= each["sentences"]
        assert each["parameters"] / 2 < each["bytes"] < 1e5
        assert {*each["full"]} == {*each["int8"]} == {"greedy", "beam"}


@pytest.mark.nightly
def test_brevity_measures_what_tuned_has_trained(tuned_weights):
    brevity.main([])
    found = records.load("brevity")["results"]
    assert {*found} == {*brevity.MACHINES}
    for each in found.values():
        assert 0 < each["greedy"]["length"] and 0 < each["beam"]["length"]
        assert {*each["powers"]} == {*map(str, brevity.POWERS)}
        assert len(each["drawn"]["each"]) == brevity.DRAWS
        assert each["drawn"]["length"] == pytest.approx(
            mean(each["drawn"]["each"])
        )


def test_the_share_that_smoothing_spread_is_taken_off():
    q = torch.tensor([[0.7, 0.3, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    smoothed = 0.9 * q + 0.1 / 4
    assert torch.allclose(brevity.unsmoothed(smoothed, 0.1), q, atol=1e-6)
    assert (brevity.unsmoothed(torch.tensor([0.01, 0.99]), 0.1) >= 0).all()


def test_pieces_are_drawn_as_often_as_the_model_says_and_end_at_the_end():
    class Coin(Translator):
        """Writes word 5 with probability 3/4, and else ends."""

        def encode(self, source):
            return source

        def start(self, memory):
            return None

        def step(self, token, state, memory):
            p = torch.full((len(token), 6), 1e-9)
            p[:, 5], p[:, END] = 0.75, 0.25
            return p.log(), None, None

    source = torch.full((4000, 9), 5)
    dice = torch.Generator().manual_seed(0)
    rows = brevity.drawn(Coin(), source, 0.0, dice)
    assert all(each == 5 for row in rows for each in row)
    assert mean(map(len, rows)) == pytest.approx(3, abs=0.2)  # 0.75 / 0.25


@pytest.mark.nightly
def test_length_counts_every_test_sentence(folders, monkeypatch):
    length.main([])
    for each in records.load("length")["results"].values():
        rows = each["by_captions"]
        assert [row["sentences"] for row in rows] == [12, 6, 4, 3]
        assert sum(row["sentences"] for row in each["by_length"]) == 25


def test_joined_captions_keep_source_and_target_together():
    pairs = captions("train")
    first, again = length.joined(pairs, 1), length.joined(pairs, 1)
    assert first == again != length.joined(pairs, 2)
    for pair in first:
        assert [w[2:] for w in pair.source] == [w[2:] for w in pair.target]
    assert sum(len(p.source) for p in first) > 0.8 * sum(
        len(p.source) for p in pairs
    )


@pytest.mark.nightly
def test_the_test_sentences_of_the_phrasebook_are_new(folders, monkeypatch):
    seen = []
    monkeypatch.setattr(
        alignment,
        "force",
        lambda model, pairs, *rest: (
            seen.extend(pairs) or real(model, pairs, *rest)
        ),
    )
    alignment.main([])
    known = {tuple(p.source) for p in phrasebook.sample(40, seed=0)}
    assert seen and not known & {tuple(p.source) for p in seen}
    results = records.load("alignment")["results"]
    for name in ("rnnsearch", "dot"):
        [run] = results[name]["runs"]
        assert 2 * run["sentences"] == len(seen)  # of both
        assert 0 <= run["aer"] <= 1 and 0 <= run["aer_diagonal"] <= 1
        assert results[name]["aer"] == run["aer"]


real = alignment.force


def test_diagonal_links():
    assert alignment.diagonal(["a"] * 3, ["b"] * 3) == {(0, 0), (1, 1), (2, 2)}
    assert alignment.diagonal(["a"] * 5, ["b"] * 3) == {(0, 0), (2, 1), (4, 2)}
    assert alignment.diagonal(["a"], ["b"]) == {(0, 0)}


def test_strings_to_copy():
    pairs = copying.strings(200, [2, 5], seed=3)
    assert pairs == copying.strings(200, [2, 5], seed=3)
    assert {len(p.source) for p in pairs} == {2, 5}
    assert all(p.source == p.target for p in pairs)


def test_copying_s_accuracy(monkeypatch):
    said = [["a", "b"], ["a", "x"], ["a"], ["a", "b", "c"]]
    pairs = [Pair(["a", "b"], ["a", "b"])] * 4
    monkeypatch.setattr(
        copying, "translate", lambda *_: [(words, None) for words in said]
    )
    model = Bottleneck(BottleneckConfig(30, 30, **SMALL))
    found = copying.accuracy(model, pairs)
    assert found == {"exact": 1 / 4, "letters": 6 / 8}


def test_copying_s_half():
    assert copying.half({"1": 1.0, "2": 0.5, "3": 0.4, "4": 0.9}) == 2
    assert copying.half({"1": 0.1}) == 0


def test_a_result_is_kept_and_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "MADE_BY", {"git": COMMIT, "code": "0" * 64})
    made = []
    for _ in range(2):
        result = runs.once(tmp_path, lambda *_: made.append(1) or {"x": 1})
        assert result["x"] == 1 and result["git"] == COMMIT
    assert len(made) == 1


def test_the_bare_model_is_the_same_model(folders, monkeypatch):
    """Else their speeds could not be compared."""
    torch.manual_seed(0)
    sizes = dict(embed=8, hidden=8, align=8, maxout=8)
    ours = RNNsearch(RNNsearchConfig(speed.VOCAB, speed.VOCAB, **sizes))
    torch.nn.init.normal_(ours.attention.v)
    bare = speed.Bare(8)
    names = {
        "E_x": "source_embedding",
        "E_y": "target_embedding",
        "cell": "decoder",
        "W": "attention.W",
        "U": "attention.U",
        "maxout": "readout.maxout",
        "output": "readout.output",
    }
    weights = ours.state_dict()
    copied = {"v": weights["attention.v"]}
    for key in bare.state_dict().keys() - {"v"}:
        head, _, tail = key.partition(".")
        copied[key] = weights[f"{names.get(head, head)}.{tail}"]
    bare.load_state_dict(copied)
    assert sum(p.numel() for p in bare.parameters()) == sum(
        p.numel() for p in ours.parameters()
    )
    drops = []
    monkeypatch.setattr(F, "dropout", lambda x, p: drops.append(p) or x)
    source, target = (Vocabulary(words) for words in phrasebook.words())
    pairs = [Pair(p.source, p.target) for p in phrasebook.sample(3)]
    batch = collate(pairs, source, target)
    bares = bare(batch.source, batch.target_in)
    assert set(drops or [0.0]) == {ours.config.dropout}
    monkeypatch.undo()  # nn.Dropout calls the same function
    torch.testing.assert_close(
        bares, ours.eval()(batch.source, batch.target_in)
    )


def test_torch_s_transformer_is_the_same_model():
    torch.manual_seed(0)
    config = replace(TINY, source_vocab=30, target_vocab=30, dropout=0.0)
    ours, theirs = Transformer(config), speed.BareTransformer(config)
    theirs.E_x.weight.data = ours.source_embedding.words.weight.data
    theirs.E_y.weight.data = ours.target_embedding.words.weight.data
    # torch adds a norm after each stack; post-norm has none to copy.
    theirs.body.encoder.norm = theirs.body.decoder.norm = None

    def attention(mine, bare):
        for kind in ("weight", "bias"):
            parts = [getattr(mine, w) for w in ("W_Q", "W_K", "W_V")]
            joined = torch.cat([getattr(part, kind) for part in parts])
            getattr(bare, f"in_proj_{kind}").data = joined.data
        bare.out_proj.load_state_dict(mine.W_O.state_dict())

    def layer(mine, bare, norms):
        attention(mine.attention, bare.self_attn)
        bare.linear1.load_state_dict(mine.feedforward.W_1.state_dict())
        bare.linear2.load_state_dict(mine.feedforward.W_2.state_dict())
        for name, around in norms.items():
            norm = getattr(mine, around).norm.state_dict()
            getattr(bare, name).load_state_dict(norm)

    ends = {"norm1": "around_attention", "norm2": "around_feedforward"}
    layer(ours.encoder[0], theirs.body.encoder.layers[0], ends)
    decoder = theirs.body.decoder.layers[0]
    attention(ours.decoder[0].cross, decoder.multihead_attn)
    ends = {**ends, "norm2": "around_cross", "norm3": "around_feedforward"}
    layer(ours.decoder[0], decoder, ends)
    source = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    target = torch.tensor([[2, 9, 10], [2, 11, 12]])
    torch.testing.assert_close(
        theirs(source, target), ours(source, target), rtol=1e-5, atol=1e-5
    )


def test_decoding_without_the_cache_says_the_same():
    torch.manual_seed(0)
    config = replace(TINY, source_vocab=30, target_vocab=30)
    ours, again = Transformer(config), speed.Uncached(config)
    again.load_state_dict(ours.state_dict())
    source = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    with_cache, without = (greedy(m, source, 9) for m in (ours, again))
    assert [t.tokens for t in with_cache] == [t.tokens for t in without]


@pytest.mark.nightly
def test_speed_writes_its_record(folders, monkeypatch):
    monkeypatch.setattr(speed, "Bare", lambda: real_bare(8))
    monkeypatch.setattr(
        speed,
        "RNNsearchConfig",
        lambda *vocab: RNNsearchConfig(*vocab, align=6, **SMALL),
    )
    sizes = {"source_vocab": speed.VOCAB, "target_vocab": speed.VOCAB}
    tiny = replace(TINY, **sizes)
    monkeypatch.setattr(speed, "TransformerConfig", lambda *vocab: tiny)
    speed.main([])
    results = records.load("speed")["results"]
    assert list(results["rungs"]) == way_to("transformer")
    spent = results["decode_seconds"]
    ratio = spent["uncached"] / spent["cached"]
    assert results["cache_ratio"] == pytest.approx(ratio)
    assert results["transformer_ratio"] == pytest.approx(
        results["transformer_tokens_per_second"]
        / results["torch_tokens_per_second"]
    )
    assert results["ratio"] == pytest.approx(
        results["tokens_per_second"] / results["bare_tokens_per_second"]
    )


real_bare = speed.Bare
