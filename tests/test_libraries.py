"""What npm installs: the lock says all of it, and names no host."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
TEXT = (ROOT / "package-lock.json").read_text(encoding="utf-8")
LOCKED = json.loads(TEXT)["packages"]
HELD = {name: one for name, one in LOCKED.items() if name}


def test_the_lock_is_that_of_package_json():
    for kind in ("dependencies", "devDependencies"):
        assert LOCKED[""][kind] == PACKAGE[kind]
        for name, version in PACKAGE[kind].items():
            assert HELD[f"node_modules/{name}"]["version"] == version


def test_every_package_has_its_hash_and_none_an_address():
    for name, one in HELD.items():
        assert re.fullmatch(r"sha512-[\w+/]{86}==", one["integrity"]), name
    assert "://" not in TEXT and "resolved" not in TEXT


@pytest.mark.parametrize("system", ["linux-x64", "darwin-arm64", "win32-x64"])
def test_the_checkers_are_locked_for_every_system(system):
    for name in ("@biomejs/cli", "@typescript/typescript"):
        assert f"node_modules/{name}-{system}" in HELD
