"""`jaxport distribute` runs some steps again: a user's own on twice the devices, and what a worker was lost in."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compare import cli
from compare.commands import distribute
from compare.distribution import distributing
from compare.distribution.distributing import Asked
from compare.distribution.strategies import BY_NAME
from compare.progress import Silent
from compare.record.distribution_part import DistributedStep, Distribution
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, PASS
from compare.sides._side import SideError, Unavailable


class NoGroups:
    """Processes that nobody needs."""

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> NoGroups:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def versions(self) -> dict[str, str]:
        return {}


@pytest.mark.parametrize(
    ("devices", "batch", "verdicts", "asked", "code"),
    [
        ("2", 8, {2: PASS, 4: PASS}, [2, 4], 0),
        ("2", 8, {2: PASS, 4: FAIL}, [2, 4], 1),
        ("2", 8, {2: FAIL}, [2], 1),
        ("2", 6, {2: PASS}, [2], 0),
        ("2,4", 8, {2: PASS, 4: PASS}, [2, 4], 0),
    ],
)
def test_own_steps_are_run_on_twice_the_devices(
    devices: str, batch: int, verdicts: dict[int, str], asked: list[int], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Asked] = []

    def distributed(workload: Any, given: Asked, groups: object, folder: Path, reporter: object) -> Distribution:
        found.append(given)
        verdict = verdicts[given.devices]
        steps = {str(strategy): DistributedStep(verdict=verdict) for strategy in given.strategies}
        return Distribution(name=workload.name, batch=batch, devices=given.devices, strategies=steps, verdict=verdict)

    monkeypatch.setattr(distribute, "Groups", NoGroups)
    monkeypatch.setattr(distribute.distributing, "distribute", distributed)
    assert cli.main(["distribute", "mnist_mlp", "--devices", devices, "--strategies", "jax/own", "jax/spmd"]) == code
    assert [each.devices for each in found] == asked
    if devices == "2" and len(found) == 2:
        assert [str(strategy) for strategy in found[1].strategies] == ["jax/own"]


LOST = SideError("tf", "steps", "SIGABRT", is_lost=True)


class Dropped:
    """Groups of which none is needed: what is dropped is kept."""

    def __init__(self) -> None:
        self.dropped: list[tuple[str, int]] = []

    def drop(self, side: str, processes: int) -> None:
        self.dropped.append((side, processes))

    def get(self, side: str, processes: int, devices: int) -> None:
        raise self.errors.pop(0)

    errors: list[SideError]


@pytest.mark.parametrize(
    ("errors", "verdict", "failures"),
    [
        (
            [SideError("tf", "steps", "SIGABRT", is_lost=True), Unavailable("tf", "steps", "not on CPUs")],
            NOT_APPLICABLE,
            0,
        ),
        ([SideError("tf", "steps", "SIGABRT", is_lost=True), SideError("tf", "steps", "ValueError: flaky")], FAIL, 1),
        ([SideError("tf", "steps", "SIGABRT", is_lost=True)] * 2, FAIL, 1),
    ],
)
def test_a_strategy_whose_worker_is_lost_is_run_once_more_and_no_oftener(
    errors: list[SideError], verdict: str, failures: int, tmp_path: Path
) -> None:
    groups: Any = Dropped()
    groups.errors = list(errors)
    given: Any = SimpleNamespace(examples=8)
    survey = distributing._Survey(given, Asked((), None, devices=2, steps=1, timed=False), groups, Silent(), tmp_path)
    found = survey.attempt(BY_NAME["tf/mirrored"])
    assert found is not None and (found.verdict, found.lost_first) == (verdict, "SIGABRT")
    assert len(survey.failures) == failures and not groups.errors
    assert groups.dropped == [("tf", 1)] * 2
