"""The opened Transformer: traces, switches and patches, torch against the page.

One implementation in torch (hooks), one in the page's script: they agree to
1e-4 on every tensor, and token by token on what is written.
"""

from base64 import b64decode
from functools import cache

import numpy as np
import pytest
import torch

from lookback import opened
from lookback.lab import corpus, int8
from lookback.lab.decoding import greedy
from lookback.vocabulary import END, START
from lookback.widgets import machines
from widgets_common import ask

NAME = "tuned-en-fr"
HARD = [f"decoder.{i}.attention.head.{i}" for i in range(4)]
MIXED = [*HARD, "encoder.1.feedforward", "decoder.2.cross.residual", "mask"]


@cache
def machine():
    model, pieces = machines.load(NAME)
    return int8.rounded(model).double().eval(), pieces


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("opened") / "machine"
    path.write_bytes(machines.packed(NAME))
    return str(path)


@cache
def captions(count: int) -> list[torch.Tensor]:
    _, pieces = machine()
    found = corpus.load("val")[:count]
    return [torch.tensor([*pieces.encode(p.source), END]) for p in found]


def written(source: torch.Tensor, off: list[str]) -> list[int]:
    with opened.switched(machine()[0], off):
        return greedy(machine()[0], source[None])[0].tokens


def close(file: str, sources: list[torch.Tensor], off: list[str]) -> None:
    """Every tensor of the page's trace is torch's."""
    model, _ = machine()
    given = [
        {"source": s.tolist(), "ids": written(s, off)[:20]} for s in sources
    ]
    for at in range(0, len(given), 10):
        part = given[at : at + 10]
        answers = ask("tracer", "traced", {"file": file, "each": part, "off": off})
        for one, found in zip(part, answers, strict=True):
            with opened.switched(model, off):
                truth = opened.trace(
                    model,
                    torch.tensor(one["source"]),
                    torch.tensor([START, *one["ids"][:-1]]),
                )
            assert set(found) == set(truth)
            for name, (shape, data) in found.items():
                flat = np.frombuffer(b64decode(data), np.float32)
                mine = torch.from_numpy(flat.copy()).view(*shape)
                torch.testing.assert_close(
                    mine,
                    truth[name].float(),
                    rtol=1e-4,
                    atol=1e-4,
                    msg=lambda text, name=name: f"{name}: {text}",
                )


@pytest.mark.parametrize("off", [[], MIXED, ["positions", "scaling"]])
def test_every_tensor_is_torchs(file, off):
    close(file, captions(3), off)


@pytest.mark.nightly
def test_every_tensor_of_two_hundred_captions_is_torchs(file):
    close(file, captions(200), [])


def translations(file: str, count: int, off: list[str]) -> None:
    sources = captions(count)
    given = {"file": file, "sources": [s.tolist() for s in sources], "off": off}
    found = ask("tracer", "translated", given)
    said = [[step["id"] for step in one["steps"]] for one in found]
    assert said == [written(s, off) for s in sources]


@pytest.mark.parametrize("preset", opened.PRESETS)
def test_what_a_preset_writes_is_what_torch_writes(file, preset):
    translations(file, 5, opened.preset(machine()[0], preset))


@pytest.mark.nightly
@pytest.mark.parametrize("preset", opened.PRESETS)
def test_two_hundred_captions_of_a_preset(file, preset):
    translations(file, 200, opened.preset(machine()[0], preset))


def test_every_switch_changes_the_trace_and_is_put_back():
    model, source = machine()[0], captions(1)[0]
    target = torch.tensor([START, *written(source, [])[:-1]])
    before = opened.trace(model, source, target)["decoder.logits"]
    for name in opened.switches(model):
        with opened.switched(model, [name]):
            after = opened.trace(model, source, target)["decoder.logits"]
        assert not torch.equal(before, after), name
    again = opened.trace(model, source, target)["decoder.logits"]
    assert torch.equal(before, again)


def test_a_switch_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"there is no decoder\.9\.cross"):
        with opened.switched(machine()[0], ["decoder.9.cross"]):
            pass


def test_the_last_level_of_the_lens_is_the_model_itself():
    model, source = machine()[0], captions(1)[0]
    target = torch.tensor([START, *written(source, [])[:-1]])
    found = opened.trace(model, source, target)
    levels = opened.lens(model, found)
    assert levels.shape[:2] == (len(model.decoder) + 1, len(target))
    torch.testing.assert_close(levels[-1], found["decoder.logits"])


PAIRS = [
    ("a black cat sleeps on a chair .", "a white dog sleeps on a chair ."),
    ("a man is eating a red apple .", "a woman is riding a blue bike ."),
]
PATCHES = [
    ("encoder.{}.feedforward.stream", 2),
    ("encoder.{}.attention.head.1", 1),
    ("decoder.{}.cross.stream", 2),
    ("decoder.{}.cross.head.3", 1),
    ("decoder.{}.attention.head.0", 2),
]


def test_patching_is_torchs_patch(file):
    """Twenty patches: five stations, two pairs, two layers each."""
    model, pieces = machine()
    ids = lambda text: torch.tensor([*pieces.encode(text.split()), END])  # noqa: E731
    for pair in PAIRS:
        into, come = map(ids, pair)
        own = written(come, [])
        had = opened.trace(model, come, torch.tensor([START, *own[:-1]]))
        for pattern, position in PATCHES:
            asked, wanted = [], []
            for layer in (1, 3):
                name = pattern.format(layer)
                path, _, head = name.partition(".head.")
                vector = had[f"{path}.heads" if head else name][position]
                if head:
                    vector = vector.view(model.config.heads, -1)[int(head)]
                said = torch.tensor(written(into, []))
                at = torch.arange(len(said))

                def log_p(said=said, at=at):
                    start = torch.tensor([START, *said[:-1].tolist()])
                    logits = model(into[None], start[None])[0]
                    logits[:, [0, START]] = -torch.inf
                    return logits.log_softmax(-1)[at, said]

                with torch.no_grad():
                    before = log_p()
                    with opened.patched(model, name, position, vector):
                        wanted.append((before, log_p()))
                asked.append(
                    {
                        "text": pair[0],
                        "other": pair[1],
                        "name": name,
                        "position": position,
                    }
                )
            given = {"file": file, "what": "patch", "each": asked}
            for found, (before, after) in zip(
                ask("tracer", "opened", given), wanted, strict=True
            ):
                torch.testing.assert_close(
                    torch.tensor(found["before"]).double(),
                    before,
                    rtol=1e-4,
                    atol=1e-4,
                )
                torch.testing.assert_close(
                    torch.tensor(found["after"]).double(),
                    after,
                    rtol=1e-4,
                    atol=1e-4,
                )
                assert not torch.allclose(before, after, atol=1e-6)
