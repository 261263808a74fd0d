"""Models that take minutes to judge whole: in float64 both twins are one function, gradients and kinks included.

Their training, rounding and programs are judged like those of every workload by `make zoo`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from runs import LARGE

from compare.inputs.at_size import examples_of, prepare
from compare.parity import Evidence, judge
from compare.record.vocabulary import NOT_APPLICABLE, PASS
from compare.sides import requests
from compare.sides.client import LiveSide
from workloads.core import registry
from workloads.protocol.framework import FORWARD, GRADIENTS

MODES = {"tf": "eager", "jax": "jit"}
CASES = ("seed0", "kinks")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, LiveSide]]:
    folder = tmp_path_factory.mktemp("sides")
    live = {name: LiveSide(name, folder) for name in MODES}
    yield live
    for side in live.values():
        side.close()


EXPECTED = {("translation_decode", "gradients"): NOT_APPLICABLE}
"""No gradient flows through a search: both twins stop it, and all are zero."""


@pytest.mark.parametrize("name", LARGE)
def test_both_twins_are_one_function_in_float64(name: str, sides: dict[str, LiveSide], tmp_path: Path) -> None:
    workload = registry.get(name)
    loading = prepare(workload, "smoke", examples_of(workload, "smoke", None), tmp_path).loading
    doubles = {}
    for side, live in sides.items():
        requests.load(live, loading)
        for pass_ in (FORWARD, GRADIENTS):
            for case in CASES:
                doubles[side, pass_, case] = requests.outputs(live, MODES[side], pass_, case, "float64")
    gates = judge(Evidence(name, {}, doubles)).gates
    for gate in ("semantics", "gradients"):
        messages = [each.message for each in gates[gate].comparisons if each.message]
        assert gates[gate].comparisons
        assert gates[gate].verdict == EXPECTED.get((name, gate), PASS), messages
