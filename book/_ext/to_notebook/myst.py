"""Reading MyST: pages, directives, and where each piece of syntax stands.

The parser is myst-parser's own, with the extensions that `_config.yml`
names, so that a notebook is read exactly as the published page is.  Two
things are added: every inline construct remembers its span in the text, so
that it can be replaced there, and every directive knows its line.
"""

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import yaml
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

SPANNED = frozenset(
    "attr footnote_ref html_inline image link myst_role span".split()
)
VERBATIM = frozenset(
    "bibliography code code-block code-cell csv-table glossary literalinclude"
    " math raw sourcecode".split()
)
OPTION = re.compile(r"\s*:([A-Za-z][\w-]*):(?:\s+(.*))?$")


class SourceError(Exception):
    """A construct that cannot be written into a notebook, and where it is."""

    def __init__(self, path, line, message):
        super().__init__(f"{path}:{line}: {message}")


@dataclass(frozen=True)
class Directive:
    """One directive: `{name} argument`, options, body, and their lines."""

    name: str
    argument: str
    options: dict
    body: str
    line: int
    body_line: int


@dataclass
class Page:
    """One source page, parsed once; `env` holds its link and note labels."""

    docname: str
    path: Path
    text: str
    env: dict = field(default_factory=dict)


def make_parser(extensions):
    """MyST parser whose inline tokens carry `meta["span"]`.

    Attributes such as `{.wide}` make no token: they are the span "attrs" of
    the token that they follow.
    """
    config = MdParserConfig(enable_extensions=set(extensions))
    parser = create_md_parser(config, RendererHTML)
    rules = {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
    for name in SPANNED & rules.keys():
        parser.inline.ruler.at(name, _with_span(rules[name]))
    return parser


def _with_span(rule):
    def spanned(state, silent):
        start, count = state.pos, len(state.tokens)
        found = rule(state, silent)
        if found and not silent:
            new = [t for t in state.tokens[count:] if t.type != "text"]
            token, key = (
                (new[0], "span") if new else (state.tokens[-1], "attrs")
            )
            token.meta = {**token.meta, key: (start, state.pos)}
        return found

    return spanned


def read_directive(token, line):
    """The directive that a fence token opens at `line`, or None."""
    match = re.match(r"\{([^\s}]+)\}\s*(.*)", token.info.strip())
    if match is None:
        return None
    lines = token.content.rstrip("\n").split("\n")
    options, count = _read_options(lines)
    while count < len(lines) and not lines[count].strip():
        count += 1
    return Directive(
        name=match[1],
        argument=match[2].strip(),
        options=options,
        body="\n".join(lines[count:]),
        line=line,
        body_line=line + 1 + count,
    )


def _read_options(lines):
    if lines[0].strip() == "---" and "---" in lines[1:]:
        end = lines.index("---", 1)
        block = yaml.safe_load("\n".join(lines[1:end])) or {}
        return block, end + 1
    options = {}
    for count, line in enumerate(lines):
        match = OPTION.match(line)
        if match is None:
            return options, count
        options[match[1]] = (match[2] or "").strip()
    return options, len(lines)


def walk(parser, page, text, line=1, depth=0):
    """Yield (token, next token, directive, line, depth), bodies included."""
    tokens = parser.parse(text, page.env)
    for token, after in zip_longest(tokens, tokens[1:]):
        here = line + token.map[0] if token.map else line
        directive = None
        if token.type in ("fence", "colon_fence"):
            directive = read_directive(token, here)
        if directive and directive.name == "code-cell" and depth:
            raise SourceError(
                page.path, here, "{code-cell} must not stand in a directive"
            )
        yield token, after, directive, here, depth
        if directive and directive.name not in VERBATIM:
            yield from walk(
                parser, page, directive.body, directive.body_line, depth + 1
            )


def plain(inline):
    """The words of an inline token, without its markup."""
    words = []
    for child in inline.children or []:
        if child.type == "math_inline":
            words.append(f"${child.content}$")
        elif child.type == "softbreak":
            words.append(" ")
        elif child.type == "image":
            words.append(child.content)
        elif not child.type.startswith("html"):
            words.append(child.content)
    return "".join(words)
