"""The generated notebooks: right, current, and runnable from top to bottom.

`tests/golden` is a book of one chapter that uses what the chapters use; the
text of its notebook is kept beside it.  `ACCEPT=1 pytest -k golden` keeps a new
one, after a look at the difference.
"""

import ast
import json
import os
import re
import subprocess
import sys
from base64 import b64decode
from copy import deepcopy
from functools import cache
from pathlib import Path
from shutil import copytree
from textwrap import dedent

import nbformat
import pytest
from bs4 import BeautifulSoup
from calling import uncalled, watched
from filelock import FileLock
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from markdown_it import MarkdownIt
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from to_notebook.cells import make_notebook  # noqa: E402
from to_notebook.labels import Book  # noqa: E402
from to_notebook.myst import SourceError  # noqa: E402

from lookback.exercises import check  # noqa: E402
from notebooks import (  # noqa: E402
    ADDRESSES,
    addresses,
    differences,
    main,
    readable,
    written,
)

GOLDEN = ROOT / "tests" / "golden"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SITE = ROOT / "_build" / "html"
CELL_SECONDS = 120
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"

# Colab's widget stack and plotting, August 2026, with the Python and the
# torch at hand. Exact versions; their other needs are met by ours.
COLAB = (
    "anywidget==0.9.21",
    "ipykernel==6.17.1",
    "ipython==7.34.0",
    "ipywidgets==7.7.1",
    "matplotlib==3.10.*",
    "traitlets==5.7.1",
    "backcall==0.2.0",
    "decorator==5.2.1",
    "ipython_genutils==0.2.0",
    "nest-asyncio==1.6.0",
    "pickleshare==0.7.5",
)
# A kernel that reaches for anything but this machine gets this error.
OFFLINE = """\
import socket

_connect = socket.socket.connect


def connect(self, address):
    local = isinstance(address, (str, bytes)) or address[0] in (
        "127.0.0.1",
        "::1",
        "localhost",
    )
    if not local:
        raise OSError("the notebooks run offline: " + repr(address))
    return _connect(self, address)


socket.socket.connect = connect
"""
HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
lookback:
  {minutes: 5, needs: nothing, plan-10: "week 1, ★", goals: {}}
---

# Sample

```{chapter-strip}
```

"""


@pytest.fixture(scope="session")
def colab():
    """A folder of packages that stand before ours on the path."""
    folder = ROOT / ".cache" / "colab"
    stamp = folder / "stamp.json"
    wanted = json.dumps([sys.version, *COLAB])
    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):  # one worker fills it
        if not stamp.is_file() or stamp.read_text() != wanted:
            pip = [sys.executable, "-m", "pip", "install", "--quiet"]
            where = ["--no-deps", "--upgrade", "--target", str(folder)]
            subprocess.run([*pip, *where, *COLAB], check=True)
            stamp.write_text(wanted)
    return folder


def sample(folder, text):
    """The notebook of the golden book with `text` as its one chapter."""
    (folder / "book").mkdir(parents=True)
    for path in (*GOLDEN.glob("_*.yml"), *GOLDEN.glob("src")):
        (folder / path.name).symlink_to(path)
    for path in GOLDEN.glob("book/*"):
        if path.name != "tides.md":
            (folder / "book" / path.name).symlink_to(path)
    (folder / "book" / "tides.md").write_text(HEADER + dedent(text), "utf-8")
    book = Book(folder)
    return make_notebook(book, book.chapters[0], record=lambda path: "41.7")


def run(notebook, folder, *paths):
    """Execute every cell offline; the notebook with its outputs.

    The training of a minute is cut to some seconds.
    """
    for cell in notebook.cells:
        cell.source = re.sub(
            r"(= small\(.*)\)$",
            r"\1, epochs=1, count=64)",
            cell.source,
            flags=re.M,
        )
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(OFFLINE)
    kernel = folder / "kernels" / "python3"
    kernel.mkdir(parents=True)
    path = os.pathsep.join(map(str, [site, *paths]))
    spec = {
        "argv": [
            sys.executable,
            "-m",
            "ipykernel_launcher",
            "-f",
            "{connection_file}",
        ],
        "display_name": "Python 3",
        "language": "python",
        "env": {
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYTHONPATH": path,
            "PYTHONWARNINGS": "ignore",
            "IPYTHONDIR": str(folder / "ipython"),
        },
    }
    (kernel / "kernel.json").write_text(json.dumps(spec))
    specs = KernelSpecManager(
        kernel_dirs=[str(kernel.parent)], ensure_native_kernel=False
    )
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs)
    work = folder / "work"
    work.mkdir()
    try:
        NotebookClient(
            notebook,
            km=manager,
            timeout=CELL_SECONDS,
            resources={"metadata": {"path": str(work)}},
        ).execute()
    finally:
        manager.shutdown_kernel(now=True)
    return notebook


def last_text(notebook):
    """What the last cell evaluated to."""
    return notebook.cells[-1].outputs[-1].data["text/plain"]


@pytest.fixture(scope="module")
def golden():
    book = Book(GOLDEN)
    return make_notebook(book, book.chapters[0], record=lambda path: "41.7")


def test_golden(golden):
    path, made = GOLDEN / "tides.txt", readable(golden)
    if os.environ.get("ACCEPT"):
        path.write_text(made, "utf-8")
    assert made == path.read_text("utf-8")


@pytest.mark.nightly
def test_golden_runs(golden, tmp_path):
    run(deepcopy(golden), tmp_path, GOLDEN / "src", ROOT / "src")


def read(path):
    return nbformat.read(path, as_version=4)


def raw_syntax(notebook):
    """MyST that a notebook's text still holds, outside code."""
    parser = Book(GOLDEN).parser
    found = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        for token in parser.parse(cell.source):
            if token.type in ("myst_target", "colon_fence"):
                found.append(token.content)
            if token.type == "fence" and token.info.startswith("{"):
                found.append(token.info)
            for child in token.children or []:
                if child.type in ("myst_role", "footnote_ref", "span_open"):
                    found.append(child.content or child.type)
                if child.type == "text" and "{" in child.content:
                    found.append(child.content)
        assert "<!--" not in cell.source
    return found


def test_no_raw_syntax(golden):
    assert raw_syntax(golden) == []
    for path in NOTEBOOKS:
        assert raw_syntax(read(path)) == [], path.name


def links(notebook):
    """Every address that a notebook's text links to."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for token in MarkdownIt().enable("table").parse(cell.source):
                for child in token.children or []:
                    url = child.attrs.get("href") or child.attrs.get("src")
                    if url:
                        yield url


def test_links_are_absolute(golden):
    for notebook in (golden, *map(read, NOTEBOOKS)):
        for url in links(notebook):
            assert url.startswith("https://"), url


def test_a_notebook_holds_its_pictures(golden):
    for notebook in (golden, *map(read, NOTEBOOKS)):
        text = "\n".join(cell.source for cell in notebook.cells)
        page = BeautifulSoup(text, "html.parser")
        for picture in page.find_all("img"):
            assert picture["alt"]
            head, data = picture["src"].split(",")
            assert head == "data:image/png;base64"
            assert b64decode(data).startswith(b"\x89PNG")


IDS = re.compile(r'\sid="([^"]+)"')


@cache
def ids(file):
    """Every id on a page of the built book."""
    return {*IDS.findall((SITE / file).read_text("utf-8"))}


@cache
def places(docname):
    """Every place with an id on a page of the built book, by its id."""
    path = SITE / f"{docname}.html"
    assert path.is_file(), f"{path} is missing: run `make book`"
    page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
    return {place["id"]: place for place in page.find_all(id=True)}


@pytest.mark.site
def test_links_lead_somewhere_in_the_built_book():
    book = Book(ROOT)
    urls = {url for path in NOTEBOOKS for url in links(read(path))}
    for url in sorted(urls):
        if not url.startswith(f"{book.address}/"):
            continue
        file, _, anchor = url.removeprefix(f"{book.address}/").partition("#")
        assert (SITE / file).is_file(), f"{url} is not in the built book"
        if anchor:
            assert anchor in ids(file), f"{url}: no such place"


@pytest.mark.nightly
@pytest.mark.site
def test_numbers_are_those_of_the_built_book():
    book = Book(ROOT)
    for name, label in book.labels.items():
        if not label.number:
            continue
        place = places(label.docname).get(label.anchor)
        assert place, f"{name}: no place {label.anchor} in the built book"
        if label.kind == "equation":
            shown = place.find(class_="eqno").get_text()
            assert shown.startswith(f"({label.number})"), name
        else:
            shown = place.find(class_="caption-number").get_text()
            assert shown.strip() == f"Exercise {label.number}", name


def test_a_quiz_does_not_show_its_answers():
    for path in NOTEBOOKS:
        for cell in read(path).cells:
            if cell.cell_type == "code" and re.search(
                r"^Quiz\(", cell.source, re.M
            ):
                assert cell.metadata.jupyter.source_hidden, path.stem


def test_an_exercise_by_hand_is_a_cell_in_the_notebook_and_no_fields():
    for made in (made for made in check if made.by_hand):
        cells = read(ROOT / "notebooks" / f"{made.chapter}.ipynb").cells
        call = f"check.{made.name}(answer)"
        (cell,) = (cell for cell in cells if call in cell.source)
        assert cell.cell_type == "code" and "answer = " in cell.source
        assert not any("ByHand" in cell.source for cell in cells)


def test_a_notebook_that_trains_asks_for_a_gpu():
    wish = {
        path.stem: read(path).metadata.get("accelerator") for path in NOTEBOOKS
    }
    assert {name for name, asked in wish.items() if asked == "GPU"} == {
        "bottleneck",
        "rnnsearch",
        "transformer",
    }


def test_a_notebook_is_clean(golden):
    nbformat.validate(golden)
    assert (golden.nbformat, golden.nbformat_minor) == (4, 5)
    assert golden.metadata.kernelspec.name == "python3"
    assert "accelerator" not in golden.metadata
    ids = [cell.id for cell in golden.cells]
    assert len(set(ids)) == len(ids)
    for cell in golden.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
    again = make_notebook(
        book := Book(GOLDEN), book.chapters[0], record=lambda path: "41.7"
    )
    assert written(again) == written(golden)
    assert written(golden).endswith("}\n")


def test_every_chapter_has_its_current_notebook():
    book = Book(ROOT)
    made = {
        f"{Path(page.docname).name}.ipynb": make_notebook(book, page)
        for page in book.chapters
    }
    assert made, "no page of _toc.yml holds a chapter-strip"
    stale = differences(ROOT / "notebooks", made)
    assert not stale, "run `make notebooks`\n" + "\n".join(stale)
    assert not addresses(ROOT, book.repository), "run `make notebooks`"


def test_check_names_what_is_stale(tmp_path, monkeypatch):
    text = "A line.\n\n```python\nx = 1\n```\n"
    sample(tmp_path, text)
    assert "tides.ipynb: missing" in main(["--check", "--root", str(tmp_path)])
    assert main(["--root", str(tmp_path)]) is None
    assert main(["--check", "--root", str(tmp_path)]) is None
    path = tmp_path / "notebooks" / "tides.ipynb"
    path.write_text(path.read_text().replace("x = 1", "x = 2"))
    (tmp_path / "notebooks" / "old.ipynb").write_text("{}")
    said = main(["--check", "--root", str(tmp_path)])
    assert "-x = 2" in said and "+x = 1" in said
    assert "old.ipynb: no chapter" in said


def test_an_address_goes_into_every_file_that_has_it(tmp_path):
    sample(tmp_path, "A line.\n")
    old, new = "https://github.com/harbour-books/harbour", "https://me.org/a/b"
    for name in ADDRESSES:
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    config = tmp_path / "_config.yml"
    text = config.read_text("utf-8")
    config.unlink()  # it is a link
    config.write_text(text.replace(old, new))
    assert "CITATION.cff: another" in main(["--check", "--root", str(tmp_path)])
    assert main(["--root", str(tmp_path)]) is None
    assert main(["--check", "--root", str(tmp_path)]) is None
    for name in ADDRESSES:
        assert (tmp_path / name).read_text("utf-8").count(new) == 1
    assert new in (tmp_path / "notebooks" / "tides.ipynb").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```{mermaid}\nx\n```", "18: unknown directive {mermaid}"),
        (":::{note}\nx\n:::", "18: no notebook form for “colon_fence”"),
        ("```bash\nls\n```", "18: no notebook form for “```bash”"),
        ("- a\n\n  ```python\n  1\n  ```", "20: code or a box inside a list"),
        ("```{note}\n```python\n1\n```\n```", "19: code inside a box"),
        (
            "```{admonition} x\n:class: tip\ny\n```",
            "18: no box of class “tip”",
        ),
        ("```{note} Title\nx\n```", "18: {note} has an unknown argument"),
        ("```{note}\n:class: tip\nx\n```", "18: {note} has an unknown :class:"),
        ("```{exercise-end}\nx\n```", "18: {exercise-end} has an unknown body"),
        ("```{drawing} x.svg\nx\n```", "18: {drawing} without :alt:"),
        (
            "```{drawing} x.svg\n:alt: x\n```",
            "18: what stands here has no number",
        ),
        ("```{math}\na = b\n```", "18: {math} without :label:"),
        (
            "```{math}\n:label: e\na\n\nb\n```",
            "18: a blank line in an equation",
        ),
        (
            "```{math}\n:label: e\na \\\\\nb\n```",
            "18: lines of an equation outside \\begin{…}",
        ),
        ("$$ a $$ (e)", "18: math_block_label is numbered, and not counted"),
        ("\\begin{align}\na\n\\end{align}", "18: amsmath is numbered"),
        ("```{figure} x.png\nx\n```", "18: figure is numbered"),
        ("> ```{figure} x.png\n> ```", "18: figure is numbered"),
        ("a\nb {glue}`x`", "19: unknown role {glue}"),
        ("```{note}\n{glue}`x`\n```", "19: unknown role {glue}"),
        ("| a |\n|---|\n| {glue}`x` |", "20: unknown role {glue}"),
        ("{ref}`nowhere`", "18: no label “nowhere”"),
        ("{eq}`nowhere`", "18: no label “nowhere”"),
        (
            "```{exercise-start} T\n:label: x\n```\n\n{ref}`x`",
            "22: {ref} to “x” without a text",
        ),
        ("{cite}`nobody`", "18: no work “nobody”"),
        ("{doc}`nowhere`", "18: no page “nowhere”"),
        ("a\n[x](bibliography.md)", "19: no notebook form for “link”"),
        ("[x](https://x.example){.wide}", "18: no notebook form for “link”"),
        ("[x][y]\n\n[y]: https://x.example", "20: no notebook form for “[y]:"),
        ("[x]{.wide}", "18: no notebook form for “span”"),
        ("`x`{.wide}", "18: no notebook form for “code”"),
        ("![x](x.png)", "18: no notebook form for “image”"),
        ("a <!-- b --> c", "18: no notebook form for “html”"),
        ("<!-- b -->", "18: no notebook form for “html”"),
        ("% b", "18: no notebook form for “myst_line_comment”"),
        ("(place)=\n## A", "18: no notebook form for “myst_target”"),
        ("a[^b]\n\n[^b]: c", "20: no notebook form for “footnote_reference”"),
        ("a\n: b", "18: no notebook form for “dl”"),
        ("a {{ x }}", "18: no notebook form for “substitution”"),
        (
            "```{code-cell}\n:tags: [remove-output]\n1\n```",
            "18: {code-cell} with “remove-output”",
        ),
        (
            "```{code-cell}\n---\nmystnb:\n  figure:\n    name: x\n---\n1\n```",
            "18: code-cell is numbered",
        ),
        (
            "```{note}\n```{code-cell}\n1\n```\n```",
            "19: unknown directive {code-cell}",
        ),
        ("```{raw-cell}\nx\n```", "18: raw cells have no place here"),
        ("```{code-cell}\n%time f()\n```", "18: invalid syntax"),
        (
            "```{literalinclude} ../src/harbour/tides.py\n:pyobject: gone\n```",
            "18: Object named 'gone' not found",
        ),
        (
            "```{literalinclude} ../src/harbour/tides.py\n:lines: 1-2\n```",
            "18: {literalinclude} has an unknown :lines:",
        ),
        (
            "```{literalinclude} ../src/harbour/odd.py\n:pyobject: far\n```",
            "18: “np”: no plain import or definition",
        ),
        (
            "```{literalinclude} ../src/harbour/odd.py\n"
            ":pyobject: Ebb.__init__\n```",
            "18: Ebb.__init__ cannot leave its class: it uses super()",
        ),
        (
            "```{literalinclude} ../src/harbour/tides.py\n"
            ":pyobject: height\n```\n\n"
            "```{literalinclude} ../src/harbour/odd.py\n:pyobject: old\n```",
            "22: “phase” is ('harbour.moon', 'phase') in an earlier include",
        ),
        (
            "```{solution-start} x\n:label: x\n```",
            "18: solution without an end",
        ),
        ("```{solution-end}\n```", "18: unpaired solution"),
        (
            "```{solution-start} x\n:label: x\n```\n\n" * 2,
            "22: label “x” twice",
        ),
    ],
)
def test_what_is_not_known_is_one_clear_error(tmp_path, text, message):
    with pytest.raises(SourceError) as raised:
        sample(tmp_path, text)
    assert str(raised.value).startswith(f"book/tides.md:{message}")


SHADOW = """\
    ```{code-cell} ipython3
    from harbour.tides import Tide, tide
    ```

    ```{literalinclude} ../src/harbour/tides.py
    :pyobject: height
    ```

    ```{literalinclude} ../src/harbour/tides.py
    :pyobject: tide
    ```

    ```{literalinclude} ../src/harbour/tides.py
    :pyobject: Tide.doubled
    ```

    ```{code-cell} ipython3
    from harbour.tides import (
        CALM,
        height,
        tide,
    )

    height(0), tide(0).height, tide(0).doubled().height
    ```
"""


def test_an_edit_reaches_the_package(tmp_path):
    notebook = sample(tmp_path / "as-it-is", SHADOW)
    run(notebook, tmp_path / "as-it-is", GOLDEN / "src", ROOT / "src")
    assert last_text(notebook) == "(1.5, 1.5, 3.0)"

    edited = sample(tmp_path / "edited", SHADOW)
    for cell in edited.cells:
        cell.source = cell.source.replace("return CALM + ", "return 10 + ")
        cell.source = cell.source.replace("PULL * self", "100 * self")
    run(edited, tmp_path / "edited", GOLDEN / "src", ROOT / "src")
    assert last_text(edited) == "(11.0, 11.0, 1100.0)"


@pytest.mark.nightly
@pytest.mark.notebooks
def test_attention_that_is_switched_off_spoils_the_translation(tmp_path):
    """The trained RNNsearch uses the class that its notebook shows."""
    notebook = read(ROOT / "notebooks" / "rnnsearch.ipynb")
    loads = max(
        number
        for number, cell in enumerate(notebook.cells)
        if 'weights.load("rnnsearch"' in cell.source
    )
    notebook.cells = notebook.cells[: loads + 1]
    said = 'translate(model, ["two dogs run .".split()], english, french)'
    notebook.cells.append(new_code_cell(said))
    shown = next(
        cell
        for cell in notebook.cells
        if "class AdditiveAttention" in cell.source
    )
    again = deepcopy(shown)  # after the model was loaded
    again.source = again.source.replace("@ self.v", "@ (0 * self.v)")
    assert again.source != shown.source
    notebook.cells += [again, deepcopy(notebook.cells[-1])]
    run(notebook, tmp_path, ROOT / "src")
    whole, spoiled = (
        cell.outputs[-1].data["text/plain"]
        for cell in notebook.cells
        if cell.source == said
    )
    assert "deux', 'chiens'" in whole and whole != spoiled


def test_a_picture_is_its_drawing_s(tmp_path):
    copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "book/_static/drawings/route.svg"
    path.write_text(path.read_text("utf-8").replace("M4", "M5"), "utf-8")
    book = Book(tmp_path)
    with pytest.raises(SourceError, match="route.svg is newer than its PNG"):
        make_notebook(book, book.chapters[0], record=lambda path: "41.7")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("_config.yml", "depth: 0", "depth: 1", "numfig_secnum_depth is not 0"),
        (
            "_toc.yml",
            "- caption",
            "- numbered: true\n    caption",
            "“numbered”",
        ),
        ("_toc.yml", "book/tides", "book/gone", "no page book/gone.md"),
        ("book/index.md", "# The", "# The *old*", "a title is plain text"),
    ],
)
def test_settings_that_change_numbers_are_one_clear_error(
    tmp_path, name, old, new, message
):
    copytree(GOLDEN, tmp_path, dirs_exist_ok=True)
    path = tmp_path / name
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(SourceError, match=message):
        Book(tmp_path)


def check_outputs(notebook):
    """The set-up says nothing; figures and widgets are what comes out."""
    assert notebook.cells[0].outputs == []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            kinds = {
                kind
                for output in cell.outputs
                for kind in output.get("data", {})
            }
            if "plt.show()" in cell.source:
                assert "image/png" in kinds, cell.source
            if re.search("widgets.trained import (?!energies)", cell.source):
                assert WIDGET in kinds, cell.source
    check_widgets(notebook)


def check_widgets(notebook):
    """Each of ours is shown once, with its picture and its words."""
    models = notebook.metadata.widgets[STATE]["state"]
    ours = {
        name: model["state"]["_anywidget_id"].rsplit(".", 1)[-1]
        for name, model in models.items()
        if model["model_module"] == "anywidget"
    }
    shown = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            name = data.get(WIDGET, {}).get("model_id")
            if name in ours:
                shown.append(name)
                assert "<svg" in data["image/svg+xml"], cell.source
                assert data["text/plain"], cell.source
                assert f"{ours[name]}(" not in data["text/plain"]
    assert shown and len(set(shown)) == len(shown)


def test_every_cell_compiles_and_imports_what_there_is():
    """Of all notebooks, but for the cell that installs the package."""
    failed, count = [], 0
    for path in NOTEBOOKS:
        code = [cell for cell in read(path).cells if cell.cell_type == "code"]
        for number, cell in enumerate(code[1:], start=1):
            place = f"{path.stem}, code cell {number}"
            try:
                tree = ast.parse(cell.source)
                compile(tree, place, "exec", dont_inherit=True)
                for node in ast.walk(tree):
                    if isinstance(node, (ast.Import, ast.ImportFrom)):
                        exec(ast.unparse(node), {})
                        count += 1
            except Exception as error:
                failed.append(f"{place}: {error!r}")
    assert not failed, "\n".join(failed)
    assert count > 200


# One that is short and has all kinds of cells; the others run at night.
SHORT = "residual"


# Every notebook but the last uses the GPU, if only to decode.
@pytest.mark.notebooks
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.nightly] if path.stem != SHORT else [],
        )
        for path in NOTEBOOKS
    ],
)
def test_runs_on_colabs_versions_with_a_gpu(path, tmp_path, colab):
    """On a stand-in for one; and what is shown is used: see `calling`."""
    notebook = watched(read(path))
    gpu = new_code_cell("import stand_in\nstand_in.install()")
    notebook.cells = [
        *notebook.cells[:1],
        gpu,
        *notebook.cells[1:],
        new_code_cell("stand_in.COUNT"),
    ]
    run(notebook, tmp_path, colab, ROOT / "src", ROOT / "tests")
    unused = path.stem in ("ladder", "ablations", "name")
    assert (int(last_text(notebook)) == 0) == unused
    notebook.cells.pop()
    check_outputs(notebook)
    assert not (lost := uncalled(notebook)), f"no later cell uses {lost}"


# The same cells have just run in the book on our own versions: each page is
# built from them. So the notebooks need a second run only now and then.
@pytest.mark.weekly
@pytest.mark.notebooks
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_on_our_own_versions(path, tmp_path):
    notebook = read(path)
    check_outputs(run(notebook, tmp_path, ROOT / "src"))


@pytest.mark.nightly
def test_the_mimicked_colab_is_colabs(tmp_path, colab):
    probe = nbformat.v4.new_notebook()
    names = ("ipywidgets", "anywidget", "traitlets", "matplotlib")
    source = f"[__import__(n).__version__ for n in {names}]"
    probe.cells.append(new_code_cell(source))
    run(probe, tmp_path, colab)
    versions = last_text(probe)
    assert versions.startswith("['7.7.1', '0.9.21', '5.7.1', '3.10.")
