"""Streams of calls that compile once, often, or every time: static shapes, constants, Python values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DOCUMENTATION = "TensorFlow's user documentation of XLA"
LECTURE = "The lecture TensorFlow XLA"


@dataclass(frozen=True)
class Expected:
    """How often a stream is traced and compiled."""

    traces: int
    compilations: int


@dataclass(frozen=True)
class Stream:
    """A function in both frameworks, of this name in tf_reference/limits and jaxport/limits, and calls of it.

    Attributes:
      summary: what is called with what.
      statement: what a document says of it.
      source: which document.
      calls: `NAME=VALUE, ...` of each.
      expected: by side, what the frameworks are known to do.
      says: by side, what follows from the statement: its traces or its compilations, or that a call raises. Without
        one nothing does.
      sizes: `NAME=SIZE,SIZE,...` of sizes that the calls name.
      static: arguments whose values JAX compiles in.
      note: what else to know.
    """

    summary: str
    statement: str
    source: str
    calls: tuple[str, ...]
    expected: Mapping[str, Expected]
    sizes: tuple[str, ...] = ()
    static: tuple[str, ...] = ()
    says: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def _both(traces: int, compilations: int) -> dict[str, Expected]:
    return dict.fromkeys(("tf", "jax"), Expected(traces, compilations))


STREAMS: Mapping[str, Stream] = {
    "cumsum": Stream(
        "cumsum of vectors that grow",
        "XLA compiles for static shapes: a shape that was seen is found in the cache, a new one is compiled anew.",
        DOCUMENTATION, ("x=f32[N]",), _both(3, 3), ("N=100,100,200,300,200",), says={"tf": "3 compilations"},
    ),
    "add": Stream(
        "a + b of vectors that grow",
        "The cache of compiled programs is keyed by the shapes of the inputs; each new one takes a compilation.",
        LECTURE, ("a=f32[N], b=f32[N]",), _both(3, 3), ("N=100,100,200,300,200",), says={"tf": "3 compilations"},
    ),
    "argmax": Stream(
        "argmax along an axis that changes",
        "Some arguments must be constants when XLA compiles, as argmax's axis; JAX calls such arguments static.",
        LECTURE, ("x=f32[8,4], axis=0", "x=f32[8,4], axis=0", "x=f32[8,4], axis=1", "x=f32[8,4], axis=0"),
        _both(2, 2), static=("axis",), says={"tf": "2 compilations", "jax": "2 compilations"},
    ),
    "argmax_tensor": Stream(
        "argmax along an axis that is a tensor, computed as turn % 2: turn 2 gives the axis of turn 0",
        "What feeds an argument that must be constant has to be constant too.",
        LECTURE,
        tuple(f"x=f32[8,4], turn=np.int32({turn})" for turn in (0, 1, 2, 0)),
        {"tf": Expected(1, 3), "jax": Expected(3, 3)}, static=("turn",), says={"tf": "raises"},
        note="TensorFlow takes the value of the argument as a constant, without a word: another value compiles anew.",
    ),
    "partial_batch": Stream(
        "a dense layer over an epoch whose last batch is smaller",
        "A last batch that is smaller is one more shape, hence one more compilation.",
        DOCUMENTATION, ("x=f32[B,16]",), _both(2, 2), ("B=32,32,32,17",), says={"tf": "2 compilations"},
    ),
    "python_scalar": Stream(
        "a factor that is a Python float",
        "tf.function traces anew for every Python value; jax.jit makes an array of weak type of a Python number.",
        DOCUMENTATION, tuple(f"x=f32[8], factor={factor}" for factor in (1.0, 2.0, 3.0, 2.0)),
        {"tf": Expected(3, 3), "jax": Expected(1, 1)}, says={"tf": "3 traces", "jax": "1 trace"},
    ),
    "unknown_size": Stream(
        "a dense layer that is traced once, for a batch of any size",
        "XLA compiles for static shapes: a function that was traced for an unknown size is compiled for each size.",
        DOCUMENTATION, ("x=f32[B,16]",), {"tf": Expected(1, 3), "jax": Expected(3, 3)}, ("B=32,16,32,8",),
        says={"tf": "3 compilations"},
    ),
}  # fmt: skip
"""By name, in the order in which they are explained."""


def tf_target(name: str) -> str:
    """Where TensorFlow's function of a stream is."""
    return f"tf_reference.limits.recompilation:{name}"


def jax_target(name: str) -> str:
    """Where JAX's function of a stream is."""
    return f"jaxport.limits.recompilation:{name}"
