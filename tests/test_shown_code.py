"""What a page shows of a module is the definition that it names, whole."""

import ast
import re
import textwrap
from pathlib import Path

from sphinx.pycode import ModuleAnalyzer

BOOK = Path(__file__).parents[1] / "book"
INCLUDE = re.compile(r"\{literalinclude\} (\S+)\n:pyobject: (\S+)")


def definitions(path, name):
    """What stands in the lines that Sphinx takes for the definition."""
    source = (BOOK / path).resolve()
    analyzer = ModuleAnalyzer.for_file(str(source), "")
    _, first, last = analyzer.find_tags()[name]
    lines = source.read_text("utf-8").splitlines(keepends=True)
    found = textwrap.dedent("".join(lines[first - 1 : last]))
    return [getattr(each, "name", None) for each in ast.parse(found).body]


def test_sphinx_finds_the_whole_of_it_and_no_more():
    """It takes a line that begins with the operator @ for a decorator."""
    shown = {
        (path, name)
        for page in BOOK.glob("*.md")
        for path, name in INCLUDE.findall(page.read_text("utf-8"))
    }
    assert len(shown) > 100
    wrong = {}
    for path, name in sorted(shown):
        try:
            found = definitions(path, name)
        except (KeyError, SyntaxError) as error:
            found = repr(error)
        if found != [name.rpartition(".")[2]]:
            wrong[path, name] = found
    assert not wrong
