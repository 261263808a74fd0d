"""Known causes are recognised by what a departure looks like, and by nothing less."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from compare.hlo.causes import CAUSES, Clue, cause_of

CLUES = {
    "narrow type": Clue("extra", ("", "convert"), dtypes=("", "bf16")),
    "subgradient at an edge": Clue("changed", ("compare", "compare"), at_edges=True),
    "stop_gradient": Clue("missing", ("dot", ""), cut=True),
    "epsilon": Clue("changed", ("add", "add"), ((1e-3,), (1e-5,))),
    "place of epsilon": Clue("changed", ("add", "sqrt"), ((1e-3,), ())),
    "gelu": Clue("changed", ("multiply", "tanh"), words="gelu/erfc"),
    "biased or unbiased variance": Clue("changed", ("divide", "divide"), ((64.0,), (63.0,))),
    "number of iterations": Clue("changed", ("compare", "compare"), ((5.0,), (6.0,)), results=("goes on",)),
    "base of the logarithm": Clue("extra", ("", "divide"), ((), (float(np.log(2)),))),
    "axis of the softmax": Clue("changed", ("reduce", "reduce"), changed=("dimensions",), words="jit(softmax)"),
    "axis": Clue("changed", ("reduce", "reduce"), changed=("dimensions",)),
    "padding": Clue("changed", ("convolution", "convolution"), changed=("window",),
                    windows=(((3, 2, 0, 1),), ((3, 2, 1, 1),))),
    "window": Clue("changed", ("reduce-window", "reduce-window"), changed=("window",),
                   windows=(((2, 2, 0, 0),), ((2, 1, 0, 0),))),
    "gates of a recurrent cell": Clue("changed", ("slice", "slice"), changed=("slice_dimensions",),
                                      near=frozenset({"logistic"})),
    "axes of a product": Clue("changed", ("dot", "dot"), changed=("dot_dimension_numbers", "batch")),
    "transposed kernel": Clue("changed", ("dot", "dot"), changed=("dot_dimension_numbers",)),
    "layout": Clue("changed", ("convolution", "convolution"), changed=("convolution_dimension_numbers",)),
    "operands swapped": Clue("changed", ("subtract", "subtract"), swapped=True),
    "weights swapped": Clue("changed", ("multiply", "multiply"), slots=(("weight gamma",), ("weight beta",))),
    "slope of leaky relu": Clue("changed", ("maximum", "multiply"), ((0.0,), (0.01,)), near=frozenset({"select"})),
    "optimizer's averages": Clue("changed", ("multiply", "multiply"), ((0.001,), (0.1,)), results=("weight w",)),
    "weight decay": Clue("extra", ("", "multiply"), ((), (0.999,)), slots=((), ("weight w",)), results=("weight w",)),
    "bias correction": Clue("missing", ("divide", ""), near=frozenset({"power"}), results=("weight w",)),
    "power": Clue("extra", ("", "multiply"), words="integer_pow"),
    "learning rate": Clue("changed", ("multiply", "multiply"), ((), (0.01,)), results=("weight w",)),
    "scale by the root of the depth": Clue("missing", ("divide", ""), ((8.0,), ()),
                                           near=frozenset({"dot", "exponential"})),
    "mean or sum": Clue("missing", ("divide", ""), ((4096.0,), ())),
    "another reduction": Clue("changed", ("reduce", "reduce"), changed=("reducer",)),
    "index": Clue("extra", ("", "add"), ((), (1.0,)), dtypes=("", "s32"), near=frozenset({"gather"})),
    "integer division": Clue("changed", ("floor", "divide")),
    "depth of one-hot": Clue("changed", ("compare", "compare"), words="one_hot"),
    "pixel centres of resize": Clue("changed", ("gather", "dot"), words="resizebilinear"),
    "momentum of batch normalization": Clue("changed", ("multiply", "multiply"), slots=(("state moving mean",), ())),
    "bias left out": Clue("missing", ("add", ""), slots=(("weight bias",), ())),
    "weight left out": Clue("missing", ("multiply", ""), slots=(("weight gamma",), ())),
    "residual connection": Clue("missing", ("add", "")),
    "another activation": Clue("changed", ("maximum", "logistic")),
    "another constant": Clue("changed", ("multiply", "multiply"), ((2.0,), (3.0,))),
    "another operand": Clue("changed", ("add", "add")),
    "another operation": Clue("changed", ("add", "subtract")),
}  # fmt: skip


@pytest.mark.parametrize("name", CLUES)
def test_a_cause_is_recognised_by_its_clue(name: str) -> None:
    assert cause_of(CLUES[name]).name == name


def test_every_cause_has_a_clue_a_name_of_its_own_and_a_remedy() -> None:
    assert [cause.name for cause in CAUSES] == list(dict.fromkeys(cause.name for cause in CAUSES))
    assert {cause.name for cause in CAUSES} == set(CLUES)
    assert all(cause.remedy for cause in CAUSES)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("epsilon", {"constants": ((1e-3,), (1.0,))}),
        ("biased or unbiased variance", {"constants": ((64.0,), (60.0,))}),
        ("base of the logarithm", {"constants": ((), (0.7,))}),
        ("padding", {"windows": (((3, 2, 0, 1),), ((5, 2, 1, 1),))}),
        ("scale by the root of the depth", {"near": frozenset({"dot"})}),
        ("weights swapped", {"slots": (("weight gamma",), ("weight gamma",))}),
        ("index", {"dtypes": ("", "f32")}),
        ("learning rate", {"results": ("output",)}),
    ],
)
def test_a_cause_is_not_named_without_what_it_is_known_by(name: str, changes: dict[str, Any]) -> None:
    assert cause_of(dataclasses.replace(CLUES[name], **changes)).name != name
