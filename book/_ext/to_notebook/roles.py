"""Roles, links and notes inside a line, as plain Markdown.

Citations, references and terms become links into the published book;
measured numbers are read from the records.
"""

import posixpath
import re

TITLED = re.compile(r"(.*?)\s*<([^<>]+)>$", re.DOTALL)
ALIGN = re.compile(r"\\(begin|end)\{(align|gather)\*?\}")


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


class Inline:
    """Rewrites the inline constructs of one page."""

    def __init__(self, book, page, record=recorded):
        self.book, self.page, self.record = book, page, record
        self.notes: dict[str, int] = {}

    def inline(self, raw, line):
        """`raw` with every role, note, link and image replaced."""
        (block,) = self.book.parser.parseInline(raw, self.page.env)
        edits = []
        for token in block.children or []:
            here = line + raw.count("\n", 0, token.meta.get("span", (0,))[0])
            edits += self._edits(token, raw, here)
        for start, end, new in sorted(edits, reverse=True):
            raw = raw[:start] + new + raw[end:]
        return raw

    def _edits(self, token, raw, line):
        """[(start, end, new text)] that one token asks for."""
        if token.type.startswith("substitution"):
            raise self.error(line, "substitutions have no notebook form")
        edits = []
        if "attrs" in token.meta:
            edits.append((*token.meta["attrs"], ""))
        if "span" not in token.meta:
            return edits
        start, end = token.meta["span"]
        if token.type == "myst_role":
            edits.append((start, end, self._role(token, line)))
        elif token.type == "footnote_ref":
            edits.append((start, end, self._note(token.meta["label"])))
        elif token.type == "span_open":
            edits.append((start, start + 1, ""))
            edits.append((self._tail(raw, start, end), end, ""))
        elif token.type in ("image", "link_open"):
            image = token.type == "image"
            target = str(token.attrs["src" if image else "href"])
            url = self.address(target, line, image)
            edits.append((self._tail(raw, start, end), end, f"]({url})"))
        elif token.content.startswith("<!--"):
            edits.append((start, end, ""))
        return edits

    def _tail(self, raw, start, end):
        """Where a link's text ends: before `(url)`, `[label]` or `{class}`."""
        for opening in ("](", "][", "]{"):
            closing = {"(": ")", "[": "]", "{": "}"}[opening[1]]
            place = raw.rfind(opening, start, end)
            if place >= 0 and raw[end - 1] == closing:
                return place
        return end - 1

    def _note(self, label):
        number = self.notes.setdefault(label, len(self.notes) + 1)
        return f"<sup>note {number}</sup>"

    def _role(self, token, line):
        name, content = token.meta["name"], token.content
        if name in ("cite", "cite:p", "cite:t"):
            return self._cite(content, name == "cite:t", line)
        if name in ("ref", "numref", "eq", "doc", "term"):
            return getattr(self, f"_{name}")(content, line)
        if name == "record":
            return self.record(content)
        if name == "math":
            return f"${content}$"
        if name == "abbr":
            return content
        if name in ("kbd", "sub", "sup"):
            return f"<{name}>{content}</{name}>"
        raise self.error(line, f"unknown role {{{name}}}")

    def _cite(self, content, textual, line):
        links = []
        for key in content.split(","):
            try:
                authors, year, url = self.book.citation(key.strip())
            except KeyError:
                raise self.error(
                    line, f"no work “{key.strip()}” in the bibliography"
                ) from None
            text = f"{authors} ({year})" if textual else f"{authors}, {year}"
            links.append(link(text, url))
        if textual:
            return " and ".join(links)
        return f"({'; '.join(links)})"

    def _label(self, label, line, prefix=""):
        try:
            found = self.book.labels[prefix + label]
        except KeyError:
            raise self.error(line, f"no label “{label}”") from None
        return found, self.book.url(found.docname, found.anchor)

    def _ref(self, content, line):
        text, label = split_title(content)
        found, url = self._label(label, line)
        if text is None and found.kind == "exercise" and found.number:
            text = self.book.formats["exercise"] % found.number
        text = text or found.title
        if not text:
            raise self.error(line, f"“{label}” has no title: give a text")
        return link(text, url)

    def _numref(self, content, line):
        text, label = split_title(content)
        found, url = self._label(label, line)
        if not found.number or found.kind not in self.book.formats:
            raise self.error(line, f"“{label}” has no number")
        text = text or self.book.formats[found.kind]
        text = text.replace("{number}", "%s").replace("{name}", found.title)
        return link(text.replace("%s", found.number), url)

    def _eq(self, content, line):
        found, url = self._label(content.strip(), line, "equation:")
        return link(f"({found.number})", url)

    def _doc(self, content, line):
        text, target = split_title(content)
        docname = self.book.docname(self.page, target)
        if docname is None:
            raise self.error(line, f"no page “{target}”")
        return link(text or self.book.titles[docname], self.book.url(docname))

    def _term(self, content, line):
        text, term = split_title(content)
        found = self.book.terms.get(term.lower())
        if found is None:
            raise self.error(line, f"no term “{term}” in the glossary")
        return link(text or term, self.book.url(found.docname, found.anchor))

    def address(self, target, line, image=False):
        """A link's absolute address; images and pages are the book's own."""
        if re.match(r"[a-z][a-z+.-]*:", target):
            return target
        if image:
            return f"{self.book.address}/_images/{posixpath.basename(target)}"
        path, _, place = target.partition("#")
        if not path:
            if place in self.book.labels:
                return self._label(place, line)[1]
            return self.book.url(self.page.docname, place)
        docname = self.book.docname(self.page, path)
        if docname is None:
            raise self.error(line, f"no page “{path}” to link to")
        return self.book.url(docname, place)

    def equation(self, latex, line):
        """Displayed mathematics, with its number if it has one."""
        parts = [p.strip() for p in latex.strip().split("\n\n") if p.strip()]
        if len(parts) > 1:
            latex = " \\\\\n".join(parts)
        else:
            latex = "\n".join(parts)
        latex = ALIGN.sub(r"\\\1{\2ed}", latex)
        if "\\\\" in latex and "\\begin" not in latex:
            latex = f"\\begin{{aligned}}\n{latex}\n\\end{{aligned}}"
        number = self.book.numbers.get((self.page.docname, line))
        tag = f"\n\\tag{{{number}}}" if number else ""
        return f"$$\n{latex}{tag}\n$$"
