"""Which functions that a notebook shows does no later cell of it call?

Those could be edited without seeing a thing change.  `watched` numbers the
cells, and adds to each that shows code a line that notes the calls.
"""

import ast
import functools
import re
from copy import deepcopy

from nbformat.v4 import new_code_cell

from lookback.lab.live_edit import adopt

ADOPTED = re.compile(r'^(\w+) = adopt\(\1, into="([\w.]+)"\)$', re.M)
REPLACED = re.compile(r"^(\w+)\.(\w+) = \2$", re.M)
NOW = 0  # the cell that runs
CALLS = {}  # a function's name: the cells that called it


def watched(notebook):
    """A copy of a notebook whose last cell gives `CALLS`."""
    notebook = deepcopy(notebook)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            place = f"import calling\ncalling.NOW = {number}\n"
            cell.source = place + cell.source + _watching(cell.source)
    notebook.cells.append(new_code_cell("calling.CALLS"))
    return notebook


def _watching(source):
    """The call of `watch` for a cell that shows a function or a class."""
    if found := ADOPTED.search(source):
        name, module = found.groups()
        if module.startswith("lookback.exercises"):
            return ""  # for the reader's own cells
        shown = ast.parse(source).body[0]
        methods = [
            part.name
            for part in shown.body
            if isinstance(shown, ast.ClassDef)
            and isinstance(part, ast.FunctionDef)
            and not isinstance(part.body[-1], ast.Raise)  # for a subclass
        ]
    elif found := REPLACED.search(source):
        (name, method), module = found.groups(), None
        methods = [method]
    else:
        return ""
    return f"\ncalling.watch(globals(), {name!r}, {module!r}, {methods!r})"


def watch(space, name, module, methods):
    """Note from now on who calls a function, or a class's methods."""
    if not methods:
        space[name] = adopt(_noted(space[name], name), into=module)
    for method in methods:
        function = vars(space[name])[method]
        setattr(space[name], method, _noted(function, f"{name}.{method}"))


def _noted(function, name):
    CALLS[name] = set()

    @functools.wraps(function)
    def noted(*given, **named):
        CALLS[name].add(NOW)
        return function(*given, **named)

    return noted


def uncalled(notebook):
    """What no cell calls but those that check an answer, in one that ran."""
    calls = eval(notebook.cells[-1].outputs[-1].data["text/plain"])
    free = {
        number
        for number, cell in enumerate(notebook.cells)
        if "check." not in cell.source
    }
    return [name for name, cells in calls.items() if not cells & free]
