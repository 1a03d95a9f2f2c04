"""Make the virtual environment `.venv`, or leave it alone when it is current.

Runs under whatever Python starts it, so it keeps to plain, old syntax until
the version is known to be good.
"""

import hashlib
import os
import subprocess
import sys

OLDEST, NEWEST = (3, 10), (3, 13)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
STAMP = os.path.join(VENV, "installed.sha256")
PINS = ("requirements.txt", "tools/hashes.txt", "pyproject.toml")


def fail(message):
    """Stop with one message that says what to do."""
    sys.exit("make: " + message)


def environment_python():
    """The interpreter inside the environment."""
    return os.path.join(VENV, "bin", "python")


def wanted():
    """A digest of the pins and of the Python that would be used."""
    digest = hashlib.sha256(sys.version.encode())
    for name in PINS:
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def is_current(digest):
    """True where the environment was last filled from these very pins."""
    if not os.path.exists(environment_python()):
        return False
    try:
        with open(STAMP) as file:
            return file.read().strip() == digest
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


def run(*command):
    """Run one step; its own output says what went wrong."""
    if subprocess.call(command, cwd=ROOT) != 0:
        fail("this step failed: " + " ".join(command))


def install():
    """Fill the environment from the pins, and point it to the package."""
    if not os.path.exists(environment_python()):
        print("Making the environment .venv", flush=True)
        run(sys.executable, "-m", "venv", VENV)
    print("Installing the pinned packages", flush=True)
    pip = (environment_python(), "-m", "pip", "--disable-pip-version-check")
    install = (*pip, "install", "--quiet")
    run(*install, "--no-deps", "--require-hashes", "-r", "tools/hashes.txt")
    run(*install, "-r", "requirements.txt")  # now it lacks torch alone
    # Not pip's --editable: setuptools takes a "$" in a path for a variable.
    python = "python{}.{}".format(*sys.version_info)
    path = os.path.join(VENV, "lib", python, "site-packages", "lookback.pth")
    with open(path, "w") as file:
        file.write("../../../../src\n")


def main():
    """Fill the environment unless its stamp says that nothing changed."""
    check_python()
    digest = wanted()
    if is_current(digest):
        return
    install()
    with open(STAMP, "w") as file:
        file.write(digest + "\n")


if __name__ == "__main__":
    main()
