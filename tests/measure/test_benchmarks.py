"""Every built-in workload in every mode, skipped but for `pytest --benchmark-only tests/measure/test_benchmarks.py`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compare.errors import FORESEEN
from compare.run.prover import Port, Prover
from jaxport._pytest_plugin import Benchmark
from workloads.core import registry
from workloads.core.modes import (
    JAX_APART,
    JAX_DONATED,
    JAX_TUNED,
    MODES,
    TF_APART,
    TF_HANDWRITTEN,
    TF_KERAS,
    TF_KERAS_GRAPH,
    TF_KERAS_STEPS,
    Mode,
)

HERE = Path(__file__).parent


DECLARED = (TF_KERAS, TF_KERAS_GRAPH, TF_KERAS_STEPS, TF_HANDWRITTEN, TF_APART, JAX_APART, JAX_TUNED)
"""Modes that a twin has only where it hands over what they need."""


def cases() -> list[tuple[str, Mode]]:
    """Workload and mode; only what trains has a state to donate."""
    return [
        (name, mode)
        for name in registry.built_in()
        for mode in MODES
        if mode != JAX_DONATED or registry.get(name).training
    ]


@pytest.fixture(scope="module")
def judged_together(request: pytest.FixtureRequest, jaxport_prover: Prover) -> None:
    """All workloads that were selected in one run: a set of processes costs seconds and times them all."""
    selected = [item for item in request.session.items if item.path == request.path]
    names = dict.fromkeys(item.callspec.params["workload"] for item in selected)
    options = request.config.option
    # What cannot be carried out is said by each test.
    with suppress(*FORESEEN):
        jaxport_prover.judge([Port(HERE, name) for name in names], options.jaxport_size, options.jaxport_pairs)


@pytest.mark.usefixtures("judged_together")
@pytest.mark.parametrize(("workload", "mode"), cases(), ids=lambda value: str(value).replace("/", "_"))
def test_speed(port_benchmark: Benchmark, jaxport_prover: Prover, workload: str, mode: Mode, pytestconfig: Any) -> None:
    options = pytestconfig.option
    (judged,) = jaxport_prover.judge([Port(HERE, workload)], options.jaxport_size, options.jaxport_pairs)
    profile = judged.part.profile.get(str(mode))
    if mode in DECLARED and profile is None:
        pytest.skip(f"{workload} declares nothing for {mode}")
    if profile is not None and profile.same_as:
        pytest.skip(f"{mode} of {workload} compiled nothing: the same as {profile.same_as}")
    port_benchmark(workload, mode=str(mode))
