"""Ports of one function ask its side once; another function or other arrays are asked for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from compare.sides._side import Reply, Side, SideError, Unavailable
from compare.sides.remembering import RememberingSide

LOAD = {"workload": "right", "target": "m:f", "arrays": "a", "sha256": "1", "cases": ["seed0"], "builds": False}
OUTPUTS = {"mode": "eager", "pass_": "forward", "case": "seed0", "dtype": "float32"}


class Counting(Side):
    """Answers with how often it was asked; refuses gradients, and is lost in a trajectory."""

    name = "tf"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Any = None) -> Reply:
        self.asked.append(method)
        if parameters.get("pass_") == "gradients":
            raise Unavailable("tf", method, "no gradients")
        if method == "trajectory":
            raise SideError("tf", method, "the worker ended", lost=True)
        return Reply(len(self.asked), {"y": np.zeros(1)})

    def close(self) -> None:
        raise NotImplementedError


@pytest.fixture
def sides() -> tuple[Counting, RememberingSide]:
    side = Counting()
    return side, RememberingSide(side)


def test_another_port_of_the_function_is_told_what_the_first_was(sides: tuple[Counting, RememberingSide]) -> None:
    side, remembering = sides
    first = [remembering.call("load", LOAD), remembering.call("outputs", OUTPUTS)]
    second = [remembering.call("load", LOAD | {"workload": "naive", "arrays": "b"})]
    second.append(remembering.call("outputs", OUTPUTS))
    assert [each.value for each in second] == [each.value for each in first] and side.asked == ["load", "outputs"]


@pytest.mark.parametrize(
    "other", [{"target": "m:g"}, {"sha256": "2"}, {"cases": []}, {"builds": True}, {"unrolled": 2}]
)
def test_anything_else_is_loaded_and_asked_for_itself(
    sides: tuple[Counting, RememberingSide], other: Mapping[str, Any]
) -> None:
    side, remembering = sides
    for loading in (LOAD, {**LOAD, **other}, LOAD):
        remembering.call("load", loading)
        remembering.call("outputs", OUTPUTS)
    assert side.asked == ["load", "outputs"] * 3


def test_requests_that_differ_are_asked_each(sides: tuple[Counting, RememberingSide]) -> None:
    side, remembering = sides
    remembering.call("load", LOAD)
    for dtype in ("float32", "float64", "float32"):
        remembering.call("outputs", OUTPUTS | {"dtype": dtype})
    for array in (np.zeros(2), np.ones(2), np.zeros(2, np.float32), np.zeros(2)):
        remembering.call("program", {"pass_": "forward"}, {"x": array})
    assert side.asked == ["load", "outputs", "outputs", "program", "program", "program"]


def test_what_is_timed_or_tells_of_the_process_is_asked_each_time(sides: tuple[Counting, RememberingSide]) -> None:
    side, remembering = sides
    assert [remembering.call("changed", {}).value for _ in range(2)] == [1, 2]
    assert side.asked == ["changed", "changed"]


def test_a_function_that_was_looked_into_is_loaded_anew(sides: tuple[Counting, RememberingSide]) -> None:
    side, remembering = sides
    for method in ("layers", "changed"):
        remembering.call("load", LOAD)
        remembering.call("outputs", OUTPUTS)
        remembering.call(method, {})
    remembering.call("load", LOAD)
    assert side.asked == ["load", "outputs", "layers", "load", "changed"]
    assert remembering.answering is side


def test_a_refusal_is_remembered_and_a_loss_is_not(sides: tuple[Counting, RememberingSide]) -> None:
    side, remembering = sides
    for _ in range(2):
        remembering.call("load", LOAD)
        with pytest.raises(Unavailable, match="no gradients"):
            remembering.call("outputs", OUTPUTS | {"pass_": "gradients"})
    assert side.asked == ["load", "outputs"]
    with pytest.raises(SideError, match="the worker ended"):
        remembering.call("trajectory", {})
    remembering.call("load", LOAD)
    assert side.asked == ["load", "outputs", "trajectory", "load"]
