"""Holding one leaf against one bound: the comparison, and what made the bound as wide as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.parity import messages
from compare.parity.evidence import FLOAT32, TF_REFERENCE, TF_XLA, Evidence
from compare.parity.measure import Distance, distance, largest, scale_of
from compare.parity.messages import Place
from compare.parity.own_modes import DISAGREES
from compare.record.parity_part import Comparison, Disagreement
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS, Composed
from workloads.core.spec import Arrays

Noise = Mapping[tuple[str, str, str], float]


LARGEST_ALLOWANCE = 0.01
"""Constants may explain much where a run amplifies what moves it; a bound beyond 1 % would judge nothing."""


@dataclass(frozen=True)
class Context:
    """The evidence, and TF eager against TF XLA per (pass, case, leaf)."""

    evidence: Evidence
    noise: Noise


@dataclass(frozen=True)
class Bound:
    """A relative bound by its parts.

    Attributes:
      base: the rule's own.
      allowance: what rounded constants add.
      formula: what the original's own formula adds.
      amplified: what roundings that are amplified add, where every region holds.
      declared: what a declaration raises it to.
      basis: what the rule's own bound rests on, for messages.
    """

    base: float
    allowance: float = 0.0
    formula: float = 0.0
    amplified: float = 0.0
    declared: float = 0.0
    basis: str = ""

    @property
    def without_declaration(self) -> float:
        """The bound without the declaration."""
        return self.base + min(self.allowance, LARGEST_ALLOWANCE) + self.formula + self.amplified

    @property
    def value(self) -> float:
        """The largest relative error that passes."""
        return max(self.without_declaration, self.declared)

    def holds(self, error: float) -> bool:
        """Whether an error is within; a spread that could not be measured excuses nothing."""
        return math.isfinite(self.allowance) and error <= self.value

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.basis})" if self.basis else f"{self.value:.3g}"


@dataclass(frozen=True)
class Held:
    """A leaf beside its bound.

    Attributes:
      place: what is compared with what.
      dtype: of what was found.
      far: how far it is, and where.
      bound: by its parts; None where there was nothing to measure.
      noise: of TensorFlow, in the same measure; None where its modes did not run.
      verdict: whether the error is within the bound; not judged where a run is missing.
      message: one line where it is not, where a run is missing, or where the bound was widened.
      says: that its regions were judged, or which other mode of TensorFlow it follows; empty where it holds, or fails,
        as it is.
      finding: where TensorFlow's own modes disagree; None where they do not.
    """

    place: Place
    dtype: str
    far: Distance
    bound: Bound | None
    noise: float | None
    verdict: Composed
    message: str
    says: str = ""
    finding: Disagreement | None = None

    @property
    def error(self) -> float:
        """Relative to the largest value; infinite where nothing could be measured."""
        return self.far.error

    @property
    def limit(self) -> float:
        """The largest error that passes; 0 where nothing could be measured."""
        return self.bound.value if self.bound else 0.0

    def to_record(self) -> Comparison:
        """The record of it."""
        return Comparison(
            gate=self.place.gate,
            pass_=self.place.pass_,
            case=self.place.case,
            leaf=self.place.leaf,
            dtype=self.dtype,
            found_from=self.place.found_from,
            expected_from=self.place.expected_from,
            error=None if self.verdict == NOT_JUDGED else self.error,
            bound=None if self.verdict == NOT_JUDGED else self.limit,
            noise=self.noise,
            verdict=self.verdict,
            worst_index=self.far.index,
            expected=_number(self.far.expected),
            found=_number(self.far.found),
            message=self.message,
        )


Leaves = Mapping[str, Sequence[Held]]
"""By gate, every leaf that it holds."""


def measure_noise(evidence: Evidence) -> Noise:
    """TF eager against TF XLA on every leaf that both have."""
    noise: dict[tuple[str, str, str], float] = {}
    for mode, pass_, case in evidence.outputs:
        eager, xla = evidence.outputs.get((TF_REFERENCE, pass_, case)), evidence.outputs.get((TF_XLA, pass_, case))
        if mode != TF_XLA or eager is None or xla is None:
            continue
        model_scale = largest(eager.values())
        for leaf in eager.keys() & xla.keys():
            if eager[leaf].shape == xla[leaf].shape:
                noise[pass_, case, leaf] = distance(xla[leaf], eager[leaf], scale_of(eager[leaf], model_scale)).error
    return noise


def mismatch(place: Place, actual: np.ndarray | None, expected: np.ndarray | None) -> str:
    """Why two arrays cannot be compared element by element; empty where they can.

    Args:
      actual: f[...], None where the run lacks the leaf.
      expected: f[...], likewise.
    """
    if actual is None and expected is not None:
        return messages.one_sided(place.expected_name, place.found_from, expected)
    if expected is None and actual is not None:
        return messages.one_sided(place.found_from, place.expected_name, actual)
    if actual is not None and expected is not None and actual.shape != expected.shape:
        shapes = list(actual.shape), list(expected.shape)
        return messages.unequal("shape", place.found_from, shapes[0], place.expected_name, shapes[1])
    return ""


def missing_runs(
    context: Context, place: Place, actual: Arrays | None, expected: Arrays | None, dtypes: tuple[str, str]
) -> list[Held]:
    """The comparison for each run that is not there; nothing where both are.

    It fails where the port does not compute what the original does. Nothing is judged where the original's run is
    missing, a float64 run, which the port need not have, or an answer of a worker that was lost.

    Args:
      actual: the leaves of one run, None where it is missing.
    """
    runs = zip((place.found_from, place.expected_from), (actual, expected), dtypes, strict=True)
    absent = [(source, dtype) for source, run, dtype in runs if run is None]
    of_port = expected is not None and dtypes[0] == FLOAT32
    fails = of_port and context.evidence.is_at_fault(place.found_from, place.pass_)
    say = refuse if fails else leave_open
    return [
        say(place, messages.absent(source, dtype, context.evidence.why(source, place.pass_, dtype)), dtype)
        for source, dtype in absent
    ]


def leave_open(place: Place, reason: str, dtype: str) -> Held:
    """A comparison that cannot be made, since one of the two is missing: neither a pass nor a failure."""
    return Held(place, dtype, Distance(math.inf), None, None, NOT_JUDGED, messages.cannot_compare(place, reason))


def refuse(place: Place, problem: str, dtype: str) -> Held:
    """A comparison that fails before any value is looked at; no declared deviation covers it."""
    message = messages.cannot_compare(place, problem)
    return Held(place, dtype, Distance(math.inf), None, None, FAIL, message)


def hold(
    context: Context,
    place: Place,
    far: Distance,
    bound: Bound,
    dtype: str,
    notes: tuple[str, ...] = (),
    says: str = "",
) -> Held:
    """Hold an error against a bound.

    The message is written where the comparison fails, where its bound was widened, and where `notes` or `says` are not
    empty.

    Args:
      bound: what the error may be.
    """
    own_noise = context.noise.get((place.pass_, place.case, place.leaf))
    verdict = PASS if bound.holds(far.error) else FAIL
    notes = (*notes, *([says] if says else []), *_explain_widening(context.evidence, place, bound))
    message = ""
    if verdict == FAIL or notes:
        message = messages.error_beside_bound(
            place, far, dtype, str(bound), (*notes, *_of_tensorflow(context, place, own_noise))
        )
    return Held(place, dtype, far, bound, own_noise, verdict, message, says)


def _of_tensorflow(context: Context, place: Place, noise: float | None) -> tuple[str, ...]:
    """Remark how far TensorFlow's modes differ; where they do, which of them the port agrees with."""
    if noise is None:
        return ()
    evidence = context.evidence
    port = evidence.outputs.get((evidence.port, place.pass_, place.case), {}).get(place.leaf)
    if noise < DISAGREES or port is None:
        return (messages.noise(noise),)
    close: dict[str, bool] = {}
    for mode in evidence.original_modes(place.pass_):
        theirs = evidence.outputs.get((mode, place.pass_, place.case), {}).get(place.leaf)
        if theirs is not None and theirs.shape == port.shape:
            close[mode] = distance(port, theirs, scale_of(theirs, 0.0)).error < DISAGREES
    like = [mode for mode in close if close[mode]]
    unlike = [mode for mode in close if not close[mode]]
    return messages.noise(noise), messages.modes(like, unlike)


def _explain_widening(evidence: Evidence, place: Place, bound: Bound) -> tuple[str, ...]:
    notes = explain_bound(evidence, place.pass_, bound)
    is_raised = bound.declared > bound.without_declaration
    return (*notes, *(messages.declaration(deviation) for deviation in evidence.deviations_of(place.gate) if is_raised))


def explain_bound(evidence: Evidence, pass_: str, bound: Bound) -> tuple[str, ...]:
    """Explain what widens a bound without a declaration.

    Args:
      evidence: knows where float64 arrays came from.
    """
    constants = (messages.constants(bound.allowance, sources(evidence, pass_)),) if bound.allowance else ()
    return (*constants, messages.formula(bound.formula)) if bound.formula else constants


def sources(evidence: Evidence, pass_: str) -> str:
    """Where the float64 arrays of a pass came from, both sides."""
    sides = [side for side in ("tf", "jax") if (side, pass_) in evidence.oracle]
    return ", ".join(f"{side} {evidence.oracle[side, pass_]}" for side in sides)


def _number(value: Any) -> float | None:
    return None if value is None or np.iscomplexobj(value) else float(value)
