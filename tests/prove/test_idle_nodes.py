"""What stands in a graph and did not run: only of operations that eager mode ran, and never of a function's nodes."""

from __future__ import annotations

import pytest
from graph_pairs import node

from compare.prove.optimizing import idle
from compare.record.grappler_part import Optimization

AFTER = (
    node("x", "_Arg"),
    node("sin", "Sin", "x"),
    node("mul", "Mul", "sin", "x"),
    node("call", "PartitionedCall", "mul", f="inner_7"),
    node("inner_7/sin", "Sin", "x"),
)


@pytest.mark.parametrize(
    ("eager", "graph", "expected"),
    [
        (["Sin", "Mul"], ["sin:Sin", "mul:Mul"], ()),
        (["Sin", "Mul"], ["mul:_MklMul"], ("sin",)),
        (["Sin"], [], ("sin",)),
        ([], ["mul:Mul"], ()),
    ],
)
def test_a_node_that_did_not_run(eager: list[str], graph: list[str], expected: tuple[str, ...]) -> None:
    assert idle(Optimization(after=AFTER), {"eager": eager, "graph": graph}) == expected


def test_without_both_profiles_nothing_is_said() -> None:
    assert idle(Optimization(after=AFTER), {"graph": []}) == idle(Optimization(after=AFTER), {"eager": ["Sin"]}) == ()
