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


@pytest.mark.parametrize("name", trial.NETWORKS)
def test_models_side_by_side_say_and_learn_what_each_does(name):
    """Code: models side by side."""
    torch.manual_seed(0)
    models = [trial.NETWORKS[name](SMALL).double() for _ in range(3)]
    for one in models:
        for part in one.parameters():
            part.data += torch.randn_like(part) / 10
    lines = synthetic_handwriting.lines(
        ["abc", "cab", "no ", "s o", "oxo", "aaa"], np.random.default_rng(0)
    )
    points, text = lines.points.double(), lines.text.double()
    raw, phi = trial.abreast(models)(points, text)
    raw.sum().backward()
    for i, one in enumerate(models):
        mine = slice(2 * i, 2 * i + 2)
        theirs = [part.grad.clone() for part in one.parameters()]
        one.zero_grad()
        alone, own = one(points[mine], text[mine])
        torch.testing.assert_close(raw[mine], alone)
        torch.testing.assert_close(phi[mine], own)
        alone.sum().backward()
        for part, grad in zip(one.parameters(), theirs, strict=True):
            torch.testing.assert_close(part.grad, grad)


@pytest.mark.nightly
def test_side_by_side_each_has_its_own_lines_and_its_own_rate():
    """Code: the training of the trial."""
    stages, alone = [(3, (2, 2), 2)], []

    def fresh():
        torch.manual_seed(0)
        return Writer(SMALL)

    for rate in (1e-3, 4e-3):
        one = fresh()
        [curve] = trial.teach([one], stages, [0], [rate])
        alone.append((one, curve))
    both = [fresh(), fresh()]
    curves = trial.teach(both, stages, [0, 0], [1e-3, 4e-3])
    for (one, curve), mine, ours in zip(alone, both, curves, strict=True):
        assert ours == pytest.approx(curve, abs=1e-3)
        for a, b in zip(one.parameters(), mine.parameters(), strict=True):
            torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)
    two = [fresh(), fresh()]
    first, second = trial.teach(two, stages, [0, 1], [1e-3, 1e-3])
    assert first != second


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
    said("handwriting", "What it is handed are the annotations")
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
        models = [Writer(SMALL), Writer(SMALL)]
        folder.mkdir(exist_ok=True)
        rates = [1e-3, 2e-3]
        return trial.teach(models, stages, [0, 0], rates, folder), models

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
    for one, other in zip(mine, theirs, strict=True):
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(a, b)


# What the page says of the record.


@pytest.fixture(scope="module")
def record():
    return records.load("handwriting")


@pytest.fixture(scope="module")
def results(record):
    return record["results"]


@pytest.fixture(scope="module")
def machine():
    return weights.load("handwriting", Writer)[0].cpu()


def each(results, name, length):
    return results[name]["scores"][str(length)]["right"]["each"]


def test_the_record_is_of_the_present_settings(record):
    config = record["config"]
    assert config["updates"] == trial.UPDATES
    assert config["short"] == list(trial.SHORT)
    assert config["stages"] == [list(stage) for stage in trial.STAGES]
    said("handwriting", "Three seeds each")
    assert len(record["seeds"]) == trial.SEEDS


def test_the_window_keeps_the_place_and_the_content_look_less(results):
    said("handwriting", "The window does what we expected, and more")
    for length in trial.TESTS:
        window, content = (
            each(results, name, length) for name in ("window", "content")
        )
        assert min(window) > max(content)
        assert min(window) > results["rulers"][str(length)]["diagonal"]


def test_the_rulers_lose_it(results):
    said("handwriting", "falls, and so do the two rulers")
    for name in ("constant", "diagonal"):
        shares = [results["rulers"][str(n)][name] for n in trial.TESTS]
        assert shares == sorted(shares, reverse=True) and shares[-1] < 0.5
    for length in trial.TESTS:
        found = results["rulers"][str(length)]
        assert trial.baselines(length) == pytest.approx(found, abs=1e-6)


def test_the_machine_keeps_the_place_on_sixty_letters(results):
    found = results["machine"]
    tens = found["scores"][str(trial.LONG)]["tens"]
    said("handwriting", "So a long line does not tire it")
    assert len(tens) == 6 and min(tens) > 0.98  # no worse at its end


def test_all_stop_by_themselves_with_a_sign_of_the_end_or_without(results):
    said("handwriting", "Both stop by themselves, every time")
    said("handwriting", "The letter too many does not come back")
    for name in ("window", "no end"):
        found = results[name]["ends"]
        assert set(found["ended"]["each"]) == {1.0}
        assert abs(found["excess"]["mean"]) < 0.5  # letters


def test_the_content_look_is_behind_the_rulers_and_still_learning(results):
    said("handwriting", "even the finger that moves evenly and knows nothing")
    for length in trial.TESTS[1:]:
        constant = results["rulers"][str(length)]["constant"]
        assert max(each(results, "content", length)) < constant
    said("handwriting", "Its loss was still falling when the budget ended")
    for curve in results["content"]["curve"]:
        assert np.mean(curve[-3:]) < np.mean(curve[-8:-5])


def test_the_window_and_its_variants_keep_the_place(results):
    said("handwriting", "keeps the place as well as the one that may not")
    for length in (13, 30):
        usual, free = (
            np.mean(each(results, name, length))
            for name in ("window", "both ways")
        )
        assert 0.9 < usual < free + 0.01
    said("handwriting", "less in every seed than with it")
    for bare, signed in zip(
        each(results, "no end", 30), each(results, "window", 30), strict=True
    ):
        assert bare < signed


def test_its_weights_are_small_enough_for_a_page(results, machine):
    said("handwriting", "Ours has … weights and writes in this page")
    count = sum(part.numel() for part in machine.parameters())
    assert count == results["machine"]["weights"]
    assert 2 * count <= 300_000


@pytest.mark.nightly
def test_the_recorded_score_is_that_of_the_committed_weights(results, machine):
    said("handwriting", "On such lines its window is on the right letter for")
    found = trial.score(machine, "window", 6)
    assert found["right"] == pytest.approx(
        results["machine"]["scores"]["6"]["right"], abs=5e-3
    )


@pytest.mark.nightly
def test_an_m_takes_three_times_as_long_as_an_i_if_it_is_seen(machine):
    """The widget's task, and the exercise `place-or-content`."""

    class Blind(Writer):
        def slide(self, point, text, synthetic_handwriting):
            return super().slide(point, 0 * text, synthetic_handwriting)

    blind = Blind(machine.config)
    blind.load_state_dict(machine.state_dict())
    spent = {}
    for name, model in (("seeing", machine), ("blind", blind)):
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
def test_twenty_equal_letters_are_twenty(machine):
    """The last of the widget's tasks, in five hands."""
    said("handwriting", "Twenty letters a are no trouble for it")
    text = 20 * "a"
    for seed in range(5):
        torch.manual_seed(seed)
        points, _ = write(
            machine, synthetic_handwriting.signs(text), torch.rand(900, 4), 1.0
        )
        strokes = synthetic_handwriting.ink(points.numpy())
        assert len(strokes) == 20  # an a is one stroke
