"""A program of one side, and the ways in which it has decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compare.hlo.conditions import Condition, Ways
from compare.hlo.watching import Watched, either
from compare.prove.running import arguments
from compare.prove.subjects import Readable
from workloads.core.spec import Arrays
from workloads.protocol.framework import Twin


@dataclass
class WatchedDecisions:
    """The conditions of a program, and the ways in which each has come out.

    Attributes:
      of: the program.
      watched: runs it, with its conditions as results.
      twin: has the weights of a case that changes none.
      seen: by condition.
    """

    of: Readable
    watched: Watched
    twin: Twin
    seen: list[Ways]

    def decides(self, cases: Sequence[Arrays]) -> list[list[Ways]]:
        """By case and condition, the ways in which it comes out."""
        return self.watched.observe([arguments(self.of.program, self.twin, case) for case in cases])

    def adds(self, ways: Sequence[Ways]) -> bool:
        """Whether a case decides in a way that none before did."""
        return self.seen != either(self.seen, ways)

    def look(self, ways: Sequence[Ways]) -> None:
        """Note how a case decides."""
        self.seen = either(self.seen, ways)

    @property
    def is_settled(self) -> bool:
        """Whether each condition has both held and failed."""
        return all(map(all, self.seen))

    def find_one_sided(self) -> Iterator[tuple[int, Condition, bool]]:
        """Decisions that came out one way alone, by position, and whether they always held."""
        for position, (condition, (has_held, has_failed)) in enumerate(
            zip(self.watched.conditions, self.seen, strict=True)
        ):
            if has_held != has_failed:
                yield position, condition, has_held


def watch_decisions(of: Readable, observer: Watched, twin: Twin) -> WatchedDecisions | None:
    """The program, and how it decides in the cases of the twin; None where it decides nothing.

    Raises:
      UnreadableProgram: XLA does not run it apart from its framework.
    """
    if not observer.conditions:
        return None
    decisions = WatchedDecisions(of, observer, twin, [Ways(False, False)] * len(observer.conditions))
    for ways in decisions.decides(list(twin.cases.values())):
        decisions.look(ways)
    return decisions
