"""A problem of alignment: two graphs, known pairs of values, and what may be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.hlo.align._alignment import Match
from compare.hlo.align.equal_values import Runs
from compare.hlo.align.slots import ResultPair
from compare.hlo.graph import Graph
from compare.hlo.pair import Pair
from compare.hlo.rewriting import Rewritten


@dataclass(frozen=True, eq=False)
class Problem:
    """Two programs at one level, or two bodies within them.

    Attributes:
      labels: of the two programs, for people.
      slots: parameters and parts of state that are one, matched beforehand.
      results: which results are one.
      names: by parameter of either side, what fills it; for people.
      paired_by_name: whether parameters of one name are one: those of programs are, slots of bodies have a pairing.
      runs: what to run for matches by value; None for none.
    """

    level: str
    labels: Pair[str]
    forms: Pair[Rewritten]
    slots: Sequence[Match]
    results: Sequence[ResultPair]
    names: Pair[Mapping[int, str]] = field(default=Pair({}, {}))
    paired_by_name: bool = True
    runs: Runs | None = None

    @property
    def graphs(self) -> Pair[Graph]:
        """The canonical graphs."""
        return self.forms.map(lambda form: form.graph)
