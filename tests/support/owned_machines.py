"""Machines whose truth is known, for the search of faster options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.bench.pairs import Measured, Timer, measure


class ArmFailed(Exception):
    """What a candidate raises that cannot go on."""


@dataclass
class Machine:
    """A clock that calls move: `seconds` by candidate, noise around them, and the same level for all of a set.

    It races as the real one does, through the design of experiments.
    """

    seconds: Mapping[str, float]
    noise: float = 0.01
    failing: str = ""
    raced: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    now: int = 0

    def __call__(self, names: Sequence[str], number: int) -> Measured[str]:
        self.raced.append((number, tuple(names)))
        generator = np.random.default_rng((2, number))
        level = float(np.exp(generator.normal(0, 0.2)))

        def timed(name: str) -> Callable[[int], list[float]]:
            def calls(count: int) -> list[float]:
                if name == self.failing:
                    raise ArmFailed("out of memory")
                median = self.seconds.get(name, 1.0) * level
                taken = (median * np.exp(generator.normal(0, self.noise, count))).tolist()
                self.now += round(1e9 * sum(taken))
                return taken

            return calls

        arms = [Timer(name, timed(name)) for name in names]
        return measure(arms, budget_s=0, seed=number, failing=ArmFailed, clock=lambda: self.now)
