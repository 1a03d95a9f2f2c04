"""Trained weights: fp16 safetensors that carry their config and vocabularies.

A file that does not fit the model that is asked for is refused, never guessed
at. They lie beside the records of the experiments that trained them.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar, get_type_hints

from safetensors import SafetensorError, safe_open

from lookback.lab import records, training
from lookback.lab.checkpoints import write
from lookback.lab.subwords import dump, restore
from lookback.translator import Translator
from lookback.vocabulary import Vocabulary

Model = TypeVar("Model", bound=Translator)


def save(
    name: str,
    model: Translator,
    source: Vocabulary,
    target: Vocabulary,
    folder: Path | None = None,
) -> Path:
    """Write a model's weights in fp16, with all that `load` needs."""
    path = (folder or records.FOLDER) / f"{name}.safetensors"
    meta = {
        "model": type(model).__name__,
        "config": json.dumps(asdict(model.config)),
        "source": dump(source),
        "target": "" if target is source else dump(target),  # "": the same
    }
    halves = {k: v.half() for k, v in model.state_dict().items()}
    write(path, halves, meta)
    return path


def load(
    name: str, kind: type[Model], folder: Path | None = None
) -> tuple[Model, Vocabulary, Vocabulary]:
    """A trained model of the class `kind`, and its vocabularies.

    It is in fp32, in evaluation mode, and on the GPU if there is one. Its
    config is of the class that `kind.__init__` names. Raises RecordError if
    the file is missing or broken, or if its weights are not those of such a
    model.
    """
    path = (folder or records.FOLDER) / f"{name}.safetensors"
    try:
        with safe_open(path, "pt") as file:
            meta = file.metadata() or {}
            weights = {k: file.get_tensor(k).float() for k in file.keys()}
        if meta["model"] != kind.__name__:
            raise ValueError(
                f"they are a {meta['model']}'s and not a {kind.__name__}'s"
            )
        make_config = get_type_hints(kind.__init__)["config"]
        config = make_config(**json.loads(meta["config"]))
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
        raise records.RecordError(
            f"the weights {path} cannot be used ({error}): get the file again,"
            " or train the model again with its experiment"
        ) from error
    return model.eval().to(training.device()), source, target
