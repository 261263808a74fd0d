"""Known causes are considered where a departure looks like them, each has a proof, and none is tried twice."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from compare.gotchas import searching
from compare.hlo.causes import CAUSES, GATES, PARTS, UNKNOWN, Clue
from compare.hlo.locate._proofs import PROOFS
from compare.hlo.pair import Pair
from workloads.gotchas import _catalogue

CLUES = {
    "narrow type": Clue("extra", Pair("", "convert"), dtypes=Pair("", "bf16")),
    "subgradient at an edge": Clue("changed", Pair("compare", "compare"), at_edges=True, in_gradient=True),
    "value at an edge": Clue("changed", Pair("compare", "compare"), at_edges=True),
    "stop_gradient": Clue("missing", Pair("dot", ""), cut=True, in_gradient=True),
    "epsilon": Clue("changed", Pair("add", "add"), Pair((1e-3,), (1e-5,))),
    "epsilon of an optimizer": Clue("changed", Pair("divide", "divide"), updates=True),
    "number of iterations": Clue("changed", Pair("compare", "compare"), Pair((5.0,), (6.0,)), ends_loop=True),
    "axis of the softmax": Clue("changed", Pair("reduce", "reduce"), changed=("dimensions",), in_softmax=True),
    "padding": Clue("changed", Pair("convolution", "convolution"), changed=("window",),
                    windows=Pair(((3, 2, 0, 1),), ((3, 2, 1, 1),))),
    "window": Clue("changed", Pair("reduce-window", "reduce-window"), changed=("window",),
                   windows=Pair(((2, 2, 0, 0),), ((2, 1, 0, 0),))),
    "axes of a product": Clue("changed", Pair("dot", "dot"), changed=("dot_dimension_numbers", "batch")),
    "transposed kernel": Clue("changed", Pair("dot", "dot"), changed=("dot_dimension_numbers",)),
    "layout": Clue("changed", Pair("convolution", "convolution"), changed=("convolution_dimension_numbers",)),
    "kernel of a transposed convolution": Clue("missing", Pair("reverse", ""), near=frozenset({"convolution"})),
    "operands swapped": Clue("changed", Pair("subtract", "subtract"), swapped=True),
    "weights swapped": Clue("changed", Pair("multiply", "multiply"),
                            weights=Pair(frozenset({"weight gamma"}), frozenset({"weight beta"}))),
    "optimizer's averages": Clue("changed", Pair("multiply", "multiply"), Pair((0.001,), (0.1,)), updates=True),
    "weight decay": Clue("extra", Pair("", "multiply"), Pair((), (0.999,)), updates=True,
                         weights=Pair(frozenset(), frozenset({"weight w"}))),
    "bias correction": Clue("missing", Pair("divide", ""), near=frozenset({"power"}), updates=True),
    "learning rate": Clue("changed", Pair("multiply", "multiply"), Pair((), (0.01,)), updates=True),
    "scale by the root of the depth": Clue("missing", Pair("divide", ""), near=frozenset({"dot", "exponential"})),
    "index": Clue("extra", Pair("", "add"), Pair((), (1.0,)), dtypes=Pair("", "s32"), near=frozenset({"gather"})),
    "momentum of batch normalization": Clue("changed", Pair("multiply", "multiply"), moving_average=True),
    "bias left out": Clue("missing", Pair("add", "")),
    "weight left out": Clue("missing", Pair("multiply", "")),
    "residual connection": Clue("missing", Pair("add", "")),
    "weights in the code": Clue("changed", Pair("gather", "gather"), arrays=Pair(True, True)),
    "another operand": Clue("changed", Pair("add", "add")),
}  # fmt: skip
"""Of those that a departure has to look like: of all others, only a proof tells."""


def considered(clue: Clue) -> list[str]:
    return [cause.name for cause in CAUSES if cause.recognises(clue)]


@pytest.mark.parametrize("name", CLUES)
def test_a_cause_is_considered_where_it_looks_like_one(name: str) -> None:
    assert name in considered(CLUES[name])


def test_every_cause_has_a_proof_a_name_of_its_own_and_a_remedy() -> None:
    names = [cause.name for cause in (*CAUSES, GATES, PARTS, UNKNOWN)]
    assert len(names) == len(set(names))
    assert set(PROOFS) == {cause.name for cause in CAUSES}
    assert all(cause.remedy for cause in (*CAUSES, GATES, PARTS, UNKNOWN))


def test_a_running_sum_is_no_padding() -> None:
    clue = Clue("changed", Pair("reduce-window", "reduce-window"), changed=("window",),
                windows=Pair(((1, 1, 0, 0), (6, 1, 6, -1)), ((1, 1, 0, 0), (6, 1, 5, 0))))  # fmt: skip
    assert "padding" not in considered(clue)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("epsilon", {"constants": Pair((1e-3,), (1.0,))}),
        ("padding", {"windows": Pair(((3, 2, 0, 1),), ((5, 2, 1, 1),))}),
        ("scale by the root of the depth", {"near": frozenset({"dot"})}),
        ("weights swapped", {"weights": Pair(frozenset({"weight gamma"}), frozenset({"weight gamma"}))}),
        ("index", {"dtypes": Pair("", "f32")}),
        ("learning rate", {"updates": False}),
        ("stop_gradient", {"in_gradient": False}),
        ("subgradient at an edge", {"in_gradient": False}),
    ],
)
def test_a_cause_is_not_considered_without_what_it_is_known_by(name: str, changes: dict[str, Any]) -> None:
    assert name not in considered(dataclasses.replace(CLUES[name], **changes))


@pytest.mark.parametrize("words", sorted({cause.gotchas for cause in (*CAUSES, GATES) if cause.gotchas}))
def test_the_catalogue_has_what_a_cause_points_to(words: str) -> None:
    assert searching.matching(_catalogue.entries(), words.split())
