"""The machines in the built page: typed at, stepped, edited, blinded, broken.

What they should say comes from torch, on the same bytes.
"""

from functools import lru_cache

import pytest
from playwright.sync_api import Locator, expect

from lookback.lab import corpus, int8
from lookback.lab.decoding import translate
from lookback.lab.moses_tokenizer import words
from lookback.widgets.machines import MACHINES, load
from stepping import act, live, problem, widgets

PAGE = "book/translate"
KIND = "translate"
SENTENCES = [
    "A black cat sleeps on a red chair.",
    "Two young men AREN'T playing football in the park!",
    "A man wearing a T-shirt reads “the news” at 7:30.",
    "The Parliament of Québec adopted the law on Tuesday.",
    "I love you.",
    "Why did you not call me yesterday?",
    "Xylophonists & zebras",
]


@lru_cache
def machine(name: str):
    model, pieces = load(name)
    return int8.rounded(model), pieces


def torchs(name: str, text: str, width: int = 1) -> str:
    """What torch makes of a typed sentence."""
    model, pieces = machine(name)
    ((said, _),) = translate(model, [words(text)], pieces, pieces, width)
    return corpus.text(said)


def settled(root: Locator) -> Locator:
    """The widget, once its worker has answered."""
    expect(root.locator(".figure")).to_be_visible()
    expect(root).not_to_have_attribute("aria-busy", "true")
    return root


def french(root: Locator) -> str:
    text = settled(root).locator('[data-role="french"]').inner_text()
    return " ".join(text.split()).removesuffix(" <end>")


def say(root: Locator, text: str) -> None:
    act(root, "text").fill(text)
    act(root, "text").press("Enter")


@pytest.fixture
def asleep(at_start) -> Locator:
    """As the page opens."""
    one = at_start(PAGE)
    ((root, _),) = widgets(one.page, KIND)
    return root


@pytest.fixture
def awake(asleep) -> Locator:
    """The Transformer, fetched."""
    act(asleep, "machine").select_option("tuned-en-fr")
    return settled(asleep)


@pytest.mark.nightly
def test_nothing_is_fetched_before_it_is_wanted(visit):
    one = visit(PAGE, kept=False)
    one.walk_down()
    assert one.fetched("machines/") == []
    ((root, _),) = widgets(one.page, KIND)
    act(root, "translate").click()
    settled(root)
    fetched = one.fetched("machines/")
    assert len(fetched) == 1 and "tuned-rnnsearch" in fetched[0]
    say(root, SENTENCES[1])
    settled(root)
    assert one.fetched("machines/") == fetched
    assert one.troubles == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", MACHINES)
def test_sentences_come_out_as_from_torch(asleep, name):
    act(asleep, "machine").select_option(name)
    for text in SENTENCES:
        settled(asleep)
        say(asleep, text)
        assert french(asleep) == torchs(name, text), text
    act(asleep, "width").select_option("5")
    assert french(asleep) == torchs(name, SENTENCES[-1], width=5)


def test_it_is_stepped_by_keys_alone(awake):
    page = awake.page
    assert french(awake) == torchs("tuned-en-fr", SENTENCES[0])
    act(awake, "next").focus()
    before = live(awake)
    page.keyboard.press("ArrowRight")
    assert "Piece 2 of" in live(awake) != before
    page.keyboard.press("End")
    assert "“<end>”" in live(awake)
    page.keyboard.press("Home")
    assert "Piece 1 of" in live(awake)
    chosen = awake.locator('[data-action="rival"]').nth(1)
    chosen.focus()
    page.keyboard.press("Enter")
    expect(awake.locator('[data-role="live"]')).to_contain_text("given by you")
    held = page.evaluate("document.activeElement.dataset.action")
    assert held == "rival"


@pytest.mark.nightly
def test_the_adjective_follows_a_word_that_the_reader_chose(awake):
    """What the page's first task says."""
    assert french(awake) == "un chat noir dort sur une chaise rouge ."
    awake.locator('[data-action="rival"]', has_text="une").first.click()
    expect(awake.locator('[data-role="french"]')).to_contain_text("noire")
    assert french(awake) == "une chat noire dort sur une chaise rouge ."


@pytest.mark.nightly
def test_a_link_brings_a_sentence_that_the_reader_has_begun(awake, visit):
    french_before = french(awake)
    act(awake, "word").fill("une")
    act(awake, "go-on").click()
    expect(awake.locator('[data-role="french"]')).to_contain_text("une")
    act(awake, "next").click()
    said = french(awake), live(awake)
    assert said[0] != french_before
    bar = awake.locator("xpath=../following-sibling::*[1]")
    awake.page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(); }"
    )
    bar.locator('[data-action="link"]').click()
    address = bar.locator("input").input_value()
    other = visit("book/index").page
    other.goto(address)
    again = other.locator('[data-widget="translate"]')
    expect(act(again, "translate")).to_contain_text("Load the Transformer")
    act(again, "translate").click()
    assert (french(again), live(again)) == said


@pytest.mark.nightly
def test_a_typed_word_is_gone_on_from(awake):
    act(awake, "next").click()
    act(awake, "word").fill("petit")
    act(awake, "go-on").click()
    expect(awake.locator('[data-role="french"]')).to_contain_text("un petit")
    assert french(awake).startswith("un petit chat noir")


@pytest.mark.nightly
def test_without_its_look(awake):
    """What the page's second and third task say."""
    act(awake, "look").select_option("diagonal")
    expect(awake.locator('[data-role="french"]')).to_contain_text("noir chat")
    assert french(awake) == "un noir chat dort sur un rouge chaise ."
    act(awake, "look").select_option("uniform")
    expect(awake.locator('[data-role="french"]')).to_contain_text("homme")
    assert french(awake) == (
        "un homme vêtu d' une veste rouge est en train de discuter sur un"
        " tapis roulant ."
    )
    uniform = "its attention is on all pieces equally, or on none."
    assert live(awake).endswith(uniform)


@pytest.mark.nightly
def test_every_head_can_go_alone(awake):
    say(awake, "A girl in a yellow dress is holding a big white balloon.")
    whole = french(awake)
    assert whole == "une fille en robe jaune tient un gros ballon blanc ."
    heads = act(awake, "gone").locator("option")
    assert heads.count() == 17
    for value in heads.evaluate_all("(all) => all.map((one) => one.value)"):
        act(awake, "gone").select_option(value)
        assert french(awake) == whole


@pytest.mark.nightly
def test_the_weights_shown_are_a_softmax(awake):
    act(awake, "seen").select_option("2.1")
    row = awake.locator('.map tr[aria-selected="true"] td[data-value]')
    weights = row.evaluate_all("(all) => all.map((x) => +x.dataset.value)")
    assert sum(weights) == pytest.approx(1)
    awake.locator('[data-role="numbers"] summary').click()
    expect(awake.locator('[data-role="numbers"] tbody tr')).to_have_count(
        len(weights)
    )


@pytest.mark.nightly
def test_the_beams_rivals_are_shown(awake):
    act(awake, "width").select_option("4")
    settled(awake)
    awake.locator('[data-role="beam"] summary').click()
    ends = awake.locator('[data-action="end"]')
    expect(ends).to_have_count(4)
    second = ends.nth(1).locator("span").inner_text()
    ends.nth(1).click()
    assert french(awake) == second


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "Type an English sentence."),
        (" \0\t ", "Type an English sentence."),
        ("x" * 10_000, "At most 400 letters"),
        ("dog " * 90, "pieces"),
        ("a 🙂 dog", "“🙂”: letters that the machine has never seen"),
        ("مرحبا بالعالم", "never seen"),
        ("שלום", "never seen"),
    ],
)
def test_what_cannot_be_read_gets_one_sentence(awake, typed, says):
    before = french(awake)
    act(awake, "text").evaluate("(box, text) => { box.value = text; }", typed)
    act(awake, "text").press("Enter")
    expect(awake.locator('[data-role="problem"]')).to_contain_text(says)
    assert "Below is still the translation of" in problem(awake)
    assert french(awake) == before
    say(awake, SENTENCES[0])
    expect(awake.locator('[data-role="problem"]')).to_be_empty()


@pytest.mark.nightly
def test_markup_is_text(awake):
    say(awake, "<img src=x onerror=alert(1)> <b>a dog</b>")
    expect(awake.locator('[data-role="problem"]')).to_contain_text("“<”")
    assert awake.locator("img, b").count() == 0


@pytest.mark.nightly
def test_a_sentence_typed_while_a_machine_comes_is_for_that_machine(asleep):
    act(asleep, "translate").click()
    settled(asleep)
    act(asleep, "machine").select_option("tuned-en-fr")
    say(asleep, SENTENCES[4])
    expect(asleep.locator('[data-role="french"]')).to_contain_text(
        torchs("tuned-en-fr", SENTENCES[4]).removesuffix(" .")
    )
    expect(act(asleep, "machine")).to_have_value("tuned-en-fr")


@pytest.mark.nightly
def test_what_is_being_typed_stays_when_a_machine_comes(asleep):
    act(asleep, "translate").click()
    act(asleep, "text").fill(SENTENCES[4])
    before = french(asleep)  # what the waking machine makes of the old one
    expect(act(asleep, "text")).to_have_value(SENTENCES[4])
    act(asleep, "text").press("Enter")
    expect(asleep.locator('[data-role="french"]')).to_contain_text(
        torchs("tuned-rnnsearch", SENTENCES[4]).removesuffix(" .")
    )
    assert before != french(asleep)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("typed", "says"),
    [("🐱", "“🐱”: letters"), ("x" * 10_000, "At most 40 letters")],
)
def test_a_word_that_cannot_be_read_is_named_beside_its_field(
    awake, typed, says
):
    before = french(awake)
    act(awake, "word").fill(typed)
    act(awake, "go-on").click()
    told = awake.locator('[data-role="word-problem"]')
    expect(told).to_contain_text(says)
    assert french(awake) == before
    act(awake, "word").fill("")
    act(awake, "go-on").click()
    expect(told).to_be_empty()


@pytest.mark.nightly
def test_the_reader_can_end_the_sentence(awake):
    act(awake, "next").click()
    act(awake, "word").fill("<end>")
    act(awake, "go-on").click()
    expect(awake.locator(".map tbody tr")).to_have_count(2)
    assert french(awake) == "un"


KILL = """() => {
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (...given) {
    Worker.prototype.postMessage = post;
    this.terminate();
    this.onerror({ message: "it ran out of memory" });
  };
}"""


@pytest.mark.nightly
def test_a_worker_that_dies_is_started_again(awake):
    before = french(awake)
    awake.page.evaluate(KILL)
    say(awake, SENTENCES[4])
    expect(awake.locator('[data-role="problem"]')).to_contain_text(
        "it ran out of memory"
    )
    assert french(awake) == before
    say(awake, SENTENCES[4])
    expect(awake.locator('[data-role="problem"]')).to_be_empty()
    assert french(awake) == torchs("tuned-en-fr", SENTENCES[4])


@pytest.mark.nightly
def test_weights_that_cannot_be_had(asleep):
    page = asleep.page
    page.evaluate("caches.delete('lookback-weights')")
    page.route("**/machines/*", lambda route: route.abort())
    act(asleep, "translate").click()
    expect(asleep.locator('[data-role="problem"]')).to_contain_text(
        "cannot be reached"
    )
    page.unroute("**/machines/*")
    damaged = b"\x1f\x8b" + bytes(2_000_000)
    page.route("**/machines/*", lambda route: route.fulfill(body=damaged))
    act(asleep, "translate").click()
    expect(asleep.locator('[data-role="problem"]')).to_contain_text("damaged")
    page.unroute("**/machines/*")
    act(asleep, "translate").click()
    settled(asleep)


@pytest.mark.nightly
def test_kept_by_the_browser(asleep):
    page = asleep.page
    act(asleep, "translate").click()
    settled(asleep)
    kept = page.evaluate(
        "caches.open('lookback-weights').then((one) => one.keys())"
        ".then((all) => all.map((one) => one.url))"
    )
    assert len(kept) == 1 and "tuned-rnnsearch" in kept[0]


@pytest.mark.nightly
def test_from_disk(browser, site):
    page = browser.new_page()
    page.goto((site / "book" / "translate.html").as_uri())
    root = page.locator(f'.lookback-widget[data-widget="{KIND}"]')
    act(root, "translate").click()
    assert french(root) == torchs("tuned-rnnsearch", SENTENCES[0])
    page.close()
