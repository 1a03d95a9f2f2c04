"""A model trained where it is read."""

import inspect
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from lookback import rnnsearch
from lookback.experiments import alignment, train_small
from lookback.lab import training
from lookback.rnnsearch import RNNsearch

pytestmark = pytest.mark.nightly


@pytest.fixture
def shown(monkeypatch):
    """The figures that are shown, as their lines by label."""
    found = []

    def show():
        lines = plt.gca().get_lines()
        found.append({each.get_label(): each.get_xydata() for each in lines})
        plt.close()

    monkeypatch.setattr(plt, "show", show)
    return found


def test_the_pages_say_how_much_it_reads():
    """4,000 sentences in five rounds, and 200 others."""
    given = inspect.signature(train_small.small).parameters
    sizes = given["count"].default, given["epochs"].default
    assert (*sizes, alignment.HELD_OUT) == (4000, 5, 200)


def test_small_trains_and_its_curve_is_drawn(tmp_path, shown, capsys):
    folder = tmp_path / "small"
    model, source, target = train_small.small("rnnsearch", folder, 2, 32)
    assert isinstance(model, RNNsearch) and len(source) != len(target)
    assert f"checkpoints: {folder}" in capsys.readouterr().out
    train_small.curves(folder, record="rnnsearch")
    (lines,) = shown
    assert [*lines] == ["the book's record", str(folder)]
    assert [*lines[str(folder)][:, 0]] == [1, 2]
    assert len(lines["the book's record"]) == 10


def test_interrupted_it_says_how_to_go_on_and_goes_on(tmp_path, monkeypatch):
    step, left = training.train_step, SimpleNamespace(steps=3)

    def interrupted(*given):
        left.steps -= 1
        if not left.steps:
            raise KeyboardInterrupt
        return step(*given)

    monkeypatch.setattr(training, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt, match="run the cell again.*trial"):
        train_small.small("rnnsearch", tmp_path / "trial", 1, 64)
    train_small.small("rnnsearch", tmp_path / "trial", 1, 64)
    assert len(train_small.progress(tmp_path / "trial")) == 1


def test_where_nothing_was_trained_there_is_no_curve(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing was trained there"):
        train_small.curves(tmp_path / "nowhere")


def even(self, query, keys):
    """`scores` as the page of RNNsearch has it edited."""
    return 0 * keys.sum(-1)


@pytest.mark.weekly
def test_an_even_look_keeps_more_than_half_and_the_fixed_vector_less(
    tmp_path, monkeypatch
):
    """What the page of RNNsearch says that one should have seen."""

    def last(name, folder):
        train_small.small(name, tmp_path / folder)
        return train_small.progress(tmp_path / folder)[-1]["score"]

    whole, fixed = last("rnnsearch", "whole"), last("bottleneck", "fixed")
    monkeypatch.setattr(rnnsearch.AdditiveAttention, "scores", even)
    half = last("rnnsearch", "even")
    assert whole > half > whole / 2 > fixed
