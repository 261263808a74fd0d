"""Aligning takes time in proportion to instructions; how much: `pytest --benchmark-only tests/hlo/test_scale.py`."""

from __future__ import annotations

import dataclasses
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hlo_cases import random_cases
from places import ROOT

from compare.bench import memory
from compare.hlo.align import Alignment, align
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.levels import ALGEBRA, Subject
from compare.hlo.write_module import write_graph

HLO = str(ROOT / "compare" / "hlo")
ROW, SCALAR = Shape("f32", (8,)), Shape("f32")
TWO, ONE = ("add", "multiply", "subtract", "maximum"), ("tanh", "logistic", "negate", "abs")


class Program:
    """A program of about so many instructions: arithmetic of eight live rows, constants, and sums with a reducer."""

    def __init__(self, instructions: int) -> None:
        self.nodes: dict[int, Node] = {}
        self._choices = np.random.default_rng(0)
        self._sum = adder()
        self._zero = self._add("constant", shape=SCALAR, literal=np.zeros((), np.float32))
        parameters = tuple(self._add("parameter", attributes=(("parameter_number", at),)) for at in range(4))
        live = list(parameters)
        while len(self.nodes) < instructions:
            live = [*live, self._step(live)][-8:]
        self.graph = Graph("generated", self.nodes, parameters, (live[-1],))

    def _step(self, live: list[int]) -> int:
        kind, at = self._choices.integers(10), int(self._choices.integers(4))
        if kind < 5:
            return self._add(TWO[at], live[-1], live[-2 - at % 3])
        if kind < 8:
            return self._add(ONE[at], live[-1])
        if kind < 9:
            constant = self._add("constant", literal=np.linspace(1, 1 + len(self.nodes), 8, dtype=np.float32))
            return self._add("add", live[-1], constant)
        total = self._add("reduce", live[-1], self._zero, shape=SCALAR, attributes=(("dimensions", (0,)),), body=True)
        spread = self._add("broadcast", total)
        return self._add("divide", live[-1], spread)

    def _add(
        self,
        opcode: str,
        *operands: int,
        shape: Shape = ROW,
        attributes: Any = (),
        literal: Any = None,
        body: bool = False,
    ) -> int:
        key = len(self.nodes)
        regions = (self._sum,) if body else ()
        self.nodes[key] = Node(key, f"{opcode}.{key}", opcode, shape, operands, attributes, literal, regions)
        return key

    def changed(self) -> Graph:
        """The same with another constant about a tenth of the way through."""
        constants = [key for key, node in self.nodes.items() if node.opcode == "constant"]
        key = constants[len(constants) // 10]
        literal = np.full(8, 0.5, np.float32)
        return dataclasses.replace(self.graph, nodes=self.nodes | {key: self.nodes[key].but(literal=literal)})


def adder() -> Graph:
    """The sum of two scalars."""
    nodes = {at: Node(at, f"p.{at}", "parameter", SCALAR, attributes=(("parameter_number", at),)) for at in (0, 1)}
    return Graph("sum", nodes | {2: Node(2, "sum", "add", SCALAR, (0, 1))}, (0, 1), (2,))


def subjects(instructions: int) -> tuple[Subject, Subject]:
    """A program and the same with one change."""
    program = Program(instructions)
    return Subject("tf", write_graph(program.graph)), Subject("jax", write_graph(program.changed()))


def calls(instructions: int, level: str, cases: bool) -> tuple[int, Alignment]:
    """How many functions of compare.hlo are called to align two programs."""
    left, right = subjects(instructions)
    arguments = random_cases(left, right) if cases else ()
    counted = 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal counted
        counted += event == "call" and frame.f_code.co_filename.startswith(HLO)

    sys.setprofile(count)
    try:
        found = align(left, right, level, arguments)
    finally:
        sys.setprofile(None)
    return counted, found


@pytest.mark.parametrize(("instructions", "cases"), [(1000, False), (100, True)], ids=["by number", "by value too"])
def test_work_grows_with_instructions_and_no_faster(instructions: int, cases: bool) -> None:
    few, _ = calls(instructions, ALGEBRA, cases)
    many, found = calls(4 * instructions, ALGEBRA, cases)
    assert many < 4.6 * few
    assert (found.frontier, found.is_equal) != ((), True)


def test_one_change_in_a_thousand_instructions_is_the_whole_frontier() -> None:
    left, right = subjects(1000)
    found = align(left, right)
    assert {entry.op for entry in found.frontier} == {"constant"}
    assert found.alike
    assert 0 < found.match_count < len(found.left.graph)


@pytest.mark.parametrize("instructions", [1_000, 10_000, 100_000])
def test_speed(benchmark: Any, instructions: int) -> None:
    left, right = subjects(instructions)
    before = memory.reset_peak_rss()
    found = benchmark.pedantic(align, (left, right, ALGEBRA), rounds=1)
    assert {entry.op for entry in found.frontier} == {"constant"}
    if before is not None:
        benchmark.extra_info["peak_mib"] = ((memory.peak_rss_bytes() or before) - before) // 2**20


@pytest.mark.parametrize("instructions", [500, 2_000])
def test_speed_by_value(benchmark: Any, instructions: int) -> None:
    left, right = subjects(instructions)
    cases = random_cases(left, right)
    found = benchmark.pedantic(align, (left, right, ALGEBRA, cases), rounds=1)
    assert found.frontier
    assert found.matchers["value number"] > 0
