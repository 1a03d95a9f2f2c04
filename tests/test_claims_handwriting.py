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
    said("handwriting", "It receives the annotations, as in RNNsearch")
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
    assert config["rate"] == trial.RATE
    assert config["short"] == list(trial.SHORT)
    assert config["stages"] == [list(stage) for stage in trial.STAGES]
    said("handwriting", "three seeds each")
    assert len(record["seeds"]) == trial.SEEDS


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
    said("handwriting", "its loss was still falling when the training ended")
    said("handwriting", "as was every network's")
    for name in trial.NETWORKS:
        for curve in results[name]["curve"]:
            assert np.mean(curve[-3:]) < np.mean(curve[-8:-5]), name
    said("handwriting", "and has more weights than the others")
    for name in ("window", "both ways"):
        assert results["content"]["weights"] > results[name]["weights"]


def test_the_baselines_fall_behind(results):
    said("handwriting", "beats both baselines at every length")
    for length in trial.TESTS:
        found = results["baselines"][str(length)]
        most = max(one["sign"] for one in found.values())
        assert min(each(results, "window", length)) > most
        for name, one in trial.baselines(length).items():
            assert found[name] == pytest.approx(one, abs=1e-6)


def test_a_way_back_is_a_risk(results):
    said("handwriting", "One seed of three with a way back keeps the place")
    said("handwriting", "less often than the constant pace")
    for length in trial.TESTS:
        first, *others = each(results, "both ways", length, "sign")
        assert first > 0.99
        paces = results["baselines"][str(length)]
        assert max(others) < paces["constant"]["sign"] / 2
    said("handwriting", "It finds lines of … letters less likely, but lines of")
    nats = each(results, "both ways", 13, "nats")
    assert nats[0] > max(each(results, "window", 13, "nats"))
    nats = each(results, "both ways", 30, "nats")
    assert nats[0] < min(each(results, "window", 30, "nats"))
    said("handwriting", "and may then serve longer lines better")
    for what, sign in (("nats", -1), ("right", 1)):
        other = np.mean(each(results, trial.OTHER, 30, what))
        assert sign * (other - np.mean(each(results, "window", 30, what))) > 0
    said("handwriting", "Trained once more on other lines, all three kept")
    assert min(each(results, trial.OTHER, 30)) > 0.95
    said("handwriting", "but with the ban it learned every time")
    assert min(each(results, "window", 30)) > 0.95


def test_the_model_of_the_page_on_sixty_letters(results):
    found = results["page"]
    tens = found["scores"][str(trial.LONG)]["tens"]
    said("handwriting", "at no less than … of the points of each block")
    assert len(tens) == 6 and min(tens) == tens[2] > 0.99
    said("handwriting", "A long line does cost something, though")
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
    said("handwriting", "The model of the page was trained for longer")
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
        "spends more than twenty points on each m and seven on each i",
    )
    assert min(spent["seeing", "mmmmmm"]) > 20
    assert all(6 <= n <= 8 for n in spent["seeing", "iiiiii"])
    said("handwriting", "Blindfolded it writes the same for both texts")
    assert spent["blind", "mmmmmm"] == spent["blind", "iiiiii"]
    said("handwriting", "three or four points a letter")
    assert sum(spent["blind", "iiiiii"]) < 30


@pytest.mark.nightly
def test_twenty_equal_letters_are_twenty(trained):
    """The last of the widget's tasks, in five styles."""
    said("handwriting", "Twenty letters a are no trouble for it")
    text = 20 * "a"
    for seed in range(5):
        torch.manual_seed(seed)
        points, _ = write(
            trained, synthetic_handwriting.signs(text), torch.rand(900, 4), 1.0
        )
        strokes = synthetic_handwriting.ink(points.numpy())
        assert len(strokes) == 20  # an a is one stroke
