"""Equal threads are seen, not believed: where each thread may run, and how many compute at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from compare.bench.threads import allowed_processors, cpu_seconds, judge, parallelism, seconds_spent
from compare.hlo import probes
from compare.inputs.at_size import prepare
from compare.measure import used_threads
from compare.plain_json import to_json
from compare.record.timing_part import Bound
from compare.sides import requests
from compare.sides._side import Reply, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.settings import Settings, available_processors
from workloads import ArraySpec, Workload
from workloads.core.device import GPU, Device
from workloads.core.spec import Arrays


def task(folder: Path, number: int, nanoseconds: int, allowed: str) -> None:
    """A thread as the kernel shows it."""
    (folder / str(number)).mkdir()
    (folder / str(number) / "schedstat").write_text(f"{nanoseconds} 77 3\n")
    (folder / str(number) / "status").write_text(f"Name:\tpython\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}\n")


def test_processor_time_is_told_thread_by_thread(tmp_path: Path) -> None:
    task(tmp_path, 7, 1_500_000_000, "0")
    task(tmp_path, 9, 250_000_000, "0")
    assert cpu_seconds(tmp_path) == pytest.approx({"7": 1.5, "9": 0.25})


def test_what_was_spent_counts_new_threads_and_leaves_out_idle_ones() -> None:
    assert seconds_spent({"1": 1.0, "2": 5.0}, {"1": 1.5, "2": 5.0, "3": 2.0}) == [2.0, 0.5]


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (["0", "0"], [0]),
        (["0-1", "0-1"], [0, 1]),
        (["0-2,8", "10-11"], [0, 1, 2, 8, 10, 11]),
        # One thread that was started before the process was pinned.
        (["0", "0", "0-1"], [0, 1]),
        ([], []),
    ],
)
def test_one_thread_that_may_run_elsewhere_is_enough(tmp_path: Path, allowed: list[str], expected: list[int]) -> None:
    for number, each in enumerate(allowed):
        task(tmp_path, number, 0, each)
    assert allowed_processors(tmp_path) == expected


def test_a_thread_that_ended_meanwhile_is_left_out(tmp_path: Path) -> None:
    task(tmp_path, 1, 0, "3")
    (tmp_path / "2").mkdir()
    assert allowed_processors(tmp_path) == [3] and cpu_seconds(tmp_path) == {"1": 0.0}


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([0.2], 1.0),
        ([0.2, 0.01], 1.05),  # a dispatcher beside the one that computes
        ([0.2, 0.2], 2.0),
        ([0.163, 0.161, 0.002], 2.0),
    ],
)
def test_parallelism_is_the_time_of_all_over_that_of_the_busiest(seconds: list[float], expected: float) -> None:
    assert parallelism(seconds) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("seconds", [[], [0.0]])
def test_where_no_processor_time_is_counted_nothing_is_shown_and_sides_are_not_equal(seconds: list[float]) -> None:
    assert parallelism(seconds) is None
    found = judge(2, {"tf": Bound((0, 1), None), "jax": Bound((0, 1), 2.0)})
    assert not found.equal and "does not count processor time by thread" in found.reason


ONE, TWO = Bound((0,), 1.02), Bound((0, 1), 1.93)


@pytest.mark.parametrize(("asked", "observed"), [(1, ONE), (2, TWO), (2, Bound((), 1.7))])
def test_sides_that_use_what_was_asked_are_equal(asked: int, observed: Bound) -> None:
    found = judge(asked, {"tf": observed, "jax": observed})
    assert found.equal and f"asked for {asked} thread" in found.reason and "remove" not in found.reason


@pytest.mark.parametrize(
    ("asked", "wrong"),
    [
        (2, Bound((0, 1), 1.0)),  # one thread, two processors
        (2, Bound((0,), 1.9)),  # two threads on one processor
        (1, Bound((0, 1), 1.0)),  # one thread that may move
        (1, Bound((0,), 2.0)),
        (4, Bound((0, 1, 2, 3), 3.0)),
        (2, Bound((0, 1), 8.0)),
    ],
)
@pytest.mark.parametrize("side", ["tf", "jax"])
def test_a_side_that_uses_something_else_is_refused_and_named(asked: int, wrong: Bound, side: str) -> None:
    right = Bound(tuple(range(asked)), asked)
    found = judge(asked, {"tf": right, "jax": right} | {side: wrong})
    assert not found.equal and found.reason.endswith(f"code or environment of {side}")
    assert f"{side} computed on {wrong.parallelism or 0:.1f} at once" in found.reason and "\n" not in found.reason


def test_two_sides_that_are_wrong_alike_are_still_wrong() -> None:
    found = judge(2, {"tf": ONE, "jax": ONE})
    assert not found.equal and found.reason.endswith("of tf and jax")


def test_as_many_processors_but_other_ones_are_not_equal() -> None:
    found = judge(1, {"tf": Bound((0,), 1.0), "jax": Bound((1,), 1.0)})
    assert not found.equal and "the same processors" in found.reason


def test_nothing_observed_is_not_equal() -> None:
    assert not judge(1, {}).equal


def test_the_record_holds_what_each_side_used() -> None:
    found = to_json(judge(2, {"tf": TWO, "jax": TWO}))
    assert found["sides"]["tf"] == {"processors": [0, 1], "parallelism": 1.93}
    assert found["asked"] == 2 and found["equal"] is True


class Scripted(Side):
    """A side whose threads spend what they are told to, call by call."""

    def __init__(self, name: str, processors: list[int], seconds: list[list[float]]) -> None:
        self.name, self._processors, self._seconds = name, processors, iter(seconds)

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        answers = {
            "compile": lambda: Reply({"handle": 3, "compile_s": 0.0}),
            "prepare": lambda: Reply({}),
            "processors": lambda: Reply(self._processors),
            "threads": lambda: self._spent(parameters),
        }
        return answers[method]()

    def _spent(self, parameters: Mapping[str, Any]) -> Reply:
        assert parameters == {"target": 3, "calls": 1}, "over several calls threads take turns"
        return Reply(next(self._seconds))

    def close(self) -> None:
        """Nothing runs."""


BOTH, ALONE, DISTURBED = [0.2, 0.19], [0.39], [0.3, 0.09]


def test_calls_that_others_disturbed_do_not_decide() -> None:
    calls = [*[DISTURBED, ALONE] * 9, BOTH]
    found = used_threads.verify({name: Scripted(name, [0, 1], calls) for name in ("tf", "jax")}, 2)
    assert found.equal, found.reason


def test_where_a_gpu_computes_threads_launch_and_only_their_processors_count() -> None:
    gpu = Device(GPU)
    alone = {"jax": Scripted("jax", [0, 1], [])}
    found = used_threads.verify(alone, 2, gpu)
    assert found.equal and found.reason == "asked for 2 threads, jax launched on processors 0, 1"
    fewer = used_threads.verify({"jax": Scripted("jax", [0], [])}, 2, gpu)
    assert not fewer.equal and fewer.reason.endswith("remove what sets processors in the code or environment of jax")
    apart = used_threads.verify({"tf": Scripted("tf", [0, 1], []), "jax": Scripted("jax", [2, 3], [])}, 2, gpu)
    assert not apart.equal and apart.reason.endswith("let all sides run on the same processors")


def test_one_thread_against_two_is_refused() -> None:
    sides = {
        "tf": Scripted("tf", [0, 1], [ALONE] * used_threads.MOST),
        "jax": Scripted("jax", [0, 1], [BOTH] * used_threads.FEWEST),
    }
    found = used_threads.verify(sides, 2)
    assert not found.equal and found.reason.endswith("of tf")


LIMITING = """
import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(1)

def adds(x):
    return x + 1
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[dict[str, LiveSide]]:
    """TensorFlow in whose file the user has set one thread, JAX on two, and JAX on one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = {
            "tf": LiveSide("tf", folder, settings=Settings(threads=2)),
            "jax": LiveSide("jax", folder, settings=Settings(threads=2)),
            "jax on one": LiveSide("jax", folder, settings=Settings(threads=1)),
        }
        (folder / "limiting.py").write_text(LIMITING)
        (folder / "plain.py").write_text("def adds(x):\n    return x + 1\n")
        port = Workload(
            name="port",
            tf="limiting.py:adds",
            jax="plain.py:adds",
            inputs={"x": ArraySpec((3,))},
            builds=False,
            folder=folder,
        )
        loading = prepare(port, "default", None, folder).loading
        try:
            for side in started.values():
                requests.load(side, loading)
            yield started
        finally:
            for side in started.values():
                side.close()


two_processors = pytest.mark.skipif(available_processors() < 2, reason="two threads need two processors")


@pytest.mark.process
@two_processors
def test_threads_set_in_the_users_file_are_seen(workers: dict[str, LiveSide]) -> None:
    found = used_threads.verify({"tf": workers["tf"], "jax": workers["jax"]}, 2)
    assert found.sides["tf"].parallelism < 1.3 and found.sides["jax"].parallelism > 1.5
    assert [len(side.processors) for side in found.sides.values()] == [2, 2]
    assert not found.equal and found.reason.endswith("of tf")


@pytest.mark.process
@two_processors
def test_a_worker_on_one_thread_computes_on_one(workers: dict[str, LiveSide]) -> None:
    probe = probes.product(used_threads.SIDE, "f32")
    found = used_threads.observe(workers["jax on one"], probe, 1)
    assert found.parallelism < 1.3 and len(found.processors) == 1


def test_a_side_that_cannot_compile_the_probe_says_so() -> None:
    class Refusing(Scripted):
        def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
            raise SideError(self.name, method, "no such program")

    with pytest.raises(SideError, match="no such program"):
        used_threads.verify({"tf": Refusing("tf", [], [])}, 1)
