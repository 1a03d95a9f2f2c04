"""Run the pages' cells, a page on each core at a time, and keep the outputs.

jupyter-cache keeps a page's outputs while its cells are the same. They hang on
more: on the files of the package that they opened while they ran, which
`warm` lists, and on the versions of all packages. A page whose files are no
longer what they were is run anew, and no other.
"""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import warm
from assets import ROOT, STAGED
from jupyter_cache import get_cache
from jupyter_cache.base import JupyterCacheAbstract
from jupyter_cache.executors import load_executor
from myst_nb.core.read import is_myst_markdown_notebook
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.display import status_iterator

# Every page's cells are run anew when one of these changes.
ALL = (
    "requirements.txt",
    "tools/hashes.txt",
    "package-lock.json",
    "book/_ext/cells.py",
    "book/_ext/warm.py",
)
# How jupyter-cache reads our pages, and how many at most are run at a time.
READER = {"type": "plugin", "name": "myst_nb_md"}
KERNELS = 4


def digest(names: list[str]) -> str:
    """One SHA-256 over files of the book: their names and contents."""
    total = hashlib.sha256()
    for name in sorted(names):
        total.update(name.encode())
        if (path := ROOT / name).is_file():
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


class Notes:
    """What each page's outputs were made of: a note a page, in the cache."""

    def __init__(self, cache: JupyterCacheAbstract) -> None:
        self.cache = cache
        self.folder = Path(cache.path, "opened")
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, page: str, suffix: str) -> Path:
        return self.folder / f"{Path(page).stem}{suffix}"

    def write(self, page: str) -> None:
        """Note what the page's kernel has listed, as it is now."""
        listed = self.path(page, ".txt").read_text().splitlines()
        files = sorted({source(each) for each in listed} - {""})
        note = {"files": files, "digest": digest([*ALL, *files])}
        self.path(page, ".json").write_text(json.dumps(note, indent=0))

    def drop_stale(self) -> None:
        """Throw away the outputs that were made of something else."""
        for record in self.cache.list_cache_records():
            try:
                note = json.loads(self.path(record.uri, ".json").read_text())
                same = note["digest"] == digest([*ALL, *note["files"]])
            except (OSError, ValueError, KeyError):
                same = False
            if not same:
                self.cache.remove_cache(record.pk)


def source(opened: str) -> str:
    """The file's name in the book; of a compiled module, its source's.

    Empty for what is no longer there, as a file on its way into a cache.
    """
    path = Path(opened)
    if path.parent.name == "__pycache__":
        path = path.parents[1] / f"{path.name.split('.')[0]}.py"
    return path.relative_to(ROOT).as_posix() if path.is_file() else ""


def run(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Run the cells of the pages to be read, where no outputs are kept.

    MyST-NB runs one page after another. It finds these in its cache, and where
    a cell has failed it runs the page once more and says so.
    """
    settings = env.mystnb_config
    paths = [Path(env.doc2path(name)) for name in docnames]
    pages = [
        str(path)
        for path in paths
        if is_myst_markdown_notebook(path.read_text(encoding="utf-8"))
    ]
    if settings.execution_mode != "cache" or not pages:
        return
    cache = get_cache(settings.execution_cache_path)
    notes = Notes(cache)
    notes.drop_stale()
    for page in pages:
        cache.add_nb_to_project(page, read_data=READER)
    executor = load_executor("local-serial", cache)
    waiting = [each.uri for each in executor.get_records(pages)]
    for record in cache.list_cache_records():
        if record.uri in waiting:  # of what the page was before
            cache.remove_cache(record.pk)
    workers = min(KERNELS, os.cpu_count() or 1)

    def run_page(page: str) -> str:
        warm.OPENED.set(notes.path(page, ".txt"))
        done = load_executor("local-serial", cache).run_and_cache(
            filter_uris=[page], timeout=workers * settings.execution_timeout
        )
        if done.all() == done.succeeded:
            notes.write(page)
        return Path(page).stem

    with ThreadPoolExecutor(workers) as pool:
        done = as_completed([pool.submit(run_page, page) for page in waiting])
        total = len(waiting)
        told = (
            f"{each.result()}, {total - count} left"
            for count, each in enumerate(done, 1)
        )
        list(status_iterator(told, "running cells... ", length=total))


def start(app: Sphinx, config: Config) -> None:
    """Start the process that kernels are forked from, with what they need."""
    # BertViz's frames use the site's own copies of their libraries.
    os.environ["LOOKBACK_VENDOR"] = "../vendor"
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a page on each core
    warm.use(STAGED.with_name("ipython"), ROOT)


def setup(app: Sphinx) -> dict:
    """Called by Sphinx."""
    app.connect("config-inited", start)
    app.connect("env-before-read-docs", run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
