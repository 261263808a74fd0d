"""Runs on a GPU that is here for minutes: a workload at a size each, most useful first, kept one by one."""

from __future__ import annotations

import datetime
import fcntl
import itertools
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from compare.errors import RequestError
from compare.figures import kept_rows
from compare.figures.readings import FACTOR, OfRun, number_at, value_at, workload
from compare.figures.row import Answer, Reading
from compare.figures.running_rows import PROGRAMS, last_line, read_figure, run_program
from compare.progress import Reporter
from compare.record import results_file
from compare.record.base import Interval
from compare.record.envelope import SCHEMA, Environment
from compare.record.figure_part import Figure, MeasuredExperiment, MeasuredRow

GPU_FIGURES = "gpu"
"""The name of the kept file, beside those of the rows."""
GATES_FIGURE = "gates of parity that hold"

MOST_CARRIED = 60 << 20
"""Bytes of recordings in a load: a machine that is lent for minutes takes so many at a time."""

_STOPPING_S = 15.0
"""Seconds that a run may take to stop: its workers end, and what it judged is on disk."""
_LEAST_S = 5.0
"""A run is not started for fewer seconds."""
_JIT, _EAGER = "jax/jit", "jax/eager"
_CELLS = "jax@jax vs tf@jax"
_FINISHED = (0, 1)
_MODES = ("tf/jit", _EAGER, _JIT)
"""Beside tf/eager: each mode of TensorFlow adds its results to the recording."""


@dataclass(frozen=True)
class Task:
    """One `jaxport run` on the device, beside a TensorFlow side that was recorded without one.

    Attributes:
      workload: its name.
      size: of the programs and times; parity is judged at size smoke.
      rows: names of the rows of documents that its figures belong to.
      is_large: only its forward pass and fewer modes are recorded, as its weights alone fill a load.
    """

    workload: str
    size: str
    rows: tuple[str, ...] = ()
    is_large: bool = False

    @property
    def name(self) -> str:
        """Of its folder, and of its recording without the suffix."""
        return f"{self.workload}-{self.size}"

    @property
    def recording(self) -> str:
        """The file name of its recorded TensorFlow side."""
        return f"{self.name}.side"

    @property
    def scope(self) -> tuple[str, ...]:
        """The words of a command that name the workload at its sizes, its pass and its modes."""
        words = (self.workload, "--size", self.size, "--parity-size", "smoke", "--modes", *_MODES)
        return (*words, "--pass", "forward") if self.is_large else words

    @property
    def readings(self) -> tuple[Reading, ...]:
        """The figures of its record."""
        run = OfRun(self.workload, self.size)
        return (
            run.gates(),
            *run.kernels(_EAGER, _JIT),
            *run.seconds(_EAGER, _JIT),
            *run.speed_ups(_EAGER, _JIT),
            Reading("time of jax@jax over that of tf@jax", FACTOR, self._read_cells),
        )

    def run(self, recording: Path, device: str) -> tuple[str, ...]:
        """The words of its command, but for the output folder."""
        side = ("--tf-recorded", str(recording))
        return ("run", *self.scope, *side, "--device", device, "--pairs", "5", "--budget", "0.8", "--no-alignment")

    def record(self, recording: Path, platform: str) -> tuple[str, ...]:
        """The words of the command that records TensorFlow's side."""
        return ("record", "--side", "tf", "--platform", platform, *self.scope, "-o", str(recording))

    def _read_cells(self, answer: Answer) -> tuple[float, Interval]:
        ratio = value_at(workload(answer.printed, self.workload, self.size), "timing", "program_ratios", _CELLS)
        return number_at(ratio, "ratio"), ratio.get("ci95")


_MODELS = (
    ("bert", ("S10",)),
    ("resnet50", ("S10",)),
    ("translation", ("S9", "S10")),
    ("mask_rcnn", ("S10",)),
    ("seq2seq", ("S9",)),
    ("focalnet_pipeline", ("S24",)),
    ("translation_decode", ()),
)

TASKS = (
    Task("running_example", "paper", ("S1",)),
    Task("running_example", "default", ("S5",)),
    Task("sum_of_products", "default", ("S2",)),
    Task("add", "default", ("S4",)),
    Task("mnist_mlp", "default", ("S6",)),
    Task("conv_mnist", "default", ("S7",)),
    Task("lstm_cell", "default", ("S8",)),
    Task("lstm", "default", ("S8",)),
    Task("softmax", "default"),
    Task("scale_and_add", "default", ("S3",)),
    *(Task(name, "default", rows, is_large=True) for name, rows in _MODELS),
    *(Task(name, "paper", rows, is_large=True) for name, rows in _MODELS),
)
"""In order of worth: the documents' own example and small functions first, whole models next, and their paper sizes."""


@dataclass(frozen=True)
class Session:
    """The time and the place that a suite has.

    Attributes:
      folder: keeps gpu.json, and a folder for each task.
      recordings: has the recorded TensorFlow sides, in folders that each can be carried at once.
      device: such as "gpu" or "gpu:1".
      end: on the monotonic clock, in seconds.
      reporter: shows each task.
    """

    folder: Path
    recordings: Path
    device: str
    end: float
    reporter: Reporter

    @property
    def seconds_left(self) -> float:
        """For a run, which then has the time to stop."""
        return self.end - time.monotonic() - _STOPPING_S


def load_figures(folder: Path) -> MeasuredRow:
    """The kept figures of a folder; empty ones where there are none.

    Raises:
      KeptError: the file is damaged, or is not one of this suite.
    """
    return kept_rows.load_row(GPU_FIGURES, folder) or MeasuredRow(SCHEMA, GPU_FIGURES)


def find_open(tasks: Sequence[Task], row: MeasuredRow) -> list[Task]:
    """The tasks without figures, those that failed before at the end."""
    by_task = {experiment.task: experiment for experiment in row.experiments}
    is_open = [task for task in tasks if task.name not in by_task or by_task[task.name].reason]
    return sorted(is_open, key=lambda task: task.name in by_task)


def run_suite(tasks: Sequence[Task], session: Session) -> MeasuredRow:
    """Run the open tasks until the time is over; all kept figures.

    A run that is cut off is continued by the next suite in the same folder.

    Raises:
      RequestError: another suite uses the folder, or it has figures of another machine.
      KeptError: its file is damaged.
    """
    with _hold_folder(session.folder) as lock:
        return _run_open(tasks, session, lock)


def _run_open(tasks: Sequence[Task], session: Session, lock: int) -> MeasuredRow:
    row = load_figures(session.folder)
    recordings = [(task, find_recording(task, session.recordings)) for task in find_open(tasks, row)]
    ready = [(task, recording) for task, recording in recordings if recording is not None]
    session.reporter.stage("GPU suite", len(ready))
    if len(ready) < len(recordings):
        session.reporter.result(f"{len(recordings) - len(ready)} recordings are not in {session.recordings}")
    for task, recording in ready:
        if session.seconds_left < _LEAST_S:
            break
        session.reporter.step(task.name)
        try:
            experiment, environment = _run_task(task, recording, session, lock)
        except subprocess.TimeoutExpired:
            session.reporter.result(f"{task.name}: cut off; the next suite in this folder continues it")
            break
        row = _add(row, experiment, environment)
        kept_rows.keep(row, session.folder)
        session.reporter.result(f"{task.name}: {experiment.reason or f'{len(experiment.figures)} figures'}")
    return row


def _run_task(
    task: Task, recording: Path, session: Session, lock: int
) -> tuple[MeasuredExperiment, Environment | None]:
    """The figures of a task, and the machine that they are of; None if there are none.

    Args:
      lock: of the folder; the run keeps it too.

    Raises:
      subprocess.TimeoutExpired: the time was over.
    """
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    load, start, out = os.getloadavg()[0], time.monotonic(), session.folder / task.name
    words = [*PROGRAMS["jaxport"], *task.run(recording, session.device), "-o", str(out), "--resume"]
    process = run_program(words, session.folder, session.seconds_left, lock=lock)
    command = " ".join(("jaxport", *task.run(Path(task.recording), session.device)))
    figures: tuple[Figure, ...] = ()
    reason, environment = "", None
    if process.returncode in _FINISHED:
        path = out / "results.json"
        answer = Answer(results_file.load_plain(path), process.stdout, out)
        figures = tuple(read_figure(reading, answer) for reading in task.readings)
        environment = results_file.load(path).environment
    else:
        reason = f"`{command}` ended with {process.returncode} and said: {last_line(process.stderr)}"
    seconds = round(time.monotonic() - start, 1)
    return MeasuredExperiment((command,), date, seconds, round(load, 2), figures, reason, task.name), environment


@contextmanager
def _hold_folder(folder: Path) -> Iterator[int]:
    """A lock of the folder, as an open file. A run that outlives a killed suite keeps it: two would share the device.

    Raises:
      RequestError: another program holds it.
    """
    with (folder / ".lock").open("wb") as file:
        patience_end = time.monotonic() + _STOPPING_S
        while not _lock(file):
            if time.monotonic() > patience_end:
                raise RequestError(
                    f"expected no other suite in {folder}, found one, or the run of a killed one: wait for its end"
                )
            time.sleep(0.1)
        yield file.fileno()


def _lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _add(row: MeasuredRow, experiment: MeasuredExperiment, environment: Environment | None) -> MeasuredRow:
    """The kept figures with those of one task.

    Raises:
      RequestError: they are of two machines.
    """
    machines = [describe_device(one) for one in (row.environment, environment) if one is not None]
    if len(set(machines)) > 1:
        raise RequestError(f"expected figures of {machines[0]}, found {machines[1]}: choose another --out")
    others = tuple(one for one in row.experiments if one.task != experiment.task)
    return MeasuredRow(SCHEMA, GPU_FIGURES, environment or row.environment, (*others, experiment))


def describe_device(environment: Environment | None) -> str:
    """The device that JAX computed on, and the processor of its host."""
    if environment is None:
        return "an unknown device"
    jax: Mapping[str, Any] = environment.sides.get("jax", {})
    return f"{jax.get('device', 'an unknown device')} of a host with {environment.cpu or 'an unknown processor'}"


def find_recording(task: Task, recordings: Path) -> Path | None:
    """The recorded side of a task, in a folder or in a load of it; None where there is none."""
    return next((path for path in sorted(recordings.rglob(task.recording)) if path.is_file()), None)


def record_sides(tasks: Sequence[Task], session: Session, platform: str) -> list[str]:
    """Record TensorFlow's side of each task, in folders "1", "2", ... of a load each; the reasons for those missing.

    Args:
      platform: the kind of device that programs are lowered for.
    """
    session.reporter.stage("recordings of TensorFlow", len(tasks))
    missing: list[str] = []
    for task in tasks:
        session.reporter.step(task.name)
        if find_recording(task, session.recordings) is not None:
            continue
        path = session.recordings / task.recording
        process = run_program([*PROGRAMS["jaxport"], *task.record(path, platform)], session.recordings, None)
        if process.returncode not in _FINISHED or not path.is_file():
            missing.append(f"{task.name}: {last_line(process.stderr)}")
        elif path.stat().st_size > MOST_CARRIED:
            missing.append(f"{task.name}: it takes {path.stat().st_size >> 20} MiB, of {MOST_CARRIED >> 20} in a load")
            path.unlink()
        else:
            load = _find_load(session.recordings, path.stat().st_size)
            load.mkdir(exist_ok=True)
            path.rename(load / path.name)
    return missing


def _find_load(recordings: Path, size: int) -> Path:
    """The first load with room for so many bytes."""
    for number in itertools.count(1):
        load = recordings / str(number)
        if sum(one.stat().st_size for one in load.glob("*.side")) + size <= MOST_CARRIED:
            return load
    raise AssertionError("loads have no end")
