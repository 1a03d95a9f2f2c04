"""The experiment of `modern_gpt`, at a toy's size, with no corpus."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lookback.experiments import modern_gpt
from lookback.modern_gpt import GPT, GPTConfig, imbalance, routing

TEXT = "to be, or not to be: that is the question. " * 60
SIGNS = sorted(set(TEXT))


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A short text, small machines, few updates, a folder for the record."""
    old = GPTConfig(len(SIGNS), 8, 1, 2, 16, kv_heads=2)
    today = replace(old, norm="pre", rms=True, positions="rope", kv_heads=1)
    changes = {
        "2017": old,
        "RoPE": replace(old, positions="rope"),
        "experts": replace(old, experts=2),
        "today": today,
    }
    for name, value in {
        "UPDATES": 3,
        "BATCH": 2,
        "CONTEXT": 8,
        "LENGTHS": (8, 16),
        "ASKED": 200,
        "PASSAGE": 50,
        "WRITTEN": (4, 8),
        "PROMPT": "to be",
        "SAID": 5,
        "WIDTHS": (4,),
        "BUDGETS": (2,),
        "LONG": (),
        "OLD": old,
        "TODAY": today,
        "CHANGES": changes,
    }.items():
        monkeypatch.setattr(modern_gpt, name, value)
    monkeypatch.setattr(modern_gpt.corpus, "shakespeare", lambda: TEXT)
    modern_gpt.letters.cache_clear()
    modern_gpt.texts.cache_clear()
    monkeypatch.setattr("lookback.lab.records.FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    modern_gpt.letters.cache_clear()
    modern_gpt.texts.cache_clear()


def test_the_text_is_cut_in_three(small):
    train, valid, test = modern_gpt.texts()
    assert len(train) + len(valid) + len(test) == len(TEXT)
    assert len(train) == int(0.9 * len(TEXT))
    signs = list(modern_gpt.letters())
    assert signs == SIGNS
    assert "".join(signs[i] for i in torch.cat([train, valid, test])) == TEXT


@pytest.mark.nightly
def test_it_writes_its_record_and_goes_on_from_it(small):
    arguments = ["--seeds", "2", "--runs", str(small / "runs")]
    modern_gpt.main(arguments)
    record = json.loads((small / "modern_gpt.json").read_text())
    results = record["results"]
    for name in (*modern_gpt.CHANGES, "2 updates", "width 4"):
        one = results[name]
        assert len(one["runs"]) == len(one["gain"]["each"]) == 2
        assert len(one["runs"][1]["attempts"]) == 1
    first = results["RoPE"]["runs"][0]
    assert [one["rate"] for one in first["attempts"]] == list(modern_gpt.RATES)
    best = min(first["attempts"], key=lambda one: one["valid"])
    assert first["rate"] == best["rate"] == results["RoPE"]["rates"][1]
    assert results["2017"]["gain"]["mean"] == 0
    assert set(results["RoPE"]["nats"]) == {"8", "16"}
    assert set(results["experts"]["nats"]) == {"8"}
    assert len(first["said"]) == len("to be") + 5
    assert len(results["lines"]["weights"]["points"]) == 4
    shape = {"cached", "anew", "ratio", "bytes"}
    assert set(results["clock"]["8"]) == shape
    for folder in (small / "runs").iterdir():
        (folder / "result.json").unlink()
    modern_gpt.main([*arguments, "--record"])  # all of it is in the record
    assert (
        json.loads((small / "modern_gpt.json").read_text())["results"]
        == results
    )


def test_each_letter_is_asked_for_once_whatever_the_window(small):
    torch.manual_seed(0)
    model = GPT(modern_gpt.OLD)
    text = modern_gpt.texts()[0][:100]
    most = 8  # half of the longest window
    count = (len(text) - 1 - most) // most * most
    for length in (8, 16):
        half, total = length // 2, 0.0
        for at in range(most, most + count):
            start = most - half + (at - most) // half * half
            with torch.no_grad():
                logits = model(text[None, start : at + 1])[0, -1]
            total += float(F.cross_entropy(logits, text[at + 1]))
        found = modern_gpt.nats(model, text, length)
        assert found == pytest.approx(total / count, rel=1e-5)


def test_the_same_seed_learns_from_the_same_windows(small, monkeypatch):
    seen = []
    lesson = modern_gpt.lesson
    monkeypatch.setattr(
        modern_gpt, "lesson", lambda text: seen.append(lesson(text)) or seen[-1]
    )
    train = modern_gpt.texts()[0]
    for config in (modern_gpt.OLD, modern_gpt.CHANGES["experts"]):
        modern_gpt.teach(config, 1e-3, 5, train, updates=3)
    assert all(map(torch.equal, seen[:3], seen[3:]))
    assert not torch.equal(seen[0], seen[1])


def test_imbalance_is_added_for_experts_alone(small):
    torch.manual_seed(0)
    window = modern_gpt.texts()[0][:18].view(2, 9)
    for name in ("2017", "experts"):
        model = GPT(modern_gpt.CHANGES[name])
        with routing(model) as routes:
            logits = model(window[:, :-1]).flatten(0, 1)
        plain = F.cross_entropy(logits, window[:, 1:].flatten())
        more = (modern_gpt.cost(model, window) - plain).detach()
        if name == "2017":
            assert more == 0
        else:
            extra = modern_gpt.BALANCE * imbalance(*routes)
            assert float(more) == pytest.approx(float(extra.detach()), rel=1e-3)


def test_information_in_bits():
    same = torch.eye(4) * 5
    assert modern_gpt.shared(same) == pytest.approx(2)
    assert modern_gpt.shared(torch.ones(4, 4)) == pytest.approx(0)
    assert modern_gpt.entropy(torch.tensor([1.0, 1, 0])) == pytest.approx(1)
    rows, columns = torch.tensor([0, 0, 2]), torch.tensor([1, 1, 0])
    table = modern_gpt.crossed(rows, columns, 3, 2)
    assert table.tolist() == [[0, 2], [0, 0], [1, 0]]


def test_who_goes_where_by_a_router_that_is_known(small):
    model = GPT(modern_gpt.CHANGES["experts"])
    layer = model.blocks[0].feedforward
    test = modern_gpt.texts()[0][:800]
    model.blocks[0].feedforward.router = Known(model)
    found = modern_gpt.routed(model, test, 0)
    assert found["letter"] == pytest.approx(found["entropy"])
    assert found["passage"] < 0.1 and layer is model.blocks[0].feedforward
    for sign, shares in found["letters"].items():
        side = modern_gpt.letters()[sign] % 2
        assert shares[side] == 1 and shares[1 - side] == 0


class Known(torch.nn.Module):
    """Sends a letter left or right by its number, which it looks up."""

    def __init__(self, model):
        super().__init__()
        self.given = None
        model.embedding.register_forward_hook(self.note)

    def note(self, module, given, result):
        self.given = given[0]

    def forward(self, x):
        return F.one_hot(self.given % 2, 2).float() * 10


def test_the_line_is_numpys_and_so_is_its_error():
    dice = np.random.default_rng(0)
    x = np.exp(dice.uniform(2, 8, 12))
    y = np.exp(0.7 - 0.1 * np.log(x) + 0.02 * dice.normal(size=12))
    found = modern_gpt.fitted(list(zip(x.tolist(), y.tolist(), strict=True)))
    (slope, start), spread = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    assert found["slope"] == pytest.approx(slope)
    assert found["start"] == pytest.approx(start)
    assert found["error"] == pytest.approx(math.sqrt(spread[0, 0]))


def test_a_gain_is_over_the_machine_of_2017_seed_by_seed():
    own = str(modern_gpt.LENGTHS[0])
    old = [{"nats": {own: x}} for x in (2.0, 2.2)]
    new = [{"nats": {own: x}} for x in (1.9, 2.0)]
    found = modern_gpt.gain(old, new)
    assert found["each"] == pytest.approx([0.1, 0.2])
    assert found["mean"] == pytest.approx(0.15)
    assert modern_gpt.gain(old, new[:1])["spread"] is None
