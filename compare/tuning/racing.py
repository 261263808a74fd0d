"""Programs that take turns in one fresh process; one that takes its process down is left out of the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from compare.bench import pairs
from compare.bench.pairs import Measured
from compare.sides._side import Side, SideError

Round = Callable[[int], Sequence[float]]
"""Seconds of each of so many calls."""


@dataclass(frozen=True)
class Race:
    """How programs by name are timed.

    Attributes:
      started: gives a fresh process with the workload loaded, which ends with the block.
      ready: compiles the program of a name there; fails as the process does.
      first: the name that all others are compared with; without its times there is no result.
      budget_s: seconds of rounds.
    """

    started: Callable[[], AbstractContextManager[Side]]
    ready: Callable[[Side, str], Round]
    first: str
    budget_s: float

    def run(self, names: Sequence[str], seed: int) -> Measured[str]:
        """One fresh process that runs all of them in turn; another one without what made it crash.

        Args:
          names: of the programs, `first` among them.

        Raises:
          SideError: `first` cannot be timed.
        """
        failures: dict[str, str] = {}
        while True:
            results, is_lost = self._once([name for name in names if name not in failures], seed)
            failures |= dict([next(iter(results.failures.items()))]) if is_lost else results.failures
            if not is_lost:
                return dataclasses.replace(results, failures=failures)

    def _once(self, names: Sequence[str], seed: int) -> tuple[Measured[str], bool]:
        """The results of one process, and whether it was lost: then the first failure caused the loss."""
        failures: dict[str, str] = {}
        with self.started() as side:
            ready = []
            for name in names:
                try:
                    ready.append(pairs.Timer(name, self.ready(side, name)))
                except SideError as error:
                    if name == self.first:
                        raise
                    if error.lost:
                        return Measured({}, {name: error.reason}), True
                    failures[name] = error.reason
            results = pairs.measure(ready, budget_s=self.budget_s, seed=seed, failing=SideError)
            is_lost = bool(results.failures) and side.lost
            if is_lost and next(iter(results.failures)) == self.first:
                raise SideError(side.name, "timing the default", results.failures[self.first], is_lost=True)
        return dataclasses.replace(results, failures={**results.failures, **failures}), is_lost
