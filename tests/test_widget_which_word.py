"""The widget `which_word`: leans against torch, what counts, its traits."""

import pytest
import torch
from widgets_common import ask, near, refuses, shown

from lookback.families import MASK, MASKED, Body, BodyConfig, attention_mask
from lookback.lab import int8
from lookback.vocabulary import END, SPECIALS, START, Vocabulary
from lookback.widgets import WhichWord
from lookback.widgets.which_word import LIMITS

TYPED = "a man eats an apple here".split()
WORDS = Vocabulary([MASKED, *sorted(set(TYPED))])


@pytest.fixture(scope="module")
def body() -> Body:
    torch.manual_seed(0)
    sizes = {"d_model": 8, "heads": 2, "layers": 2, "d_ff": 12, "longest": 16}
    model = Body(BodyConfig(len(WORDS), **sizes))
    for part in model.parameters():
        part.data += 0.3 * torch.randn(part.shape)
    return int8.rounded(model.half().double()).eval()


@pytest.fixture(scope="module")
def probes() -> dict:
    torch.manual_seed(1)
    levels = torch.randn(3, 9).tolist()
    return {"apple": {"senses": ["food", "device"], "levels": levels}}


@torch.no_grad()
@pytest.mark.parametrize("covered", [[], [2], [0, 3]])
def test_every_lean_is_that_of_torch(body, probes, covered, tmp_path):
    path = tmp_path / "body.weights"
    path.write_bytes(int8.pack(body, WORDS))
    index = {w: i for i, w in enumerate(WORDS.words) if i >= len(SPECIALS)}
    given = {"file": str(path), "probes": probes, "typed": TYPED}
    found = ask(
        "which_word", "leaning", given | {"covered": covered, "index": index}
    )
    w = torch.tensor(probes["apple"]["levels"], dtype=torch.float64)

    def lean(gone):
        ids = [START, *WORDS.encode(TYPED), END]
        for i in gone:
            if i != 4:
                ids[i + 1] = MASK
        tokens = torch.tensor([ids])
        levels = body.hidden_states(tokens, attention_mask(tokens, "BERT"))
        x = torch.stack([level[0, 5] for level in levels])
        return (x.mul(w[:, :-1]).sum(1) + w[:, -1]).sigmoid()

    assert found["at"] == 4
    near(found["leans"], lean(covered), 1e-4)
    for i, row in enumerate(found["without"]):
        near(row, lean([*covered, i]), 1e-4)
    for level, best in enumerate(found["best"]):
        own = lean(covered)[level].logit()
        moved = [
            -1
            if i == 4 or i in covered
            else float((lean([*covered, i])[level].logit() - own).abs())
            for i in range(len(TYPED))
        ]
        assert moved[best] == pytest.approx(max(moved), rel=1e-3)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("text", "x" * (LIMITS["letters"] + 1), "at most"),
        ("text", "a man sits .", "none of"),
        ("covered", [-1], "covered"),
        ("covered", [LIMITS["words"]], "covered"),
        ("level", -1, "level is -1"),
        ("level", 9, "level is 9"),
        ("probes", {}, "those of one word"),
        (
            "probes",
            {"apple": {"senses": ["a"], "levels": [[1.0]]}},
            "two senses",
        ),
        (
            "probes",
            {"apple": {"senses": ["a", "b"], "levels": [[1.0], [1.0, 2.0]]}},
            "even rows",
        ),
    ],
)
def test_what_does_not_fit_is_refused(probes, name, value, says):
    one = WhichWord(probes, ["an apple ."], level=1)
    refuses(one, {name: value}, says)


def test_the_books_own_probes():
    one = WhichWord()
    assert "cover a word" in shown(one)
    assert all(len(each["levels"]) == 5 for each in one.probes.values())
