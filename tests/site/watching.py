"""A page with a note of everything that went wrong while it was open."""

from playwright.sync_api import ConsoleMessage, Page, Response


class Visit:
    """An open page; `troubles` holds what no page may do."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.troubles: list[str] = []
        self.loaded: dict[str, int] = {}
        page.on("console", self.on_console)
        page.on("pageerror", lambda e: self.note("uncaught", str(e)))
        page.on("requestfailed", lambda r: self.note("failed", r.url))
        page.on("request", lambda r: self.on_request(r.url))
        page.on("response", self.on_response)

    def note(self, kind: str, what: str) -> None:
        self.troubles.append(f"{kind}: {what}")

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.note(f"console {message.type}", message.text)

    def on_request(self, url: str) -> None:
        """Nothing may leave the site."""
        own = (self.base, "data:", "blob:", "about:")
        if not url.startswith(own):
            self.note("request leaves the site", url)

    def on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.note(str(response.status), response.url)
        self.loaded[response.url] = response.status

    def open(self, url: str) -> None:
        """Load it all."""
        self.page.goto(url, wait_until="load")

    def settle(self) -> None:
        """Wait until every widget of the page stands."""
        self.page.wait_for_function(
            """() => {
              const kind = "application/vnd.jupyter.widget-view+json";
              const views = document.querySelectorAll(`script[type="${kind}"]`);
              const roots = document.querySelectorAll(".lookback-widget");
              return roots.length >= views.length;
            }"""
        )

    def walk_down(self) -> None:
        """Scroll to the end, so that lazy frames load."""
        page = self.page
        height = page.evaluate("document.documentElement.scrollHeight")
        for top in range(0, height, 700):
            page.evaluate(f"scrollTo(0, {top})")
            page.wait_for_timeout(30)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(100)
