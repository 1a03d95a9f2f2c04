"""What the experiments share: how they are run, resumed and written down.

An experiment is a campaign of parts, say the models that it compares, each
run with one seed or more. A finished part leaves `result.json` in a folder of
its own under `runs/`, so that an experiment that was interrupted goes on where
it stopped. Several processes share one: the same command, started again beside
the first, takes the parts that no other is at. Those that torchrun starts are
at the same part together: lab/distributed.py.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import fastjsonschema
import torch

from lookback.lab import (
    corpus,
    distributed,
    files,
    metrics,
    records,
    schema,
    training,
)
from lookback.lab.checkpoints import Busy, alone
from lookback.lab.corpus import Pair
from lookback.lab.decoding import translate
from lookback.lab.fingerprint import differences
from lookback.translator import Translator
from lookback.vocabulary import Vocabulary

RUNS = Path("runs")
WHOLE = fastjsonschema.compile(schema.RUN)
MADE_BY = records.made_by()  # asked once, when this code was imported
PROVENANCE = ("seed", "git", "code", "wall_seconds", "device")  # of a run


@distributed.group()
def campaign(
    name: str,
    about: str,
    parts: Mapping[str, Callable[[int, Path], dict]],
    results: Callable[[dict[str, list[dict]]], dict],
    *,
    config: dict,
    data: dict[str, str] | None = None,
    seeds: int = 1,
    needed: Iterable[str] | None = None,
    keep: bool = True,
    device: torch.device | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Run every part that is not finished, and write the record.

    A part is called with its seed and with the folder that lets it resume.
    `results` is given what each finished part returned, a list over the
    finished seeds, and makes the record's results of it. A run that the
    present record holds under results/PART/runs is finished too, where config
    and data are the same: so a campaign goes on from its record. Nothing is
    recorded before the `needed` parts are finished (all of them, if none are
    named), nor if the present record has a part that is not finished here.
    The present record is the one that would be written over (`records.place`).
    Raises ValueError for a result that was made with other settings or data.
    The record's commit and the digest of its code are those of its runs, as
    they stood when the campaign that ran them was started. Where the runs have
    different ones, the record has none, and says those of each run. Of
    different devices it names all.
    With `keep` false, for what should be measured anew every time, the parts
    are forgotten once they are recorded. `arguments` are those of the command
    line: --only, --seeds, --record and --runs.
    """
    options = asked(name, about, parts, seeds, arguments)
    made_with = json.loads(json.dumps({"settings": config, "data": data or {}}))
    folders = {
        (part, seed): options.runs / f"{part}-{seed}"
        for seed in range(options.seeds)
        for part in parts
    }
    known = earlier(name, config, data or {}) if keep else {}
    known = distributed.told(known | all_finished(folders, made_with))
    wanted = {
        key: folder
        for key, folder in folders.items()
        if key not in known and (not options.only or key[0] in options.only)
    }
    if not options.record:
        run_parts(name, parts, wanted, made_with)
    if distributed.rank():
        return None
    done = known | all_finished(folders, made_with)
    if options.only:
        return print("kept; --record writes down what is finished")
    found = records.measured(by_part(parts, done))
    if not complete(name, parts, found, parts if needed is None else needed):
        return
    device = device or training.device()
    here = records.provenance(device)["device"]
    runs = [run for each in found.values() for run in each]
    records.save(
        name,
        config=config,
        seeds=list(range(max(map(len, found.values())))),
        data=data or {},
        device=device,
        wall_seconds=sum(run["wall_seconds"] for run in runs),
        results=results(found),
        **agreed(found),
        devices=" and ".join(sorted({r.get("device", here) for r in runs})),
    )
    for folder in [] if keep else folders.values():
        (folder / "result.json").unlink(missing_ok=True)


def run_parts(
    name: str,
    parts: Mapping[str, Callable[[int, Path], dict]],
    folders: Mapping[tuple[str, int], Path],
    made_with: dict,
) -> None:
    """Run these parts and seeds; not those that another process is at."""
    for (part, seed), folder in folders.items():
        with free(folder) as ours:
            other = "" if ours else ": another process is at it"
            if not distributed.rank():
                print(f"{name}: {part}, seed {seed}{other}", file=sys.stderr)
            if ours:
                patiently(folder, parts[part], seed, made_with)


@contextmanager
def free(folder: Path) -> Iterator[bool]:
    """Whether no other process is at this part; none will be, in here."""
    with ExitStack() as held:
        try:
            held.enter_context(alone(folder / "part"))
            ours = True
        except Busy:
            ours = False
        yield distributed.told(ours)


def all_finished(folders: Mapping[tuple, Path], made_with: dict) -> dict:
    """What the finished ones of these runs returned."""
    return {
        run: result
        for run, folder in folders.items()
        if (result := finished(folder, made_with, run[1]))
    }


def by_part(
    parts: Iterable[str], done: dict[tuple, dict]
) -> dict[str, list[dict]]:
    """What is done of each part, by its seeds; no part without a run."""
    found = {
        part: [done[run] for run in sorted(done) if run[0] == part]
        for part in parts
    }
    return {part: runs for part, runs in found.items() if runs}


def complete(
    name: str,
    parts: Iterable[str],
    found: dict[str, list[dict]],
    needed: Iterable[str],
) -> bool:
    """Whether a record may be written; if not, says what it waits for."""
    if lacking := [part for part in parts if part not in found]:
        print(f"not finished yet: {', '.join(lacking)}")
    if lost := sorted(recorded(name) & set(lacking)):
        print(
            f"the record has {', '.join(lost)}, which would be lost: finish"
            " them first"
        )
        return False
    if not found or set(needed) - set(found):
        print("the record is written when they are")
        return False
    return True


def agreed(found: Mapping[str, Sequence[dict]]) -> dict:
    """The commit and the code of all runs; if they differ, those of each."""
    groups: list[dict] = []
    for part, runs in found.items():
        for run in runs:
            code = {"git": run["git"], "code": run.get("code")}
            for group in groups:
                if code.items() <= group.items():
                    break
            else:
                groups.append(group := code | {"runs": []})
            group["runs"].append(f"{part}, seed {run['seed']}")
    if len(groups) == 1:
        return {"git": groups[0]["git"], "code": groups[0]["code"]}
    return {"git": None, "made_by": groups}


def bare(run: dict) -> dict:
    """A run without its provenance: what it measured."""
    return {k: v for k, v in run.items() if k not in PROVENANCE}


def patiently(
    folder: Path,
    run: Callable[[int, Path], dict],
    seed: int,
    made_with: dict | None = None,
) -> dict:
    """`once`; who interrupts it is told how to go on."""
    try:
        return once(folder, run, seed, made_with)
    except KeyboardInterrupt:
        sys.exit(
            "interrupted: the same command goes on from the last checkpoint"
            f" in {folder}"
        )


def asked(
    name: str,
    about: str,
    parts: Iterable[str],
    seeds: int,
    arguments: Sequence[str] | None,
) -> argparse.Namespace:
    """What the command line asks of a campaign."""
    parser = argparse.ArgumentParser(
        description=about.split("\n")[0],
        epilog="The same command, started again beside the first, shares the"
        " parts with it: as many at a time as you start. The processes that"
        " torchrun starts share one part.",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=list(parts),
        default=[],
        metavar="PART",
        help=f"run these parts and record nothing: {', '.join(parts)}",
    )
    parser.add_argument(
        "--seeds",
        type=number_of_seeds,
        default=seeds,
        help=f"how many seeds of each part, from 0 on (default {seeds})",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="run nothing, and record what is finished",
    )
    parser.add_argument(
        "--runs",
        type=Path,
        default=RUNS / name,
        help="where finished parts are kept (default %(default)s)",
    )
    return parser.parse_args(arguments)


def number_of_seeds(text: str) -> int:
    """A number from 1 to 1000; argparse makes a sentence of the error."""
    if not (text.isdecimal() and len(text) < 5 and 0 < int(text) <= 1000):
        raise argparse.ArgumentTypeError(
            f"{files.short(text)!r} is no number from 1 to 1000"
        )
    return int(text)


def recorded(name: str) -> set[str]:
    """The parts of the present record, if there is one."""
    try:
        return set(records.load(name, records.place())["results"])
    except records.RecordError:
        return set()


def earlier(name: str, config: dict, data: dict) -> dict[tuple, dict]:
    """The runs of the present record, by part and seed, if it is of this
    config and of this data."""
    try:
        record = records.load(name, records.place())
    except records.RecordError:
        return {}
    if (record["config"], record["data"]) != (config, data):
        return {}
    return {
        (part, run["seed"]): run
        for part, result in record["results"].items()
        if isinstance(result, dict)
        for run in whole_ones(result.get("runs"))
    }


def whole_ones(runs: object) -> list[dict]:
    """Those of a record's runs that have all that `once` gave them."""
    found = []
    for run in runs if isinstance(runs, list) else []:
        try:
            found.append(WHOLE(run))
        except fastjsonschema.JsonSchemaValueException:
            continue  # as of a record of before
    return found


def finished(
    folder: Path, made_with: dict | None = None, seed: int | None = None
) -> dict | None:
    """The result of a run, or None if it has not finished.

    Raises ValueError for one that cannot be read, that lacks something, or
    that was made with something else.
    """
    path = folder / "result.json"
    if (result := kept(path)) is None:
        return None
    theirs = result.pop("made with")
    if seed not in (None, result["seed"]):
        raise ValueError(
            f"{path} is of seed {result['seed']}: remove {folder} to run this"
            " part again"
        )
    if other := differences(made_with or {}, theirs):
        raise ValueError(
            f"{path} was made with other {' and '.join(other)}: remove"
            f" {folder} to run this part again, or keep it and give another"
            " folder with --runs"
        )
    return result


def kept(path: Path) -> dict | None:
    """A result as it was written, or None if there is none; ValueError."""
    try:
        if not files.exists(path):
            return None
        result = files.read_json(path)
        WHOLE(result)
        if "made with" not in result:
            raise ValueError("nothing says what it was made with")
        if not isfinite(result["wall_seconds"]):
            raise ValueError("its seconds are no number")
    except (ValueError, fastjsonschema.JsonSchemaValueException) as error:
        raise ValueError(
            f"cannot read the result {files.short(path)}"
            f" ({files.short(error)}): remove it to run this part again"
        ) from error
    return result


def once(
    folder: Path,
    run: Callable[[int, Path], dict],
    seed: int = 0,
    made_with: dict | None = None,
) -> dict:
    """The result of a run, which is made and kept if it is not there yet.

    With it are kept its seed, the seconds that it took, the commit and the
    code that made it, the device and what it was `made_with`. Raises
    ValueError for a result that is no JSON, which is not kept.
    """
    if (result := distributed.told(finished(folder, made_with, seed))) is None:
        started = time.perf_counter()
        folder.mkdir(parents=True, exist_ok=True)
        result = run(seed, folder)
        spent = time.perf_counter() - started
        result |= {"seed": seed, **MADE_BY, "wall_seconds": spent}
        result["device"] = records.provenance(training.device())["device"]
        if distributed.size() > 1:
            result["device"] += f", {distributed.size()} processes"
        try:
            text = json.dumps(result | {"made with": made_with or {}})
            files.parse(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(
                f"{folder.name} returned what JSON cannot hold"
                f" ({files.short(error)}): change what it returns, and run the"
                f" same command again; its checkpoints stay in {folder}"
            ) from error
        if not distributed.rank():
            files.put(folder / "result.json", text.encode())
    return result


class Fitted(NamedTuple):
    """A trained model, its vocabularies, and what its training came to."""

    model: Translator
    source: Vocabulary
    target: Vocabulary
    outcome: dict  # for the record


def fit(
    make: Callable[[int, int], Translator],
    source: Vocabulary,
    target: Vocabulary,
    pairs: Callable[[int], Sequence[Pair]],
    validate: Callable[[Translator], dict],
    settings: training.TrainingConfig,
    folder: Path,
    keep: int = 0,
) -> Fitted:
    """Train `make(len(source), len(target))`; see `training.train`."""
    torch.manual_seed(settings.seed)
    model = make(len(source), len(target)).to(training.device())
    progress = training.train(
        model, pairs, source, target, settings, folder, validate, keep
    )
    return Fitted(
        model,
        source,
        target,
        {
            "parameters": sum(p.numel() for p in model.parameters()),
            "curve": progress.curve,
            "best_epoch": progress.best_epoch,
            "train_seconds": progress.seconds,
            "tokens_per_second": progress.tokens_per_second,
            "config": asdict(model.config),
        },
    )


def fit_captions(
    make: Callable[[int, int], Translator],
    settings: training.TrainingConfig,
    folder: Path,
    arrange: Callable[[list[Pair], int], list[Pair]] = lambda pairs, _: pairs,
    watch: Callable[[Callable], Callable] = lambda validate: validate,
) -> Fitted:
    """Train on Multi30k, English to French, by words.

    `arrange` may join captions anew for every epoch, `watch` look on at
    the validation.
    """
    pairs = corpus.load("train")
    source, target = vocabularies(pairs)
    held_out = arrange(corpus.load("val"), 0)
    return fit(
        make,
        source,
        target,
        lambda epoch: arrange(pairs, epoch),
        watch(validator(held_out, source, target)),
        settings,
        folder,
    )


def vocabularies(pairs: Sequence[Pair]) -> tuple[Vocabulary, Vocabulary]:
    """The words of the training set that occur at least twice."""
    return (
        Vocabulary.count(pair.source for pair in pairs),
        Vocabulary.count(pair.target for pair in pairs),
    )


def validator(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary
) -> Callable[[Translator], dict]:
    """Loss and greedy BLEU on held-out pairs; the score is the BLEU."""
    references = [pair.target for pair in pairs]

    def validate(model: Translator) -> dict:
        found = translate(model, [p.source for p in pairs], source, target)
        score = metrics.bleu([words for words, _ in found], references)
        return {
            "loss": training.validation_loss(model, pairs, source, target),
            "score": score["bleu"],
        }

    return validate


def losses(
    pairs: Sequence[Pair], source: Vocabulary, target: Vocabulary
) -> Callable[[Translator], dict]:
    """Loss on held-out pairs; the score is the lowest."""

    def validate(model: Translator) -> dict:
        loss = training.validation_loss(model, pairs, source, target)
        return {"loss": loss, "score": -loss}

    return validate


def said(
    fitted: Fitted, tests: Sequence[Pair], width: int = 1
) -> list[list[str]]:
    """The translations, greedy or with a beam."""
    questions = [pair.source for pair in tests]
    found = translate(
        fitted.model, questions, fitted.source, fitted.target, width
    )
    return [words for words, _ in found]


def score(
    fitted: Fitted, tests: Sequence[Pair], width: int = 1
) -> dict[str, float]:
    """BLEU with its interval, greedy or with a beam."""
    words = said(fitted, tests, width)
    return metrics.bleu(words, [p.target for p in tests], resamples=1000)


def first(runs: list[dict]) -> dict:
    """The run of the first seed, and all runs where there are more."""
    return runs[0] | ({"runs": runs} if len(runs) > 1 else {})


def over_seeds(runs: list[dict]) -> dict:
    """Mean and spread of runs that differ in their seed, and the runs."""
    scores = [each["greedy"]["bleu"] for each in runs]
    return {
        "bleu": mean(scores),
        "spread": stdev(scores) if len(scores) > 1 else None,
        "low": runs[0]["greedy"]["low"],
        "high": runs[0]["greedy"]["high"],
        "beam_bleu": mean(each["beam"]["bleu"] for each in runs),
        "parameters": runs[0]["parameters"],
        "runs": runs,
    }
