"""What all tests share: calm threads, no display, the repository's root."""

import gc
import os
import re
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

# One thread: small tensors gain nothing from more, and two threads that wait
# for one another cost six times the work.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# Nothing of what is imported and collected becomes garbage.
gc.disable()

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    """Arguments are held against the shapes in the signatures.

    By day those of the ideas and the bench; the exercises' hand the same
    tensors on so often that asking takes as long as computing.
    """
    ideas = [f"lookback.{p.stem}" for p in ROOT.glob("src/lookback/[a-z]*.py")]
    by_day = "not nightly" in config.option.markexpr
    names = [*ideas, "lookback.lab"] if by_day else ["lookback"]
    install_import_hook(names, "beartype.beartype")


NIGHT = re.compile(r"^pytestmark = pytest\.mark\.nightly$", re.MULTILINE)


def pytest_ignore_collect(
    collection_path: Path, config: pytest.Config
) -> bool | None:
    """By day the files of the night are not even imported."""
    if (
        collection_path.suffix == ".py"
        and "not nightly" in config.option.markexpr
        and NIGHT.search(collection_path.read_text("utf-8"))
    ):
        return True
    return None


def pytest_collection_finish() -> None:
    """What there is now stays, and is not looked through again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that no worker is left alone with them.

    Those that need the captions are skipped where there are none.
    """

    def turn(item: pytest.Item) -> int:
        for turn, mark in enumerate(("notebooks", "site")):
            if item.get_closest_marker(mark):
                return turn
        return 2

    items.sort(key=turn)
    if not os.environ.get("LOOKBACK_DATA"):
        reason = "LOOKBACK_DATA names no copy of Multi30k"
        skip = pytest.mark.skip(reason=reason)
        for item in items:
            if item.get_closest_marker("multi30k"):
                item.add_marker(skip)


# How heavy every page is when it is opened, in kB as a server would send it: a
# report, written beside the site.
WEIGHTS: dict[str, dict[str, int]] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a test of a page has weighed, on whatever worker it ran."""
    if report.when == "call":
        for name, value in report.user_properties:
            if name == "weight":
                site, page, weight = value
                WEIGHTS.setdefault(site, {})[page] = weight


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report, once."""
    if hasattr(session.config, "workerinput"):
        return  # the process that started the workers has all the notes
    for site, weights in WEIGHTS.items():
        lines = [
            f"{page:24} {weight / 1000:8.1f} kB gzipped\n"
            for page, weight in sorted(weights.items())
        ]
        (Path(site).parent / "page-weight.txt").write_text("".join(lines))


@pytest.fixture(autouse=True)
def on_the_cpu(request: pytest.FixtureRequest, monkeypatch) -> None:
    """Models are on the CPU, but where a test is marked `cuda`."""
    import torch  # here, so that jaxtyping's hook sees the package first

    from lookback.lab import training

    if "cuda" not in request.keywords:
        monkeypatch.setattr(training, "device", lambda: torch.device("cpu"))


@pytest.fixture(autouse=True)
def the_page_says_the_same(request: pytest.FixtureRequest, monkeypatch) -> None:
    """Each answer by hand that a check is given is typed into fields, too."""
    if not request.path.name.startswith("test_exercises"):
        return

    from widgets_common import on_the_page

    from lookback.exercises.checking import Exercise

    verdict = Exercise.verdict

    def both(made, answer):
        said = verdict(made, answer)
        try:
            typed = [*map(repr, made.numbers(answer).tolist())]
        except BaseException:  # it has no numbers, or not as many as the fields
            return said
        assert on_the_page(made.page(), typed) == said
        return said

    monkeypatch.setattr(Exercise, "verdict", both)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's folder."""
    return ROOT
