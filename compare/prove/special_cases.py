"""Cases with NaN, infinities and other special values, where either program decides by them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.hlo.conditions import NAN as NAN_ASKED
from compare.hlo.conditions import Ways, special_conditions
from compare.hlo.watching import Watched
from compare.parity import unjudged
from compare.parity.measure import UNIT_ROUNDOFF, distance, is_float, scale_of, unlike
from compare.prove.running import Running
from compare.prove.subjects import Readable
from compare.prove.watched_decisions import WatchedDecisions, watch_decisions
from workloads.core.modes import JAX, TF
from workloads.core.spec import Arrays, ArraySpec
from workloads.core.specials import MIXED, NAN, Special
from workloads.core.specials import special_cases as draw_special_cases
from workloads.protocol.framework import FORWARD, Twin

AGREES = 2.0**-8
"""Relative: results of one function in float32 and float64 are closer, and those of another branch are farther."""
_ROUNDINGS = 16
"""The bound for a narrower type, in its roundings."""
_MOST_DRAWN = 64
_MOST_KEPT, _MOST_KEPT_OF_MODEL = 48, 12
"""The most cases that are kept: fewer of a model, whose calls take longer."""


@dataclass(frozen=True)
class Runs:
    """Results of TensorFlow's own modes, by mode; a string says why there are none.

    Attributes:
      reference: has to agree with the program that XLA runs in float64, since it is computed with the same constants.
      own: in the types that the function is written in; they have to agree with one another.
    """

    reference: Mapping[str, Arrays | str] = field(default_factory=dict)
    own: Mapping[str, Arrays | str] = field(default_factory=dict)


Original = Callable[[str, Arrays], Runs]
"""Asks TensorFlow's own modes for a pass on inputs; they give nothing without a TensorFlow side."""


@dataclass(frozen=True)
class SpecialCases:
    """Cases with special values that TensorFlow's own modes agree on, and remarks on decisions that they leave open."""

    cases: Mapping[str, Arrays] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def special_cases(
    twin: Twin,
    specs: Mapping[str, ArraySpec],
    programs: Sequence[Readable],
    base: Arrays,
    run: Callable[[], Mapping[str, Running]],
    original: Original,
) -> SpecialCases:
    """Cases with special values, about which programs decide.

    Args:
      specs: its inputs, by name.
      programs: the forward pass of both sides, in float64.
      run: gives these, compiled, by side.

    Raises:
      UnreadableProgram: XLA does not run a program apart from its framework.
    """
    candidates = (watch_decisions(of, Watched(of.graph, special_conditions), twin) for of in programs)
    watches = [watch for watch in candidates if watch is not None]
    if not watches:
        return SpecialCases()
    specials = list(itertools.islice(draw_special_cases(specs, base), _MOST_DRAWN))
    ways = [watch.decides([special.arrays for special in specials]) for watch in watches]
    turning = [
        position for position in range(len(specials)) if _turns(watches, [of_side[position] for of_side in ways])
    ]
    trial = _Trial(run, original, _asks_for_infinities(watches))
    cases: dict[str, Arrays] = {}
    reasons: dict[int, str] = {}
    for position in turning:
        if len(cases) < (_MOST_KEPT_OF_MODEL if twin.weights else _MOST_KEPT):
            reasons[position] = trial.unfit(specials[position])
            if not reasons[position]:
                cases[f"{specials[position].kind}{len(cases)}"] = specials[position].arrays
    for position, reason in reasons.items():
        for watch, of_side in zip(watches, ways, strict=True):
            if not reason:
                watch.look(of_side[position])
    return SpecialCases(cases, tuple(_remarks(watches, ways, specs, specials, reasons)))


def select_gradients(expected: Arrays, runs: Runs) -> set[str]:
    """The gradients of a special case that are judged: finite in TensorFlow's own modes, and alike in all.

    Args:
      expected: those of TensorFlow's float64 program, by leaf.
      runs: those of its own modes; without any, no gradient is judged.
    """
    return {
        leaf for leaf, array in expected.items() if np.isfinite(array).all() and not _departing(expected, runs, leaf)
    }


def _asks_for_infinities(watches: Sequence[WatchedDecisions]) -> bool:
    conditions = (condition for watch in watches if watch.of.side == TF for condition in watch.watched.conditions)
    return any(condition.direction != NAN_ASKED for condition in conditions)


def _turns(watches: Sequence[WatchedDecisions], ways: Sequence[Sequence[Ways]]) -> bool:
    """Whether a case decides in a way that no ordinary one did, or about a special value.

    An ordinary value that becomes NaN does not show what happens to an input that is NaN.
    """
    return any(
        watch.adds(way)
        or any(condition.is_special_in(of) for condition, of in zip(watch.watched.conditions, way, strict=True))
        for watch, way in zip(watches, ways, strict=True)
    )


@dataclass(frozen=True)
class _Trial:
    """Tries whether the original has a definite result in a case with special values.

    Attributes:
      run: gives the float64 programs, compiled, by side.
      original: asks TensorFlow's own modes.
      asks_for_infinities: whether TensorFlow's program tells infinities from numbers.
    """

    run: Callable[[], Mapping[str, Running]]
    original: Original
    asks_for_infinities: bool

    def unfit(self, special: Special) -> str:
        """Why ports are not judged by the case; empty where they are."""
        expected, port = (self.run()[side]([special.arrays])[0] for side in (TF, JAX))
        if not self.asks_for_infinities and special.kind != NAN and any(_has_nan(array) for array in expected.values()):
            # The original turns an infinity into NaN and has no branch for it: there is no value to judge by.
            return unjudged.SPECIAL_WITHOUT_VALUE
        if special.kind != NAN and any(
            _overflows(port[leaf], expected[leaf]) for leaf in expected.keys() & port.keys()
        ):
            return unjudged.SPECIAL_OVERFLOW
        return _departing(expected, self.original(FORWARD, special.arrays))


def _departing(expected: Arrays, runs: Runs, leaf: str = "") -> str:
    """Why TensorFlow's modes have no definite result of a leaf, or of any; empty where all agree."""
    if not runs.reference:
        return unjudged.SPECIAL_UNASKED
    refusals = [(mode, run) for mode, run in (*runs.reference.items(), *runs.own.items()) if isinstance(run, str)]
    if refusals:
        return unjudged.special_refused(*refusals[0])
    reference, own = (
        [run for run in group.values() if not isinstance(run, str)] for group in (runs.reference, runs.own)
    )
    pairs = [(run, expected) for run in reference] + [(run, own[0]) for run in own[1:]]
    leaves = [leaf] if leaf else list(expected)
    if all(
        name in one and name in other and _is_close(one[name], other[name]) for one, other in pairs for name in leaves
    ):
        return ""
    return unjudged.special_disagreement(list(dict.fromkeys((*runs.reference, *runs.own))))


def _is_close(array: np.ndarray, expected: np.ndarray) -> bool:
    if array.shape != expected.shape or unlike(array, expected).any():
        return False
    bound = max(AGREES, _ROUNDINGS * UNIT_ROUNDOFF.get(array.dtype.name, 0.0))
    return not is_float(expected) or distance(array, expected, scale_of(expected, 0.0)).error <= bound


def _overflows(array: np.ndarray, expected: np.ndarray) -> bool:
    """Whether an element is NaN where the original overflows: equally good formulas differ so after an overflow."""
    if array.shape != expected.shape or not is_float(expected):
        return False
    return bool((np.isinf(expected) & np.isnan(array)).any())


def _has_nan(array: np.ndarray) -> bool:
    return is_float(array) and bool(np.isnan(array).any())


def _remarks(
    watches: Sequence[WatchedDecisions],
    ways: Sequence[Sequence[Sequence[Ways]]],
    specs: Mapping[str, ArraySpec],
    specials: Sequence[Special],
    reasons: Mapping[int, str],
) -> Iterator[str]:
    """Remarks on what the cases do not judge: decisions with a single result, or a special value without a case."""
    ranges = [name for name, spec in specs.items() if spec.is_float and spec.low is not None]
    is_open = False
    for watch, of_side in zip(watches, ways, strict=True):
        for position, condition, holds in watch.find_one_sided():
            is_open = True
            refusals = (reason for case, reason in reasons.items() if reason and of_side[case][position][holds])
            why = next(refusals, "") or (unjudged.special_range(ranges) if ranges else unjudged.SPECIAL_UNREACHED)
            yield unjudged.one_branch(watch.of.side, str(condition), condition.line, holds, why)
    kinds = {specials[position].kind for position, reason in reasons.items() if not reason}
    reason_of_kind = {
        specials[position].kind: reason
        for position, reason in reasons.items()
        if reason and specials[position].kind not in {*kinds, MIXED}
    }
    if not is_open:
        yield from (unjudged.special_lost(kind, reason) for kind, reason in list(reason_of_kind.items())[:1])
