"""A live side: starts a worker process, sends it requests, and reports every failure as a SideError of one line."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import selectors
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from compare.sides import processes, wire
from compare.sides._side import (
    SIDES,
    BadTarget,
    BadWeights,
    Missing,
    NoDevice,
    Parameters,
    Reply,
    Side,
    SideError,
    Unavailable,
)
from compare.sides.last_words import describe_end, last_words
from compare.sides.older_programs import as_stablehlo
from compare.sides.settings import Settings
from compare.sides.worker_environment import environment_of
from workloads.core.spec import Arrays

NAMES = {
    "tf": "TensorFlow",
    "jax": "JAX",
    "tf2jax": "tf2jax",
    "call_tf": "jax2tf.call_tf",
    "keras_jax": "Keras on JAX",
    "xla": "jaxlib's XLA",
    "ports": "what port files need",
    "devices": "JAX to compile for other devices",
    "models": "TensorFlow",
    "modules": "JAX and Flax",
    "tf_strategies": "TensorFlow",
    "jax_strategies": "JAX",
    "ray": "Ray",
}

STARTS = 3
"""How often a worker is started that dies, or does not answer, while it imports its framework."""

_ERRORS = {
    "unavailable": Unavailable,
    "target": BadTarget,
    "weights": BadWeights,
    "device": NoDevice,
    "missing": Missing,
}


def failure(side: str, doing: str, answer: Mapping[str, Any], is_lost: bool = False) -> SideError:
    """The error that a side's answer describes.

    Args:
      is_lost: whether the worker is gone.
    """
    return _ERRORS.get(answer["kind"], SideError)(side, doing, answer["reason"], answer["details"], is_lost=is_lost)


class _Gone(SideError):
    """The worker died, or did not answer in time, and said nothing of its own."""


class Stalled(_Gone):
    """The worker did not answer in time, and was ended."""


class LiveSide(Side):
    """One worker process. A request that fails costs itself; a worker that dies or hangs is gone.

    Until its framework is imported nothing is lost with it, and another one is started in its place.

    Args:
      python: the interpreter to run, by default this one.
      timeout_s: how long a request may take.

    Raises:
      SideError: the program is ending, or the interpreter cannot be run.
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
        threads = [] if settings.threads is None else [str(settings.threads)]
        self._command = [python or sys.executable, "-P", "-m", "compare.sides.worker", name, *threads]
        self._environment = environment_of(name, self._folder, python is not None, settings)
        # Held while replies are read: a pipe that is closed meanwhile would be waited for without end.
        self._reading = threading.RLock()
        self._started = self._closed = False
        self._start()

    def call(self, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """Send one request and wait for its reply.

        Raises:
          SideError: the worker answered with an error, or is gone.
        """
        try:
            return self._call(method, parameters, arrays)
        except SideError as error:
            self.lost |= error.lost
            error.of(parameters)
            raise

    def _call(self, method: str, parameters: Parameters, arrays: Arrays | None) -> Reply:
        self.wait_until_started()
        doing = request_name(method, parameters)
        if self._requests.closed:
            raise SideError(self.name, doing, "the worker was stopped before", is_lost=True)
        number = next(self._numbers)
        sent_path, reply = self._folder / f"{number}.sent", self._folder / f"{number}.reply"
        if arrays:
            wire.save_arrays(arrays, sent_path)
        request = {
            "method": method,
            "parameters": dict(parameters),
            "sent": str(sent_path) if arrays else "",
            "reply": str(reply),
            "number": number,
        }
        try:
            self._requests.write(wire.encode(request))
            self._requests.flush()
        except OSError:
            raise self._end_error(doing) from None
        try:
            answer = self._receive(doing, number)
        finally:
            sent_path.unlink(missing_ok=True)
        if not answer["arrays"]:
            return Reply(answer["value"])
        result = Reply(answer["value"], self._load_reply(reply, doing))
        return as_stablehlo(self.name, result) if method == "program" else result

    def wait_until_started(self) -> None:
        """Wait until the framework is imported.

        Raises:
          Missing: it is not installed.
          SideError: the worker did not come up, however often it was started.
        """
        for attempts in reversed(range(STARTS)):
            if self._started:
                return
            try:
                self._receive(f"import {NAMES[self.name]}")
                self._started = True
            except _Gone:
                if not attempts or self._closed:
                    raise
                self._start()
            except Missing as error:
                raise self._missing(error) from None

    def _missing(self, error: Missing) -> Missing:
        options = f"--{self.name}-python) or a recorded side (--{self.name}-recorded"
        reason = (
            f"expected {NAMES[self.name]} in the worker's interpreter, found {error.reason}: install it"
            f"{f', or name another interpreter ({options})' if self.name in SIDES else ''}"
        )
        return Missing(self.name, error.doing, reason, error.details, is_lost=True)

    def kill(self) -> None:
        """Kill the worker without waiting for it; a pending request raises SideError."""
        self._closed = True
        self._process.kill()

    def close(self) -> None:
        """Stop the worker."""
        self.kill()
        self._release()

    @property
    def pid(self) -> int:
        """The worker's process."""
        return self._process.pid

    @property
    def log(self) -> str:
        """The worker's standard output and error so far."""
        return self._log.read_text(errors="replace")

    @property
    def alive(self) -> bool:
        """Whether the worker still runs."""
        return self._process.poll() is None

    def _start(self) -> None:
        try:
            with self._log.open("wb") as log:
                self._process = processes.start(self._command, log, self._environment, self._folder)
        except (processes.Ending, OSError) as error:
            raise SideError(self.name, f"import {NAMES[self.name]}", f"not started: {error}", is_lost=True) from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._death, self._buffer = processes.death_of(self._process), b""
        if self._closed:  # by another thread, which found the process before this one
            self._process.kill()

    def _release(self) -> None:
        self._process.wait()
        processes.forget(self._process)
        with self._reading:
            # What was written to a worker that is gone cannot be flushed, and need not be.
            with contextlib.suppress(OSError):
                self._requests.close()
            self._replies.close()
            if self._death is not None:
                self._death.close()

    def _load_reply(self, reply: Path, doing: str) -> Arrays:
        try:
            arrays = wire.received_arrays(reply)
            reply.unlink()
        except (OSError, SafetensorError) as error:
            raise self._not_ours(doing, f"none that can be read ({error})") from error
        return arrays

    def _receive(self, doing: str, number: int | None = None) -> dict[str, Any]:
        """The next reply; `number` is that of the request, None before the first."""
        with self._reading:
            return self._answer(doing, number)

    def _answer(self, doing: str, number: int | None) -> dict[str, Any]:
        if self._replies.closed:
            raise SideError(self.name, doing, "the worker was stopped before", is_lost=True)
        deadline = time.monotonic() + self._timeout_s
        with selectors.DefaultSelector() as selector:
            for stream in filter(None, (self._replies, self._death)):
                selector.register(stream, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                ready = [key.fileobj for key, _ in selector.select(max(0.0, deadline - time.monotonic()))]
                if not ready:
                    raise self._stall_error(doing)
                # Its death counts once all is read that it wrote: its own children may hold the pipe open.
                chunk = os.read(self._replies.fileno(), 1 << 16) if self._replies in ready else b""
                if not chunk:
                    raise self._end_error(doing)
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer = self._read(line, doing)
        if answer.get("number") != number:
            raise self._not_ours(doing, "another one")
        if not answer["ok"]:
            raise failure(self.name, doing, answer, is_lost=not self._started)
        return answer

    def _read(self, line: bytes, doing: str) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and "ok" in answer:
            return answer
        text = line.decode(errors="replace").strip()[:80]
        if self._started:
            raise self._not_ours(doing, repr(text))
        # The interpreter prints before the worker runs: what follows cannot be distinguished from such output.
        self.close()
        reason = f"expected a reply, found {text!r} on standard output; name an interpreter that prints nothing"
        raise SideError(self.name, doing, reason, is_lost=True)

    def _not_ours(self, doing: str, text: str) -> SideError:
        """End the worker: another writer to the pipe of replies makes all further replies unreliable."""
        self.close()
        reason = f"expected the reply to this request, found {text}: the port's code writes to the files of its worker"
        return SideError(self.name, doing, reason, is_lost=True)

    def _stall_error(self, doing: str) -> SideError:
        self._process.kill()
        self._release()
        return Stalled(self.name, doing, f"no answer within {self._timeout_s:g} s; raise --timeout", is_lost=True)

    def _end_error(self, doing: str) -> SideError:
        self._process.wait()
        code = self._process.returncode
        output = self._log.read_text(errors="replace").strip()
        self._release()
        return _Gone(
            self.name, doing, f"the worker ended {describe_end(code)}{last_words(output, code)}", output, is_lost=True
        )


def request_name(method: str, parameters: Parameters) -> str:
    """A request as messages call it: "outputs jit forward seed0 float32"."""
    keys = ("target", "mode", "strategy", "pass_", "case", "dtype")
    return " ".join([method, *(str(parameters[key]) for key in keys if key in parameters)])
