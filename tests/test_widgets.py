"""The widgets: their formulas against torch, their traits, their pictures."""

import gzip
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from traitlets import TraitError
from widgets_common import JS, MODULES, ask, near, node, refuses, shown

from lookback import widgets
from lookback.bottleneck import Bottleneck, BottleneckConfig
from lookback.vocabulary import END, START
from lookback.widgets import (
    AlignmentStepper,
    Quiz,
    SoftmaxStepper,
    Squeeze,
    base,
    pack,
)

NAMES = ["softmax_stepper", "alignment_stepper", "quiz", "squeeze"]
ALPHABET = "abcde"


def softmax_stepper(**more) -> SoftmaxStepper:
    values = [[1.0, -0.5], [0.0, 0.3], [0.5, 0.5]]
    return SoftmaxStepper(["a", "black", "cat"], [0.5, 2, -1], values, **more)


def example(source: int = 3, target: int = 2) -> dict:
    torch.manual_seed(source)
    return {
        "source": [f"s{j}" for j in range(source)],
        "target": [f"t{i}" for i in range(target)],
        "energies": (3 * torch.randn(target, source)).tolist(),
        "values": torch.randn(source, 4).tolist(),
    }


def quiz(**more) -> Quiz:
    given = {
        "question": "Which one?",
        "options": [
            {"text": "this", "correct": True, "why": "It is."},
            {"text": "that", "correct": False, "why": "It is not."},
        ],
        "name": "which",
    }
    return Quiz(**{**given, **more})


@pytest.fixture(scope="module")
def bottleneck() -> Bottleneck:
    """A random tiny model whose numbers all fit into sixteen bits."""
    torch.manual_seed(0)
    words = 4 + len(ALPHABET)
    config = BottleneckConfig(words, words, embed=5, hidden=8, maxout=6)
    model = Bottleneck(config).eval()
    for parameter in model.parameters():
        parameter.data = (2 * parameter.data).half().float()
    return model.double()


@pytest.fixture
def squeeze(bottleneck) -> Squeeze:
    models = {"8": pack(bottleneck.state_dict())}
    return Squeeze(ALPHABET, models, width="8", text="cab")


@pytest.fixture(params=NAMES)
def widget(request, squeeze):
    return {
        "softmax_stepper": softmax_stepper,
        "alignment_stepper": lambda: AlignmentStepper([example()]),
        "quiz": quiz,
        "squeeze": lambda: squeeze,
    }[request.param]()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", [False, True])
def test_the_softmax_stages_are_those_of_torch(seed, scale):
    torch.manual_seed(seed)
    scores, values = 20 * torch.randn(6).double(), torch.randn(6, 3).double()
    z = scores / 0.7 / (8 if scale else 1)
    now = ask(
        "softmax_stepper",
        "stages",
        {
            "scores": scores.tolist(),
            "values": values.tolist(),
            "temperature": 0.7,
            "d_k": 64,
            "scale": scale,
        },
    )
    near(now["scaled"], z)
    near(now["exponential"], (z - z.max()).exp())
    near(now["sum"], (z - z.max()).exp().sum())
    near(now["weight"], z.softmax(0))
    near(now["context"], z.softmax(0) @ values)


@pytest.mark.parametrize("size", [(1, 1), (7, 5), (50, 50)])
def test_the_alignment_is_that_of_torch(size):
    one = example(*size)
    looks = ask("alignment_stepper", "look", {"example": one})
    weights = torch.tensor(one["energies"]).double().softmax(1)
    near([look["weights"] for look in looks], weights)
    values = torch.tensor(one["values"]).double()
    near([look["context"] for look in looks], weights @ values)


@pytest.mark.parametrize("text", ["a", "cab", "deadbeadcafe" * 2])
def test_the_bottleneck_in_the_browser_is_that_of_torch(
    bottleneck, squeeze, text
):
    letters = [4 + ALPHABET.index(x) for x in text if x in ALPHABET]
    source, tokens = [*letters, END], [START, *letters]
    given = {"models": squeeze.models, "width": "8"}
    run = ask("squeeze", "run", {**given, "source": source, "tokens": tokens})
    with torch.no_grad():
        for read in range(1, len(source) + 1):
            memory = bottleneck.encode(torch.tensor([source[:read]]))
            near(run["vectors"][read], memory.c[0])
        logits = bottleneck(torch.tensor([source]), torch.tensor([tokens]))
        near(run["logits"], logits[0])
        assert run["written"] == greedy(bottleneck, source)


def greedy(model: Bottleneck, source: list[int]) -> list[int]:
    """The slow way: the whole sentence again for every letter."""
    written: list[int] = []
    while len(written) < 30:
        given = torch.tensor([[START, *written]])
        letter = int(model(torch.tensor([source]), given)[0, -1].argmax())
        if letter == END:
            break
        written.append(letter)
    return written


def test_the_functions_without_a_page():
    tests = sorted(str(path) for path in JS.glob("*.test.mjs"))
    run = subprocess.run(
        [node(), "--test", *tests], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


SMALL = 12 * 1024  # bytes, gzipped
# Two translators, what cuts words, a beam; two translators and every path.
LARGER = {
    "translate": 17 * 1024,
    "lattice": 13 * 1024,
    "write_on": 12 * 1024 + 100,
    "opened": 40 * 1024,  # the model, its tracer, and every station
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_an_anywidget_and_small(name):
    exports, methods = ask(name, "exports")
    assert "default" in exports and set(methods) == {"keeps", "render"}
    size = len(gzip.compress(base.module(name).encode()))
    assert size <= LARGER.get(name, SMALL)


@pytest.mark.parametrize("name", [n for n in widgets.__all__ if n[0].isupper()])
def test_what_python_sets_reaches_the_page(name):
    traits = getattr(widgets, name).class_own_traits()
    assert traits and all(each.metadata.get("sync") for each in traits.values())


@pytest.mark.parametrize("name", MODULES)
def test_a_style_is_of_its_own_widget_alone(name):
    """A page may hold others, which its rules would reach."""
    inside, kind = "", f'[data-widget="{name.replace("_", "-")}"]'
    for line in (base.HERE / f"{name}.css").read_text("utf-8").splitlines():
        inside = line if line[:1] not in ("", " ") else inside
        depth = len(line) - len(line.lstrip())
        is_selector = line.endswith(("{", ",")) and not line.startswith("@")
        if is_selector and depth == (2 if inside.startswith("@") else 0):
            assert kind in line


def test_a_widget_shows_a_view_a_picture_and_words(widget):
    shown(widget)


def test_colab_is_told_where_its_widget_manager_is(monkeypatch):
    colab = SimpleNamespace(
        enable_custom_widget_manager=lambda: None,
        _widgets=SimpleNamespace(_installed_url="the manager"),
    )
    monkeypatch.setitem(sys.modules, "google.colab.output", colab)
    one = softmax_stepper()
    assert one._ipython_display_ is None  # so what follows is what is shown
    assert "the manager" in str(one._repr_mimebundle_()[1])


def test_the_picture_of_fifty_words_by_fifty_is_small():
    shown(AlignmentStepper([example(50, 50)]))


def test_a_step_may_be_set_from_python_and_from_the_page():
    stepper, seen = AlignmentStepper([example(3, 4), example(3, 2)]), []
    stepper.observe(lambda change: seen.append(change["new"]), "step")
    stepper.step = 3
    stepper.set_state({"step": 1})
    stepper.step = 3
    stepper.example = 1  # shorter: the step is brought back inside
    assert seen == [3, 1, 3, 0]


def test_numbers_may_come_as_tensors():
    stepper = SoftmaxStepper(["a", "b"], torch.zeros(2), torch.eye(2))
    assert stepper.weights() == [0.5, 0.5]
    assert stepper.values == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"labels": ["a"]}, "scores: give 1"),
        ({"scores": [1.0]}, "scores: give 3"),
        ({"scores": [1.0, float("nan"), 0.0]}, "not finite"),
        ({"values": [[1.0], [1.0, 2.0], [1.0]]}, "3 rows of one length"),
        ({"scores": [1e308, -1e308, 0.0]}, "above 1,000,000"),
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"temperature": 1e-320}, "not 0.001 or more"),
        ({"d_k": 10**30}, "d_k is 10+: give 1 to 1,000,000"),
        ({"d_k": 0}, "d_k is 0"),
        ({"step": 6}, "step is 6: 0 to 5"),
    ],
)
def test_a_softmax_stepper_refuses_what_does_not_fit(wrong, says):
    refuses(softmax_stepper(), wrong, says)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"source": []}, r"examples\[0\] lacks source"),
        ({"energies": [[1.0, 2.0]]}, "target × source, 2 × 3"),
        ({"energies": [[1.0, 2.0], [1.0, 2.0]]}, "target × source, 2 × 3"),
        ({"values": [[1.0], [1.0]]}, "values must have 3 even rows"),
        ({"energies": [[1.0, 2.0, float("inf")]] * 2}, "not finite"),
        ({"energies": [[1.0, 2.0, 10**30]] * 2}, "above 1,000,000"),
        ({"energies": [[1.0, 2.0, [1.0]]] * 2}, "not finite"),
        ({"energies": [1.0, 2.0]}, "target × source"),
    ],
)
def test_an_alignment_refuses_what_does_not_fit(wrong, says):
    with pytest.raises(TraitError, match=says):
        AlignmentStepper([{**example(), **wrong}])


@pytest.mark.parametrize("place", [{"example": 1}, {"step": 2}, {"step": -1}])
def test_an_alignment_refuses_a_place_that_it_does_not_have(place):
    with pytest.raises(TraitError, match=r"0 to \d exist"):
        AlignmentStepper([example()], **place)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"question": " "}, "question is empty"),
        ({"name": ""}, "name is empty"),
        ({"options": []}, "at least two"),
        ({"options": [{"text": "a", "correct": True}] * 2}, "lacks why"),
        (
            {"options": [{"text": "a", "correct": False, "why": "b"}] * 2},
            "none is correct",
        ),
    ],
)
def test_a_quiz_refuses_what_does_not_fit(wrong, says):
    with pytest.raises(TraitError, match=says):
        quiz(**wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"text": "caz"}, r"\['z'\] are not in the alphabet"),
        ({"text": ""}, "1 to 30 letters"),
        ({"text": "a" * 31}, "1 to 30 letters"),
        ({"width": "16"}, "width '16': there is 8"),
        ({"alphabet": "abcdef"}, "4 \\+ 6 rows"),
    ],
)
def test_squeeze_refuses_what_does_not_fit(squeeze, wrong, says):
    refuses(squeeze, wrong, says)


def test_squeeze_refuses_weights_that_are_cut_or_missing(squeeze):
    whole = squeeze.models["8"]
    for change, says in (
        ({"squeeze.weight": {"shape": [8, 8], "data": b"AA"}}, "float16"),
        ({"squeeze.weight": None}, "lacks squeeze.weight"),
    ):
        broken = {k: v for k, v in {**whole, **change}.items() if v}
        with pytest.raises(TraitError, match=says):
            Squeeze(ALPHABET, {"8": broken}, width="8", text="a")


@pytest.mark.nightly
@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-30, 1e6])
def test_what_is_accepted_can_be_drawn(size, recwarn):
    for scores in ([size, -size, 0.0], [size] * 3):
        for temperature in (1e-3, 1e6):
            shown(
                SoftmaxStepper(
                    ["a", "b", "c"], scores, temperature=temperature, d_k=10**6
                )
            )
    one = example() | {"energies": [[size, -size, 0.0]] * 2}
    shown(AlignmentStepper([one]))
    assert not recwarn.list
