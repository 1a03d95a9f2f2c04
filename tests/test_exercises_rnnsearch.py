"""What RNNsearch's exercises need beside their slips and styles."""

import inspect
import re

import pytest
import torch
from saying import said
from test_exercises import BOOK, said_about
from torch.nn import functional as F

from lookback.exercises import check, rnnsearch
from lookback.exercises.checking import edited

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("self.bridge", "self.start", "no part `bridge`"),
        ("hidden, bias=False)", "hidden)", "Your part `W` has parameters"),
        ("self, source, target):", "self, source):", "with 2 arguments"),
        (
            "self.v = ",
            "self.more = nn.Linear(2, 2)\n        self.v = ",
            "does not name: more.weight, more.bias",
        ),
    ],
)
def test_soft_search_wants_its_parts(old, new, words, capsys):
    wrong = edited(check.soft_search.solution, old, new)
    assert words in said_about(capsys, "soft_search", wrong)


def test_soft_search_wants_the_class_itself(capsys):
    made = rnnsearch.SoftSearch(7, 4, 6)
    assert "the class itself" in said_about(capsys, "soft_search", made)
    assert "torch.nn.Module" in said_about(
        capsys, "soft_search", lambda vocab, embed, hidden: dict
    )


def test_in_luongs_order_it_runs_and_the_new_state_asks():
    """As the solution says: y alone for the GRU, and `look` after it."""
    source = inspect.getsource(rnnsearch.SoftSearch)
    (look,) = re.findall(r" +c, weights = self\.look\(.*\n", source)
    for old, new in (
        (look, ""),
        (
            "s = self.decoder(torch.cat([y, c], dim=-1), s)\n",
            f"s = self.decoder(y, s)\n{look}",
        ),
        ("nn.GRUCell(embed + 2 * hidden, hidden)", "nn.GRUCell(embed, hidden)"),
    ):
        assert source.count(old) == 1
        source = source.replace(old, new)
    names = dict(vars(rnnsearch))
    exec(source, names)
    words, target = rnnsearch.strings(8, seed=0)
    other = target.clone()
    other[:, 1] = 4 + (target[:, 1] - 3) % 26
    for made, moves in ((names["SoftSearch"], True), (rnnsearch.SoftSearch, 0)):
        torch.manual_seed(0)
        model = made(30, embed=8, hidden=12)
        torch.nn.init.normal_(model.v)
        logits, weights = model(words, target[:, :-1])
        logits.sum().backward()
        assert all(part.grad is not None for part in model.parameters())
        _, moved = model(words, other[:, :-1])
        assert torch.equal(weights[:, 0], moved[:, 0])
        assert torch.equal(weights[:, 1], moved[:, 1]) != moves
    said(
        "rnnsearch",
        "make the decoder nn.GRUCell(embed, hidden), feed it y alone, "
        "s = self.decoder(y, s), and call look after that line",
    )


def test_strings_are_reversed_and_new_in_every_step():
    source, target = rnnsearch.strings(50, seed=1)
    for row, back in zip(source.tolist(), target.tolist(), strict=True):
        length = row.index(3)
        assert 5 <= length <= 10 and back[0] == 2
        assert back[1 : length + 2] == [*row[:length][::-1], 3]
        assert not any(row[length + 1 :] + back[length + 2 :])
    assert not torch.equal(source, rnnsearch.strings(50, seed=2)[0])


def test_the_training_loop_teaches():
    torch.manual_seed(0)
    model = rnnsearch.SoftSearch(30, embed=8, hidden=12)
    source, target = rnnsearch.strings(64, seed=99)

    def loss():
        with torch.no_grad():
            logits, _ = model(source, target[:, :-1])
        return F.cross_entropy(logits.mT, target[:, 1:], ignore_index=0)

    before = loss()
    rnnsearch.train_search(model, steps=30)
    assert loss() < before - 0.02


@pytest.mark.weekly
@pytest.mark.parametrize("seed", range(3))
def test_the_solution_learns_to_look_backwards(seed):
    torch.manual_seed(seed)
    model = rnnsearch.SoftSearch(30, embed=32, hidden=64)
    rnnsearch.train_search(model)
    assert check.looks_backwards(model) is True


def test_the_book_draws_the_anti_diagonal():
    page = BOOK / "rnnsearch.md"
    (stub,) = [
        fence
        for fence in re.findall(
            r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S
        )
        if "def drawn(" in fence
    ]
    space = {"torch": torch}
    exec(stub, space)
    widget = space["drawn"](check.looks_backwards.solution, "noir")
    assert widget.examples[0]["target"] == [*"rion", "<end>"]
    assert widget.weights()[:4, :4].argmax(1).tolist() == [3, 2, 1, 0]
