"""Whether the port holds where the original holds: calls of a sweep, element by element, and what they add up to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compare.parity.evidence import PORT
from compare.parity.measure import is_float, wide
from compare.records import FAIL, PASS, Break, Comparison, Reach, Span
from workloads._spec import STABILITY, Arrays
from workloads._sweeps import Probe

HOLDS, BREAKS, BETTER, BOTH = "holds", "port breaks", "port is better", "both break"
"""What is said of one call: the port breaks where TensorFlow is right, or holds where it is not, or both break."""

TIMES_ORIGINAL = 4
"""Honest ports were measured at up to 2.1 times TensorFlow's own error."""


@dataclass(frozen=True)
class Rounding:
    """How values are rounded, and how often.

    Attributes:
      unit: the unit roundoff of the type that is computed in.
      tiny: its smallest normal number, below which XLA's CPU code has 0.
      largest: its largest number.
      times: how many roundings in a row the original's program makes, at most (see `compare.hlo.program.roundings`).
      floor: an error that counts nothing, such as a rounding of an ordinary gradient.
    """

    unit: float
    tiny: float
    largest: float
    times: float
    floor: float = 0.0

    @property
    def accurate(self) -> float:
        """Relative: who is within has at least half of the digits right."""
        return math.sqrt(self.unit)


@dataclass(frozen=True)
class Values:
    """What one call gives: by the port and the original as they are written, and by the original in float64.

    `moved` are float64 values of the original with every value moved by a rounding: what rounding does to its formula.
    Without them its formula is taken to lose nothing.
    """

    found: Arrays
    original: Arrays
    exact: Arrays
    moved: Sequence[Arrays] = ()


@dataclass(frozen=True)
class Outcome:
    """What is said of one call, by its worst element. `error` and `bound` are relative to `exact`'s scale."""

    status: str
    leaf: str = ""
    index: tuple[int, ...] = ()
    found: float = 0.0
    original: float = 0.0
    exact: float = 0.0
    error: float = 0.0
    bound: float = 0.0


@dataclass(frozen=True)
class Swept:
    """What a sweep found: in which type, and why nothing, or not everything, was swept."""

    reach: tuple[Reach, ...] = ()
    dtype: str = ""
    reason: str = ""


def outcome(values: Values, rounding: Rounding) -> Outcome:
    """The worst that any leaf says."""
    said = [
        _leaf(leaf, values, rounding)
        for leaf, exact in values.exact.items()
        if is_float(exact) and exact.size and leaf in values.found and leaf in values.original
    ]
    return max(said, key=lambda each: (_SEVERITY[each.status], each.error), default=Outcome(HOLDS))


_SEVERITY: Mapping[str, int] = {HOLDS: 0, BETTER: 1, BOTH: 2, BREAKS: 3}


def _leaf(leaf: str, values: Values, rounding: Rounding) -> Outcome:
    exact, original, found = (wide(each[leaf]) for each in (values.exact, values.original, values.found))
    if not exact.shape == original.shape == found.shape:
        return Outcome(HOLDS)  # the structure gate's to say
    with np.errstate(all="ignore"):
        spread = np.max([np.zeros(exact.shape), *(np.abs(wide(moved[leaf]) - exact) for moved in values.moved)], axis=0)
        # A sample may be small by chance where those of its neighbours are not.
        spread = np.maximum(spread, np.median(spread))
        # Close to the largest number an honest formula may overflow a little earlier than another one.
        judged = np.isfinite(exact) & np.isfinite(spread) & (np.abs(exact) + spread < rounding.largest / 2**4)
        scale = float(np.max(np.abs(exact), where=judged, initial=0.0))
        once = rounding.unit * scale + spread
        floor = rounding.times * rounding.tiny + rounding.floor
        off, port_off = (np.nan_to_num(np.abs(each - exact), nan=np.inf, posinf=np.inf) for each in (original, found))
        right = judged & (off <= np.maximum(rounding.accurate * np.abs(exact), rounding.times * once) + floor)
        took = float(np.max((off - floor) / np.maximum(once, rounding.tiny), where=right, initial=0.0))
        bound = np.maximum(rounding.accurate * np.abs(exact), max(rounding.times, TIMES_ORIGINAL * took) * once) + floor
        within = port_off <= bound
        lost, port_lost = (each > rounding.accurate * scale + floor for each in (off, port_off))
        told = {BREAKS: right & ~within, BOTH: judged & ~right & ~within, BETTER: judged & lost & ~port_lost}
        for status, where in told.items():
            if where.any():
                # What is not finite is worst.
                excess = np.where(where, port_off / np.maximum(bound, rounding.tiny), -1.0)
                return _at(status, leaf, int(np.argmax(excess)), (found, original, exact), port_off, bound, scale)
    return Outcome(HOLDS, leaf)


def _at(
    status: str,
    leaf: str,
    position: int,
    values: tuple[np.ndarray, np.ndarray, np.ndarray],
    off: np.ndarray,
    bound: np.ndarray,
    scale: float,
) -> Outcome:
    index = tuple(int(at) for at in np.unravel_index(position, off.shape))
    found, original, exact = (float(np.real(each[index])) for each in values)
    error = float(off[index])
    return Outcome(
        status, leaf, index, found, original, exact, error / (scale or 1.0), float(bound[index]) / (scale or 1.0)
    )


def break_of(probe: Probe, said: Outcome) -> Break:
    """A call that the port breaks in."""
    return Break(
        pattern=probe.pattern,
        magnitude=probe.magnitude,
        leaf=said.leaf,
        index=said.index,
        found=said.found,
        original=said.original,
        exact=said.exact,
        error=said.error,
        bound=said.bound,
    )


def deciding(spans: Sequence[Span], orders: float) -> tuple[str, Break | None]:
    """The verdict on an input, and the break that it rests on: the one at the most ordinary magnitude.

    The port fails where it breaks although the sum of the squares would stay in range. Beyond, formulas of equal
    quality differ: one that squares its input overflows at the root of the largest number, one that does not holds.
    The map shows it.

    Args:
      orders: binary orders above and below 1 within which a break counts.
    """
    breaks = [each for span in spans for each in span.breaks]
    counting = [each for each in breaks if abs(math.log2(each.magnitude)) <= orders]
    worst = min(counting or breaks, key=lambda each: abs(math.log2(each.magnitude)), default=None)
    return FAIL if counting else PASS, worst


def comparison(found: Reach, dtype: str, declared: float) -> Comparison:
    """A sweep as a row of the gate: the break that decides, or none.

    Args:
      declared: the bound that the workload's deviations of this gate raise it to.
    """
    row = Comparison(
        gate=STABILITY,
        pass_=found.pass_,
        case=found.input,
        leaf="",
        dtype=dtype,
        found_from=PORT,
        expected_from="tf",
        error=0.0,
        bound=declared,
        noise=None,
        verdict=PASS,
    )
    lost = found.worst
    if lost is None:
        return row
    return replace(
        row,
        case=f"{found.input} {lost.pattern}{lost.magnitude:.3g}",
        leaf=lost.leaf,
        error=lost.error,
        bound=max(lost.bound, declared),
        verdict=FAIL if found.verdict == FAIL and not lost.error <= declared else PASS,
        worst_index=lost.index,
        expected=lost.exact,
        found=lost.found,
        message=found.message,
    )
