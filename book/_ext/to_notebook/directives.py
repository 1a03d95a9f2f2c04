"""What each directive of the book becomes in a notebook.

A handler takes the writer of the page and the directive, and returns pieces.
A directive that is missing from `DIRECTIVES` is an error, and so is a part of
one that is not named there.
"""

from base64 import b64encode
from hashlib import sha256
from html import escape

import facts

from to_notebook.code import Included
from to_notebook.text import Piece, link


def text(directive, source, starts_cell=False):
    return [Piece("text", source, directive.line, starts_cell)]


def option(writer, directive, name):
    """The value of an option that must be there."""
    if not directive.options.get(name):
        raise writer.error(
            directive.line, f"{{{directive.name}}} without :{name}:"
        )
    return directive.options[name]


def strip(writer, directive):
    """The line at the top of a chapter: the page, the time, the needs."""
    book = writer.book
    url = book.url(writer.page.docname)
    said = facts.parse(writer.page.text, writer.page.path)
    minutes = said["minutes"]
    needs = writer.inline(said["needs"], directive.line)
    return text(
        directive,
        f"A chapter of {link(book.title, url)} · about {minutes} minutes"
        f" · you need: {needs}",
    )


def box(writer, directive):
    """A quote with a bold title; one that is folded stays folded."""
    pieces = writer.body(directive)
    for piece in pieces:
        if piece.kind != "text":
            raise writer.error(piece.line, "code inside a box")
    body = "\n\n".join(piece.source for piece in pieces)
    title = writer.inline(directive.argument or "Note", directive.line)
    kind = directive.options.get("class", "")
    if kind == "dropdown":
        fold = f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
        return text(directive, fold)
    if kind:
        raise writer.error(directive.line, f"no box of class “{kind}”")
    lines = f"**{title}**\n\n{body}".split("\n")
    return text(directive, "\n".join(f"> {line}".rstrip() for line in lines))


def myth(writer, directive):
    """The claim and the verdict; the paragraph below takes it apart."""
    claim = writer.inline(directive.argument, directive.line)
    verdict = option(writer, directive, "verdict")
    return text(directive, f"**{claim}** *{verdict}*")


def mathematics(writer, directive):
    option(writer, directive, "label")
    return text(directive, writer.equation(directive.body, directive.line))


def drawing(writer, directive):
    """A picture that the notebook holds; its caption as the page numbers it.

    As PNG in the text, since Colab shows neither SVG nor attachments there.
    """
    line, alt = directive.line, escape(option(writer, directive, "alt"))
    words = writer.inline(directive.body, directive.body_line)
    words = f"**Fig. {writer.number(line)}.** {words}"
    svg = writer.book.root / "book/_static/drawings" / directive.argument
    try:
        digest = sha256(svg.read_bytes()).hexdigest()
        png = svg.with_suffix(".png").read_bytes()
    except OSError as error:
        raise writer.error(line, f"{svg.name}: {error.strerror}") from None
    if digest.encode() not in png:
        raise writer.error(line, f"{svg.name} is newer than its PNG")
    width = int.from_bytes(png[16:20], "big") // 2  # two pixels for one
    data = f"data:image/png;base64,{b64encode(png).decode()}"
    picture = f'<img alt="{alt}" width="{width}" src="{data}">'
    return [*text(directive, picture, True), *text(directive, words, True)]


def include(writer, directive):
    """The package's source as a live cell."""
    root, name = writer.book.root, option(writer, directive, "pyobject")
    file = (root / writer.page.path.parent / directive.argument).resolve()
    try:
        included = Included(file, name, (root / "src").resolve())
    except (OSError, ValueError) as error:
        raise writer.error(directive.line, str(error)) from None
    return [Piece("code", included.cell, directive.line, include=included)]


def cell(writer, directive):
    """What the page does by fields of its own: a cell of the notebook."""
    return [Piece("code", directive.body, directive.line)]


def exercise(writer, directive):
    """A heading with the number that the page shows; the text follows."""
    number = writer.number(directive.line)
    title = writer.inline(directive.argument, directive.line)
    return text(directive, f"### Exercise {number}: {title}", True)


def exercise_end(writer, directive):
    return text(directive, "", True)


def solution(writer, directive):
    """A gate, and a link to where the book shows it."""
    label = option(writer, directive, "label")
    url = writer.book.url(writer.page.docname, label)
    words = f"*{link('Solution in the book', url)}*"
    return [Piece("gate", words, directive.line)]


def solution_end(writer, directive):
    return [Piece("gate", "", directive.line)]


# name: (what writes it, the parts that it may have)
DIRECTIVES = {
    "admonition": (box, "argument :class: body"),
    "chapter-strip": (strip, ""),
    "drawing": (drawing, "argument :alt: body"),
    "exercise-end": (exercise_end, ""),
    "exercise-start": (exercise, "argument :label:"),
    "in-notebook": (cell, "body"),
    "literalinclude": (include, "argument :language: :pyobject:"),
    "math": (mathematics, ":label: body"),
    "myth": (myth, "argument :in-short: :verdict:"),
    "note": (box, "body"),
    "solution-end": (solution_end, ""),
    "solution-start": (solution, "argument :class: :label:"),
}
