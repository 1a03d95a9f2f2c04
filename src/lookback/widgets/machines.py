"""The trained machines that a page fetches, as the files that it finds.

python -m lookback.widgets.machines FOLDER      # write all of them
"""

import sys
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from torch import nn
from traitlets import Dict

from lookback.families import Body
from lookback.lab import int8, weights
from lookback.rnnsearch import RNNsearch
from lookback.transformer import Transformer
from lookback.vocabulary import Vocabulary
from lookback.widgets import base

MACHINES = {"tuned-rnnsearch": RNNsearch, "tuned-en-fr": Transformer}
# They write, fill in, and lean to a sense, in one language.
BODIES = {"gpt": Body, "bert": Body, "probing": Body}
ALL = MACHINES | BODIES


def load(name: str) -> tuple[nn.Module, Vocabulary]:
    """One of the machines that the pages fetch, and its words or pieces."""
    return weights.load(name, ALL[name])[:2]


@lru_cache
def packed(name: str) -> bytes:
    """Its file, which takes a second to make."""
    return int8.pack(*load(name))


def known(name: str) -> dict:
    """What a page must know of a file: its name carries the digest."""
    data = packed(name)
    digest = sha256(data).hexdigest()
    return {
        "file": f"{name}.{digest[:12]}",
        "bytes": len(data),
        "sha256": digest,
    }


class Widget(base.Widget):
    """A widget that asks trained `machines`: by name, what is `known` of each.

    Their weights are no part of its state: a page fetches the files when they
    are wanted, a notebook asks the kernel.
    """

    machines = Dict().tag(sync=True)

    def __init__(self, **state):
        super().__init__(**state)
        self.on_msg(self._answer)

    def _answer(self, _, asked: dict, buffers: list) -> None:
        """In a notebook: the bytes of the file that is wanted."""
        for name, one in self.machines.items():
            if asked.get("want") == one["file"]:
                self.send({"file": one["file"]}, [packed(name)])


def lay(name: str, folder: Path) -> None:
    """Write one machine's file into a folder.

    Beside it stands a script with the same bytes in base64, since from disk a
    page may load nothing else.
    """
    data = packed(name)
    file = known(name)["file"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{file}.weights").write_bytes(data)
    letters = b64encode(data).decode()
    script = f'(self.lookbackCame ??= {{}})["{file}"] = "{letters}";\n'
    (folder / f"{file}.js").write_text(script)


def main(arguments: list[str] | None = None) -> None:
    """Lay all machines that the book's pages fetch into the folder named."""
    (folder,) = sys.argv[1:] if arguments is None else arguments
    for name in ALL:
        lay(name, Path(folder))


if __name__ == "__main__":
    main()
