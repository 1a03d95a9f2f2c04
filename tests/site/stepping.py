"""What tests take hold of in a widget; the names are listed in `host.js`."""

import gzip
import io
import re
from base64 import b64decode
from functools import reduce
from pathlib import Path

from playwright.sync_api import Locator, Page

from contents import PAGES

# The embedded states; of bytes, what a page from disk is given.
STATES = """async () => {
  const kind = "application/vnd.jupyter.widget-";
  const all = (what) => [
    ...document.querySelectorAll(`script[type="${kind}${what}+json"]`),
  ].map((script) => JSON.parse(script.textContent));
  const models = Object.assign({}, ...all("state").map((one) => one.state));
  const roots = [...document.querySelectorAll(".lookback-widget")];
  const host = document.querySelector('script[src*="live_widgets"]');
  const come = (file) => new Promise((onload) => {
    const script = document.createElement("script");
    const src = new URL(`waiting/${file}.js`, host.src);
    document.head.append(Object.assign(script, { onload, src }));
  });
  const found = [];
  for (const [i, { model_id }] of all("view").entries()) {
    const { state, files, bytes } = models[model_id];
    for (const file of [...Object.values(files), bytes?.file ?? []].flat())
      if (!self.lookbackCame?.[file]) await come(file);
    for (const [name, file] of Object.entries(files))
      if (!name.startsWith("_")) state[name] = lookbackCame[file];
    const parts = bytes?.parts ?? [];
    const packed = bytes ? lookbackCame[bytes.file] : "";
    found.push([roots[i].dataset.widget, state, parts, packed]);
  }
  return found;
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
    found = []
    for name, state, parts, packed in page.evaluate(STATES):
        data = io.BytesIO(gzip.decompress(b64decode(packed)))
        for (*owner, last), length in parts:
            reduce(lambda inside, step: inside[step], owner, state)[last] = (
                data.read(length)
            )
        if name == kind:
            found.append(state)
    return found


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
