"""Pages' cells: run on kernels that are forked, kept while nothing changes."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from jupyter_cache import get_cache
from jupyter_client.provisioning import KernelProvisionerFactory
from myst_nb.core.read import read_myst_markdown_notebook

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import cells  # noqa: E402
import warm  # noqa: E402

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
READS = """import sys
sys.path.insert(0, "src")
import model
print(model.x, open("src/run.json").read())"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A stand-in for the repository: two pages, a module, a record."""
    monkeypatch.setattr(cells, "ROOT", tmp_path)
    monkeypatch.setattr(warm, "PRELOADED", ("warm", "ipykernel.kernelapp"))
    factory = KernelProvisionerFactory.instance()
    monkeypatch.setattr(
        factory, "default_provisioner_name", "local-provisioner"
    )
    monkeypatch.setitem(os.environ, "IPYTHONDIR", "")
    warm.use(tmp_path / "profile", tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/model.py").write_text("x = 1\n")
    (tmp_path / "src/run.json").write_text("{}")
    settings = SimpleNamespace(
        execution_mode="cache",
        execution_cache_path=str(tmp_path / "cache"),
        execution_timeout=60,
    )
    env = SimpleNamespace(
        mystnb_config=settings, doc2path=lambda name: tmp_path / f"{name}.md"
    )
    monkeypatch.setattr(cells, "status_iterator", lambda done, *_, **__: done)

    def write(name, code):
        (tmp_path / f"{name}.md").write_text(PAGE % code, encoding="utf-8")

    def build(*names):
        """The pages that were run, and those whose outputs are kept."""
        ran = []
        notes = Path(settings.execution_cache_path, "opened")
        before = {p: p.stat().st_mtime_ns for p in notes.glob("*.txt")}
        cells.run(None, env, list(names))
        for path in notes.glob("*.txt"):
            if path.stat().st_mtime_ns != before.get(path):
                ran.append(path.stem)
        records = get_cache(settings.execution_cache_path).list_cache_records()
        return sorted(ran), sorted(Path(one.uri).stem for one in records)

    def said(code):
        """What the cached cell of this code has printed."""
        page = read_myst_markdown_notebook(PAGE % code)
        cache = get_cache(settings.execution_cache_path)
        _, merged = cache.merge_match_into_notebook(page)
        return merged.cells[-1].outputs[0].text

    (tmp_path / "text.md").write_text("# No cells\n", encoding="utf-8")
    return SimpleNamespace(
        build=build, said=said, write=write, folder=tmp_path, settings=settings
    )


@pytest.mark.nightly
def test_pages_run_beside_each_other_and_the_build_finds_them(book):
    """A page that fails is left to the build; one that is gone does no harm."""
    book.write("one", "print(1)")
    book.write("bad", "1 / 0")
    assert book.build("one", "bad", "text") == (["bad", "one"], ["one"])
    (book.folder / "one.md").unlink()
    book.write("two", "print(2)")
    assert book.build("two", "text") == (["two"], ["one", "two"])
    assert book.said("print(2)") == "2\n"
    book.settings.execution_mode = "off"
    book.write("two", "print(3)")
    assert book.build("two") == ([], ["one", "two"])


@pytest.mark.parametrize("part", ["src/model.py", "src/run.json"])
def test_a_page_runs_anew_when_what_it_opened_has_changed(book, part):
    """And no other page does."""
    book.write("reads", READS)
    book.write("plain", "print(1)")
    both = ["plain", "reads"]
    assert book.build(*both) == (both, both)
    assert book.said(READS) == "1 {}\n"
    assert book.build(*both) == ([], both)
    (book.folder / part).write_text("x = 22")
    assert book.build(*both) == (["reads"], both)
    assert "22" in book.said(READS)
    assert book.build(*both) == ([], both)
    (book.folder / part).unlink()  # it cannot be read: left to the build
    assert book.build(*both) == (["reads"], ["plain"])


@pytest.mark.nightly
def test_an_edited_page_runs_anew_and_so_does_it_when_set_back(book):
    book.write("one", "print(1)")
    book.build("one")
    book.write("one", READS)
    assert book.build("one") == (["one"], ["one"])
    book.write("one", "print(1)")
    assert book.build("one") == (["one"], ["one"])


def test_outputs_without_a_note_are_not_trusted(book):
    book.write("one", "print(1)")
    book.build("one")
    note = Path(book.settings.execution_cache_path, "opened", "one.json")
    assert json.loads(note.read_text())["files"] == []
    for broken in (lambda: note.write_text("{"), note.unlink):
        broken()
        assert book.build("one") == (["one"], ["one"])


@pytest.mark.skipif(sys.platform != "linux", reason="kernels start there")
def test_a_kernel_is_a_fork_with_the_book_s_settings(book):
    code = """import multiprocessing, os, sys
print(multiprocessing.parent_process() is not None)
print(os.getpgid(0) == os.getpid(), "_ext" in "".join(sys.path))
print(sorted(get_ipython().config.InlineBackend.figure_formats))"""
    book.write("one", code)
    book.build("one")
    said = "True\nTrue False\n['png', 'svg']\n"
    assert book.said(code) == said
