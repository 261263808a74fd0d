"""Experiments of rows, run as a user would run them: jaxport's own commands, in a folder of their own."""

from __future__ import annotations

import datetime
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare import versions
from compare.errors import Foreseen
from compare.figures.row import Answer, Experiment, Reading, Row, Unread
from compare.progress import Reporter
from compare.record.envelope import SCHEMA, Environment
from compare.record.figure_part import Figure, MeasuredExperiment, MeasuredRow
from compare.run.record_parts import environment

JSON = "--json"
PROGRAMS = {"jaxport": (sys.executable, "-m", "compare"), "python": (sys.executable,), "sh": ("sh",)}
"""The programs that run a command, by its first word: this Python, or a shell."""

_CHECKOUT = Path(__file__).parents[2]
"""Where examples lie; what is installed has none, and says so."""

_FINISHED = (0, 1)
"""Exit codes of a command that has a record: 1 says that a verdict in it does not hold."""


_END_WITH_PARENT = (
    "import ctypes, os, signal, sys; ctypes.CDLL(None).prctl(1, signal.SIGTERM); os.execvp(sys.argv[1], sys.argv[1:])"
)
_ENDING_WITH_PARENT = (sys.executable, "-c", _END_WITH_PARENT) if sys.platform == "linux" else ()
"""Starts a program that Linux sends SIGTERM when this process is killed (`man 2 prctl`: PR_SET_PDEATHSIG)."""


class ExperimentError(Foreseen):
    """An experiment that left nothing to read: why, in one line."""


@dataclass(frozen=True)
class Running:
    """How experiments are run: the time limit of one command in seconds, and the reporter of progress."""

    timeout_s: float
    progress: Reporter


def run_row(row: Row, running: Running) -> MeasuredRow:
    """All experiments of a row; one that fails says why, and loses its own figures alone."""
    commands = sum(len(experiment.commands) for experiment in row.experiments)
    running.progress.stage(f"{row.name}: {row.what}", commands)
    experiments = tuple(_experiment(experiment, row.name, running) for experiment in row.experiments)
    return MeasuredRow(SCHEMA, row.name, environment_here(), experiments)


def environment_here() -> Environment:
    """Versions and machine of this Python, which runs the experiments."""
    return environment(versions.of_sides())


def _experiment(experiment: Experiment, name: str, running: Running) -> MeasuredExperiment:
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    load, start = os.getloadavg()[0], time.monotonic()
    figures: tuple[Figure, ...] = ()
    reason = ""
    with tempfile.TemporaryDirectory(prefix="jaxport-figures-") as folder:
        try:
            answer = _answer(experiment, Path(folder), running)
            figures = tuple(read_figure(reading, answer) for reading in experiment.readings)
        except ExperimentError as error:
            reason = str(error)
            running.progress.result(f"{name}: {reason}")
    return MeasuredExperiment(
        experiment.commands, date, round(time.monotonic() - start, 1), round(load, 2), figures, reason
    )


def _answer(experiment: Experiment, folder: Path, running: Running) -> Answer:
    output = ""
    for command in experiment.commands:
        running.progress.step(command)
        output = _run(command, command == experiment.commands[-1], folder, running.timeout_s)
    return Answer(_json(output, experiment.commands[-1]), output, folder)


def _run(command: str, last: bool, folder: Path, timeout_s: float) -> str:
    """The output of a command; the last command of an experiment prints its record, if it has one.

    Raises:
      ExperimentError: it could not be carried out, died, or ran out of time.
    """
    program, *arguments = shlex.split(command)
    arguments = [str(_CHECKOUT / argument) if argument.startswith("examples/") else argument for argument in arguments]
    json_too = [JSON] if last and program == "jaxport" else []
    whole = [*PROGRAMS[program], *arguments, *json_too]
    # A program that `jaxport compilation launch` runs is this Python too, and so is that of a script.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    try:
        process = run_program(whole, folder, timeout_s, {**os.environ, "PATH": path})
    except subprocess.TimeoutExpired:
        raise ExperimentError(f"`{command}` took longer than {timeout_s:g} s: raise --timeout") from None
    if process.returncode not in _FINISHED:
        raise ExperimentError(f"`{command}` ended with {process.returncode} and said: {last_line(process.stderr)}")
    return process.stdout


def run_program(
    words: Sequence[str],
    folder: Path,
    timeout_s: float | None,
    variables: Mapping[str, str] | None = None,
    lock: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, and end all of it once it has exited or its time is over.

    Args:
      timeout_s: seconds; None waits for its end.
      variables: its environment; None is that of this process.
      lock: an open file that the program keeps open too.

    Raises:
      subprocess.TimeoutExpired: it took longer.
    """
    process = subprocess.Popen(
        [*_ENDING_WITH_PARENT, *words], cwd=folder, env=variables, text=True, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        pass_fds=() if lock is None else (lock,),
    )  # fmt: skip
    try:
        output, log_text = process.communicate(timeout=timeout_s)
    finally:
        _end(process)
    return subprocess.CompletedProcess(words, process.returncode, output, log_text)


def last_line(log_text: str) -> str:
    """The last line that a program wrote to its log, without jaxport's name."""
    lines = [line for line in log_text.split("\n") if line.strip()]
    return lines[-1].removeprefix("jaxport: ")[:300] if lines else "nothing"


def _end(process: subprocess.Popen[str]) -> None:
    """Whatever ended the waiting, nothing of the command goes on: it has a session, and so a group, of its own."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _json(output: str, command: str) -> Any:
    if not command.startswith("jaxport "):
        return None
    try:
        return json.loads(output)
    except ValueError as error:
        raise ExperimentError(f"`{command}` printed no record: {error}") from error


def read_figure(reading: Reading, answer: Answer) -> Figure:
    """The figure of a reading; where the answer lacks it, with the reason."""
    try:
        value, interval = reading.read(answer)
    except Unread as error:
        return Figure(reading.name, reading.unit, reason=str(error))
    return Figure(reading.name, reading.unit, value, interval)
