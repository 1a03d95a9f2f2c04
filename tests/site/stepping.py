"""What tests take hold of in a widget; the names are listed in `host.js`."""

import re
from pathlib import Path

from playwright.sync_api import Locator, Page

from contents import PAGES

STATES = """() => {
  const kind = "application/vnd.jupyter.widget-";
  const all = (what) => [
    ...document.querySelectorAll(`script[type="${kind}${what}+json"]`),
  ].map((script) => JSON.parse(script.textContent));
  const models = Object.assign({}, ...all("state").map((one) => one.state));
  const roots = [...document.querySelectorAll(".lookback-widget")];
  return all("view").map(({ model_id }, i) => {
    const { _esm, _css, ...state } = models[model_id].state;
    return [roots[i].dataset.widget, state];
  });
}"""


def kinds(site: Path, name: str) -> set[str]:
    """The kinds of widget whose states the page carries."""
    text = (site / f"{name}.html").read_text(encoding="utf-8")
    ids = re.findall(r'"_anywidget_id": "([^"]*)"', text)
    return {one.split(".")[-2].replace("_", "-") for one in ids}


def pages_with(site: Path, kind: str) -> list[str]:
    """The pages that hold a widget of this kind."""
    return [name for name in PAGES if kind in kinds(site, name)]


def states(page: Page, kind: str) -> list[dict]:
    """The embedded states of one kind, in the page's order."""
    return [state for name, state in page.evaluate(STATES) if name == kind]


def widgets(page: Page, kind: str) -> list[tuple[Locator, dict]]:
    """The roots of one kind, each with its state."""
    roots = page.locator(f'.lookback-widget[data-widget="{kind}"]')
    found = states(page, kind)
    assert roots.count() == len(found)
    return [(roots.nth(i), state) for i, state in enumerate(found)]


def numbers(root: Locator, role: str) -> list[float]:
    """The numbers of one role, at full precision."""
    return root.locator(
        f'[data-role="{role}"][data-value], [data-role="{role}"] [data-value]'
    ).evaluate_all("(all) => all.map((one) => Number(one.dataset.value))")


def act(root: Locator, name: str) -> Locator:
    """One control."""
    return root.locator(f'[data-action="{name}"]')


def live(root: Locator) -> str:
    """What a listener hears."""
    return root.locator('[data-role="live"]').inner_text()


def problem(root: Locator) -> str:
    """What is said to be wrong with an input."""
    return root.locator('[data-role="problem"]').inner_text()
