"""A process that is killed in the middle of its steps, and the run that another one goes on with from a checkpoint."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Timer

import numpy as np

from compare.distribution import judging_steps
from compare.distribution.judging_steps import FLOAT32, FLOAT64, Runs
from compare.distribution.worker_groups import Group
from compare.record.distribution_part import Resumed
from compare.sides import strategy_requests
from compare.sides._side import SideError, Unavailable
from workloads.core.spec import Arrays
from workloads.protocol.trajectory import kept_as

KILLED_AFTER_S = 0.05
"""Less than any framework takes to trace a step, which every request does anew."""

KILLS = 3
"""Tries: on a machine that is busy a timer may be late, and a process done before it."""


def resume(group: Callable[[], Group], drop: Callable[[], None], name: str, whole: Arrays, folder: Path) -> Resumed:
    """Take some steps in float64, kill a process in the steps after them, and go on in another one.

    Args:
      whole: what the run gave without an interruption.
      folder: a new one, for checkpoints.
    """
    count = len(whole["loss"])
    after = count // 2
    try:
        strategy_requests.steps(group().sides, name, FLOAT64, after, checkpoint=folder)
        earlier_files = set(folder.iterdir())
        for _ in range(KILLS):
            signal_name = _kill(group(), name, count - after, after, folder)
            drop()
            _remove_later(folder, earlier_files)
            if signal_name:
                break
        else:
            return Resumed(after, reason=f"the process had taken its steps before it was killed, {KILLS} times")
        rest = strategy_requests.steps(group().sides, name, FLOAT64, count - after, after, folder).arrays
    except SideError as error:
        drop()
        return Resumed(after, reason=error.reason)
    expected = rest_of(whole, after)
    runs = [
        Runs(run_name, dict.fromkeys((FLOAT32, FLOAT64), arrays))
        for run_name, arrays in (("resumed", rest), ("whole", expected))
    ]
    return Resumed(after, signal_name, identical(rest, expected), judging_steps.departure(*runs, with_state=True))


def _remove_later(folder: Path, earlier_files: Collection[Path]) -> None:
    """Remove checkpoints of later steps: a process that is killed at its end may have written one, or a part of it."""
    for path in set(folder.iterdir()).difference(earlier_files):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _kill(group: Group, name: str, count: int, after: int, folder: Path) -> str:
    """The message about a process that is killed in its steps; empty if it was not killed."""
    timer = Timer(KILLED_AFTER_S, group.sides[-1].kill)
    timer.start()
    try:
        strategy_requests.steps(group.sides, name, FLOAT64, count, after, folder)
    except Unavailable:
        raise
    except SideError as error:
        return error.reason if error.lost else ""
    finally:
        timer.join()
    return ""


def rest_of(whole: Arrays, after: int) -> dict[str, np.ndarray]:
    """The results of a run after a step, with its losses."""
    rest = {"loss": whole["loss"][after:]}
    for leaf, array in whole.items():
        kept_array = kept_as(leaf)
        if kept_array is not None and kept_array.step > after:
            rest[leaf] = array
    return rest


def identical(actual: Arrays, expected: Arrays) -> bool:
    """Whether two runs are the same to the last bit."""
    return actual.keys() == expected.keys() and all(
        array.dtype == expected[leaf].dtype and array.tobytes() == expected[leaf].tobytes()
        for leaf, array in actual.items()
    )
