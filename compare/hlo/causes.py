"""Known ways in which a port goes wrong, each recognised by what two operations and their surroundings look like.

What looks like a cause is one only if it is proved to be: `locate/_proofs.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from compare.hlo.pair import Pair

T = TypeVar("T")


Kind = Literal["changed", "extra", "missing"]
"""The kind of a departure: another operation, an additional one, or a missing one."""
CHANGED: Final = "changed"
EXTRA: Final = "extra"
MISSING: Final = "missing"

Window = tuple[tuple[int, ...], ...]
"""(size, stride, low padding, high padding) of every dimension."""


_NO_NAMES: Pair[str] = Pair("", "")
_NOTHING: Pair[tuple[()]] = Pair((), ())
_NO_WEIGHTS: Pair[frozenset[str]] = Pair(frozenset(), frozenset())
_NO_ARRAYS = Pair(False, False)


@dataclass(frozen=True)
class Clue:
    """The facts about a departure. The right program is the port.

    Attributes:
      kind: what the port's operation is.
      ops: opcodes of both operations, "" of none.
      constants: the constants that either reads.
      changed: names of attributes that differ.
      in_gradient: whether the operations are part of a gradient.
      in_softmax: whether they are part of a softmax.
      near: opcodes of what both read and are read by.
      weights: names of weights that either reads directly.
      moving_average: whether either reads a moving average of batch normalization directly.
      dtypes: of both values, "" of none.
      updates: whether the next value of a weight differs.
      ends_loop: whether the operation is part of a loop's condition.
      swapped: whether they read the same two values the other way round.
      at_edges: whether the values agree wherever inputs do not tie or lie on an edge.
      cut: whether the port's results lack what the left computes, without another value in its place.
      windows: of a convolution or pooling.
      arrays: whether either reads a constant that is more than one number.
    """

    kind: Kind
    ops: Pair[str] = _NO_NAMES
    constants: Pair[tuple[float, ...]] = _NOTHING
    changed: tuple[str, ...] = ()
    in_gradient: bool = False
    in_softmax: bool = False
    near: frozenset[str] = frozenset()
    weights: Pair[frozenset[str]] = _NO_WEIGHTS
    moving_average: bool = False
    dtypes: Pair[str] = _NO_NAMES
    updates: bool = False
    ends_loop: bool = False
    swapped: bool = False
    at_edges: bool = False
    cut: bool = False
    windows: Pair[Window] = _NOTHING
    arrays: Pair[bool] = _NO_ARRAYS

    @property
    def op(self) -> str:
        """The opcode to blame."""
        return self.of_blame(self.ops)

    def of_blame(self, pair: Pair[T]) -> T:
        """The element of a pair that belongs to the program to blame."""
        return pair.left if self.kind == MISSING else pair.right

    @property
    def same_opcode(self) -> bool:
        """Whether the operation changed, and its opcode did not."""
        return self.kind == CHANGED and self.ops.left == self.ops.right

    @property
    def one(self) -> float | None:
        """The only constant of an operation that only one side has."""
        constants = self.of_blame(self.constants)
        return constants[0] if self.kind != CHANGED and len(constants) == 1 else None

    @property
    def pair(self) -> Pair[float] | None:
        """The constants of both, where each reads one and they differ."""
        left, right = self.constants
        if not self.same_opcode or len(left) != 1 or len(right) != 1 or left == right:
            return None
        return Pair(left[0], right[0])


@dataclass(frozen=True)
class Cause:
    """One known way: a short name, what to look for and do, and what it may look like: a proof is asked for besides.

    `alone` is whether it says so little that it has to be all that is wrong: of several departures, each may be one of
    another formula. `everywhere` is whether one such change shows in several results at once, and its proof makes that
    change: it is tried on all results where one value does not do. `gotchas` is what to ask `jaxport lookup gotchas`
    for, "" where the catalogue has nothing.
    """

    name: str
    remedy: str
    recognises: Callable[[Clue], bool]
    alone: bool = False
    gotchas: str = ""
    everywhere: bool = False


_TINY = 1e-2
_INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
_WINDOWED = ("convolution", "reduce-window", "select-and-scatter", "pad")


def is_tiny(value: float | None) -> bool:
    """Whether a constant is as small as an epsilon is."""
    return value is not None and 0 < value <= _TINY


def is_close(value: float | None, *targets: float) -> bool:
    """Whether a number is one of these, up to how frontends round constants."""
    return value is not None and any(math.isclose(value, target, rel_tol=1e-5) for target in targets)


def is_count(value: float | None) -> bool:
    """Whether a constant is a number of elements, or one over it."""
    if value is None or value <= 0:
        return False
    whole = value if value > 1 else 1 / value
    return whole > 1.5 and math.isclose(whole, round(whole), rel_tol=1e-6)


def _both_tiny(clue: Clue) -> bool:
    return clue.pair is not None and all(map(is_tiny, clue.pair)) and clue.op in ("add", "maximum")


def _padding(clue: Clue) -> bool:
    left, right = clue.windows
    same = [dimension[:2] for dimension in left] == [dimension[:2] for dimension in right]
    # A running sum's window is as long as its axis, and its padding is what makes it run.
    runs = any(size > 1 and size - 1 in padding for size, _, *padding in (*left, *right) if size > 2)
    running = clue.op == "reduce-window" and runs
    return clue.op in _WINDOWED and bool(left) and same and left != right and not running


def _betas(clue: Clue) -> bool:
    constants = {*clue.constants.left, *clue.constants.right}
    betas = any(is_close(constant, 0.9, 0.99, 0.999, 0.1, 0.01, 0.001) for constant in constants)
    return clue.updates and clue.kind == CHANGED and betas and clue.pair is not None


def _decays(clue: Clue) -> bool:
    return clue.updates and clue.kind != CHANGED and clue.op in ("multiply", "subtract", "add") and any(clue.weights)


def _rate(clue: Clue) -> bool:
    return clue.updates and clue.kind == CHANGED and clue.op in ("multiply", "divide") and any(clue.constants)


def _casts(clue: Clue) -> bool:
    floats = ("f16", "bf16", "f32", "f64")
    is_narrowing = clue.dtypes.left != clue.dtypes.right and all(dtype in floats for dtype in clue.dtypes)
    return is_narrowing or (clue.op in ("convert", "reduce-precision") and clue.dtypes.right in ("f16", "bf16"))


def _indices(clue: Clue) -> bool:
    return clue.of_blame(clue.dtypes) in _INTEGERS and bool(
        {"gather", "scatter", "dynamic-slice"} & (clue.near | set(clue.ops))
    )


def _transposes(clue: Clue) -> bool:
    return "dot_dimension_numbers" in clue.changed or (clue.op == "transpose" and "dot" in clue.near)


def _lays_out(clue: Clue) -> bool:
    return "convolution_dimension_numbers" in clue.changed or clue.op == "transpose"


def _reads_other(clue: Clue) -> bool:
    left, right = clue.weights
    return bool(right - left) and bool(left - right)


def _scaled_by_root(clue: Clue) -> bool:
    """Whether the input of a softmax is scaled by a root."""
    return clue.op in ("divide", "multiply", "dot") and {"exponential"} <= clue.near


def _any(clue: Clue) -> bool:
    """True: only a proof decides."""
    return True


CAUSES = (
    Cause("narrow type", "a value is rounded to fewer bits than in TensorFlow: drop the cast, or give the layer "
          "TensorFlow's dtype", _casts, gotchas="mixed_precision"),
    Cause("subgradient at an edge", "the gradient at a tie or an edge is a choice: take TensorFlow's side of it with "
          "jnp.where, for jnp.maximum and jnp.clip give half of it to either side; jax.nn.relu gives none at 0",
          lambda clue: clue.at_edges and clue.in_gradient, gotchas="kinks"),
    Cause("value at an edge", "both agree but where inputs tie, vanish or lie on a bound: compare < with <=, and what "
          "is made of 0", lambda clue: clue.at_edges, gotchas="kinks"),
    Cause("stop_gradient", "nothing flows back here in JAX: look for jax.lax.stop_gradient, a cast to integers or an "
          "argmax on the way, or a custom_vjp", lambda clue: clue.cut and clue.in_gradient),
    Cause("epsilon", "Keras adds 1e-3 in normalization and 1e-7 in optimizers, Flax 1e-6 or 1e-5 and optax 1e-8: "
          "pass TensorFlow's", _both_tiny, gotchas="epsilon"),
    Cause("place of epsilon", "epsilon is added inside of the root on one side and outside of it on the other, or "
          "before and after a bias correction: move it", _any, gotchas="epsilon"),
    Cause("epsilon of an optimizer", "Keras adds epsilon to the root before the bias correction, optax after it: "
          "jaxport.optimizers has Keras's formulas", lambda clue: clue.updates, gotchas="adam", everywhere=True),
    Cause("gelu", "tf.nn.gelu is exact by default, jax.nn.gelu the tanh approximation: say approximate on both sides",
          _any, gotchas="activations/gelu"),
    Cause("slope of leaky relu", "tf.nn.leaky_relu has 0.2, Keras 0.3 and jax.nn.leaky_relu 0.01: pass "
          "negative_slope", _any, gotchas="activations/leaky_relu"),
    Cause("another activation", "the function between the layers differs", _any, gotchas="activations"),
    Cause("biased or unbiased variance", "tf.nn.moments divides by n, as jnp.var does with ddof=0; "
          "tf.compat.v1.nn.fused_batch_norm by n - 1", _any, gotchas="variance"),
    Cause("number of iterations", "the loops do not end at the same turn: compare their bounds",
          lambda clue: clue.op == "compare" and clue.ends_loop),
    Cause("base of the logarithm", "tf.math.log and jnp.log are natural: look for log2, log10 or a division by log(2)",
          _any),
    Cause("cumulative sum", "the sums run along another axis, from the other end, or leave out the element itself: "
          "compare axis=, exclusive= and reverse=", _any, gotchas="cumsum"),
    Cause("axis of the softmax", "both normalize the last axis by default: compare axis=",
          lambda clue: clue.in_softmax),
    Cause("axis", "another axis is reduced, joined or sorted: compare axis=", _any),
    Cause("padding", "TensorFlow's SAME pads more at the end where a stride leaves an odd number: pass 'SAME', "
          "not (1, 1)", _padding, gotchas="padding"),
    Cause("window", "kernel size, stride or dilation differ: Flax pools with stride 1 and Keras with stride = size",
          lambda clue: clue.op in _WINDOWED and "window" in clue.changed and not _padding(clue), gotchas="pooling"),
    Cause("axes of a product", "another axis is summed or kept: compare the subscripts of einsum letter by letter",
          lambda clue: "batch" in clue.changed),
    Cause("transposed kernel", "Keras keeps dense kernels as (in, out): drop the transposition, or contract the other "
          "axis", _transposes, gotchas="kernel"),
    Cause("layout", "TensorFlow's convolutions take NHWC and HWIO: pass dimension_numbers, or transpose", _lays_out,
          gotchas="convolution"),
    Cause("kernel of a transposed convolution", "tf.nn.conv2d_transpose reverses its kernel, as the gradient of a "
          "convolution does: pass transpose_kernel=True to nnx.ConvTranspose or jax.lax.conv_transpose, and the kernel "
          "as it is",
          lambda clue: clue.op == "reverse" and "convolution" in clue.near, gotchas="conv2d_transpose_kernel"),
    Cause("order of elements", "the elements are the same, in another order: look for a reshape where an axis has to "
          "be moved, or for a reversal", _any, alone=True),
    Cause("operands swapped", "the same two values are read the other way round: swap them", lambda clue: clue.swapped),
    Cause("weights swapped", "it reads another weight than TensorFlow: look at this line, and at from_weights and "
          "to_weights", _reads_other),
    Cause("optimizer's averages", "momentum and betas differ, or an average starts elsewhere: compare the optimizer's "
          "arguments", _betas, gotchas="optimizers"),
    Cause("weight decay", "decay is applied on one side only: AdamW decays by 0.004 in Keras, 1e-4 in optax", _decays,
          gotchas="weight_decay"),
    Cause("bias correction", "one side corrects its moments for their start at zero and the other does not",
          lambda clue: clue.updates and clue.pair is None and "power" in clue.near | set(clue.ops),
          gotchas="optimizers"),
    Cause("momentum of batch normalization", "Keras keeps 0.99 of the moving average, other libraries 0.9: pass "
          "momentum", lambda clue: clue.moving_average, gotchas="momentum"),
    Cause("learning rate", "the step has another size: compare the rate, its schedule and what it multiplies", _rate,
          gotchas="schedules"),
    Cause("scale by the root of the depth", "attention divides by sqrt(depth of one head): add it, or take the right "
          "axis of the query", _scaled_by_root),
    Cause("norm of the Fourier transform", "one side divides by the length or its root: compare norm=", _any,
          gotchas="signal"),
    Cause("mean or sum", "one side averages and the other adds up: Keras losses and tf.reduce_mean divide by the "
          "number of elements", _any, gotchas="losses"),
    Cause("another reduction", "the reducer differs: compare max, sum, mean and min", _any),
    Cause("power", "another power is taken: compare exponents", _any),
    Cause("index", "indices are counted, wrapped or clamped otherwise: TensorFlow counts from 0, takes no negative "
          "index, and XLA's gather clamps", _indices, gotchas="indexing"),
    Cause("integer division", "tf.math.floormod and // round down, lax.div and lax.rem towards zero", _any,
          gotchas="dtypes"),
    Cause("bias left out", "a weight is added on one side only: add it, or set use_bias",
          lambda clue: clue.kind != CHANGED and clue.op == "add"),
    Cause("weight left out", "a weight is used on one side only: multiply by it", lambda clue: clue.kind != CHANGED),
    Cause("residual connection", "a sum with an earlier value is on one side only",
          lambda clue: clue.kind != CHANGED and clue.op == "add" and clue.one is None, alone=True),
    Cause("weights in the code", "the functions close over arrays that differ: load the same ones into both",
          lambda clue: any(clue.arrays)),
    Cause("another constant", "the constants differ", lambda clue: not any(clue.arrays)),
    Cause("sign", "the value has the other sign", _any, alone=True),
    Cause("another function", "another function of the same value is taken", _any, alone=True),
    Cause("another factor", "the value is a multiple of TensorFlow's", _any, alone=True),
    Cause("another operand", "it reads another value than TensorFlow: look at names and at the order of operations",
          lambda clue: clue.same_opcode, alone=True),
)  # fmt: skip
"""In the order in which they are tried: the first that fits and is proved names a departure."""

GATES = Cause("gates of a recurrent cell", "Keras orders an LSTM's gates i, f, g, o and a GRU's z, r, h: permute the "
              "kernels, or read them in that order", _any, gotchas="recurrent")  # fmt: skip
PARTS = Cause("order of parts", "a value is split as in TensorFlow and its parts are read in another order", _any)
UNKNOWN = Cause("no specific cause", "no known one could be proved: look at what differs on these two lines", _any)
"""The cause that is reported if none is proved."""
