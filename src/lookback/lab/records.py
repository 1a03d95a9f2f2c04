"""What the experiments measured, with where it came from.

A record is a JSON file that says what was run, on what, and what came out;
trained weights lie beside it as fp16 safetensors that carry their own config
and vocabularies. A file that does not fit is refused, never guessed at.
"""

import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import jsonschema
import torch
from safetensors import SafetensorError, safe_open

from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.lab.checkpoints import write as write_tensors
from lookback.lab.corpus import Vocabulary
from lookback.lab.schema import SCHEMA
from lookback.lab.subwords import dump, restore
from lookback.lab.translator import Translator
from lookback.ladder import Rung, RungConfig
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig

FOLDER = Path(__file__).parent.parent / "records"
CODE = ("..", ":(exclude)../records")  # what must agree with the commit
MODELS = {
    "Bottleneck": (Bottleneck, BottleneckConfig),
    "RNNsearch": (RNNsearch, RNNsearchConfig),
    "Rung": (Rung, RungConfig),
    "Transformer": (Transformer, TransformerConfig),
}


class RecordError(ValueError):
    """A record or its weights are missing, broken or do not fit."""


@dataclass(frozen=True)
class Provenance:
    """Where a result came from."""

    git: dict
    versions: dict
    device: str


def provenance(device: torch.device) -> Provenance:
    """The present commit, versions and device."""

    def git(*words: str) -> str:
        try:
            return subprocess.run(
                ["git", *words],
                cwd=Path(__file__).parent,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise RecordError(
                f"git cannot name the commit ({error}): run experiments in a"
                " clone of the repository"
            ) from error

    count = torch.get_num_threads()
    many = f"{count} thread{'s' * (count > 1)}"
    threads = f"CPU ({platform.machine()}, {many})"
    cuda = device.type == "cuda"
    return Provenance(
        git={
            "commit": git("rev-parse", "HEAD"),
            "dirty": bool(git("status", "--porcelain", "--", *CODE)),
        },
        versions={
            "python": platform.python_version(),
            "torch": torch.__version__,
            "sacrebleu": version("sacrebleu"),
        },
        device=torch.cuda.get_device_name() if cuda else threads,
    )


def save(
    experiment: str,
    *,
    config: dict,
    seeds: list[int],
    data: dict[str, str],
    device: torch.device,
    wall_seconds: float,
    results: dict,
    folder: Path | None = None,
) -> Path:
    """Write a record; raises RecordError if it does not fit the schema."""
    record = {
        "experiment": experiment,
        "command": f"python -m lookback.experiments.{experiment}",
        "config": config,
        "seeds": seeds,
        "data": data,
        "wall_seconds": wall_seconds,
        "results": results,
        **asdict(provenance(device)),
    }
    path = (folder or FOLDER) / f"{experiment}.json"
    validate(record, path)
    try:
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise RecordError(f"{path} would hold a NaN: {error}") from error
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)
    print(f"wrote {path}", file=sys.stderr)
    return path


def validate(record: object, path: Path) -> None:
    """Raise RecordError, naming the place, if a record does not fit."""
    try:
        jsonschema.validate(record, SCHEMA)
    except jsonschema.ValidationError as error:
        place = "/".join(map(str, error.absolute_path)) or "the top"
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
    """A record, checked. Raises RecordError if it is missing or broken."""
    path = (folder or FOLDER) / f"{name}.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordError(
            f"cannot read the record {path} ({error}): make it with"
            f" `python -m lookback.experiments.{name}`"
        ) from error
    validate(record, path)
    return record


def quote(place: str, folder: Path | None = None) -> str:
    """A number of a record as text: "look_back/rnnsearch/bleu:.1f".

    The path goes into the record's results; after the colon stands a Python
    format. The minus of a number is a minus and no hyphen. Raises RecordError
    if there is nothing at that place, or nothing that fits the format.
    """
    path, _, form = place.partition(":")
    name, *steps = path.split("/")
    record = load(name, folder)
    value = record if steps[:1] and steps[0] in record else record["results"]
    for step in steps:
        try:
            value = value[int(step) if isinstance(value, list) else step]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            known = list(value) if isinstance(value, dict) else type(value)
            raise RecordError(
                f"the record {name} has nothing at {place!r}: no {step!r}"
                f" among {known}"
            ) from error
    try:
        if isinstance(value, (dict, list)):
            raise TypeError(f"a {type(value).__name__} is not one value")
        text = format(value, form)
        return text if isinstance(value, str) else text.replace("-", "−")
    except (TypeError, ValueError) as error:
        raise RecordError(
            f"the record {name} cannot be quoted at {place!r}: {error}"
        ) from error


def save_model(
    name: str,
    model: Translator,
    source: Vocabulary,
    target: Vocabulary,
    folder: Path | None = None,
) -> Path:
    """Weights in fp16, with the config and vocabularies that they need."""
    path = (folder or FOLDER) / f"{name}.safetensors"
    meta = {
        "model": type(model).__name__,
        "config": json.dumps(asdict(model.config)),
        "source": dump(source),
        "target": "" if target is source else dump(target),  # "": the same
    }
    halves = {k: v.half() for k, v in model.state_dict().items()}
    write_tensors(path, halves, meta)
    return path


def load_model(
    name: str, folder: Path | None = None
) -> tuple[Translator, Vocabulary, Vocabulary]:
    """A trained model and its vocabularies, in fp32 on the CPU.

    Raises RecordError if the file is missing or broken, or if its weights do
    not match the config that it carries.
    """
    path = (folder or FOLDER) / f"{name}.safetensors"
    try:
        with safe_open(path, "pt") as file:
            meta = file.metadata() or {}
            weights = {k: file.get_tensor(k).float() for k in file.keys()}
        kind, config_kind = MODELS[meta["model"]]
        config = config_kind(**json.loads(meta["config"]))
        source = restore(meta["source"])
        target = restore(meta["target"]) if meta["target"] else source
        if (len(source), len(target)) != (
            config.source_vocab,
            config.target_vocab,
        ):
            raise ValueError("vocabularies and config differ in size")
        model = kind(config)
        model.load_state_dict(weights)
    except (
        OSError,
        SafetensorError,
        KeyError,
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:
        raise RecordError(
            f"the weights {path} cannot be used ({error}): get the file again,"
            " or train the model again with its experiment"
        ) from error
    return model.eval(), source, target
