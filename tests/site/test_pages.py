"""Every page: no trouble, no request elsewhere, for every reader."""

import pytest

from contents import OTHERS, PAGES, ROOT

AXE = ROOT / "node_modules/axe-core/axe.min.js"
SCHEMES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
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
WIDER = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
  .filter((one) => !one.closest(
    ".formula, .drawing-scroll, .pst-scrollable-table-container, pre,"
    + " .cell_output, .scroll, .katex-mathml, .map, .bd-sidebar-primary,"
    + " .bd-sidebar-secondary"))
  .slice(0, 5).map((one) => one.outerHTML.slice(0, 120))"""


@SCHEMES
@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_page_is_without_trouble(visit, name, dark):
    one = visit(name, dark=dark)
    one.walk_down()
    assert one.troubles == []


@SCHEMES
@pytest.mark.parametrize("name", [*PAGES, "search"])
def test_page_passes_axe(visit, name, dark):
    one = visit(name, dark=dark)
    one.page.add_script_tag(path=AXE)
    assert one.page.evaluate(RUN_AXE) == []


@pytest.mark.parametrize("name", [*PAGES, "search"])
def test_page_fits_a_narrow_phone(visit, name):
    one = visit(name, width=320)
    one.walk_down()
    width = one.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 320, one.page.evaluate(WIDER)
    assert one.troubles == []


@pytest.mark.parametrize("name", PAGES)
def test_page_opens_from_disk(visit, name):
    one = visit(name, from_disk=True)
    one.walk_down()
    assert one.troubles == []


@pytest.mark.parametrize("name", PAGES)
def test_page_holds_still_when_asked(visit, name):
    one = visit(name, still=True)
    play = one.page.locator(".lookback-widget [data-action=play]")
    for index in range(play.count()):
        play.nth(index).click()
    moving = one.page.evaluate(
        """() => document.getAnimations().filter((one) =>
          one.effect.getComputedTiming().duration > 1).length"""
    )
    assert moving == 0


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


@pytest.mark.parametrize("name", PAGES)
def test_page_has_one_of_each_id(visit, name):
    one = visit(name)
    twice = one.page.evaluate(
        """() => {
          const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
          return ids.filter((id, i) => ids.indexOf(id) !== i);
        }"""
    )
    assert twice == []


@pytest.mark.parametrize("name", PAGES)
def test_page_prints_its_text_alone(visit, name):
    page = visit(name).page
    page.emulate_media(media="print")
    assert page.locator("article h1").is_visible()
    for furniture in (".bd-sidebar-primary", ".bd-header-article"):
        assert not page.locator(furniture).first.is_visible()


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
    assert page.evaluate("document.activeElement.hash") == "#main-content"
