"""A traced function as the graph optimizer leaves it: data that crosses between the worker and who judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

OptimizerOptions = Mapping[str, bool | int]
"""By the name of a switch of `tf.config.optimizer.set_experimental_options`, what it is set to."""


@dataclass(frozen=True)
class ConstantValue:
    """The value of a constant: equal where the digest is, in whatever form the graph stores it."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int
    sha256: str
    text: str
    """The value where it is short, else its first elements."""


@dataclass(frozen=True)
class RewrittenNode:
    """A node of a graph, or of a function that is left in it, then named "FUNCTION/NODE".

    `inputs` are tensors, "NAME", "NAME:1" or in a function "NAME:output:0", and after "^" nodes that are waited for.
    `attributes` are those that say what is computed, as text.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    constant: ConstantValue | None = None


@dataclass(frozen=True)
class Rewritten:
    """A function's graph with the optimizer set in one way.

    `traced` counts the operations as they were traced, those of called functions once each. `kernels` has by node the
    operation that the runtime put in its place after the optimizer. `sources` is "file:line" by the name of a node.
    """

    nodes: Sequence[RewrittenNode]
    traced: Mapping[str, int]
    kernels: Mapping[str, str]
    sources: Mapping[str, str]
