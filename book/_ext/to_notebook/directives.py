"""What each directive of the book becomes in a notebook.

A handler takes the writer of the page and the directive, and returns pieces.
A directive that is missing from `DIRECTIVES` is an error.
"""

import re

from to_notebook.code import Included
from to_notebook.roles import link
from to_notebook.tables import caption, csv_table, list_table, pipe_table
from to_notebook.text import Piece, quote

BARE = {
    name: name.capitalize()
    for name in "note tip hint important warning caution attention danger"
    " error".split()
} | {
    "seealso": "See also",
    "epigraph": "",
    "pull-quote": "",
    "margin": "",
    "card": "",
}
TITLED = ("admonition", "dropdown", "sidebar", "topic", "card")


def text(directive, source, starts_cell=False):
    return [Piece("text", source, directive.line, starts_cell)]


def aside(writer, directive):
    """An admonition: a quote with a bold title."""
    if directive.name in TITLED:
        title = writer.inline(directive.argument, directive.line)
        return quote(writer.body(directive), title)
    gap = "\n" * (directive.body_line - directive.line)
    words = f"{directive.argument}{gap}{directive.body}"
    return quote(writer.pieces(words, directive.line), BARE[directive.name])


def inside(writer, directive):
    """A box that a notebook does not draw: what it holds."""
    return writer.body(directive)


def titled(writer, directive):
    """A tab or a rubric: its name in bold, then what it holds."""
    title = writer.inline(directive.argument, directive.line)
    return text(directive, f"**{title}**") + writer.body(directive)


def strip(writer, directive):
    """The line at the top of a chapter: the page, the time, the needs."""
    book, options = writer.book, directive.options
    words = [f"A chapter of {link(book.title, book.url(writer.page.docname))}"]
    if "minutes" in options:
        words.append(f"about {options['minutes']} minutes")
    if "needs" in options:
        needs = writer.inline(options["needs"], directive.line)
        words.append(f"you need: {needs}")
    return text(directive, " · ".join(words))


def mathematics(writer, directive):
    latex = f"{directive.argument}\n{directive.body}"
    return text(directive, writer.equation(latex, directive.line))


def _picture(writer, directive, url):
    alt = re.sub(r"([\[\]])", r"\\\1", directive.options.get("alt", ""))
    words = "\n\n".join(piece.source for piece in writer.body(directive))
    words = caption(writer, directive.line, "figure", words)
    return text(directive, f"![{alt}]({url})\n\n{words}".strip())


def figure(writer, directive):
    url = writer.address(directive.argument, directive.line, image=True)
    return _picture(writer, directive, url)


def drawing(writer, directive):
    folder = f"{writer.book.address}/_static/drawings"
    return _picture(writer, directive, f"{folder}/{directive.argument}")


def listing(writer, directive):
    """Code that is shown and not run."""
    return _listing(writer, directive, directive.argument, directive.body)


def _listing(writer, directive, language, source):
    words = writer.inline(directive.options.get("caption", ""), directive.line)
    words = (
        caption(writer, directive.line, "code-block", words) if words else ""
    )
    return text(directive, f"{words}\n\n```{language}\n{source}\n```".strip())


def include(writer, directive):
    """The package's source: a live cell where it is whole statements."""
    folder, sources = writer.book.root, (writer.book.root / "src").resolve()
    if not directive.argument.startswith("/"):
        folder /= writer.page.path.parent
    file = (folder / directive.argument.lstrip("/")).resolve()
    try:
        included = Included(file, directive.options, sources)
    except (OSError, ValueError) as error:
        raise writer.error(directive.line, str(error)) from None
    if not included.is_live:
        language = directive.options.get("language", "python")
        return _listing(writer, directive, language, included.source)
    cell = Piece("code", included.cell, directive.line, include=included)
    return [cell]


def glossary(writer, directive):
    """Terms in bold, each with its definition."""
    lines = []
    for at, line in enumerate(directive.body.split("\n")):
        if line.strip() and not line[0].isspace():
            term = writer.inline(line.strip(), directive.body_line + at)
            lines += ["", f"**{term}**: "]
        elif line.strip():
            words = writer.inline(line.strip(), directive.body_line + at)
            lines[-1] += words if lines[-1].endswith(": ") else f" {words}"
    return text(directive, "\n".join(lines).strip())


def bibliography(writer, directive):
    url = writer.book.url(writer.book.bibliography)
    return text(directive, f"The works cited: {link('bibliography', url)}.")


def exercise(writer, directive):
    """A heading with the number that the page shows, then the text."""
    number = writer.book.numbers.get((writer.page.docname, directive.line))
    name = "Exercise"
    if number:
        name = writer.book.formats["exercise"] % number
    title = writer.inline(directive.argument, directive.line)
    heading = f"### {name}: {title}" if title else f"### {name}"
    return text(directive, heading, True) + writer.body(directive)


def exercise_end(writer, directive):
    return text(directive, "", True)


def solution(writer, directive):
    """Left out: a link to where the book shows it."""
    label = directive.options.get("label", directive.argument)
    url = writer.book.url(writer.page.docname, label)
    return text(directive, f"*{link('Solution in the book', url)}*")


def solution_start(writer, directive):
    gate = Piece("gate", "open", directive.line)
    return [*solution(writer, directive), gate]


def solution_end(writer, directive):
    return [Piece("gate", "close", directive.line)]


DIRECTIVES = {
    **dict.fromkeys([*BARE, *TITLED], aside),
    **dict.fromkeys(["tab-set", "grid", "container", "div"], inside),
    **dict.fromkeys(["tab-item", "rubric"], titled),
    **dict.fromkeys(["code", "code-block", "sourcecode"], listing),
    "bibliography": bibliography,
    "chapter-strip": strip,
    "csv-table": csv_table,
    "drawing": drawing,
    "exercise": exercise,
    "exercise-end": exercise_end,
    "exercise-start": exercise,
    "figure": figure,
    "glossary": glossary,
    "image": figure,
    "list-table": list_table,
    "literalinclude": include,
    "math": mathematics,
    "solution": solution,
    "solution-end": solution_end,
    "solution-start": solution_start,
    "table": pipe_table,
}
