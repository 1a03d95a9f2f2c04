"""What all tests share: calm threads, no display, the repository's root."""

import os
from pathlib import Path

import pytest

# Two cores at most: small tensors gain nothing from more threads.
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's folder."""
    return ROOT


@pytest.fixture
def committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit for records to name: a downloaded archive has none."""
    from lookback.lab import records

    commit = {"commit": "0" * 40, "dirty": False}
    monkeypatch.setattr(records, "commit", lambda: commit)
