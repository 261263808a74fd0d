"""What several specifications look at: runs of real sides, made once a session."""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_workers import forked_workers
from hypothesis import settings
from interpreters import is_running
from mortals import Mortals
from programs_here import ProgramsHere
from runs import JUDGED, LEAN_MODES, WHOLE, record_of
from slow_files import HEAVY, LONGEST, PART, SLOW, files_of_part

from compare.cli import main
from compare.hlo import executing
from compare.inputs.foreign_code import foreign_code_apart
from compare.measure import machine_limits

# The same examples every time: a suite that fails one day in ten proves nothing on the other nine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


PROCESS_BYTES = 1 << 31
"""What a process of tests needs with its workers of both frameworks."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; within one, and among the others, the order stays."""
    for item in items:
        if item.path.name in SLOW:
            item.add_marker(pytest.mark.slow)
        if item.path.name in HEAVY:
            item.add_marker(pytest.mark.heavy)
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of tests that would all be deselected are not read: many import TensorFlow."""
    if collection_path.name in SLOW and collection_path.name not in files_of_part(PART):
        return True
    # Where no parentheses hold an `or`, one of its sides may want what the other does not.
    wanted = str(config.option.markexpr).split(" and ")
    if any(" or " in each and not (each[0] == "(" and each[-1] == ")") for each in wanted):
        return None
    left_out = {"not slow": SLOW, "not heavy": HEAVY}
    return any(mark in wanted and collection_path.name in names for mark, names in left_out.items()) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What was imported stays: to look through it for garbage, again and again, takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many processes of tests as there are cores to run on and memory for their workers; none beside a benchmark."""
    if config.getoption("benchmark_only", False):
        return 0
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, memory // PROCESS_BYTES))


_forbidden: list[pytest.Item] = []
"""The test that runs now, where it may start no process and import no TensorFlow."""


def _refuse_what_takes_long(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook: fails the test that starts Python or a browser or imports TensorFlow and is not marked for it."""
    if not _forbidden:
        return
    # Not `tensorflow`: a stand-in for it costs nothing.
    if event == "import" and arguments[0] == "tensorflow.python":
        pytest.fail(
            "expected no TensorFlow (its import takes seconds), found one: list it in tests/support/slow_files.py",
            pytrace=False,
        )
    if event == "subprocess.Popen":
        _refuse_processes(arguments)


def _refuse_processes(arguments: tuple[Any, ...]) -> None:
    command = arguments[1] if isinstance(arguments[1], str | bytes) else arguments[1][0]
    program = Path(os.fsdecode(arguments[0] or command)).name
    if program.startswith(("python", "node")):
        pytest.fail(
            f"expected no process, found one of {program}: mark the test with @pytest.mark.process", pytrace=False
        )


sys.addaudithook(_refuse_what_takes_long)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Tests without a mark start neither Python nor a browser, and import no TensorFlow: `make check` runs them."""
    may_start = any(item.get_closest_marker(name) for name in ("process", "heavy", "slow"))
    _forbidden[:] = [] if may_start else [item]
    try:
        return (yield)
    finally:
        _forbidden.clear()


@pytest.fixture(autouse=True)
def same_draws() -> None:
    """Keras draws the seeds of its initializers from `random`: each test has the same weights every time."""
    random.seed(0)


@pytest.fixture(scope="session", autouse=True)
def workers_are_forks() -> Iterator[None]:
    """Every test's workers of the frameworks are forks of processes that have imported these."""
    with forked_workers():
        yield


@pytest.fixture(scope="session", autouse=True)
def workers_for_foreign_code(workers_are_forks: None) -> Iterator[None]:
    """Every test's port files and programs share two workers: to start them for each command takes seconds."""
    with foreign_code_apart():
        yield


@pytest.fixture(scope="module")
def programs_here() -> Iterator[None]:
    """A module's own programs run in this process: no worker is started for them."""
    with executing.using(ProgramsHere()):
        yield


@pytest.fixture(scope="session", autouse=True)
def small_working_sets() -> Iterator[None]:
    """What the machine does is measured in little memory here: working sets of a gigabyte take most of a minute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine_limits, "MOST_BYTES", 1 << 25)
        yield


@pytest.fixture
def mortals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mortals]:
    """Workers that die at a planted moment; none of them outlives the test."""
    mortals = Mortals(tmp_path_factory.mktemp("mortals"))
    yield mortals
    assert mortals.pids and not any(map(is_running, mortals.pids))


@pytest.fixture(scope="session")
def recorded_sides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tf.side and jax.side lie: add at size smoke."""
    path = tmp_path_factory.mktemp("recorded")
    for side in ("tf", "jax"):
        # A folder that is not there yet is made.
        asked = ["record", "add", "--side", side, "--size", "smoke", "-o", str(path / "made" / f"{side}.side")]
        assert main(asked) == 0
    return path / "made"


@pytest.fixture(scope="session")
def zoo() -> dict[str, Any]:
    """The workloads in JUDGED at size smoke, not timed."""
    lean = [name for name in JUDGED if name not in WHOLE]
    judged = record_of(*lean, size="smoke", plans=(), modes=LEAN_MODES, parity_only=True)["workloads"]
    return record_of(*WHOLE, size="smoke", plans=())["workloads"] | judged
