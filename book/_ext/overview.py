"""What README and CONTRIBUTING list of the package: `make notebooks` writes it.

Between `<!-- modules -->` and `<!-- end -->` README has a line for each idea,
its name and the first sentence of its docstring, and CONTRIBUTING the map of
`src/lookback/`.
"""

from __future__ import annotations

import ast
import re
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap

import facts
import notation

PART = re.compile(r"(?<=<!-- modules -->\n).*?(?=<!-- end -->)", re.DOTALL)
AGREED = ("vocabulary", "translator")  # what models and bench agree on
MAP = """\
```
      vocabulary            translator          what all agree on
           ▲                     ▲
      ┌────┴─────────────────────┴────┐
  the ideas                       lab/, the bench
{rooms}
      ▲   ▲                            ▲
      │   └──────────────┬─────────────┘
  exercises/      widgets/  experiments/
```
"""


def modules(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("[a-z]*.py"))


def ideas(root: Path) -> list[str]:
    """The ideas in the order of the book.

    A module without a chapter of its own stands at the first that names it.
    """
    pages = notation.pages(root)
    texts = {page.stem: page.read_text("utf-8") for page in pages}
    texts = {stem: text for stem, text in texts.items() if facts.STRIP in text}

    def place(name: str) -> tuple[int, bool, str]:
        used = re.compile(rf"\blookback(\.|/| import .*\b){name}\b")
        at = [n for n, stem in enumerate(texts) if stem == name]
        at += [n for n, text in enumerate(texts.values()) if used.search(text)]
        return (*at, len(texts))[0], name not in texts, name

    found = {*modules(root / "src" / "lookback")} - {*AGREED}
    return sorted(found, key=place)


def summary(path: Path) -> str:
    """The first sentence of a module's docstring."""
    said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split())


def listed(root: Path) -> str:
    """README's list."""
    package = root / "src" / "lookback"
    return "".join(
        f"- `{name}` – {summary(package / f'{name}.py')}\n"
        for name in [*ideas(root), *AGREED]
    )


def drawn(root: Path) -> str:
    """CONTRIBUTING's map."""
    left = wrap(" ".join(ideas(root)), 28)
    right = wrap(" ".join(modules(root / "src" / "lookback" / "lab")), 40)
    rooms = [
        f"  {one:<32}{other}".rstrip()
        for one, other in zip_longest(left, right, fillvalue="")
    ]
    return MAP.format(rooms="\n".join(rooms))


def listings(root: Path) -> dict[Path, str]:
    """The texts of the files whose list is another, by path."""
    found = {}
    for name, made in {"README.md": listed, "CONTRIBUTING.md": drawn}.items():
        path = root / name
        if path.exists():
            old = path.read_text("utf-8")
            new = PART.sub(lambda _, made=made: made(root), old, count=1)
            if new != old:
                found[path] = new
    return found
