"""Two programs aligned by count: what pairs up, what does not, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported, written

from compare.hlo import bindings, program
from compare.hlo.by_count import Alignment, align, inline_calls

TF_RUNNING_EXAMPLE = (Path(__file__).parent / "data" / "running_example_tf.mlirbc").read_bytes()
MATRIX = np.ones((8, 8), np.float32)
LARGE = np.ones((512, 512), np.float32)


def aligned(tf: Callable[..., Any], jax_: Callable[..., Any]) -> Alignment:
    return align(exported(tf, MATRIX), exported(jax_, MATRIX))


def test_the_running_example_parts_at_the_square() -> None:
    found = align(TF_RUNNING_EXAMPLE, exported(lambda x, y: jnp.mean(x**2 * 3 + y), LARGE, LARGE))
    assert [(entry.side, entry.op, entry.name.rpartition("/")[2]) for entry in found.frontier] == [
        ("tf", "constant", "mul"),
        ("tf", "power", "pow"),
        ("jax", "multiply", "integer_pow"),
    ]
    assert (found.tf_only, found.jax_only) == (2, 1)
    # TensorFlow gives every operation a line of its own library: better none than that one.
    assert [bool(entry.source) for entry in found.frontier] == [False, False, True]


def test_a_program_aligns_with_itself() -> None:
    found = align(TF_RUNNING_EXAMPLE, TF_RUNNING_EXAMPLE)
    assert found.matched > 0
    assert (found.tf_only, found.jax_only, found.frontier) == (0, 0, ())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda x: jax.jit(lambda a: jnp.tanh(a) + 1)(x), id="a call"),
        pytest.param(lambda x: jax.jit(jax.jit(lambda a: jnp.tanh(a) + 1))(x), id="a call in a call"),
        pytest.param(lambda x: jnp.tanh(x.reshape(8, 8)) + 1, id="a reshape that does nothing"),
        pytest.param(lambda x: jnp.tanh(x) + (1 + 0 * x.size), id="a constant folded"),
    ],
)
def test_what_makes_no_difference(other: Callable[..., Any]) -> None:
    assert aligned(lambda x: jnp.tanh(x) + 1, other).frontier == ()


@pytest.mark.parametrize(
    ("other", "op"),
    [
        pytest.param(lambda x: jnp.tanh(x) + jnp.sin(x), "sine", id="another operation"),
        pytest.param(lambda x: (jnp.tanh(x) + 1).astype(jnp.float16), "convert", id="another type"),
        pytest.param(lambda x: jnp.tanh(jnp.tanh(x)) + 1, "tanh", id="one more"),
        pytest.param(lambda x: jax.lax.fori_loop(0, 2, lambda _, c: jnp.tanh(c) + 1, x), "while", id="a loop"),
    ],
)
def test_what_makes_a_difference_is_on_the_frontier_with_its_line(other: Callable[..., Any], op: str) -> None:
    found = aligned(lambda x: jnp.tanh(x) + 1, other)
    entry = next(entry for entry in found.frontier if entry.op == op)
    file, _, line = entry.source.rpartition(":")
    assert entry.side == "jax"
    assert Path(file) == Path(__file__)
    assert line.isdigit()
    assert "by count" in entry.reason


def test_an_operation_of_a_shared_function_has_the_line_of_its_call() -> None:
    entry = next(entry for entry in aligned(jnp.tanh, lambda x: x + jnp.var(x)).frontier if entry.op == "divide")
    assert Path(entry.source.rpartition(":")[0]) == Path(__file__)


def test_both_spellings_of_a_matrix_product_are_one_kind() -> None:
    dot = written("""func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %0 = stablehlo.dot %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      return %0 : tensor<8x8xf32> }""")
    assert align(dot, exported(lambda x: x @ x, MATRIX)).frontier == ()


def test_sides_are_told_apart() -> None:
    found = aligned(lambda x: jnp.sin(jnp.sin(x)), lambda x: jnp.sin(jnp.cos(x)))
    assert (found.matched, found.tf_only, found.jax_only) == (1, 1, 1)
    assert [(entry.side, entry.op) for entry in found.frontier] == [("tf", "sine"), ("jax", "cosine")]
    assert found.frontier[0].reason.startswith("tf has 2, jax has 1 of sine -> tensor<8x8xf32>")


def test_counts_are_all_that_is_claimed() -> None:
    """The price of counting: the same operations in another order align fully."""
    assert aligned(lambda x: jnp.sin(jnp.cos(x)), lambda x: jnp.cos(jnp.sin(x))).frontier == ()


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: jnp.var(jnp.sort(x)), id="calls in calls"),
        pytest.param(lambda x: jax.lax.fori_loop(0, 3, lambda _, c: jnp.sort(c), x), id="a call in a loop"),
        pytest.param(lambda x: jax.lax.top_k(x, 2)[0], id="a composite"),
    ],
)
def test_inlining_leaves_no_call_and_a_valid_program(function: Callable[..., Any]) -> None:
    module = bindings.parse(exported(function, MATRIX))
    inline_calls(module)
    assert module.operation.verify()
    opcodes = program.describe(bindings.serialize(module)).opcodes
    assert not {"call", "composite"} & set(opcodes)
