"""Run the cells of the book's pages, a page on each core at a time.

The build would run one page after another. It finds these in its cache; where
a cell fails, it runs the page again and says where.

    python tools/execute.py
"""

import os
from pathlib import Path

import yaml
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor
from myst_nb.core.read import is_myst_markdown_notebook

ROOT = Path(__file__).resolve().parents[1]
READER = {"type": "plugin", "name": "myst_nb_md"}


def main() -> None:
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a core for each page
    cache = get_cache(ROOT / "_build" / ".jupyter_cache")
    for page in sorted((ROOT / "book").glob("*.md")):
        if is_myst_markdown_notebook(page.read_text("utf-8")):
            cache.add_nb_to_project(str(page), read_data=READER)
    run = load_executor("local-parallel", cache).run_and_cache
    run(timeout=settings["execute"]["timeout"])


if __name__ == "__main__":
    main()
