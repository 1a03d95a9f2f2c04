"""What four chapters say of a Transformer's parts is what they do.

Positions, feed-forward layers, residuals and the whole machine: sentences
that answer a widget's task, or that interpret a cell or a record.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from saying import said
from torch import nn

from lookback.budget import MODELS, count, touched
from lookback.experiments.positions import LETTERS, ReaderConfig, strings
from lookback.lab import records, weights
from lookback.lab.corpus import text
from lookback.lab.decoding import translate
from lookback.lab.significance import caption_rows
from lookback.layers import EncoderLayer, LayerConfig, xavier
from lookback.positions import LearnedPositions, angles, sinusoidal
from lookback.residual import token_spread
from lookback.transformer import Transformer
from lookback.widgets import Depth
from lookback.widgets.shuffle import random_layers
from lookback.widgets.stack import run

SEARCH = records.load("search")["results"]
RUNGS = records.load("ladder")["results"]
DEPTH = records.load("depth")["results"]


def moved(order, positions, masked, layers):
    """Whose vector the widget's little network changes, word by word."""
    words = np.random.default_rng(1).normal(size=(len(order), 8))
    codes = sinusoidal(len(order), 8, dtype=torch.float64).numpy()

    def read(places):
        x = words[places] + positions * codes
        for query, key, value in np.array(random_layers())[:layers]:
            scores = (x @ query) @ (x @ key).T / np.sqrt(8)
            if masked:
                scores[np.triu_indices(len(x), 1)] = -np.inf
            shares = np.exp(scores - scores.max(1, keepdims=True))
            x = x + shares / shares.sum(1, keepdims=True) @ (x @ value)
        return x[np.argsort(places)]

    gap = np.abs(read(list(order)) - read(list(range(len(order)))))
    return [bool(far > 1e-9) for far in gap.max(1)]


def test_who_notices_that_words_have_moved():
    said("positions", "Without positions and without a mask no vector changes")
    assert moved((1, 0, 2, 3), False, False, 2) == [False] * 4
    said(
        "positions",
        "With positions on, moving one word by one position changes every",
    )
    assert moved((0, 2, 1, 3), True, False, 1) == [True] * 4
    said(
        "positions",
        "With the mask and one layer, the last two words keep their vectors",
    )
    assert moved((1, 0, 2, 3), False, True, 1) == [True, True, False, False]
    said("positions", "With two layers the last two change as well")
    assert moved((1, 0, 2, 3), False, True, 2) == [True] * 4


def test_the_dials_of_the_drawing_are_those_of_sixteen_numbers():
    said("positions", "the first three of eight hands, those of an encoding of")
    said("positions", "sixth of a circle, the second by about a twentieth")
    turns = angles(2, 16)[1] / (2 * math.pi)
    assert len(turns) == 8
    assert [round(float(1 / turn)) for turn in turns[:3]] == [6, 20, 63]


def test_the_learned_table_begins_at_the_scale_of_the_sinusoids():
    """And the mean square of 1/√d is 128 times smaller."""
    torch.manual_seed(0)
    table = LearnedPositions(256, 256).table.detach().square().mean()
    waves = sinusoidal(256, 256).square().mean()
    assert float(waves / table) == pytest.approx(1, rel=0.02)
    said("positions", "128 times smaller than that of the sinusoids")
    assert float(waves / 256**-1) == pytest.approx(128, rel=0.01)


def test_a_transformer_that_never_had_positions_is_a_poor_translator():
    bag = records.load("ablation")["results"]["positions"]
    full = records.load("tuned_baselines")["results"]["transformer"]["tests"][
        "all"
    ]
    assert [run["config"]["positions"] for run in bag["runs"]] == ["none"]
    said("positions", "It is a poor translator, though not a helpless one")
    assert 30 < bag["tests"]["all"]["bleu"] < full["bleu"] - 10
    said("positions", "one seed without, five with")
    assert len(full["each"]) == 5


def test_the_answers_of_the_parameter_budget():
    base = count(MODELS["Transformer base"])
    said(
        "feedforward",
        "hold 25.2 of its 63.1 million parameters, two fifths",
    )
    assert base["feed-forward"] / sum(base.values()) == pytest.approx(
        0.4, abs=0.01
    )
    alone = count(replace(MODELS["Transformer base"], encoder=12, decoder=0))
    said("feedforward", "attention loses a third of its weights")
    assert alone["attention"] / base["attention"] == pytest.approx(2 / 3)
    shares = [
        alone[p] / sum(alone.values()) for p in ("feed-forward", "embeddings")
    ]
    said("feedforward", "(now 44%) and embeddings (33%) grow")
    assert [round(share, 2) for share in shares] == [0.44, 0.33]
    gpt3 = {
        layers: count(replace(MODELS["GPT-3"], decoder=layers))
        for layers in (3, 4)
    }
    tenth = {
        n: c["embeddings"] / sum(c.values()) > 0.1 for n, c in gpt3.items()
    }
    said("feedforward", "GPT-3 must shrink from 96 layers to 3")
    assert tenth == {3: True, 4: False}
    deepseek = MODELS["DeepSeek-V3"]
    small = sum(count(replace(deepseek, experts=8)).values())
    said(
        "feedforward",
        "one token uses 37.6 of 671 billion parameters",
    )
    assert round(touched(deepseek) / 1e9, 1) == 37.6
    said(
        "feedforward",
        "the whole model has 37.4 billion, nearly the same",
    )
    assert round(small / 1e9, 1) == 37.4


def french_of(model, english, french, sentence):
    ((words, _),) = translate(
        model, [sentence.split()], english, french, width=5
    )
    return " ".join(words)


def test_shuffled_words_say_what_the_page_has_in_english():
    model, *known = weights.load("transformer", Transformer)
    bag = "hat talking a red in man black a is a to in coat a woman ."
    said(
        "positions",
        "a hat talking with a man in a red coat to a woman in a coat",
    )
    assert french_of(model, *known, bag) == (
        "un chapeau parlant avec un homme en manteau rouge "
        "à une femme en manteau ."
    )
    model.source_embedding.positions = "none"
    said("positions", "a man dressed in a coat and in a woman, talking")
    assert text(french_of(model, *known, bag).split()) == (
        "un homme vêtu d' un manteau et d' une femme en train de parler ."
    )


def test_the_values_that_the_page_has_in_english():
    model, _, french = weights.load("transformer", Transformer)
    last = model.decoder[-1]
    values = last.feedforward.W_2.weight.detach().T
    push = values @ model.target_embedding.words.weight.detach().T
    push = (push - push.mean(1, keepdim=True)) / push.std(1, keepdim=True)
    torch.manual_seed(0)
    found = {
        unit: text(french.words[w] for w in push[unit].topk(5).indices)
        for unit in torch.randperm(len(push))[:6].tolist()
    }
    said("feedforward", "684 is carry, sing, push, use, bites, all of them")
    said("feedforward", "217 is curly, pond, fat, jogging, welds")
    assert found[684] == "portent chantent poussent utilisent mord"
    assert found[217] == "frisé étang gros jogging soude"


def test_without_the_decoders_first_feed_forward_layer_words_double():
    model, *known = weights.load("transformer", Transformer)
    with torch.no_grad():
        model.decoder[0].feedforward.W_2.weight.zero_()
    chair = french_of(model, *known, "a black cat sleeps on a red chair .")
    said(
        "feedforward",
        "vieil vieil (old), chaise chaise (chair), rouge rouge (red)",
    )
    assert "chaise chaise rouge rouge" in chair and "chat noir" in chair
    assert "vieil vieil homme" in french_of(
        model, *known, "an old man sits on a bench ."
    )


@pytest.mark.nightly
@pytest.mark.parametrize("layer", range(3))
def test_without_one_of_the_encoders_nothing_changes(layer):
    said(
        "feedforward",
        "networks is silent, these two sentences do not change at all",
    )
    model, *known = weights.load("transformer", Transformer)
    asked = (
        "a black cat sleeps on a red chair .",
        "a man with a red hat sleeps .",
    )
    whole = [french_of(model, *known, sentence) for sentence in asked]
    with torch.no_grad():
        model.encoder[layer].feedforward.W_2.weight.zero_()
    assert [french_of(model, *known, sentence) for sentence in asked] == whole


def test_the_full_stop_doubles_without_the_second_and_a_man_survives():
    model, *known = weights.load("transformer", Transformer)
    second, last = (model.decoder[i].feedforward.W_2.weight for i in (1, 2))
    kept = second.detach().clone()
    with torch.no_grad():
        said("feedforward", "without its second the full stop may be doubled")
        second.zero_()
        assert french_of(
            model, *known, "a man with a red hat sleeps ."
        ).endswith(". .")
        second.copy_(kept)
        last.zero_()
    said("feedforward", "only vieil becomes âgé, which also means old")
    assert french_of(model, *known, "an old man sits on a bench .") == (
        "un homme âgé est assis sur un banc ."
    )


def test_the_layer_did_not_pay_where_it_stood_bare():
    said("feedforward", "more than chance explains")
    step = RUNGS["feedforward"]["tests"]["all"]["step"]
    assert step["high"] < 0 and step["p"] < 0.01
    for name in ("heads", "feedforward"):
        config = RUNGS[name]["runs"][0]["config"]
        assert config["layers"] == 1 and not config["residual"]


def test_the_finished_transformer_misses_the_layer():
    said("feedforward", "Without it BLEU falls, whether the decoder is greedy")
    removals = records.load("ablation")["results"]
    removal = removals["feedforward"]
    for place in (removal["tests"]["all"], removal["tests"]["all"]["beam"]):
        assert place["change"]["high"] < 0 and place["change"]["p"] < 0.01
    said("feedforward", "matches the parameter count and does no better")
    seven, full = removals["feedforward, 7 layers"], removals["warmup"]
    said("feedforward", "it was trained once, at the learning rate that suits")
    ((run,), (whole,)) = seven["runs"], full["runs"]
    said("feedforward", "(five seeds)", "(two seeds)", "(one seed)")
    tuned = records.load("tuned_baselines")["results"]["transformer"]
    assert len(tuned["tests"]["all"]["each"]) == 5
    assert len(removal["runs"]) == 2
    said("feedforward", "where they have such networks, $d_\\text{ff} = 512$")
    assert (whole["config"]["d_model"], whole["config"]["d_ff"]) == (128, 512)
    assert RUNGS["feedforward"]["runs"][0]["config"]["d_ff"] == 512
    said("feedforward", "its interval assumes that of the finished Transformer")
    for each in seven, full:  # one run adds no degree of freedom
        assert each["tests"]["all"]["spread"] is None
    errors = {each["tests"]["all"]["change"]["seeds"] for each in (seven, full)}
    assert len(errors) == 1  # the same standard error for each single run
    assert abs(run["parameters"] / whole["parameters"] - 1) < 0.01
    assert seven["tests"]["all"]["bleu"] < removal["tests"]["all"]["bleu"]


def stack(seed, depth, residual=False, norm="none", feedforward=False):
    """Where tokens are alike; the gradient's share; size and apart on top."""
    xs, gradients = run(
        Depth(
            depth=depth,
            seed=seed,
            residual=residual,
            norm=norm,
            feedforward=feedforward,
        )
    )
    far = [float(token_spread(x)) for x in xs]
    alike = next((level for level, x in enumerate(far) if x < 0.01), depth + 1)
    share = float(gradients[0].norm() / gradients[-1].norm())
    return alike, share, float(xs[-1].norm() / xs[0].norm()), far[-1]


@pytest.mark.parametrize("seed", range(1, 6))
def test_up_and_down_a_stack(seed):
    alike, share, _, _ = stack(seed, 12)
    said(
        "residual",
        "Call tokens alike once their spread is below 0.01",
        "They are alike by level 3, rarely 4, with feed-forward networks",
    )
    said("residual", "anything from a few hundredths to most of it")
    assert alike <= 3 and share > 0.03
    alike, share, _, _ = stack(seed, 12, feedforward=True)
    said(
        "residual",
        "about a thousandth of the gradient arrives through twelve layers",
    )
    assert alike <= 3 and 2e-4 < share < 5e-3
    alike, share, size, _ = stack(seed, 24, True, feedforward=True)
    said(
        "residual",
        "With residual connections but no norm the tokens need twelve levels",
    )
    said(
        "residual",
        "grow by a factor of ten thousand and more, and the gradient explodes",
    )
    assert alike >= 12 and size > 1e4 and share > 1e4
    _, share, size, _ = stack(seed, 24, True, "post", True)
    said("residual", "With LayerNorm after the sum the length stays constant")
    assert 0.05 < share and 0.9 < size < 1.2
    said("residual", "they stay clearly apart through all 24 layers")
    assert stack(seed, 24, True, "pre", True)[-1] > 0.2
    alike, _, size, _ = stack(seed, 24, False, "post", True)
    said("residual", "The norm alone keeps the length and nothing else")
    assert alike <= 4 and 0.9 < size < 1.2
    said("residual", "alike by level 3, with some weights by level 4 or 5")
    assert stack(seed, 24, False, "pre", True)[0] <= 5


def test_at_this_rate_only_pre_norm_learns_with_eight_layers():
    said(
        "residual",
        "At the same learning rate, with only one of the two or in post-norm",
    )
    table = DEPTH["by_depth"]
    said("residual", "At this learning rate only pre-norm learns the task")
    for kind in ("none", "norm", "residual", "post"):
        assert table[kind]["8"]["high"] < 0.5
    said("residual", "At two layers every row learns something")
    assert all(rows["2"]["low"] > 2 / 16 for rows in table.values())


def test_a_matrix_by_hand_attends_to_the_position_before_once_scaled():
    said("positions", "for which the best key is always that of the position")
    omega = angles(2, 64, dtype=torch.float64)[1]
    pe = sinusoidal(500, 64, dtype=torch.float64)
    back = [
        torch.stack(
            [torch.stack([w.cos(), -w.sin()]), torch.stack([w.sin(), w.cos()])]
        )
        for w in omega
    ]
    scores = pe @ torch.block_diag(*back).T @ pe.T
    assert (scores[1:].argmax(1) == torch.arange(499)).all()
    said("positions", "It must also be scaled up, so that softmax gives")
    for scale, low, high in ((1, 0.01, 0.03), (100, 0.999, 1)):
        weight = (scale * scores / 8).softmax(1)[1:].diagonal()
        assert low < weight.min() and weight.max() <= high


def test_the_neighbor_toy():
    said("positions", "so the 20th letter is at position 20")
    letters = strings(1, 20, torch.Generator())[0]
    assert letters[0] == 1 and len(letters) == 21  # the start token is first
    said("positions", "from an alphabet of 64, none of them twice")
    assert LETTERS == 64 and len(set(letters.tolist())) == 21
    said("positions", "one layer of self-attention (two, where it says so)")
    said("positions", "with two heads")
    assert ReaderConfig().heads == 2 and ReaderConfig().layers == 1
    said("positions", "Two layers make hardly any errors")
    ways = records.load("positions")["results"]["ways"]
    assert ways["none, masked, 2 layers"]["low"]["20"] > 0.99
    said("positions", "they miss about a twentieth of the first 20 letters")
    waves = ways["sinusoidal"]
    near = 60 * waves["right"]["60"] - 40 * waves["far"]["60"]
    assert 0.94 < near / 20 < 0.96
    said("positions", "more than a third of the score is lost")
    lost = -RUNGS["words"]["tests"]["all"]["step"]["gain"]
    assert 1 / 3 < lost / RUNGS["dot"]["tests"]["all"]["bleu"] < 0.4
    said("positions", "The sinusoids bring back more than half of what")
    assert RUNGS["positions"]["tests"]["all"]["step"]["gain"] > lost / 2


def test_the_norm_limits_the_size_and_post_norm_draws_tokens_together():
    collapse, gradients = DEPTH["collapse"], DEPTH["gradients"]
    said("residual", "it is about 180,000 at level 24")
    assert round(collapse["both"]["size"][24], -4) == 180_000
    said("residual", "the changes grow with the stream, and swamp the token's")
    assert collapse["both"]["median"][24] < collapse["pre"]["median"][24] / 100
    said("residual", "near the output they are at first larger in post-norm")
    top = {name: gradients[name]["24"] for name in ("norm", "post", "pre")}
    assert (
        top["post"]["W_2"]["median"][-1] > 3 * top["pre"]["W_2"]["median"][-1]
    )
    said("residual", "the queries at the top, where all tokens are alike, get")
    assert top["norm"]["W_Q"]["median"][-1] < 1e-15
    said("residual", "With both, no gradient explodes")
    for name in ("post", "pre"):
        assert max(max(top[name][m]["median"]) for m in ("W_Q", "W_2")) < 1
    said("residual", "Here it holds at 0.01 and not at 0.003")
    rate = DEPTH["by_rate"]
    for at, gains in (("0.01", True), ("0.003", False)):
        gain = rate["post, warm-up"][at]["mean"] - rate["post"][at]["mean"]
        assert (gain > 0.5) == gains and (gain < 0.01) != gains


def test_in_the_first_cell_the_logarithm_triples_once():
    torch.manual_seed(0)
    bare = LayerConfig(d_model=32, heads=4, d_ff=0, norm="none", residual=False)
    layers = nn.ModuleList(EncoderLayer(bare) for _ in range(6)).double()
    xavier(layers)
    x, logs = torch.randn(1, 10, 32).double(), []
    with torch.no_grad():
        for layer in layers:
            x = layer(x)
            logs.append(math.log10(float(token_spread(x))))
    said("residual", "more than three times that of level 2. Tripled once more")
    assert logs[2] / logs[1] > 3 and round(3 * logs[2]) == -17
    said("residual", "but from level 4 on the rounding of 64-bit numbers")
    assert logs[3] > -16


def test_three_layers_have_few_more_parameters_than_one():
    said("residual", "with 1.24 times the parameters of one")
    one, three = (RUNGS[name]["runs"][0] for name in ("norm", "depth"))
    assert three["parameters"] / one["parameters"] == pytest.approx(
        1.24, abs=0.005
    )
    said("residual", "are not distinguishable from it")
    step = RUNGS["depth"]["tests"]["all"]["step"]
    assert step["low"] < 0 < step["high"]


def test_the_bare_sum_beats_post_norm_at_four_layers():
    table = DEPTH["by_depth"]
    said("residual", "and residual connections without a norm do better")
    assert table["residual"]["4"]["mean"] > table["post"]["4"]["mean"] + 0.1
    said("residual", "Their results are very different from seed to seed")
    assert table["post"]["4"]["high"] - table["post"]["4"]["low"] > 0.5
    said("residual", "a warm-up hardly changes the means of post-norm")
    for layers in ("2", "4", "8"):
        warm = table["post, warm-up"][layers]["mean"]
        assert abs(warm - table["post"][layers]["mean"]) < 0.05
    said("residual", "depends on rate and warm-up as well")
    assert DEPTH["by_rate"]["post, warm-up"]["0.01"]["low"] > 0.99
    said("residual", "Eight layers were not tried at that rate")
    assert records.load("depth")["config"]["rated_layers"] == 4


def test_nobody_wins_greedily_and_the_beam_decides_for_rnnsearch():
    new, old = SEARCH["transformer"], SEARCH["rnnsearch"]
    said(
        "transformer",
        "Greedily the two are level; with a beam RNNsearch is ahead",
    )
    assert abs(new["bleu"] - old["bleu"]) < (new["high"] - new["low"]) / 4
    assert new["beam_bleu"] < old["beam_bleu"]
    curves = [row["runs"][0]["curve"] for row in (new, old)]
    said("transformer", "the Transformer starts lower and ends slightly higher")
    assert curves[0][0]["score"] < curves[1][0]["score"]
    assert curves[0][-1]["score"] > curves[1][-1]["score"]
    said("transformer", "Its validation loss is the lower one")
    assert curves[0][-1]["loss"] < curves[1][-1]["loss"]
    said("transformer", "a larger proportion of its words is right")
    rows = [caption_rows(row["runs"][0]["counts"]).sum(0) for row in (new, old)]
    lengths = [(row[4] / row[8]).item() for row in rows]
    said("transformer", "but it writes too few")
    assert lengths[0] < 0.975 < 0.99 < lengths[1] < 1


def test_dropout_acts_at_17_places():
    said("transformer", "the dropout, which acts at 17 places")
    model, *_ = weights.load("transformer", Transformer)
    assert sum(isinstance(part, nn.Dropout) for part in model.modules()) == 17
    assert model.config.dropout == 0.2


@pytest.mark.nightly
def test_no_part_of_the_encoder_is_a_footnote():
    model, english, _ = weights.load("transformer", Transformer)
    seen = []

    def note(part, given, result):
        seen.append((given[0], result[0] if type(result) is tuple else result))

    for layer in model.encoder:
        for part in (layer.attention, layer.feedforward):
            part.register_forward_hook(note)
    sentence = "a black cat sleeps on a red chair ."
    with torch.no_grad():
        model.encode(torch.tensor([english.encode(sentence.split())]))
    said("residual", "This model has no footnotes")
    said("residual", "strengthens what is there, as all of these do")
    for x, change in seen:
        assert (change.norm(dim=-1) / x.norm(dim=-1)).mean() > 0.5
        assert torch.cosine_similarity(x, change, dim=-1).mean() > 0


def test_deepseeks_feed_forward_layers():
    parts = count(MODELS["DeepSeek-V3"])
    said("feedforward", "nearly everything, 658 of 671 billion")
    assert round(parts["feed-forward"] / 1e9) == 658
    assert round(sum(parts.values()) / 1e9) == 671


def test_what_stayed_of_2017_is_most_of_it():
    parts = count(MODELS["Transformer base"])
    said("feedforward", "and they hold 70% of its parameters")
    left = sum(parts.values()) - parts["attention"]
    assert round(left / sum(parts.values()), 2) == 0.70


def test_what_ten_eight_two_and_a_tenth_become():
    given = torch.tensor([10, 8, 2, 0.1], dtype=torch.float64)
    first, second, third, _ = given.softmax(0).tolist()
    said("scores", "the first key gets 88% and the second 12%")
    assert [round(100 * first), round(100 * second)] == [88, 12]
    said("scores", "one part in three thousand")
    assert 2900 < first / third < 3100
    said("scores", "add the same number to all scores, nothing changes")
    assert torch.allclose((given + 5).softmax(0), given.softmax(0))
    said("scores", "one key gets all the weight in the end")
    assert (5 * given).softmax(0)[0] > 0.999


def test_a_step_has_work_for_every_core():
    said(
        "serial",
        "has 240 million multiplications, or 67,000 for each of 3,584 cores",
    )
    assert (80 * 3 * 1000**2, round(240e6 / 3584, -3)) == (240_000_000, 67_000)
