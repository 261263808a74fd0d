"""`jaxport distribute` runs a step of a user's own that holds on twice the devices too, once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compare import cli
from compare.commands import distribute
from compare.distribution.distributing import Asked
from compare.record.distribution_part import DistributedStep, Distribution
from compare.record.vocabulary import FAIL, PASS


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
