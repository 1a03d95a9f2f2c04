"""The widget `translate`: its machines in bytes, in the page as in torch."""

import gzip
import json
from base64 import b64decode
from functools import lru_cache

import pytest
import torch
from traitlets import TraitError
from widgets_common import ask

from lookback.experiments import quantization
from lookback.heads import prune
from lookback.lab import corpus, int8, metrics, phrasebook, records
from lookback.lab.decoding import translate
from lookback.lab.subwords import Subwords
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transformer import Transformer, TransformerConfig
from lookback.vocabulary import END, START
from lookback.widgets import Translate
from lookback.widgets.machines import MACHINES, known, load, main, packed
from lookback.widgets.translate import LIMITS

TEXTS = [
    ["the", "black", "cat", "sleeps"],
    ["a", "dog", "and", "a", "cat", "play"],
    ["the", "dog", "barks", "&amp;", "plays"],
] * 4


@pytest.fixture(scope="module")
def pieces() -> Subwords:
    return Subwords.learn(TEXTS, 60)


def small(kind: str, size: int):
    """A machine that has learned nothing, its weights as a file keeps them."""
    torch.manual_seed(3)
    if kind == "Transformer":
        model = Transformer(
            TransformerConfig(size, size, 12, 3, 2, 20, norm="pre", tied="all")
        )
        for name, tensor in model.named_parameters():
            if tensor.ndim == 1:
                torch.nn.init.normal_(tensor, 1.0 * ("norm" in name), 0.3)
    else:
        model = RNNsearch(RNNsearchConfig(size, size, 6, 7, 5, 8))
        torch.nn.init.normal_(model.attention.v)
        for tensor in model.parameters():
            tensor.data *= 2
    model.load_state_dict({k: v.half() for k, v in model.state_dict().items()})
    return int8.rounded(model.double().eval())


@pytest.fixture(scope="module", params=["Transformer", "RNNsearch"])
def machine(request, pieces, tmp_path_factory):
    """A small machine, and the file that a page would fetch of it."""
    model = small(request.param, len(pieces))
    path = tmp_path_factory.mktemp("machine") / "file.weights"
    path.write_bytes(int8.pack(model, pieces))
    return model, path


def looks(model, source: list[int], written: list[int]) -> torch.Tensor:
    """The last layer's weights, mean of its heads, and log-probabilities."""
    memory = model.encode(torch.tensor([source]))
    state, rows, logs = model.start(memory), [], []
    for token, said in zip([START, *written], written, strict=False):
        logits, state, weights = model.step(
            torch.tensor([token]), state, memory
        )
        logits[:, [0, START]] = -torch.inf
        rows.append(weights[0])
        logs.append(torch.log_softmax(logits, -1)[0, said])
    return torch.stack(rows), torch.stack(logs)


@torch.no_grad()
def test_each_step_is_torchs(machine, pieces):
    """Words, their probabilities, and where it looked, to a millionth."""
    model, path = machine
    sources = [[*pieces.encode(text), END] for text in TEXTS[:3]]
    given = {"file": str(path), "sources": sources, "looks": True}
    answers = ask("translate", "translated", given)
    for source, found in zip(sources, answers, strict=True):
        ids = [step["id"] for step in found["steps"]]
        weights, logs = looks(model, source, ids)
        chance = torch.tensor([step["p"] for step in found["steps"]])
        torch.testing.assert_close(
            chance.double(), logs.exp(), atol=1e-6, rtol=1e-6
        )
        last = [step["looks"][-1]["weights"] for step in found["steps"]]
        theirs = torch.tensor(last).double().mean(dim=1)
        torch.testing.assert_close(theirs, weights, atol=1e-6, rtol=1e-6)
        assert found["score"] == pytest.approx(float(logs.mean()), abs=1e-6)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_beam_search_is_torchs(machine, pieces, width):
    model, path = machine
    sources = [[*pieces.encode(text), END] for text in TEXTS[:3]]
    given = {"file": str(path), "sources": sources, "width": width}
    found = ask("translate", "translated", given)
    truth = translate(model, TEXTS[:3], pieces, pieces, width)
    for one, (_, other) in zip(found, truth, strict=True):
        assert [step["id"] for step in one["steps"]] == other.tokens
        assert one["score"] == pytest.approx(other.score, abs=1e-5)


def test_what_is_given_begins_the_translation(machine, pieces):
    _, path = machine
    source = [*pieces.encode(TEXTS[0]), END]
    given = {"file": str(path), "sources": [source], "given": [9, 8]}
    (found,) = ask("translate", "translated", given)
    assert [step["id"] for step in found["steps"]][:2] == [9, 8]


@pytest.mark.parametrize("look", ["uniform", "diagonal"])
def test_another_look_takes_the_place_of_its_own(machine, pieces, look):
    _, path = machine
    source = [*pieces.encode(TEXTS[0]), END]
    given = {"file": str(path), "sources": [source], "looks": True}
    (found,) = ask("translate", "translated", given | {"look": look})
    n = len(source)
    for i, step in enumerate(found["steps"]):
        wanted = [1 / n] * n
        if look == "diagonal":
            wanted = [float(j == min(i, n - 1)) for j in range(n)]
        for layer in step["looks"]:
            for head in layer["weights"]:
                assert head == pytest.approx(wanted)


@torch.no_grad()
def test_a_head_that_is_removed_is_pruned(pieces, tmp_path):
    model = small("Transformer", len(pieces))
    path = tmp_path / "file.weights"
    path.write_bytes(int8.pack(model, pieces))
    prune(model.decoder[1].cross, 2)
    source = [*pieces.encode(TEXTS[1]), END]
    given = {"file": str(path), "sources": [source], "looks": True}
    (found,) = ask("translate", "translated", given | {"gone": "1.2"})
    ids = [step["id"] for step in found["steps"]]
    _, logs = looks(model, source, ids)
    chance = torch.tensor([step["p"] for step in found["steps"]]).double()
    torch.testing.assert_close(chance, logs.exp(), atol=1e-6, rtol=1e-6)


STRANGE = ["xylophonists qwertz", "éœ zzz", "a☃b ☃", "&amp; &#91; </w>x"]


def said(pairs) -> list[str]:
    return [" ".join(side) for p in pairs for side in (p.source, p.target)]


@pytest.mark.parametrize(
    "texts",
    [
        lambda: said(phrasebook.sample(500, seed=0)) + STRANGE,
        pytest.param(
            lambda: said(corpus.load("test_2016_flickr")),
            marks=pytest.mark.multi30k,
        ),
    ],
    ids=["phrasebook", "captions"],
)
def test_pieces_are_those_of_the_library(texts, tmp_path):
    """On sentences and on words that no training had, with the real pieces."""
    path = tmp_path / "file.weights"
    path.write_bytes(packed("tuned-en-fr"))
    _, pieces = load("tuned-en-fr")
    texts = texts()
    found = ask("translate", "pieces", {"file": str(path), "texts": texts})
    rows = zip(texts, found["ids"], found["again"], strict=True)
    for text, ids, again in rows:
        assert ids == pieces.encode(text.split(" ")), text
        assert again == pieces.decode(ids), text


@lru_cache
def captions(name: str, path) -> tuple[list, list, list]:
    """What the page and torch make of all captions, and what is right."""
    path.write_bytes(packed(name))
    model, pieces = load(name)
    test = corpus.load("test_2016_flickr")
    said = [pair.source for pair in test]
    sources = [[*pieces.encode(words), END] for words in said]
    given = {"file": str(path), "sources": sources}
    page = [
        [step["id"] for step in one["steps"]]
        for one in ask("translate", "translated", given)
    ]
    torchs = translate(int8.rounded(model), said, pieces, pieces)
    theirs = [found.tokens for _, found in torchs]
    truths = [pair.target for pair in test]
    return page, theirs, [pieces.decode(ids) for ids in page], truths


@pytest.mark.nightly
@pytest.mark.multi30k
@pytest.mark.parametrize("name", MACHINES)
def test_all_captions_come_out_as_from_torch(name, tmp_path):
    """Token for token in 99 of 100; BLEU as the record has it."""
    page, theirs, words, truths = captions(name, tmp_path / "file.weights")
    same = sum(a == b for a, b in zip(page, theirs, strict=True))
    assert same >= 0.99 * len(page)
    record = records.load("quantization")["results"][name]
    bleu = metrics.bleu(words, truths)["bleu"]
    assert bleu == pytest.approx(record["int8"]["greedy"]["bleu"], abs=0.1)
    assert bleu == pytest.approx(record["full"]["greedy"]["bleu"], abs=0.5)


def test_rounding_costs_at_most_a_tenth_of_a_point():
    for each in records.load("quantization")["results"].values():
        bleu = [each[w]["greedy"]["bleu"] for w in ("full", "int8")]
        assert bleu[0] - bleu[1] < 0.1


def test_what_is_measured_is_what_is_fetched():
    assert quantization.MACHINES == MACHINES


@pytest.mark.parametrize("name", MACHINES)
def test_a_file_is_at_most_three_megabytes(name):
    data = packed(name)
    assert len(data) <= 3_000_000
    assert len(data) == records.load("quantization")["results"][name]["bytes"]


def test_the_same_weights_give_the_same_file(pieces):
    model = small("RNNsearch", len(pieces))
    one, other = (int8.pack(model, pieces) for _ in range(2))
    assert one == other
    length = int.from_bytes(gzip.decompress(one)[:4], "little")
    header = json.loads(gzip.decompress(one)[4 : 4 + length])
    assert header["model"] == "RNNsearch"
    assert header["pieces"] == pieces.words


def test_a_rounded_row_is_off_by_half_a_level_at_most():
    torch.manual_seed(0)
    matrix = torch.randn(5, 40)
    matrix[3] = 0
    levels, scales = int8.split(matrix)
    back = levels * scales.astype(float)[:, None]
    assert (abs(back - matrix.numpy()).max(1) <= 0.51 * scales + 1e-9).all()
    assert (back[3] == 0).all()


def test_the_files_are_laid_for_the_site_and_for_the_disk(tmp_path):
    main([str(tmp_path)])
    for name in MACHINES:
        file = known(name)["file"]
        data = (tmp_path / f"{file}.weights").read_bytes()
        assert data == packed(name)
        script = (tmp_path / f"{file}.js").read_text()
        assert b64decode(script.split('"')[3]) == data


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"text": "x" * (LIMITS["letters"] + 1)}, "at most"),
        ({"machine": "GPT"}, "there is"),
        ({"width": 0}, "width"),
        ({"width": LIMITS["beam"] + 1}, "width"),
        ({"look": "away"}, "look"),
        ({"gone": "first"}, "gone"),
        ({"seen": "9"}, "seen"),
        ({"given": [-1]}, "given"),
        ({"given": [5] * 1000}, "given"),
        ({"step": -1}, "step"),
        ({"rival": 7}, "rival"),
    ],
)
def test_it_refuses(wrong, says):
    with pytest.raises(TraitError, match=says):
        Translate(**wrong)
    with pytest.raises(TraitError, match=says):
        Translate().set_trait(*wrong.popitem())


def test_the_kernel_sends_a_file_that_is_asked_for(monkeypatch):
    widget, sent = Translate(), []
    monkeypatch.setattr(widget, "send", lambda *given: sent.append(given))
    file = widget.machines["tuned-en-fr"]["file"]
    widget._answer(widget, {"want": "../../etc/passwd"}, [])
    assert sent == []
    widget._answer(widget, {"want": file}, [])
    assert sent == [({"file": file}, [packed("tuned-en-fr")])]
