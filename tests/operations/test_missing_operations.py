"""What a model lacks, node by node: of planted graphs."""

from __future__ import annotations

import pytest

from compare.counterparts import raw_operations
from compare.counterparts.raw_operations import RawOperation, RawTable
from compare.operations.missing import MOST_PLACES, missing
from workloads.protocol.inspection import Operation
from workloads.protocol.raw_operations import XLA_DEVICE

TABLE = raw_operations.read()


def lacks(*nodes: Operation, table: RawTable = TABLE) -> list[tuple[str, str, str]]:
    return [(each.type, each.lacks, each.why) for each in missing(nodes, table)]


def test_what_compiles_and_has_a_row_lacks_nothing() -> None:
    names = ("MatMul", "Softmax", "Const", "Identity", "StatefulPartitionedCall", "ReadVariableOp", "TensorListSetItem")
    assert lacks(*(Operation(name, name.lower()) for name in names)) == []


def test_an_operation_without_a_kernel_does_not_compile() -> None:
    assert lacks(Operation("Spence", "x")) == [("Spence", "compile", "XLA has no kernel")]


def test_one_of_dtypes_that_no_kernel_takes_does_not_compile() -> None:
    node = Operation("MatrixSolve", "x", attributes={"T": "complex64", "adjoint": False})
    assert lacks(node) == [("MatrixSolve", "compile", "XLA's kernels do not take T=complex64")]
    assert lacks(Operation("MatrixSolve", "x", attributes={"T": "float32"})) == []
    carried = Operation("StatelessIf", "x", attributes={"Tcond": "bool", "Tin": ["float32", "string"], "Tout": []})
    assert lacks(carried) == [("StatelessIf", "compile", "XLA's kernels do not take Tin=string")]


def test_what_depends_on_constants_alone_may_be_gone_before() -> None:
    ((_, _, why),) = lacks(Operation("Spence", "x", of_constants=True))
    assert why == "XLA has no kernel; it depends on constants alone, so TensorFlow may compute it before"


def test_what_a_function_is_called_with_is_nothing_to_compile() -> None:
    outside = [Operation(name, "x") for name in ("Placeholder", "VarHandleOp")]
    assert lacks(*outside) == []
    inside = Operation("VarHandleOp", "x", function="f")
    assert lacks(inside) == [("VarHandleOp", "compile", "XLA has no kernel")]


def test_an_operation_of_a_library_is_not_known() -> None:
    (compiling, counterpart) = lacks(Operation("MyOwnOp", "x", registered=False))
    assert compiling[1] == "compile" and "is not known" in compiling[2]
    assert counterpart == ("MyOwnOp", "counterpart", "the map has no row of it")


def test_a_row_without_a_counterpart_says_what_to_do_instead() -> None:
    assert (
        "DecodeJpeg",
        "counterpart",
        "instead: Decode in the input pipeline: Pillow, OpenCV or `tf.data`.",
    ) in lacks(Operation("DecodeJpeg", "x"))


def test_a_kernel_that_refused_every_call_is_told_with_its_reason() -> None:
    refused = RawOperation(kernels={XLA_DEVICE: {}}, outcome="refused", reason="no pivoting", within=("tf.abs",))
    found = lacks(Operation("Solve", "x"), table=RawTable({}, {"Solve": refused}))
    assert found == [("Solve", "compile", "XLA refused each call that was tried: no pivoting")]


def test_a_kernel_that_was_not_tried_is_not_said_to_fail() -> None:
    untried = RawOperation(kernels={XLA_DEVICE: {}}, within=("tf.abs",))
    assert lacks(Operation("New", "x"), table=RawTable({}, {"New": untried})) == []


def test_nodes_are_counted_and_the_most_frequent_lines_come_first() -> None:
    often = [Operation("Spence", f"a{at}", source="m.py:7") for at in range(3)]
    once = [Operation("Spence", f"b{at}", source=f"m.py:{at}") for at in range(10, 20)]
    (found,) = missing([*once, *often, Operation("Spence", "c")], TABLE)
    assert found.count == 14 and found.places[0] == "m.py:7" and len(found.places) == MOST_PLACES
    assert "" not in found.places


@pytest.mark.parametrize("first", ["compile"])
def test_what_does_not_compile_comes_first(first: str) -> None:
    found = missing([Operation("ResizeBicubic", "x"), *[Operation("MyOp", "y")] * 3], TABLE)
    assert [each.lacks for each in found][:2] == [first, first]
    assert found[0].type == "MyOp"
