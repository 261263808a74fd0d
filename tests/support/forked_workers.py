"""Workers of tests are forks of processes that have imported the framework: half of all time would go to imports.

The first worker with a name, arguments and environment variables starts a *parent*, which imports what that worker
imports. It and each further one are forks of it: processes with nothing but these imports, as a new one would be. What
cannot be imported, or starts a thread, is left to a worker that is started as ever.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from compare.sides import processes, worker
from compare.sides.optional_imports import left_out
from compare.sides.settings import pin

_MODULES = {
    "tf": ("tf_reference._framework",),
    "jax": ("jaxport._framework",),
    "models": ("compare.sides.model_host", "tf_reference._inspecting", "tf_reference._keras_compiled"),
    "modules": ("compare.sides.module_host", "jaxport._module_reading"),
}
"""By the name of a worker, the modules that its parent imports. Workers of other names are not forked."""

_OF_EACH = ("TMPDIR", "PYTEST_CURRENT_TEST", processes.SCRATCH, processes.LIFELINE)
"""Variables that differ from worker to worker, and that no import reads."""

_MOST_PARENTS = 6
"""How many parents there are at once, each with 200 to 400 MB."""

_open_process = processes.open_process

_Key = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]


class Forked(subprocess.Popen[bytes]):
    """A process that another one forked, with what `compare.sides` uses of `Popen`."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], status: int) -> None:
        self.args = "worker"
        self.pid, self.stdin, self.stdout, self.stderr = pid, stdin, stdout, None
        self.returncode: int | None = None
        self._status, self._ended, self._lock = status, select.poll(), threading.Lock()
        self._ended.register(status, select.POLLIN)

    def poll(self) -> int | None:
        return self._read_status(0)

    def wait(self, timeout: float | None = None) -> int:
        returncode = self._read_status(timeout)
        if returncode is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0)
        return returncode

    def send_signal(self, sig: int) -> None:
        # The parent reports the end after it has collected the process: until then the number is that of the process.
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def __del__(self, _maxsize: int = sys.maxsize, _warn: Any = None) -> None:
        if self.returncode is None:
            os.close(self._status)

    def _read_status(self, timeout: float | None) -> int | None:
        # As in `Popen`: while one thread waits, others learn nothing, and may send signals.
        if self._lock.acquire(blocking=timeout != 0):
            try:
                if self.returncode is None and self._ended.poll(None if timeout is None else timeout * 1000):
                    text = os.read(self._status, 16)
                    self.returncode = int(text) if text else -signal.SIGKILL
                    os.close(self._status)
            finally:
                self._lock.release()
        return self.returncode


class _Parent:
    """A process that has imported what a worker imports, and forks."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-P", __file__, str(theirs.fileno()), *arguments]
            self._process = subprocess.Popen(
                command, env={**environment, "TMPDIR": tempfile.gettempdir()}, pass_fds=[theirs.fileno()]
            )

    def fork(self, log: IO[bytes], environment: Mapping[str, str], lifeline: int) -> Forked | None:
        """A new process; None where the parent has ended, and says on standard error why."""
        requests, stdin = os.pipe()
        stdout, replies = os.pipe()
        status, theirs = os.pipe()
        descriptors = [requests, replies, log.fileno(), lifeline, theirs]
        pid, message = b"", json.dumps({"environment": dict(environment), "folder": os.getcwd()}).encode()
        with suppress(BrokenPipeError):
            socket.send_fds(self._socket, [message], descriptors)
        for descriptor in (requests, replies, theirs):
            os.close(descriptor)
        with suppress(ConnectionResetError):
            pid = self._socket.recv(16)
        if pid:
            return Forked(int(pid), os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), status)
        for descriptor in (stdin, stdout, status):
            os.close(descriptor)
        self._process.wait()  # until it has said why
        return None

    def retire(self) -> None:
        """Let it fork no more, and end once its forks have."""
        self._socket.close()

    def close(self) -> None:
        self.retire()
        self._process.kill()
        self._process.wait()


class Parents:
    """The parents of this process of tests."""

    def __init__(self) -> None:
        self.all: dict[_Key, _Parent] = {}
        self._lock = threading.Lock()
        self._retired: list[_Parent] = []
        self._refused: set[_Key] = set()

    def open_process(
        self, command: Sequence[str], log: IO[bytes], variables: Mapping[str, str], lifeline: int
    ) -> subprocess.Popen[bytes]:
        """As `compare.sides.processes.open_process`."""
        arguments = tuple(command[4:])
        is_ours = [*command[:4]] == [sys.executable, "-P", "-m", "compare.sides.worker"] and arguments[0] in _MODULES
        key = arguments, tuple(sorted((name, text) for name, text in variables.items() if name not in _OF_EACH))
        if is_ours and key not in self._refused:
            # `Popen` says so, too: tests that may start no process are told apart by it.
            sys.audit("subprocess.Popen", command[0], list(command), None, None)
            with self._lock:
                forked = self._parent(key, variables).fork(log, variables, lifeline)
            if forked is not None:
                return forked
            self._refused.add(key)
        return _open_process(command, log, variables, lifeline)

    def close(self) -> None:
        for parent in (*self.all.values(), *self._retired):
            parent.close()

    def _parent(self, key: _Key, variables: Mapping[str, str]) -> _Parent:
        parent = self.all.pop(key, None) or _Parent(key[0], variables)
        self.all[key] = parent
        if len(self.all) > _MOST_PARENTS:
            self._retired.append(self.all.pop(next(iter(self.all))))
            self._retired[-1].retire()
        return parent


@contextmanager
def forked_workers() -> Iterator[None]:
    """Start workers as forks meanwhile."""
    parents = Parents()
    processes.open_process = parents.open_process
    try:
        yield
    finally:
        processes.open_process = _open_process
        parents.close()


def _serve(channel: socket.socket, arguments: Sequence[str]) -> None:
    """Import, then fork for each request; a child returns from here."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name, *threads = arguments
    pin(int(threads[0]) if threads else None)
    gc.disable()
    with left_out(worker.HOSTED[name]):
        for module in _MODULES[name]:
            importlib.import_module(module)
    gc.freeze()
    gc.enable()
    _check_threads()
    wakeup, ours = os.pipe()
    os.set_blocking(ours, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
    statuses: dict[int, int] = {}
    is_open = True
    while is_open or statuses:
        ready, _, _ = select.select([channel, wakeup] if is_open else [wakeup], [], [])
        if wakeup in ready:
            os.read(wakeup, 1 << 12)
            _report_ends(statuses)
        if channel not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 5)
        if not message:
            is_open = False
            continue
        with warnings.catch_warnings():
            # JAX warns of forks, since they would lose its threads. It has none before it is used.
            warnings.simplefilter("ignore")
            pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            channel.close()
            for descriptor in (wakeup, ours, *statuses.values()):
                os.close(descriptor)
            _become(json.loads(message), descriptors)
            return
        statuses[pid] = descriptors.pop()
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(str(pid).encode())
    os._exit(0)


def _check_threads() -> None:
    """Fail where an import has started a thread: no fork would have it. NumPy's own start again in a fork."""
    names = {task: (task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()}
    own = names[Path("/proc/self/task") / str(os.getpid())]
    others = {*names.values()} - {own}
    assert not others, f"expected imports that start no threads, found {sorted(others)}"


def _report_ends(statuses: dict[int, int]) -> None:
    while statuses:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        descriptor = statuses.pop(pid)
        with suppress(BrokenPipeError):
            os.write(descriptor, str(os.waitstatus_to_exitcode(status)).encode())
        os.close(descriptor)


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Give a fork the files, variables and folder of the worker that it becomes."""
    *standard, lifeline, status = descriptors
    os.close(status)
    for number, descriptor in enumerate(standard):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"] | {processes.LIFELINE: str(lifeline)})
    os.chdir(request["folder"])
    tempfile.tempdir = None


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _channel:
        _serve(_channel, sys.argv[2:])
    sys.argv = [str(Path(worker.__file__)), *sys.argv[2:]]
    worker.main()
