"""Processes that compute together: an address that somebody takes meanwhile costs a try."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from compare.distribution import worker_groups
from compare.distribution.worker_groups import Groups
from compare.sides import strategy_requests
from compare.sides._side import Reply, Side, SideError

TAKEN = "JaxRuntimeError: UNKNOWN: Failed to start RPC server"
"""Of JAX 0.10.2; TensorFlow 2.21 says "UnknownError: Could not start gRPC server"."""


class Idle(Side):
    """A process that answers nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def call(self, method: str, parameters: object, arrays: object = None) -> Reply:
        raise AssertionError(method)

    def close(self) -> None:
        """Nothing is held."""


class Joins:
    """Refuses so many times, each time as told; keeps who was asked, and by which addresses."""

    def __init__(self, *reasons: str) -> None:
        self.reasons, self.asked = list(reasons), []

    def __call__(self, sides: Sequence[Side], addresses: Sequence[str], limit_s: float) -> list[int]:
        self.asked.append((list(sides), list(addresses)))
        if self.reasons:
            raise SideError("jax_strategies", "join", self.reasons.pop(0), is_lost=False)
        return [1] * len(sides)


def group(joins: Joins, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sequence[Side]:
    monkeypatch.setattr(strategy_requests, "join", joins)
    monkeypatch.setattr(worker_groups, "LiveSide", lambda name, *_: Idle(name))
    with Groups({}, 10, 10, tmp_path) as groups:
        return groups.get("jax", 2, 1).sides


def test_addresses_that_were_taken_are_tried_anew_by_other_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    joins = Joins(TAKEN, "UnknownError: Could not start gRPC server")
    found = group(joins, monkeypatch, tmp_path)
    assert len(joins.asked) == 3 and found == joins.asked[-1][0]
    assert len({id(side) for sides, _ in joins.asked for side in sides}) == 6
    assert all(len(set(addresses)) == 2 for _, addresses in joins.asked)


@pytest.mark.parametrize(
    ("reasons", "tries"),
    [([TAKEN] * 3, 3), (["they did not come within the limit"], 1)],
    ids=["taken", "another reason"],
)
def test_what_does_not_end_is_said_at_last(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reasons: list[str], tries: int
) -> None:
    joins = Joins(*reasons)
    with pytest.raises(SideError) as caught:
        group(joins, monkeypatch, tmp_path)
    assert caught.value.reason == reasons[-1] and len(joins.asked) == tries
