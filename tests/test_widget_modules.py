"""How a widget's script is put together, and that it asks for nothing more."""

import re

import pytest
from widgets_common import MODULES, WIDGETS, ask

from lookback.widgets import base

# Comments and regular expressions are passed over; of texts, what they hold
# is looked at on its own, and what stands in a template's ${…} is code again.
TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<text> "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
  | (?P<pattern> (?<=[(,=:\[!&|?{};\n])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\])*\]
                 |[^/\\\n])+/[a-z]* )
  | (?P<template> ` )
  | (?P<brace> [{}] )
    """,
    re.VERBOSE | re.DOTALL,
)
QUASI = re.compile(r"(?:\\.|\$(?!\{)|[^\\`$])*", re.DOTALL)

# In code: what fetches, what imports, and what names a source.
CODE = re.compile(
    r"""
    \b(?: fetch | XMLHttpRequest | WebSocket | WebTransport | EventSource
        | sendBeacon | importScripts | Worker | SharedWorker | Image
        | FontFace | eval | Function | getElementById )\b
  | \bimport\b
  | \bexport\s* (?: \* | \{[^}]*\} ) [^;]* \bfrom\b
  | \b(?: src | srcset | srcdoc | href | poster | innerHTML | outerHTML )\b
    \s* = (?!=)
  | [{,]\s* (?: src | srcset | srcdoc | href | poster )\s* [:,}]
  | \b(?: insertAdjacentHTML | write | open )\s*\( \s* \S
    """,
    re.VERBOSE,
)
# In texts: an attribute or a tag that fetches, a style that does, and any
# address but the namespaces of SVG and MathML, which nobody asks for.
TEXT = re.compile(
    r"""
    \A(?: src | srcset | srcdoc | href | xlink:href | poster )\Z
  | \A(?: script | link | iframe | img | image | embed | object | audio
        | video | use )\Z
  | \b(?: src | href )\s*=
  | <\s*(?: script | link | iframe | img | embed | object )\b
  | @import | \burl\(
  | \A(?: fetch | XMLHttpRequest | WebSocket | EventSource | importScripts )\Z
  | \b(?: https? | wss? | ftp ) :// (?! www\.w3\.org/(?:2000/svg|1998/Math) )
  | \A // \w
    """,
    re.VERBOSE | re.IGNORECASE,
)
STYLE = re.compile(r"@import|url\((?!\s*[\"']?(?:data:|\#))|\bsrc\s*:")


def split(script: str) -> tuple[str, list[str]]:
    """A script's code, each text in it one “”, and its texts."""
    code, texts = [], []
    inside: list[int] = []  # for each open ${ the braces that are open in it
    at = 0

    def template(start: int) -> int:
        """From a template's next letters to its end or to its next ${."""
        held = QUASI.match(script, start)
        texts.append(held[0])
        code.append('""')
        if script.startswith("${", held.end()):
            inside.append(0)
            return held.end() + 2
        return held.end() + 1

    while found := TOKEN.search(script, at):
        code.append(script[at : found.start()])
        at = found.end()
        if found["text"]:
            texts.append(found["text"][1:-1])
            code.append('""')
        elif found["template"]:
            at = template(at)
        elif found["brace"]:
            if found[0] == "}" and inside and inside[-1] == 0:
                inside.pop()
                at = template(at)
                continue
            if inside:
                inside[-1] += 1 if found[0] == "{" else -1
            code.append(found[0])
    return "".join([*code, script[at:]]), texts


def foreign(script: str) -> list[str]:
    """All by which a script would reach for something outside itself."""
    code, texts = split(script)
    found = [one[0] for one in CODE.finditer(code)]
    return found + [text for text in texts if TEXT.search(text)]


# The two doors, and who has them: a worker of its own script, and the files
# that lie beside the host. Nothing else of a widget reaches out.
FETCHING = {"fill_in", "translate", "which_word", "write_on"}
DOORS = {"worker": {"learning", *FETCHING}, "fetched": FETCHING}


@pytest.mark.parametrize("name", MODULES)
def test_a_widget_asks_for_nothing_from_outside(name):
    script = base.module(name)
    for door, users in DOORS.items():
        text = base.module(door, WIDGETS / "lib")
        assert (text in script) == (name in users)
        script = script.replace(text, "")
    assert foreign(script) == []
    assert not STYLE.search(base.style(name))


@pytest.mark.parametrize("name", MODULES)
def test_no_text_spans_two_lines(name):
    """What indents its second line would be lost."""
    assert not any("\n" in text for text in split(base.module(name))[1])


@pytest.mark.parametrize(
    "wrong",
    [
        "const a = await fetch(b);",
        "window.fetch (b)",
        'globalThis["fetch"](b)',
        "const f = fetch; f(b)",
        "new XMLHttpRequest()",
        "new WebSocket(a)",
        "new EventSource(a)",
        "navigator.sendBeacon(a, b)",
        "importScripts(a)",
        "new Worker(a)",
        'import { a } from "./b.js";',
        'import "./b.js";',
        'import a from "https://host/b.js";',
        "const a = await import(b);",
        'export { a } from "./b.js";',
        'export * from "./b.js";',
        "node.src = a",
        "node.href=a",
        'node["src"] = a',
        'element("img", { src: a })',
        'element("div", { title: 1, href: `#${a}` })',
        'node.setAttribute("href", a)',
        'svg("use", { x: 1 })',
        'node.innerHTML = "<b>bold</b>"',
        'a = `<img src="${b}">`',
        'element("script", {})',
        'node.style.background = "url(picture.png)"',
        'sheet.textContent = "@import url(a.css)"',
        'a = "https://host/a"',
        'a = "//host/a"',
        "a = `${b ? `${`wss://host`}` : 1}`",
        'a = /"/; fetch(b)',
        "a = `{`; fetch(b)",
        "a = `${{ b: `}` }}`; fetch(b)",
        "// it's\nfetch(b)",
        'eval("a")',
        "document.getElementById(a)",
        "window.open(a)",
    ],
)
def test_each_way_to_the_outside_is_found(wrong):
    assert foreign(wrong)


@pytest.mark.parametrize(
    "right",
    [
        'document.createElementNS("http://www.w3.org/2000/svg", "svg")',
        "// import it from https://host, or fetch it\n",
        "/** @type {import('./a.js').B} */ const a = 1;",
        'const a = "Each number fetches its row; import nothing.";',
        "a = `${b} src, ${c} href`",
        "if (src === 1) return;",
        "a = b ? href : c",
        'a = "a source of fetch"',
        "a = x / y; b = z / 2 // fetch",
        'a = text.replace(/^-(?=0\\.?0*$)/, "").split(/[\\s,;"]+/)',
        "export const fetched = { from: 1 };",
        "export default widget([], [], build);",
    ],
)
def test_what_only_looks_like_it_passes(right):
    assert foreign(right) == []


@pytest.mark.parametrize(
    ("sheet", "fine"),
    [
        ("a { color: red }", True),
        ("a { background: url('data:image/svg+xml,…') }", True),
        ("a { background: url(picture.png) }", False),
        ("@import 'other.css';", False),
        ("@font-face { src: local(a) }", False),
    ],
)
def test_a_sheet_that_asks_for_something_is_found(sheet, fine):
    assert bool(STYLE.search(sheet)) is not fine


def write(folder, **modules: str) -> None:
    for name, text in modules.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")


def test_a_module_that_two_import_stands_once_and_first(tmp_path):
    (tmp_path / "lib").mkdir()
    write(tmp_path / "lib", d="export const d = 4;\n")
    write(
        tmp_path,
        a='import { b } from "./b.js";\n'
        'import {\n  c,\n} from "./c.js";\nb + c;\n',
        b='import { d } from "./lib/d.js";\nexport const b = d;\n',
        c='import { d } from "./lib/d.js";\nexport const c = d;\n',
    )
    d, b, c = (
        f"export const {name};\n" for name in ("d = 4", "b = d", "c = d")
    )
    assert base.module("a", tmp_path) == f"{d}{b}{c}b + c;\n"


def test_modules_in_a_circle_stand_once_each(tmp_path):
    write(
        tmp_path,
        a='import { b } from "./b.js";\nexport const a = () => b;\n',
        b='import { a } from "./a.js";\nexport const b = () => a;\n',
    )
    expected = "export const b = () => a;\nexport const a = () => b;\n"
    assert base.module("a", tmp_path) == expected


def test_limits_come_as_a_constant_and_what_explains_stays_behind(tmp_path):
    (tmp_path / "a.json").write_text('{ "most": 3 }')
    write(
        tmp_path,
        a="// @ts-check\n"
        'import limits from "./a.json" with { type: "json" };\n'
        "/** One line. */\n"
        "  /** Two\n   * lines. */\n"
        "  const b = /** @type {number} */ (limits.most); // after code\n"
        'const c = "/** a text */";\n',
    )
    assert base.module("a", tmp_path) == (
        'const limits = {"most": 3};\n'
        "const b = /** @type {number} */ (limits.most); // after code\n"
        'const c = "/** a text */";\n'
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('import { b } from "./b.js";', r"b\.js is imported, and is not there"),
        ('import { b } from "../b.js";', "not there"),
        ('import { b } from "b";', "no module for: import"),
        ('import { b } from "https://host/b.js";', "no module for"),
        ("import { b } from './a.js';", "no module for"),
        ('import "./a.js";', "no module for"),
        ('import * as b from "./a.js";', "only plain names"),
        ('import { b as c } from "./a.js";', "only plain names"),
        ('import b from "./a.js";', "only plain names"),
        ('export { b } from "./a.js";', "no module for: export"),
        ('export * from "./a.js";', "no module for: export"),
    ],
)
def test_an_import_that_has_no_place_is_refused(tmp_path, line, says):
    write(tmp_path, a=f"{line}\n")
    with pytest.raises(ValueError, match=says):
        base.module("a", tmp_path)


@pytest.mark.parametrize("name", MODULES)
def test_no_line_stands_twice_in_what_is_shipped(name):
    """A diamond of imports would declare its functions again."""
    declared = re.findall(
        r"^export (?:const|function) (\w+)", base.module(name), re.MULTILINE
    )
    assert len(declared) == len(set(declared))
    assert set(declared) <= set(ask(name, "exports")[0])


def test_the_library_ships_with_the_package():
    lib = {path.name for path in (WIDGETS / "lib").iterdir()}
    assert {"view.js", "view.css", "maths.js", "host.js"} <= lib
