"""The two models of the chapter `families` in the built page.

What they should say comes from torch, on the same bytes.
"""

from functools import lru_cache

import pytest
import torch
from playwright.sync_api import Locator, expect

from lookback.families import MASK, SILENT, attention_mask, sampling_probs
from lookback.lab import int8
from lookback.vocabulary import END, START
from lookback.widgets.lib.mulberry import uniform
from lookback.widgets.machines import load
from stepping import act, live, problem, widgets

PAGE = "book/families"


@lru_cache
def machine(name: str):
    model, words = load(name)
    return int8.rounded(model.double()), words


@torch.no_grad()
def torchs(name: str, tokens: list[int], place: int) -> torch.Tensor:
    """The probabilities of all words at a place, by torch."""
    body, _ = machine(name)
    row = torch.tensor([tokens])
    family = {"gpt": "GPT", "bert": "BERT"}[name]
    logits = body(row, attention_mask(row, family))[0, place]
    logits[list(SILENT)] = -torch.inf
    if name == "bert":
        logits[END] = -torch.inf
    return logits.softmax(0)


def settled(root: Locator) -> Locator:
    """The widget, once its worker has answered."""
    expect(root.locator(".answer")).to_be_visible()
    expect(root.locator('[data-action="word"]').first).to_be_visible()
    expect(root).not_to_have_attribute("aria-busy", "true")
    return root


def listed(root: Locator, where: str) -> list[tuple[int, float]]:
    """The words on a list: their numbers and probabilities."""
    found = root.locator(f'{where} [data-action="word"]').evaluate_all(
        "(all) => all.map((x) => [+x.dataset.id, +x.dataset.value])"
    )
    return [(int(id), p) for id, p in found]


def is_torchs(found: list[tuple[int, float]], p: torch.Tensor) -> None:
    """The same words, first the likeliest, and their probabilities."""
    assert [id for id, _ in found] == p.topk(len(found)).indices.tolist()
    for id, mine in found:
        assert mine == pytest.approx(float(p[id]), abs=1e-4)


@pytest.fixture
def gpt(at_start) -> Locator:
    one = at_start(PAGE)
    ((root, _),) = widgets(one.page, "write-on")
    act(root, "begin").press("Enter")
    yield settled(root)
    assert one.troubles == []


@pytest.fixture
def bert(at_start) -> Locator:
    one = at_start(PAGE)
    ((root, _),) = widgets(one.page, "fill-in")
    act(root, "begin").press("Enter")
    yield settled(root)
    assert one.troubles == []


@pytest.mark.nightly
def test_nothing_is_fetched_before_it_is_wanted(visit):
    one = visit(PAGE, kept=False)
    one.walk_down()
    assert one.fetched("machines/") == []
    ((root, _),) = widgets(one.page, "write-on")
    act(root, "begin").click()
    settled(root)
    fetched = one.fetched("machines/")
    assert len(fetched) == 1 and "gpt" in fetched[0]
    assert one.troubles == []


@pytest.mark.nightly
def test_the_next_words_are_torchs(gpt):
    _, words = machine("gpt")
    tokens = [START, *words.encode("a man in a red shirt".split())]
    is_torchs(listed(gpt, ".next"), torchs("gpt", tokens, -1))
    act(gpt, "text").fill("two dogs")
    act(gpt, "text").press("Enter")
    expect(gpt.locator('[data-role="live"]')).to_contain_text(
        "After “two dogs”"
    )
    tokens = [START, *words.encode(["two", "dogs"])]
    is_torchs(listed(settled(gpt), ".next"), torchs("gpt", tokens, -1))


@pytest.mark.nightly
def test_the_dials_leave_what_the_chapter_s_function_leaves(gpt):
    _, words = machine("gpt")
    tokens = [START, *words.encode("a man in a red shirt".split())]
    logits = torchs("gpt", tokens, -1).log()
    act(gpt, "temperature").fill("0.5")
    act(gpt, "k").select_option("20")
    act(gpt, "p").fill("0.8")
    truth = sampling_probs(logits, 0.5, 20, 0.8)
    for id, mine in listed(gpt, ".next"):
        assert mine == pytest.approx(float(truth[id]), abs=1e-4)
    left = int((truth > 0).sum())
    assert f"{left} words are left" in live(gpt)


@pytest.mark.nightly
def test_a_word_is_drawn_as_python_draws_it(gpt):
    _, words = machine("gpt")
    tokens = [START, *words.encode("a man in a red shirt".split())]
    p = torchs("gpt", tokens, -1)
    chance = float(uniform(0, 1)[0])
    order = p.argsort(descending=True)
    at = int((p[order].cumsum(0) > chance).int().argmax())
    act(gpt, "draw").click()
    drawn = words.words[int(order[at])]
    caption = gpt.locator('[data-role="caption"] .drawn')
    expect(caption).to_have_text(drawn)
    settled(gpt)
    act(gpt, "undo").click()
    expect(caption).to_have_count(0)


@pytest.mark.nightly
def test_it_draws_to_the_end_and_again(gpt):
    act(gpt, "end").click()
    say = gpt.locator('[data-role="live"]')
    expect(say).to_contain_text("The caption has ended")
    first = gpt.locator('[data-role="caption"]').inner_text()
    assert first.startswith("a man in a red shirt")
    act(gpt, "again").click()
    expect(say).to_contain_text("After")
    expect(say).to_contain_text("The caption has ended")
    assert gpt.locator('[data-role="caption"]').inner_text() != first


@pytest.mark.nightly
def test_begin_starts_an_ended_caption_anew(gpt):
    act(gpt, "end").click()
    say = gpt.locator('[data-role="live"]')
    expect(say).to_contain_text("The caption has ended")
    first = gpt.locator('[data-role="caption"]').inner_text()
    act(gpt, "begin").click()
    expect(say).to_contain_text("After “a man in a red shirt”")
    expect(gpt.locator(".drawn")).to_have_count(0)
    act(gpt, "end").click()
    expect(say).to_contain_text("The caption has ended")
    assert gpt.locator('[data-role="caption"]').inner_text() != first


def test_the_likeliest_by_keyboard(gpt):
    page = gpt.page
    _, words = machine("gpt")
    tokens = [START, *words.encode("a man in a red shirt".split())]
    is_torchs(listed(gpt, ".next"), torchs("gpt", tokens, -1))
    act(gpt, "best").focus()
    page.keyboard.press("Enter")
    expect(gpt.locator(".drawn")).to_have_count(1)
    settled(gpt)
    gpt.locator('[data-action="word"]').nth(1).focus()
    page.keyboard.press("Space")
    expect(gpt.locator(".drawn")).to_have_count(2)
    act(gpt, "table").click()
    assert gpt.locator("tbody tr:visible").count() == 12


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("x" * 200, "At most 160 letters"),
        ("a man in a _ shirt", "A blank is the BERT's business"),
        ("dog " * 38, "longer than any caption"),
        ("a zebracorn sleeps", "“zebracorn”: it reads <unk>"),
    ],
)
def test_what_the_gpt_cannot_take_is_named(gpt, typed, says):
    act(gpt, "text").fill(typed)
    act(gpt, "text").press("Enter")
    expect(gpt.locator('[data-role="problem"]')).to_contain_text(says)


@pytest.mark.nightly
def test_the_blank_is_filled_as_torch_fills_it(bert):
    _, words = machine("bert")
    caption = "a man in a red shirt is playing the guitar .".split()
    tokens = [START, *words.encode(caption), END]
    tokens[8] = MASK  # the page opens with “playing” covered
    is_torchs(listed(bert, '[data-role="bert"]'), torchs("bert", tokens, 8))
    act(bert, "cover").nth(7).press("Enter")  # uncovered
    act(bert, "cover").nth(4).press("Space")
    expect(bert.locator('[data-role="live"]')).to_contain_text("“red”")
    tokens = [START, *words.encode(caption), END]
    tokens[5] = MASK
    is_torchs(
        listed(settled(bert), '[data-role="bert"]'), torchs("bert", tokens, 5)
    )


@pytest.mark.nightly
def test_the_gpt_is_asked_too(bert):
    act(bert, "both").click()
    expect(bert.locator('[data-role="gpt"]')).to_be_visible()
    _, words = machine("gpt")
    tokens = [START, *words.encode("a man in a red shirt is".split())]
    is_torchs(listed(bert, '[data-role="gpt"]'), torchs("gpt", tokens, -1))
    assert "the GPT gives" in live(bert)


@pytest.mark.nightly
def test_a_word_from_the_list_is_put_into_the_blank(bert):
    word = bert.locator('[data-role="bert"] [data-action="word"]').nth(1)
    text = word.locator("span").first.inner_text()
    word.click()
    expect(act(bert, "text")).to_have_value(
        f"a man in a red shirt is {text} the guitar ."
    )
    assert "Choose a word to cover it" in live(bert)


@pytest.mark.nightly
def test_blanks_are_typed(bert):
    act(bert, "text").fill("two _ are running")
    act(bert, "text").press("Enter")
    expect(bert.locator('[data-action="cover"]')).to_have_count(4)
    _, words = machine("bert")
    tokens = [START, *words.encode(["two", "x", "are", "running"]), END]
    tokens[2] = MASK
    settled(bert)
    expect(bert.locator('[data-role="live"]')).not_to_contain_text("guitar")
    is_torchs(listed(bert, '[data-role="bert"]'), torchs("bert", tokens, 2))
    assert problem(bert) == ""
