"""The evidence that gates judge: arrays of both sides, the sources of float64 arrays, and reasons for missing ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

from compare.parity.bands import Scales, bands_of
from compare.parity.measure import UNIT_ROUNDOFF, WIDE, largest
from compare.record.workload_part import Failure
from workloads.core.modes import (
    JAX,
    JAX_TUNED,
    PORT,
    TF,
    TF_APART,
    TF_AUTOCLUSTER,
    TF_EAGER,
    TF_GRAPH,
    TF_HANDWRITTEN,
    TF_JIT,
    TF_KERAS,
    TF_KERAS_GRAPH,
    TF_KERAS_STEPS,
    parse_mode,
)
from workloads.core.spec import Arrays, Deviation
from workloads.protocol.framework import GRADIENTS, STEP, is_kinks
from workloads.protocol.trajectory import kept_as

Value = TypeVar("Value")

FLOAT32, FLOAT64 = "float32", "float64"

TRAJECTORY = "trajectory"
"""The ordinary training run as a case of the pass "step"; those that start farther on have names of their own."""

TF_REFERENCE = str(TF_EAGER)
TF_XLA = str(TF_JIT)
PORT = str(PORT)
TUNED = str(JAX_TUNED)

REFERENCES = tuple(map(str, (TF_GRAPH, TF_AUTOCLUSTER, TF_JIT)))
"""Modes that replace TensorFlow's eager mode if it cannot run a pass, in this order."""

FURTHER = tuple(str(mode) for mode in (TF_KERAS, TF_KERAS_GRAPH, TF_KERAS_STEPS, TF_HANDWRITTEN, TF_APART))
"""TensorFlow's modes that run something else than the twin's own functions: judged like the port, and no measure of
TensorFlow's own noise, since a wrong one would excuse a wrong port."""


@dataclass(frozen=True)
class OracleSource:
    """Where float64 arrays came from: "native" (the side built in float64) or "promoted" (its StableHLO rewritten)."""

    kind: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.kind} ({self.reason})" if self.reason else self.kind


@dataclass(frozen=True)
class Otherwise:
    """A float64 run of TensorFlow in another mode than that of the reference.

    Attributes:
      mode: the mode.
      instead_of: that of the reference.
      arrays: its leaves.
    """

    mode: str
    instead_of: str
    arrays: Arrays


@dataclass(frozen=True)
class Amplified:
    """A run in float32 each of whose regions rounds as TensorFlow's does: what it is off by was amplified behind them.

    Attributes:
      spread: by leaf, how far TensorFlow's own result moves with roundings of what it is computed from.
      says: how many regions were judged, in a line.
    """

    spread: Mapping[str, float]
    says: str


@dataclass(frozen=True)
class Evidence:
    """All arrays of one workload, both sides."""

    workload: str
    outputs: Mapping[tuple[str, str, str], Arrays]
    """(mode, pass, case) -> leaves, as the twins are written (float32)."""
    doubles: Mapping[tuple[str, str, str], Arrays]
    """(side, pass, case) -> leaves, in float64."""
    oracle: Mapping[tuple[str, str], OracleSource] = field(default_factory=dict)
    """(side, pass) -> where the float64 leaves came from."""
    allowance: Mapping[tuple[str, str, str, int], float] = field(default_factory=dict)
    """(pass, case, leaf, group of magnitudes) -> relative spread that rounded constants explain; 0 where absent."""
    formula: Mapping[tuple[str, str, str, str, int], float] = field(default_factory=dict)
    """("float64" or "float32", pass, case, leaf, group of magnitudes) -> relative spread that rounding of that width
    makes of the original's own formula; 0 where absent."""
    trajectories: Mapping[tuple[str, str], Arrays] = field(default_factory=dict)
    """(mode, dtype) -> "loss" of shape [steps], and "weights@STEP/LEAF" at each checkpoint."""
    deviations: tuple[Deviation, ...] = ()
    failures: tuple[Failure, ...] = ()
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """gate -> why there can be no evidence for it; without such a reason, a gate whose evidence is missing is not
    judged."""
    refusals: tuple[Failure, ...] = ()
    """The parts that a side declares missing for this workload."""
    remarks: tuple[str, ...] = ()
    """Remarks on what no case judges, shown where the outputs hold."""
    open_integers: tuple[str, ...] = ()
    """Inputs of 64-bit integers without a declared range: the values drawn say nothing of those of a user."""
    training_remarks: tuple[str, ...] = ()
    """Remarks on what no training run judges, shown where training holds."""
    ordinary: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(pass, leaf) -> the largest value at the workload's own size, where another one is judged."""
    regions: Mapping[tuple[str, str], Amplified] = field(default_factory=dict)
    """(pass, case) of each run in float32 that fails as a whole, and whose regions hold."""
    otherwise: Mapping[tuple[str, str], Otherwise] = field(default_factory=dict)
    """(pass, case) -> TensorFlow's float64 run in its other mode, where its own modes may disagree."""
    port: str = PORT
    """The mode that is judged in any case: the port's main one, or a peer's."""
    computes_in: str = ""
    """The type that the workload, not the port, declares for its computation where it is narrower than its results."""
    further: tuple[str, ...] = FURTHER
    """The modes of the original that are judged like the port, and are no measure of its noise."""
    stand_in: str = ""
    """The name in messages of the mode that replaces TensorFlow's eager mode; else empty."""
    _computed: dict[tuple[str, ...], tuple[tuple[object, ...], Any]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Results that were computed of a run, with their inputs: several gates and judgements need them."""

    def modes(self, side: str, pass_: str) -> tuple[str, ...]:
        """Every mode of a side that ran this pass."""
        return tuple(sorted({mode for mode, ran, _ in self.outputs if ran == pass_ and side_of(mode) == side}))

    def judged_modes(self, pass_: str) -> tuple[str, ...]:
        """The modes that are judged: the port's main one, which may not be absent, then all others that ran."""
        others = [mode for mode in self.modes("jax", pass_) if mode != self.port]
        return (self.port, *others, *(mode for mode in self.modes("tf", pass_) if mode in self.further))

    def original_modes(self, pass_: str) -> tuple[str, ...]:
        """The modes of the original that show its own noise."""
        return tuple(mode for mode in self.modes("tf", pass_) if mode not in self.further)

    def scales(self, pass_: str, case: str, expected: Arrays) -> Scales:
        """The scales of a run's errors.

        Args:
          expected: the float64 values of the run, by leaf.
        """
        made_of = self.outputs, self.further, expected
        return self.once(("scales", pass_, case), made_of, lambda: self.measured_scales(pass_, case, expected))

    def once(self, key: tuple[str, ...], made_of: tuple[object, ...], compute: Callable[[], Value]) -> Value:
        """Compute a value of a run, again only if one of its inputs is another object."""
        entry = self._computed.get(key)
        if entry is None or any(one is not other for one, other in zip(entry[0], made_of, strict=True)):
            entry = self._computed[key] = made_of, compute()
        return entry[1]

    def measured_scales(self, pass_: str, case: str, expected: Arrays) -> Scales:
        """Like `scales`, for other expected values than the reference's.

        Args:
          expected: the float64 values of the run, by leaf.
        """
        expected = {leaf: self._representable(pass_, leaf, array) for leaf, array in expected.items()}
        model = largest(expected.values())
        runs = [self.outputs.get((mode, pass_, case), {}) for mode in self.original_modes(pass_)]
        # Without a run of its own types, as in a case that the programs suggest, nothing is known to be noise.
        bands = {
            leaf: bands_of(array, [run[leaf] for run in runs if leaf in run] or [array], model)
            for leaf, array in expected.items()
        }
        return Scales(model, bands)

    def _representable(self, pass_: str, leaf: str, array: np.ndarray) -> np.ndarray:
        """The float64 values with 0 for those that the type of the leaf has no number for.

        Far out, an erf leaves 0 or 1e-165, by its formula. No program that is written in float32 gives either there.
        """
        dtype = next(
            (run[leaf].dtype for (_, ran, _), run in self.outputs.items() if ran == pass_ and leaf in run), None
        )
        if dtype is None or dtype.name not in UNIT_ROUNDOFF or array.dtype.kind != "f":
            return array
        has_no_number = np.abs(array) < float(ml_dtypes.finfo(dtype).smallest_subnormal)
        return np.where(has_no_number, 0.0, array) if has_no_number.any() else array

    def float_cases(self, pass_: str) -> tuple[str, ...]:
        """Every case that any mode ran in the twins' own dtypes."""
        return _sort_cases({case for _, ran, case in self.outputs if ran == pass_})

    def cases(self, pass_: str) -> tuple[str, ...]:
        """Every case that anything ran, in any dtype."""
        return _sort_cases({*self.float_cases(pass_), *(case for _, ran, case in self.doubles if ran == pass_)})

    def deviations_of(self, gate: str) -> tuple[Deviation, ...]:
        """The deviations that raise this gate's bound."""
        return tuple(deviation for deviation in self.deviations if deviation.gate == gate)

    def declared_bound(self, gate: str) -> float:
        """The declared bound of this gate; 0 without one."""
        return max((deviation.bound for deviation in self.deviations_of(gate)), default=0.0)

    def reference_mode(self, pass_: str, case: str) -> str:
        """The mode of the original that stands for it as it is written: eager, or the first other that ran."""
        modes = (TF_REFERENCE, *REFERENCES)
        return next((mode for mode in modes if (mode, pass_, case) in self.outputs), TF_REFERENCE)

    def is_wide(self, pass_: str, case: str, leaf: str) -> bool:
        """Whether the original's own result, as it is written, is float64 already."""
        runs = self.trajectories.get((TF_REFERENCE, FLOAT32), {}) if pass_ == STEP else {}
        array = (runs or self.outputs.get((TF_REFERENCE, pass_, case), {})).get(leaf)
        return array is not None and array.dtype.name in WIDE

    def is_at_fault(self, source: str, pass_: str) -> bool:
        """Whether a run is missing because the port does not compute it: no worker was lost, and no side refused."""
        side, _, mode = source.partition("/")
        if side == TF or any(failure.lost for failure in self.failures if failure.side == side):
            return False
        return not any(
            refusal.side == side and refusal.of_pass == pass_ and refusal.mode in ("", mode)
            for refusal in self.refusals
        )

    def why(self, source: str, pass_: str = "", dtype: str = "") -> str:
        """Why a run is missing, in one sentence: what its side failed at, of that run before any other.

        Args:
          pass_: the pass; empty of any.
          dtype: of the run; empty of any.
        """
        side, _, mode = source.partition("/")
        of_side = [failure for failure in (*self.failures, *self.refusals) if failure.side in (side, "both sides")]

        def near(failure: Failure) -> tuple[bool, bool, bool]:
            of_double = failure.doing.startswith(FLOAT64) or failure.doing.endswith(FLOAT64)
            return failure.of_pass == pass_, of_double == (dtype == FLOAT64), not mode or failure.mode == mode

        nearest = max(of_side, key=near, default=None)
        return f"{nearest.doing}: {nearest.reason}" if nearest else "no reason was given"


def side_of(source: str) -> str:
    """The side of a mode such as "jax/jit"; of float64 arrays, which have no mode, the side that is named."""
    return source if source in (TF, JAX) else parse_mode(source).side


def _sort_cases(cases: Set[str]) -> tuple[str, ...]:
    # Random cases first: a difference that shows in them is no question of kinks.
    return tuple(sorted(cases, key=lambda case: (is_kinks(case), case)))


def has_kinks(evidence: Evidence) -> bool:
    """Whether the gradients were taken at ties, zeros and edges."""
    return any(is_kinks(case) for case in evidence.cases(GRADIENTS))


def step_of(name: str, arrays: Arrays) -> int:
    """The training step that a trajectory's array belongs to: its checkpoint, or the length of the curve."""
    checkpoint = kept_as(name)
    return len(arrays[name]) if checkpoint is None else checkpoint.step


def promoted_mode(side: str) -> str:
    """The mode that stands for the training runs of a side's promoted step."""
    return f"{side}/promoted"


def double_mode(evidence: Evidence, side: str) -> str:
    """The mode whose float64 training run stands for a side; empty where none ran.

    That of its promoted step before others: where there is one, the other runs do not compute in float64 throughout.

    Args:
      side: "tf" or "jax".
    """
    modes = sorted(mode for mode, dtype in evidence.trajectories if dtype == FLOAT64 and side_of(mode) == side)
    defaults = promoted_mode(side), TF_REFERENCE if side == TF else evidence.port
    return next((mode for mode in (*defaults, *modes) if mode in modes), "")


def trajectories_as_runs(evidence: Evidence) -> Evidence:
    """The ordinary training runs as one case of the pass "step" beside its placed ones, for the same rules to judge."""
    outputs = {
        (mode, STEP, TRAJECTORY): run for (mode, dtype), run in evidence.trajectories.items() if dtype == "float32"
    }
    doubles = {key: run for key, run in evidence.doubles.items() if key[1] == STEP}
    for side in (TF, JAX):
        if mode := double_mode(evidence, side):
            doubles[side, STEP, TRAJECTORY] = evidence.trajectories[mode, FLOAT64]
    return replace(evidence, outputs=outputs, doubles=doubles, trajectories={})
