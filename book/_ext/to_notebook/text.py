"""A page's text in pieces: runs of plain Markdown, and cells of code.

Plain Markdown is kept to the letter.  The roles and directives that the
chapters use are replaced where they stand; citations and references become
links into the published book, measured numbers are read from the records.
Whatever else is found is an error: nothing passes through raw.
"""

import re
from dataclasses import dataclass

import glossary

from to_notebook.myst import SourceError, read_directive

PLAIN_BLOCKS = frozenset(
    "blockquote bullet_list heading list_item ordered_list paragraph".split()
)
PLAIN_WORDS = frozenset(
    "code_inline em_close em_open hardbreak link_close link_open math_inline"
    " softbreak strong_close strong_open text text_special".split()
)
TITLED = re.compile(r"(.*?)\s*<([^<>]+)>$", re.DOTALL)
ALIGN = re.compile(r"\\(begin|end)\{(align|gather)\*?\}")


@dataclass
class Piece:
    """A run of text or one cell of code; a `gate` parts off a solution.

    One that opens has the words that may stand for the solution.
    """

    kind: str  # text, code, gate
    source: str
    line: int
    starts_cell: bool = False
    include: object = None
    folded: bool = False  # its source gives an answer away


def recorded(path):
    """A measured number, as the published page shows it."""
    from lookback.lab import records

    return records.quote(path)


def split_title(content):
    """(text, target) of `text <target>`; text is None for a bare target."""
    match = TITLED.match(content)
    return (match[1], match[2]) if match else (None, content.strip())


def link(text, url):
    return f"[{text}]({url})"


class Writer:
    """Writes one page of a book.

    `directives` maps the name of each directive to what writes it and to the
    parts that it may have.
    """

    def __init__(self, book, page, directives, record=recorded):
        self.book, self.page = book, page
        self.directives, self.record = directives, record

    def pieces(self, text, line):
        """The pieces of a stretch of MyST that starts at `line`."""
        lines = text.split("\n")
        written, kept, at = [], [], 0
        for token in self.book.parser.parse(text):
            if token.map is None or token.map[0] < at:
                continue
            start, end = token.map
            new = self._block(token, lines[start:end], line + start)
            if token.tag == "h2" and token.nesting == 1 and not token.level:
                kept += self._blank(lines[at:start], line + at)
                written.append(_text(kept, line + at))
                written.append(Piece("text", "", line + start, True))
                kept, at = [], start
            if new is None:
                continue
            kept += self._blank(lines[at:start], line + at)
            at = end
            if isinstance(new, str):
                kept += new.split("\n")
            else:
                written += [_text(kept, line), *new]
                kept = []
        kept += self._blank(lines[at:], line + at)
        written.append(_text(kept, line))
        return [
            p for p in written if p.source or p.starts_cell or p.kind == "gate"
        ]

    def _blank(self, lines, line):
        """Lines outside every block: only blank ones have a notebook form."""
        for at, words in enumerate(lines):
            if words.strip("> "):
                raise self.error(line + at, f"no notebook form for “{words}”")
        return lines

    def _block(self, token, raw, line):
        """What stands for a block: None (as it is), a string, or pieces."""
        kind = token.type
        if kind == "inline":
            return self.inline("\n".join(raw), line)
        if kind == "table_open":
            return "\n".join(
                self.inline(row, line + at) for at, row in enumerate(raw)
            )
        if kind == "fence":
            return self._fence(token, line)
        if kind == "math_block":
            return "\n".join(raw)
        if re.sub(r"_(open|close)$", "", kind) not in PLAIN_BLOCKS:
            raise self._unknown(token, line)
        return None

    def _fence(self, token, line):
        directive = read_directive(token, line)
        if token.level:
            raise self.error(line, "code or a box inside a list or a quote")
        if directive is None and token.info.strip() == "python":
            return [Piece("code", token.content.rstrip("\n"), line)]
        if directive is None:
            raise self.error(line, f"no notebook form for “```{token.info}”")
        name = directive.name
        if name not in self.directives:
            raise self.error(line, f"unknown directive {{{name}}}")
        write, known = self.directives[name]
        for part in _parts(directive):
            if part not in known.split():
                raise self.error(line, f"{{{name}}} has an unknown {part}")
        return write(self, directive)

    def body(self, directive):
        """The pieces of a directive's body."""
        return self.pieces(directive.body, directive.body_line)

    def inline(self, raw, line):
        """`raw` with every role replaced."""
        (block,) = self.book.parser.parseInline(raw)
        edits = []
        for token in block.children:
            if token.type == "myst_role":
                edits.append((token.meta["span"], self._role(token, line)))
            elif not _is_plain(token):
                raise self._unknown(token, line)
            line += token.type in ("softbreak", "hardbreak")
        for (start, end), new in reversed(edits):
            raw = raw[:start] + new + raw[end:]
        return raw

    def _role(self, token, line):
        name, content = token.meta["name"], token.content
        if name in ("cite", "cite:t"):
            return self._cite(content, name == "cite:t", line)
        if name == "ref":
            return self._ref(content, line)
        if name == "eq":
            found, url = self._label(f"equation:{content.strip()}", line)
            return link(f"({found.number})", url)
        if name == "doc":
            return self._doc(content, line)
        if name == "term":
            return self._term(content, line)
        if name == "record":
            return self.record(content)
        if name == "math":
            return f"${content}$"
        raise self.error(line, f"unknown role {{{name}}}")

    def _cite(self, content, textual, line):
        links = []
        for key in content.split(","):
            try:
                authors, year, url = self.book.citation(key.strip())
            except KeyError:
                raise self.error(
                    line,
                    f"no work “{key.strip()}” with authors and a year in the"
                    " bibliography",
                ) from None
            text = f"{authors} ({year})" if textual else f"{authors}, {year}"
            links.append(link(text, url))
        if textual:
            return " and ".join(links)
        return f"({'; '.join(links)})"

    def _label(self, label, line):
        if label not in self.book.labels:
            name = label.removeprefix("equation:")
            raise self.error(line, f"no label “{name}”")
        found = self.book.labels[label]
        return found, self.book.url(found.docname, found.anchor)

    def _ref(self, content, line):
        text, label = split_title(content)
        _, url = self._label(label, line)
        if not text:
            raise self.error(line, f"{{ref}} to “{label}” without a text")
        return link(text, url)

    def _doc(self, content, line):
        text, target = split_title(content)
        docname = self.book.docname(self.page, target)
        if docname is None:
            raise self.error(line, f"no page “{target}”")
        return link(text or self.book.titles[docname], self.book.url(docname))

    def _term(self, content, line):
        text, term = split_title(content)
        if term not in glossary.rows():
            raise self.error(line, f"“{term}” is not in terms.csv")
        url = self.book.url("book/glossary", glossary.anchor(term))
        return link(text or term, url)

    def equation(self, latex, line):
        """Displayed mathematics with its number."""
        if re.search(r"\n\s*\n", latex):
            raise self.error(line, "a blank line in an equation")
        if "\\\\" in latex and "\\begin" not in latex:
            raise self.error(line, "lines of an equation outside \\begin{…}")
        latex = ALIGN.sub(r"\\\1{\2ed}", latex)
        return f"$$\n{latex}\n\\tag{{{self.number(line)}}}\n$$"

    def number(self, line):
        """The number that the published page gives to what stands here."""
        try:
            return self.book.numbers[self.page.docname, line]
        except KeyError:
            raise self.error(line, "what stands here has no number") from None

    def error(self, line, message):
        return SourceError(self.page.path, line, message)

    def _unknown(self, token, line):
        name = re.sub(r"_(open|close|inline|block)$", "", token.type)
        return self.error(line, f"no notebook form for “{name}”")


def _text(lines, line):
    return Piece("text", "\n".join(lines).strip("\n"), line)


def _parts(directive):
    """What a directive has beside its name."""
    if directive.argument:
        yield "argument"
    if directive.body.strip():
        yield "body"
    yield from (f":{option}:" for option in directive.options)


def _is_plain(token):
    """Markdown that a notebook shows just as the page does."""
    if token.type == "link_open":
        address = str(token.attrs.get("href"))
        return len(token.attrs) == 1 and address.startswith("https://")
    return token.type in PLAIN_WORDS and not token.attrs
