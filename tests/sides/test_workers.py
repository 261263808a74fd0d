"""Sets of workers: whenever one dies, whoever uses it has one failure, and no process is left."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from interpreters import interpreter

from compare.inputs.at_size import prepare_both
from compare.inputs.request import Plan
from compare.measure import batch_sizes, measurements, phase_processes, timed_sets
from compare.measure.measurements import Measurements
from compare.measure.phase_processes import Workers
from compare.progress import Silent
from compare.record.workload_part import Failure
from compare.sides import processes, requests
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide
from compare.sides.pool import Pool, Source
from compare.sides.workers import GIVES_UP, WorkerSet, failure_of
from workloads.core import registry

pytestmark = pytest.mark.process

POINTS = ("starting", "load", "asking")

DYING = f"""exec {sys.executable} -c "
import json, os, sys
def end(): os.kill(os.getpid(), 9)
if '@' == 'starting': end()
print(json.dumps(dict(ok=True, value={{}}, arrays=False)), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    method = request['method']
    if '@' in (method, 'asking') and method != ('load' if '@' == 'asking' else ''): end()
    reply = dict(ok=True, value=dict(modes={{}}), arrays=False, number=request['number'])
    print(json.dumps(reply), flush=True)
" """
"""Answers with next to nothing, and dies at a point: when it starts, when it is loaded, or when it is asked else."""


@pytest.fixture(params=POINTS)
def python(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return interpreter(tmp_path, DYING.replace("@", request.param))


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Every process of a test, none of which outlives it."""
    found: list[subprocess.Popen[bytes]] = []
    start = processes.start

    def noted(*arguments: object) -> subprocess.Popen[bytes]:
        found.append(start(*arguments))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(processes, "start", noted)
    yield found
    assert found
    assert all(process.returncode is not None for process in found)


def killed(failures: list[Failure]) -> bool:
    """Whether one failure says that TensorFlow's worker was killed."""
    (failure,) = failures
    return failure.side == "tf" and "the worker ended by signal SIGKILL" in failure.reason


def workers_of(python: str, folder: Path) -> Workers:
    return Workers({"tf": Source(python)}, folder, 60)


def test_phases_of_a_worker_that_dies(python: str, tmp_path: Path) -> None:
    _, prepared = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    found, failures = phase_processes.measure(prepared, {"tf": ["jit"]}, workers_of(python, tmp_path), Silent(), 1)
    assert not found
    assert killed(failures)


def test_dispatch_of_a_worker_that_dies(tmp_path: Path) -> None:
    for point in ("starting", "asking"):
        python = interpreter(tmp_path, DYING.replace("@", point))
        found, failures = phase_processes.dispatch(workers_of(python, tmp_path), 1)
        assert not found
        assert killed(failures)


def test_batches_of_a_worker_that_dies(python: str, tmp_path: Path) -> None:
    workload = registry.get("mnist_mlp")
    workers = workers_of(python, tmp_path)
    _, failures = batch_sizes.measure(workload, "smoke", None, 1 << 30, workers, Silent(), (8, 16), {"tf": ["jit"]})
    assert killed(failures)


def test_limits_of_a_worker_that_dies(python: str, tmp_path: Path) -> None:
    _, prepared = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    found = {"add": Measurements()}
    workers = Workers({"tf": Source(python)}, tmp_path, 60, threads=1)
    timed = timed_sets.Timed(prepared, {"tf": ["jit"]}, {})
    assert measurements.measure_limits([timed], found, {}, {}, workers, Silent()) is None
    assert killed(found["add"].failures)


def test_a_set_that_is_timed_has_one_failure_a_process_that_dies(python: str, tmp_path: Path) -> None:
    _, prepared = prepare_both(registry.get("add"), "smoke", None, tmp_path)
    timed = timed_sets.Timed(prepared, {"tf": ["jit"]}, {})
    sources, plan = {"tf": Source(python)}, Plan(1, 1, budget_s=0.01)
    found = timed_sets.measure([timed], sources, plan, tmp_path, 60, Silent())["add"]
    assert len(found.failures) == 1 + 2  # the process that compiles, and the two that are timed
    assert all(killed([failure]) for failure in found.failures)


def ask(side: Side, folder: Path) -> None:
    _, prepared = prepare_both(registry.get("add"), "smoke", None, folder)
    requests.load(side, prepared.loading)
    requests.dispatch(side)


def test_a_pool_replaces_a_worker_that_died(python: str, tmp_path: Path) -> None:
    pool = Pool({"tf": Source(python)}, tmp_path, 60)
    with pytest.raises(SideError) as caught:
        ask(pool.get("tf"), tmp_path)
    assert killed([failure_of(caught.value)])
    assert pool.renew() == (set() if caught.value.doing == "import TensorFlow" else {"tf"})
    pool.close()


def test_a_set_replaces_what_was_lost_and_closes_all(python: str, tmp_path: Path) -> None:
    with WorkerSet(lambda name: LiveSide(name, tmp_path, python, 60)) as workers:
        workers.start(["jax", "tf"])
        first = dict(workers.sides)
        with pytest.raises(SideError) as caught:
            ask(workers.get("tf"), tmp_path)
        assert workers.sides["jax"] is first["jax"]
        assert workers.ensure("tf") is not first["tf"]
    assert killed([failure_of(caught.value)])
    assert not workers.sides


def test_what_one_was_told_of_as_lost_is_replaced_and_what_died_idle_is_not(tmp_path: Path) -> None:
    python = interpreter(tmp_path, DYING.replace("@", "asking"))
    with WorkerSet(lambda name: LiveSide(name, tmp_path, python, 60)) as workers:
        side = workers.get("tf")
        with pytest.raises(SideError):
            requests.dispatch(side)
        assert side.lost
        idle = workers.get("tf")
        assert idle is not side
        assert isinstance(idle, LiveSide)
        idle._process.kill()
        idle._process.wait()
        assert workers.get("tf") is idle
        with pytest.raises(SideError, match="SIGKILL"):
            requests.dispatch(idle)


def test_what_cannot_be_loaded_is_loaded_once(tmp_path: Path) -> None:
    loaded: list[str] = []

    def load(side: Side) -> None:
        loaded.append(side.name)
        raise SideError(side.name, "load", "no such luck")

    python = interpreter(tmp_path, DYING.replace("@", "never"))
    with WorkerSet(lambda name: LiveSide(name, tmp_path, python, 60), load) as workers:
        for _ in range(2):
            with pytest.raises(SideError, match="no such luck"):
                workers.get("tf")
    assert loaded == ["tf"]


def test_a_load_that_loses_the_worker_is_tried_so_often(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> None:
    python = interpreter(tmp_path, DYING.replace("@", "load"))
    _, prepared = prepare_both(registry.get("add"), "smoke", None, tmp_path)

    def load(side: Side) -> None:
        requests.load(side, prepared.loading)

    with WorkerSet(lambda name: LiveSide(name, tmp_path, python, 60), load) as workers:
        for _ in range(GIVES_UP + 2):
            with pytest.raises(SideError, match="SIGKILL"):
                workers.get("tf")
    assert len(started) == GIVES_UP


def test_an_interpreter_that_is_gone_is_a_failure_like_any_other(
    tmp_path: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    there = interpreter(tmp_path, DYING.replace("@", "never"))
    pythons = {"tf": str(tmp_path / "gone"), "jax": there}
    with WorkerSet(lambda name: LiveSide(name, tmp_path, pythons[name], 60)) as workers:
        with pytest.raises(SideError, match=r"tf: import TensorFlow: not started: .*No such file"):
            workers.get("tf")
        assert workers.get("jax").alive


def test_a_replaced_worker_stands_in_the_same_place(tmp_path: Path) -> None:
    python = interpreter(tmp_path, DYING.replace("@", "never"))
    with WorkerSet(lambda name: LiveSide(name, tmp_path, python, 60)) as workers:
        workers.start(["jax", "tf"])
        before = dict(workers.sides)
        lost = before["jax"]
        assert isinstance(lost, LiveSide)
        lost._process.send_signal(signal.SIGKILL)
        lost._process.wait()
        assert workers.replace_lost() == ["jax"]
        assert list(workers.sides) == ["jax", "tf"]
        assert workers.sides["jax"] is not lost
        assert workers.sides["tf"] is before["tf"]


def test_an_interrupt_closes_every_worker(tmp_path: Path) -> None:
    python = interpreter(tmp_path, DYING.replace("@", "never"))

    def interrupted() -> None:
        with WorkerSet(lambda name: LiveSide(name, tmp_path, python, 60)) as workers:
            workers.start(["tf", "jax"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
