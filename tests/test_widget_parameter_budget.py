"""The parameter budget: its script against the formulas and against torch."""

import random
from dataclasses import asdict, replace

import pytest
import torch
from traitlets import TraitError
from widgets_common import ask, refuses, shown

from lookback.budget import MODELS, Sizes, count, touched
from lookback.transformer import Transformer, TransformerConfig
from lookback.widgets import ParameterBudget


def computed(sizes: Sizes) -> dict:
    return ask("parameter_budget", "budget", asdict(sizes))


def drawn(seed: int) -> Sizes:
    """Sizes as a reader might set them, large ones among them."""
    pick = random.Random(seed)
    heads = pick.choice([1, 3, 8, 128])
    experts = pick.choice([0, 1, 64, 256])
    return Sizes(
        d_model=heads * pick.randint(1, 200),
        d_ff=pick.randint(1, 50_000),
        heads=heads,
        vocab=pick.randint(1, 300_000),
        encoder=pick.randint(0, 20),
        decoder=pick.randint(1, 100),
        positions=pick.choice([0, 512, 4096]),
        tied=pick.random() < 0.5,
        gated=pick.random() < 0.5,
        experts=experts,
        active=pick.randint(0, experts),
        shared=pick.randint(0, 2),
        d_expert=pick.choice([0, 100, 2048]),
        dense=pick.randint(0, 5),
        biases=pick.random() < 0.5,
        latent=pick.random() < 0.3,
        norms=pick.randint(0, 1),
        segments=pick.randint(0, 2),
        pooler=pick.random() < 0.3,
    )


def test_the_script_counts_the_real_models_as_the_formula_does():
    for sizes in MODELS.values():
        found = computed(sizes)
        assert found["parts"] == list(count(sizes).values())
        assert found["touched"] == touched(sizes)
        assert found["wrong"] is None


@pytest.mark.parametrize("seed", range(12))
def test_the_script_counts_any_model_as_the_formula_does(seed):
    sizes = drawn(seed)
    found = computed(sizes)
    assert found["parts"] == list(count(sizes).values())
    assert found["touched"] == touched(sizes)
    assert found["wrong"] is None


@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_the_script_counts_what_torch_builds(activation):
    config = TransformerConfig(
        900, 900, d_model=48, heads=4, layers=3, d_ff=70, tied="all"
    )
    with torch.device("meta"):
        built = Transformer(replace(config, activation=activation))
    sizes = Sizes(
        48, 70, 4, 900, encoder=3, decoder=3, gated=activation == "swiglu"
    )
    found = computed(sizes)
    assert sum(found["parts"]) == sum(p.numel() for p in built.parameters())


def test_choosing_a_model_in_python_sets_its_sizes():
    widget = ParameterBudget()
    widget.sizes = {**widget.sizes, "d_ff": 4096}
    assert widget.parts()["feed-forward"] == 2 * 12 * 2 * 512 * 2048
    widget.model = "GPT-3"
    assert widget.sizes == asdict(MODELS["GPT-3"])
    assert "174,604,259,328 parameters" in widget.words()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"heads": 7}, "7 heads cannot share d_model 512"),
        ({"d_ff": 0}, "d_ff is 0"),
        ({"active": 1}, "active is 1, and there are 0 experts"),
        ({"d_ff": 2**52}, "more than 2"),
        ({"colour": 1}, "colour"),
    ],
)
def test_sizes_that_do_not_fit_are_refused_and_the_old_kept(wrong, says):
    sizes = {**ParameterBudget().sizes, **wrong}
    refuses(ParameterBudget(), {"sizes": sizes}, says)


def test_an_unknown_model_is_refused():
    with pytest.raises(TraitError, match="GPT-5.*GPT-3"):
        ParameterBudget("GPT-5")
    widget = ParameterBudget()
    with pytest.raises(TraitError, match="GPT-5"):
        widget.model = "GPT-5"
    assert widget.model == "Transformer base"


def test_it_has_a_picture_and_words():
    assert "671," in shown(ParameterBudget("DeepSeek-V3"))
