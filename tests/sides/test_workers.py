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
from compare.sides.workers import WorkerSet, failure_of
from workloads import _registry

pytestmark = pytest.mark.process

POINTS = ("starting", "load", "asking")

DYING = f"""exec {sys.executable} -c "
import json, os, sys
def end(): os.kill(os.getpid(), 9)
if '@' == 'starting': end()
print(json.dumps(dict(ok=True, value={{}}, arrays=False)), flush=True)
for line in sys.stdin:
    method = json.loads(line)['method']
    if '@' in (method, 'asking') and method != ('load' if '@' == 'asking' else ''): end()
    print(json.dumps(dict(ok=True, value=dict(modes={{}}), arrays=False)), flush=True)
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
    _, prepared = prepare_both(_registry.get("add"), "smoke", None, tmp_path)
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
    workload = _registry.get("mnist_mlp")
    workers = workers_of(python, tmp_path)
    _, failures = batch_sizes.measure(workload, "smoke", None, 1 << 30, workers, Silent(), (8, 16), {"tf": ["jit"]})
    assert killed(failures)


def test_limits_of_a_worker_that_dies(python: str, tmp_path: Path) -> None:
    _, prepared = prepare_both(_registry.get("add"), "smoke", None, tmp_path)
    found = {"add": Measurements()}
    workers = Workers({"tf": Source(python)}, tmp_path, 60, threads=1)
    timed = timed_sets.Timed(prepared, {"tf": ["jit"]}, {})
    assert measurements.measure_limits([timed], found, {}, {}, workers, Silent()) is None
    assert killed(found["add"].failures)


def test_a_set_that_is_timed_has_one_failure_a_process_that_dies(python: str, tmp_path: Path) -> None:
    _, prepared = prepare_both(_registry.get("add"), "smoke", None, tmp_path)
    timed = timed_sets.Timed(prepared, {"tf": ["jit"]}, {})
    sources, plan = {"tf": Source(python)}, Plan(1, 1, budget_s=0.01)
    found = timed_sets.measure([timed], sources, plan, tmp_path, 60, Silent())["add"]
    assert len(found.failures) == 1 + 2  # the process that compiles, and the two that are timed
    assert all(killed([failure]) for failure in found.failures)


def ask(side: Side, folder: Path) -> None:
    _, prepared = prepare_both(_registry.get("add"), "smoke", None, folder)
    requests.load(side, prepared.loading)
    requests.dispatch(side)


def test_a_pool_drops_a_worker_that_dies(python: str, tmp_path: Path) -> None:
    pool = Pool({"tf": Source(python)}, tmp_path, 60)
    with pytest.raises(SideError) as caught, pool.asking("tf") as side:
        ask(side, tmp_path)
    assert killed([failure_of(caught.value)])
    assert pool.renew() == set()


def test_a_set_drops_what_is_lost_and_closes_the_rest(python: str, tmp_path: Path) -> None:
    with WorkerSet(lambda name: LiveSide(name, tmp_path, python, 60)) as workers:
        workers.start(["jax", "tf"])
        with pytest.raises(SideError) as caught, workers.asking("tf") as side:
            ask(side, tmp_path)
        assert list(workers.sides) == ["jax"]
    assert killed([failure_of(caught.value)])
    assert not workers.sides


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
