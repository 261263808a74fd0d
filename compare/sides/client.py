"""A live side: starts a worker, talks to it, and turns whatever befalls it into one line."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from compare.sides import wire
from compare.sides._side import SIDES, BadTarget, Reply, Side, SideError, Unavailable
from compare.sides.settings import Settings
from workloads._spec import Arrays

PACKAGES = ("workloads", "tf_reference", "jaxport", "compare")
NAMES = {
    "tf": "TensorFlow",
    "jax": "JAX",
    "tf2jax": "tf2jax",
    "call_tf": "jax2tf.call_tf",
    "keras_jax": "Keras on JAX",
}

_NATIVE_LOG = re.compile(r"^[DIWEF]\d{4} |^WARNING: All log messages")
_CRASHED_THREAD = re.compile(r"^Current thread .*\(most recent call first\):$")

_ERRORS = {"unavailable": Unavailable, "target": BadTarget}


class LiveSide(Side):
    """One worker process. A request that fails costs itself; a worker that dies or hangs is gone.

    Args:
      name: "tf" or "jax".
      scratch: a folder for arrays in transit and the worker's log.
      python: the interpreter to run, by default this one.
      timeout_s: how long a request may take.
      settings: threads, caches and dumps of the process.
    """

    def __init__(
        self,
        name: str,
        scratch: Path,
        python: str | None = None,
        timeout_s: float = 300,
        settings: Settings = Settings(),  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self._timeout_s = timeout_s
        self._folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=scratch))
        self._log = self._folder / "log"
        self._numbers = itertools.count()
        self._buffer = b""
        threads = [] if settings.threads is None else [str(settings.threads)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [python or sys.executable, "-P", "-m", "compare.sides.worker", name, *threads],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(name, self._folder, python is not None, settings),
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._started = False

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        """Send one request and wait for its reply."""
        self.wait_until_started()
        doing = _doing(method, parameters)
        if self._requests.closed:
            raise SideError(self.name, doing, "the worker was stopped before", lost=True)
        number = next(self._numbers)
        sent, reply = self._folder / f"{number}.sent", self._folder / f"{number}.reply"
        if arrays:
            wire.save_arrays(arrays, sent)
        request = {
            "method": method,
            "parameters": dict(parameters),
            "sent": str(sent) if arrays else "",
            "reply": str(reply),
        }
        try:
            self._requests.write(wire.encode(request))
            self._requests.flush()
        except OSError:
            raise self._lost(doing) from None
        try:
            answer = self._receive(doing)
        finally:
            sent.unlink(missing_ok=True)
        if not answer["arrays"]:
            return Reply(answer["value"])
        received, _ = wire.load_arrays(reply)
        reply.unlink()
        return Reply(answer["value"], received)

    def wait_until_started(self) -> None:
        """Wait until the framework is imported.

        Raises:
          SideError: it is not installed, or the worker did not come up.
        """
        if self._started:
            return
        try:
            self._receive(f"import {NAMES[self.name]}")
        except SideError as error:
            if not error.reason.startswith("ModuleNotFoundError"):
                raise
            options = f"--{self.name}-python) or a recorded side (--{self.name}-recorded"
            reason = (
                f"expected {NAMES[self.name]} in the worker's interpreter, found {error.reason}: install it"
                f"{f', or name another interpreter ({options})' if self.name in SIDES else ''}"
            )
            raise SideError(self.name, error.doing, reason, error.details, lost=True) from error
        self._started = True

    def close(self) -> None:
        """Stop the worker."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        # What was written to a worker that is gone cannot be flushed, and need not be.
        with contextlib.suppress(OSError):
            self._requests.close()
        self._replies.close()

    @property
    def pid(self) -> int:
        """The worker's process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the worker still runs."""
        return self._process.poll() is None

    def _receive(self, doing: str) -> dict[str, Any]:
        deadline = time.monotonic() + self._timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self.close()
                    raise SideError(
                        self.name, doing, f"no answer within {self._timeout_s:g} s; raise --timeout", lost=True
                    )
                chunk = os.read(self._replies.fileno(), 1 << 16)
                if not chunk:
                    raise self._lost(doing)
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer = self._read(line, doing)
        if not answer["ok"]:
            raise _ERRORS.get(answer["kind"], SideError)(
                self.name, doing, answer["reason"], answer["details"], lost=not self._started
            )
        return answer

    def _read(self, line: bytes, doing: str) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and "ok" in answer:
            return answer
        # An interpreter that prints before the worker runs: nothing that follows can be told from chatter.
        self.close()
        found = line.decode(errors="replace").strip()[:80]
        reason = f"expected a reply, found {found!r} on standard output; name an interpreter that prints nothing"
        raise SideError(self.name, doing, reason, lost=True)

    def _lost(self, doing: str) -> SideError:
        self._process.wait()
        code = self._process.returncode
        how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        said = self._log.read_text(errors="replace").strip()
        self.close()
        return SideError(self.name, doing, f"the worker ended {how}{_last_words(said)}", said, lost=True)


def _last_words(log: str) -> str:
    """Where Python was when native code crashed, else the last thing said that is no C++ log line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    frames = [after for before, after in pairwise(lines) if _CRASHED_THREAD.match(before)]
    if frames:
        return f" at {frames[-1]}"
    words = [line for line in lines if not _NATIVE_LOG.match(line)]
    return f": {words[-1]}" if words else ""


def _doing(method: str, parameters: Mapping[str, Any]) -> str:
    keys = ("target", "mode", "pass_", "case", "dtype")
    return " ".join([method, *(str(parameters[key]) for key in keys if key in parameters)])


def _environment(name: str, folder: Path, foreign: bool, settings: Settings) -> dict[str, str]:
    environment = dict(os.environ)
    shelf = Path(__file__).resolve().parents[2]
    if foreign:
        # Another interpreter must see these packages and nothing else that is installed beside them.
        root, shelf = shelf, folder / "path"
        shelf.mkdir()
        for package in PACKAGES:
            (shelf / package).symlink_to(root / package)
    # The current folder comes last (-P keeps it from coming first): a user's compare.py must not hide this package.
    paths = [str(shelf), environment.get("PYTHONPATH"), os.getcwd()]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    if name == "keras_jax":
        environment["KERAS_BACKEND"] = "jax"
    if name != "jax":
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if name == "tf":
        # Lets the runtime's own switch cluster on CPU; without the switch it changes nothing.
        flags = environment.get("TF_XLA_FLAGS", "")
        environment["TF_XLA_FLAGS"] = f"{flags} --tf_xla_cpu_global_jit".strip()
    return environment | settings.variables(name, environment)
