"""The assignments for otter-grader: made of the checks, and graded by Otter."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import assignments  # noqa: E402
from to_notebook.cells import make_notebook  # noqa: E402
from to_notebook.labels import Book  # noqa: E402

from lookback.exercises import check  # noqa: E402

pytestmark = pytest.mark.nightly

# Every test file of Otter's, with the reference solution and with nothing.
GRADE = """\
import inspect, json, sys
from pathlib import Path

from otter.test_files import ExceptionTestFile

from lookback.exercises import check

found = {}
for path in sorted(Path(sys.argv[1]).glob("*/tests/*.py")):
    made = getattr(check, path.stem)
    for given in ("solution", "nothing"):
        test = ExceptionTestFile.from_file(str(path))
        answer = made.solution() if made.by_hand else made.solution
        [case] = test.test_cases
        [name] = inspect.signature(case.body.test_func).parameters
        test.run({name: answer} if given == "solution" else {})
        [result] = test.test_case_results
        found[f"{path.stem} {given}"] = result.passed, result.message
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def otter():
    """A folder with otter-grader, which stands before ours on the path."""
    folder = ROOT / ".cache" / "otter"
    if not (folder / "otter_grader-7.0.0.dist-info").is_dir():
        pytest.skip("no otter-grader 7.0.0: `make test-all` fetches it")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The assignments of all chapters, as a teacher unpacks them."""
    folder = tmp_path_factory.mktemp("assignments")
    book = Book(ROOT)
    for page in book.chapters:
        student = make_notebook(book, page, solutions="left out")
        files = assignments.assignment(book, page, student)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    return folder


def notebook_of(folder, chapter):
    return nbformat.read(folder / chapter / f"{chapter}.ipynb", 4)


def python(otter, *arguments, cwd=ROOT):
    """Run Python with Otter; what it printed."""
    paths = os.pathsep.join(map(str, (otter, ROOT / "src")))
    env = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *map(str, arguments)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_every_check_is_asked_for_once_in_its_chapter(folder):
    for made in check:
        [path] = folder.glob(f"*/tests/{made.name}.py")
        assert path.parts[-3] == made.chapter
        notebook = nbformat.read(
            folder / made.chapter / f"{made.chapter}.ipynb", 4
        )
        nbformat.validate(notebook)
        sources = [cell.source for cell in notebook.cells]
        assert sources.count(f'grader.check("{made.name}")') == 1
        text = "\n".join(sources)
        assert "Solution" not in text and "Quiz(" not in text
        assert not re.search(r"^check\.|\banswer\b =", text, re.MULTILINE)
    assert len(list(folder.glob("*/tests/*.py"))) == len(list(check))


def test_a_stub_names_what_its_test_takes(folder):
    for made in check:
        path = folder / made.chapter / "tests" / f"{made.name}.py"
        [name] = re.findall(r"^def test_\w+\((\w+)\)", path.read_text(), re.M)
        notebook = nbformat.read(
            folder / made.chapter / f"{made.chapter}.ipynb", 4
        )
        code = "\n".join(c.source for c in notebook.cells)
        assert re.search(rf"^(def|class) {name}\b|^{name} = ", code, re.M), name


def test_otter_passes_every_solution_and_nothing_else(folder, otter):
    # Not beside the chapters: pandas would take `bottleneck` for a library.
    (script := folder / "grading" / "grade.py").parent.mkdir()
    script.write_text(GRADE)
    found = json.loads(python(otter, script, folder).splitlines()[-1])
    for made in check:
        passed, message = found[f"{made.name} solution"]
        assert passed, f"{made.name}: {message}"
        passed, message = found[f"{made.name} nothing"]
        assert not passed and "AssertionError: " in message


def submission(folder, edits):
    """A chapter's notebook with its stubs replaced, by their first words."""
    notebook = notebook_of(folder, "residual")
    for cell in notebook.cells:
        for begin, text in edits.items():
            if cell.source.startswith(begin):
                cell.source = text
    return notebook


RIGHT = {
    "post_norm_by_hand_answer": "post_norm_by_hand_answer = "
    "(-1, -0.33, -0.33, 1.67)",
    "def normalize": """\
def normalize(x, gain, bias, epsilon):
    gap = x - x.mean(-1, keepdim=True)
    scale = (gap.square().mean(-1, keepdim=True) + epsilon).sqrt()
    return gap / scale * gain + bias""",
    "def add_and_norm": """\
def add_and_norm(x, f, norm, where):
    return norm(x + f(x)) if where == "post" else x + f(norm(x))""",
    "def tokens_apart": """\
def tokens_apart(x):
    gap = x - x.mean(1, keepdim=True)
    return gap.norm(dim=(1, 2)) / x.norm(dim=(1, 2))""",
}
WRONG = {
    "post_norm_by_hand_answer": "post_norm_by_hand_answer = (1, 3, 3, 9)",
    "def normalize": RIGHT["def normalize"].replace("mean(-1, k", "mean(1, k"),
    "def add_and_norm": RIGHT["def add_and_norm"].replace("post", "pre"),
}
HINTS = {
    "post_norm_by_hand": "That is x + f(x), not yet normalized.",
    "normalize": "",
    "add_and_norm": '"post" and "pre" are exchanged.',
    "tokens_apart": "NotImplementedError",
}


@pytest.mark.notebooks
def test_a_submission_is_graded(folder, otter, tmp_path):
    chapter = folder / "residual"
    otter_ = ("-m", "otter")
    python(
        otter, *otter_, "generate", "-t", "tests", "-o", "a.zip", cwd=chapter
    )
    found = {}
    for kind, edits in {"right": RIGHT, "wrong": WRONG}.items():
        path = tmp_path / kind / "residual.ipynb"
        path.parent.mkdir()
        nbformat.write(submission(folder, edits), path)
        run = ("run", "-a", chapter / "a.zip", "-o", path.parent, path)
        python(otter, "-m", "otter", *run, cwd=path.parent)
        result = json.loads((path.parent / "results.json").read_text())
        found[kind] = {
            one["name"]: one for one in result["tests"] if one["name"] in HINTS
        }
    for name, hint in HINTS.items():
        right, wrong = found["right"][name], found["wrong"][name]
        assert (
            right["score"] == right["max_score"] == (1 if "hand" in name else 2)
        )
        assert wrong["score"] == 0
        assert hint in wrong["output"]
