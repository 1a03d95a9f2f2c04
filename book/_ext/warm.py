"""Kernels for the pages' cells, forked from one process that is warm.

A kernel by itself imports IPython, torch and matplotlib, which takes longer
than the cells of most pages. Here one process imports them, once, and each
page's kernel is a fork of it (on Linux: elsewhere their libraries do not
survive a fork, and every kernel starts by itself).

A kernel writes down which files of the book it opens: modules, scripts,
records, weights. They, and the cells, are what its page's outputs hang on.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from contextvars import ContextVar
from importlib.metadata import EntryPoint
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest.mock import patch

from jupyter_client.provisioning import (
    KernelProvisionerFactory,
    LocalProvisioner,
)

HERE = str(Path(__file__).resolve().parent)
# What pages import, but for the package: that, each kernel is seen to open.
PRELOADED = (
    __name__,
    "ipykernel.kernelapp",
    "anywidget",
    "matplotlib.pyplot",
    "sacrebleu.metrics",
    "tokenizers",
    "torch",
)
INLINE = "module://matplotlib_inline.backend_inline"
VARIABLE = "LOOKBACK_OPENED"  # the file that lists what a kernel has opened
# Cells draw a PNG for the page, and an SVG for who takes the figures away.
CONFIG = """
import os, sys
c.InlineBackend.figure_formats = {"png", "svg"}
listed = os.environ.pop("VARIABLE", None)

def note(event, given):
    if event == "open" and isinstance(given[0], str):
        path = os.path.abspath(given[0])
        if path.startswith(OURS):
            os.write(listed, (path + "\\n").encode())

if listed:
    listed = os.open(listed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    sys.addaudithook(note)
""".replace("VARIABLE", VARIABLE)

# Where the next kernel of this thread lists what it opens.
OPENED: ContextVar[Path] = ContextVar("OPENED")


def kernel(arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    """What a fork becomes: a kernel with a group of processes of its own."""
    from ipykernel.kernelapp import IPKernelApp

    os.setsid()
    os.chdir(cwd)
    os.environ.update(env)
    sys.path[:] = ["", *(path for path in sys.path if path != HERE)]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"  # dies with it
    quiet = "--log-level=ERROR"  # about what goes no further than this machine
    IPKernelApp.launch_instance(argv=[*arguments, parent, quiet])


class Fork:
    """A forked kernel, as jupyter_client handles a `Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, *given: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        self.process = context.Process(target=kernel, args=given, daemon=True)
        self.process.start()
        self.pid = self.process.pid

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.process.kill()

    def terminate(self) -> None:
        self.process.terminate()


class Warm(LocalProvisioner):
    """Forks kernels where it may; else it starts them."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict:
        env = dict(kwargs.pop("env", None) or os.environ)
        if opened := OPENED.get(None):
            env[VARIABLE] = str(opened)
        if sys.platform != "linux":
            return await super().launch_kernel(cmd, env=env, **kwargs)
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        self.process = Fork(arguments, kwargs["cwd"], env)
        self.pid = self.pgid = self.process.pid
        return self.connection_info


def use(profile: Path, root: Path) -> None:
    """Let every kernel of this process be one of these.

    IPython reads `profile`, and what is in `root/src` and `root/book` is ours.
    """
    config = profile / "profile_default" / "ipython_kernel_config.py"
    ours = f"{root}{os.sep}src{os.sep}", f"{root}{os.sep}book{os.sep}"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG.replace("OURS", repr(ours)), encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(profile)
    factory = KernelProvisionerFactory.instance()
    factory.provisioners["warm"] = EntryPoint(
        "warm", f"{__name__}:Warm", factory.GROUP_NAME
    )
    factory.default_provisioner_name = "warm"
    if sys.platform == "linux":
        multiprocessing.set_forkserver_preload([*PRELOADED])
        with patch.dict(os.environ, MPLBACKEND=INLINE):  # read once, there
            forkserver.ensure_running()
