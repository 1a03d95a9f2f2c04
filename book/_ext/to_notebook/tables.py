"""Tables as pipe tables, and the numbered captions of tables and figures."""

import csv
import re
from dataclasses import replace

from to_notebook.labels import drawn_figure
from to_notebook.text import Piece


def cell_caption(writer, options, line):
    """Under a cell: the caption of the figure that it draws, if it has one."""
    words = writer.inline(drawn_figure(options).get("caption", ""), line)
    words = words and caption(writer, line, "figure", words)
    return [Piece("text", words, line)] if words else []


def caption(writer, line, kind, words):
    """`**Fig. 3.** words`, as the published page numbers it."""
    book = writer.book
    number = book.numbers.get((writer.page.docname, line))
    if not number:
        return words
    return f"**{book.formats[kind] % number}.** {words}".strip()


def _table(writer, directive, rows):
    """A pipe table; `rows` hold plain Markdown."""
    count = int(directive.options.get("header-rows", "0"))
    width = max(len(row) for row in rows)
    head = rows[:count] or [[""] * width]
    rows = [
        [*head[-1]],
        ["---"] * width,
        *head[:-1],
        *rows[count:],
    ]
    lines = [
        "| " + " | ".join([*row, *[""] * (width - len(row))]) + " |"
        for row in rows
    ]
    return _captioned(writer, directive, "\n".join(lines))


def _captioned(writer, directive, table):
    title = writer.inline(directive.argument, directive.line)
    title = caption(writer, directive.line, "table", title)
    text = f"{title}\n\n{table}".strip()
    return [Piece("text", text, directive.line)]


def _cell(writer, source, line):
    """One cell's text: a bar would end the cell, so none is left bare."""
    source = writer.inline(" ".join(source.split()), line)
    (block,) = writer.book.parser.parseInline(source, {})
    for child in block.children or []:
        if child.type == "math_inline":
            safe = re.sub(r"(?<!\\)\|", r"\\vert ", child.content)
            source = source.replace(f"${child.content}$", f"${safe}$")
    return re.sub(r"(?<!\\)\|", r"\\|", source)


def list_table(writer, directive):
    """Nested bullets: one item a row, one inner item a cell."""
    rows = []
    for token in writer.book.parser.parse(directive.body, writer.page.env):
        line = directive.body_line + (token.map[0] if token.map else 0)
        if token.type == "list_item_open" and token.level == 1:
            rows.append([])
        elif token.type == "list_item_open" and token.level == 3:
            rows[-1].append("")
        elif token.type == "inline":
            cell = _cell(writer, token.content, line)
            rows[-1][-1] += f"<br>{cell}" if rows[-1][-1] else cell
        elif token.type in ("fence", "colon_fence", "math_block"):
            raise writer.error(line, "only text can stand in a table's cell")
    return _table(writer, directive, rows)


def csv_table(writer, directive):
    head = directive.options.get("header")
    lines = directive.body.split("\n")
    if head:
        lines.insert(0, head)
        directive = replace(
            directive, options={**directive.options, "header-rows": "1"}
        )
    rows = [
        [_cell(writer, cell, directive.body_line) for cell in row]
        for row in csv.reader(lines, skipinitialspace=True)
    ]
    return _table(writer, directive, rows)


def pipe_table(writer, directive):
    words = "\n\n".join(piece.source for piece in writer.body(directive))
    return _captioned(writer, directive, words)
