"""Imports point one way: nothing runs up, and nothing runs in a circle.

vocabulary, translator      what models and bench agree on
the ideas                   import these, and ideas
lab, the bench              imports these: no model
exercises, widgets,
    experiments             import ideas and the bench
"""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import lookback
import lookback.widgets

PACKAGE = Path(lookback.__file__).parent
AGREED = ("vocabulary", "translator")
MAY_IMPORT = {
    "agreed": (),
    "ideas": ("agreed",),
    "lab": ("agreed",),
    "exercises": ("agreed", "ideas", "lab"),
    "widgets": ("agreed", "ideas", "lab"),
    "experiments": ("agreed", "ideas", "lab"),
}


def room(module: str) -> str:
    """The folder of a module; those of the top are ideas, but for two."""
    first, *rest = module.split(".")[1:]
    if rest or first in MAY_IMPORT:
        return first
    return "agreed" if first in AGREED else "ideas"


def arrows(package: Path) -> dict[str, set[str]]:
    """For each module of the package the modules that it imports."""
    names = {}
    for path in package.rglob("*.py"):
        steps = path.relative_to(package.parent).with_suffix("").parts
        names[".".join(steps).removesuffix(".__init__")] = path
    found = {}
    for name, path in names.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: a relative import"
                parts = {f"{node.module}.{each.name}" for each in node.names}
                modules = parts & names.keys()
                imported |= modules
                if modules != parts or node.module == package.name:
                    imported.add(node.module)
        found[name] = (imported & names.keys()) - {name, package.name}
    return found


def faults(package: Path) -> list[str]:
    """Arrows that run up, and circles."""
    found = arrows(package)
    said = [
        f"{name} imports {other}"
        for name, imported in found.items()
        for other in imported
        if name != package.name
        and room(name) != room(other)
        and room(other) not in MAY_IMPORT[room(name)]
    ]
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        said.append(" → ".join(error.args[1]))
    return sorted(said)


def test_every_module_has_its_room():
    found = arrows(PACKAGE)
    assert len(found) > 60 and f"{PACKAGE.name}.lab.corpus" in found
    assert {room(name) for name in found if name != PACKAGE.name} == {
        *MAY_IMPORT
    }


def test_imports_point_one_way():
    assert faults(PACKAGE) == []


@pytest.mark.parametrize(
    ("where", "line", "said"),
    [
        ("model.py", "from lookback.lab.corpus import PAD", "model imports"),
        ("model.py", "from lookback.lab import corpus", "imports lookback.lab"),
        ("model.py", "import lookback.lab.corpus", "imports lookback.lab.corp"),
        ("lab/corpus.py", "from lookback import model", "imports lookback.mod"),
        ("translator.py", "from lookback.model import M", "translator imports"),
        (
            "model.py",
            "def f():\n    from lookback.other import x",
            "lookback.model → ",
        ),
    ],
)
def test_an_arrow_that_runs_up_is_seen(tmp_path, where, line, said):
    package = tmp_path / "lookback"
    for name, text in {
        "__init__.py": "",
        "translator.py": "",
        "model.py": "from lookback.translator import Translator",
        "other.py": "from lookback.model import M",
        "lab/__init__.py": "",
        "lab/corpus.py": "from lookback.translator import Translator",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    assert faults(package) == []
    with (package / where).open("a") as file:
        file.write("\n" + line)
    found = faults(package)
    assert any(said in fault for fault in found)


CODE = """
import sys, time
took = [time.process_time()]
for line in ("import lookback.widgets", "from lookback.widgets import Quiz",
             "import torch", "from lookback.widgets import *"):
    exec(line)
    took.append(time.process_time())
    print(took[-1] - took[-2], *sys.modules)
"""


def test_widgets_are_loaded_when_they_are_asked_for():
    """Every page's kernel imports them, and has one or two."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    (package, *first), (_, *quiz), (torch, *_), (_, *every) = lines
    assert float(package) < 1.5 * float(torch)
    assert not [name for name in first if name.startswith("lookback.widgets.")]
    assert "lookback.widgets.quiz" in quiz
    assert "lookback.widgets.heads" not in quiz
    assert "lookback.widgets.heads" in every and "jsonschema" not in every


def test_widgets_say_which_of_them_is_not_there():
    with pytest.raises(ImportError, match="Hedas"):
        from lookback.widgets import Hedas  # noqa: F401
    assert {"Heads", "pack", "__all__"} <= set(dir(lookback.widgets))
