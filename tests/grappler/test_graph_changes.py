"""Two graphs held against each other: every change is found, and what the graphs do not show is not known."""

from __future__ import annotations

import pytest
from graph_pairs import AFTER, BEFORE, Nodes, changes, constant, kinds, node
from msgspec.structs import replace

from compare.grappler.aligning import align_nodes
from compare.grappler.node_states import node_of
from compare.record.grappler_part import (
    ABSORBED,
    ATTRIBUTES,
    BYPASSED,
    CAME,
    FOLDED,
    FUSED,
    GONE,
    MERGED,
    READERS_WENT,
    REORDERED,
    REPLACED,
    REWIRED,
    UNREAD,
    VALUE,
    WAITS,
    OptimizedNode,
)

X = node("x", "_Arg")


def mutated(name: str, **changed: object) -> Nodes:
    return tuple(replace(each, **changed) if each.name == name else each for each in BEFORE)


def test_a_power_that_became_a_square() -> None:
    found = changes(BEFORE, AFTER)
    assert {name: each.kind for name, each in found.items()} == {
        "pow/y": ABSORBED,
        "pow": REPLACED,
        "mul": REORDERED,
        "Identity": BYPASSED,
        "result": REWIRED,
    }
    assert found["pow/y"].into == ("pow",) and found["Identity"].into == ("mul",)
    assert found["pow/y"].group == found["pow"].group != found["Identity"].group


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (mutated("pow", op="Mul"), {"pow": REPLACED}),
        (mutated("pow", inputs=("x", "mul/y")), {"pow": REWIRED}),
        (mutated("pow", inputs=("pow/y", "x")), {"pow": REORDERED}),
        (mutated("pow", inputs=("x", "pow/y", "pow/y")), {"pow": REWIRED}),
        (mutated("mul", inputs=("pow:1", "mul/y", "^wait")), {"mul": REWIRED}),
        (mutated("mul", inputs=("pow", "mul/y")), {"mul": WAITS}),
        (mutated("pow", attributes={"T": "float64"}), {"pow": ATTRIBUTES}),
        (mutated("mul/y", constant=constant("mul/y", "3.5").constant), {"mul/y": VALUE}),
        ((*BEFORE, node("more", "NoOp")), {"more": CAME}),
        (tuple(each for each in BEFORE if each.name != "wait"), {"wait": GONE}),
    ],
)
def test_a_graph_that_was_changed_anywhere_is_not_the_same(after: Nodes, expected: dict[str, str]) -> None:
    assert align_nodes(BEFORE, BEFORE) == ()
    assert kinds(BEFORE, after) == expected


def test_the_order_of_nodes_and_of_what_is_waited_for_says_nothing() -> None:
    waiting = node("w", "NoOp", "^x", "^y"), node("y", "_Arg"), X
    other = X, node("y", "_Arg"), node("w", "NoOp", "^y", "^x")
    assert align_nodes(waiting, other) == ()


def test_a_node_that_went_without_a_trace_is_gone_and_nothing_more() -> None:
    """Its reader reads what has nothing to do with it: no kind fits."""
    before = X, node("y", "_Arg"), node("sin", "Sin", "x"), node("r", "_Retval", "sin")
    after = X, node("y", "_Arg"), node("r", "_Retval", "y")
    assert kinds(before, after) == {"sin": GONE, "r": REWIRED}


def test_what_nothing_read_is_told_from_what_nothing_reads_any_more() -> None:
    before = X, node("a", "Sin", "x"), node("b", "Cos", "a"), node("r", "_Retval", "x")
    assert kinds(before, (X, node("r", "_Retval", "x"))) == {"a": READERS_WENT, "b": UNREAD}


CALL = node("call", "PartitionedCall", "x", f="body"), node("body/sin", "Sin", "x")
RETURNS = node("body/y_RetVal", "_Retval", "body/sin:y:0")


def test_what_a_function_returned_is_not_what_nothing_read() -> None:
    before = X, *CALL, RETURNS
    after = X, CALL[0], node("body/y_RetVal", "_Retval", "x")
    assert kinds(before, after) == {"body/sin": BYPASSED, "body/y_RetVal": REWIRED}


@pytest.mark.parametrize(
    "after",
    [
        (node("call", "PartitionedCall", "x", f="other"), node("other/sin", "Sin", "x")),
        (node("call", "PartitionedCall", "x", f="other"),),
        (node("call/sin", "Sin", "x"),),
    ],
)
def test_of_a_function_that_is_no_longer_there_nothing_is_known(after: Nodes) -> None:
    found = kinds((X, *CALL, RETURNS), (X, *after))
    assert found["body/sin"] == found["body/y_RetVal"] == GONE


def test_copies_are_merged_and_copies_of_copies() -> None:
    before = (
        X,
        node("sin", "Sin", "x"), node("cos", "Cos", "sin"), node("exp", "Exp", "cos"),
        node("sin_1", "Sin", "x"), node("cos_1", "Cos", "sin_1"), node("exp_1", "Exp", "cos_1"),
        node("add", "AddV2", "exp", "exp_1"),
    )  # fmt: skip
    after = (*before[:4], node("add", "AddV2", "exp", "exp"))
    found = changes(before, after)
    assert found["exp_1"].kind == MERGED and found["exp_1"].into == ("exp",)
    assert found["sin_1"].kind == found["cos_1"].kind == READERS_WENT


@pytest.mark.parametrize(
    "other",
    [
        node("sin_1", "Sin", "y"),
        node("sin_1", "Cos", "x"),
        node("sin_1", "Sin", "x", "^y"),
        node("sin_1", "Sin", "x", T="float64"),
    ],
)
def test_what_is_no_copy_is_not_called_one(other: OptimizedNode) -> None:
    before = X, node("y", "_Arg"), node("sin", "Sin", "x"), other, node("add", "AddV2", "sin", "sin_1")
    after = (*before[:3], node("add", "AddV2", "sin", "sin"))
    assert kinds(before, after)["sin_1"] == GONE


def test_constants_of_other_values_are_no_copies() -> None:
    before = constant("a", "1.0"), constant("b", "1.5"), node("add", "AddV2", "a", "b")
    assert kinds(before, (before[0], node("add", "AddV2", "a", "a")))["b"] == GONE


def test_transposes_that_cancel_are_bypassed() -> None:
    before = X, node("t", "Transpose", "x"), node("u", "Transpose", "t"), node("r", "_Retval", "u")
    found = changes(before, (X, node("r", "_Retval", "x")))
    assert found["u"].kind == BYPASSED and found["u"].into == ("x",)
    assert found["t"].kind == READERS_WENT


def test_what_was_fused_is_named_with_what_it_was_fused_into() -> None:
    before = (
        X, node("w", "_Arg"), node("b", "_Arg"),
        node("mm", "MatMul", "x", "w"), node("add", "BiasAdd", "mm", "b"), node("relu", "Relu", "add"),
    )  # fmt: skip
    fused = node("relu", "_FusedMatMul", "x", "w", "b", fused_ops="['BiasAdd', 'Relu']")
    found = changes(before, (*before[:3], fused))
    assert found["relu"].kind == FUSED
    assert found["mm"].into == found["add"].into == ("relu",) and found["mm"].kind == ABSORBED
    assert len({each.group for each in found.values()}) == 1


def test_an_operation_on_constants_is_folded() -> None:
    before = constant("a", "2.0"), constant("b", "3.0"), node("mul", "Mul", "a", "b"), node("r", "_Retval", "mul")
    found = changes(before, (constant("mul", "6.0"), before[3]))
    assert found["mul"].kind == FOLDED and found["a"].into == ("mul",)


def test_new_nodes_stand_for_those_that_their_reader_read() -> None:
    before = X, node("a", "AddV2", "x", "x"), node("b", "AddV2", "a", "x"), node("r", "_Retval", "b")
    after = X, node("n", "AddN", "x", "x", "x"), node("r", "_Retval", "n")
    found = changes(before, after)
    assert found["a"].into == found["b"].into == ("n",)
    assert found["a"].group == found["b"].group == found["n"].group != found["r"].group


@pytest.mark.parametrize("tensor", ["a/b", "^a/b", "a/b:1", "a/b:output:0"])
def test_the_node_of_a_tensor(tensor: str) -> None:
    assert node_of(tensor) == "a/b"
