"""Find a Chromium: named, on the machine, Playwright's, or Debian's."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import matplotlib
from playwright.sync_api import Browser, Error, Playwright

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
# No graphics card is played in software: nothing here looks at pixels.
PLAIN = ("--disable-gpu", "--disable-software-rasterizer")
# Widgets are set in the reader's own face, and are as high as it makes them.
FONTS = """<fontconfig>
  <dir>{folder}/fonts/ttf</dir>
  <cachedir>{home}</cachedir>
  <match target="pattern">
    <edit name="family" mode="append"><string>{face}</string></edit>
    <edit name="hintstyle" mode="assign"><const>hintslight</const></edit>
  </match>
  <alias>
    <family>monospace</family>
    <prefer><family>{face} Mono</family></prefer>
  </alias>
</fontconfig>"""
HELP = """No Chromium was found, and none could be fetched.
Install one (Debian and Ubuntu: apt-get install chromium), or name one:
    LOOKBACK_CHROMIUM=/path/to/chrome make test"""


class NoBrowser(RuntimeError):
    """No Chromium or Chrome could be had; the message says what to do."""


def named() -> str | None:
    """The one that LOOKBACK_CHROMIUM names, which then must exist."""
    path = os.environ.get("LOOKBACK_CHROMIUM")
    if path and not Path(path).exists():
        raise NoBrowser(f"LOOKBACK_CHROMIUM names {path}, which is not there")
    return path


def on_path() -> str | None:
    """The first one on the PATH."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def from_playwright(playwright: Playwright) -> str | None:
    """Playwright's own, downloaded where that is possible."""
    path = playwright.chromium.executable_path
    if not Path(path).exists():
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
        try:
            subprocess.run(command, timeout=600, check=True)
        except (subprocess.SubprocessError, OSError):
            return None
    return path if Path(path).exists() else None


def from_debian() -> str | None:
    """Debian's package, where we may install it."""
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0:
        return None
    quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run([apt, "update"], **quiet)
    subprocess.run([apt, "install", "-y", "chromium"], **quiet)
    return on_path()


@cache
def find(playwright: Playwright) -> str:
    """The path of a Chromium, or NoBrowser."""
    path = named() or on_path() or from_playwright(playwright) or from_debian()
    if path is None:
        raise NoBrowser(HELP)
    return path


def same_fonts(home: Path) -> dict[str, str]:
    """What gives it Matplotlib's DejaVu, on Linux, for the machine's own."""
    folder = matplotlib.get_data_path()
    path = home / "fonts.conf"
    text = FONTS.format(folder=folder, home=home, face="DejaVu Sans")
    path.write_text(text, encoding="utf-8")
    return {"FONTCONFIG_FILE": str(path)}


def launch(playwright: Playwright, home: Path, **env: str) -> Browser:
    """Start it with a home folder of its own, so that ours stays clean."""
    path = find(playwright)
    sandbox = () if os.geteuid() else ("--no-sandbox",)
    try:
        return playwright.chromium.launch(
            executable_path=path,
            args=[*PLAIN, *sandbox],
            env=os.environ
            | {"HOME": str(home), "XDG_CACHE_HOME": str(home)}
            | env,
        )
    except Error as error:
        raise NoBrowser(f"{path} does not start:\n{error}") from error
