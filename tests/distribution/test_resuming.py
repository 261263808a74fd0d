"""A run that goes on from a checkpoint: what of the whole run it is held against."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare.distribution import resuming
from compare.distribution.resuming import identical, rest_of
from compare.distribution.worker_groups import Group
from compare.record.vocabulary import PASS
from compare.sides import strategy_requests
from compare.sides._side import Reply, Side, SideError
from workloads.core.spec import Arrays

WHOLE = {
    "loss": np.array([3.0, 2.0, 1.0]),
    "weights@1/a": np.array([1.0]),
    "weights@2/a": np.array([2.0]),
    "weights@3/a": np.array([3.0]),
    "state@3/count": np.array(3),
}


def test_the_rest_begins_after_the_checkpoint() -> None:
    rest = rest_of(WHOLE, 2)
    assert list(rest) == ["loss", "weights@3/a", "state@3/count"] and rest["loss"].tolist() == [1.0]


def test_identical_is_to_the_last_bit() -> None:
    assert identical(WHOLE, dict(WHOLE))
    assert not identical({**WHOLE, "weights@3/a": np.array([3.0 + 4e-16])}, WHOLE)
    assert not identical({**WHOLE, "weights@3/a": np.array([3.0], np.float32)}, WHOLE)
    assert not identical(rest_of(WHOLE, 1), WHOLE)


class Process(Side):
    """One that answers `steps` by a function of the request."""

    def __init__(self, name: str, answer: Callable[[Process, Mapping[str, Any]], Reply]) -> None:
        self.name, self._answer, self.killed = name, answer, threading.Event()

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        return self._answer(self, parameters)

    def kill(self) -> None:
        self.killed.set()

    def close(self) -> None:
        self.kill()


def failing(said: str, lost: bool, after: threading.Event | None = None) -> Callable[..., Reply]:
    def answer(process: Process, parameters: Mapping[str, Any]) -> Reply:
        if after is not None:
            after.wait(10)
        raise SideError(process.name, "steps", said, is_lost=lost)

    return answer


def test_the_process_that_died_is_named_though_another_one_speaks_first() -> None:
    """Its peer sees the connection close, and says so, before anybody sees that the process is gone."""
    spoke = threading.Event()

    def peer(process: Process, parameters: Mapping[str, Any]) -> Reply:
        spoke.set()
        raise SideError(process.name, "steps", "connection closed by peer")

    processes = [Process("a", peer), Process("b", failing("ended by SIGKILL", True, spoke))]
    with pytest.raises(SideError, match=r"process 1 of 2: ended by SIGKILL") as raised:
        strategy_requests.steps(processes, "spmd", "float64", 1)
    assert raised.value.lost and all(each.killed.is_set() for each in processes)


def test_where_none_died_the_first_one_that_failed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy_requests, "_SEEN_WITHIN_S", 0.2)
    waits = Process("b", lambda process, _: failing("killed", True, process.killed)(process, _))
    with pytest.raises(SideError, match=r"process 0 of 2: no such mode") as raised:
        strategy_requests.steps([Process("a", failing("no such mode", False)), waits], "spmd", "float64", 1)
    assert not raised.value.lost


class Trainer:
    """A process that trains as `WHOLE` tells, and writes a checkpoint; the doomed ones die at a moment of theirs."""

    def __init__(self, doomed: Iterator[str]) -> None:
        self._doomed, self.dropped = doomed, 0

    def group(self) -> Group:
        return Group([Process("jax", self._steps)])

    def drop(self) -> None:
        self.dropped += 1

    def _steps(self, process: Process, parameters: Mapping[str, Any]) -> Reply:
        first, count = parameters.get("first", 0), parameters["count"]
        moment = next(self._doomed) if first else "never"
        if moment == "at once":
            raise SideError("jax", "steps", "ended by SIGKILL", is_lost=True)
        path = Path(parameters["checkpoint"]) / str(first + count)
        path.mkdir()  # as Orbax: a checkpoint that is there already is no place for another one
        if moment == "at the end":
            raise SideError("jax", "steps", "ended by SIGKILL", is_lost=True)
        steps = range(first + 1, first + count + 1)
        kept = {name: array for name, array in WHOLE.items() if name == "loss" or int(name.split("@")[1][0]) in steps}
        return Reply({"compilations": 1, "unlike": []}, {**kept, "loss": WHOLE["loss"][first : first + count]})


@pytest.mark.parametrize(
    ("moments", "drops"),
    [(["at once"], 1), (["at the end"], 1), (["never", "at once"], 2), (["never", "never", "at the end"], 3)],
)
def test_whenever_the_process_is_killed_another_one_goes_on(tmp_path: Path, moments: list[str], drops: int) -> None:
    """At its end it may have written its last checkpoint; on a busy machine it may be done before it is killed."""
    trainer = Trainer(iter([*moments, "never"]))
    found = resuming.resume(trainer.group, trainer.drop, "spmd", WHOLE, tmp_path)
    assert found.killed == "ended by SIGKILL" and found.identical, found
    assert found.departure is not None and found.departure.verdict == PASS
    assert trainer.dropped == drops


def test_a_process_that_is_never_killed_in_time_is_said(tmp_path: Path) -> None:
    trainer = Trainer(iter(["never"] * resuming.KILLS))
    found = resuming.resume(trainer.group, trainer.drop, "spmd", WHOLE, tmp_path)
    assert found.reason == "the process had taken its steps before it was killed, 3 times" and found.killed == ""
