"""Shown code becomes live code: includes, and their imports.

A page shows the package's source with `{literalinclude}`.  In the notebook
the same lines are a cell, so that a reader may edit them, and its last line
puts the edit into the package.  The names that the lines use are imported
once, at the top.
"""

import ast
import builtins
import symtable
from collections import defaultdict
from textwrap import dedent

from sphinx.config import Config
from sphinx.directives.code import LiteralIncludeReader

ADOPT = ("lookback.lab.live_edit", "adopt")


class Included:
    """One object of a source file, and what it needs to run in a notebook."""

    def __init__(self, file, name, sources):
        parts = file.relative_to(sources).with_suffix("").parts
        self.file, self.module = file, ".".join(parts)
        self.owner, _, self.method = name.rpartition(".")
        options = {"pyobject": name}
        text, _ = LiteralIncludeReader(str(file), options, Config()).read()
        self.source = dedent(text).rstrip("\n")
        if self.owner and "super()" in self.source:
            raise ValueError(f"{name} cannot leave its class: it uses super()")

    @property
    def cell(self):
        """The cell's source, which an edit leaves for the package."""
        name, place = self.method, f"{self.owner}.{self.method}"
        last = f"{place} = {name}"
        if not self.owner:
            last = f'{name} = adopt({name}, into="{self.module}")'
        return f"{self.source}\n\n\n{last}"

    def names(self):
        """The names that the cell defines."""
        return set() if self.owner else _bound(ast.parse(self.source))

    def needs(self, shown):
        """{name: (module, name there)} that the cell uses but lacks.

        A module itself is ("torch.nn", None); a name of this file that an
        earlier cell has `shown` is there already.
        """
        tree = ast.parse(self.file.read_text("utf-8"))
        imports, defined = _imports(tree), _bound(tree)
        wanted = {} if self.owner else {"adopt": ADOPT}
        free = _free(symtable.symtable(self.cell, str(self.file), "exec"))
        defined_here = _bound(ast.parse(self.source)) | {"adopt"}
        for name in sorted(free - defined_here):
            if name in imports:
                wanted[name] = imports[name]
            elif name in defined:
                if shown.get(name) != self.module:
                    wanted[name] = (self.module, name)
            elif name not in dir(builtins):
                raise ValueError(f"“{name}”: no plain import or definition")
        return wanted


def _imports(tree):
    """{name: (module, name there or None)} of a file's own imports."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for item in node.names:
                if not item.asname:
                    found[item.name.split(".")[0]] = (item.name, None)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for item in node.names:
                found[item.asname or item.name] = (node.module, item.name)
    return found


def _bound(tree):
    """The names that a file's statements define."""
    names = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names |= {
                part.id
                for part in ast.walk(node)
                if isinstance(part, ast.Name)
                and isinstance(part.ctx, ast.Store)
            }
    return names


def _free(table):
    names = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_global() and symbol.is_referenced()
    }
    return names.union(*map(_free, table.get_children()))


def import_lines(wanted, own):
    """The import cell: `wanted` maps names to (module, name there).

    The packages in `own`, the book's, come last.
    """
    plain, grouped = set(), defaultdict(set)
    for name, (module, there) in wanted.items():
        if there is None:
            plain.add(f"import {module}")
        else:
            alias = f" as {name}" if name != there else ""
            grouped[module].add(f"{there}{alias}")

    def rank(module):
        return module.split(".")[0] in own, module

    order = sorted(grouped, key=rank)
    named = [from_line(module, sorted(grouped[module])) for module in order]
    return "\n".join([*sorted(plain), *named])


def from_line(module, names):
    """`from module import names`, folded at 80 columns."""
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= 80:
        return line
    inner = "".join(f"    {name},\n" for name in names)
    return f"from {module} import (\n{inner})"
