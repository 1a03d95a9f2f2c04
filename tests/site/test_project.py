"""Rules that the repository keeps: pins, ranges, package data, no hosts."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from contents import ROOT
from test_site_page_meta import built
from watching import served

sys.path[:0] = [str(ROOT / "tools")]


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# What Colab preinstalls, and the book must live with.
COLAB = {
    "anywidget": "0.9.21",
    "ipywidgets": "7.7.1",
    "matplotlib": "3.10.0",
    "torch": "2.11.0",
    "traitlets": "5.7.1",
}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned() -> list[str]:
    """What builds the book, then what tests it."""
    names = ("requirements.txt", "tests/requirements.txt")
    lines = [(ROOT / name).read_text().splitlines() for name in names]
    return [line for each in lines for line in each if line[:1] != "#"]


def pins() -> list[Requirement]:
    lines = pinned()
    return [Requirement(line) for line in lines if line[:1].isalpha()]


def kept() -> list[str]:
    """The repository's files, less what .gitignore names; git or no git."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    ignored = [line.strip("/") for line in lines if line[:1] not in ("", "#")]
    found = []
    for folder, folders, names in os.walk(ROOT):
        for some in (folders, names):
            some[:] = [
                one
                for one in some
                if one != ".git"
                and not any(fnmatch(one, pattern) for pattern in ignored)
            ]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return found


def test_every_package_but_torch_has_its_hashes():
    text = (ROOT / "tools" / "hashes.txt").read_text()
    text = "".join(re.split(r"(?m)^#.*\n", text))
    hashed = set()
    for pin in re.split(r"\n(?=\S)", text.strip()):
        first, *hashes = pin.split(" \\\n")
        hashed.add(first)
        assert hashes, first
        for each in hashes:
            assert re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", each), first
    plain = set(pinned())
    assert plain - hashed == {"torch==2.13.0"}
    assert hashed <= plain


def test_every_requirement_is_pinned_to_one_version():
    for pin in pins():
        assert re.fullmatch(r"==[^*,]+", str(pin.specifier)), pin


@pytest.mark.parametrize("python", ["3.10", "3.11.9", "3.12", "3.13"])
def test_each_python_gets_one_version_of_everything(python):
    environment = {
        "python_full_version": f"{python}.0"[:6],
        "python_version": ".".join(python.split(".")[:2]),
        "sys_platform": "linux",
        "implementation_name": "cpython",
        "platform_machine": "x86_64",
    }
    names = [
        pin.name
        for pin in pins()
        if pin.marker is None or pin.marker.evaluate(environment)
    ]
    assert len(names) == len(set(names))
    assert {"torch", "jupyter-book", "playwright", "ruff"} <= set(names)


def test_colabs_versions_satisfy_the_package():
    wanted = {
        one.name: one.specifier
        for one in map(Requirement, project()["dependencies"])
    }
    for name, version in COLAB.items():
        assert wanted[name].contains(Version(version)), name
    assert "jupyter-book" not in wanted


def test_exact_versions_of_browser_libraries():
    package = json.loads((ROOT / "package.json").read_text())
    wanted = package["dependencies"] | package["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", v) for v in wanted.values())


@pytest.mark.nightly
def test_package_carries_its_scripts_styles_and_records(tmp_path):
    """And no weights: the whole of it is quick to download."""
    copy = tmp_path / "copy"  # setuptools leaves a build folder behind
    shutil.copytree(ROOT / "src", copy / "src")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, copy)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", str(tmp_path), "."),
        ],
        cwd=copy,
        check=True,
    )
    wheel = next(tmp_path.glob("*.whl"))
    held = set(zipfile.ZipFile(wheel).namelist())
    for folder, endings in (
        ("widgets", (".js", ".css", ".py")),
        ("records", (".json", ".npz", ".sha256")),
    ):
        for path in (ROOT / "src/lookback" / folder).rglob("*"):
            if path.suffix in endings and path.name != "package.json":
                inside = path.relative_to(ROOT / "src").as_posix()
                assert inside in held, inside
    assert not [name for name in held if ".safetensors" in name]
    assert wheel.stat().st_size < 5_000_000


def test_the_address_stands_in_the_settings_alone():
    """`make notebooks` puts it wherever else it has to be."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    owner, name = config["repository"]["url"].split("/")[-2:]
    addresses = (f"//github.com/{owner}/{name}", f"//{owner}.github.io/{name}")
    made = {"_config.yml", "CITATION.cff", "pyproject.toml"}
    for path in kept():
        if path not in made and not path.startswith("notebooks"):
            text = (ROOT / path).read_text("utf-8", errors="ignore")
            assert not [each for each in addresses if each in text], path


def test_no_bundle_is_kept():
    names = kept()
    assert "_toc.yml" in names
    assert [n for n in names if n.endswith((".min.js", ".woff2"))] == []


def test_every_action_is_named_by_its_commit():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.+)", path.read_text()):
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}  # v[\d.]+", used), used


def workflows() -> dict:
    folder = ROOT / ".github" / "workflows"
    return {p.stem: yaml.safe_load(p.read_text()) for p in folder.glob("*.yml")}


def test_workflows_may_do_no_more_than_they_have_to():
    """Only what publishes may publish; nothing is filled into a script."""
    deploys = {"pages": "write", "id-token": "write"}
    for name, one in workflows().items():
        assert one["permissions"] == {"contents": "read"}
        for job, held in one["jobs"].items():
            wanted = deploys if (name, job) == ("publish", "deploy") else None
            assert held.get("permissions") == wanted
            for step in held["steps"]:
                assert "${{" not in step.get("run", "")
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"] == {"persist-credentials": False}


@pytest.fixture
def shown(tmp_path):
    """A server with one page, of version 1.0 (a, b)."""
    page = tmp_path / "book" / "index.html"
    page.parent.mkdir()
    page.write_text('<p>x <span class="version">1.0 (a, b)</span>. y</p>')
    with served(tmp_path) as address:
        yield f"{address}/"


@pytest.mark.parametrize("built", ["1.0 (a, b)", "1.0 (a, c)", ""])
def test_publishing_looks_whether_what_is_there_was_built(shown, built):
    step = workflows()["publish"]["jobs"]["deploy"]["steps"][-1]
    assert set(step["env"]) == {"BOOK", "VERSION", "TRIES"}
    given = {"BOOK": shown, "VERSION": built, "TRIES": "1"}
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        env=os.environ | given,
        capture_output=True,
        text=True,
    )
    assert (done.returncode == 0) == (built == "1.0 (a, b)")
    if done.returncode:
        assert "shows version '1.0 (a, b)'" in done.stdout


def test_the_version_that_was_built_is_read_from_the_page(site, tmp_path):
    """And so the first page names the one that the workflow waits for."""
    steps = workflows()["publish"]["jobs"]["book"]["steps"]
    (step,) = [one for one in steps if one.get("id") == "built"]
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / "html").symlink_to(site)
    output = tmp_path / "output"
    subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=tmp_path,
        env=os.environ | {"GITHUB_OUTPUT": str(output)},
        check=True,
    )
    assert output.read_text() == f"version={built(site)}\n"


@pytest.mark.nightly
def test_your_own_book_in_three_steps(tmp_path):
    """As README says it, with a bare repository in GitHub's place."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs.git"
    for name in kept():
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, ours / name)
    run = functools.partial(subprocess.run, cwd=ours, check=True)
    run(["git", "init", "--quiet", "--bare", "-b", "main", theirs])
    run(["git", "init", "--quiet", "-b", "main"])
    for name in ("user.name", "user.email"):
        run(["git", "config", name, "a@b"])
    run(["git", "remote", "add", "origin", theirs])
    run(["git", "add", "."])
    run(["git", "commit", "--quiet", "-m", "as it was"])
    run(["git", "push", "--quiet", "-u", "origin", "main"])

    text = (ROOT / "README.md").read_text("utf-8")
    steps = text.split("## Publish your own")[1].split("```")[1].split("\n")
    edit, make, push = filter(None, steps)
    assert edit.startswith("nano _config.yml    # repository.url:")
    old = yaml.safe_load((ours / "_config.yml").read_text())["repository"]
    config = (ours / "_config.yml").read_text("utf-8")
    new = config.replace(old["url"], "https://github.com/me/mine")
    (ours / "_config.yml").write_text(new, "utf-8")
    assert make.startswith("make notebooks  ")
    recipe = (ROOT / "Makefile").read_text().split("\nnotebooks: ")[1]
    for line in recipe.split("\n\n")[0].splitlines()[1:]:
        tool = line.strip().removeprefix("$(PY) ")
        env = os.environ | {"PYTHONPATH": str(ours / "src")}
        run([sys.executable, tool], env=env, stdout=subprocess.DEVNULL)
    run(["bash", "-e", "-c", push])

    copy = tmp_path / "copy"
    run(["git", "clone", "--quiet", theirs, copy])
    owner, name = old["url"].split("/")[-2:]
    addresses = (f"/{owner}/{name}", f"{owner}.github.io/{name}")
    mine = 0
    for path in copy.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            held = path.read_text("utf-8", errors="ignore")
            assert not [one for one in addresses if one in held], path
            mine += "/me/mine" in held and path.suffix == ".ipynb"
    assert mine == len([*copy.glob("notebooks/*.ipynb")]) > 10


def test_ci_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text()
    assert "set -eu" in text and "make test" in text
