"""The widget `write_on`: the GPT in bytes, in the page as in torch."""

import json

import pytest
import torch
from widgets_common import ask, refuses, shown

from lookback.families import (
    MASKED,
    SILENT,
    Body,
    BodyConfig,
    attention_mask,
    sampling_probs,
)
from lookback.lab import int8
from lookback.lab.moses_tokenizer import words
from lookback.vocabulary import END, START, Vocabulary
from lookback.widgets import WriteOn, machines
from lookback.widgets.write_on import LIMITS

WORDS = [MASKED, "a", "man", "in", "red", "shirt", "sleeps", ".", "&apos;s"]
WIDGETS = ("write_on", "fill_in")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A body that has learned nothing, and the file a page would fetch."""
    torch.manual_seed(0)
    vocabulary = Vocabulary(WORDS)
    body = Body(BodyConfig(len(vocabulary), 8, 2, 2, 12, longest=9))
    for name, part in body.named_parameters():
        if part.ndim == 1:
            torch.nn.init.normal_(part, 1.0 * ("norm" in name), 0.3)
        else:
            part.data *= 2
    body.load_state_dict({k: v.half() for k, v in body.state_dict().items()})
    body = int8.rounded(body.double().eval())
    path = tmp_path_factory.mktemp("body") / "file.weights"
    path.write_bytes(int8.pack(body, vocabulary))
    return body, path


@torch.no_grad()
@pytest.mark.parametrize("widget", WIDGETS)
@pytest.mark.parametrize("family", ["GPT", "BERT"])
def test_the_scores_are_torchs(machine, family, widget):
    body, path = machine
    rows = [
        {"tokens": [START, 5, 6], "places": [2]},
        {"tokens": [START, 5, 4, 6, 7, 1, END], "places": [2, 0, 6]},
        {"tokens": [START], "places": [0]},
    ]
    found = ask(
        widget, "bodied", {"file": str(path), "family": family, "rows": rows}
    )
    for row, mine in zip(rows, found, strict=True):
        tokens = torch.tensor([row["tokens"]])
        truth = body(tokens, attention_mask(tokens, family))[0, row["places"]]
        mine = torch.tensor(mine, dtype=torch.float64)
        torch.testing.assert_close(mine, truth, rtol=1e-6, atol=1e-6)


def test_gelu_is_torchs():
    xs = [-9.0, -3.1, -1.0, -1e-9, 0.0, 0.4, 2.0, 5.9, 8.6, 30.0]
    found = ask("write_on", "call", {"name": "gelu", "each": xs})
    truth = torch.nn.functional.gelu(torch.tensor(xs, dtype=torch.float64))
    torch.testing.assert_close(
        torch.tensor(found, dtype=torch.float64), truth, rtol=1e-9, atol=1e-15
    )


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("p", [0.2, 0.75, 1.0])
def test_what_is_left_is_what_the_chapter_s_function_leaves(temperature, k, p):
    torch.manual_seed(3)
    scores = torch.randn(12).double() * 2
    given = {
        "scores": scores.tolist(),
        "temperature": temperature,
        "k": k,
        "p": p,
        "chances": [0.0, 0.5, 1 - 1e-16],
    }
    found = ask("write_on", "kept", given)
    scores[list(SILENT)] = -torch.inf
    truth = sampling_probs(scores, temperature, k or None, p)
    mine = torch.tensor(found["p"], dtype=torch.float64)
    torch.testing.assert_close(mine, truth, rtol=1e-9, atol=1e-12)
    assert found["count"] == int((truth > 0).sum())
    order = truth.argsort(descending=True).tolist()
    assert found["drawn"][0] == order[0]
    assert found["drawn"][2] == order[found["count"] - 1]
    assert all(truth[one] > 0 for one in found["drawn"])


@pytest.mark.parametrize(
    "text", ["A man's RED shirt.", "a man, in “red”", "T-shirts & dogs…"]
)
def test_words_are_cut_as_the_captions_are(text):
    found = ask("write_on", "call", {"name": "typedWords", "each": [text]})
    assert found == [words(text)]


def test_a_blank_stands_alone():
    found = ask("fill_in", "call", {"name": "typedWords", "each": ["a_b __ c"]})
    assert found == [["a", "_", "b", "_", "c"]]


@pytest.mark.parametrize("name", machines.BODIES)
def test_a_file_is_at_most_two_megabytes(name):
    assert len(machines.packed(name)) <= 2_000_000


@torch.no_grad()
def test_the_book_s_gpt_says_the_same_in_the_page(tmp_path):
    body, vocabulary = machines.load("gpt")
    body = int8.rounded(body.double())
    path = tmp_path / "gpt.weights"
    path.write_bytes(machines.packed("gpt"))
    tokens = [START, *vocabulary.encode("a man in a red shirt".split())]
    given = {
        "file": str(path),
        "family": "GPT",
        "rows": [{"tokens": tokens, "places": [len(tokens) - 1]}],
    }
    ((mine,),) = ask("write_on", "bodied", given)
    row = torch.tensor([tokens])
    truth = body(row, attention_mask(row, "GPT"))[0, -1]
    mine = torch.tensor(mine, dtype=torch.float64)
    torch.testing.assert_close(mine, truth, rtol=1e-4, atol=1e-4)
    assert int(mine.argmax()) == int(truth.argmax())


def test_the_state_holds_no_weights():
    state = json.dumps(WriteOn().get_state(["machines", "text", "written"]))
    assert len(state) < 1000


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("text", "x" * (LIMITS["letters"] + 1), "at most"),
        ("written", [2], "words' numbers"),
        ("written", [5] * (LIMITS["words"] + 1), "words' numbers"),
        ("temperature", 0.1, "temperature"),
        ("temperature", 2.5, "temperature"),
        ("k", 3, "k: one of"),
        ("p", 0.0, "p: from"),
        ("seed", -1, "seed"),
    ],
)
def test_what_does_not_fit_is_refused(name, value, says):
    refuses(WriteOn(), {name: value}, says)


def test_it_has_a_picture_and_words():
    assert "goes on in your page" in shown(WriteOn())


def test_the_kernel_sends_a_file_that_is_asked_for(monkeypatch):
    widget, sent = WriteOn(), []
    monkeypatch.setattr(widget, "send", lambda *given: sent.append(given))
    widget._answer(widget, {"want": "../../etc/passwd"}, [])
    assert sent == []
    file = widget.machines["gpt"]["file"]
    widget._answer(widget, {"want": file}, [])
    assert sent == [({"file": file}, [machines.packed("gpt")])]
