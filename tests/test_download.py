"""The corpus's files: whatever goes wrong is one clear error, and the cache
stays good. A server on this machine plays the corpus's public repository."""

import contextlib
import hashlib
import http.server
import os
import threading
import time
from pathlib import Path

import pytest

from lookback.lab import corpus, download
from lookback.lab.download import CorpusError, digests, file

GOOD = b"a man in a blue shirt .\n" * 9000
NAME = "val.lc.norm.tok.en"
ADVICE = {
    "again": "try again",
    "local": "LOOKBACK_DATA",
    "cache": "XDG_CACHE_HOME",
}


MOVED = {  # where a redirection leads
    "nowhere": "http://[::1",
    "label": f"http://{'a' * 70}.example/",
    "port": "http://127.0.0.1:99999999/",
    "disk": "file:///etc/passwd",
    "dot": "http://.example/",
    "round": "/",
}


class Site(http.server.BaseHTTPRequestHandler):
    """Answers as `how` says."""

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
        if self.how == "drip":  # a byte of a header now and then
            with contextlib.suppress(OSError):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                for _ in range(40):
                    self.wfile.write(b"x")
                    time.sleep(0.05)
            return None
        if self.how in MOVED:
            self.send_response(302)
            self.send_header("Location", MOVED[self.how])
            return self.end_headers()
        self.send_response(200)
        if self.how == "endless":
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(GOOD)
        if self.how == "length":
            self.send_header("Content-Length", "many, 7, -5")
            return self.end_headers()
        if self.how == "zip":
            self.send_header("Content-Encoding", "gzip")
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
    monkeypatch.setitem(download.SIZES, "val.en", len(GOOD))
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
        download.requests, "get", lambda *_, **__: pytest.fail("it asked")
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
    "length": ("", ADVICE["again"]),
    "zip": ("", ADVICE["again"]),
    "endless": (f"it goes on after {len(GOOD)} bytes", ADVICE["again"]),
    "drip": ("it takes longer than 0.5 s", ADVICE["again"]),
    **{how: ("cannot download", ADVICE["again"]) for how in MOVED},
}


@pytest.mark.parametrize("how", FAULTS)
def test_a_bad_answer_is_refused_and_nothing_is_kept(
    site, kept, how, monkeypatch
):
    site.how = how
    if how == "drip":
        monkeypatch.setattr(download, "LONGEST", 0.5)
    what, advice = FAULTS[how]
    assert what in refused(advice)
    assert not kept.exists()
    assert not kept.parent.exists() or not [*kept.parent.iterdir()]
    site.how = "good"  # and the next try succeeds
    assert file("val", "en") == kept and holds(kept, GOOD)


@pytest.mark.parametrize("how", FAULTS)
def test_a_bad_answer_leaves_the_other_files_alone(
    site, kept, how, monkeypatch
):
    other = kept.with_name("train.lc.norm.tok.en")
    other.parent.mkdir(parents=True)
    other.write_bytes(b"kept")
    site.how = how
    monkeypatch.setattr(download, "LONGEST", 0.5)
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


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_named(site, kept, make):
    kept.parent.mkdir(parents=True)
    make(kept)
    assert f"{kept} is a folder, a pipe" in refused(ADVICE["cache"])


def test_a_kept_file_has_ordinary_permissions(site, kept):
    before = os.umask(0o022)
    try:
        file("val", "en")
    finally:
        os.umask(before)
    assert kept.stat().st_mode & 0o777 == 0o644


def test_what_a_killed_download_left_is_removed(site, kept):
    kept.parent.mkdir(parents=True)
    left, busy = (kept.with_name(f"{NAME}.{n}.part") for n in (1, 2))
    left.touch()
    busy.touch()
    os.utime(left, (0, 0))
    file("val", "en")
    assert not left.exists() and busy.exists()


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


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_local_copy_that_is_no_file(local, make):
    make(local / NAME)
    assert f"{local / NAME} is a folder" in refused("unset LOOKBACK_DATA")


@pytest.mark.parametrize(
    "folder", ["x" * 5000, "a/" * 3000, "/dev/null/x", "a\0b"], ids=len
)
def test_local_folder_that_cannot_be(site, monkeypatch, folder):
    monkeypatch.setattr(download.os, "environ", {"LOOKBACK_DATA": folder})
    assert len(refused("unset LOOKBACK_DATA")) < 900
    assert site.asked == []


@pytest.mark.parametrize("folder", ["x" * 5000, "/dev/null/x", "a\0b"], ids=len)
def test_a_cache_that_cannot_be(site, monkeypatch, folder):
    given = {**os.environ, "XDG_CACHE_HOME": folder}
    monkeypatch.setattr(download.os, "environ", given)
    assert len(refused(ADVICE["cache"])) < 900


def test_a_reader_without_a_home(site, monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    assert "nobody knows where" in refused(ADVICE["cache"])


def test_local_copy_that_cannot_be_read(local, monkeypatch):
    (local / NAME).write_bytes(GOOD)

    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    assert "Permission denied" in refused("unset LOOKBACK_DATA")


SPEECH = "First Citizen:\nBefore we proceed any further, hear me speak.\n"


@pytest.fixture
def plays(site, monkeypatch):
    """A server's tinyshakespeare, 60 characters of it."""
    server = download.SITE
    monkeypatch.setattr(download, "SHAKESPEARE", server + "input.txt")
    seen = hashlib.sha256(SPEECH.encode()).hexdigest()
    monkeypatch.setattr(download, "SHAKESPEARE_SHA256", seen)
    monkeypatch.setattr(download, "SHAKESPEARE_SIZE", len(SPEECH))


def test_shakespeare_is_downloaded_once_and_kept(plays, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "GOOD", SPEECH.encode())
    path = tmp_path / "cache" / "lookback" / "tinyshakespeare" / "input.txt"
    assert download.shakespeare() == path and holds(path, SPEECH.encode())
    assert corpus.shakespeare() == SPEECH


def test_another_text_than_shakespeare_is_refused(plays, site, tmp_path):
    site.how = "bad"
    with pytest.raises(CorpusError, match="nothing was kept.*LOOKBACK_DATA"):
        download.shakespeare()
    folder = tmp_path / "cache" / "lookback" / "tinyshakespeare"
    assert not [*folder.iterdir()]


@pytest.mark.parametrize("place", ["", "tinyshakespeare"])
def test_local_shakespeare(plays, local, site, place):
    (local / place).mkdir(exist_ok=True)
    path = local / place / "input.txt"
    path.write_text(SPEECH)
    assert download.shakespeare() == path and site.asked == []
    path.write_text(SPEECH + "!")
    with pytest.raises(CorpusError, match="SHA-256.*unset LOOKBACK_DATA"):
        corpus.shakespeare()


def test_local_folder_without_shakespeare(plays, local):
    with pytest.raises(CorpusError, match="nor under tinyshakespeare/"):
        download.shakespeare()


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
    assert set(download.SIZES) == names
    assert all(len(each) == 64 for each in download.SHA256.values())
    assert len(download.SITE.split("/")[-5]) == 40
    assert len(download.SHAKESPEARE.split("/")[-4]) == 40
    everything = digests("de", tests=download.TESTS)
    assert set(everything) == {f"{s}.de" for s in download.SPLITS}
    assert set(digests("de")) == {"train.de", "val.de", "test_2016_flickr.de"}


@pytest.mark.multi30k
def test_the_real_files_have_their_digests():
    for split in download.SPLITS:
        for language in download.LANGUAGES:
            size = file(split, language).stat().st_size
            assert size == download.SIZES[f"{split}.{language}"]


@pytest.mark.multi30k
def test_the_real_shakespeare_is_whole():
    if not any(Path(os.environ["LOOKBACK_DATA"]).rglob("input.txt")):
        pytest.skip("LOOKBACK_DATA holds no tinyshakespeare")
    text = corpus.shakespeare()
    assert len(text) == download.SHAKESPEARE_SIZE
    assert len(set(text)) == 65
    assert text.startswith("First Citizen:\nBefore we proceed any further")
