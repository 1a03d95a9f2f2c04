"""Make the virtual environment `.venv`, or leave it alone when it is current.

    tools/environment.py         what builds the book (requirements.txt)
    tools/environment.py test    what tests it, too (tests/requirements.txt)
    tools/environment.py lock    write the pins again after an edit of
                                 pyproject.toml

uv installs them, by the hashes in tools/hashes.txt, from where pip's own
settings say; pip fetches uv. Runs under whatever Python starts it, so it keeps
to plain, old syntax until the version is known to be good.
"""

import ast
import hashlib
import os
import re
import subprocess
import sys
import tempfile

OLDEST, NEWEST = (3, 10), (3, 13)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
BOOK, TEST = "requirements.txt", "tests/requirements.txt"
HASHES = "tools/hashes.txt"
# pip's settings and uv's names for them.
SETTINGS = {
    "cert": "SSL_CERT_FILE",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
}
# Its builds for CPU and CUDA bear one version, so there is no hash of it, and
# it names the CUDA libraries for itself. Which is taken depends on the machine.
TORCH = re.compile(r"(torch|triton|cuda-[\w-]+|nvidia-[\w-]+)==")
# Jupyter asks jsonschema for every format. For one of them it would build a
# grammar of addresses in every process that imports it, 3 s long; for us none.
GRAMMAR = re.compile(r"(lark|rfc3987-syntax)==")
# BertViz asks for these, and its views, as the pages show them, do not.
UNUSED = re.compile(
    r"(boto3|botocore|jmespath|s3transfer|sentencepiece|transformers)=="
)


def fail(message):
    """Stop with one message that says what to do."""
    sys.exit("make: " + message)


def python():
    """The interpreter inside the environment."""
    return os.path.join(VENV, "bin", "python")


def read(name):
    with open(os.path.join(ROOT, name)) as file:
        return file.read()


def pins(kind):
    """The names of the files that pin what is wanted."""
    return [BOOK, TEST] if kind == "test" else [BOOK]


def stamp(kind):
    return os.path.join(VENV, kind + ".sha256")


def wanted(kind):
    """A digest of the pins and of the Python that would be used."""
    digest = hashlib.sha256(sys.version.encode())
    for name in (*pins(kind), HASHES):
        digest.update(read(name).encode())
    return digest.hexdigest()


def is_current(kind):
    """True where the environment was last filled from these very pins."""
    if not os.path.exists(python()):
        return False
    try:
        with open(stamp(kind)) as file:
            return file.read().strip() == wanted(kind)
    except OSError:
        return False


def check_python():
    """Refuse a Python that the pins do not cover, and say which would do."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        this = "{}.{}".format(*sys.version_info)
        fail(
            f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed, "
            f"and this one is {this}.\n"
            "      Name another one: make book PYTHON=python3.12"
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        fail(
            "this Python cannot make a virtual environment.\n"
            "      On Debian and Ubuntu: apt-get install python3-venv"
        )


def run(*command, **more):
    """Run one step; its own output says what went wrong."""
    if subprocess.call(command, cwd=ROOT, **more) != 0:
        fail("this step failed: " + " ".join(command))


def pip(*words):
    return (python(), "-m", "pip", "--disable-pip-version-check", *words)


def settings():
    """The environment of uv, which asks where pip's settings say.

    What uv's own variables say goes first.
    """
    said = subprocess.run(
        pip("config", "list"), stdout=subprocess.PIPE, text=True
    )
    found = {}
    for line in said.stdout.splitlines():  # :env: comes first, and wins
        name, _, value = line.partition("=")
        name = SETTINGS.get(name.split(".")[-1])
        if name and value:
            value = " ".join(ast.literal_eval(value).split())
            if name == "UV_FIND_LINKS":
                value = value.replace(" ", ",")
            found.setdefault(name, value)
    if "UV_INDEX" in found:  # pip asks all of them for the best; so does uv
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return {**found, **os.environ}


def uv(*words):
    run(python(), "-m", "uv", *words, "--quiet", env=settings())


def install_uv():
    """Let pip fetch uv, by its hash."""
    for pin in re.split(r"\n(?=\S)", read(HASHES)):
        if pin.startswith("uv=="):
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write(pin + "\n")
                file.flush()
                options = ("--no-deps", "--require-hashes", "--quiet")
                run(*pip("install", *options, "-r", file.name))


def install(kind):
    """Fill the environment from the pins, and point it to the package."""
    if not os.path.exists(python()):
        print("Making the environment .venv", flush=True)
        run(sys.executable, "-m", "venv", VENV)
        install_uv()
    print("Installing the pinned packages", flush=True)
    install = ("pip", "install", "--python", python())
    lines = [line for name in pins(kind) for line in read(name).splitlines()]
    torch = [line for line in lines if line.startswith("torch==")]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(line for line in lines if line not in torch))
        file.flush()
        uv(*install, "--no-deps", "-r", file.name, "-c", HASHES)
    libraries = subprocess.Popen([python(), "tools/libraries.py"], cwd=ROOT)
    uv(*install, *torch, "-c", HASHES)
    if libraries.wait():
        sys.exit(1)
    # Not `--editable`: setuptools takes a "$" in a path for a variable.
    version = "python{}.{}".format(*sys.version_info)
    path = os.path.join(VENV, "lib", version, "site-packages", "lookback.pth")
    with open(path, "w") as file:
        file.write("../../../../src\n")


def compiled(*words):
    """What uv makes of pyproject.toml, a pin a part; those of today stay."""
    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file:
        file.write(read(BOOK) + read(TEST))
        file.flush()
        uv(
            *("pip", "compile", "--universal", "--no-annotate", "--no-header"),
            *("--python-version", "{}.{}".format(*OLDEST)),
            *("pyproject.toml", "-o", file.name, *words),
        )
        with open(file.name) as again:
            return re.split(r"\n(?=\S)", again.read().strip())


def lock():
    """Write requirements.txt, tests/requirements.txt and tools/hashes.txt."""
    every = compiled("--all-extras", "--generate-hashes")
    first = {pin: pin.split(" \\\n")[0] for pin in every}
    torch = re.compile("torch==")
    every = [p for p in every if torch.match(p) or not TORCH.match(p)]
    every = [pin for pin in every if not GRAMMAR.match(pin)]
    names = {pin.split("==")[0] for pin in compiled("--extra", "book")}
    book = [
        first[pin]
        for pin in every
        if pin.split("==")[0] in names and not UNUSED.match(pin)
    ]
    test = [first[pin] for pin in every if first[pin] not in book]
    hashes = [pin for pin in every if not torch.match(pin)]
    for name, lines in ((BOOK, book), (TEST, test), (HASHES, hashes)):
        head = re.match(r"(#.*\n)*", read(name)).group()
        with open(os.path.join(ROOT, name), "w") as file:
            file.write(head + "\n".join(lines) + "\n")


def main(kind="book"):
    """Fill the environment unless its stamp says that nothing changed."""
    check_python()
    if kind == "lock":
        lock()
    elif not is_current(kind):
        install(kind)
        with open(stamp(kind), "w") as file:
            file.write(wanted(kind) + "\n")
    else:
        run(python(), "tools/libraries.py")


if __name__ == "__main__":
    main(*sys.argv[1:])
