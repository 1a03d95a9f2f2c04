"""The writing experiment, and what `handwriting` says of its record."""

import numpy as np
import pytest
import torch
from saying import said

from lookback.experiments import handwriting as trial
from lookback.handwriting import Writer, WriterConfig, write
from lookback.lab import records, synthetic_handwriting, weights

SMALL = WriterConfig(hidden=8, kernels=2, mixtures=2)


@pytest.fixture
def lines():
    return synthetic_handwriting.lines(
        ["no", "look back"], np.random.default_rng(0)
    )


@pytest.mark.parametrize("name", trial.NETWORKS)
def test_each_network_says_a_mixture_and_weights_for_every_point(name, lines):
    """Code: every network of the trial runs."""
    torch.manual_seed(0)
    model = trial.NETWORKS[name](SMALL)
    nats, phi = trial.follow(model, lines)
    assert nats.shape == lines.mask.shape and nats.isfinite().all()
    assert phi.shape == (*lines.mask.shape, lines.text.shape[1])


def test_content_is_a_softmax_over_the_letters_that_are_there(lines):
    said(
        "handwriting", "by the additive score, and a softmax makes the weights"
    )
    torch.manual_seed(0)
    model = trial.Content(SMALL)
    _, phi = trial.follow(model, lines)
    assert torch.allclose(phi.sum(-1), torch.ones(()))
    assert phi[0, :, 3:].eq(0).all()  # n, o, the end; then nothing
    assert torch.allclose(phi[1, 0], torch.full((10,), 0.1))  # v = 0
    with torch.no_grad():
        model.attention.v.normal_()
    _, phi = trial.follow(model, lines)
    assert phi[1, 0].std() > 0


def test_content_is_handed_annotations_that_know_their_neighbours():
    said(
        "handwriting",
        "The network receives the weighted sum of the annotations",
    )
    torch.manual_seed(0)
    model = trial.Content(SMALL)
    one, other = (
        model.begin(synthetic_handwriting.signs(text)[None])
        for text in ("aba", "abb")
    )
    assert one.seen.shape == (1, SMALL.hidden)
    assert (one.notes[0, 0] - other.notes[0, 0]).abs().max() > 1e-3
    assert (one.notes[0, 0] - one.notes[0, 2]).abs().max() > 1e-2  # both an a


def test_both_ways_may_go_back_and_starts_at_the_usual_speed():
    torch.manual_seed(0)
    model = trial.BothWays(SMALL)
    kappa = torch.full((1, 2), 3.0)
    _, same = model.place(torch.zeros(1, 8), kappa, 4)
    assert torch.allclose(same, kappa + 1 / SMALL.points)
    moved = [model.place(9 * torch.randn(1, 8), kappa, 4)[1] for _ in range(20)]
    said("handwriting", "itself, without the exponential, and so may go back")
    said("handwriting", "at first this window moves as fast as the other")
    assert min(float(one.min()) for one in moved) < 3


def test_the_baselines_know_the_time_and_nothing_else():
    said("handwriting", "two baselines that learn nothing")
    found = trial.baselines(1)  # a letter alone: whoever knows the end is right
    assert found["diagonal"] == {"right": 1, "sign": 1}
    six = trial.baselines(6)
    assert six["constant"]["right"] < six["diagonal"]["right"] < 1
    for one in six.values():
        assert one["right"] < one["sign"]  # a letter stands twice now and then


@pytest.mark.nightly
def test_an_interrupted_training_goes_on_to_the_same_weights(
    tmp_path, monkeypatch
):
    """Code: a training that goes on."""
    monkeypatch.setattr(trial, "SAVE", 2)
    stages = [(2, (1, 2), 2), (2, (2, 3), 2)]

    def train(folder):
        torch.manual_seed(0)
        model = Writer(SMALL)
        folder.mkdir(exist_ok=True)
        return trial.teach(model, stages, 0, 1e-3, folder), model

    whole, theirs = train(tmp_path / "whole")
    made, lines = [], synthetic_handwriting.lines

    def breaks(*given):
        made.append(given)
        if len(made) == 4:
            raise KeyboardInterrupt
        return lines(*given)

    monkeypatch.setattr(synthetic_handwriting, "lines", breaks)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "broken")
    again, mine = train(tmp_path / "broken")
    assert len(made) == 4 + 2 and again == whole
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b)


# What the page says of the record.


@pytest.fixture(scope="module")
def record():
    return records.load("handwriting")


@pytest.fixture(scope="module")
def results(record):
    return record["results"]


@pytest.fixture(scope="module")
def trained():
    return weights.load("handwriting", Writer)[0].cpu()


def each(results, name, length, what="right"):
    return results[name]["scores"][str(length)][what]["each"]


def test_the_record_is_of_the_present_settings(record):
    config = record["config"]
    assert config["updates"] == trial.UPDATES
    assert config["short"] == list(trial.SHORT)
    assert config["stages"] == [list(stage) for stage in trial.STAGES]
    said("handwriting", "with three seeds each")
    assert len(record["seeds"]) == trial.SEEDS
    said("handwriting", "The longer training was run at one rate only, …")
    said("handwriting", "a quarter of that best rate")
    assert config["rate"] == trial.RATES[-1] / 4
    assert config["rate"] == trial.RATE and config["rate"] in trial.RATES
    said("handwriting", "the same network, trained for three times as many")
    assert config["longer"] == 3 * config["updates"]


def test_each_network_is_shown_at_its_best_rate(results):
    said("handwriting", "Each network is trained at four learning rates, from")
    said(
        "handwriting", "is shown at the rate whose negative log-likelihood was"
    )
    assert len(trial.RATES) == 4 and [*trial.RATES] == sorted(trial.RATES)
    for name in trial.NETWORKS:
        found = results[name]
        tried = dict(
            zip(trial.RATES, map(np.mean, found["tried"]), strict=True)
        )
        assert found["rate"] == min(tried, key=tried.get)
        at = found["at"][trial.RATES.index(found["rate"])]
        assert at["13"]["sign"] == found["scores"]["13"]["sign"]
    said("handwriting", "the best rate was the highest that we tried")
    for name in ("window", "content"):
        assert results[name]["rate"] == trial.RATES[-1]


def test_content_learns_more_slowly_and_was_still_learning(results):
    said("handwriting", "Content-based attention learns more slowly here")
    for length in trial.TESTS:
        content = each(results, "content", length, "sign")
        assert max(content) < min(each(results, "window", length))
    for content, window in zip(
        each(results, "content", 13, "nats"),
        each(results, "window", 13, "nats"),
        strict=True,
    ):
        assert content > window
    said("handwriting", "the rate of the tables, less often than the constant")
    pace = results["baselines"]["6"]["constant"]["sign"]
    assert max(each(results, "content", 6, "sign")) < pace
    said("handwriting", "but is on the right letter more often than the")
    lower = results["content"]["at"][2]["6"]["sign"]["each"]
    assert min(lower) > pace
    said("handwriting", "All losses were still falling when the training")
    for name in (*trial.NETWORKS, trial.LONGER):
        for curve in results[name]["curve"]:
            assert np.mean(curve[-3:]) < np.mean(curve[-8:-5]), name
    said("handwriting", "and has more parameters than the others")
    for name in ("window", "both ways"):
        assert results["content"]["weights"] > results[name]["weights"]


def test_content_is_behind_at_every_rate(results):
    said("handwriting", "At … it predicts a little worse, at … nats a point")
    found = results["content"]["at"]
    for length in ("6", "13", "30"):
        assert (
            found[2][length]["nats"]["mean"] > found[3][length]["nats"]["mean"]
        )
        assert (
            found[2][length]["sign"]["mean"] > found[3][length]["sign"]["mean"]
        )
    said("handwriting", "the best of its twelve runs is on the right letter at")
    runs = [one["13"]["sign"]["each"] for one in found]
    assert max(max(one) for one in runs) == runs[2][1]
    said("handwriting", "and the worst of the window's twelve at")
    runs = [one["13"]["sign"]["each"] for one in results["window"]["at"]]
    assert min(min(one) for one in runs) == runs[0][1]
    said("handwriting", "at each of the four rates the window predicts better")
    for window, content in zip(results["window"]["at"], found, strict=True):
        for length in ("6", "13", "30"):
            best = min(content[length]["nats"]["each"])
            assert max(window[length]["nats"]["each"]) < best


def test_content_trained_for_longer_serves_short_lines_alone(results):
    said("handwriting", "even better than the window's after a third of those")
    said("handwriting", "after the shorter training at any rate, though less")
    for length, sign in ((6, 1), (30, -1)):
        for content in each(results, trial.LONGER, length, "nats"):
            for window in each(results, "window", length, "nats"):
                assert sign * (window - content) > 0
    for length in (6, 13, 30):
        longer = each(results, trial.LONGER, length, "sign")
        assert max(longer) < min(each(results, "window", length))
        for at in results["content"]["at"]:
            assert min(longer) > max(at[str(length)]["sign"]["each"])
    said("handwriting", "on short lines, less on longer ones, and harms on")
    said("handwriting", "Compared with the shorter training at that rate")
    same = trial.RATES.index(trial.RATE)
    assert same == 1
    longer, *shorter = (
        [at[str(n)]["nats"]["mean"] for n in trial.TESTS]
        for at in (
            results[trial.LONGER]["scores"],
            results["content"]["scores"],
            results["content"]["at"][same],
        )
    )
    for before in shorter:
        gains = [a - b for a, b in zip(before, longer, strict=True)]
        assert gains[0] > gains[1] + 0.1 > 0.2 and gains[2] < -0.2


def test_the_baselines_fall_behind(results):
    said("handwriting", "beats both baselines at every length")
    for length in trial.TESTS:
        found = results["baselines"][str(length)]
        most = max(one["sign"] for one in found.values())
        assert min(each(results, "window", length)) > most
        for name, one in trial.baselines(length).items():
            assert found[name] == pytest.approx(one, abs=1e-6)


def test_a_way_back_is_a_risk(results):
    said("handwriting", "Two seeds of three with a way back keep their place")
    said("handwriting", "never finds it, and does worse than the constant pace")
    for length in trial.TESTS:
        lost, *kept = sorted(each(results, "both ways", length, "sign"))
        assert min(kept) > 0.85
        paces = results["baselines"][str(length)]
        assert lost < paces["constant"]["sign"] / 2
    said("handwriting", "At a lower rate all three find it, but the worst")
    found = results["both ways"]["at"][1]["13"]["sign"]["each"]
    assert min(found) == found[1] > 0.7 and found[0] > 0.9 < found[2]
    said(
        "handwriting", "five runs of twelve are right at more than nine tenths"
    )
    said("handwriting", "is right that often in all twelve of its runs")
    right = {
        name: [
            share > 0.9
            for scores in results[name]["at"]
            for share in scores["13"]["sign"]["each"]
        ]
        for name in ("both ways", "window")
    }
    assert sum(right["both ways"]) == 5 and len(right["both ways"]) == 12
    assert all(right["window"]) and len(right["window"]) == 12
    said("handwriting", "but with the ban it learned every time")
    said("handwriting", "The third does not find it")
    assert each(results, "both ways", 13, "sign")[1] < 0.1


def test_the_model_of_the_page_on_sixty_letters(results):
    found = results["page"]
    tens = found["scores"][str(trial.LONG)]["tens"]
    said("handwriting", "at … of the points or more")
    assert len(tens) == 6 and min(tens) == tens[2] > 0.99
    said("handwriting", "But a long line is predicted less well")
    nats = {n: found["scores"][n]["nats"] for n in ("30", "60")}
    assert nats["60"] > nats["30"] + 0.1
    assert found["ends"]["60"]["excess"] > 3 * found["ends"]["30"]["excess"]


def test_its_weights_are_small_enough_for_a_page(results, trained):
    said("handwriting", "A model with … weights writes the line below")
    count = sum(part.numel() for part in trained.parameters())
    assert count == results["page"]["weights"]
    assert 2 * count <= 300_000


@pytest.mark.nightly
def test_the_recorded_score_is_that_of_the_committed_weights(results, trained):
    said("handwriting", "The model on this page was trained for longer")
    found = trial.score(trained, 6)
    assert found["right"] == pytest.approx(
        results["page"]["scores"]["6"]["right"], abs=5e-3
    )


@pytest.mark.nightly
def test_an_m_takes_three_times_as_long_as_an_i_if_it_is_seen(trained):
    """The widget's task, and the exercise `place-or-content`."""

    class Blind(Writer):
        def slide(self, point, text, state):
            return super().slide(point, 0 * text, state)

    blind = Blind(trained.config)
    blind.load_state_dict(trained.state_dict())
    spent = {}
    for name, model in (("seeing", trained), ("blind", blind)):
        for text in ("mmmmmm", "iiiiii"):
            torch.manual_seed(0)
            _, phi = write(
                model,
                synthetic_handwriting.signs(text),
                torch.rand(400, 4),
                1.0,
            )
            count = torch.bincount(phi.argmax(1), minlength=6)
            spent[name, text] = count[:6].tolist()
    said(
        "handwriting",
        "spends 23 points on each m and seven or eight on each i",
    )
    assert spent["seeing", "mmmmmm"] == 6 * [23]
    assert {*spent["seeing", "iiiiii"]} == {7, 8}
    said("handwriting", "Blindfolded, it does the same for both texts")
    assert spent["blind", "mmmmmm"] == spent["blind", "iiiiii"]
    said("handwriting", "it writes 22 points in all, fewer than four a letter")
    assert sum(spent["blind", "iiiiii"]) == 22 < 6 * 4
    said("handwriting", "before a single m would be done")
    assert sum(spent["blind", "iiiiii"]) < min(spent["seeing", "mmmmmm"])


@pytest.mark.nightly
def test_twenty_equal_letters_are_twenty(trained):
    """The last of the widget's tasks, in five styles."""
    said("handwriting", "You get all twenty")
    text = 20 * "a"
    for seed in range(5):
        torch.manual_seed(seed)
        points, _ = write(
            trained, synthetic_handwriting.signs(text), torch.rand(900, 4), 1.0
        )
        strokes = synthetic_handwriting.ink(points.numpy())
        assert len(strokes) == 20  # an a is one stroke
