"""The graph of a function of TensorFlow, with those that it calls: what source in JAX is written of.

A place of a result is (number of a node, number of its output); nodes are counted in the body that they stand in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.protocol.inspection import Plain

Place = tuple[int, int]
VALUE = "value of "
"""Before the name of a variable: the key of what it holds, among the arrays of a graph whose variables are carried."""


@dataclass(frozen=True)
class Result:
    """A result of an operation.

    Attributes:
      dtype: of it.
      shape: None where the rank is not known, and for a size that is not fixed.
      follows: whether its float type is that of the function's inputs: another one with other inputs.
    """

    dtype: str
    shape: tuple[int | None, ...] | None
    follows: bool = False


@dataclass(frozen=True)
class Node:
    """One operation.

    Attributes:
      type: of operation.
      name: its own.
      inputs: what it takes.
      results: what it returns.
      attributes: numbers, names, dtypes and lists of these.
      bodies: by attribute, the numbers of the bodies that it calls.
      line: FILE:LINE of the user's code that made it.
      assigned: the variable, or variables, that this line assigns to.
      constant: key of its array, where it is a constant; "" where it is none, or holds texts.
      known: keys of the arrays of its results, where no input of the function changes them.
      within: the user's functions that made it, or the scopes that it stands in, outermost first.
    """

    type: str
    name: str
    inputs: tuple[Place, ...]
    results: tuple[Result, ...]
    attributes: Mapping[str, Plain] = field(default_factory=dict)
    bodies: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    line: str = ""
    assigned: tuple[str, ...] = ()
    constant: str = ""
    known: tuple[str, ...] = ()
    within: tuple[str, ...] = ()


@dataclass(frozen=True)
class Effect:
    """An operation that no result needs, and that does something all the same.

    Attributes:
      type: of it.
      line: FILE:LINE of the user's code that made it.
    """

    type: str
    line: str


@dataclass(frozen=True)
class Gradient:
    """The gradient function of tf.custom_gradient, from gradients of results to gradients of inputs.

    Attributes:
      node: number of the IdentityN that stands for its results.
      given: numbers of the nodes that stand for gradients of the results.
      returned: for each input of the node, the place of its gradient; None where it has none.
    """

    node: int
    given: tuple[int, ...]
    returned: tuple[Place | None, ...]


@dataclass(frozen=True)
class Body:
    """A function: its nodes, each after those that it takes results of.

    Attributes:
      name: of it.
      nodes: those that results need, and inputs.
      inputs: numbers of the nodes that stand for them.
      outputs: what it returns.
      effects: of what no result needs.
      gradients: of the functions in it that have gradients of their own.
      lost: why a gradient of its own is not known, by the number of its IdentityN.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[int, ...]
    outputs: tuple[Place, ...]
    effects: tuple[Effect, ...] = ()
    gradients: tuple[Gradient, ...] = ()
    lost: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Captured:
    """A value that a function reads from outside.

    Attributes:
      name: of the variable; of an array that is no variable, its key among the arrays.
      is_variable: whether it is one.
      result: its shape and dtype.
      trainable: of a variable.
      ends: the least and the largest number of a variable none of whose floats is below 0, as of variances.
      scale: the root mean square of another variable's floats; 0 where they are 0, or no floats.
    """

    name: str
    is_variable: bool
    result: Result
    trainable: bool = False
    ends: tuple[float, float] | None = None
    scale: float = 0.0


@dataclass(frozen=True)
class FunctionGraph:
    """A function and those that it calls.

    Attributes:
      name: of it.
      inputs: names, in the order in which its body has them.
      captured: what follows the inputs in its body.
      returned: a nest of `{"tensor": NUMBER}`, by output, in `{"tuple": [...]}`, lists and `{"dict": [[k, v], ...]}`.
      bodies: the function itself is the first.
      followed: "" where it was traced in a second float type, else why it could not be.
      remarks: on what stays in TensorFlow's input pipeline.
    """

    name: str
    inputs: tuple[str, ...]
    captured: tuple[Captured, ...]
    returned: Plain
    bodies: tuple[Body, ...]
    followed: str = ""
    remarks: tuple[str, ...] = ()
