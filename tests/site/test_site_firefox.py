"""Every page in Firefox, which is spoken to by WebDriver BiDi alone."""

import itertools
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import websocket

from contents import OTHERS, PAGES
from watching import ALERTS, ARRIVED, PATIENCE, STANDING, WAKE

pytestmark = pytest.mark.nightly
PREFERENCES = """user_pref("app.update.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("dom.serviceWorkers.enabled", false);
user_pref("browser.newtabpage.enabled", false);
"""
WIDER = """() => document.documentElement.scrollWidth
  - document.documentElement.clientWidth"""

# Said of a formula of which one half had come when Firefox first drew it ...
HALF = "Invalid markup: Incorrect number of children"
# ... so what is whole is looked at afterwards.
NOT_TWO = """() => [...document.querySelectorAll("mfrac, msub, msup")]
  .filter((one) => one.children.length !== 2).map((one) => one.outerHTML)"""


def path() -> str:
    """Firefox, on the PATH or Debian's, where we may install it."""
    names = ("firefox-esr", "firefox")
    found = next(filter(None, map(shutil.which, names)), None)
    apt = shutil.which("apt-get")
    if not found and apt and os.geteuid() == 0:
        quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
        subprocess.run([apt, "update"], **quiet)
        subprocess.run([apt, "install", "-y", names[0]], **quiet)
        found = shutil.which(names[0])
    if not found:
        pytest.skip("no Firefox here, and none could be installed")
    return found


class Firefox:
    """One tab; `events` holds what it told of since it was emptied."""

    def __init__(self, address: str) -> None:
        self.wire = websocket.create_connection(
            f"{address}/session", timeout=PATIENCE, suppress_origin=True
        )
        self.numbers = itertools.count()
        self.events: list[dict[str, Any]] = []
        self.call("session.new", capabilities={})
        told = ["log.entryAdded", "network.beforeRequestSent"]
        self.call("session.subscribe", events=told)
        tree = self.call("browsingContext.getTree")
        self.tab = tree["contexts"][0]["context"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a command; events that come before it are kept."""
        number = next(self.numbers)
        asked = {"id": number, "method": method, "params": params}
        self.wire.send(json.dumps(asked))
        while (answer := json.loads(self.wire.recv())).get("id") != number:
            self.events.append(answer)
        assert answer["type"] == "success", answer
        return answer["result"]

    def open(self, url: str, width: int) -> None:
        size = {"width": width, "height": 740}
        self.call(
            "browsingContext.setViewport", context=self.tab, viewport=size
        )
        self.events.clear()
        self.call(
            "browsingContext.navigate",
            context=self.tab,
            url=url,
            wait="complete",
        )

    def ask(self, function: str) -> Any:
        """What a function of the page gives, as JSON."""
        answer = self.call(
            "script.evaluate",
            expression=f"Promise.resolve(({function})()).then(JSON.stringify)",
            target={"context": self.tab},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def wait(self, function: str) -> None:
        """Until this function of the page holds."""
        self.ask(
            f"""async () => {{
              const end = Date.now() + {1000 * PATIENCE};
              while (!({function})() && Date.now() < end)
                await new Promise((done) => setTimeout(done, 50));
            }}"""
        )
        assert self.ask(function), function


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """One Firefox with a profile of its own."""
    home = tmp_path_factory.mktemp("firefox")
    (home / "user.js").write_text(PREFERENCES, encoding="utf-8")
    command = [path(), "--headless", "--no-remote", "--profile", str(home)]
    with subprocess.Popen(
        [*command, "--remote-debugging-port=0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"HOME": str(home)},
    ) as running:
        lines = map(
            re.compile(r"BiDi listening on (\S+)").search, running.stderr
        )
        firefox = Firefox(next(filter(None, lines))[1])
        yield firefox
        firefox.call("browser.close")


@pytest.mark.parametrize("name", [*PAGES, *OTHERS])
def test_page_in_firefox(firefox, address, name):
    """On a phone: no trouble, nothing leaves, every widget stands."""
    firefox.open(f"{address}/{name}.html", 375)
    firefox.wait(ARRIVED)
    firefox.wait("() => document.readyState === 'complete'")
    firefox.ask(WAKE)
    firefox.wait(STANDING)
    assert firefox.ask(ALERTS) == []
    assert firefox.ask(WIDER) <= 0
    assert firefox.ask(NOT_TWO) == []
    own = (address, "data:", "blob:", "about:")
    for event in firefox.events:
        told = event["params"]
        bad = told.get("level") in ("error", "warn")
        assert not bad or told["text"].startswith(HALF), told["text"]
        assert told.get("request", {"url": address})["url"].startswith(own)
