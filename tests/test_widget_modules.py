"""How a widget's script is put together."""

import re

import pytest
from widgets_common import MODULES, WIDGETS, ask

from lookback.widgets import base


def test_no_text_spans_two_lines():
    """What indents its second line would be lost; code inside ${…} may be."""
    for name in MODULES:
        inside = False
        for line in base.module(name).splitlines():
            line = re.sub(r'\\.|"[^"`${}]*`[^"`${}]*"', "", line)
            if line.count("`") % 2:
                begins = re.search(r"\$\{[^}`]*$", line)
                assert begins or inside, f"{name}: {line}"
                inside = bool(begins)


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
