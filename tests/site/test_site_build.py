"""The book's own Sphinx extensions and the tools that `make` calls."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from types import SimpleNamespace

import pytest

from contents import ROOT

sys.path[:0] = [str(ROOT / "book" / "_ext"), str(ROOT / "tools")]

import book_site  # noqa: E402
import chapter  # noqa: E402
import drawing  # noqa: E402
import environment  # noqa: E402
import mathematics  # noqa: E402
import serve  # noqa: E402

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20">
<defs><marker id="tip"/></defs><style>.a {{ fill: url(#tip) }}</style>
<path id="line" marker-end="url(#tip)" d="M0 0"/><use href="#line"/>{0}</svg>"""


def svg(folder, extra="", name="My route.svg"):
    path = folder / name
    path.write_text(SVG.format(extra), encoding="utf-8")
    return path


def test_drawing_is_one_labelled_picture_with_its_own_ids(tmp_path):
    html = drawing.inline(svg(tmp_path), 'a "route" & more')
    assert 'role="img"' in html
    assert 'aria-label="a &quot;route&quot; &amp; more"' in html
    assert 'id="drawing-my-route-tip"' in html
    assert 'marker-end="url(#drawing-my-route-tip)"' in html
    assert 'href="#drawing-my-route-line"' in html
    assert "max-width: 40px" in html
    assert ".drawing-my-route {" in html
    assert "ns0:" not in html


def test_two_drawings_share_no_id(tmp_path):
    one = drawing.inline(svg(tmp_path, name="one.svg"), "one")
    two = drawing.inline(svg(tmp_path, name="two.svg"), "two")
    assert 'id="drawing-one-tip"' in one and 'id="drawing-two-tip"' in two


def test_drawing_without_a_viewbox_is_refused(tmp_path):
    path = tmp_path / "x.svg"
    path.write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    with pytest.raises(ValueError, match="viewBox"):
        drawing.inline(path, "x")


def test_every_drawing_of_the_book_can_be_set():
    paths = sorted(drawing.DRAWINGS.glob("*.svg"))
    assert paths
    for path in paths:
        assert "<svg" in drawing.inline(path, "alt")


def test_strip_takes_its_address_from_the_repository():
    address = chapter.colab_address("https://github.com/me/fork/", "main", "x")
    assert address == (
        "https://colab.research.google.com/github/me/fork"
        "/blob/main/notebooks/x.ipynb"
    )
    html = chapter.strip("x", address, 50, "vectors & matrices")
    assert 'href="../notebooks/x.ipynb" download' in html
    assert "50 minutes" in html and "vectors &amp; matrices" in html
    needs = "matrices ({doc}`a refresher <refresher>`)"
    html = chapter.strip("x", address, 50, needs)
    assert '(<a href="refresher.html">a refresher</a>)' in html


def test_site_address_follows_from_the_repository():
    address = book_site.site_address("https://github.com/me/fork")
    assert address == "https://me.github.io/fork/"


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://github.com/me/fork", "me/fork"),
        ("https://github.com/me/my.fork.git/", "me/my.fork"),
        ("https://x:secret@github.com/me/fork.git", "me/fork"),
        ("git@github.com:me/fork.git", "me/fork"),
        ("ssh://git@github.com:22/me/fork.git", "me/fork"),
        ("https://notgithub.com/me/fork", "us/book"),
        ("https://mirror.example/github.com/me/fork", "us/book"),
        ("git@work:me/fork.git", "us/book"),
        ("../looking-back", "us/book"),
        ("file:///home/me/fork", "us/book"),
        (None, "us/book"),
    ],
)
def test_a_fork_s_book_has_the_fork_s_address(
    tmp_path, monkeypatch, origin, address
):
    monkeypatch.setattr(book_site, "ROOT", tmp_path)
    ours = "https://github.com/us/book"
    assert book_site.fork(ours) == ours  # a download has no remote
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    if origin:
        subprocess.run([*git, "remote", "add", "origin", origin], check=True)
    assert book_site.fork(ours) == f"https://github.com/{address}"
    known = None if address == "us/book" else f"https://github.com/{address}"
    assert book_site.origin(ours) == known


@pytest.fixture
def setter(site):
    """KaTeX; the site's build has fetched it."""
    one = mathematics.Setter()
    yield one
    one.stop()


def test_formulas_are_set_and_wrong_ones_named(setter):
    assert "katex" in setter.set(r"\alpha_{ij}", False)["html"]
    assert "mathml" in setter.set(r"\frac{a}{b}", True)["html"]
    assert "undefined" in setter.set(r"\undefinedthing", False)["error"].lower()


def test_blank_lines_and_breaks_align():
    assert mathematics.aligned("a = b") == "a = b"
    assert mathematics.aligned("a\n\nb") == (
        r"\begin{aligned}a\\b\end{aligned}"
    )
    assert mathematics.aligned(r"a \\ b") == (r"\begin{split}a \\ b\end{split}")


def test_only_pages_of_the_book_are_left(tmp_path):
    (tmp_path / "book").mkdir()
    for name in ("kept", "gone"):
        (tmp_path / f"book/{name}.html").write_text("")
    env = SimpleNamespace(found_docs={"book/kept"})
    book_site.finish(SimpleNamespace(env=env, outdir=tmp_path), None)
    assert [path.name for path in (tmp_path / "book").iterdir()] == [
        "kept.html"
    ]


@pytest.mark.parametrize("version", [(3, 9, 1), (3, 14, 0)])
def test_a_python_out_of_range_is_told_so(monkeypatch, version):
    monkeypatch.setattr(environment.sys, "version_info", version)
    with pytest.raises(SystemExit, match=r"3\.10 to 3\.13 is needed"):
        environment.check_python()


def test_make_says_so_when_no_python_is_there():
    done = subprocess.run(
        ["make", "environment", "PYTHON="],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "Python 3.10 to 3.13 is needed" in done.stderr


def test_environment_is_made_again_when_a_pin_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "ROOT", str(tmp_path))
    for name in (environment.BOOK, environment.TEST, environment.HASHES):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")
    book, test = map(environment.wanted, ("book", "test"))
    assert book == environment.wanted("book") != test
    (tmp_path / environment.TEST).write_text("two")
    assert book == environment.wanted("book")
    assert test != environment.wanted("test")
    (tmp_path / environment.BOOK).write_text("two")
    assert book != environment.wanted("book")


def test_uv_asks_where_pip_s_settings_say(monkeypatch):
    for name in [*os.environ]:
        if name.startswith(("UV_", "PIP_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "https://one.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "/a /b")
    said = environment.settings()
    assert said["UV_DEFAULT_INDEX"] == "https://one.example/simple"
    assert said["UV_FIND_LINKS"] == "/a,/b"
    assert "UV_INDEX_STRATEGY" not in said
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://two.example/simple")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine.example/simple")
    said = environment.settings()
    assert said["UV_DEFAULT_INDEX"] == "https://mine.example/simple"
    assert said["UV_INDEX"] == "https://two.example/simple"
    assert said["UV_INDEX_STRATEGY"] == "unsafe-best-match"


TARGETS = "book serve test format lint lab notebooks train bench".split()


@pytest.mark.nightly
def test_every_command_starts_in_a_folder_of_any_name(tmp_path):
    """With a space, quotes, $ and é: first lines of programs break there."""
    folder = tmp_path / "a b'c\"d$e é"
    venv.create(folder / ".venv", symlinks=True)
    (folder / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    site = next((folder / ".venv").glob("lib/*/site-packages"))
    (site / "ours.pth").write_text(sysconfig.get_path("purelib"))

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    planned = run("make", "-n", "-o", "environment", "-o", "tools", *TARGETS)
    assert set(re.findall(r"\.venv/bin/\S+", planned)) == {".venv/bin/python"}
    modules = set(re.findall(r"-m (\w+)", planned)) - {"lookback"}
    assert {"ruff", "codespell_lib", "pytest", "jupyterlab"} <= modules
    for module in modules:
        run(".venv/bin/python", "-m", module, "--version")
    code = re.search(r'-c "(.*)" build', planned)[1]
    run(".venv/bin/python", "-c", code, "--version")


@pytest.mark.parametrize(
    "port", ["65536", "-1", "8000x", "", "1e3", "9" * 5000]
)
def test_a_port_that_is_none_is_told_so(port):
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "serve.py", "book", port],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "give a number from 0 to 65535" in done.stderr
    assert "Traceback" not in done.stderr


def test_server_stops_at_the_last_port(tmp_path):
    with serve.bind(str(tmp_path), serve.LAST) as server:
        assert server.server_port == serve.LAST
        with pytest.raises(SystemExit, match="from 65535 to 65535"):
            serve.bind(str(tmp_path), serve.LAST)


def test_server_takes_the_next_port_when_one_is_taken(tmp_path):
    with serve.bind(str(tmp_path), 8710) as first:
        with serve.bind(str(tmp_path), first.server_port) as second:
            assert second.server_port > first.server_port
