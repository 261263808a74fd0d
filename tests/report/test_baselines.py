"""Every mode against one of them."""

from __future__ import annotations

import pytest

from compare.record.envelope import SCHEMA, Record
from compare.record.program_parts import Profile
from compare.record.timing_part import Mode, Ratio, Timing
from compare.record.workload_part import Workload
from compare.report.baselines import against
from workloads.core.modes import JAX_JIT, TF_AUTOCLUSTER, TF_GRAPH, TF_KERAS
from workloads.core.modes import Mode as TimedMode

TIMING = Timing(
    modes={mode: Mode(median_s=1.0) for mode in ("jax/jit", "tf/jit", "tf/graph", "tf/eager")},
    ratios={
        "jax/jit vs tf/graph": Ratio(ratio=0.5, ci95=(0.4, 0.6), verdict="faster"),
        "tf/jit vs tf/graph": Ratio(ratio=2.0, ci95=(1.9, 2.1), verdict="slower"),
        "jax/jit vs tf/jit": Ratio(ratio=0.25, ci95=(0.2, 0.3), verdict="faster"),
    },
)
WORKLOAD = Workload(timing=TIMING, profile={"tf/autocluster": Profile(same_as="tf/graph")})
RECORD = Record(schema=SCHEMA, workloads={"add": WORKLOAD})


def test_the_modes_that_were_held_against_it_are_told_and_no_others() -> None:
    (add,) = against(RECORD, TF_GRAPH)
    assert [(str(mode), row.ratio, row.verdict) for mode, row in add.rows] == [
        ("tf/jit", "2.00x", "slower"),
        ("jax/jit", "0.500x", "faster"),
    ]


def test_a_ratio_that_was_recorded_the_other_way_is_turned_round() -> None:
    (add,) = against(RECORD, JAX_JIT)
    assert [(str(mode), row.ratio, row.interval, row.verdict) for mode, row in add.rows] == [
        ("tf/graph", "2.00x", "[1.67, 2.50]", "slower"),
        ("tf/jit", "4.00x", "[3.33, 5.00]", "slower"),
    ]


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [
        (TF_AUTOCLUSTER, "tf/autocluster compiled nothing of its own: it is tf/graph"),
        (TF_KERAS, "tf/keras was not timed"),
    ],
)
def test_a_baseline_without_times_says_why(baseline: TimedMode, reason: str) -> None:
    (add,) = against(RECORD, baseline)
    assert (add.rows, add.reason) == ((), reason)
