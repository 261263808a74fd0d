"""What a run says on its way: planned checks, and the gates of each pass as soon as both sides ran it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from compare.inputs.at_size import prepare
from compare.inputs.request import Request
from compare.parity import Evidence, held_leaves
from compare.parity.holding import Leaves
from compare.progress import Position
from compare.run.planned_checks import describe_pass, plan_checks
from workloads.core.spec import ArraySpec, Workload
from workloads.protocol.framework import FORWARD


def leaves(port: float, port_in_double: float) -> Leaves:
    """The comparisons of a function that is 1, and of a port that computes these values."""
    outputs = {
        ("tf/eager", FORWARD, "seed0"): 1.0,
        ("tf/jit", FORWARD, "seed0"): 1.0,
        ("jax/jit", FORWARD, "seed0"): port,
    }
    doubles = {("tf", FORWARD, "seed0"): 1.0, ("jax", FORWARD, "seed0"): port_in_double}
    evidence = Evidence(
        workload="one",
        outputs={key: {"y": np.full(3, value, np.float32)} for key, value in outputs.items()},
        doubles={key: {"y": np.full(3, value, np.float64)} for key, value in doubles.items()},
    )
    return {
        gate: [leaf for leaf in of_gate if leaf.place.pass_ == FORWARD]
        for gate, of_gate in held_leaves(evidence).items()
    }


def test_gates_that_hold_are_named() -> None:
    assert describe_pass(FORWARD, leaves(1.0, 1.0), "") == (
        "forward pass: structure, semantics, rounding hold on the drawn arrays"
    )


def test_an_error_that_may_be_excused_has_its_bound() -> None:
    assert describe_pass(FORWARD, leaves(1.0, 1.0 + 1e-9), "") == (
        "forward pass: structure, rounding hold on the drawn arrays; "
        "semantics not yet (y of jax: error 1e-09, strictest bound 1e-12)"
    )


def test_what_nothing_can_excuse_is_said_as_it_fails() -> None:
    text = describe_pass(FORWARD, leaves(math.nan, math.nan), "")
    assert text.startswith("forward pass: structure") and " not: one: structure gate" in text
    assert "NaN and infinities must stand in the same places, 3 of 3 do not" in text


def test_a_pass_that_the_original_does_not_have_has_its_reason() -> None:
    assert describe_pass(FORWARD, {}, "no gradient defined for operation") == (
        "forward pass: no gradient defined for operation"
    )


def test_the_plan_has_a_check_for_each_pass_sweep_and_size(tmp_path: Any) -> None:
    workload = Workload(
        name="edges", tf="a.py:f", jax="b.py:f", inputs=lambda d: {"x": ArraySpec((d["B"],))}, builds=False,
        sizes={"default": {"B": 4}},
    )  # fmt: skip
    instance = dataclasses.replace(prepare(workload, "default", None, tmp_path), others=({"B": 1}, {"B": 7}))
    request = Request([workload], plans=(), parity_only=True)
    assert list(plan_checks(instance, request)) == [
        "forward pass", "gradients", "gates", "stability, forward", "stability, gradients", "at B=1", "at B=7",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "number", "rest"),
    [
        (["a", "b"], 2, "about 80 s to the end"),
        (["a", "c"], 3, "about 20 s to the end"),  # b was left out: all before c took 40 s
        (["a", "c", "b or c, in detail"], 3, "about 20 s to the end"),
    ],
)
def test_steps_that_are_left_out_count_as_done(steps: list[str], number: int, rest: str) -> None:
    position = Position({"a": 1.0, "b": 1.0, "c": 1.0}, 0.0)
    for seconds, step in zip((0.0, 40.0, 40.0), steps, strict=False):
        position.begin_step(step, seconds)
    assert (position.number, position.describe_rest(40.0)) == (number, rest)
