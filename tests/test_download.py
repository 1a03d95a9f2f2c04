"""The corpus's files: whatever goes wrong is one clear error, and the cache
stays good. A server on this machine plays the corpus's public repository."""

import contextlib
import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from lookback.lab import download
from lookback.lab.download import CorpusError, digests, file

GOOD = b"a man in a blue shirt .\n" * 9000
NAME = "val.lc.norm.tok.en"
ADVICE = {
    "again": "try again",
    "local": "LOOKBACK_DATA",
    "cache": "XDG_CACHE_HOME",
}


class Site(http.server.BaseHTTPRequestHandler):
    """Answers as `how` says: good, bad, short, chunks, garbage or 404."""

    how = "good"
    asked: list[str] = []

    def do_GET(self):
        self.asked.append(self.path)
        if self.how == "404":
            return self.send_error(404)
        if self.how == "garbage":
            return self.wfile.write(b"\x00\x01 this is not HTTP\r\n\r\n")
        self.protocol_version = "HTTP/1.1"
        self.close_connection = True
        self.send_response(200)
        if self.how == "chunks":  # the last chunk never comes
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            return self.wfile.write(b"1000\r\n" + GOOD[:100])
        body = b"something else\n" if self.how == "bad" else GOOD
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:5000] if self.how == "short" else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site(monkeypatch, tmp_path):
    """A server whose answer a test chooses, and an empty cache."""
    handler = type("Handler", (Site,), {"asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/"
    monkeypatch.setattr(download, "SITE", address)
    monkeypatch.setitem(
        download.SHA256, "val.en", hashlib.sha256(GOOD).hexdigest()
    )
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LOOKBACK_DATA", raising=False)
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def kept(tmp_path) -> Path:
    """Where the cache should hold the file."""
    return tmp_path / "cache" / "lookback" / "multi30k" / NAME


def holds(path: Path, data: bytes) -> bool:
    """The file is whole and nothing else lies beside it."""
    return path.read_bytes() == data and [*path.parent.iterdir()] == [path]


def refused(words: str) -> str:
    """Asking for the file raises one CorpusError that gives this advice."""
    with pytest.raises(CorpusError) as caught:
        file("val", "en")
    said = str(caught.value)
    assert words in said and "\n" not in said
    return said


def test_downloaded_once_and_kept(site, kept):
    assert file("val", "en") == kept and holds(kept, GOOD)
    site.how = "404"
    assert file("val", "en") == kept
    assert site.asked == ["/" + NAME]


def test_a_good_cached_file_needs_no_network(site, kept, monkeypatch):
    kept.parent.mkdir(parents=True)
    kept.write_bytes(GOOD)
    monkeypatch.setattr(
        download.pooch.HTTPDownloader,
        "__call__",
        lambda *_, **__: pytest.fail("it asked the network"),
    )
    assert file("val", "en") == kept


def test_a_damaged_cached_file_is_replaced(site, kept):
    kept.parent.mkdir(parents=True)
    kept.write_bytes(GOOD[:-1])
    assert file("val", "en") == kept and holds(kept, GOOD)


FAULTS = {
    "bad": ("nothing was kept", ADVICE["local"]),
    "short": ("5000 bytes read", ADVICE["again"]),
    "chunks": ("", ADVICE["again"]),
    "garbage": ("cannot download", ADVICE["again"]),
    "404": ("Not Found", ADVICE["local"]),
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_bad_answer_is_refused_and_nothing_is_kept(site, kept, how):
    site.how = how
    what, advice = FAULTS[how]
    assert what in refused(advice)
    assert not kept.exists()
    assert not kept.parent.exists() or not [*kept.parent.iterdir()]
    site.how = "good"  # and the next try succeeds
    assert file("val", "en") == kept and holds(kept, GOOD)


@pytest.mark.parametrize("how", FAULTS)
def test_a_bad_answer_leaves_the_other_files_alone(site, kept, how):
    other = kept.with_name("train.lc.norm.tok.en")
    other.parent.mkdir(parents=True)
    other.write_bytes(b"kept")
    site.how = how
    refused("")
    assert holds(other, b"kept")


def test_no_network(site, kept, monkeypatch):
    with http.server.HTTPServer(("127.0.0.1", 0), Site) as closed:
        port = closed.server_port
    monkeypatch.setattr(download, "SITE", f"http://127.0.0.1:{port}/")
    said = refused(ADVICE["local"])
    assert "check the network" in said and "refused" in said
    assert not kept.exists()


def test_unwritable_cache(site, kept):
    kept.parents[2].mkdir()
    kept.parents[1].write_text("a file where the folder should be")
    assert "write" in refused(ADVICE["cache"])
    assert kept.parents[1].read_text().startswith("a file where")


@contextlib.contextmanager
def files_no_longer_than(size: int):
    """The system itself refuses to let a file grow beyond `size`."""
    resource = pytest.importorskip("resource", reason="POSIX only")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_keeps_the_old_file_and_no_half_one(site, kept):
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"old")
    with files_no_longer_than(10_000):
        said = refused(ADVICE["cache"])
    assert "free some space" in said
    assert holds(kept, b"old")


def test_unreadable_cached_file(site, kept):
    kept.mkdir(parents=True)  # a folder where the file should be
    assert "cannot read" in refused(ADVICE["cache"])


@pytest.fixture
def local(site, tmp_path, monkeypatch):
    """A folder of the reader's own, named by LOOKBACK_DATA."""
    folder = tmp_path / "data"
    (folder / "multi30k").mkdir(parents=True)
    monkeypatch.setenv("LOOKBACK_DATA", str(folder))
    return folder


@pytest.mark.parametrize("place", ["", "multi30k"])
def test_local_copy(local, kept, site, place):
    path = local / place / NAME
    path.write_bytes(GOOD)
    assert file("val", "en") == path
    assert site.asked == [] and not kept.exists()


def test_local_copy_with_a_wrong_digest(local, site):
    (local / NAME).write_bytes(GOOD + b"!")
    assert "SHA-256" in refused("unset LOOKBACK_DATA")
    assert site.asked == []


def test_local_copy_without_the_file(local, site):
    assert str(local) in refused("unset LOOKBACK_DATA")
    assert site.asked == []


def test_local_copy_that_cannot_be_read(local, monkeypatch):
    (local / NAME).write_bytes(GOOD)

    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    assert "Permission denied" in refused("unset LOOKBACK_DATA")


def test_unknown_language_and_split():
    with pytest.raises(CorpusError, match="'es'.*en.*fr.*de"):
        file("train", "es")
    with pytest.raises(CorpusError, match="'dev'.*train.*val.*test"):
        file("dev", "en")


def test_the_cache_follows_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    folder = tmp_path / ".cache" / "lookback" / "multi30k"
    assert download.cache("multi30k") == folder


def test_every_file_has_a_digest_and_the_commit_is_pinned():
    names = {f"{s}.{x}" for s in download.SPLITS for x in download.LANGUAGES}
    assert set(download.SHA256) == names
    assert all(len(each) == 64 for each in download.SHA256.values())
    assert len(download.SITE.split("/")[-5]) == 40
    everything = digests("de", tests=download.TESTS)
    assert set(everything) == {f"{s}.de" for s in download.SPLITS}
    assert set(digests("de")) == {"train.de", "val.de", "test_2016_flickr.de"}


@pytest.mark.skipif(
    not os.environ.get("LOOKBACK_DATA"),
    reason="LOOKBACK_DATA names no copy of Multi30k",
)
def test_the_real_files_have_their_digests():
    for split in download.SPLITS:
        for language in download.LANGUAGES:
            assert file(split, language).is_file()
