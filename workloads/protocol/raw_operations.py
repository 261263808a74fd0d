"""TensorFlow's registered operations, and XLA's kernels for them: plain data that crosses between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

XLA_DEVICE = "XLA_CPU_JIT"
"""The device that kernels of TensorFlow's compiler are registered for, as those of a processor are for "CPU"."""

Gradient = Literal["registered", "none", "missing"]
Outcome = Literal["compiled", "refused", "not tried"]
NOT_TRIED: Outcome = "not tried"


@dataclass(frozen=True)
class Registered:
    """One type of operation.

    Attributes:
      public: whether `tf.raw_ops` has it.
      stateful: whether TensorFlow says that it has state or side effects.
      gradient: "none": registered as one that has none; "missing": nothing is registered, and asking for it raises.
      kernels: by device, by attribute, the dtypes of any of its kernels there.
    """

    public: bool
    stateful: bool
    gradient: Gradient
    kernels: Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Registry:
    """All types of operation by name, and the versions of the packages that have them."""

    versions: Mapping[str, str]
    operations: Mapping[str, Registered]


@dataclass(frozen=True)
class Expression:
    """A program in TensorFlow.

    Attributes:
      code: an expression, or lines of which the last is one, over the inputs and `layer`.
      layer: an expression that constructs a layer of Keras; empty where the code needs none.
      inputs: name, shape and dtype.
    """

    code: str
    layer: str = ""
    inputs: tuple[tuple[str, tuple[int, ...], str], ...] = ()


@dataclass(frozen=True)
class Traced:
    """The types of operation in the program of an expression, and in that of its gradients.

    Attributes:
      forward: of the program, once each.
      backward: of the gradients with respect to all inputs and weights that are floats, those of the program among
        them; none where it has no gradient.
    """

    forward: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """The outcome of calls of one type of operation that XLA compiles.

    Attributes:
      outcome: "compiled" where XLA took any of the calls.
      reason: of the calls that it refused, what it said of the last one.
      constants: inputs that it takes only as compile-time constants.
      opcodes: of HLO, that the calls became; none where a call was compiled with others around it alone.
      alone: whether a call was compiled by itself.
    """

    outcome: Outcome
    reason: str = ""
    constants: tuple[str, ...] = ()
    opcodes: tuple[str, ...] = ()
    alone: bool = False


@dataclass(frozen=True)
class Tried:
    """By expression, in their order, and by type of operation."""

    expressions: tuple[Traced, ...]
    trials: Mapping[str, Trial] = field(default_factory=dict)
