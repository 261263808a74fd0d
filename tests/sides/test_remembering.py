"""Ports of one function ask its side once; another function or other arrays are asked for themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from compare.sides import remembering as remembering_room
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
            raise SideError("tf", method, "the worker ended", is_lost=True)
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
    answers = []
    for loading in (LOAD, {**LOAD, **other}, LOAD):
        remembering.call("load", loading)
        answers.append(remembering.call("outputs", OUTPUTS).value)
    assert side.asked == ["load", "outputs"] * 2
    assert answers == [2, 4, 2]


def test_a_function_is_loaded_again_for_what_it_was_not_asked_for(sides: tuple[Counting, RememberingSide]) -> None:
    side, remembering = sides
    for loading in (LOAD, {**LOAD, "sha256": "2"}, LOAD):
        remembering.call("load", loading)
    remembering.call("outputs", OUTPUTS)
    remembering.call("profile", {})
    assert side.asked == ["load", "load", "load", "outputs", "profile"]


def test_the_function_that_was_loaded_longest_ago_is_forgotten_first(
    sides: tuple[Counting, RememberingSide], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each function gives one number of 8 bytes when it is loaded, and one as its output."""
    monkeypatch.setattr(remembering_room, "MOST_BYTES", 4 * 8)
    side, remembering = sides
    for sha256 in ("1", "2", "3", "2", "1"):
        remembering.call("load", {**LOAD, "sha256": sha256})
        remembering.call("outputs", OUTPUTS)
    assert side.asked == ["load", "outputs"] * 4


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
    assert [remembering.call("imported", {}).value for _ in range(2)] == [1, 2]
    assert side.asked == ["imported", "imported"]


def test_a_function_that_was_looked_into_is_loaded_anew(sides: tuple[Counting, RememberingSide]) -> None:
    side, remembering = sides
    for method in ("layers", "changed"):
        remembering.call("load", LOAD)
        remembering.call("outputs", OUTPUTS)
        remembering.call(method, {})
    remembering.call("load", LOAD)
    assert side.asked == ["load", "outputs", "layers", "changed"]
    remembering.call("outputs", OUTPUTS | {"dtype": "float64"})
    assert side.asked[4:] == ["load", "outputs"]
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


class Changing(Counting):
    """Changes something of its process with each request."""

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Any = None) -> Reply:
        reply = super().call(method, parameters, arrays)
        return Reply({"shared": [f"by {each}" for each in self.asked[:-1]]}) if method == "changed" else reply


def test_what_a_worker_answered_outlives_it_and_so_does_what_the_function_changed() -> None:
    remembering = RememberingSide(Changing())
    first = [remembering.call(method, LOAD if method == "load" else OUTPUTS).value for method in ("load", "outputs")]
    changes = remembering.call("changed", {}).value
    assert changes == {"shared": ["by load", "by outputs"]}
    successor = Changing()
    remembering.replace_worker(successor)
    assert [remembering.call("load", LOAD).value, remembering.call("outputs", OUTPUTS).value] == first
    assert remembering.call("changed", {}).value == changes
    assert successor.asked == []
    remembering.call("program", OUTPUTS)
    assert successor.asked == ["load", "program"]
    assert remembering.call("changed", {}).value == {"shared": ["by load", "by outputs", "by program"]}
