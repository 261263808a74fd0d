"""Names that frontends give to operations tell layers, gradients and softmaxes."""

from __future__ import annotations

import pytest

from compare.hlo import op_names


@pytest.mark.parametrize(
    ("op_name", "expected"),
    [
        ("jit(f)/transpose(jvp(encoder))/layer_1/dot", "encoder/layer_1"),
        ("PartitionedCall/encoder/MatMul", "encoder"),
        ("jit(f)/while/body/cell/add;jit(f)/other/add", "cell"),
        ("", ""),
    ],
)
def test_the_scope_of_an_operation_is_its_layers(op_name: str, expected: str) -> None:
    assert op_names.scope(op_name) == expected


@pytest.mark.parametrize("op_name", ["jit(f)/transpose(jvp(f))/gt", "gradient_tape/matmul", "jit(f)/JVP(g)/mul"])
def test_gradients_are_told_by_their_names(op_name: str) -> None:
    assert op_names.in_gradient(["jit(f)/dot", op_name])
    assert not op_names.in_gradient(["jit(f)/dot", "jit(f)/transpose"])


def test_a_softmax_is_told_by_its_name() -> None:
    assert op_names.in_softmax(["jit(log_softmax)/sub"])
    assert not op_names.in_softmax(["jit(max)/sub"])


def test_merged_names_are_tried_the_longest_first_and_without_their_callers() -> None:
    assert list(op_names.without_callers("b;call/a")) == ["call/a", "a", "b"]
