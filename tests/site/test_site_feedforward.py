"""The chapter on the feed-forward layer: its widget, by mouse and keyboard."""

import pytest
from playwright.sync_api import Locator

from lookback.budget import Sizes, count, touched
from stepping import act, live, numbers, problem, widgets

PAGE = "book/feedforward"


@pytest.fixture
def one(at_start):
    return at_start(PAGE)


def budget(one) -> tuple[Locator, dict]:
    return widgets(one.page, "parameter-budget")[0]


def check_budget(root: Locator, sizes: dict) -> None:
    """Counts, shares and sums are those of the formula in Python."""
    parts = list(count(Sizes(**sizes)).values())
    assert numbers(root, "count") == parts
    assert numbers(root, "total") == [sum(parts)]
    assert numbers(root, "touched") == [touched(Sizes(**sizes))]
    shares = [part / sum(parts) for part in parts]
    assert numbers(root, "share") == pytest.approx(shares, abs=1e-12)
    text = [f"{part:,}" for part in parts]
    assert root.locator('[data-role="count"]').all_inner_texts() == text
    assert f"{100 * shares[2]:.1f}%" in live(root)


@pytest.mark.nightly
def test_every_model_by_mouse(one):
    root, state = budget(one)
    for index, model in enumerate(state["models"]):
        act(root, "model").nth(index).click()
        check_budget(root, model["sizes"])
        assert live(root).startswith(model["name"])
        assert model["reported"] in live(root)
    assert one.troubles == []


def test_models_by_arrow_keys(one):
    root, state = budget(one)
    last = state["models"][-1]["sizes"]
    act(root, "model").first.focus()
    one.page.keyboard.press("End")
    check_budget(root, last)
    one.page.keyboard.press("ArrowLeft")
    check_budget(root, state["models"][-2]["sizes"])
    one.page.keyboard.press("Home")
    check_budget(root, state["models"][0]["sizes"])
    assert one.troubles == []


@pytest.mark.nightly
def test_sizes_by_keyboard(one):
    root, state = budget(one)
    sizes = dict(state["sizes"])
    typed = {"d_ff": "4,096", "vocab": "50 257", "experts": "16", "active": "2"}
    act(root, "mixture").click()
    for name, text in typed.items():
        act(root, name).focus()
        one.page.keyboard.press("ControlOrMeta+a")
        one.page.keyboard.type(text)
        one.page.keyboard.press("Tab")
        sizes[name] = int(text.replace(",", "").replace(" ", ""))
        check_budget(root, sizes)
        assert problem(root) == ""
    act(root, "gated").focus()
    one.page.keyboard.press("Space")
    sizes["gated"] = True
    check_budget(root, sizes)
    assert "d_ff 4,096 in place of 2,048" in live(root)
    act(root, "reset").click()
    check_budget(root, state["sizes"])
    assert one.troubles == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("heads", "7", "7 heads cannot share d_model 512"),
        ("d_ff", "many", "“many”"),
        ("d_model", "0", "at least 1"),
        ("vocab", "-5", "“-5”"),
        ("active", "3", "3 of 0 experts"),
        ("d_ff", "9007199254740991", "2^53"),
    ],
)
def test_what_does_not_fit_is_named_and_the_old_kept(one, name, text, says):
    root, state = budget(one)
    act(root, "mixture").click()
    act(root, name).fill(text)
    act(root, name).press("Tab")
    assert says in problem(root)
    check_budget(root, state["sizes"])
    kept = f"{state['sizes'][name]:,}"
    assert act(root, name).input_value() == kept


@pytest.mark.nightly
def test_the_table_has_every_part_with_its_formula(one):
    root, state = budget(one)
    act(root, "table").click()
    rows = root.locator("tbody tr").all_inner_texts()
    assert len(rows) == 7
    assert "12 × 4 × 512²" not in rows[1] and "18 × 4 × 512²" in rows[1]
    assert "2 × 512 × (12 × 2048)" in rows[2]
    total = sum(count(Sizes(**state["sizes"])).values())
    assert f"{total:,}" in rows[5]


@pytest.mark.nightly
@pytest.mark.parametrize("width", [320, 375])
def test_it_fits_a_phone(visit, width):
    one = visit(PAGE, width=width, dark=True)
    root, _ = budget(one)
    room = "(node) => node.scrollWidth - node.clientWidth"
    assert root.evaluate(room) <= 0
    act(root, "model").last.click()  # twelve digits
    assert root.evaluate(room) <= 0
    small = root.locator("button, input[type=text], label.tick").evaluate_all(
        "(all) => all.filter((one) =>"
        " one.getBoundingClientRect().height < 43.5).length"
    )
    assert small == 0


@pytest.mark.nightly
def test_it_lives_when_opened_from_disk(visit):
    one = visit(PAGE, from_disk=True)
    root, state = budget(one)
    act(root, "model").last.click()
    check_budget(root, state["models"][-1]["sizes"])
    assert one.troubles == []
