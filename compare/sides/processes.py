"""Processes and scratch folders of this program, which it must not leave behind, however it ends."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from compare import leftovers

PREFIX = "jaxport-"
SCRATCH = "JAXPORT_SCRATCH"
"""Names to a worker the folder that it removes where the program that started it can no longer do so."""
LIFELINE = "JAXPORT_LIFELINE"
"""Names to a worker a pipe that nothing is written to, and that hangs up when the program that started it is gone."""

_PR_SET_PDEATHSIG = 1
"""An option of Linux's prctl: a child that hangs with Python's lock is killed with its parent."""


class Ending(Exception):
    """The program ends: nothing is started any more."""


class _Started:
    """Processes and folders of this program, until they are gone."""

    def __init__(self) -> None:
        self.processes: dict[subprocess.Popen[bytes], int] = {}
        """With our end of the lifeline of each."""
        self.folders: set[Path] = set()
        self.ending = False


_own_processes = _Started()


def start(
    command: Sequence[str], log: IO[bytes], environment: Mapping[str, str], folder: Path
) -> subprocess.Popen[bytes]:
    """Start a process whose standard input and output are pipes, and which works in a folder.

    Raises:
      Ending: the program is ending.
      OSError: there is no such program.
    """
    theirs, ours = os.pipe()
    try:
        process = open_process(command, log, {**environment, SCRATCH: str(_root_of(folder) or "")}, theirs)
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    _own_processes.processes[process] = ours
    # Checked after the process was noted: a signal handler that runs in between finds the process, or is seen here.
    if _own_processes.ending:
        with process:
            process.kill()
        forget(process)
        raise Ending("the program is ending")
    return process


def open_process(
    command: Sequence[str], log: IO[bytes], environment: Mapping[str, str], lifeline: int
) -> subprocess.Popen[bytes]:
    """Start a process with pipes and a lifeline.

    Raises:
      OSError: there is no such program.
    """
    pipe, variables = subprocess.PIPE, {**environment, LIFELINE: str(lifeline)}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, env=variables, pass_fds=[lifeline])


def death_of(process: subprocess.Popen[bytes]) -> IO[bytes] | None:
    """A file that can be waited for beside a pipe: ready once the process died. None where the system has no such."""
    try:
        return os.fdopen(os.pidfd_open(process.pid), "rb", buffering=0)
    except (AttributeError, OSError):
        return None


def forget(process: subprocess.Popen[bytes]) -> None:
    """A process that ended, and was waited for."""
    lifeline = _own_processes.processes.pop(process, None)
    if lifeline is not None:
        os.close(lifeline)


def end() -> None:
    """Kill every process; none is started any more. May be called from any thread, and more than once."""
    _own_processes.ending = True
    for process in list(_own_processes.processes):
        process.kill()


def begin() -> None:
    """Processes may be started: a program that runs in this process begins, and none of the killed ones is left."""
    if _own_processes.ending:
        for process in list(_own_processes.processes):
            process.wait()
    _own_processes.ending = False


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A new folder for what is needed meanwhile; those that killed programs left beside it are removed."""
    leftovers.sweep_folders(Path(tempfile.gettempdir()), PREFIX)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    _own_processes.folders.add(folder)
    lock = leftovers.mark(folder)
    try:
        yield folder
    finally:
        _remove(folder)
        if lock is not None:
            lock.close()


@contextlib.contextmanager
def temporary_folder() -> Iterator[None]:
    """Put all temporary files of this process, those of libraries too, into one scratch folder meanwhile."""
    before = tempfile.tempdir
    with scratch_folder() as folder:
        tempfile.tempdir = str(folder)
        try:
            yield
        finally:
            tempfile.tempdir = before


def outside_scratch() -> Path:
    """Where temporary files lie that are to outlive this program."""
    folder = Path(tempfile.gettempdir())
    root = _root_of(folder)
    return root.parent if root else folder


def folders() -> frozenset[Path]:
    """The scratch folders that there are."""
    return frozenset(_own_processes.folders)


def remove_folders(but: frozenset[Path] = frozenset()) -> None:
    """Remove what an interrupted `scratch_folder` left."""
    for folder in _own_processes.folders - but:
        _remove(folder)


def _root_of(path: Path) -> Path | None:
    """The scratch folder that a path lies in; None where it lies in no folder that this program made."""
    return next((folder for folder in _own_processes.folders if path.is_relative_to(folder)), None)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _own_processes.folders.discard(folder)


def end_with_parent(requests: int) -> threading.Thread:
    """End this process, whatever it computes, once the other end of a pipe is closed everywhere.

    Returns:
      The thread that does so: who comes to the end of the pipe waits for it, or nothing would be cleaned up.
    """
    scratch, lifeline = os.environ.pop(SCRATCH, ""), os.environ.pop(LIFELINE, "")

    def watch(scratch: str = "") -> threading.Thread:
        thread = threading.Thread(target=_watch, args=(requests, scratch), daemon=True)
        thread.start()
        return thread

    # A coordinator that gives a worker up kills it first: a worker that sees its pipe close has to clean up itself.
    watching = watch(scratch)
    # A process that this one forks has its pipes, and none of its threads. It ends, too, where only this one did.
    os.register_at_fork(after_in_child=watch)
    if sys.platform == "linux":
        # Loaded before it is needed: a child of a process with threads may wait for their locks for ever.
        library = ctypes.CDLL(None)
        if lifeline:
            _end_though_locked(library, int(lifeline))
        os.register_at_fork(after_in_child=lambda: library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL))
    return watching


def _end_though_locked(library: ctypes.CDLL, lifeline: int) -> None:
    """End this process 16 s after its lifeline hung up, though native code may hold Python's lock and no thread runs.

    The kernel sends a signal that nothing else uses. Its handler is C's `alarm`, to which the number of the signal is
    seconds: time for the thread that watches to remove the scratch folder, where it can. SIGALRM ends the process then.
    """
    os.set_inheritable(lifeline, False)
    library.signal(signal.SIGSTKFLT, library.alarm)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGSTKFLT)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _watch(requests: int, scratch: str) -> None:
    waiting = select.poll()
    # Asked for nothing, it tells of the hang-up alone: what is written to the pipe is for somebody else to read.
    waiting.register(requests, 0)
    waiting.poll()
    if Path(scratch).name.startswith(PREFIX):
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)
