"""The table against the TensorFlow that is installed: it is current, and calls that are run do as it says."""

from __future__ import annotations

import zlib
from contextlib import ExitStack
from typing import Any

import pytest
import tensorflow as tf

from compare.counterparts import raw_operations, rows
from compare.inputs.functions import parse_input
from compare.operations.surveying import TIMEOUT_S, survey
from compare.sides.operation_worker import OperationWorker
from tf_reference import _compiling_alone
from workloads.core.arrays import draw
from workloads.protocol.expressions import evaluate

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

TABLE = raw_operations.read()
EVERY = 6
"""So many of the operations that compile are run once: of the others all are."""


def runnable() -> dict[str, rows.Operation]:
    """By operation, a row that is about it and executed, whose expression is a call of it alone."""
    return {
        name: row
        for name, each in TABLE.operations.items()
        for row in each.counterparts[:1]
        if isinstance(row, rows.Operation) and row.has_counterpart and name not in row.raw
    }


ROWS = runnable()
NOT_COMPILABLE = [name for name in ROWS if TABLE.operations[name].xla == "no kernel"]
FOLDED = [name for name in NOT_COMPILABLE if TABLE.operations[name].folded]
COMPILABLE = [name for name in ROWS if TABLE.operations[name].xla == "compiled"]


def run_compiled(row: rows.Operation) -> Any:
    """What the row's expression gives under jit_compile=True, every input an argument."""
    specs = dict(parse_input(f"{name}={text}") for name, text in row.inputs.items())
    seed = zlib.crc32(row.name.encode())
    arrays = {name: tf.constant(draw(spec.resolve({}), name, seed)) for name, spec in specs.items()}
    names = {"tf": tf}
    call = tf.function(lambda *given: evaluate(row.tf, {**names, **dict(zip(arrays, given, strict=True))}),
                       jit_compile=True, autograph=False)  # fmt: skip
    return call(*arrays.values())


def test_enough_of_both_are_run() -> None:
    assert len(NOT_COMPILABLE) >= 15 and len(COMPILABLE[::EVERY]) >= 30


@pytest.mark.parametrize("name", COMPILABLE[::EVERY])
def test_what_is_said_to_compile_runs_compiled(name: str) -> None:
    run_compiled(ROWS[name])


@pytest.mark.parametrize("name", sorted({*NOT_COMPILABLE} - {*FOLDED}))
def test_what_is_said_to_have_no_kernel_is_refused_for_that(name: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"No registered '{name}' OpKernel for XLA_CPU_JIT"):
        run_compiled(ROWS[name])


@pytest.mark.parametrize("name", FOLDED)
def test_what_is_said_to_be_folded_runs_without_a_kernel(name: str) -> None:
    run_compiled(ROWS[name])


def test_a_default_kernel_is_none_for_xla() -> None:
    assert "DEFAULT" in TABLE.operations["InplaceAdd"].kernels
    assert TABLE.operations["InplaceAdd"].xla == "no kernel"
    call = tf.function(lambda x, v: tf.raw_ops.InplaceAdd(x=x, i=[0], v=v), jit_compile=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No registered 'InplaceAdd' OpKernel"):
        call(tf.ones((3, 2)), tf.ones((1, 2)))


def test_what_depends_on_constants_alone_compiles_without_a_kernel() -> None:
    assert TABLE.operations["StringLength"].xla == "no kernel"
    assert tf.function(lambda: tf.strings.length("abc"), jit_compile=True)().numpy() == 3


def test_an_input_that_must_be_a_constant_is_found_by_trying() -> None:
    graph = tf.Graph()
    with graph.as_default():
        shape = tf.constant([2, 4])
        reshaped = tf.reshape(tf.compat.v1.placeholder(tf.float32, (8,)), shape).op
        dynamic = tf.reshape(tf.compat.v1.placeholder(tf.float32, (8,)), tf.compat.v1.placeholder(tf.int32, (2,))).op
    library = graph.as_graph_def().library
    found = _compiling_alone.alone(reshaped, library)
    assert (found.outcome, found.constants, found.opcodes) == ("compiled", ("shape",), ("reshape",))
    assert _compiling_alone.alone(dynamic, library).outcome == "not tried"


@pytest.mark.process
@pytest.mark.slow
def test_the_table_is_that_of_the_installed_tensorflow() -> None:
    with ExitStack() as stack:
        found = survey(OperationWorker(None, TIMEOUT_S, stack))
    shipped, made = TABLE.operations, found.operations
    assert [name for name in {**shipped, **made} if shipped.get(name) != made.get(name)] == [], "run `make operations`"
    assert found == TABLE
