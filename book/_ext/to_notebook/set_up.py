# @title Set-up: fetches the book's package where it is missing, as in Colab
# Where `lookback` is installed, this cell does nothing.
import importlib
import os
import re
import site
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import getproxies

BOOK, BRANCH, VERSION = "REPOSITORY", "BRANCH", "VERSION"
BERTVIZ = "bertviz==1.4.1 --hash=sha256:"
BERTVIZ += "e53e5fb77812d73fdc1142f56334cbf723d6cfcb54f9a6f6d3d5c83dd9763192"


def here():
    """Is `lookback` found?  Another one than the book's is an error."""
    importlib.invalidate_caches()
    found = find_spec("lookback")
    if found is None or found.origin is None:  # a folder is no package
        return False
    package = importlib.import_module("lookback")
    ours = getattr(package, "BOOK", None) == "Looking Back"
    if ours and [*map(int, package.__version__.split("."))] >= VERSION:
        return True
    raise RuntimeError(
        f"{found.origin} is another lookback than the book's, or an old one:"
        " rename it if it is yours, or run `%pip uninstall -y lookback` in a"
        " new cell; then restart the kernel."
    )


def works(*command):
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def install(*what, **settings):
    """Install into this kernel's Python, whatever a shell's would be."""
    pip = [sys.executable, "-m", "pip", "install", "-q"]
    if not find_spec("pip"):
        if works("uv", "--version"):
            pip = ["uv", "pip", "install", "-q", "--python", sys.executable]
        else:
            works(sys.executable, "-m", "ensurepip")
    env = {**os.environ, "LC_ALL": "C", "UV_NO_WRAP": "1", **settings}
    if not site.ENABLE_USER_SITE:
        env["PIP_USER"] = "0"
    if "REQUESTS_CA_BUNDLE" in env:
        for name in ("PIP_CERT", "GIT_SSL_CAINFO", "SSL_CERT_FILE"):
            env.setdefault(name, env["REQUESTS_CA_BUNDLE"])
    as_text = {"encoding": "utf-8", "errors": "replace"}
    run = subprocess.run([*pip, *what], capture_output=True, env=env, **as_text)
    if run.returncode:
        raise OSError(run.stderr)


def why(said):
    """What stopped pip, and the way out; then pip's own words."""
    folder, python = Path("lookback/bin"), "python3.12"
    if os.name == "nt":
        folder, python = Path("lookback/Scripts"), "py -3.12"
    own = f"""in a terminal, make an environment of your own:
    {sys.executable} -m venv lookback
    {folder / "python"} -m pip install jupyterlab "{PACKAGE}"
    {folder / "jupyter"} lab"""
    other = f"install Python 3.12, and {own}".replace(sys.executable, python)
    this = "Python {}.{}".format(*sys.version_info)
    again = "then run this cell again."
    network = f"{BOOK} is out of reach: connect this computer, {again}"
    proxies = "A proxy lets nothing through: correct it where it is set, see"
    proxies += f" `pip config list` and `git config --list`; {again}"
    proxy = getproxies().get("https", getproxies().get("all"))
    if proxy:
        proxies = f"The proxy {proxy} lets nothing through: ask for the right"
        proxies += f" one, run\n    %env https_proxy=http://…\n{again}"
        network = proxies
    cures = {
        "emscripten": "This Python runs in a browser, where torch does not:"
        " open the notebook in Colab.",
        "no module named pip": f"This kernel's Python has no pip: {own}",
        "externally.managed": f"The system manages this Python: {own}",
        "permission denied|read-only": "You may not write where Python"
        f" is: go where you may, and {own}",
        "no space|quota": "The disk is full: make room, some gigabytes;"
        f" {again}",
        "different python|satisfy python": "The book is not for"
        f" {this}: {other}",
        "certificate": "Your network's certificate is not known here: ask for"
        " its file, run\n    %env REQUESTS_CA_BUNDLE=/path/of/the/file.pem\n"
        + again,
        "proxy|socks": proxies,
        "connect|resolve|timed out|unreachable": network,
        "no matching|no solution": "Where pip looks, there is no such package"
        f" for {this}: if that is not PyPI, ask its keeper; if it is, {other}",
        "404|pathspec|repository .*not found|username": f"{BOOK} has no"
        f" “{BRANCH}” for you: open this notebook from the book's page again.",
        "kernel does not find": "Restart the kernel. If that is not enough,"
        " look for target, prefix or root in\n"
        f"    {sys.executable} -m pip config list\nand unset it.",
        "fatal: |error: (?!subprocess)": f"Run this cell again, or {own}",
        "": f"Run this cell again, or {own}",
    }
    for cause, cure in cures.items():
        for line in reversed(said.strip().split("\n")):
            if re.search(cause, line, re.IGNORECASE):
                text = f"{cure}\n\npip said: {line.strip()}"
                return re.sub(r"<.+?>: |(?<=//)[^/@\s]+@", "", text)


if not here():
    print("Fetching the book's package: about a minute …", flush=True)
    PACKAGE = f"lookback @ {BOOK}/archive/{BRANCH}.zip"
    if works("git", "--version"):
        PACKAGE = f"lookback @ git+{BOOK}@{BRANCH}"
    try:
        with TemporaryDirectory() as template:
            # All but the trained weights: a cell that needs one fetches it.
            Path(template, "info").mkdir()
            Path(template, "info", "sparse-checkout").write_text("/*\n!*.gz")
            Path(template, "config").write_text("[core]\nsparseCheckout = true")
            install(PACKAGE, GIT_TEMPLATE_DIR=template, GIT_TERMINAL_PROMPT="0")
            pinned = Path(template, "bertviz.txt")
            pinned.write_text(BERTVIZ)
            try:
                install("--no-deps", "-r", str(pinned))
            except OSError as error:
                said = why(str(error)).split("\n")[-1]
                print(f"A few pictures will be missing; {said}")
        if site.ENABLE_USER_SITE:  # pip may have made this folder just now
            site.addsitedir(site.getusersitepackages())
        if not here():
            raise OSError("all is installed; but this kernel does not find it")
    except OSError as error:
        raise RuntimeError(why(str(error))) from None
    print("Ready.")
