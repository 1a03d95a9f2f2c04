"""A page with a note of everything that went wrong while it was open."""

import functools
import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import (
    ConsoleMessage,
    Page,
    Request,
    Response,
    TimeoutError,
)

# False on the door, which leads on to the landing page.
ARRIVED = "() => !document.querySelector('meta[http-equiv=refresh]')"
# Widgets sleep until they come near: brings one after the other into sight. And
# until a page has been painted, Chromium drops the keys that are pressed. By
# `scrollTo`: from what has come by `scrollIntoView`, Chromium 150 counts Tab.
WAKE = """async () => {
  const tick = () => new Promise(requestAnimationFrame);
  const kind = "application/vnd.jupyter.widget-view+json";
  for (const view of document.querySelectorAll(`script[type="${kind}"]`)) {
    const before = view.previousElementSibling;
    const place = before?.matches(".widget-picture") ? before
      : view.nextElementSibling;
    const { top, height } = place.getBoundingClientRect();
    const middle = scrollY + top + (height - innerHeight) / 2;
    scrollTo({ top: middle, behavior: "instant" });
    await tick();
    await tick();
  }
  scrollTo({ top: 0, behavior: "instant" });
  await tick();
  await tick();
}"""
# Resolves when every widget of the page stands, or says that it cannot.
STANDING = """() => {
  const kind = "application/vnd.jupyter.widget-view+json";
  const views = [...document.querySelectorAll(`script[type="${kind}"]`)];
  const roots = document.querySelectorAll(".lookback-widget");
  return roots.length >= views.length
    || views.some((view) => view.nextElementSibling?.role === "alert");
}"""
ALERTS = """() => [...document.querySelectorAll('div[role="alert"]')]
  .map((one) => one.innerText)
  .filter((text) => text.includes("could not start"))"""
# Brings whatever loads lazily into sight and waits until a picture has loaded,
# or failed to. No script sees into a frame that stands apart.
SEE_ALL = """async (most) => {
  const tick = () => new Promise(requestAnimationFrame);
  const late = [];
  for (const one of document.querySelectorAll('[loading="lazy"]')) {
    one.scrollIntoView({ behavior: "instant", block: "center" });
    if (one.localName === "iframe") {
      const end = Date.now() + most;
      while (one.dataset.waiting && Date.now() < end) await tick();
      for (const _ of Array(5)) await tick();
    }
    if (one.localName === "iframe" || one.complete) continue;
    if (!one.checkVisibility()) continue;  // folded away
    const come = new Promise((done) => ["load", "error"].forEach(
      (event) => one.addEventListener(event, done, { once: true })));
    const over = new Promise((done) => setTimeout(done, most, "late"));
    if (await Promise.race([come, over]) === "late")
      late.push(one.outerHTML.slice(0, 120));
  }
  scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  await tick();
  await tick();
  await document.fonts.ready;
  return late;
}"""
# The page's widgets as they were when it was opened: what was rendered goes,
# and the page's own host renders them again.
ANEW = """async () => {
  localStorage.clear();
  history.replaceState(null, "", location.pathname);  // no link is followed
  const kind = "application/vnd.jupyter.widget-view+json";
  for (const view of document.querySelectorAll(`script[type="${kind}"]`))
    view.nextElementSibling.remove();
  const host = document.querySelector('script[src*="live_widgets"]');
  const again = document.createElement("script");
  for (const { name, value } of host.attributes)
    again.setAttribute(name, value);
  const ran = new Promise((done) => { again.onload = done; });
  host.replaceWith(again);
  await ran;
  scrollTo({ top: 0, behavior: "instant" });
}"""
CALM = 0.1  # seconds without a request, after which none is expected
PATIENCE = 60  # seconds, for a busy machine
ASKED: list[str] = []  # of this process's servers, address after address


class Quiet(http.server.SimpleHTTPRequestHandler):
    """The usual server, which writes down what it is asked for."""

    def log_message(self, *_: object) -> None:
        ASKED.append(self.path)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder's address on a port of this machine's choice."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Visit:
    """An open page; `troubles` holds what no page may do."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.troubles: list[str] = []
        self.loaded: dict[str, int] = {}
        self.under_way: set[Request] = set()
        self.settled = False
        self.before = len(ASKED)
        self.listeners = {
            "console": self.on_console,
            "pageerror": self.on_error,
            "request": self.on_request,
            "response": self.on_response,
            "requestfinished": self.on_end,
            "requestfailed": self.on_end,
        }
        for event, listener in self.listeners.items():
            page.on(event, listener)

    def leave(self) -> None:
        """Watch no more; the page may be used for another visit."""
        for event, listener in self.listeners.items():
            self.page.remove_listener(event, listener)

    def note(self, kind: str, what: str) -> None:
        self.troubles.append(f"{kind}: {what}")

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.note(f"console {message.type}", message.text)

    def on_error(self, error: Exception) -> None:
        self.note("uncaught", str(error))

    def on_request(self, request: Request) -> None:
        """Nothing may leave the site."""
        own = (self.base, "data:", "blob:", "about:")
        if not request.url.startswith(own):
            self.note("request leaves the site", request.url)
        self.under_way.add(request)

    def on_end(self, request: Request) -> None:
        """What was asked for must come, unless the page was left before."""
        if request.failure and request.failure != "net::ERR_ABORTED":
            self.note(request.failure, request.url)
        self.under_way.discard(request)

    def on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.note(str(response.status), response.url)
        self.loaded[response.url] = response.status

    def open(self, url: str) -> None:
        """Load it all."""
        self.page.goto(url, wait_until="load")

    def settle(self) -> None:
        """Wake every widget of the page, and wait until it stands.

        One that slept on, on a busy machine, is woken again.
        """
        self.page.wait_for_function(ARRIVED)
        self.page.wait_for_load_state()
        end = time.monotonic() + PATIENCE
        while True:
            self.page.evaluate(WAKE)
            try:
                self.page.wait_for_function(STANDING, timeout=10_000)
                break
            except TimeoutError:
                if time.monotonic() > end:
                    raise
        for text in self.page.evaluate(ALERTS):
            self.note("widget", text)
        self.settled = True

    def rest(self) -> None:
        """Wait until all has come that the page has asked for of itself."""
        end, quiet = time.monotonic() + PATIENCE, 0
        while quiet < CALM and time.monotonic() < end:
            self.page.wait_for_timeout(1000 * CALM / 5)
            quiet = 0 if self.under_way else quiet + CALM / 5

    def start_again(self) -> None:
        """The widgets as when the page was opened, the mouse out of them."""
        self.page.mouse.up()
        self.page.mouse.move(0, 0)
        self.page.evaluate(ANEW)
        self.settle()

    def fetched(self, part: str) -> list[str]:
        """What the server was asked for that has this in its address.

        The browser does not always tell of what a worker asks for.
        """
        return [path for path in ASKED[self.before :] if part in path]

    def walk_down(self) -> None:
        """Scroll to the end, so that lazy frames load, and wait for them."""
        for what in self.page.evaluate(SEE_ALL, 1000 * PATIENCE):
            self.note("never came", what)
        for frame in self.page.frames[1:]:
            frame.wait_for_url("about:srcdoc")  # and until it has loaded
        end = time.monotonic() + PATIENCE
        while self.under_way and time.monotonic() < end:
            self.page.wait_for_timeout(10)  # lets the events come in
        for request in self.under_way:
            self.note("never came", request.url)
