"""The notebooks' first cell, where a reader really is.

Each situation is made: a Python with folders of its own and the real pip, a
book of one module in a real repository, servers on this machine.  Afterwards
`lookback` is imported, or the cell has said what this reader can do.
"""

import ast
import ctypes
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from textwrap import dedent
from threading import Thread
from zipfile import ZipFile

import pip
import pytest
import uv

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from to_notebook.cells import set_up  # noqa: E402

from lookback.widgets.bertviz_view import NOT_INSTALLED  # noqa: E402

PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
# Makes a wheel of the book with nothing but the standard library.
BACKEND = """\
from pathlib import Path
from zipfile import ZipFile

NAME = "lookback-0.1.0-py3-none-any.whl"


def build_wheel(folder, *settings):
    with ZipFile(Path(folder, NAME), "w") as wheel:
        info = "lookback-0.1.0.dist-info/"
        wheel.write("__init__.py", "lookback/__init__.py")
        files = " ".join(path.name for path in Path().iterdir())
        wheel.writestr("lookback/files.txt", files)
        wheel.write("METADATA", info + "METADATA")
        wheel.writestr(info + "RECORD", "")
        wheel.writestr(
            info + "WHEEL",
            "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        )
    return NAME
"""
METADATA = "Metadata-Version: 2.1\nName: {}\nVersion: {}\n"
OWN = "make an environment of your own:\n    {python} -m venv lookback\n"
NEWER = "install Python 3.12, and in a terminal, make an environment"


def wheel(folder, name, version, tag="py3-none-any"):
    """A package with nothing in it, as an index would have it."""
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-{tag}.whl"
    folder.mkdir(exist_ok=True)
    with ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", "")
        file.writestr(f"{info}/METADATA", METADATA.format(name, version))
        file.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
        file.writestr(f"{info}/RECORD", "")
    return path


class Reader:
    """A reader's Python with its own folders, and what the shell has set."""

    def __init__(self, folder):
        self.folder, self.book = folder, "https://book.invalid/a/book"
        self.python = sys._base_executable
        self.work = folder / "work"
        for name in ("home", "work", "bin"):
            (folder / name).mkdir()
        for name in ("basename", "git", "sed", "sh", "uname"):
            (folder / "bin" / name).symlink_to(shutil.which(name))
        stdlib = Path(sysconfig.get_path("stdlib"))
        self.lib = folder / "prefix/lib" / stdlib.name
        self.site = self.lib / "site-packages"
        self.site.mkdir(parents=True)
        for path in stdlib.iterdir():
            if path.name not in ("site-packages", "EXTERNALLY-MANAGED"):
                (self.lib / path.name).symlink_to(path)
        (self.site / "pip").symlink_to(Path(pip.__file__).parent)
        self.env = {
            "HOME": str(folder / "home"),
            "PATH": str(folder / "bin"),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_INDEX": "1",
            "PIP_RETRIES": "1",
            "PYTHONHOME": str(folder / "prefix"),
            "UV_DEFAULT_INDEX": f"file://{self.work}",
        }

    def virtual(self):
        """The same in a virtual environment without pip."""
        venv.create(self.folder / "own", symlinks=True)
        self.python = str(self.folder / "own/bin/python")
        self.site = next(self.folder.glob("own/lib/*/site-packages"))
        del self.env["PYTHONHOME"]

    def has_uv(self):
        """A virtual environment of uv's: without pip."""
        self.virtual()
        (self.folder / "bin/uv").symlink_to(uv.find_uv_bin())

    def publish(self, metadata=""):
        """One module and one file of weights, where git finds the book."""
        origin = self.folder / "origin"
        origin.mkdir()
        found = f'[url "file://{origin}"]\n    insteadOf = {self.book}\n'
        (self.folder / "home/.gitconfig").write_text(found)
        for name, text in {
            "pyproject.toml": PROJECT,
            "backend.py": BACKEND,
            "METADATA": METADATA.format("lookback", "0.1.0") + metadata,
            "__init__.py": (ROOT / "src/lookback/__init__.py").read_text(),
            "model.safetensors.gz": "",
        }.items():
            (origin / name).write_text(text)
        who = ("-c", "user.name=x", "-c", "user.email=x")
        words = ("init -q -b main", "add .", "commit -q -m all")
        for line in (*words, "update-server-info"):
            command = ["git", "-C", str(origin), *who, *line.split()]
            subprocess.run(command, check=True)
        return self

    def runs_the_cell(self, cell, **settings):
        """What it printed, and its error; without one, `lookback` is there."""
        done = subprocess.run(
            [self.python, "-c", f"{cell}\nimport lookback".encode()],
            cwd=self.work,
            capture_output=True,
            encoding="utf-8",
            env=self.env,
            **settings,
        )
        *_, error = done.stderr.rpartition("RuntimeError: ")
        ready = done.stdout.endswith("\nReady.\n")
        assert (done.returncode == 0) == ready, done.stderr
        assert done.stderr.count("Traceback") == (not ready), done.stderr
        return done.stdout, error.strip()

    def is_ready(self, **settings):
        said, error = self.runs_the_cell(set_up(self.book, "main"), **settings)
        assert not error, error
        return said

    def is_told(self, *parts, branch="main", **settings):
        """What stopped it and the way out; then one line of pip's."""
        cell = set_up(self.book, branch)
        _, error = self.runs_the_cell(cell, **settings)
        sentence, _, told = error.partition("\n\npip said: ")
        assert told and "\n" not in told, error
        for part in parts:
            assert part.format(python=self.python) in sentence, error
        return told


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


@pytest.fixture
def serve():
    """Start a server on this machine; its address."""
    servers = []

    def start(handler, pem=None):
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if pem:
            context = SSLContext(PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pem)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Files(SimpleHTTPRequestHandler):
    """The files of a folder, in silence."""

    def log_message(self, *words):
        pass


class Doorman(Files):
    """A proxy that wants a password first."""

    def do_CONNECT(self):
        self.send_error(407)


def archived(reader):
    """The repository as the archive that stands beside it on a server."""
    (reader.folder / "origin/archive").mkdir()
    archive = str(reader.folder / "origin/archive/main")
    shutil.make_archive(archive, "zip", reader.folder, "origin")


def test_a_plain_python(reader):
    said = reader.publish().is_ready()
    assert "pictures will be missing; pip said: ERROR: No matching" in said


def test_the_package_is_there(reader):
    reader.env["PYTHONPATH"] = str(ROOT / "src")
    cell = set_up("https://book.invalid", "main")
    run = [reader.python, "-c", cell.encode()]
    assert not subprocess.check_output(
        run, env=reader.env, stderr=subprocess.STDOUT
    )


def test_the_weights_are_left_for_later(reader):
    reader.publish().is_ready()
    files = (reader.site / "lookback/files.txt").read_text()
    assert "backend.py" in files and "safetensors" not in files


def test_a_user_site_that_did_not_exist(reader):
    reader.env["PIP_USER"] = "1"
    reader.publish().is_ready()
    assert list((reader.folder / "home").rglob("lookback/__init__.py"))


def test_a_virtual_environment_and_a_pip_that_is_told_user(reader):
    reader.virtual()
    (reader.site / "pip").symlink_to(Path(pip.__file__).parent)
    reader.env["PIP_USER"] = "1"
    reader.publish().is_ready()


def as_anyone():
    """Root may write where it may not: without this capability it may not."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, 1, 0, 0, 0)  # drop CAP_DAC_OVERRIDE


def test_python_may_not_be_written_to(reader):
    reader.site.chmod(0o555)
    reader.publish().is_ready(preexec_fn=as_anyone)  # at home it may


def test_nothing_may_be_written_to(reader):
    reader.site.chmod(0o555)
    (reader.folder / "home").chmod(0o555)
    reader.publish()
    told = reader.is_told(
        "You may not write where Python is", OWN, preexec_fn=as_anyone
    )
    assert "Permission denied" in told


def test_no_pip_but_uv(reader):
    reader.has_uv()
    reader.publish().is_ready()


@pytest.mark.nightly
def test_no_pip_but_what_installs_it(reader):
    reader.virtual()
    reader.publish().is_ready()


def test_no_pip_and_no_way_to_one(reader):
    (reader.site / "pip").unlink()
    (reader.lib / "ensurepip").unlink()  # as Debian does
    told = reader.publish().is_told("kernel's Python has no pip", OWN)
    assert told.endswith("No module named pip")


def test_no_git(reader, serve):
    archived(reader.publish())
    (reader.folder / "bin/git").unlink()
    address = serve(partial(Files, directory=reader.folder))
    reader.book = f"http://{address}/origin"
    reader.is_ready()


def test_the_system_manages_python(reader):
    text = "[externally-managed]\nError=Use apt.\n"
    (reader.lib / "EXTERNALLY-MANAGED").write_text(text)
    reader.publish().is_told("The system manages this Python", OWN)


def test_a_proxy_that_does_not_answer(reader):
    reader.env["https_proxy"] = "http://me:secret@127.0.0.1:9"
    proxy = "The proxy http://127.0.0.1:9 lets nothing through"
    told = reader.is_told(proxy, "%env https_proxy=")
    assert "Failed to connect" in told and "secret" not in told


def test_a_proxy_that_only_pip_knows_of(reader):
    (reader.folder / "bin/git").unlink()
    reader.env["PIP_PROXY"] = "http://127.0.0.1:9"
    told = reader.is_told("A proxy lets nothing through", "`pip config list`")
    assert "Cannot connect to proxy" in told


def test_a_proxy_that_wants_a_password(reader, serve):
    reader.env["https_proxy"] = proxy = f"http://{serve(Doorman)}"
    assert "407" in reader.is_told(f"The proxy {proxy} lets nothing through")


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["git", "pip"])
def test_a_certificate_of_its_own(reader, serve, way):
    archived(reader.publish())
    if way == "pip":
        (reader.folder / "bin/git").unlink()
    pem = reader.folder / "its.pem"
    make = "req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext"
    name = "subjectAltName=IP:127.0.0.1"
    files = ("-keyout", "key.pem", "-out", "its.pem")
    subprocess.run(
        ["openssl", *make.split(), name, *files],
        check=True,
        capture_output=True,
        cwd=reader.folder,
    )
    both = reader.folder / "both.pem"
    both.write_text(pem.read_text() + (reader.folder / "key.pem").read_text())
    address = serve(partial(Files, directory=reader.folder), both)
    reader.book = f"https://{address}/origin" + "/.git" * (way == "git")
    told = reader.is_told("certificate is not known", "%env REQUESTS_CA_BUNDLE")
    assert "certificate" in told
    reader.env["REQUESTS_CA_BUNDLE"] = str(pem)
    reader.is_ready()


@pytest.mark.parametrize("uses", ["pip", "uv"])
def test_no_network(reader, uses):
    if uses == "uv":
        reader.has_uv()
    reader.env["no_proxy"] = "localhost"
    told = reader.is_told(f"{reader.book} is out of reach: connect")
    assert told.endswith("Could not resolve host: book.invalid")


@pytest.mark.parametrize(
    "uses", ["pip", pytest.param("uv", marks=pytest.mark.nightly)]
)
def test_no_way_to_the_index(reader, uses):
    if uses == "uv":
        reader.has_uv()
    reader.publish("Requires-Dist: torch>=2.4\n")
    del reader.env["PIP_NO_INDEX"]
    reader.env |= dict.fromkeys(
        ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), "http://127.0.0.1:9/simple"
    )
    told = reader.is_told("is out of reach: connect")
    assert "onnect" in told and "object at" not in told


def test_an_index_without_the_package(reader):
    reader.publish("Requires-Dist: torch>=2.4\n")
    told = reader.is_told("there is no such package", "if that is not PyPI")
    assert "torch>=2.4" in told


@pytest.mark.parametrize("uses", ["pip", "uv"])
def test_no_torch_for_this_python(reader, uses):
    if uses == "uv":
        reader.has_uv()
    links = reader.folder / "links"
    wheel(links, "torch", "2.4.0", "cp39-cp39-linux_x86_64")
    reader.env |= {"PIP_FIND_LINKS": str(links), "UV_FIND_LINKS": str(links)}
    reader.publish("Requires-Dist: torch>=2.4\n")
    this = "Python {}.{}".format(*sys.version_info)
    reader.is_told("no such package for " + this, NEWER)


@pytest.mark.parametrize(
    ("uses", "wanted"),
    [("pip", ">=3.99"), ("pip", "<3.8"), ("uv", ">=3.99")],
)  # uv does not ask for an upper bound
def test_a_python_that_is_too_old_or_too_new(reader, uses, wanted):
    if uses == "uv":
        reader.has_uv()
    reader.publish(f"Requires-Python: {wanted}\n")
    told = reader.is_told("The book is not for Python", NEWER)
    assert wanted in told


def test_an_old_python_understands_the_cell():
    ast.parse(set_up("https://book.invalid", "main"), feature_version=(3, 7))


@pytest.mark.parametrize("uses", ["pip", "uv"])
def test_a_kernel_of_another_environment_than_the_shell_s(reader, uses):
    shell = reader.folder / "shell"
    venv.create(shell, symlinks=True)
    if uses == "uv":
        reader.has_uv()
    reader.env["PATH"] = f"{shell}/bin:{reader.folder}/bin"
    reader.env["VIRTUAL_ENV"] = str(shell)
    reader.publish().is_ready()
    assert not list(shell.rglob("lookback"))


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("work/lookback.py", "# what I looked up"),
        ("site/lookback.py", '__version__ = "0.1.0"'),
        ("site/lookback/__init__.py", '__version__ = "0.1.0"'),
        (
            "site/lookback/__init__.py",
            "BOOK='Looking Back';__version__='0.0.9'",
        ),
    ],
)
def test_another_lookback(reader, place, text):
    folder, _, name = place.partition("/")
    path = getattr(reader, folder) / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    cell = set_up("https://book.invalid", "main")
    said, error = reader.runs_the_cell(cell)
    assert not said and error.startswith(f"{path} is another lookback than")
    assert "%pip uninstall" in error


def test_a_folder_that_is_no_package(reader):
    (reader.work / "lookback").mkdir()
    reader.publish().is_ready()


def test_a_pip_that_installs_elsewhere(reader):
    reader.env["PIP_TARGET"] = str(reader.folder / "elsewhere")
    reader.publish().is_told("Restart the kernel", "{python} -m pip config")


def test_a_branch_that_is_not_there(reader):
    told = reader.publish().is_told("has no “gone”", branch="gone")
    assert "pathspec" in told


def test_bertviz_is_the_book_s():
    cell = set_up("https://book.invalid", "main")
    pin = re.search(r"bertviz==[\d.]+", cell).group()
    digest = re.search(r"\b\w{64}\b", cell).group()
    hashes = (ROOT / "tools/hashes.txt").read_text()
    assert digest in hashes[hashes.index(f"\n{pin} ") :][:300]
    assert f"--no-deps {pin}<" in NOT_INSTALLED


@pytest.mark.nightly
def test_bertviz_has_its_hash_or_is_left_out(reader):
    path = wheel(reader.folder / "links", "bertviz", "1.4.1")
    reader.env["PIP_FIND_LINKS"] = str(path.parent)
    said = reader.publish().is_ready()
    assert "A few pictures will be missing; pip said:" in said
    (reader.site / "lookback").rename(reader.folder / "lookback")
    digest = sha256(path.read_bytes()).hexdigest()
    cell = re.sub(r"\b\w{64}\b", digest, set_up(reader.book, "main"))
    said, _ = reader.runs_the_cell(cell)
    assert "missing" not in said and (reader.site / "bertviz.py").exists()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("ERROR: [Errno 28] No space left on device", "The disk is full"),
        ("fatal: could not read Username for 'https://…'", "has no “main”"),
        ("ERROR: nobody knows why\nnote: no more", "Run this cell again"),
        ("", "Run this cell again"),
    ],
)
def test_what_cannot_be_made_here(reader, said, told):
    """Neither can pip be made to say it, so that another pip does."""
    (reader.site / "pip").unlink()
    (reader.site / "pip.py").write_text(f"import sys\nsys.exit({said!r})")
    _, error = reader.runs_the_cell(set_up("https://book.invalid", "main"))
    assert told in error and error.endswith(said.split("\n")[0])


def test_a_python_in_a_browser(reader):
    text = """\
        import subprocess

        def run(*command, **settings):
            raise OSError(138, "emscripten does not support processes.")

        subprocess.run = run
        """
    (reader.site / "sitecustomize.py").write_text(dedent(text))
    reader.is_told("open the notebook in Colab")
