"""Parity of one workload: the gates judge the evidence of both sides."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.narrowings import rounds_further
from compare.hlo.promote import PromotionError
from compare.parity import Evidence, explicable, find_amplified, held_leaves, judge_held
from compare.parity.evidence import Otherwise
from compare.parity.holding import Leaves
from compare.prove.beside_ties import judge_beside_ties
from compare.prove.both_sides import BothSides
from compare.prove.by_regions import RegionJudge
from compare.prove.collect import FLOAT32
from compare.prove.guided_training import drift, guided_training
from compare.prove.oracle import runner_of, twin_with
from compare.prove.original_modes import OriginalModes
from compare.prove.other_modes import with_eager, with_xla
from compare.prove.own_formula import explain_by_formula
from compare.prove.rounded_constants import PERTURBATIONS, ConstantSpreads
from compare.record.parity_part import Parity
from compare.record.vocabulary import FAIL, PASS
from compare.record.workload_part import Failure
from compare.sides._side import SideError
from compare.sides.workers import failure_of
from workloads.core.modes import JAX, TF
from workloads.core.precision import narrow_dtype
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, GRADIENTS, STEP, has_no_gradient
from workloads.protocol.trajectory import LOSS

Place = TypeVar("Place")
"""The place of an error that is explained."""


def judge_gates(sides: BothSides, ordinary: Mapping[tuple[str, str], float] | None = None) -> Parity:
    """The gates at their strictest; once more with what rounding does to constants and to the formula, and by regions.

    Args:
      ordinary: see `Evidence`; at another size than the workload's own.
    """
    judge = _Judge(ordinary or {})
    comparison = judge.compare(sides)
    # Before rounded constants, which compile the training step several times.
    fails_in_training_alone = comparison.failing_gates == {"training"}
    in_steps = judge.guide_training(comparison) if fails_in_training_alone else None
    comparison = judge.leave_out_ties(in_steps or judge.explain(comparison))
    if not fails_in_training_alone and "training" in comparison.failing_gates:
        comparison = judge.guide_training(comparison) or comparison
    return judge_held(comparison.evidence, comparison.leaves)


def compare_strictly(sides: BothSides, pass_: str) -> Leaves:
    """Every leaf of a pass beside its strictest bound, by gate: nothing is done to explain an error."""
    evidence = _evidence(sides)
    of_pass = dataclasses.replace(
        evidence,
        outputs={run: arrays for run, arrays in evidence.outputs.items() if run[1] == pass_},
        doubles={run: arrays for run, arrays in evidence.doubles.items() if run[1] == pass_},
        trajectories=evidence.trajectories if pass_ == STEP else {},
    )
    leaves = held_leaves(of_pass)
    return {gate: [leaf for leaf in of_gate if leaf.place.pass_ == pass_] for gate, of_gate in leaves.items()}


@dataclass(frozen=True)
class _Comparison:
    """The evidence of a workload, each array of it beside its bound.

    Attributes:
      sides: the workload, and what both sides delivered.
      evidence: what is compared, and what widens bounds.
      leaves: every comparison, by gate.
    """

    sides: BothSides
    evidence: Evidence
    leaves: Leaves

    @property
    def failing_gates(self) -> set[str]:
        """The names of gates in which a leaf fails."""
        return {gate for gate, leaves in self.leaves.items() if any(leaf.verdict == FAIL for leaf in leaves)}

    @property
    def failing_runs(self) -> set[tuple[str, str]]:
        """Pass and case of each run in which a leaf fails."""
        leaves = (leaf for gate in self.leaves.values() for leaf in gate if leaf.verdict == FAIL)
        return {(leaf.place.pass_, leaf.place.case) for leaf in leaves}

    def widen(self, **changes: object) -> _Comparison:
        """The comparison of the same leaves with the bounds of wider evidence."""
        return self.replace_evidence(dataclasses.replace(self.evidence, **changes))

    def replace_evidence(self, evidence: Evidence) -> _Comparison:
        """The comparison of other evidence; the same object where it is the same evidence."""
        return self if evidence is self.evidence else _Comparison(self.sides, evidence, held_leaves(evidence))


@dataclass(frozen=True)
class _Judge:
    """Compares the evidence of one workload, and measures what widens bounds.

    Attributes:
      ordinary: see `Evidence`.
      open_runs: pass and case of runs whose regions do not hold, which are not judged again.
    """

    ordinary: Mapping[tuple[str, str], float]
    open_runs: set[tuple[str, str]] = field(default_factory=set)

    def compare(
        self, sides: BothSides, otherwise: Mapping[tuple[str, str], Otherwise] = MappingProxyType({})
    ) -> _Comparison:
        """The evidence at its strictest, but for TensorFlow's other modes and for runs whose regions hold.

        Args:
          otherwise: results of TensorFlow's other modes that are known; see `Evidence`.
        """
        evidence = dataclasses.replace(_evidence(sides), ordinary=self.ordinary, otherwise=otherwise)
        return self._by_regions(_by_modes(_Comparison(sides, evidence, held_leaves(evidence))))

    def explain(self, comparison: _Comparison) -> _Comparison:
        """The comparison with the effect of rounding on constants and on the original's formula."""
        return self._by_regions(_by_formula(_by_constants(comparison)))

    def guide_training(self, comparison: _Comparison) -> _Comparison | None:
        """Training from TensorFlow's weights; None where a side cannot train so, or it does not hold so either."""
        sides = _guide_training(comparison)
        if sides is None:
            return None
        # Other runs of training change nothing in the other passes.
        before = comparison.evidence
        runs = {(pass_, case) for pass_ in (FORWARD, GRADIENTS) for case in before.float_cases(pass_)}
        otherwise = {run: other for run, other in before.otherwise.items() if run in runs}
        in_steps = self.explain(self.compare(sides, otherwise))
        return in_steps if all(leaf.verdict == PASS for leaf in in_steps.leaves["training"]) else None

    def leave_out_ties(self, comparison: _Comparison) -> _Comparison:
        """The comparison with cases beside those in which TensorFlow's own roundings decide a tie."""
        sides, evidence, leaves = comparison.sides, comparison.evidence, comparison.leaves
        twin = twin_with(sides.instance, sides.doubles)
        try:
            doubles = judge_beside_ties(twin, sides.instance.inputs, sides.doubles, evidence, leaves)
        except (PromotionError, UnreadableProgram):
            # An error without an explanation stays a failure.
            return comparison
        if doubles is sides.doubles:
            return comparison
        return self.explain(self.compare(dataclasses.replace(sides, doubles=doubles)))

    def _by_regions(self, comparison: _Comparison) -> _Comparison:
        """The comparison with the runs that fail in float32 alone, and whose regions hold."""
        sides, evidence, leaves = comparison.sides, comparison.evidence, comparison.leaves
        runs = find_amplified(evidence, leaves) - evidence.regions.keys() - self.open_runs
        if not runs:
            return comparison
        twin = twin_with(sides.instance, sides.doubles)
        dtype = evidence.computes_in or FLOAT32
        judge = RegionJudge(sides.instance, twin, sides.deliveries, sides.doubles, dtype, sides.reporter)
        explanations = judge.explain(runs, leaves)
        # Training from its own weights is not judged by regions, and is again once it is guided.
        self.open_runs.update(run for run in runs - explanations.keys() if run[0] != STEP or sides.doubles.guide)
        while explanations:
            # Each sample costs a run of TensorFlow's program, and a run that holds with few holds with more.
            spreads = {run: one for run, samples in explanations.items() if (one := next(samples, None)) is not None}
            if not spreads:
                break
            comparison = comparison.widen(regions={**comparison.evidence.regions, **spreads})
            explanations = {run: explanations[run] for run in spreads.keys() & comparison.failing_runs}
        # Those that no sample explains, since their program does not run apart.
        self.open_runs.update(explanations.keys() - comparison.evidence.regions.keys())
        return comparison


def _guide_training(comparison: _Comparison) -> BothSides | None:
    """The sides with training runs from TensorFlow's weights; None where one cannot train so."""
    sides = comparison.sides
    if any(sides.is_lost(side) for side in (TF, JAX)):
        return None
    try:
        doubles = guided_training(sides.pool, sides.instance, sides.doubles, comparison.evidence, sides.reporter)
    except SideError as error:
        if error.lost:
            sides.deliveries[error.side].lost = True
            sides.failures.append(failure_of(error, "training from TensorFlow's weights"))
        return None
    if doubles is None:
        return None
    before, after = map(_count_steps, (comparison.evidence.trajectories, doubles.trajectories))
    remarks = (drift(comparison.leaves["training"], before, after), *doubles.training_remarks)
    return dataclasses.replace(sides, doubles=dataclasses.replace(doubles, training_remarks=remarks))


def _count_steps(trajectories: Mapping[tuple[str, str], Arrays]) -> int:
    """The steps of training runs, which all take the same number."""
    return max(len(run[LOSS]) for run in trajectories.values())


def _by_modes(comparison: _Comparison) -> _Comparison:
    """The comparison with TensorFlow's other mode where its own modes disagree."""
    sides = comparison.sides
    with contextlib.suppress(UnreadableProgram):
        # Without another mode the reference stays the known one.
        twin = twin_with(sides.instance, sides.doubles)
        comparison = comparison.replace_evidence(with_xla(comparison.evidence, comparison.leaves, twin, sides.doubles))
    eager = OriginalModes(sides.pool, sides.instance, sides.deliveries.get(TF)).eager
    return comparison.replace_evidence(with_eager(comparison.evidence, comparison.leaves, sides.doubles, eager))


def _by_constants(comparison: _Comparison) -> _Comparison:
    """The comparison with the effect of rounded states and constants."""
    failures = comparison.sides.failures
    # A rate that is kept in float32 mostly explains all there is, and no program is compiled anew to move it.
    for constants, roundings in ((False, 1), (True, PERTURBATIONS)):
        count_before, spreads = len(failures), ConstantSpreads(comparison.evidence, constants)
        for seed in range(roundings):
            runs = explicable(comparison.leaves)
            # One rounding explains most runs. Each costs a run of both sides: the loop ends once all hold.
            allowance = _ask(comparison.sides, spreads.measure, runs, seed, failure_name="allowance") if runs else {}
            if not allowance:
                break
            comparison = comparison.widen(allowance={**comparison.evidence.allowance, **allowance})
        if len(failures) > count_before:
            break
    return comparison


def _by_formula(comparison: _Comparison) -> _Comparison:
    """The comparison with the effect of rounding on the original's formula; unchanged if that explains nothing."""
    if not comparison.failing_gates:
        return comparison
    sides, evidence, leaves = comparison.sides, comparison.evidence, comparison.leaves
    narrow_passes = tuple(pass_ for pass_ in (FORWARD, GRADIENTS) if _rounds_further(sides, pass_))
    spreads = _ask(sides, explain_by_formula, evidence, leaves, narrow_passes)
    return comparison.widen(formula=spreads) if spreads else comparison


def _rounds_further(sides: BothSides, pass_: str) -> bool:
    """Whether the port's program rounds to a type narrower than float32 that the original's does not use."""
    programs = sides.programs(pass_)
    return programs is not None and rounds_further(*(program.artifact for program in programs))


def _ask(
    sides: BothSides, explain: Callable[..., Mapping[Place, float]], *of: object, failure_name: str = ""
) -> Mapping[Place, float]:
    """The explained errors by place; empty without the JAX side, which trains.

    A program that does not run apart from its framework is a failure only if the caller names the step.
    """
    if sides.is_lost(JAX):
        return {}
    try:
        spreads = explain(runner_of(sides.pool.get(JAX), sides.doubles, sides.instance), sides.doubles, *of)
    except (PromotionError, UnreadableProgram) as error:
        if failure_name:
            sides.failures.append(Failure(JAX, failure_name, str(error)))
    except SideError as error:
        # A new worker would not have this workload loaded: it is not asked again.
        sides.failures.append(failure_of(error, failure_name or "explaining"))
        sides.deliveries[JAX].lost |= error.lost
    else:
        return spreads if any(spreads.values()) else {}
    return {}


def _evidence(sides: BothSides) -> Evidence:
    instance, doubles, deliveries = sides.instance, sides.doubles, sides.deliveries
    not_applicable = _not_applicable(sides)
    outputs = {key: arrays for delivery in deliveries.values() for key, arrays in delivery.outputs.items()}
    refusals = tuple(refusal for delivery in deliveries.values() for refusal in delivery.refusals)
    free = {key: arrays for delivery in deliveries.values() for key, arrays in delivery.trajectories.items()}
    left_out = {GRADIENTS} & not_applicable.keys()
    return Evidence(
        workload=instance.title,
        outputs={(mode, pass_, case): of for (mode, pass_, case), of in outputs.items() if pass_ not in left_out},
        doubles={
            (side, pass_, case): of for (side, pass_, case), of in doubles.arrays.items() if pass_ not in left_out
        },
        oracle=doubles.sources,
        trajectories=doubles.trajectories if doubles.guide else doubles.trajectories | free,
        deviations=instance.workload.deviations,
        failures=tuple(sides.failures),
        refusals=refusals,
        not_applicable=not_applicable,
        remarks=(*doubles.remarks, *(remark for delivery in deliveries.values() for remark in delivery.remarks)),
        training_remarks=doubles.training_remarks,
        open_integers=tuple(
            name for name, spec in instance.inputs.items() if spec.dtype in ("int64", "uint64") and spec.low is None
        ),
        computes_in=narrow_dtype(instance.loading.dimensions),
    )


def _not_applicable(sides: BothSides) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if sides.instance.workload.training is None:
        reasons["training"] = "the workload has no training step"
    # Without a gradient of the original there is nothing to compare with. A gradient that the original has, but cannot
    # compute here, is not judged.
    refusal = sides.deliveries[TF].explain_refusal(GRADIENTS) if TF in sides.deliveries else ""
    return reasons | ({GRADIENTS: refusal} if has_no_gradient(refusal) else {})
