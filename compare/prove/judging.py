"""Parity of one workload: the gates judge the evidence of both sides."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.narrowings import rounds_further
from compare.hlo.promote import PromotionError
from compare.inputs.at_size import Prepared
from compare.parity import Evidence, explicable, find_amplified, held_leaves, judge_held
from compare.parity.holding import Leaves
from compare.prove.beside_ties import judge_beside_ties
from compare.prove.by_regions import RegionJudge
from compare.prove.collect import FLOAT32, Collected
from compare.prove.guided_training import drift, guided_training
from compare.prove.oracle import Doubles, runner_of, twin_with
from compare.prove.original_modes import OriginalModes
from compare.prove.other_modes import with_eager, with_xla
from compare.prove.own_formula import explain_by_formula
from compare.prove.rounded_constants import PERTURBATIONS, ConstantSpreads
from compare.record.parity_part import Parity
from compare.record.vocabulary import FAIL, PASS
from compare.record.workload_part import Failure
from compare.sides._side import SIDES, SideError
from compare.sides.pool import Pool
from compare.sides.workers import failure_of
from workloads._framework import FORWARD, GRADIENTS, STEP, has_no_gradient
from workloads._modes import JAX, TF
from workloads._precision import narrow_dtype

Place = TypeVar("Place")
"""The place of an error that is explained."""


def parity_of(
    pool: Pool,
    instance: Prepared,
    deliveries: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    ordinary: Mapping[tuple[str, str], float] | None = None,
) -> Parity:
    """The gates at their strictest; once more with what rounding does to constants and to the formula, and by regions.

    Args:
      pool: has the sides.
      instance: the workload, and the arrays that it is judged on.
      deliveries: what each side delivered, by side.
      doubles: the float64 evidence.
      failures: the list that failures are added to.
      ordinary: see `Evidence`; at another size than the workload's own.
    """
    open_runs = set[tuple[str, str]]()

    def explaining(doubles: Doubles) -> _Explaining:
        return _Explaining(pool, instance, deliveries, doubles, failures, open_runs)

    def by_modes(doubles: Doubles) -> tuple[Evidence, Leaves]:
        evidence = dataclasses.replace(_evidence(instance, deliveries, doubles, failures), ordinary=ordinary or {})
        one = explaining(doubles)
        return one.by_regions(*one.by_modes(evidence))

    def by_all(doubles: Doubles, evidence: Evidence, leaves: Leaves) -> tuple[Evidence, Leaves]:
        one = explaining(doubles)
        return one.by_regions(*one.by_formula(*one.by_constants(evidence, leaves)))

    def guide(evidence: Evidence, leaves: Leaves) -> tuple[Doubles, Evidence, Leaves] | None:
        """Training from TensorFlow's weights, where that holds."""
        anew = _guide_training(pool, instance, deliveries, doubles, evidence, failures)
        if anew is None:
            return None
        anew = dataclasses.replace(anew, training_remarks=(drift(leaves["training"]), *doubles.training_remarks))
        new_evidence, new_leaves = by_all(anew, *by_modes(anew))
        return (
            (anew, new_evidence, new_leaves) if all(leaf.verdict == PASS for leaf in new_leaves["training"]) else None
        )

    evidence, leaves = by_modes(doubles)
    # Before rounded constants, which compile the training step several times.
    was_tried = _failing(leaves) == {"training"}
    if was_tried and (holding := guide(evidence, leaves)):
        doubles, evidence, leaves = holding
    else:
        evidence, leaves = by_all(doubles, evidence, leaves)
    try:
        beside = judge_beside_ties(twin_with(instance, doubles), instance.inputs, doubles, evidence, leaves)
    except (PromotionError, UnreadableProgram):
        # An error without an explanation stays a failure.
        beside = doubles
    if beside is not doubles:
        doubles = beside
        evidence, leaves = by_all(doubles, *by_modes(doubles))
    if not was_tried and "training" in _failing(leaves) and (holding := guide(evidence, leaves)):
        doubles, evidence, leaves = holding
    return judge_held(evidence, leaves)


def _failing(leaves: Leaves) -> set[str]:
    return {gate for gate, gate_leaves in leaves.items() if any(leaf.verdict == FAIL for leaf in gate_leaves)}


def _guide_training(
    pool: Pool,
    instance: Prepared,
    deliveries: Mapping[str, Collected],
    doubles: Doubles,
    evidence: Evidence,
    failures: list[Failure],
) -> Doubles | None:
    """The evidence with training runs from TensorFlow's weights; None where a side cannot train so."""
    if any(side not in deliveries or deliveries[side].lost for side in (TF, JAX)):
        return None
    try:
        return guided_training(pool, instance, doubles, evidence)
    except SideError as error:
        if error.lost:
            deliveries[error.side].lost = True
            failures.append(failure_of(error, "training from TensorFlow's weights"))
        return None


@dataclasses.dataclass(frozen=True)
class _Explaining:
    """What widens the bounds of one workload, and the sides that measure it.

    Attributes:
      pool: has the sides.
      instance: the workload, and the arrays that it is judged on.
      deliveries: what each side delivered, by side.
      doubles: the float64 evidence.
      failures: the list that failures are added to.
      open_runs: pass and case of runs whose regions do not hold, which are not judged again.
    """

    pool: Pool
    instance: Prepared
    deliveries: Mapping[str, Collected]
    doubles: Doubles
    failures: list[Failure]
    open_runs: set[tuple[str, str]]

    def by_modes(self, evidence: Evidence) -> tuple[Evidence, Leaves]:
        """The evidence with TensorFlow's other mode where its own modes disagree, and its comparisons."""
        leaves = held_leaves(evidence)
        eager = OriginalModes(self.pool, self.instance, self.deliveries.get("tf")).eager
        with contextlib.suppress(UnreadableProgram):
            # Without another mode the reference stays the known one.
            fuller = with_xla(evidence, leaves, twin_with(self.instance, self.doubles), self.doubles)
            if fuller is not evidence:
                evidence, leaves = fuller, held_leaves(fuller)
        fuller = with_eager(evidence, leaves, self.doubles, eager)
        return (evidence, leaves) if fuller is evidence else (fuller, held_leaves(fuller))

    def by_constants(self, evidence: Evidence, leaves: Leaves) -> tuple[Evidence, Leaves]:
        """The evidence with the effect of rounded states and constants, and its comparisons.

        Args:
          evidence: the evidence to judge.
          leaves: its comparisons with their bounds.
        """
        # A rate that is kept in float32 mostly explains all there is, and no program is compiled anew to move it.
        for constants, roundings in ((False, 1), (True, PERTURBATIONS)):
            count_before, spreads = len(self.failures), ConstantSpreads(evidence, constants)
            for seed in range(roundings):
                runs = explicable(leaves)
                # One rounding explains most runs. Each costs a run of both sides: the loop ends once all hold.
                allowance = self._ask(spreads.measure, runs, seed, failure_name="allowance") if runs else {}
                if not allowance:
                    break
                evidence = dataclasses.replace(evidence, allowance={**evidence.allowance, **allowance})
                leaves = held_leaves(evidence)
            if len(self.failures) > count_before:
                break
        return evidence, leaves

    def by_formula(self, evidence: Evidence, leaves: Leaves) -> tuple[Evidence, Leaves]:
        """The evidence with the effect of rounding on the original's formula; unchanged if that explains nothing.

        Args:
          evidence: the evidence to judge.
          leaves: its comparisons with their bounds.
        """
        if judge_held(evidence, leaves).verdict != FAIL:
            return evidence, leaves
        narrow_passes = tuple(pass_ for pass_ in (FORWARD, GRADIENTS) if self._rounds_further(pass_))
        spreads = self._ask(explain_by_formula, evidence, leaves, narrow_passes)
        if not spreads:
            return evidence, leaves
        evidence = dataclasses.replace(evidence, formula=spreads)
        return evidence, held_leaves(evidence)

    def by_regions(self, evidence: Evidence, leaves: Leaves) -> tuple[Evidence, Leaves]:
        """The evidence with the runs that fail in float32 alone, and whose regions hold.

        Args:
          evidence: the evidence to judge.
          leaves: its comparisons with their bounds.
        """
        runs = find_amplified(evidence, leaves) - evidence.regions.keys() - self.open_runs
        if not runs:
            return evidence, leaves
        twin = twin_with(self.instance, self.doubles)
        judge = RegionJudge(self.instance, twin, self.deliveries, self.doubles, evidence.computes_in or FLOAT32)
        explanations = judge.explain(runs, leaves)
        # Training from its own weights is not judged by regions, and is again once it is guided.
        self.open_runs.update(run for run in runs - explanations.keys() if run[0] != STEP or self.doubles.guide)
        if not explanations:
            return evidence, leaves
        evidence = dataclasses.replace(evidence, regions={**evidence.regions, **explanations})
        return evidence, held_leaves(evidence)

    def _rounds_further(self, pass_: str) -> bool:
        """Whether the port's program rounds to a type narrower than float32 that the original's does not use."""
        programs = (self.deliveries[side].programs.get((pass_, FLOAT32)) for side in SIDES if side in self.deliveries)
        artifacts = [program.artifact for program in programs if program is not None]
        return len(artifacts) == len(SIDES) and rounds_further(*artifacts)

    def _ask(
        self, explain: Callable[..., Mapping[Place, float]], *of: object, failure_name: str = ""
    ) -> Mapping[Place, float]:
        """What explains errors, by place; empty without the JAX side, which trains.

        A program that does not run apart from its framework is a failure only if the caller names the step.
        """
        if "jax" not in self.deliveries or self.deliveries["jax"].lost:
            return {}
        try:
            spreads = explain(runner_of(self.pool.get("jax"), self.doubles, self.instance), self.doubles, *of)
        except (PromotionError, UnreadableProgram) as error:
            if failure_name:
                self.failures.append(Failure("jax", failure_name, str(error)))
        except SideError as error:
            self.failures.append(failure_of(error, failure_name or "explaining"))
            # A new worker would not have this workload loaded: it is not asked again.
            self.deliveries["jax"].lost |= error.lost
        else:
            return spreads if any(spreads.values()) else {}
        return {}


def _evidence(
    instance: Prepared, deliveries: Mapping[str, Collected], doubles: Doubles, failures: Sequence[Failure]
) -> Evidence:
    not_applicable = _not_applicable(instance, deliveries)
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
        failures=tuple(failures),
        refusals=refusals,
        not_applicable=not_applicable,
        remarks=(*doubles.remarks, *(remark for delivery in deliveries.values() for remark in delivery.remarks)),
        training_remarks=doubles.training_remarks,
        open_integers=tuple(
            name for name, spec in instance.inputs.items() if spec.dtype in ("int64", "uint64") and spec.low is None
        ),
        computes_in=narrow_dtype(instance.loading.dimensions),
    )


def _not_applicable(instance: Prepared, deliveries: Mapping[str, Collected]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if instance.workload.training is None:
        reasons["training"] = "the workload has no training step"
    # Without a gradient of the original there is nothing to compare with. A gradient that the original has, but cannot
    # compute here, is not judged.
    refusal = deliveries["tf"].explain_refusal(GRADIENTS) if "tf" in deliveries else ""
    return reasons | ({GRADIENTS: refusal} if has_no_gradient(refusal) else {})
