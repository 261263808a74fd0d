"""The names of timed things: modes, cells, arms, and pairs of them; and the modes of each side.

`str()` gives the names of the record and of the command line; `parse_mode`, `parse_cell`, `parse_arm` and
`parse_pair` read them back, and refuse every other text; `recorded_mode` and `recorded_pair` are for pages, which show
whatever a record names. Nothing else takes such a name apart.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from workloads.core.errors import Foreseen

TF, JAX = "tf", "jax"


@dataclass(frozen=True)
class Mode:
    """A way in which one side, or a peer, runs the workload: "jax/jit"."""

    side: str
    name: str

    def __str__(self) -> str:
        return f"{self.side}/{self.name}"

    @property
    def is_port(self) -> bool:
        """Whether it runs the port."""
        return self.side == JAX

    @property
    def is_original(self) -> bool:
        """Whether TensorFlow runs it."""
        return self.side == TF

    @property
    def is_peer(self) -> bool:
        """Whether it is another way of running the original in JAX."""
        return not self.is_port and not self.is_original


@dataclass(frozen=True)
class Cell:
    """The program of one side compiled by a side's XLA: "tf@jax" is TensorFlow's program in JAX's."""

    frontend: str
    compiler: str

    def __str__(self) -> str:
        return f"{self.frontend}@{self.compiler}"

    @property
    def side(self) -> str:
        """The side whose process runs it."""
        return self.compiler


@dataclass(frozen=True)
class Arm:
    """One timed process: "jax/jit", "tf@jax#2", "jax/jit#2+10%".

    Attributes:
      code: the mode or cell.
      copy: 1 in the first process of its side, 2 in the second, which runs identical code.
      slowdown: planted in every call, as a part of its time: 0.1 for 10 %.
    """

    code: Mode | Cell
    copy: int = 1
    slowdown: float = 0.0

    def __str__(self) -> str:
        copy = "" if self.copy == 1 else f"#{self.copy}"
        return f"{self.code}{copy}" + (f"+{self.slowdown:.0%}" if self.slowdown else "")

    @property
    def side(self) -> str:
        """The side, or the peer, whose process runs it."""
        return self.code.side

    @property
    def is_public(self) -> bool:
        """Whether it is a mode or cell as a user runs it: neither a second process nor a slowed one."""
        return self.copy == 1 and not self.slowdown


@dataclass(frozen=True)
class Pair:
    """Two modes whose times make a ratio: "jax/jit vs tf/jit" is the time of the left over that of the right."""

    left: Mode
    right: Mode

    def __str__(self) -> str:
        return f"{self.left} vs {self.right}"


@dataclass(frozen=True)
class CellPair:
    """Two programs under one compiler whose times make a ratio: "jax@jax vs tf@jax", the port's over the original's."""

    left: Cell
    right: Cell

    def __str__(self) -> str:
        return f"{self.left} vs {self.right}"


TF_EAGER, TF_GRAPH, TF_AUTOCLUSTER, TF_JIT, TF_HANDWRITTEN, TF_APART = (
    Mode(TF, name) for name in ("eager", "graph", "autocluster", "jit", "handwritten", "apart")
)
TF_KERAS, TF_KERAS_GRAPH, TF_KERAS_STEPS = (Mode(TF, name) for name in ("keras", "keras-graph", "keras-steps"))
JAX_EAGER, JAX_APART, JAX_JIT, JAX_DONATED, JAX_TUNED = (
    Mode(JAX, name) for name in ("eager", "apart", "jit", "donated", "tuned")
)

MODES = (
    *(TF_EAGER, TF_GRAPH, TF_AUTOCLUSTER, TF_JIT, TF_KERAS, TF_KERAS_GRAPH, TF_KERAS_STEPS, TF_HANDWRITTEN, TF_APART),
    *(JAX_EAGER, JAX_APART, JAX_JIT, JAX_DONATED, JAX_TUNED),
)
"""The modes of the original, then of the port, eager before compiled."""

ON_REQUEST = (TF_KERAS_GRAPH, TF_KERAS_STEPS)
"""Modes that a run leaves out by default: a model's own `fit`, compiled otherwise than its twin says."""

PORT = JAX_JIT
"""The mode in which the port is always judged."""

JAX_RETAINED = Mode(JAX, "retained")
"""`JAX_JIT` in a process whose C library keeps the memory that it is given back."""

JAX_SYNCHRONOUS = Mode(JAX, "synchronous")
"""`JAX_JIT` in a process without asynchronous dispatch: no call is handed to another thread, though XLA divides large
loops among several."""

IN_OTHER_PROCESSES = (JAX_RETAINED, JAX_SYNCHRONOUS)
"""`JAX_JIT` in a process of other settings: timed on request."""

COMPILED_PORTS = (JAX_JIT, JAX_DONATED, JAX_TUNED, *IN_OTHER_PROCESSES)

CONTROL_NAMES = ("jit", "graph", "autocluster", "eager")
"""Names of modes; the first that a side was timed in is its A/A control: two processes run identical code."""

PEER_NAME = "jit"
"""The name of every peer's one mode."""

TF_CELL, JAX_CELL = Cell(TF, TF), Cell(JAX, JAX)
"""Each side's program, compiled by its own XLA."""

CELLS = (TF_CELL, JAX_CELL, Cell(TF, JAX), Cell(JAX, TF))

CELL_PAIRS = tuple(CellPair(Cell(JAX, compiler), Cell(TF, compiler)) for compiler in (JAX, TF))
"""By compiler; JAX's XLA first, which is there without TensorFlow."""

_ARM = re.compile(
    r"(?:(?P<side>[\w.-]+)/(?P<name>[\w.-]+)|(?P<frontend>[\w.-]+)@(?P<compiler>[\w.-]+))"
    r"(?:#(?P<copy>\d+))?(?:\+(?P<percent>\d+)%)?",
    re.ASCII,
)
_MOST_DIGITS = 6
"""The most digits of a copy or a slowdown; Python refuses to convert thousands of them."""


class BadName(Foreseen):
    """A text that names no mode, cell, arm or pair of modes."""


def parse_arm(text: str) -> Arm:
    """The arm of a name such as "jax/jit#2+10%".

    Raises:
      BadName: it is no such name.
    """
    arm = _arm(text)
    # A name has one spelling: "#1", "#02" and "+0%" are none.
    if arm is None or str(arm) != text or arm.copy < 1:
        raise BadName(f"expected a mode or cell such as jax/jit or tf@jax, found {text!r}")
    return arm


def _arm(text: str) -> Arm | None:
    read = _ARM.fullmatch(text)
    if read is None or max(map(len, (read["copy"] or "", read["percent"] or ""))) > _MOST_DIGITS:
        return None
    code = Mode(read["side"], read["name"]) if read["side"] else Cell(read["frontend"], read["compiler"])
    return Arm(code, int(read["copy"] or 1), int(read["percent"] or 0) / 100)


def parse_mode(text: str) -> Mode:
    """The mode of a name such as "jax/jit".

    Raises:
      BadName: it is no such name.
    """
    arm = parse_arm(text)
    if not arm.is_public or not isinstance(arm.code, Mode):
        raise BadName(f"expected a mode such as jax/jit, found {text!r}")
    return arm.code


def parse_cell(text: str) -> Cell:
    """The cell of a name such as "tf@jax".

    Raises:
      BadName: it is no such name.
    """
    arm = parse_arm(text)
    if not arm.is_public or not isinstance(arm.code, Cell):
        raise BadName(f"expected a cell such as tf@jax, found {text!r}")
    return arm.code


def parse_pair(text: str) -> Pair:
    """The pair of a name such as "jax/jit vs tf/jit".

    Raises:
      BadName: it is no such name.
    """
    left, separator, right = text.partition(" vs ")
    if not separator:
        raise BadName(f"expected a ratio such as jax/jit vs tf/jit, found {text!r}")
    return Pair(parse_mode(left), parse_mode(right))


def recorded_mode(text: str) -> Mode | None:
    """The mode of a name in a record, those of other versions too; None where it says no side."""
    side, separator, name = text.partition("/")
    return Mode(side, name) if separator else None


def recorded_pair(text: str) -> Pair | None:
    """The pair of a ratio's name in a record; None where it names no two modes, as "jax/jit vs itself" does not."""
    left, _, right = text.partition(" vs ")
    left_mode, right_mode = recorded_mode(left), recorded_mode(right)
    return Pair(left_mode, right_mode) if left_mode and right_mode else None
