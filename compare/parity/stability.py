"""Whether the port holds where the original holds: calls of a sweep, element by element, and what they add up to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from compare.parity.bands import bands_of
from compare.parity.breaks import Broken, Extent, Outcome, Reached
from compare.parity.measure import is_float, pattern, wide
from compare.record.parity_part import Comparison
from compare.record.vocabulary import FAIL, PASS, Judgement
from workloads.core.spec import STABILITY, Arrays
from workloads.core.sweeps import Probe

HOLDS, BREAKS, BETTER, BOTH = "holds", "port breaks", "port is better", "both break"
UNJUDGED = "nothing to judge"
"""The outcomes of a call: the port breaks where TensorFlow is right, or holds where it is not, or both break. Nothing
is judged where the exact values are beyond the type, or rounding decides them."""

TIMES_ORIGINAL = 4
"""Honest ports were measured at up to 2.1 times TensorFlow's own error."""


@dataclass(frozen=True)
class Rounding:
    """How values are rounded, and how often.

    Attributes:
      unit: the unit roundoff of the type that is computed in.
      tiny: its smallest normal number, below which XLA's CPU code has 0.
      largest: its largest number.
      times: how many roundings in a row the original's program makes, at most (`compare.hlo.stablehlo_text.roundings`).
      floors: by leaf, an error that counts nothing: that of rounding an ordinary gradient.
      digits: the fraction of the type's digits that an accurate value keeps: 0.5 of a whole program, 1.0 of a region.
    """

    unit: float
    tiny: float
    largest: float
    times: float
    floors: Mapping[str, float] = field(default_factory=dict)
    digits: float = 0.5

    @property
    def accurate(self) -> float:
        """Relative: a value within this error has at least this share of its digits right."""
        return self.unit**self.digits

    @property
    def inaccurate(self) -> float:
        """The relative error beyond which half of the digits are lost."""
        return math.sqrt(self.unit)

    @property
    def at_most(self) -> float:
        """Roundings that count: thousands of operations still leave half of the digits, or nothing is to judge by."""
        return min(self.times, 1 / self.inaccurate)


@dataclass(frozen=True)
class Values:
    """The results of one call: of the port, of the original, and of the original in float64.

    `moved` are float64 values of the original with every value moved by a rounding: what rounding does to its formula.
    Without them its formula is taken to lose nothing.
    """

    found: Arrays
    original: Arrays
    exact: Arrays
    moved: Sequence[Arrays] = ()


def by_leaf(values: Values, rounding: Rounding, *, until_broken: bool = False) -> dict[str, Outcome]:
    """Judge each leaf that has exact values.

    Args:
      until_broken: whether to stop at the first leaf that breaks: more samples may show that it does not.
    """
    outcomes: dict[str, Outcome] = {}
    for leaf, exact in values.exact.items():
        port, original = values.found.get(leaf), values.original.get(leaf)
        if port is None or original is None or not exact.size or not port.shape == original.shape == exact.shape:
            continue
        outcomes[leaf] = (_leaf if is_float(exact) else _exact_leaf)(leaf, values, rounding)
        if until_broken and outcomes[leaf].status in (BREAKS, BOTH):
            break
    return outcomes


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst outcome of all leaves."""
    return max(outcomes, key=lambda outcome: (_SEVERITY[outcome.status], outcome.error), default=Outcome(UNJUDGED))


def recurs(beside: Sequence[Outcome]) -> bool:
    """Whether a break is no chance: at least half of the calls beside it break too.

    Args:
      beside: outcomes of calls whose inputs differ by a few roundings.
    """
    return 2 * sum(outcome.status == BREAKS for outcome in beside) >= len(beside)


_SEVERITY: Mapping[str, int] = {UNJUDGED: -1, HOLDS: 0, BETTER: 1, BOTH: 2, BREAKS: 3}


def _exact_leaf(leaf: str, values: Values, rounding: Rounding) -> Outcome:
    """Integers and booleans, where rounding of the original's formula does not decide them."""
    exact, original, port = (leaves[leaf] for leaves in (values.exact, values.original, values.found))
    certain = np.logical_and.reduce([original == exact, *(sample[leaf] == exact for sample in values.moved)])
    wrong = certain & (port != exact)
    if not wrong.any():
        return Outcome(HOLDS if certain.any() else UNJUDGED, leaf)
    return _outcome_at(
        BREAKS, leaf, int(np.argmax(wrong)), (port, original, exact), np.where(wrong, np.inf, 0.0), 0.0 * wrong
    )


def _leaf(leaf: str, values: Values, rounding: Rounding) -> Outcome:
    with np.errstate(all="ignore"):
        return Outcome(HOLDS, leaf) if _holds(leaf, values, rounding) else weigh_leaf(leaf, values, rounding)


def _holds(leaf: str, values: Values, rounding: Rounding) -> bool:
    """Whether a quick check shows that a leaf holds: by bounds no wider than those of `weigh_leaf`."""
    exact, original, port = (wide(leaves[leaf]) for leaves in (values.exact, values.original, values.found))
    sizes, floor = np.abs(exact), rounding.floors.get(leaf, 0.0)
    tolerance = rounding.accurate * sizes + floor
    off, port_off = (np.abs(run - exact) for run in (original, port))
    doubtful = np.flatnonzero(~((off <= tolerance) & (port_off <= tolerance)))
    spreads = [np.abs(wide(sample[leaf]) - exact) for sample in values.moved]
    if not np.max(sizes) + np.max([0.0, *map(np.max, spreads)]) < rounding.largest / 2**4:
        return False
    if not doubtful.size:
        return True
    off, port_off = (_infinite_where_nan(errors.ravel()[doubtful]) for errors in (off, port_off))
    sizes = sizes.ravel()[doubtful]
    spread = np.max([0.0 * sizes, *(sample.ravel()[doubtful] for sample in spreads)], axis=0)
    scale = _scales(exact, values.original[leaf]).ravel()[doubtful]
    times = rounding.at_most
    floor += times * rounding.tiny
    inaccurate, port_inaccurate = (errors > rounding.inaccurate * scale + floor for errors in (off, port_off))
    if (inaccurate & ~port_inaccurate).any():
        return False

    def within(spread: np.ndarray) -> bool:
        once = rounding.unit * scale + spread
        return bool((port_off <= np.maximum(rounding.accurate * sizes, times * once) + floor).all())

    if within(spread) or not spreads:
        return within(spread)
    return within(np.maximum(spread, np.median(np.max(spreads, axis=0))))


def weigh_leaf(leaf: str, values: Values, rounding: Rounding) -> Outcome:
    """Judge a leaf of floats, element by element."""
    exact, original, port = (wide(leaves[leaf]) for leaves in (values.exact, values.original, values.found))
    with np.errstate(all="ignore"):
        spread = np.max(
            [np.zeros(exact.shape), *(np.abs(wide(sample[leaf]) - exact) for sample in values.moved)], axis=0
        )
        finite = np.isfinite(exact) & np.isfinite(spread)
        # A sample may be small by chance where those of its neighbours are not.
        spread = np.maximum(spread, np.median(spread[finite]) if finite.any() else 0.0)
        # Close to the largest number an honest formula may overflow a little earlier than another one.
        judgeable = finite & (np.abs(exact) + spread < rounding.largest / 2**4)
        scale = _scales(exact, values.original[leaf])
        once = rounding.unit * scale + spread
        times = rounding.at_most
        floor = times * rounding.tiny + rounding.floors.get(leaf, 0.0)
        off, port_off = (_infinite_where_nan(np.abs(run - exact)) for run in (original, port))
        right = judgeable & (off <= np.maximum(rounding.accurate * np.abs(exact), times * once) + floor)
        took = float(np.max((off - floor) / np.maximum(once, rounding.tiny), where=right, initial=0.0))
        bound = np.maximum(rounding.accurate * np.abs(exact), max(times, TIMES_ORIGINAL * took) * once) + floor
        within = port_off <= bound
        inaccurate, port_inaccurate = (errors > rounding.inaccurate * scale + floor for errors in (off, port_off))
        # A port that is finite where the original overflows, in float64 too, is the better one.
        alike = np.isinf(exact) & (pattern(original) == pattern(exact)) & (pattern(port) != pattern(exact))
        alike &= ~np.isfinite(port)
        masks = {
            BREAKS: right & ~within | alike,
            BOTH: judgeable & ~right & ~within,
            BETTER: judgeable & inaccurate & ~port_inaccurate,
        }
        port_off, bound = np.where(alike, np.inf, port_off), np.where(alike, 0.0, bound)
        for status, where in masks.items():
            if where.any():
                excess = np.where(where, _infinite_where_nan(port_off / np.maximum(bound, rounding.tiny)), -1.0)
                position = int(np.argmax(excess))
                return _outcome_at(status, leaf, position, (port, original, exact), port_off / scale, bound / scale)
    return Outcome(HOLDS if judgeable.any() else UNJUDGED, leaf)


def _scales(exact: np.ndarray, original: np.ndarray) -> np.ndarray:
    """The scale of each element's error: the largest value of its group of magnitudes."""
    scales = np.ones(exact.shape)
    for band in bands_of(exact, [original], 0.0):
        scales = np.where(True if band.others is None else ~band.others, band.scale, scales)
    return scales


def _infinite_where_nan(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), np.inf, values)


def _outcome_at(
    status: str,
    leaf: str,
    position: int,
    values: tuple[np.ndarray, np.ndarray, np.ndarray],
    errors: np.ndarray,
    bounds: np.ndarray,
) -> Outcome:
    index = tuple(int(i) for i in np.unravel_index(position, errors.shape))
    port, original, exact = (float(np.real(array[index])) for array in values)
    return Outcome(status, leaf, index, port, original, exact, float(errors[index]), float(bounds[index]))


def broken(probe: Probe, outcome: Outcome) -> Broken:
    """A call that the port breaks in."""
    return Broken(probe.pattern, probe.magnitude, outcome)


def deciding(extents: Sequence[Extent], orders: float) -> tuple[Judgement, Broken | None]:
    """The verdict on an input, and the break that it rests on: the one at the most ordinary magnitude.

    The port fails where it breaks although the sum of the squares would stay in range. Beyond, formulas of equal
    quality differ: one that squares its input overflows at the root of the largest number, one that does not holds.
    The map shows it.

    Args:
      extents: by pattern.
      orders: binary orders above and below 1 within which a break counts.
    """
    breaks = [broken for extent in extents for broken in extent.breaks]
    counting = [broken for broken in breaks if abs(math.log2(broken.magnitude)) <= orders]
    worst = min(counting or breaks, key=lambda broken: abs(math.log2(broken.magnitude)), default=None)
    return FAIL if counting else PASS, worst


def comparison(reach: Reached, dtype: str, declared_bound: float) -> Comparison:
    """A sweep as a row of the gate: the break that decides, or none.

    Args:
      declared_bound: the bound that the workload's deviations of this gate raise it to.
    """
    row = Comparison(
        gate=STABILITY,
        pass_=reach.pass_,
        case=reach.input,
        leaf="",
        dtype=dtype,
        found_from=reach.mode,
        expected_from="tf",
        error=0.0,
        bound=declared_bound,
        verdict=PASS,
        message="",
    )
    worst = reach.worst
    if worst is None:
        return row
    return msgspec.structs.replace(
        row,
        case=f"{reach.input} {worst.pattern}{worst.magnitude:.3g}",
        leaf=worst.outcome.leaf,
        error=reach.error,
        bound=max(worst.outcome.bound, declared_bound),
        verdict=FAIL if reach.verdict == FAIL and not reach.error <= declared_bound else PASS,
        worst_index=worst.outcome.index,
        expected=worst.outcome.exact,
        found=worst.outcome.found,
        message=reach.message,
    )
