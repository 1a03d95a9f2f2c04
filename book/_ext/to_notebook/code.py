"""Shown code becomes live code: includes, their imports, and shadowing.

A page shows the package's source with `{literalinclude}`.  In the notebook
the same lines are a cell, so that a reader may edit them.  The names that
the lines use are imported once, at the top; a later cell that imports an
edited name from the package would silently undo the edit, so there the name
is dropped.
"""

import ast
import symtable
from collections import defaultdict
from pathlib import Path
from textwrap import dedent

from sphinx.config import Config
from sphinx.directives.code import LiteralIncludeReader

IGNORED = ("caption", "class", "dedent", "name")


class Included:
    """Lines of a source file, and what they need to run in a notebook."""

    def __init__(self, file, options, sources):
        self.file = Path(file)
        self.module = _module_name(self.file, Path(sources))
        self.owner, _, self.method = options.get("pyobject", "").rpartition(".")
        options = {k: v for k, v in options.items() if k not in IGNORED}
        reader = LiteralIncludeReader(str(self.file), options, Config())
        text, _ = reader.read()
        self.is_inner = text[:1].isspace()
        self.source = dedent(text).rstrip("\n")

    @property
    def is_live(self):
        """Whole statements of the package; half a function is only shown."""
        if self.module is None or self.is_inner and not self.owner:
            return False
        try:
            compile(self.source, str(self.file), "exec")
        except SyntaxError:
            return False
        return not (self.owner and "super()" in self.source)

    @property
    def cell(self):
        """The cell's source; a lone method is put back into its class."""
        if not self.owner:
            return self.source
        return f"{self.source}\n\n\n{self.owner}.{self.method} = {self.method}"

    def names(self):
        """The names that the cell defines."""
        return set() if self.owner else _bound(ast.parse(self.source))

    def needs(self, shown):
        """{name: (module, name there)} that the cell uses but lacks.

        A module itself is ("torch.nn", None); a name of this file that an
        earlier cell has `shown` is there already.
        """
        tree = ast.parse(self.file.read_text("utf-8"))
        imports = _imports(tree, self.module)
        defined = _bound(tree)
        wanted = {}
        free = _free(symtable.symtable(self.cell, str(self.file), "exec"))
        for name in sorted(free - _bound(ast.parse(self.source))):
            if name in imports:
                wanted[name] = imports[name]
            elif name in defined and shown.get(name) != self.module:
                wanted[name] = (self.module, name)
        future = imports.get("annotations")
        if future == ("__future__", "annotations"):
            wanted["annotations"] = future
        return wanted


def _module_name(file, sources):
    if file.suffix != ".py" or not file.is_relative_to(sources):
        return None
    parts = file.relative_to(sources).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree, module):
    """{name: (module, name there or None)} of a file's own imports."""
    found = {}
    for node in _top_level(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.asname:
                    found[item.asname] = (item.name, None)
                else:
                    found[item.name.split(".")[0]] = (item.name, None)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                base = module.split(".")[: -node.level]
                origin = ".".join([*base, origin] if origin else base)
            for item in node.names:
                found[item.asname or item.name] = (origin, item.name)
    return found


def _top_level(tree):
    """Statements of a file, those under `if TYPE_CHECKING:` included."""
    for node in tree.body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _top_level(node)


def _bound(tree):
    names = set()
    for node in _top_level(tree):
        if isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
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
        if there is not None:
            alias = f" as {name}" if name != there else ""
            grouped[module].add(f"{there}{alias}")
        elif module.split(".")[0] == name:
            plain.add(f"import {module}")
        else:
            plain.add(f"import {module} as {name}")
    order = sorted(grouped, key=lambda module: (_rank(module, own), module))
    named = [from_line(module, sorted(grouped[module])) for module in order]
    future = [line for line in named if line.startswith("from __future__")]
    return "\n".join([*future, *sorted(plain), *named[len(future) :]])


def _rank(module, own):
    root = module.split(".")[0]
    return 0 if root == "__future__" else 2 if root in own else 1


def from_line(module, names, indent=""):
    """`from module import names`, folded at 80 columns."""
    line = f"{indent}from {module} import {', '.join(names)}"
    if len(line) <= 80:
        return line
    inner = "".join(f"{indent}    {name},\n" for name in names)
    return f"{indent}from {module} import (\n{inner}{indent})"


def keep_edits(source, shown):
    """`source` without imports that would undo a reader's edits.

    `shown` maps each live name to its module.  From `from lookback.rnnsearch
    import RNNsearch, AdditiveAttention` the name that is live is dropped.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a cell with an IPython magic
        return source
    lines = source.split("\n")
    roots = {module.split(".")[0] for module in shown.values()}
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        live = [
            item
            for item in node.names
            if item.name in shown
            and (node.module == shown[item.name] or node.module in roots)
        ]
        if live:
            lines[node.lineno - 1 : node.end_lineno] = _without(node, live)
    return "\n".join(lines).strip("\n")


def _without(node, live):
    indent = " " * node.col_offset
    kept = [
        f"{item.name} as {item.asname}" if item.asname else item.name
        for item in node.names
        if item not in live
    ]
    lines = [from_line(node.module, kept, indent)] if kept else []
    for item in live:
        if item.asname and item.asname != item.name:
            lines.append(f"{indent}{item.asname} = {item.name}")
    return lines or ([f"{indent}pass"] if indent else [])
