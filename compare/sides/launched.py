"""A program of the user's own as a child process: its output passed on, what TensorFlow logs for us kept apart."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from compare.errors import RequestError

_LOGGED = re.compile(rb"(?P<severity>[IWEF])\d{4} [\d:.]+\s+\d+ [\w./-]+:\d+\] ")
_MAY_BE_LOGGED = re.compile(rb"[IWEF](\d{0,3}|\d{4}( .*)?)", re.DOTALL)
_SEVERITIES = b"IWEF"
_CHUNK = 1 << 16

_LAST_WORDS_S = 5.0
"""The most seconds that remaining children of the program may keep its standard error open."""


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, or the signal that ended it and None."""

    exit_code: int | None
    signal: str = ""


class Sieve:
    """Divides standard error into lines of a log that are kept, and everything else, which is passed on at once.

    Args:
      keep: takes a line of the log that somebody wants to read later.
      unseen: whether a line of TensorFlow's log is kept from the user.
    """

    def __init__(
        self, keep: Callable[[bytes], object], pass_on: Callable[[bytes], object], is_new: Callable[[bytes], bool]
    ) -> None:
        self._keep, self._pass_on, self._unseen = keep, pass_on, is_new
        self._held = b""
        self._within_line = False

    def feed(self, data: bytes) -> None:
        """The next bytes. A line that may still become one of the log is held until its end."""
        data = self._held + data
        self._held = b""
        while data:
            line, newline, rest = data.partition(b"\n")
            if not newline and not self._within_line and _MAY_BE_LOGGED.fullmatch(line):
                self._held = line
                return
            self._line(line + newline)
            data = rest

    def finish(self) -> None:
        """There is no more."""
        if self._held:
            self._line(self._held)
        self._held = b""

    def _line(self, line: bytes) -> None:
        is_log_line = not self._within_line and _LOGGED.match(line) is not None
        if is_log_line:
            self._keep(line)
        if not is_log_line or not self._unseen(line):
            self._pass_on(line)
        self._within_line = not line.endswith(b"\n")


def severity(line: bytes) -> int:
    """The severity of a line of the log: 0 information, 1 warning, 2 error, 3 fatal."""
    return max(_SEVERITIES.find(line[:1]), 0)


def run_program(
    command: Sequence[str], environment: Mapping[str, str], log: Path, is_new: Callable[[bytes], bool]
) -> Ended:
    """Run a program to its end; it reads and writes what this process does.

    Args:
      log: the file that the lines of TensorFlow's log are written to.
      is_new: whether such a line is kept from the user.

    Raises:
      RequestError: there is no such program.
    """
    with log.open("wb") as file, _forward_signals() as forwarding:
        try:
            process = subprocess.Popen(command, env=dict(environment), stderr=subprocess.PIPE)
        except OSError as error:
            raise RequestError(
                f"expected a program at {command[0]!r}, found {error.strerror}: check the command after --"
            ) from error
        forwarding.to(process)
        assert process.stderr is not None
        sieve = Sieve(file.write, _to_standard_error, is_new)
        reader = threading.Thread(target=_pump, args=(process.stderr, sieve), daemon=True)
        reader.start()
        code = process.wait()
        reader.join(_LAST_WORDS_S)
        if not reader.is_alive():
            process.stderr.close()
        file.flush()
    return Ended(code) if code >= 0 else Ended(None, _signal_name(-code))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _pump(stream: IO[bytes], sieve: Sieve) -> None:
    # A program that left another one behind: the log is closed by then, and is read no further.
    with contextlib.suppress(ValueError):
        while data := os.read(stream.fileno(), _CHUNK):
            sieve.feed(data)
        sieve.finish()


def _to_standard_error(data: bytes) -> None:
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(2, data) :]


class _Forwarding:
    """Sends signals on to a program; those that arrive before it is there, once it is."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: list[int] = []

    def to(self, process: subprocess.Popen[bytes]) -> None:
        """From now on to this program."""
        self._process = process
        for number in self._waiting:
            process.send_signal(number)

    def handle(self, number: int, frame: object) -> None:
        if self._process is None:
            self._waiting.append(number)
        # A terminal sends Ctrl-C to the program too.
        elif number != signal.SIGINT or not _of_a_terminal():
            self._process.send_signal(number)


@contextlib.contextmanager
def _forward_signals() -> Iterator[_Forwarding]:
    """Meanwhile signals end the program, and not this process: what the program left is still read."""
    forwarding = _Forwarding()
    if threading.current_thread() is not threading.main_thread():
        yield forwarding
        return
    before: dict[signal.Signals, object] = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, forwarding.handle)
    try:
        yield forwarding
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]


def _of_a_terminal() -> bool:
    """Whether this process is in the foreground of a terminal, and so is what it started."""
    try:
        with open("/dev/tty", "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
