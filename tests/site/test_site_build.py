"""The book's own Sphinx extensions and the tools that `make` calls."""

import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest
from jupyter_cache import get_cache
from myst_nb.core.read import read_myst_markdown_notebook

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


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A stand-in for the repository: a module, a record, executed cells."""
    monkeypatch.setattr(book_site, "ROOT", tmp_path)
    module = tmp_path / "src/lookback/model.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\n")
    record = tmp_path / "src/lookback/records/run.json"
    record.parent.mkdir()
    record.write_text("{}")
    cells = tmp_path / "_build/.jupyter_cache"
    app = SimpleNamespace(outdir=tmp_path / "_build/html")

    def build():
        """True where the cells' outputs were kept."""
        book_site.forget_stale_outputs(app, SimpleNamespace())
        kept = cells.exists()
        cells.mkdir(parents=True, exist_ok=True)
        return kept

    build()
    return SimpleNamespace(build=build, module=module, record=record)


def test_outputs_are_kept_while_nothing_changes(book):
    assert book.build() and book.build()


@pytest.mark.parametrize("part", ["module", "record"])
def test_outputs_go_when_code_or_records_change(book, part):
    getattr(book, part).write_text("changed")
    assert not book.build()
    assert book.build()


def test_a_new_module_counts_as_a_change(book):
    (book.module.parent / "widgets.js").write_text("1")
    assert not book.build()


PAGE = """---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
---

# A page

```{code-cell} ipython3
%s
```
"""


@pytest.mark.nightly
def test_pages_run_beside_each_other_and_the_build_finds_them(tmp_path):
    """A page that fails is left to the build; one that is gone does no harm."""
    cells = {"one": "print(1)", "two": "print(2)", "bad": "1 / 0"}
    for name, cell in cells.items():
        (tmp_path / f"{name}.md").write_text(PAGE % cell, encoding="utf-8")
    (tmp_path / "text.md").write_text("# No cells\n", encoding="utf-8")
    settings = SimpleNamespace(
        execution_mode="cache",
        execution_cache_path=str(tmp_path / "cache"),
        execution_timeout=60,
    )
    env = SimpleNamespace(
        mystnb_config=settings, doc2path=lambda name: tmp_path / f"{name}.md"
    )

    def kept(*names):
        book_site.run_cells(None, env, list(names))
        records = get_cache(tmp_path / "cache").list_cache_records()
        return sorted(Path(record.uri).stem for record in records)

    assert kept("one", "bad", "text") == ["one"]
    (tmp_path / "one.md").unlink()
    assert kept("two", "text") == ["one", "two"]
    page = read_myst_markdown_notebook(PAGE % cells["two"])
    _, merged = get_cache(tmp_path / "cache").merge_match_into_notebook(page)
    assert merged.cells[-1].outputs[0].text == "2\n"
    settings.execution_mode = "off"
    (tmp_path / "two.md").write_text(PAGE % "print(3)", encoding="utf-8")
    assert kept("two") == ["one", "two"]


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
    (tmp_path / "tools").mkdir()
    for name in environment.PINS:
        (tmp_path / name).write_text("one")
    before = environment.wanted()
    assert environment.wanted() == before
    (tmp_path / environment.PINS[0]).write_text("two")
    assert environment.wanted() != before


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

    planned = run(
        "make", "-n", "-o", "environment", "-o", "libraries", *TARGETS
    )
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
