"""Signals end the program, its workers and its temporary files, whatever either is at; what was judged is kept."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from interpreters import JAX_AS_TF, interpreter
from places import ROOT

from compare.commands import _signals
from compare.sides import processes

FUNCTIONS = """
import os
import threading

import jax

def noted(name, text=""):
    with open(os.path.join(os.path.dirname(__file__), name), "w") as pipe:
        print(os.getpid(), file=pipe)

def doubles(x):
    return x * 2

def endless(x):
    noted("endless")
    return jax.lax.while_loop(lambda y: True, lambda y: y + 1, x)

def waits(x):
    noted("endless")
    threading.Event().wait()
"""

PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="{0}", tf="functions.py:{1}", jax="functions.py:{0}", inputs={{"x": ArraySpec((3,))}}, builds=False
)
"""

PATIENCE_S = 240
"""What hangs fails."""


class Session:
    """A folder of ports, and programs run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        (folder / "functions.py").write_text(FUNCTIONS)
        (folder / "doubles.py").write_text(PORT.format("doubles", "doubles"))
        (folder / "endless.py").write_text(PORT.format("endless", "doubles"))
        (folder / "waits.py").write_text(PORT.format("waits", "doubles"))
        os.mkfifo(folder / "endless")
        self._tf = interpreter(folder, JAX_AS_TF)
        self._programs: list[subprocess.Popen[str]] = []

    def run(self, *ports: str) -> subprocess.Popen[str]:
        return self.command("run", *ports, "--parity-only")

    def command(self, *asked: str) -> subprocess.Popen[str]:
        return self.program(["-P", "-m", "compare", *asked, "--tf-python", self._tf, "-o", "out"])

    def program(self, asked: Sequence[str]) -> subprocess.Popen[str]:
        """A process group of its own, as a terminal or a scheduler has it."""
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary)}
        pipe = subprocess.PIPE
        self._programs.append(
            subprocess.Popen(
                [sys.executable, *asked], cwd=self.folder, env=environment, stdout=pipe, stderr=pipe, text=True,
                start_new_session=True,
            )
        )  # fmt: skip
        return self._programs[-1]

    def endless(self) -> int:
        """The process that computes without end, once it does."""
        return int((self.folder / "endless").read_text())

    def kill(self, program: subprocess.Popen[str]) -> None:
        """Kill a program and wait for its workers: the last of them to end removes what another still wrote."""
        tasks = Path(f"/proc/{program.pid}/task").iterdir()
        workers = [int(each) for task in tasks for each in (task / "children").read_text().split()]
        assert len(workers) > 1
        program.kill()
        assert all(map(gone, workers))

    def close(self) -> None:
        for program in self._programs:
            with program:
                program.kill()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    # Whoever runs the tests may ignore signals, as nohup does, and what they start would ignore them too.
    ignored = [each for each in _signals.SIGNALS if signal.getsignal(each) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    made = Session(tmp_path)
    yield made
    made.close()
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def gone(process_id: int) -> bool:
    """Whether a process that may have ended already ends within the patience."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    with os.fdopen(descriptor):
        return bool(select.select([descriptor], [], [], PATIENCE_S)[0])


@pytest.mark.parametrize(
    "signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP, signal.SIGTERM]], ids=str
)
def test_what_was_judged_is_written_and_nothing_is_left(session: Session, signals: Sequence[int]) -> None:
    program = session.run("doubles.py", "endless.py")
    worker = session.endless()
    for number in signals:
        os.killpg(program.pid, number)
    out, err = program.communicate(timeout=PATIENCE_S)
    assert program.returncode == 1, err
    record = json.loads((session.folder / "out/results.json").read_text())
    judged = record["workloads"]["doubles"]
    assert list(record["workloads"]) == ["doubles"]
    assert judged["parity"]["verdict"] == "pass"
    reason = "interrupted after 1 of 2 workloads; not in this record: endless"
    (failure,) = judged["failures"]
    assert (failure["side"], failure["doing"], failure["reason"]) == ("both sides", "judging", reason)
    assert "jax" in record["environment"]["sides"]["jax"]
    assert gone(worker)
    assert list(session.temporary.iterdir()) == []
    assert "Traceback" not in out + err


def test_two_at_once_before_anything_was_judged_are_one_line(session: Session) -> None:
    program = session.run("endless.py")
    worker = session.endless()
    os.kill(program.pid, signal.SIGINT)
    os.kill(program.pid, signal.SIGTERM)
    _, err = program.communicate(timeout=PATIENCE_S)
    assert (program.returncode, err.splitlines()[-1]) == (130, "jaxport: interrupted; nothing was written")
    assert gone(worker)
    assert not (session.folder / "out").exists()
    assert list(session.temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("tune ablate", signal.SIGINT),
        ("bugreport", signal.SIGTERM),
        ("explain", signal.SIGTERM),
        ("export", signal.SIGINT),
    ],
)
def test_a_command_that_waits_for_a_worker_ends_in_one_line(session: Session, command: str, number: int) -> None:
    program = session.command(*command.split(), "waits.py")
    worker = session.endless()
    os.killpg(program.pid, number)
    out, err = program.communicate(timeout=PATIENCE_S)
    assert (program.returncode, err.splitlines()[-1]) == (130, "jaxport: interrupted; nothing was written")
    assert "Traceback" not in out + err
    assert gone(worker)
    assert not [each for each in session.folder.iterdir() if each.name.startswith((".", "out"))]
    assert list(session.temporary.iterdir()) == []


def test_a_worker_in_an_endless_native_call_ends_with_a_coordinator_that_was_killed(session: Session) -> None:
    program = session.run("endless.py")
    session.endless()
    assert any(session.temporary.iterdir())
    session.kill(program)
    assert list(session.temporary.iterdir()) == []


LOCKED = """
import ctypes

def locked(x):
    noted("endless")
    waiting, _ = os.pipe()
    ctypes.PyDLL(None).read(waiting, ctypes.create_string_buffer(1), 1)
    return x
"""
"""Native code that ends at no signal, and holds Python's lock: no thread of the worker runs any more."""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing ends such a worker")
def test_a_worker_whose_native_code_holds_python_s_lock_ends_too(session: Session) -> None:
    with (session.folder / "functions.py").open("a") as functions:
        functions.write(LOCKED)
    (session.folder / "locked.py").write_text(PORT.format("locked", "doubles"))
    program = session.run("locked.py")
    session.endless()
    assert any(session.temporary.iterdir())
    session.kill(program)
    assert list(session.temporary.iterdir()) == []


STUBBORN = """
import threading
from compare import cli
from compare.run import whole_run

def stubborn(*_, **__):
    while True:
        try:
            print("waiting", flush=True)
            threading.Event().wait()
        except KeyboardInterrupt:
            pass

whole_run.run = stubborn
cli.main(["run", "add"])
"""


def test_a_third_signal_waits_for_nothing(session: Session) -> None:
    program = session.program(["-P", "-c", STUBBORN])
    assert program.stdout is not None
    assert program.stdout.readline() == "waiting\n"
    assert any(session.temporary.iterdir())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(program.pid, number)
    _, err = program.communicate(timeout=PATIENCE_S)
    assert (program.returncode, err) == (130, "jaxport: interrupted again; ended before everything was written\n")
    assert list(session.temporary.iterdir()) == []


FORKS = """
import os, signal, sys
from compare.commands import _signals
from compare.sides import processes
processes.end_with_parent(0)
print(os.getpid() if os.fork() else os.getpid(), flush=True)
signal.pause()
"""


def test_what_a_worker_forked_ends_with_it(session: Session) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    both = [int(process.stdout.readline()) for _ in range(2)]
    with process:
        process.stdin.close()
        assert all(map(gone, both))


def test_nothing_is_started_by_a_program_that_is_ending(tmp_path: Path) -> None:
    processes.end()
    try:
        with (tmp_path / "log").open("wb") as log, pytest.raises(processes.Ending):
            processes.start(["sleep", "60"], log, os.environ, tmp_path)
    finally:
        processes.begin()
