"""What gets into a page by a sentence, a record or an address does nothing."""

import json
import sys
import time
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from contents import OTHERS, PAGES, ROOT, SERVED_OR_NOT, by_day
from lookback.exercises import check
from lookback.widgets import ByHand, Quiz

sys.path[:0] = [str(ROOT / "book" / "_ext")]

import live_widgets  # noqa: E402
import security  # noqa: E402

MIME = "application/vnd.jupyter.widget-"
HOST = live_widgets.HOST.read_text(encoding="utf-8")
HOSTILE = [
    "</script><script>window.bad = 1</script>",
    "</SCRIPT><img src=x onerror='window.bad = 1'>",
    "</script ><script>window.bad = 1</script >",
    "<!--<script>",
    "]]><svg/onload='window.bad = 1'>",
    "\u2028`${window.bad = 1}`&lt;script&gt;&#60;script&#62;",
]
# How many scripts of a stranger's run in the page.
ATTACKS = """async () => {
  const div = document.createElement("div");
  document.body.append(div);
  div.innerHTML = "<img src='data:,' onerror='window.bad = 1'>"
    + "<a href='javascript:window.bad = 1'>a</a>"
    + "<svg><animate onbegin='window.bad = 1' attributeName='x' dur='1s'>";
  div.querySelector("a").click();
  const script = document.createElement("script");
  script.textContent = "window.bad = 1";
  div.append(script);
  setTimeout(() => window.eval("window.bad = 1"));
  setTimeout(() => new Function("window.bad = 1")());
  const away = document.createElement("script");
  away.src = "http://127.0.0.1:9/away.js";
  const refused = new Promise((done) => { away.onerror = done; });
  div.append(away);
  await refused;
  try { await fetch("http://127.0.0.1:9/away"); } catch {}
  await new Promise((done) => setTimeout(done, 200));
  div.remove();
  return window.bad ?? 0;
}"""


@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_every_page_says_first_what_it_forbids(site, name):
    page = (site / f"{name}.html").read_text(encoding="utf-8")
    head = page.split("<script", 1)[0]
    assert page.count(security.META) == head.count(security.META) == 1
    rules = head.split(security.META, 1)[1].split(">", 1)[0]
    script = rules.split("script-src ", 1)[1].split(";", 1)[0]
    assert "default-src 'none'" in rules and "unsafe" not in script
    assert "http" not in rules and "*" not in rules


def test_a_page_is_guarded_once(tmp_path):
    page = '<head><meta charset="utf-8" /></head>'
    page += '<link rel="next" href="b"><iframe srcdoc="a &lt;b"></iframe>'
    once = security.guarded(page, tmp_path)
    assert once != page
    assert "srcdoc" not in once and 'rel="next"' not in once
    assert security.guarded(once, tmp_path) == once
    (file,) = (tmp_path / "_static" / "waiting").iterdir()
    assert f'data-waiting="{file.stem}"' in once
    assert json.dumps("a <b") in file.read_text("utf-8")


@pytest.mark.parametrize("from_disk", SERVED_OR_NOT)
def test_no_strange_script_runs_and_nothing_leaves(visit, from_disk):
    one = visit("book/bottleneck", from_disk=from_disk)
    asked = set(one.loaded)
    assert one.troubles == []
    assert one.page.evaluate(ATTACKS) == 0
    violations = [each for each in one.troubles if "Security Policy" in each]
    assert len(violations) >= 6
    assert not [url for url in set(one.loaded) - asked if ":9/" in url]


def embedded(*states: str, views: tuple[str, ...]) -> str:
    """A page with these states of widgets, as the build writes them."""
    scripts = [
        f'<script type="{MIME}state+json">{one}</script>' for one in states
    ]
    scripts += [
        f'<script type="{MIME}view+json">{one}</script>' for one in views
    ]
    return f"<!doctype html><body>{''.join(scripts)}<script>{HOST}</script>"


def state(widget, name: str) -> dict:
    """What a notebook keeps of a widget, with the name of its model."""
    held = {k: v for k, v in widget.get_state().items() if k != "layout"}
    return {name: {"state": held}}


def view(name: str) -> str:
    return json.dumps({"model_id": name})


def hostile(text: str) -> Quiz:
    option = {"text": text, "correct": True, "why": text}
    return Quiz(f"A question {text}", [option, option], text)


def test_no_text_ends_the_script_that_holds_it(browser):
    """Each sentence of a widget reaches the reader as it was written."""
    all_states = {}
    for number, text in enumerate(HOSTILE):
        all_states |= state(hostile(text), str(number))
    written = live_widgets.without_tags(json.dumps({"state": all_states}))
    assert "<" not in written
    page = browser.new_page()
    names = map(str, range(len(HOSTILE)))
    page.set_content(embedded(written, views=tuple(map(view, names))))
    legends = page.locator(".lookback-widget legend")
    legends.nth(len(HOSTILE) - 1).wait_for()
    said = legends.all_text_contents()
    wanted = [f"A question {text}".replace("`", "") for text in HOSTILE]
    assert said == wanted
    assert page.evaluate("window.bad") is None
    page.close()


def test_no_text_of_an_exercise_by_hand_is_markup(browser):
    """Its labels, what is typed, and what is said of it."""
    page = browser.new_page()
    for text in HOSTILE:
        exercise = check.context_by_hand.page() | {
            "name": text,
            "fields": [[text, f"{text} 2"]],
            "stages": [],
            "verified": text,
        }
        made = ByHand(SimpleNamespace(page=lambda exercise=exercise: exercise))
        data = json.dumps({"state": state(made, "one")})
        written = live_widgets.without_tags(data)
        page.set_content(embedded(written, views=(view("one"),)))
        root = page.locator(".lookback-widget")
        fields = root.locator("input")
        fields.first.fill(text)
        fields.last.fill("1")
        root.locator('[data-action="check"]').click()
        problem = root.locator('[data-role="problem"]').text_content()
        assert problem.startswith(f"{text}: this is")
        fields.first.fill("1")
        root.locator('[data-action="check"]').click()
        said = root.locator('[data-role="live"]').text_content()
        assert said == f"Right: {text}"
        assert page.evaluate("window.bad") is None
    page.close()


def test_the_build_writes_widgets_so():
    from myst_nb.core import render

    class App:
        def __getattr__(self, _):
            return lambda *_, **__: None

    live_widgets.setup(App())
    assert render.sanitize_script_content('"</SCRIPT>"') == '"\\u003c/SCRIPT>"'


def test_a_figure_that_cannot_be_read_says_so_and_stops_no_other(browser):
    good = live_widgets.without_tags(
        json.dumps({"state": state(hostile("x"), "good")})
    )
    page = browser.new_page()
    views = (view("lost"), "{", "null", view("good"))
    page.set_content(embedded("{", good, "null", views=views))
    page.locator(".lookback-widget").wait_for()
    alerts = page.locator('body > div[role="alert"]').all_text_contents()
    assert len(alerts) == 3
    assert all("its data cannot be read" in each for each in alerts)
    page.close()


@pytest.mark.nightly
def test_a_bertviz_frame_stands_apart(at_start):
    """Its scripts reach neither the page around it nor the storage."""
    one = at_start("book/heads")
    one.walk_down()
    for frame in one.page.frames[1:]:
        frame.locator("svg").first.wait_for()
        for reach in ("parent.document", "localStorage", "top.location.href"):
            with pytest.raises(Exception, match="SecurityError|Blocked"):
                frame.evaluate(reach)


@pytest.mark.nightly
def test_figures_live_without_storage(browser, address):
    """In a frame that may not keep anything, reading the name is an error."""
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(
        '<iframe width="1200" height="900" sandbox="allow-scripts allow-forms"'
        f' src="{address}/book/bottleneck.html"></iframe>'
    )
    frame = page.frame_locator("iframe")
    asleep = frame.locator(".widget-picture")
    while left := asleep.count():  # though no file may be fetched
        asleep.evaluate_all("all => all[0]?.scrollIntoView()")
        expect(asleep).not_to_have_count(left)
    frame.locator('.lookback-widget[data-widget="squeeze"]').wait_for()
    quiz = frame.locator('.lookback-widget[data-widget="quiz"]').first
    quiz.locator("input").first.check()
    quiz.locator('[data-action="check"]').click()
    quiz.locator('[data-action="retry"]').wait_for()  # it was remembered
    hand = frame.locator('.lookback-widget[data-widget="by-hand"]').first
    hand.locator("input").fill("−0,44")
    hand.locator('[data-action="check"]').click()
    hand.locator('[data-action="retry"]').wait_for()
    assert errors == []
    page.close()


MANY = ["+".join("aeinorst" * 8), "e+" * 1500, "w1+w2+w3+" * 1000]


@pytest.mark.parametrize("words", by_day(MANY, MANY[0]))
def test_no_words_to_highlight_hold_up_the_page(visit, words):
    """Ten words are enough, and a letter is none."""
    one = visit("search")
    start = time.monotonic()
    one.page.goto(f"{one.base}/book/bottleneck.html?highlight={words}")
    one.page.wait_for_timeout(50)  # Sphinx waits, too
    assert one.page.locator(".highlighted").count() == 0
    assert time.monotonic() - start < 5
    assert one.troubles == []


MARKUP = ["%3Cb%3E", "%22%5C"]
WORDS = ["a", "e+i", "%5B", "%3Cb%3E", "constructor", "%00", "t" * 3000]


@pytest.mark.parametrize("words", by_day(WORDS, "%5B"))
def test_an_address_with_words_to_highlight(visit, words):
    one = visit("book/index", place=f"?highlight={words}")
    one.page.wait_for_timeout(300)  # Sphinx waits, too
    assert one.troubles == []


@pytest.mark.parametrize(
    "words",
    by_day(
        ["constructor", "__proto__", "attention+-constructor", *MARKUP],
        "constructor",
    ),
)
def test_a_search_for_any_word(visit, words):
    one = visit("search", place=f"?q={words}")
    one.page.locator("#search-results h2", has_text="Results").wait_for(
        state="attached"
    )
    one.page.wait_for_timeout(300)
    assert one.troubles == []
