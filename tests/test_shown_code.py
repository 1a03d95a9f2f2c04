"""What a page shows of a module is the definition that it names, whole."""

import ast
import re
import textwrap
from pathlib import Path

import pytest
from sphinx.pycode import ModuleAnalyzer

BOOK = Path(__file__).parents[1] / "book"
SHOWN = sorted(
    {
        (path, name)
        for page in BOOK.glob("*.md")
        for path, name in re.findall(
            r"\{literalinclude\} (\S+)\n:pyobject: (\S+)", page.read_text()
        )
    }
)


@pytest.mark.parametrize(("path", "name"), SHOWN, ids=lambda part: str(part))
def test_sphinx_finds_the_whole_of_it_and_no_more(path, name):
    """It takes a line that begins with the operator @ for a decorator."""
    source = (BOOK / path).resolve()
    analyzer = ModuleAnalyzer.for_file(str(source), "")
    _, first, last = analyzer.find_tags()[name]
    lines = source.read_text().splitlines(keepends=True)[first - 1 : last]
    found = ast.parse(textwrap.dedent("".join(lines)))
    [definition] = found.body
    assert definition.name == name.rpartition(".")[2]
