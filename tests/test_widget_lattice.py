"""The widget `lattice`: sums, posterior, best path and search against torch."""

import copy
import math
from itertools import combinations_with_replacement

import pytest
import torch
from traitlets import TraitError
from widgets_common import ask, near, refuses, shown

from lookback.lab import weights
from lookback.lab.decoding import greedy
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transducer import (
    Transducer,
    TransducerConfig,
    alignment_posterior,
    backward_sums,
    forward_sums,
)
from lookback.vocabulary import END, START, Vocabulary
from lookback.widgets import Lattice
from lookback.widgets.lib import rows
from lookback.widgets.trained import lattice

WORDS = {
    "source": [".", "cat", "black", "the", "sleeps"],
    "target": [".", "chat", "noir", "le", "dort", "un"],
}
SIZES = {"source_vocab": 9, "target_vocab": 10, "embed": 5, "hidden": 8}
SENTENCE = "the black cat sleeps ."
SOURCE = [7, 6, 5, 8, 4, END]
TARGET = [7, 5, 6, 8, 4, END]


@pytest.fixture(scope="module")
def models() -> list:
    """Two models whose weights a page can hold exactly."""
    torch.manual_seed(0)
    both = [
        Transducer(TransducerConfig(**SIZES, maxout=6)),
        RNNsearch(RNNsearchConfig(**SIZES, align=7, maxout=6)),
    ]
    for model in both:
        kept = {k: 4 * v for k, v in model.state_dict().items()}
        kept |= {"attention.v": torch.randn(7)} if model is both[1] else {}
        packed = rows.pack(kept)
        kept = {k: torch.tensor(rows.unpack(v)) for k, v in packed.items()}
        model.double().eval().load_state_dict(kept)
    return both


@pytest.fixture(scope="module")
def packed(models) -> list:
    return [rows.pack(model.state_dict()) for model in models]


@pytest.fixture
def widget(packed) -> Lattice:
    both = dict(zip(("cursors", "rnnsearch"), packed, strict=True))
    return Lattice(WORDS, both, [SENTENCE, "the cat ."])


def truth(model: Transducer, source: list, target: list) -> tuple:
    """write, step and mask, as `Transducer.forward` makes them."""
    places = model.encode(torch.tensor([source]))
    given = torch.tensor([[START, *target[:-1]]])
    g, g_blank, _ = model.predict(given)
    total, step = model.joint(places, g, g_blank)
    write = model.word_scores(places, g, torch.tensor([target])) - total
    return write, step, places.mask


@torch.no_grad()
@pytest.mark.parametrize(
    ("source", "target"),
    [(SOURCE, TARGET), ([5, END], TARGET), (SOURCE, [END]), ([END], [4, END])],
)
def test_the_lattice_in_the_browser_is_that_of_torch(
    models, packed, source, target
):
    asked = {"models": packed, "source": source, "given": target}
    found = ask("lattice", "lattice", asked)
    write, step, mask = truth(models[0], source, target)
    near(found["write"], write[0])
    near(found["step"], step[0])
    alpha = forward_sums(write, step, mask)
    ended = alpha[:, -1:] + write[:, -1:]
    near(found["alpha"], torch.cat([alpha, ended], dim=1)[0])
    beta = backward_sums(write, step, mask)
    near(found["beta"][:-1], beta[0])
    near(found["beta"][0][0], ended.logsumexp(-1)[0, 0])
    near(found["posterior"], alignment_posterior(write, step, mask)[0])
    near(torch.tensor(found["posterior"]).sum(-1), torch.ones(len(target)))


@torch.no_grad()
def test_the_sum_is_what_the_model_says_of_the_text(models, packed):
    asked = {"models": packed, "source": SOURCE, "given": TARGET}
    found = ask("lattice", "lattice", asked)
    given = torch.tensor([[START, *TARGET[:-1]]])
    logits = models[0](torch.tensor([SOURCE]), given)
    said = logits.log_softmax(-1)[0, range(len(TARGET)), TARGET]
    near(torch.tensor(found["alpha"][-1]).logsumexp(0), said.sum())


@torch.no_grad()
@pytest.mark.parametrize("target", [TARGET, [4, 4, 9, END], [END]])
def test_the_best_path_is_that_of_all_paths_tried(models, packed, target):
    asked = {"models": packed, "source": SOURCE, "given": target}
    found = ask("lattice", "lattice", asked)
    write, step, _ = (each[0] for each in truth(models[0], SOURCE, target))

    def probability(places: tuple) -> float:
        log, at = 0.0, 0
        for u, place in enumerate(places):
            log += step[u, at:place].sum() + write[u, place]
            at = place
        return float(log)

    every = list(combinations_with_replacement(range(len(SOURCE)), len(target)))
    logs = torch.tensor([probability(path) for path in every])
    assert len(every) == math.comb(len(SOURCE) - 1 + len(target), len(target))
    assert found["best"] == list(every[int(logs.argmax())])
    near(torch.tensor(found["alpha"][-1]).logsumexp(0), logs.logsumexp(0))


@torch.no_grad()
def test_the_search_in_the_browser_is_that_of_torch(models, packed):
    asked = {"models": packed, "source": SOURCE, "given": TARGET}
    found = ask("lattice", "lattice", asked)
    model = models[1]
    memory = model.encode(torch.tensor([SOURCE]))
    state, looks = model.start(memory), []
    for word in [START, *TARGET[:-1]]:
        _, state, look = model.step(torch.tensor([word]), state, memory)
        looks.append(look[0])
    near(found["search"], torch.stack(looks))


@pytest.mark.parametrize("source", [SOURCE, [5, END], [4, 4, 8, 8, END]])
def test_the_page_writes_what_the_models_write(models, packed, source):
    asked = {"models": packed, "source": source, "most": 7}
    found = ask("lattice", "lattice", asked)
    for model, name in zip(models, ("target", "other"), strict=True):
        said = greedy(model, torch.tensor([source]), 7)[0].tokens
        assert found[name] == [*(word for word in said if word != END), END]


def test_a_letter_a_number_keeps_a_number_to_a_part_of_its_row():
    torch.manual_seed(1)
    given = {"w": torch.randn(50, 40), "zero": torch.zeros(2, 3)}
    given["w"][3] *= 1e-3
    packed = rows.pack(given | {"b": torch.tensor([0.5, -2.0])})
    assert all(map(rows.whole, packed.values()))
    kept = torch.tensor(rows.unpack(packed["w"]))
    most = given["w"].abs().amax(1, keepdim=True)
    assert ((kept - given["w"]).abs() <= most / 62 * 1.01).all()
    assert not rows.unpack(packed["zero"]).any()
    assert rows.unpack(packed["b"]).tolist() == [0.5, -2.0]
    assert rows.pack({"w": kept}) == {"w": packed["w"]}


def test_it_shows_a_view_a_picture_and_words(widget):
    said = shown(widget)
    assert f"“{SENTENCE}” becomes “" in said
    assert "at “black”" in said or "at “the”" in said


def test_the_picture_is_of_the_page_s_own_lattice(widget, packed):
    written, where = widget.posterior()
    asked = {"models": packed, "source": SOURCE, "most": 20}
    found = ask("lattice", "lattice", asked)
    near(found["posterior"], where)
    assert len(written) == len(found["target"])
    widget.step = 19  # beyond the last word: that one is framed
    shown(widget)


def test_a_path_may_be_set_from_python_and_from_the_page(widget):
    seen = []
    widget.observe(lambda change: seen.append(change["new"]), "path")
    widget.path = "wsw"
    widget.set_state({"path": "wswss"})
    assert seen == ["wsw", "wswss"]
    widget.text = "the cat ."
    assert widget.posterior()[1].shape[1] == 4


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"text": "the dog ."}, r"\['dog'\] are not in the vocabulary"),
        ({"text": ""}, "are not in the vocabulary"),
        ({"text": "cat " * 14 + "."}, "give 1 to 14 words"),
        ({"sentences": ["a dog"]}, "'a dog'"),
        ({"mode": "all"}, "mode 'all'"),
        ({"path": "swx"}, "give s and w"),
        ({"step": -1}, "give 0 or more"),
        ({"step": True}, "give a number"),
        ({"shown": ["best", "worst"]}, "there is"),
        ({"models": {}}, "models lacks cursors"),
    ],
)
def test_it_refuses_what_does_not_fit(widget, wrong, says):
    refuses(widget, wrong, says)


@pytest.mark.parametrize(
    ("name", "part", "says"),
    [
        ("f.output.weight", {"data": b"AA"}, "is not .* in rows"),
        ("f.output.weight", {"scales": "AAA="}, "is not .* in rows"),
        ("pen.weight_hh_l0", {"data": "~" * 192}, "is not .* in rows"),
        ("f.output.bias", {"data": b"AA"}, "is not .* in rows"),
        ("source_embedding.weight", {"shape": [8, 5]}, r"4 \+ 5 rows"),
    ],
)
def test_it_refuses_weights_that_are_cut(widget, name, part, says):
    broken = copy.deepcopy(widget.models)
    broken["cursors"][name] |= part
    with pytest.raises(TraitError, match=says):
        Lattice(WORDS, broken, [SENTENCE])


def test_it_refuses_weights_without_an_embedding(widget):
    broken = copy.deepcopy(widget.models)
    del broken["rnnsearch"]["target_embedding.weight"]
    with pytest.raises(TraitError, match="lacks target_embedding"):
        Lattice(WORDS, broken, [SENTENCE])


def test_it_is_filled_from_the_trained_models(models, packed, monkeypatch):
    words = [Vocabulary(each) for each in WORDS.values()]
    loaded = {"transducer": models[0], "phrasebook": models[1]}
    monkeypatch.setattr(
        weights, "load", lambda name, kind: (loaded[name], *words)
    )
    filled = lattice([SENTENCE])
    assert filled.models == {"cursors": packed[0], "rnnsearch": packed[1]}
    assert filled.vocabularies == WORDS and filled.text == SENTENCE
    monkeypatch.setattr(
        weights,
        "load",
        lambda name, kind: (
            loaded[name],
            words[name == "transducer"],
            words[1],
        ),
    )
    with pytest.raises(ValueError, match="different words"):
        lattice([SENTENCE])
