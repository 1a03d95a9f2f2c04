"""The widget `heads`: weights against torch, traits, picture."""

import copy

import numpy as np
import pytest
import torch
from traitlets import TraitError
from widgets_common import ask, near, refuses, shown

from lookback.heads import attention_weights
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import END, Vocabulary
from lookback.widgets import Heads, pack
from lookback.widgets.encoder_heads import encoder_heads


def example(words: int = 5, layers: int = 2, heads: int = 3, d_k: int = 8):
    """Random queries and keys that fit into sixteen bits."""
    torch.manual_seed(words)
    shape = (layers, heads, words, d_k)
    both = {name: 2 * torch.randn(shape).half() for name in ("queries", "keys")}
    return {"words": [f"w{i}" for i in range(words)], **pack(both)}, both


def truth(both: dict, scaled: bool = True) -> torch.Tensor:
    """What torch makes of the same queries and keys."""
    queries, keys = both["queries"].double(), both["keys"].double()
    by = queries.shape[-1] ** 0.5 if scaled else 1
    return (queries @ keys.mT / by).softmax(-1)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("words", [1, 5, 13])
def test_the_weights_are_those_of_torch(words, scaled):
    one, both = example(words)
    given = {"example": one, "scaled": scaled}
    near(ask("heads", "allWeights", given), truth(both, scaled))
    widget = Heads([one])
    widget.scaled = scaled
    near(widget.weights(), truth(both, scaled))


def test_the_mean_is_that_of_torch():
    one, both = example()
    found = ask("heads", "mapOf", {"example": one, "place": "mean", "layer": 1})
    near(found, truth(both)[1].mean(0))


def test_the_page_sees_what_the_trained_model_sees():
    torch.manual_seed(0)
    config = TransformerConfig(9, 9, d_model=16, heads=2, layers=2, d_ff=8)
    model = Transformer(config).eval()

    words = Vocabulary(["a", "bb", "ccc"])
    widget = encoder_heads(model, words, ["a bb a", "ccc"], layer=1)
    with attention_weights(model.encoder) as looks:
        model.encode(torch.tensor([[4, 5, 4, END]]))
    looks = torch.cat(looks).detach()
    assert np.abs(widget.weights() - looks.numpy()).max() < 2e-3
    assert widget.examples[1]["words"] == ["ccc", "<end>"]
    assert widget.layer == 1
    with pytest.raises(ValueError, match="empty"):
        encoder_heads(model, words, [" "])


def test_it_shows_a_view_a_picture_and_words():
    widget = Heads([example()[0]], layer=1, head=2, step=3)
    assert "In layer 2, head 3 attends from “w3”" in shown(widget)


def broken(**change) -> dict:
    one = copy.deepcopy(example()[0])
    for name, value in change.items():
        if isinstance(value, dict):
            one[name].update(value)
        else:
            one[name] = value
    return one


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (broken(words=[]), r"examples\[0\] lacks words"),
        (broken(keys=None), "lacks keys"),
        (broken(words=["a"]), r"\[layers, heads, 1, d_k\]"),
        (broken(keys={"shape": [2, 3, 5, 4]}), "must be"),
        (broken(queries={"data": b"AA"}), "queries is not .* float16"),
        (
            broken(keys=pack({"k": torch.full((2, 3, 5, 8), torch.inf)})["k"]),
            "a number of keys is not finite",
        ),
    ],
)
def test_it_refuses_an_example_that_does_not_fit(wrong, says):
    with pytest.raises(TraitError, match=says):
        Heads([wrong])


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("examples", [], "give at least one"),
        ("example", 2, "0 to 1 exist"),
        ("layer", 2, "layer is 2: 0 to 1 exist"),
        ("head", -1, "0 to 2 exist"),
        ("step", 5, "step is 5: 0 to 4 exist"),
        ("other", "4-0", "none, mean or layer-head"),
    ],
)
def test_it_refuses_a_place_that_it_does_not_have(name, value, says):
    refuses(Heads([example()[0], example(3)[0]]), {name: value}, says)


def test_examples_must_have_the_same_heads():
    with pytest.raises(TraitError, match="the same heads"):
        Heads([example()[0], example(heads=2)[0]])


def test_a_shorter_sentence_brings_the_step_back():
    widget = Heads([example(5)[0], example(3)[0]], step=4)
    widget.example = 1
    assert widget.step == 0
