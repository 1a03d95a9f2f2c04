"""Reading MyST: pages, directives, and where each piece of syntax stands.

The parser is myst-parser's own, with the extensions that `_config.yml`
names, so that a notebook is read exactly as the published page is.  Two
things are added: every role remembers its span in the text, so that it can be
replaced there, and every directive knows its line.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

VERBATIM = frozenset("code-cell in-notebook literalinclude math".split())
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


@dataclass(frozen=True)
class Page:
    """One source page."""

    docname: str
    path: Path
    text: str


def make_parser(extensions):
    """MyST parser whose roles carry `meta["span"]`."""
    config = MdParserConfig(enable_extensions=set(extensions))
    parser = create_md_parser(config, RendererHTML)
    rules = {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
    parser.inline.ruler.at("myst_role", _with_span(rules["myst_role"]))
    return parser


def _with_span(rule):
    def spanned(state, silent):
        start = state.pos
        found = rule(state, silent)
        if found and not silent:
            token = state.tokens[-1]
            token.meta = {**token.meta, "span": (start, state.pos)}
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
        return yaml.safe_load("\n".join(lines[1:end])), end + 1
    options = {}
    for count, line in enumerate(lines):
        match = OPTION.match(line)
        if match is None:
            return options, count
        options[match[1]] = (match[2] or "").strip()
    return options, len(lines)


def walk(parser, text, line=1):
    """Yield (token, directive or None, line), directives' bodies included."""
    for token in parser.parse(text):
        here = line + token.map[0] if token.map else line
        directive = None
        if token.type in ("fence", "colon_fence"):
            directive = read_directive(token, here)
        yield token, directive, here
        if directive and directive.name not in VERBATIM:
            yield from walk(parser, directive.body, directive.body_line)
