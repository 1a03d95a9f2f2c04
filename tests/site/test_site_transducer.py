"""The lattice in the built page, drawn, summed and asked, by mouse and by keys.

What it should show comes from the weights that the page embeds, through torch
and the package's own models, never through the widget's script.
"""

import math

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator

from lookback.lab.corpus import Pair
from lookback.lab.decoding import force, greedy
from lookback.rnnsearch import RNNsearch, RNNsearchConfig
from lookback.transducer import NEVER, alignment_posterior, forward_sums
from lookback.vocabulary import END, START, Vocabulary
from lookback.widgets.lattice import build
from lookback.widgets.lib.rows import unpack
from stepping import act, live, numbers, problem, widgets

PAGE = "book/transducer"
KIND = "lattice"


class Truth:
    """One sentence of a state, computed by torch."""

    @torch.no_grad()
    def __init__(self, state: dict, text: str) -> None:
        source, target = map(Vocabulary, state["vocabularies"].values())
        model = build(state["models"]["cursors"])
        asked = torch.tensor([[*source.encode(text.split(" ")), END]])
        said = greedy(model, asked, 20)[0].tokens
        self.said = target.decode(said)
        written = torch.tensor([[*target.encode(self.said), END]])
        places = model.encode(asked)
        given = torch.cat([torch.tensor([[START]]), written[:, :-1]], dim=1)
        g, g_blank, _ = model.predict(given)
        total, step = model.joint(places, g, g_blank)
        write = model.word_scores(places, g, written) - total
        alpha = forward_sums(write, step, places.mask)
        ended = alpha[:, -1:] + write[:, -1:]
        self.alpha = torch.cat([alpha, ended], dim=1)[0]
        self.write, self.step = write[0], step[0]
        self.total = float(ended.logsumexp(-1))
        self.posterior = alignment_posterior(write, step, places.mask)[0]
        search = searching(state["models"]["rnnsearch"])
        pair = Pair(text.split(" "), self.said)
        said = greedy(search, asked, 20)[0].tokens
        self.other = target.decode(said)
        self.search = force(search, [pair], source, target)[0]
        self.source = [*text.split(" "), "<end>"]
        self.U, self.T = self.write.shape
        self.paths = math.comb(self.T - 1 + self.U, self.U)

    def log(self, moves: str) -> float:
        """log p of a path."""
        t = u = 0
        log = 0.0
        for move in moves:
            log += float((self.step if move == "s" else self.write)[u, t])
            t, u = (t + 1, u) if move == "s" else (t, u + 1)
        return log

    def most(self) -> float:
        """log p of the best path: as `forward_sums`, with the larger."""
        best = torch.full((self.T,), NEVER, dtype=torch.float64)
        best[0] = 0.0
        for u in range(self.U):
            for t in range(1, self.T):
                best[t] = max(best[t], best[t - 1] + self.step[u, t - 1])
            best = best + self.write[u]
        return float(best.max())


def searching(packed: dict) -> RNNsearch:
    """The page's RNNsearch."""
    weights = {k: torch.tensor(unpack(one)) for k, one in packed.items()}
    words = [
        len(weights[f"{side}_embedding.weight"])
        for side in ("source", "target")
    ]
    config = RNNsearchConfig(
        *words,
        embed=weights["source_embedding.weight"].shape[1],
        hidden=weights["decoder.weight_hh"].shape[1],
        align=len(weights["attention.v"]),
        maxout=weights["readout.output.weight"].shape[1],
    )
    model = RNNsearch(config).double().eval()
    model.load_state_dict(weights)
    return model


def check_said(root: Locator, truth: Truth) -> None:
    """Both translations."""
    said = root.locator(".said").all_inner_texts()
    assert said == [
        f"The transducer writes: {' '.join(truth.said)}",
        f"RNNsearch writes: {' '.join(truth.other)}",
    ]


def drawn(root: Locator) -> str:
    """The moves of the drawn path, from the table."""
    cells = root.locator("tbody tr td:nth-child(3)").all_text_contents()
    return "".join("s" if cell == "blank" else "w" for cell in cells)


def check_path(root: Locator, truth: Truth, moves: str | None = None) -> str:
    """The figures are those of the drawn path."""
    found = drawn(root)
    assert moves is None or found == moves
    log = truth.log(found)
    assert np.allclose(numbers(root, "log"), [log], atol=1e-6)
    assert np.allclose(numbers(root, "probability"), [math.exp(log)])
    assert numbers(root, "paths") == [truth.paths]
    if found.count("w") == truth.U:
        share = math.exp(log - truth.total)
        assert np.allclose(numbers(root, "share"), [share], atol=1e-9)
        assert f"the sum of all {truth.paths:,}." in live(root)
    else:
        assert f"{found.count('w')} of {truth.U} words" in live(root)
    return found


def check_sum(root: Locator, truth: Truth, diagonal: int) -> None:
    """The diagonal's numbers, and what has ended."""
    alpha = [
        float(truth.alpha[u, diagonal - u])
        for u in range(truth.U + 1)
        if 0 <= diagonal - u < truth.T
    ]
    shown = numbers(root, "alpha")
    assert np.allclose(shown, alpha, atol=1e-6)
    ended = max(0, diagonal - truth.U + 1)
    total = truth.alpha[-1, :ended].exp().sum()
    assert np.allclose(numbers(root, "probability"), [total], atol=1e-9)
    ways = math.comb(ended - 1 + truth.U, truth.U) if ended else 0
    assert numbers(root, "paths") == [ways]


def check_where(root: Locator, truth: Truth, step: int) -> None:
    """The word's place, as the transducer and as RNNsearch have it."""
    word = [*truth.said, "<end>"][step]
    said = live(root)
    assert f"Word {step + 1}, “{word}”" in said
    for row, number in (
        (truth.posterior[step], "probability"),
        (truth.search[step], "weight"),
    ):
        assert f"“{truth.source[int(row.argmax())]}”" in said
        assert f"with {number} {float(row.max()):.2f}" in said


def node_at(root: Locator, truth: Truth, t: int, u: int) -> tuple:
    """Where on the page a node is."""
    box = root.locator(".field svg").bounding_box()
    assert box
    x = box["x"] + box["width"] * (t + 0.5) / truth.T
    y = box["y"] + box["height"] * (truth.U - u + 0.5) / (truth.U + 1)
    return x, y


@pytest.fixture
def opened(at_start):
    return at_start(PAGE)


@pytest.mark.nightly
def test_lattice_draws_a_path_by_mouse(opened):
    mouse = opened.page.mouse
    for root, state in widgets(opened.page, KIND):
        truth = Truth(state, state["text"])
        check_said(root, truth)
        check_path(root, truth, "")
        act(root, "emit").click()
        act(root, "blank").click()
        check_path(root, truth, "ws")
        act(root, "undo").click()
        check_path(root, truth, "w")
        act(root, "best").click()
        best = check_path(root, truth)
        assert math.isclose(truth.log(best), truth.most(), rel_tol=1e-6)
        root.locator(".board").press("Home")
        root.locator(".field svg").scroll_into_view_if_needed()
        mouse.move(*node_at(root, truth, 0, 0))
        mouse.down()
        mouse.move(*node_at(root, truth, 2, 0), steps=4)
        mouse.move(*node_at(root, truth, 2, truth.U), steps=40)
        check_path(root, truth, "ss" + "w" * truth.U)
        mouse.move(*node_at(root, truth, 1, 0), steps=5)
        check_path(root, truth, "s")  # back along itself
        mouse.up()
        mouse.move(*node_at(root, truth, 3, 3))
        check_path(root, truth, "s")
        act(root, "table").click()
        assert root.locator("table").is_visible()
    assert opened.troubles == []


@pytest.mark.nightly
def test_lattice_sums_by_mouse(opened):
    root, state = widgets(opened.page, KIND)[0]
    truth = Truth(state, state["text"])
    act(root, "sum").click()
    last = truth.T - 1 + truth.U
    check_sum(root, truth, 0)
    for diagonal in range(1, last + 1):
        act(root, "next").click()
        check_sum(root, truth, diagonal)
    sums = numbers(root, "probability")
    assert np.allclose(sums, [math.exp(truth.total)])
    assert f"All {truth.paths:,} paths are summed" in live(root)
    assert f"with {(truth.T - 1) * truth.U} additions" in live(root)
    root.locator(".field svg").scroll_into_view_if_needed()
    opened.page.mouse.click(*node_at(root, truth, 1, 2))
    check_sum(root, truth, 3)
    assert opened.troubles == []


@pytest.mark.nightly
def test_lattice_is_asked_where_it_was_by_mouse(opened):
    root, state = widgets(opened.page, KIND)[0]
    truth = Truth(state, state["text"])
    act(root, "where").click()
    check_where(root, truth, 0)
    for step in range(1, truth.U):
        act(root, "next").click()
        check_where(root, truth, step)
    act(root, "table").click()
    rows = root.locator("tbody tr")
    assert rows.count() == 2 * truth.U
    act(root, "show-posterior").click()
    act(root, "show-best").click()
    assert rows.count() == 2 * truth.U
    cells = rows.first.locator("td").all_text_contents()
    assert cells == [f"{float(x):.2f}" for x in truth.search[0]]
    act(root, "table").click()
    assert root.locator("polyline").count() == 1
    assert root.locator("rect.posterior").count() == 0
    assert opened.troubles == []


def test_lattice_by_keyboard(opened):
    keyboard = opened.page.keyboard
    root, state = widgets(opened.page, KIND)[0]
    truth = Truth(state, state["text"])
    root.locator(".board").focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp"):
        keyboard.press(key)
    check_path(root, truth, "wsw")
    keyboard.press("End")
    best = check_path(root, truth)
    keyboard.press("ArrowUp")
    check_path(root, truth, best)  # it has ended
    keyboard.press("Home")
    for _ in range(truth.T + 2):
        keyboard.press("ArrowRight")
    check_path(root, truth, "s" * (truth.T - 1))
    assert "the source is over" in live(root)
    act(root, "sum").focus()
    keyboard.press("Enter")
    check_sum(root, truth, 0)
    keyboard.press("ArrowRight")
    check_sum(root, truth, 1)
    keyboard.press("End")
    check_sum(root, truth, truth.T - 1 + truth.U)
    act(root, "where").focus()
    keyboard.press("Enter")
    keyboard.press("ArrowUp")
    check_where(root, truth, 1)
    keyboard.press("ArrowDown")
    check_where(root, truth, 0)
    assert opened.troubles == []


@pytest.mark.nightly
def test_lattice_takes_a_sentence_of_the_reader_s_own(opened):
    keyboard = opened.page.keyboard
    root, state = widgets(opened.page, KIND)[0]
    act(root, "text").fill("The nurses buy two zebras")
    keyboard.press("Enter")
    assert "words below, and not “zebras”. " in problem(root)
    assert f"“{state['text']}” stays" in problem(root)
    act(root, "text").fill("The nurse’s dog sleeps")
    keyboard.press("Enter")
    own = "the nurse 's dog sleeps ."
    truth = Truth(state, own)
    assert problem(root) == ""
    assert act(root, "text").input_value() == own
    check_said(root, truth)
    act(root, "best").click()
    check_path(root, truth)
    for text in state["sentences"]:
        act(root, "sentence").select_option(text)
        truth = Truth(state, text)
        check_said(root, truth)
        check_path(root, truth, "")
        act(root, "best").click()
        log = truth.log(check_path(root, truth))
        assert math.isclose(log, truth.most(), rel_tol=1e-6)
    assert opened.troubles == []


@pytest.mark.nightly
def test_lattice_plays_the_sum_to_the_end(opened):
    root, state = widgets(opened.page, KIND)[0]
    truth = Truth(state, state["text"])
    act(root, "sum").click()
    act(root, "last").click()
    act(root, "previous").click()
    act(root, "play").click()
    act(root, "play").filter(has_text="Play").wait_for()
    check_sum(root, truth, truth.T - 1 + truth.U)
