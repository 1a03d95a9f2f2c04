"""Every page: no trouble, no request elsewhere, for every reader."""

import pytest
from playwright.sync_api import Page, expect

from contents import OTHERS, PAGES, ROOT
from stepping import act, kinds, widgets
from test_site_widgets import check_alignment, check_squeeze

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
  .filter((one) => one.tabIndex < 0)
  .map((one) => one.outerHTML.slice(0, 120))"""
MOVING = """() => document.getAnimations()
  .filter((one) => one.effect.getComputedTiming().duration > 1)
  .map((one) => one.effect.target.outerHTML.slice(0, 120))"""
KINDS = "(all) => all.map((one) => one.dataset.widget)"


def axe(page: Page) -> list[str]:
    """What axe finds wrong."""
    page.evaluate(AXE.read_text(encoding="utf-8"))  # a tag would be refused
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


# Each test loads its page once and asks all that can be asked of it in that
# state. `wrong` names every question with a wrong answer.


@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_page_in_light(visit, site, name):
    one = visit(name)
    page, wrong = one.page, {}
    one.walk_down()
    wrong["too wide"] = page.evaluate(TOO_WIDE)
    if name in PAGES:
        wrong["ids given twice"] = page.evaluate(TWICE)
        wrong["out of reach with tab"] = page.evaluate(OUT_OF_REACH)
        shown = set(page.locator(".lookback-widget").evaluate_all(KINDS))
        wrong["widgets"] = shown ^ kinds(site, name)
    if name in ASKED:
        wrong["axe"] = axe(page)
    if name in PAGES:
        wrong["on paper"] = printed(page)  # last: it lays the page out anew
    wrong["troubles"] = one.troubles
    assert {what: said for what, said in wrong.items() if said} == {}


@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_page_in_the_dark_and_still(visit, name):
    """For whoever asks for both, which have nothing to do with each other."""
    one = visit(name, dark=True, still=True)
    page, wrong = one.page, {}
    one.walk_down()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    if name in ASKED:
        wrong["axe"] = axe(page)
    play = page.locator(".lookback-widget [data-action=play]:visible")
    for index in range(play.count()):
        play.nth(index).click()
    wrong["moving"] = page.evaluate(MOVING)
    wrong["troubles"] = one.troubles
    assert {what: said for what, said in wrong.items() if said} == {}


@pytest.mark.parametrize("name", ASKED)
def test_page_fits_a_phone(visit, name):
    one = visit(name, width=320, dark=True)
    one.walk_down()
    assert one.page.evaluate(TOO_WIDE) == []
    one.page.set_viewport_size({"width": 375, "height": 740})
    assert one.page.evaluate(UNSEEN) == []
    assert one.troubles == []


@pytest.mark.parametrize("name", PAGES)
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


@pytest.mark.parametrize("name", PAGES)
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
    one = visit("search")
    one.page.wait_for_load_state("networkidle")  # else its icon is cut off
    one.page.goto(f"{one.base}/search.html?q=attention")
    one.page.wait_for_selector("#search-results li")
    assert one.troubles == []


def test_skip_link_leads_to_the_text(visit):
    page = visit(PAGES[1]).page
    page.keyboard.press("Tab")
    expect(page.locator("a:focus")).to_have_attribute("href", "#main-content")
