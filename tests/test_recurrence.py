"""The recurrent cells against torch's own, with the same weights.

And the chapter's drawings: every number in them is computed anew.
"""

import math
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from saying import said
from torch import nn

from lookback.experiments import latch
from lookback.recurrence import GRUCell, LSTMCell, RNNCell, carry, read
from lookback.widgets import Relay

BOOK = Path(__file__).parents[1] / "book"

EMBED, HIDDEN, BATCH = 5, 7, 3


def twins(ours_kind, theirs_kind):
    """Our cell and torch's, with the same random weights."""
    torch.manual_seed(0)
    ours, theirs = ours_kind(EMBED, HIDDEN), theirs_kind(EMBED, HIDDEN)
    copy_weights(ours, theirs, "")
    return ours, theirs


@torch.no_grad()
def copy_weights(ours, theirs, suffix):
    ours.W.weight.copy_(getattr(theirs, f"weight_ih{suffix}"))
    ours.W.bias.copy_(getattr(theirs, f"bias_ih{suffix}"))
    ours.U.weight.copy_(getattr(theirs, f"weight_hh{suffix}"))
    ours.U.bias.copy_(getattr(theirs, f"bias_hh{suffix}"))


@pytest.mark.parametrize(
    ("ours_kind", "theirs_kind"), [(RNNCell, nn.RNNCell), (GRUCell, nn.GRUCell)]
)
def test_cell_equals_torch(ours_kind, theirs_kind):
    ours, theirs = twins(ours_kind, theirs_kind)
    x, h = torch.randn(BATCH, EMBED), torch.randn(BATCH, HIDDEN)
    torch.testing.assert_close(ours(x, h), theirs(x, h), rtol=0, atol=1e-6)


def test_lstm_cell_equals_torch():
    ours, theirs = twins(LSTMCell, nn.LSTMCell)
    x = torch.randn(BATCH, EMBED)
    h, c = torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    for mine, true in zip(ours(x, h, c), theirs(x, (h, c)), strict=True):
        torch.testing.assert_close(mine, true, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("ours_kind", "theirs_kind"), [(RNNCell, nn.RNN), (GRUCell, nn.GRU)]
)
def test_read_equals_torch(ours_kind, theirs_kind):
    torch.manual_seed(1)
    ours = ours_kind(EMBED, HIDDEN)
    theirs = theirs_kind(EMBED, HIDDEN, batch_first=True)
    copy_weights(ours, theirs, "_l0")
    words = torch.randn(BATCH, 9, EMBED)
    torch.testing.assert_close(
        read(ours, words), theirs(words)[0], rtol=0, atol=1e-6
    )


def test_lstm_cell_step_by_step_equals_torch():
    torch.manual_seed(2)
    ours = LSTMCell(EMBED, HIDDEN)
    theirs = nn.LSTM(EMBED, HIDDEN, batch_first=True)
    copy_weights(ours, theirs, "_l0")
    words = torch.randn(BATCH, 9, EMBED)
    h = c = torch.zeros(BATCH, HIDDEN)
    for x in words.unbind(1):
        h, c = ours(x, h, c)
    outputs, (last, memory) = theirs(words)
    torch.testing.assert_close(h, outputs[:, -1], rtol=0, atol=1e-6)
    torch.testing.assert_close(c, memory[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("length", [1, 2, 9])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_carry_is_autograds_jacobian(length, scale):
    torch.manual_seed(3)
    cell = RNNCell(EMBED, HIDDEN).double()
    with torch.no_grad():
        cell.U.weight.mul_(scale)
    words = torch.randn(1, length, EMBED, dtype=torch.float64)
    with torch.no_grad():
        states = read(cell, words)[0]
        found = carry(cell.U.weight, states)
    assert found.shape == (length, HIDDEN, HIDDEN)
    for t in range(length):

        def rest(h, t=t):
            for x in words[0, t + 1 :]:
                h = cell(x[None], h[None])[0]
            return h

        truth = torch.autograd.functional.jacobian(rest, states[t])
        torch.testing.assert_close(found[t], truth)


def test_carry_of_one_number_is_a_product_of_numbers():
    states = torch.tensor([[0.5], [0.6], [-0.2]], dtype=torch.float64)
    found = carry(torch.tensor([[2.0]], dtype=torch.float64), states)
    by_hand = [2 * (1 - 0.36) * 2 * (1 - 0.04), 2 * (1 - 0.04), 1.0]
    assert found.flatten().tolist() == pytest.approx(by_hand)


def test_without_a_forget_gate_the_memory_passes_whole():
    cell = LSTMCell(EMBED, HIDDEN).double()
    with torch.no_grad():
        for part in (cell.W.weight, cell.U.weight, cell.U.bias):
            part[HIDDEN : 2 * HIDDEN] = 0  # f = σ(b_f)
        cell.W.bias[HIDDEN : 2 * HIDDEN] = 100.0  # f = 1
    x, h = torch.randn(1, EMBED).double(), torch.randn(1, HIDDEN).double()

    def memory(c):
        return cell(x, h, c[None])[1][0]

    c = torch.randn(HIDDEN, dtype=torch.float64)
    found = torch.autograd.functional.jacobian(memory, c)
    assert torch.equal(found, torch.eye(HIDDEN, dtype=torch.float64))


def test_update_gate_at_1_keeps_the_state():
    cell = GRUCell(EMBED, HIDDEN)
    with torch.no_grad():
        cell.W.bias[HIDDEN : 2 * HIDDEN] = 100.0  # z = 1
    h = torch.randn(BATCH, HIDDEN)
    torch.testing.assert_close(cell(torch.randn(BATCH, EMBED), h), h)


def test_reset_gate_at_0_forgets_the_state_in_the_candidate():
    cell = GRUCell(EMBED, HIDDEN)
    with torch.no_grad():
        cell.W.bias[:HIDDEN] = -100.0  # r = 0
        cell.W.bias[HIDDEN : 2 * HIDDEN] = -100.0  # z = 0
    x = torch.randn(BATCH, EMBED)
    once, again = (cell(x, torch.randn(BATCH, HIDDEN)) for _ in range(2))
    torch.testing.assert_close(once, again)


@pytest.mark.parametrize("kind", [RNNCell, GRUCell, LSTMCell])
def test_gradients_reach_every_weight(kind):
    cell = kind(EMBED, HIDDEN)
    x, h = torch.randn(BATCH, EMBED), torch.randn(BATCH, HIDDEN)
    out = cell(x, h, h)[0] if kind is LSTMCell else cell(x, h)
    out.sum().backward()
    for name, weight in cell.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name


def drawn(name: str) -> dict[str, str]:
    """The numbers of a drawing, as they are written there, by their names."""
    path = BOOK / "_static/drawings" / f"{name}.svg"
    return {
        node.get("data-number"): node.text.replace("−", "-")
        for node in ElementTree.parse(path).iter()
        if node.get("data-number")
    }


def the_same(written: dict[str, str], found: dict[str, float]) -> None:
    """Each number of a drawing is what was found, to its last digit."""
    assert set(written) == set(found)
    for name, text in written.items():
        digits = len(text.split(".")[1])
        assert f"{found[name]:.{digits}f}" == text, name


def page() -> str:
    return (BOOK / "recurrence.md").read_text(encoding="utf-8")


def cells_of_the_page() -> dict:
    """What the page's cell makes: both cells, x, h, c and what follows."""
    (code,) = (
        cell
        for cell in re.findall(r"```{code-cell}.*?\n(.*?)```", page(), re.S)
        if "def with_numbers" in cell
    )
    space = {"torch": torch}
    exec(code, space)
    return space


@torch.no_grad()
def test_the_numbers_of_the_lstms_drawing_are_the_modules():
    made = cells_of_the_page()
    lstm, x, h, c = (made[name] for name in ("lstm", "x", "h", "c"))
    i, f, g, o = (lstm.W(x) + lstm.U(h)).chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    after, memory = lstm(x, h, c)
    numbers = {
        "x": x,
        "h_before": h,
        "c_before": c,
        **{"i": i, "f": f, "g": g, "o": o},
        **{"kept": f * c, "added": i * g},
        "c_after": memory,
        "h_after": after,
    }
    the_same(
        drawn("recurrence_lstm"), {k: float(v) for k, v in numbers.items()}
    )


@torch.no_grad()
def test_the_numbers_of_the_grus_drawing_are_the_modules():
    made = cells_of_the_page()
    gru, x, h = (made[name] for name in ("gru", "x", "h"))
    (r, z, own), (_, _, past) = (
        (gru.W(x) + gru.U(h)).chunk(3, dim=-1),
        gru.U(h).chunk(3, dim=-1),
    )
    r, z = r.sigmoid(), z.sigmoid()
    n = (own - past + r * past).tanh()
    numbers = {
        "x": x,
        **{"h_before": h, "h_in": h},
        **{"r": r, "z": z, "n": n, "one_minus_z": 1 - z},
        **{"kept": z * h, "added": (1 - z) * n},
        "h_after": gru(x, h),
    }
    the_same(drawn("recurrence_gru"), {k: float(v) for k, v in numbers.items()})


def test_the_numbers_of_the_relays_drawing_are_the_widgets():
    relay = Relay(w=2.0, pulse=1.0)
    states = relay.states()[:5]
    numbers = {f"h_{t}": states[t] for t in (1, 2, 3, 4)}
    numbers |= {f"factor_{t}": 2 * (1 - states[t] ** 2) for t in (2, 3, 4)}
    numbers["product"] = relay.gradient(4)[0]
    the_same(drawn("recurrence"), numbers)


def test_the_attractors_drawing_is_the_widgets_step():
    fixed, w = 0.5, 2.0
    for _ in range(100):
        fixed = math.tanh(w * fixed)
    slope = w * (1 - fixed**2)
    numbers = {"fixed": fixed, "mirror": -fixed, "slope": slope, "slope_0": w}
    the_same(drawn("recurrence_attractor"), numbers)
    assert fixed == pytest.approx(Relay(w=w, pulse=1.0).states()[-1], abs=1e-9)
    assert 1 / 6.5 < slope < 1 / 5.5
    said(
        "recurrence",
        "at 0 it is 2: a small push doubles",
        "at 0.96 it is 0.17: a push shrinks to a sixth",
    )


def test_the_widgets_task_has_one_answer_each_and_none_to_both():
    """A state above 0.5, a gradient above a hundredth: by the sliders' steps
    and between them."""

    one = Relay()

    def ends(w, pulse):
        one.w, one.pulse = w, pulse
        return one.states()[-1], one.gradient(20)[0]

    dial = {w / 10: ends(w / 10, 1.0) for w in range(31)}
    assert [w for w, (h, _) in dial.items() if h > 0.5] == [
        w / 10 for w in range(11, 31)
    ]
    assert [w for w, (_, g) in dial.items() if g > 0.01] == [0.9, 1.0]
    for w in range(301):
        h, g = ends(w / 100, 1.0)
        assert not (h > 0.5 and g > 0.01), w
    assert f"{dial[0.9][1]:.3f} {dial[1.0][1]:.3f}" == "0.031 0.038"
    assert f"{dial[1.1][0]:.2f} {dial[1.1][1]:.3f}" == "0.51 0.007"
    both = [w / 10 for w in range(31) if min(h_g(ends(w / 10, 0.1))) > 1]
    assert both == [1.2, 1.3]
    h, g = ends(1.2, 0.1)
    assert (h, g) == (
        pytest.approx(0.647, abs=5e-4),
        pytest.approx(0.235, abs=5e-4),
    )
    states = Relay(w=1.2, pulse=0.1).states()
    assert 1.2 * (1 - states[2] ** 2) > 1 > 1.2 * (1 - states[-1] ** 2)
    fixed = 0.5
    for _ in range(200):
        fixed = math.tanh(1.2 * fixed)
    assert f"{fixed:.2f} {1.2 * (1 - fixed**2):.2f}" == "0.66 0.68"
    said(
        "recurrence",
        "every $w$ from 1.1 up keeps the state above 0.5",
        "No $w$ does both: at 1.1 the state is 0.51, but the gradient is down "
        "to 0.007",
        "With a pulse of 0.1, $w = 1.2$ and $w = 1.3$ each do both. At 1.2 the "
        "state grows to 0.647, and a gradient of 0.235 comes back",
        "Once the state has arrived, at 0.66, each further step multiplies the "
        "gradient by 0.68",
    )


def test_where_a_logistic_network_settles():
    """With w = 2 its factor is larger than that of tanh at its attractor."""
    logistic = tanh = 0.5
    for _ in range(200):
        logistic = 1 / (1 + math.exp(-2 * logistic))
        tanh = math.tanh(2 * tanh)
    assert f"{logistic:.2f} {2 * logistic * (1 - logistic):.2f}" == "0.84 0.26"
    assert f"{tanh:.2f} {2 * (1 - tanh**2):.2f}" == "0.96 0.17"
    said(
        "recurrence",
        "settles at 0.84, where its factor is 0.26; the tanh network settles "
        "at 0.96, where its factor is 0.17",
    )


def h_g(ends):
    """Both demands of the task, as parts of what is asked."""
    return ends[0] / 0.5, ends[1] / 0.01


def test_the_recurrent_connections_carry_ten_times_the_cell_state_alone():
    """The page's own function, without a bias and with one of 100."""
    (code,) = (
        cell
        for cell in re.findall(r"```{code-cell}.*?\n(.*?)```", page(), re.S)
        if "def kept_gradient" in cell
    )
    space = {"torch": torch, "latch": latch, "LSTMCell": LSTMCell}
    exec(code, space)
    alone, whole = space["kept_gradient"](0)
    assert 9 < whole / alone < 11 and whole < 1e-3
    assert space["kept_gradient"](100)[0] == 1
    said(
        "recurrence",
        "all connections together carry ten times as much as the cell state "
        "alone: less than a thousandth is left",
        "the cell state alone keeps a size of exactly 1",
    )


@pytest.mark.parametrize(
    "name",
    [
        "recurrence",
        "recurrence_attractor",
        "recurrence_lstm",
        "recurrence_gru",
    ],
)
def test_who_listens_to_a_drawing_hears_its_numbers(name):
    alt = re.search(rf"{{drawing}} {name}\.svg\n:alt: (.*)", page())[1]
    heard = set(re.findall(r"−?\d\.\d+", alt.replace("-", "−")))
    assert heard == {text.replace("-", "−") for text in drawn(name).values()}


def test_the_sums_beside_the_drawings_are_theirs():
    lstm, gru = drawn("recurrence_lstm"), drawn("recurrence_gru")
    cell = "c_t = {f} \\cdot {c_before} + {i} \\cdot ({g}) = {c_after}"
    out = "h_t = {o} \\cdot \\tanh({c_after}) = {h_after}"
    mixed = "h_t = {one_minus_z} \\cdot ({n}) + {z} \\cdot {h_in} = {h_after}"
    for text, numbers in ((cell, lstm), (out, lstm), (mixed, gru)):
        assert text.format(**numbers) in page()
    factors = [drawn("recurrence")[f"factor_{t}"] for t in (2, 3, 4)]
    assert "these are {}, {} and {}".format(*factors) in page()


def test_the_example_of_the_loss():
    p = torch.tensor([1.0, 0.2]).softmax(0)
    said = (f"{p[0]:.2f}$", f"{-p[0].log():.2f}$", f"{-p[1].log():.2f}$")
    assert said == ("0.69$", "0.37$", "1.17$")
    assert all(f"= {each}" in page() for each in said)
