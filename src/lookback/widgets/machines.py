"""The trained machines that a page fetches, as the files that it finds.

python -m lookback.widgets.machines FOLDER      # write all of them
"""

import sys
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from lookback.lab import int8, weights
from lookback.lab.subwords import Subwords
from lookback.rnnsearch import RNNsearch
from lookback.transformer import Transformer
from lookback.translator import Translator

MACHINES = {"tuned-rnnsearch": RNNsearch, "tuned-en-fr": Transformer}


def load(name: str) -> tuple[Translator, Subwords]:
    """One of the machines that the pages fetch, and its pieces of words."""
    return weights.load(name, MACHINES[name])[:2]


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
    for name in MACHINES:
        lay(name, Path(folder))


if __name__ == "__main__":
    main()
