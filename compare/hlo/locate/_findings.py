"""The findings of locate: the operations where two programs first differ, their effects, and the likely cause."""

from __future__ import annotations

from dataclasses import dataclass

from compare.hlo.causes import Kind


@dataclass(frozen=True)
class OperationPlace:
    """One operation of one side.

    `source` is the user's "file:line", "" where nothing tells it, `scope` the layers that it stands in
    ("encoder/layer_1"), "" of none that are named.
    """

    side: str
    op: str
    name: str
    shape: str
    source: str
    scope: str = ""


@dataclass(frozen=True)
class Sample:
    """The first element that differs, and the largest difference over the largest element of the left value."""

    index: tuple[int, ...]
    left: float
    right: float
    error: float


@dataclass(frozen=True)
class Departure:
    """An operation whose value departs while what it reads agrees.

    Attributes:
      kind: "changed", "extra" (only the right has it) or "missing" (only the left has it).
      op: the HLO opcode to blame: the right's, or the left's where it is missing.
      left, right: where it stands. Of a missing operation `right` is the first that lacks it.
      difference: what differs, in words.
      cause, remedy: of the list of known causes; "" where none is recognised.
      value: the departing value on both sides; None if they cannot be compared.
      inside: loops and branches that it stands in, outermost first.
      times: in how many places it stands on this line, such as once for every weight.
      gotchas: what to ask `jaxport lookup gotchas` for; "" where the catalogue has nothing about the cause.
      confirmed: whether every result agrees once this value is given as the left has it; for one of several
        departures, once all are.
      by_change: whether no value was given, and what the cause says was changed instead.
    """

    kind: Kind
    op: str
    left: OperationPlace | None
    right: OperationPlace | None
    difference: str
    cause: str
    remedy: str
    value: Sample | None
    inside: tuple[str, ...] = ()
    times: int = 1
    confirmed: bool = False
    by_change: bool = False
    gotchas: str = ""


@dataclass(frozen=True)
class Findings:
    """All departures of one program, in order; none where the programs agree.

    `results` are those that differ, `cascade` how many values of the left and of the right depart only
    because of the departures.
    """

    departures: tuple[Departure, ...]
    results: tuple[str, ...]
    cascade: tuple[int, int] = (0, 0)
