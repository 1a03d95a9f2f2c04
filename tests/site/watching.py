"""A page with a note of everything that went wrong while it was open."""

from playwright.sync_api import ConsoleMessage, Page, Request, Response


class Visit:
    """An open page; `troubles` holds what no page may do."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.troubles: list[str] = []
        self.loaded: dict[str, int] = {}
        self.under_way: set[Request] = set()
        page.on("console", self.on_console)
        page.on("pageerror", lambda e: self.note("uncaught", str(e)))
        page.on("request", self.on_request)
        page.on("response", self.on_response)
        page.on("requestfinished", self.on_end)
        page.on("requestfailed", self.on_end)

    def note(self, kind: str, what: str) -> None:
        self.troubles.append(f"{kind}: {what}")

    def on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self.note(f"console {message.type}", message.text)

    def on_request(self, request: Request) -> None:
        """Nothing may leave the site."""
        own = (self.base, "data:", "blob:", "about:")
        if not request.url.startswith(own):
            self.note("request leaves the site", request.url)
        self.under_way.add(request)

    def on_end(self, request: Request) -> None:
        """Whatever was asked for must come."""
        if request.failure:
            self.note("failed", request.url)
        self.under_way.discard(request)

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
        """Scroll to the end, so that lazy frames load, and wait for them."""
        page = self.page
        height = page.evaluate("document.documentElement.scrollHeight")
        for top in range(0, height, 700):  # at once; the theme would glide
            page.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
            page.wait_for_timeout(30)
        quiet = 0
        for _ in range(600):
            page.wait_for_timeout(100)
            quiet = 0 if self.under_way else quiet + 1
            if quiet == 5:
                return
        self.note("never came", ", ".join(r.url for r in self.under_way))
