"""The shared state of the bodies of a written module: constants, places, and counts of operations."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compare.porting.functions.written_values import Value
from compare.porting.identifiers import comment_text
from workloads.core.spec import Arrays
from workloads.protocol.function_graph import FunctionGraph, Node, Result

LEFT_OUT = frozenset({"Assert", "PrintV2", "Print"})
"""Operations that raise or print: JAX has checkify and jax.debug.print instead."""

State = tuple[int, Counter[str], Counter[str]]
"""The state of a module: its number of places, and its written and unwritten operations by type."""


@dataclass(frozen=True)
class Unwritten:
    """A place that is left to be written.

    Attributes:
      name: of the function that stands for it.
      type: of operation.
      line: FILE:LINE of the user's code.
      reason: why it is not written.
    """

    name: str
    type: str
    line: str
    reason: str

    @property
    def description(self) -> str:
        """The operation, its line and the reason."""
        where = f", {comment_text(short(self.line))}" if self.line else ""
        return f"{comment_text(self.type)}{where}: {comment_text(self.reason)}"


@dataclass(frozen=True)
class Inlined:
    """A function whose statements stand in the place of its call.

    Attributes:
      name: of it.
      tokens: what its statements define.
    """

    name: str
    tokens: frozenset[str]


@dataclass
class Module:
    """The shared state of bodies.

    Attributes:
      graph: that they are of.
      arrays: of it.
      follows: the expression of the float type of the inputs; "" where nothing has it.
      unwritten: places so far.
      constants: large ones, by the name that they are kept under.
      written: how many operations were written, by type.
      left: how many were not.
      calls: what writes nodes of types that no operation has, given what writes the body.
      is_elementary: whether each operation is a statement of its own, in which repeats are looked for.
      types: of variables that are arrays, by token.
      inlined: functions that are called, those within another one before that.
    """

    graph: FunctionGraph
    arrays: Arrays
    follows: str = ""
    unwritten: list[Unwritten] = field(default_factory=list)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    numbers: Any = field(default_factory=itertools.count)
    calls: Mapping[str, Callable[[Any, Node], list[Value]]] = field(default_factory=dict)
    is_elementary: bool = False
    types: dict[str, Result] = field(default_factory=dict)
    inlined: list[Inlined] = field(default_factory=list)

    @property
    def state(self) -> State:
        """Where it is: `restore` forgets what is written from here on."""
        return len(self.unwritten), self.written.copy(), self.left.copy()

    def restore(self, state: State) -> None:
        """Forget what was written since."""
        del self.unwritten[state[0] :]
        self.written, self.left = state[1].copy(), state[2].copy()

    def token(self) -> str:
        """A new variable."""
        return f"v__{next(self.numbers)}"


def short(line: str) -> str:
    """FILE:LINE without folders."""
    return os.path.basename(line)
