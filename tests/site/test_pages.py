"""Every page: no trouble, no request elsewhere, for every reader."""

import pytest
from playwright.sync_api import Page, expect
from widgets_common import ask

from contents import OTHERS, PAGES, ROOT, by_day
from heights import kept_for, tall
from stepping import act, kinds, states, widgets
from test_site_widgets import check_alignment, check_squeeze
from weighing import weigh

AXE = ROOT / "node_modules/axe-core/axe.min.js"
ASKED = [*PAGES, "search"]
# What axe cannot see into is BertViz's drawing; its frame's title it checks.
RUN_AXE = """async () => {
  const found = await axe.run(document, {
    iframes: false,
    resultTypes: ["violations"],
  });
  const grave = found.violations.filter(({ impact }) => impact !== "minor");
  return grave.flatMap((violation) => violation.nodes.map(
    (node) => `${violation.impact} ${violation.id}: ${node.target.join(" ")}`
  ));
}"""
# Contrast takes two thirds of axe's time, as it measures every word of a
# formula and of code. Words of one look, on one ground, need be measured but
# once: names one of each look, and has axe measure these.
ONE_OF_EACH_LOOK = """() => {
  const grounds = new Map([[null, ""]]);
  function ground(one) {
    if (grounds.has(one)) return grounds.get(one);
    const { backgroundColor, backgroundImage, opacity, position } =
      getComputedStyle(one);
    const own = [backgroundColor, backgroundImage, opacity,
      position === "static" ? "" : `${position} ${one.getAttribute("class")}`,
    ].join();
    const shut = /^rgb\\(/.test(backgroundColor) && own.endsWith(",none,1,");
    const all = shut ? own : `${own} on ${ground(one.parentElement)}`;
    grounds.set(one, all);
    return all;
  }
  const says = (one) => one.matches("input, select, textarea") ||
    [...one.childNodes].some((node) =>
      node.nodeType === Node.TEXT_NODE && node.data.trim());
  const looks = new Set();
  for (const one of document.body.querySelectorAll("*")) {
    if (!says(one) || !one.checkVisibility({ visibilityProperty: true }))
      continue;
    const { color, fill, fontSize, fontWeight, textShadow } =
      getComputedStyle(one);
    const large = parseFloat(fontSize) >= (fontWeight < 700 ? 24 : 18.66);
    const ink = one.ownerSVGElement ? fill : color;
    const look = [ink, large, textShadow, ground(one)].join();
    if (!looks.has(look)) one.setAttribute("data-look", "");
    looks.add(look);
  }
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
}"""
# The page's width, and what reaches out of it, where it is too wide.
TOO_WIDE = """() => {
  const width = document.documentElement.scrollWidth;
  if (width <= innerWidth) return [];
  const wide = [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .filter((one) => !one.closest(
      ".formula, .pst-scrollable-table-container, pre,"
      + " .cell_output, .scroll, .katex-mathml, .map, .bd-sidebar-primary,"
      + " .bd-sidebar-secondary"))
    .slice(0, 5).map((one) => one.outerHTML.slice(0, 120));
  return [`${width} px`, ...wide];
}"""
# What a reader of a phone would miss: a table or a picture that is wider than
# its place, and letters smaller than 11 pixels on the screen. Those of a chart
# are 10 points, at 100 dots an inch.
UNSEEN = """() => {
  const least = 11, letter = 1000 / 72;
  const shown = (one) => one.getBoundingClientRect().width > 0;
  const all = (which) =>
    [...document.querySelectorAll(`article :is(${which})`)].filter(shown);
  const wide = all("figure, .pst-scrollable-table-container, .map")
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.scrollWidth} px in ${one.clientWidth}: `
      + one.innerText.slice(0, 40));
  const small = all("svg text, svg tspan").filter((one) => least >
      parseFloat(getComputedStyle(one).fontSize)
      * one.ownerSVGElement.getScreenCTM().a)
    .map((one) => `small: ${one.textContent.slice(0, 40)}`);
  const charts = all(".cell_output img:not(.widget-picture img)")
    .filter((one) => letter * one.width / one.naturalWidth < least)
    .map((one) => `${one.naturalWidth} px: ${one.alt.slice(0, 40)}`);
  return [...wide, ...small, ...charts];
}"""
TWICE = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return ids.filter((id, i) => ids.indexOf(id) !== i);
}"""
OUT_OF_REACH = """() => [...document.querySelectorAll(
    ".lookback-widget :is(button, input, select)")]
  .filter((one) => one.tabIndex < 0 && !one.parentElement.closest(
    "[data-roving]:has([tabindex='0'])"))
  .map((one) => one.outerHTML.slice(0, 120))"""
MOVING = """() => document.getAnimations()
  .filter((one) => one.effect.getComputedTiming().duration > 1)
  .map((one) => one.effect.target.outerHTML.slice(0, 120))"""
KINDS = "(all) => all.map((one) => one.dataset.widget)"
NOT_DARK = """() => [document.documentElement.dataset.theme]
  .filter((theme) => theme !== "dark")"""
FONTS = "() => document.fonts.status === 'loaded'"
# The pictures that stand where figures sleep: how high they are.
ROOMS = """() => [...document.querySelectorAll(".widget-picture")].map(
  (one) => one.offsetHeight)"""
# Widgets that reach out of the page, and those of a plain layout that are wider
# inside than outside.
STICKING_OUT = """() => {
  const plain = ["story", "swaps", "rungs", "depth", "parameter-budget"];
  return [...document.querySelectorAll(".lookback-widget")].filter((one) => {
    const { left, right } = one.getBoundingClientRect();
    return left < 0 || right > innerWidth ||
      plain.includes(one.dataset.widget) && one.scrollWidth > one.clientWidth;
  }).map((one) => one.dataset.widget);
}"""
# Gives every widget's first control the focus, and the keys that steppers
# know; names those without a control, or without a line that is read out.
TOUCHED = """() => {
  const mute = [];
  for (const root of document.querySelectorAll(".lookback-widget")) {
    const line = root.querySelector("[data-role=live]");
    const first = [...root.querySelectorAll(
      "button, input, select, [tabindex='0']")].find((one) =>
        one.checkVisibility() && !one.disabled);
    first?.focus({ preventScroll: true });
    if (first !== document.activeElement || line?.role !== "status")
      mute.push(root.dataset.widget);
    for (const key of ["ArrowRight", "End", "Home"])
      document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  }
  return mute;
}"""
MOST = 400_000  # bytes that a page may load when it is opened
# Its first figure searches with a whole translator, 148 kB of weights.
HEAVIER = {"book/explanation": 410_000}
SLACK = 24  # pixels that a figure may miss of the place that was kept for it
HELP = "run: python tests/site/heights.py, and make book"


def axe(page: Page, every: bool = False) -> list[str]:
    """What axe finds wrong, with the contrast of every word or of each look."""
    page.evaluate(AXE.read_text(encoding="utf-8"))  # a tag would be refused
    if not every:
        page.evaluate(ONE_OF_EACH_LOOK)
    return page.evaluate(RUN_AXE)


def printed(page: Page) -> list[str]:
    """What is not as it should be on paper: the text, and it alone."""
    page.emulate_media(media="print")
    seen = {
        "no title": not page.locator("article h1").is_visible(),
        "a sidebar": page.locator(".bd-sidebar-primary").first.is_visible(),
        "a header": page.locator(".bd-header-article").first.is_visible(),
    }
    page.emulate_media(media="null")
    return [what for what, is_so in seen.items() if is_so]


def moving(page: Page) -> list[str]:
    """What moves, though nothing should, when all is played that plays."""
    play = page.locator(".lookback-widget [data-action=play]:visible")
    for index in range(play.count()):
        play.nth(index).click()
    return page.evaluate(MOVING)


# Each test loads its page once and asks all that can be asked of it in that
# state. `wrong` names every question with a wrong answer.


def said(wrong: dict[str, object]) -> dict[str, object]:
    """Only the questions with a wrong answer."""
    return {what: found for what, found in wrong.items() if found}


def misplaced(name: str, width: int, asleep: list[int]) -> list[str]:
    """Pictures of sleeping figures that have another room than was kept."""
    rooms = kept_for(name, width)
    # Those near the screen have woken, and they stand first.
    return [] if asleep == rooms[len(rooms) - len(asleep) :] else [str(asleep)]


def grown(name: str, width: int, found: list[int]) -> list[str]:
    """Figures that, woken, are not as high as the room kept for them."""
    rooms = kept_for(name, width)
    if len(rooms) != len(found):
        return [f"{len(found)} figures; {HELP}"]
    return [
        f"figure {i + 1}: {high} px, kept {room}; {HELP}"
        for i, (high, room) in enumerate(zip(found, rooms, strict=True))
        if abs(high - room) > SLACK
    ]


@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_page_on_a_desk(visit, site, record_property, name):
    """At 1280 pixels and in the light, on the first visit."""
    one = visit(name, kept=False, asleep=True)
    page, wrong = one.page, {}
    if name in PAGES:
        one.rest()
        weight = weigh(one, site)
        record_property("weight", [str(site), name, weight])
        most = HEAVIER.get(name, MOST)
        wrong["weight"] = [] if 0 < weight <= most else [weight]
        page.wait_for_function(FONTS)
        asleep = page.evaluate(ROOMS)
        wrong["rooms"] = misplaced(name, 1280, asleep)
    one.settle()
    if name in PAGES:
        wrong["places"] = grown(name, 1280, tall(page))
    one.walk_down()
    wrong["too wide"] = page.evaluate(TOO_WIDE)
    if name in PAGES:
        wrong["ids given twice"] = page.evaluate(TWICE)
        wrong["out of reach with tab"] = page.evaluate(OUT_OF_REACH)
        wrong["sticking out"] = page.evaluate(STICKING_OUT)
        shown = set(page.locator(".lookback-widget").evaluate_all(KINDS))
        wrong["widgets"] = shown ^ kinds(site, name)
        wrong["refused in a link"] = [
            (kind, trait)
            for kind in shown
            for state in states(page, kind)
            for trait in ask(kind.replace("-", "_"), "refused", state)
        ]
        wrong["by keys"] = page.evaluate(TOUCHED)
    wrong["troubles"] = one.troubles
    assert said(wrong) == {}


@pytest.mark.parametrize("name", ASKED)
def test_page_on_a_phone(visit, name):
    """At 320 pixels and in the dark, with axe."""
    one = visit(name, width=320, dark=True)
    page, wrong = one.page, {}
    one.walk_down()
    wrong["not dark"] = page.evaluate(NOT_DARK)
    wrong["too wide"] = page.evaluate(TOO_WIDE)
    wrong["sticking out"] = page.evaluate(STICKING_OUT)
    wrong["axe"] = axe(page)
    page.set_viewport_size({"width": 375, "height": 740})
    wrong["unseen"] = page.evaluate(UNSEEN)
    wrong["troubles"] = one.troubles
    assert said(wrong) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAGES)
def test_figures_have_their_places_on_a_phone(visit, name):
    """Else what the reader reads would jump."""
    one = visit(name, width=375, asleep=True)
    page, wrong = one.page, {}
    page.wait_for_function(FONTS)
    wrong["rooms"] = misplaced(name, 375, page.evaluate(ROOMS))
    one.settle()
    wrong["places"] = grown(name, 375, tall(page))
    wrong["troubles"] = one.troubles
    assert said(wrong) == {}


@pytest.mark.parametrize(
    "name", by_day([*PAGES, *OTHERS], "book/feedforward", "genindex")
)
def test_page_at_twice_the_size_of_letters(visit, name):
    """On a desk and on a phone nothing is to be scrolled for sideways."""
    one = visit(name)
    one.page.evaluate("document.documentElement.style.fontSize = '200%'")
    wrong = {"1280": one.page.evaluate(TOO_WIDE)}
    one.page.set_viewport_size({"width": 375, "height": 740})
    wrong["375"] = one.page.evaluate(TOO_WIDE)
    assert said(wrong) == {}


@pytest.mark.parametrize("name", by_day([*PAGES, *OTHERS], "book/how-to-read"))
@pytest.mark.parametrize("dark", by_day([False, True], True))
def test_page_still_and_on_paper(visit, name, dark):
    """At 1280 pixels: axe sees what a phone hides, and all words."""
    one = visit(name, dark=dark, still=True)
    page, wrong = one.page, {}
    one.walk_down()
    wrong["sticking out"] = page.evaluate(STICKING_OUT)
    if dark:
        wrong["not dark"] = page.evaluate(NOT_DARK)
    if name in ASKED:
        wrong["axe"] = axe(page, every=True)
    wrong["moving"] = moving(page)
    if name in PAGES:
        wrong["on paper"] = printed(page)  # last: it lays the page out anew
    wrong["troubles"] = one.troubles
    assert said(wrong) == {}


@pytest.mark.parametrize("name", by_day(PAGES, "book/bottleneck"))
def test_page_lives_when_opened_from_disk(visit, name):
    one = visit(name, from_disk=True)
    one.walk_down()
    for root, state in widgets(one.page, "alignment-stepper"):
        act(root, "last").click()
        example = state["examples"][state["example"]]
        check_alignment(root, state, len(example["target"]) - 1)
    for root, state in widgets(one.page, "squeeze"):
        act(root, "first").click()
        act(root, "last").click()
        check_squeeze(root, state)
    assert one.troubles == []


@pytest.mark.parametrize("name", by_day(PAGES, "book/attention"))
def test_page_reads_without_scripts(visit, name):
    one = visit(name, scripts=False)
    page = one.page
    assert page.locator("article h1").is_visible()
    states = page.locator(
        'script[type="application/vnd.jupyter.widget-view+json"]'
    )
    pictures = page.locator(".widget-picture")
    assert pictures.count() == states.count()
    for index in range(pictures.count()):
        assert pictures.nth(index).is_visible()
    bare = page.locator("article .math.notranslate:not(:has(.katex))")
    assert bare.count() == 0


def test_sidebar_names_every_page(visit):
    page = visit(PAGES[0]).page
    links = page.locator(".bd-sidebar-primary nav a").evaluate_all(
        "(links) => links.map((a) => a.href.split('#')[0].split('/').pop())"
    )
    wanted = [f"{name.split('/')[-1]}.html" for name in PAGES[1:]]
    assert [link for link in links if link in wanted] == wanted


def test_reader_can_choose_the_dark(visit):
    one = visit(PAGES[0])
    page = one.page
    seen = set()
    for _ in range(3):
        page.locator(".theme-switch-button").first.click()
        seen.add(page.evaluate("document.documentElement.dataset.theme"))
    assert seen == {"light", "dark"}
    assert one.troubles == []


def test_search_finds_a_word(visit):
    one = visit("search", place="?q=attention")
    one.page.wait_for_selector("#search-results li")
    assert one.troubles == []


def test_skip_link_leads_to_the_text(visit):
    page = visit(PAGES[1]).page
    page.keyboard.press("Tab")
    expect(page.locator("a:focus")).to_have_attribute("href", "#main-content")
