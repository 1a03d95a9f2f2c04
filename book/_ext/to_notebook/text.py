"""Pages into pieces: text that any notebook shows, and cells of code.

A page's tokens say where each MyST construct stands; its lines are replaced
there by plain Markdown and everything else is kept to the letter.  What is
not known here is an error: nothing passes through raw.
"""

import re
from dataclasses import dataclass

from to_notebook.myst import SourceError, read_directive
from to_notebook.roles import Inline, recorded

LEAVES = ("code_block", "hr", "math_block")
KEPT = frozenset(
    "blockquote bullet_list heading list_item ordered_list paragraph".split()
)
DROPPED = ("footnote_reference_open", "myst_line_comment", "myst_target")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass
class Piece:
    """A run of text or one cell of code; `gate` opens or closes a solution."""

    kind: str  # text, code, gate
    source: str
    line: int
    starts_cell: bool = False
    include: object = None
    tags: tuple[str, ...] = ()


def fence(piece):
    """A cell of code as text, where no cell can stand."""
    return f"```python\n{piece.source}\n```"


def quote(pieces, title=""):
    """Text as a quote under a bold title; cells stand between quotes."""
    if title:
        line = pieces[0].line if pieces else 0
        pieces = [Piece("text", f"**{title}**", line), *pieces]
    quoted, run = [], []
    for piece in [*pieces, None]:
        if piece and piece.kind == "text":
            run.append(piece.source.strip("\n"))
            continue
        body = "\n\n".join(text for text in run if text)
        if body:
            lines = (f"> {line}".rstrip() for line in body.split("\n"))
            quoted.append(Piece("text", "\n".join(lines), 0))
        run = []
        if piece:
            quoted.append(piece)
    return quoted


class Writer(Inline):
    """Writes one page of a book; `directives` maps names to handlers."""

    def __init__(self, book, page, directives, record=recorded):
        super().__init__(book, page, record)
        self.directives = directives

    def pieces(self, text, line):
        """The pieces of a stretch of MyST that starts at `line`."""
        lines = text.split("\n")
        tokens = self.book.parser.parse(text, self.page.env)
        written, kept, at = [], [], 0
        for token in tokens:
            if token.map is None or token.map[0] < at:
                continue
            start, end = token.map
            if token.type == "amsmath":  # its map leaves out the last line
                end = start + token.content.rstrip("\n").count("\n") + 1
            new = self._block(token, lines[start:end], line + start)
            if token.tag == "h2" and token.nesting == 1 and not token.level:
                kept += self._between(kept, lines[at:start])
                written.append(_text(kept, line + at))
                written.append(Piece("text", "", line + start, True))
                kept, at = [], start
            if new is None:
                continue
            kept += self._between(kept, lines[at:start])
            at = end
            if isinstance(new, str):
                _append(kept, new)
            elif token.level or not _is_fence_line(lines[start]):
                _append(kept, _nest(lines[start], token.markup, new))
            else:
                written += [_text(kept, line), *new]
                kept = []
        written.append(_text(kept + self._between(kept, lines[at:]), line))
        return [
            p for p in written if p.source or p.starts_cell or p.kind == "gate"
        ]

    def _between(self, kept, lines):
        """Lines outside every block: blank, or a link's definition."""
        lines = [line for line in lines if not self._is_definition(line)]
        while kept and not kept[-1] and lines and not lines[0].strip():
            lines.pop(0)
        return lines

    def _is_definition(self, line):
        is_label = line.lstrip().startswith("[")
        return is_label and not self.book.parser.parse(line, {})

    def _block(self, token, raw, line):
        """What stands for a block: None (as it is), a string, or pieces."""
        kind = token.type
        if kind == "inline":
            return self.inline("\n".join(raw), line)
        if kind == "table_open":
            return "\n".join(
                self.inline(row, line + at) for at, row in enumerate(raw)
            )
        if kind in ("fence", "colon_fence"):
            return self._fence(token, raw, line)
        if kind == "math_block_label":
            return self.equation(token.content, line)
        if kind == "amsmath" and "*}" in token.content:
            return self.equation(token.content, line)
        if kind == "dl_open":
            return self._definitions(raw, line)
        if kind in LEAVES:
            return "\n".join(raw)
        if kind in DROPPED:
            return ""
        if kind == "html_block":
            return COMMENT.sub("", "\n".join(raw)).strip("\n")
        base = re.sub(r"_(open|close)$", "", kind)
        if base not in KEPT:
            raise self.error(line, f"no notebook form for “{base}”")
        return None

    def _definitions(self, raw, line):
        """A definition list: terms in bold, definitions below."""
        lines = []
        for at, row in enumerate(raw):
            words = self.inline(row.strip(), line + at)
            if row.startswith(":"):
                words = words[1:].strip()
            elif words and not row[0].isspace():
                words = f"**{words}**\\"
            lines.append(words)
        return "\n".join(lines)

    def _fence(self, token, raw, line):
        directive = read_directive(token, line)
        if directive is None:
            if token.info.strip() in ("python", "ipython3"):
                return [Piece("code", token.content.rstrip("\n"), line)]
            return "\n".join(raw)
        handler = self.directives.get(directive.name)
        if handler is None:
            raise self.error(line, f"unknown directive {{{directive.name}}}")
        return handler(self, directive)

    def body(self, directive):
        """The pieces of a directive's body."""
        return self.pieces(directive.body, directive.body_line)

    def error(self, line, message):
        return SourceError(self.page.path, line, message)


def _text(lines, line):
    return Piece("text", "\n".join(lines).strip("\n"), line)


def _append(kept, text):
    """Add a block's text; one that is dropped leaves one blank line."""
    if text:
        kept += text.split("\n")
    elif kept and kept[-1].strip():
        kept.append("")


def _is_fence_line(line):
    return line.lstrip()[:3] in ("```", "~~~", ":::")


def _nest(opening, markup, pieces):
    """Pieces as text inside a list or a quote, under its prefix."""
    first = opening[: opening.index(markup)]
    rest = re.sub(r"[^>\s]", " ", first)
    text = "\n\n".join(
        fence(piece) if piece.kind == "code" else piece.source
        for piece in pieces
    )
    lines = text.split("\n")
    prefixes = [first] + [rest] * (len(lines) - 1)
    return "\n".join(
        (prefix + line).rstrip()
        for prefix, line in zip(prefixes, lines, strict=True)
    )
