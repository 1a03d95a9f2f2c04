"""Notebooks for students and teachers, and a hub that installs the package."""

import json
import os
import re
import subprocess
import sys
import venv
from importlib.metadata import distributions
from pathlib import Path
from shutil import copy, copytree

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import handouts  # noqa: E402
from test_notebooks import raw_syntax, run  # noqa: E402
from to_notebook.labels import Book  # noqa: E402

pytestmark = pytest.mark.nightly
BOOK = Book(ROOT)


@pytest.fixture(scope="module")
def students():
    return handouts.notebooks(BOOK, "left out")


@pytest.fixture(scope="module")
def teachers():
    return handouts.notebooks(BOOK, "shown")


def text(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells)


def test_students_get_no_solution_and_no_way_to_one(students):
    assert len(students) == len(BOOK.chapters)
    for page, notebook in students.items():
        nbformat.validate(notebook)
        assert "### Exercise " in text(notebook), page.docname
        assert "#solution-" not in text(notebook)
        assert "Solution" not in text(notebook)


def test_teachers_get_every_solution_below_its_exercise(teachers, students):
    for page, notebook in teachers.items():
        nbformat.validate(notebook)
        assert raw_syntax(notebook) == []
        count = page.text.count("{solution-start}")
        assert text(notebook).count("**Solution**") == count
        assert text(notebook).count("### Exercise ") == count
        shown = page.text.count(":pyobject: ") - 1
        assert len(notebook.cells) > len(students[page].cells) + 3, shown


def test_they_are_the_chapter_s_own_notebook_otherwise(students):
    for page, notebook in students.items():
        name = f"{Path(page.docname).name}.ipynb"
        own = nbformat.read(ROOT / "notebooks" / name, as_version=4)
        left = re.sub(r"\*\[Solution in the book\]\(.+?\)\*", "", text(own))
        assert text(notebook).split() == left.split()


@pytest.mark.notebooks
def test_a_teacher_s_notebook_runs(teachers, tmp_path):
    [page] = (page for page in teachers if page.docname.endswith("residual"))
    notebook = run(teachers[page], tmp_path, ROOT / "src")
    done = [cell for cell in notebook.cells if "_solution" in cell.source]
    assert done and all(cell.execution_count for cell in done)
    printed = "".join(
        output.get("text", "")
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    )
    assert "Not attempted yet: normalize" in printed


def test_an_archive_is_the_same_for_the_same_files(tmp_path):
    files = {"a/b.txt": "über", "c.bin": b"\x00"}
    for name in ("one.zip", "two.zip"):
        handouts.archive(tmp_path / name, files)
    one, two = (tmp_path / name for name in ("one.zip", "two.zip"))
    assert one.read_bytes() == two.read_bytes()


HUB = """\
import json
from importlib.metadata import requires
from pathlib import Path

import lookback
from lookback.exercises import check
from lookback.lab import records
from lookback.widgets import ByHand

solved = check.post_norm_by_hand((-1, -1 / 3, -1 / 3, 5 / 3))
fields = ByHand(check.post_norm_by_hand).exercise["fields"]
number = records.quote("search/rnnsearch/bleu")
place = str(Path(lookback.__file__).parent)
print(json.dumps([solved, fields, number, place, requires("lookback")]))
"""


def test_a_hub_installs_the_package_from_a_clone(tmp_path):
    """Into a fresh environment, with what it asks for taken from ours.

    Then each of its needs is among what is installed here: nothing else is
    imported by an exercise, a widget or a record.
    """
    clone, place = tmp_path / "clone", tmp_path / "hub"
    if (ROOT / ".git").exists():
        git = ["git", "-c", "safe.directory=*", "clone", "--quiet", "--depth=1"]
        subprocess.run([*git, ROOT.as_uri(), str(clone)], check=True)
    else:  # a download
        copytree(ROOT / "src", clone / "src")
        for name in ("pyproject.toml", "README.md"):
            copy(ROOT / name, clone)
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    alone = ["--quiet", "--no-deps", "--no-build-isolation", str(clone)]
    [site] = place.glob("lib/python*/site-packages")
    ours = Path(pytest.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(ours)}
    environment |= {"OMP_NUM_THREADS": "1"}
    subprocess.run([*pip, *alone], check=True, env=environment)
    done = subprocess.run(
        [python, "-c", HUB],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    solved, fields, number, found, needs = json.loads(
        done.stdout.splitlines()[-1]
    )
    assert solved is True and len(fields[0]) == 4
    assert 30 < float(number) < 80
    assert Path(found) == site / "lookback"
    plain = [one for one in needs if "extra ==" not in one]
    assert any(one.startswith("torch") for one in plain)
    here = {one.name.lower() for one in distributions()}
    for one in plain:
        assert re.match(r"[\w-]+", one)[0].lower() in here
