"""The ratio jax/jit vs tf/jit as a product, and which factor of it may be blamed. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from compare.record.base import Number
from compare.record.timing_part import CellTime, Timing
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.showable import present
from workloads.core.modes import JAX, PORT, TF, TF_JIT, Cell

MOVED = 1.05
"""The smallest share of the time that is reported as a cost, unless the run's margin is wider."""
SHARE = 0.5
"""The share of a factor's logarithm that the lesser of its swaps must have: else one swap alone makes the factor."""

_ON_EITHER = {"frontend": ("under JAX's XLA", "under TF's"), "compiler": ("on the port's program", "on TF's")}


@dataclass(frozen=True)
class Factor:
    """One factor of the ratio.

    Attributes:
      name: frontend, compiler or runtime.
      value: of a frontend or compiler, the geometric mean of its two swaps; None where it is not known.
      swaps: what exchanging the frontend does under JAX's compiler and under TensorFlow's, or the compiler of the
        port's program and of TensorFlow's; None where a cell has no time, and of the runtime.
    """

    name: str
    value: float | None
    swaps: tuple[float, float] | None = None

    @property
    def distance(self) -> float:
        """How far it moves the ratio, either way; 1 of one that does not."""
        return max(self.value, 1 / self.value) if self.value and self.value > 0 else 1.0

    @property
    def is_whole(self) -> bool:
        """Whether both of its swaps make it: exchanging one thing alone then does what the factor says."""
        if self.name not in _ON_EITHER:
            return True
        if self.swaps is None or not self.value:
            return False
        logarithm = math.log(self.value)
        return min(math.log(swap) * math.copysign(1.0, logarithm) for swap in self.swaps) >= SHARE * abs(logarithm)

    @property
    def swaps_in_words(self) -> str:
        """Both swaps; empty where they are not known."""
        if self.swaps is None:
            return ""
        pairs = zip(self.swaps, _ON_EITHER[self.name], strict=True)
        return f"the {self.name} is {' and '.join(f'{numbers.ratio(swap)} {where}' for swap, where in pairs)}"

    def is_disputed(self, threshold: float) -> bool:
        """Whether its swaps are so far apart that they say different things, and it is not whole."""
        if self.swaps is None or self.is_whole:
            return False
        return max(self.swaps) > threshold**2 * min(self.swaps)


def factors(workload: Workload) -> tuple[Factor, ...]:
    """The factors whose product is the ratio; empty where there are none."""
    product = present(workload.attribution)
    if product is None:
        return ()
    cells = (workload.timing or Timing()).cells
    frontend = _swaps(cells, (Cell(JAX, JAX), Cell(TF, JAX)), (Cell(JAX, TF), Cell(TF, TF)))
    compiler = _swaps(cells, (Cell(JAX, JAX), Cell(JAX, TF)), (Cell(TF, JAX), Cell(TF, TF)))
    return (
        Factor("frontend", numbers.finite(product.frontend), frontend),
        Factor("compiler", numbers.finite(product.compiler), compiler),
        Factor("runtime", numbers.finite(product.runtime)),
    )


def _swaps(cells: Mapping[str, CellTime], *pairs: tuple[Cell, Cell]) -> tuple[float, float] | None:
    """The ratio of each of two pairs of cells."""
    one, other = (_ratio(cells, over, under) for over, under in pairs)
    return None if one is None or other is None else (one, other)


def _ratio(cells: Mapping[str, CellTime], over: Cell, under: Cell) -> float | None:
    times = [numbers.finite((present(cells.get(str(cell))) or CellTime()).median_s) for cell in (over, under)]
    known_times = [time for time in times if time is not None and time > 0]
    return known_times[0] / known_times[1] if len(known_times) == len(times) else None


def threshold(margin: Number) -> float:
    """The smallest change of the ratio that is reported, given the margin of a run's verdicts."""
    return max(MOVED, 1 + (numbers.finite(margin) or 0.0))


def in_words(workload: Workload) -> str:
    """One sentence; empty where there is no attribution."""
    all_factors = factors(workload)
    if not all_factors:
        return ""
    values = [factor.value for factor in all_factors if factor.value is not None]
    total = numbers.ratio(prod(values)) if len(values) == len(all_factors) else "an unknown part"
    list_text = ", ".join(f"{factor.name} {numbers.ratio(factor.value)}" for factor in all_factors)
    beyond = threshold((workload.timing or Timing()).margin)
    disputes = [factor.swaps_in_words for factor in all_factors if factor.is_disputed(beyond)]
    return "; ".join([f"{PORT} takes {total} of {TF_JIT}'s time: {list_text}", *disputes])


def costliest_in_words(workload: Workload) -> str:
    """The factor that costs the most against tf/jit, or that none does alone; empty if none costs much.

    Nothing is said where a factor is not known: it may be the one.
    """
    all_factors = factors(workload)
    if any(factor.value is None for factor in all_factors):
        return ""
    beyond = threshold((workload.timing or Timing()).margin)
    costly = [factor for factor in all_factors if factor.value is not None and factor.value > beyond]
    return (
        f"against {TF_JIT} {sentence}" if (sentence := describe_factors(costly, "costs it", "costs the most")) else ""
    )


def describe_factors(moving: Sequence[Factor], does: str, does_most: str) -> str:
    """A sentence on the factors that move a ratio: the largest whole one, and the swaps of parts.

    Args:
      does: what one does, as "costs it".
    """
    whole = [factor for factor in moving if factor.is_whole]
    disputes = [factor.swaps_in_words for factor in moving if not factor.is_whole and factor.swaps]
    if len(whole) + len(disputes) < len(moving):
        return ""
    if not whole:
        return f"no factor {does} alone: {', '.join(disputes)} (medians, no interval)" if disputes else ""
    most = max(whole, key=lambda factor: factor.distance)
    sentence = f"the {most.name} {does if disputes else does_most}, {numbers.ratio(most.value)} (medians, no interval)"
    return "; ".join([sentence, *disputes])
