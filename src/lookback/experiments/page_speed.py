"""How long does a reader on a slow phone wait for the built book?

Every chapter is opened in a Chromium that is slowed down four times, on a line
of 1.6 Mbit/s with 150 ms of delay, its files packed as a server would pack
them. Of each, the median over several visits: the kilobytes that come before
the reader does anything, when something is first seen, how long a figure takes
from where it comes near until it stands, and how long the page takes to show
the answer to the first click in it. Times mean little on a busy machine, so
its load stands beside them. Needs a built book (`make book`) and a Chromium.
Writes records/page_speed.json.

    python -m lookback.experiments.page_speed
"""

import functools
import gzip
import http.server
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from lookback.experiments.runs import campaign

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SITE = Path(os.environ.get("LOOKBACK_SITE", "_build/html"))
VISITS = 3
SLOWER, LINE, DELAY = 4, 1_600_000, 150  # times, bits a second, milliseconds
WIDTH, HEIGHT = 412, 823  # a phone
PACKED = (".bin", ".png", ".woff2")  # served as they are
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WAIT, PAUSE = 120_000, 3000  # milliseconds, for a busy machine

FIRST_SEEN = """() => new Promise((seen) => {
  new PerformanceObserver((list) => {
    for (const { name, startTime } of list.getEntries())
      if (name === "first-contentful-paint") seen(startTime);
  }).observe({ type: "paint", buffered: true });
})"""
# Scrolls to the first figure that is no quiz, and waits until it stands.
REACH = """() => new Promise((stands) => {
  const all = (what) =>
    [...document.querySelectorAll(`script[type$="widget-${what}+json"]`)];
  const views = all("view");
  const { state: states } = JSON.parse(all("state")[0].textContent);
  const kind = (view) =>
    states[JSON.parse(view.textContent).model_id].state._anywidget_id;
  const view = views.find((one) => !kind(one).includes(".quiz.")) ?? views[0];
  const slot = view.nextElementSibling;
  const began = performance.now();
  const look = () => {
    const root = slot.querySelector(".lookback-widget");
    if (!root) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => {
      root.dataset.reached = "";
      stands(performance.now() - began);
    }));
  };
  const watch = new MutationObserver(look);
  watch.observe(slot, { childList: true, subtree: true });
  (view.previousElementSibling ?? slot).scrollIntoView({ behavior: "instant" });
  look();
})"""
LISTEN = """() => {
  window.answered = new Promise((done) => {
    new PerformanceObserver((list) => {
      for (const { name, duration } of list.getEntries())
        if (name === "click") done(duration);
    }).observe({ type: "event", durationThreshold: 16 });
    addEventListener("click", () => setTimeout(done, 3000, 16), { once: true });
  });
}"""
# What begins a walk; where there is none, whatever can be clicked first.
FIRST_STEP = (
    "[data-reached] :is([data-action=next], [data-action=previous])"
    ":not([aria-disabled=true]):visible",
    "[data-reached] :is(button, input, select):visible",
)


class Packing(http.server.SimpleHTTPRequestHandler):
    """Serves text packed, over one connection, and says nothing."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return self.send_error(404)
        data = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if path.suffix not in PACKED:
            data = gzip.compress(data)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Server(http.server.ThreadingHTTPServer):
    """Says nothing of a browser that leaves in the middle of a file."""

    def handle_error(self, *_: object) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site's address while it is served."""
    handler = functools.partial(Packing, directory=str(site))
    with Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def slow(page: "Page") -> dict[str, int]:
    """Slow a page's machine and line; what it says of bytes comes in here."""
    wire = page.context.new_cdp_session(page)
    loaded = {"bytes": 0}

    def count(event: dict) -> None:
        loaded["bytes"] += event["encodedDataLength"]

    wire.on("Network.loadingFinished", count)
    wire.send("Network.enable")
    wire.send("Network.setCacheDisabled", {"cacheDisabled": True})
    line = {"downloadThroughput": LINE / 8, "uploadThroughput": LINE / 8}
    wire.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": DELAY, **line},
    )
    wire.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return loaded


def visit(browser: "Browser", address: str) -> dict[str, float]:
    """One visit to one chapter."""
    page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    page.set_default_timeout(WAIT)
    try:
        loaded = slow(page)
        page.goto(address, timeout=WAIT)
        page.locator(".lookback-figure").first.wait_for(state="attached")
        seen = page.evaluate(FIRST_SEEN)
        page.evaluate("document.fonts.ready")
        page.wait_for_timeout(PAUSE)  # what is near comes now
        at_first = loaded["bytes"]
        stands = page.evaluate(REACH)
        page.evaluate(LISTEN)
        steps = [page.locator(each) for each in FIRST_STEP]
        next(each for each in steps if each.count()).first.click()
        return {
            "kilobytes": at_first / 1000,
            "first_paint": seen,
            "figure": stands,
            "answer": page.evaluate("answered"),
        }
    finally:
        page.close()


def chapters(site: Path) -> list[str]:
    """The pages that have figures, by name."""
    pages = sorted((site / "book").glob("*.html"))
    return [
        page.stem
        for page in pages
        if "widget-view+json" in page.read_text(encoding="utf-8")
    ]


def measure(site: Path, visits: int) -> dict[str, dict[str, float]]:
    """The medians of every chapter, in turn, so that no hour weighs on one."""
    from playwright.sync_api import sync_playwright

    names = chapters(site)
    if not names:
        raise SystemExit(f"no book in {site}: run `make book`")
    found: dict[str, list[dict]] = {name: [] for name in names}
    path = os.environ.get("LOOKBACK_CHROMIUM") or next(
        filter(None, map(shutil.which, CHROMIUMS)), None
    )
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright, served(site) as address:
        browser = playwright.chromium.launch(executable_path=path, args=sandbox)
        for _ in range(visits):
            for name in names:
                one = visit(browser, f"{address}/book/{name}.html")
                found[name].append(one)
                print(name, {k: round(v) for k, v in one.items()}, flush=True)
        browser.close()
    return {
        name: {key: median(one[key] for one in each) for key in each[0]}
        for name, each in found.items()
    }


def run(seed: int, folder: Path) -> dict:
    """All chapters, and how busy the machine was meanwhile."""
    found = measure(SITE, VISITS)
    busy = {"cores": os.cpu_count(), "load": round(os.getloadavg()[2], 1)}
    return {"chapters": found, **busy}


def main(arguments: Sequence[str] | None = None) -> None:
    campaign(
        "page_speed",
        __doc__,
        {"visits": run},
        lambda found: found["visits"][0],
        config={
            "visits": VISITS,
            "slower": SLOWER,
            "bits_a_second": LINE,
            "delay_ms": DELAY,
            "width": WIDTH,
            "height": HEIGHT,
        },
        keep=False,
        arguments=arguments,
    )


if __name__ == "__main__":
    main()
