"""Known causes are considered where a departure looks like them, each has a proof, and none is tried twice."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from compare.hlo.causes import CAUSES, GATES, PARTS, UNKNOWN, Clue
from compare.hlo.locate._proofs import PROOFS

CLUES = {
    "narrow type": Clue("extra", ("", "convert"), dtypes=("", "bf16")),
    "subgradient at an edge": Clue("changed", ("compare", "compare"), at_edges=True, words="transpose(jvp(f))/gt"),
    "value at an edge": Clue("changed", ("compare", "compare"), at_edges=True),
    "stop_gradient": Clue("missing", ("dot", ""), cut=True, words="gradient_tape/matmul"),
    "epsilon": Clue("changed", ("add", "add"), ((1e-3,), (1e-5,))),
    "number of iterations": Clue("changed", ("compare", "compare"), ((5.0,), (6.0,)), results=("goes on",)),
    "axis of the softmax": Clue("changed", ("reduce", "reduce"), changed=("dimensions",), words="jit(softmax)"),
    "padding": Clue("changed", ("convolution", "convolution"), changed=("window",),
                    windows=(((3, 2, 0, 1),), ((3, 2, 1, 1),))),
    "window": Clue("changed", ("reduce-window", "reduce-window"), changed=("window",),
                   windows=(((2, 2, 0, 0),), ((2, 1, 0, 0),))),
    "axes of a product": Clue("changed", ("dot", "dot"), changed=("dot_dimension_numbers", "batch")),
    "transposed kernel": Clue("changed", ("dot", "dot"), changed=("dot_dimension_numbers",)),
    "layout": Clue("changed", ("convolution", "convolution"), changed=("convolution_dimension_numbers",)),
    "operands swapped": Clue("changed", ("subtract", "subtract"), swapped=True),
    "weights swapped": Clue("changed", ("multiply", "multiply"), slots=(("weight gamma",), ("weight beta",))),
    "optimizer's averages": Clue("changed", ("multiply", "multiply"), ((0.001,), (0.1,)), results=("weight w",)),
    "weight decay": Clue("extra", ("", "multiply"), ((), (0.999,)), slots=((), ("weight w",)), results=("weight w",)),
    "bias correction": Clue("missing", ("divide", ""), near=frozenset({"power"}), results=("weight w",)),
    "learning rate": Clue("changed", ("multiply", "multiply"), ((), (0.01,)), results=("weight w",)),
    "scale by the root of the depth": Clue("missing", ("divide", ""), near=frozenset({"dot", "exponential"})),
    "index": Clue("extra", ("", "add"), ((), (1.0,)), dtypes=("", "s32"), near=frozenset({"gather"})),
    "momentum of batch normalization": Clue("changed", ("multiply", "multiply"), slots=(("state moving mean",), ())),
    "bias left out": Clue("missing", ("add", "")),
    "weight left out": Clue("missing", ("multiply", "")),
    "residual connection": Clue("missing", ("add", "")),
    "weights in the code": Clue("changed", ("gather", "gather"), arrays=(True, True)),
    "another operand": Clue("changed", ("add", "add")),
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
    clue = Clue("changed", ("reduce-window", "reduce-window"), changed=("window",),
                windows=(((1, 1, 0, 0), (6, 1, 6, -1)), ((1, 1, 0, 0), (6, 1, 5, 0))))  # fmt: skip
    assert "padding" not in considered(clue)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("epsilon", {"constants": ((1e-3,), (1.0,))}),
        ("padding", {"windows": (((3, 2, 0, 1),), ((5, 2, 1, 1),))}),
        ("scale by the root of the depth", {"near": frozenset({"dot"})}),
        ("weights swapped", {"slots": (("weight gamma",), ("weight gamma",))}),
        ("index", {"dtypes": ("", "f32")}),
        ("learning rate", {"results": ("output",)}),
        ("stop_gradient", {"words": "jit(f)/dot"}),
        ("subgradient at an edge", {"words": "jit(f)/gt"}),
    ],
)
def test_a_cause_is_not_considered_without_what_it_is_known_by(name: str, changes: dict[str, Any]) -> None:
    assert name not in considered(dataclasses.replace(CLUES[name], **changes))
