"""The gates in order, and the verdict that they add up to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from compare.parity import messages, unjudged
from compare.parity.breaks import Swept
from compare.parity.evidence import (
    FLOAT64,
    TRAJECTORY,
    Evidence,
    double_mode,
    has_kinks,
    step_of,
    trajectories_as_runs,
)
from compare.parity.holding import (
    LARGEST_ALLOWANCE,
    Bound,
    Context,
    Held,
    Leaves,
    explain_bound,
    measure_noise,
    sources,
)
from compare.parity.identical import bit_equal
from compare.parity.measure import SEMANTICS_BOUND, largest
from compare.parity.own_modes import first_findings
from compare.parity.rules import compare_doubles, compare_rounding, forward_base, gradient_base
from compare.parity.stability import comparison
from compare.parity.structure import compare_structure
from compare.parity.telling import constants
from compare.record.parity_part import AtSize, Comparison, Deviation, Gate, Parity
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS, compose
from workloads.core import spec
from workloads.core.dimensions import describe_dimensions
from workloads.core.modes import JAX, TF
from workloads.core.spec import STABILITY
from workloads.protocol.framework import FORWARD, GRADIENTS, KINKS, STEP, is_kinks
from workloads.protocol.trajectory import LOSS, kept_as


def judge(evidence: Evidence) -> Parity:
    """Compare the port with the original in the gates that judge arrays; `with_sweep` adds the result of a sweep.

    A gate without evidence is not judged, unless it cannot have any: then it does not apply.
    """
    return judge_held(evidence, held_leaves(evidence))


def held_leaves(evidence: Evidence) -> Leaves:
    """Compare every leaf with its bound, gate by gate."""
    context = Context(evidence, measure_noise(evidence))
    return {
        "structure": compare_structure(context),
        "semantics": compare_doubles(context, "semantics", FORWARD, evidence.cases(FORWARD), forward_base),
        "rounding": compare_rounding(context, "rounding", FORWARD, _random(evidence.float_cases(FORWARD))),
        "gradients": _gradients(context),
        "training": _training(evidence),
    }


def judge_held(evidence: Evidence, leaves: Leaves) -> Parity:
    """Like `judge`, for leaves that were compared before."""
    gates = {name: _gate(evidence, name, gate_leaves) for name, gate_leaves in leaves.items()}
    return Parity(
        verdict=compose(gate.verdict for gate in gates.values()),
        gates=gates,
        oracle={pass_: sources(evidence, pass_) for pass_ in sorted({pass_ for _, pass_ in evidence.oracle})},
        deviations=tuple(
            entry for name, gate_leaves in leaves.items() for entry in _deviations(evidence, name, gate_leaves)
        ),
        findings=first_findings(leaf.finding for gate_leaves in leaves.values() for leaf in gate_leaves),
        bit_equal=bit_equal(evidence),
    )


def with_sweep(parity: Parity, workload: str, swept: Swept, deviations: Sequence[spec.Deviation]) -> Parity:
    """The parity with its last gate judged."""
    bound = max((deviation.bound for deviation in deviations), default=0.0)
    comparisons = tuple(comparison(reach, swept.dtype, bound) for reach in swept.reached)
    stale = bool(deviations) and bool(comparisons) and all(reach.verdict == PASS for reach in swept.reached)
    reasons = [messages.stale(workload, deviation) for deviation in deviations if stale] + [swept.reason]
    fails = stale or _any_fails(comparisons)
    verdict = FAIL if fails else NOT_JUDGED if swept.lost else PASS if comparisons else NOT_APPLICABLE
    gates = {**parity.gates, STABILITY: Gate(verdict, comparisons, "; ".join(filter(None, reasons)))}
    largest_error = max((reach.error for reach in swept.reached), default=None)
    return replace(
        parity,
        verdict=compose(gate.verdict for gate in gates.values()),
        gates=gates,
        reach=tuple(reach.to_record() for reach in swept.reached),
        findings=(*parity.findings, *first_findings(swept.findings)),
        deviations=(*parity.deviations, *_record_declarations(deviations, largest_error)),
    )


def with_sizes(parity: Parity, parities: Sequence[tuple[AtSize, Parity | None]], varies: bool) -> Parity:
    """Add the verdicts of the gates at other sizes of the named dimensions.

    What fails there fails, and what is not judged there is not judged.

    Args:
      parities: each size with its own parity, None where a side gave nothing that could be judged.
      varies: whether any dimension is named.
    """
    gates = dict(parity.gates)
    for size, own in parities:
        for name, gate in own.gates.items() if own and size.verdict in (FAIL, NOT_JUDGED) else ():
            gates[name] = _join_gates(name, gates[name], gate, describe_dimensions(size.dimensions))
    structure = gates["structure"]
    failures = [size.reason for size, own in parities if own is None and size.verdict == FAIL]
    reasons = [structure.reason, *failures, *_remark_on_sizes([size for size, _ in parities], varies)]
    verdict = FAIL if failures else structure.verdict
    gates["structure"] = replace(structure, verdict=verdict, reason="; ".join(filter(None, reasons)))
    verdicts = compose(gate.verdict for gate in gates.values())
    return replace(parity, verdict=verdicts, gates=gates, sizes=tuple(size for size, _ in parities))


def _remark_on_sizes(sizes: Sequence[AtSize], varies: bool) -> list[str]:
    """Remark on sizes that have no verdict."""
    refusals = [size for size in sizes if size.verdict == NOT_APPLICABLE]
    if refusals:
        return [unjudged.not_at_sizes([describe_dimensions(size.dimensions) for size in refusals], refusals[0].reason)]
    return [] if varies else [unjudged.one_size()]


def failure_at_size(parity: Parity) -> str:
    """The first message of a failure at another size; empty where nothing fails.

    Only the workload's own size has to tell ports apart: a batch of one makes many a result constant.
    """
    failing = [
        comparison for gate in parity.gates.values() for comparison in gate.comparisons if comparison.verdict == FAIL
    ]
    without = [gate.reason for gate in parity.gates.values() if gate.verdict == FAIL and not gate.comparisons]
    return next((comparison.message for comparison in failing), next(iter(without), None)) or ""


def unjudged_at_size(parity: Parity) -> str:
    """Why a gate is not judged at another size; empty where each is."""
    return next((gate.reason for gate in parity.gates.values() if gate.verdict == NOT_JUDGED), "")


def _join_gates(name: str, gate: Gate, other: Gate, size: str) -> Gate:
    """The gate with what fails, or is not judged, in the same gate at another size."""
    failing = tuple(
        replace(comparison, case=f"{comparison.case} at {size}")
        for comparison in other.comparisons
        if comparison.verdict == FAIL
    )
    if failing:
        return replace(gate, verdict=FAIL, comparisons=(*gate.comparisons, *failing))
    if other.verdict == FAIL and not other.comparisons:
        return replace(gate, verdict=FAIL, reason="; ".join(filter(None, (gate.reason, other.reason))))
    if other.verdict == NOT_JUDGED:
        reason = unjudged.at_sizes(name, size, other.reason)
        verdict = compose((gate.verdict, NOT_JUDGED))
        return replace(gate, verdict=verdict, reason="; ".join(filter(None, (gate.reason, reason))))
    return gate


def _any_fails(comparisons: Sequence[Comparison]) -> bool:
    return any(comparison.verdict == FAIL for comparison in comparisons)


def explicable(leaves: Leaves) -> frozenset[tuple[str, str]]:
    """(pass, case) of each failure that constants rounded to float32 might explain; the others need no second look."""
    return frozenset(
        _run(leaf) for gate in leaves.values() for leaf in gate if leaf.verdict == FAIL and _may_be_of_constants(leaf)
    )


def _may_be_of_constants(leaf: Held) -> bool:
    return leaf.error <= leaf.limit + LARGEST_ALLOWANCE


def find_amplified(evidence: Evidence, leaves: Leaves) -> frozenset[tuple[str, str]]:
    """(pass, case) of each run that fails by what may have been amplified: its regions tell.

    Those are runs in float32 that hold in float64, and training runs that fail in float64 by what constants rounded to
    float32 may explain, if weights are kept after each step: otherwise the error is of steps that nothing judges. Where
    the original's own results are float64, roundings to float32 are what a port must not make.
    """
    everything = [leaf for gate in leaves.values() for leaf in gate]
    failing = [leaf for leaf in everything if leaf.verdict == FAIL]
    is_by_step = _is_kept_by_step(evidence)
    candidates = {_run(leaf) for leaf in failing if _may_be_amplified(leaf, is_by_step)}
    otherwise = {
        _run(leaf) for leaf in failing if leaf.place.found_from == JAX and not _may_be_amplified(leaf, is_by_step)
    }
    wide = {_run(leaf) for leaf in everything if evidence.is_wide(leaf.place.pass_, leaf.place.case, leaf.place.leaf)}
    return frozenset(candidates - otherwise - wide)


def _is_kept_by_step(evidence: Evidence) -> bool:
    """Whether the original's float64 training run kept its weights after each step."""
    run = evidence.trajectories.get((double_mode(evidence, TF), FLOAT64), {})
    steps = {checkpoint.step for name in run if (checkpoint := kept_as(name)) is not None}
    return bool(run) and len(steps) == len(run[LOSS])


def _may_be_amplified(leaf: Held, is_by_step: bool) -> bool:
    """Whether a leaf that fails is off by a finite error of a run in float32, or by constants of a training run."""
    place = leaf.place
    if place.found_from == JAX:
        return place.gate == "training" and is_by_step and _may_be_of_constants(leaf)
    return place.expected_from == TF and place.gate != "structure" and math.isfinite(leaf.error)


def _run(leaf: Held) -> tuple[str, str]:
    return leaf.place.pass_, leaf.place.case


def _random(cases: Sequence[str]) -> tuple[str, ...]:
    # At a tie one rounding decides between branches: that is semantics, and judged in float64.
    return tuple(case for case in cases if not is_kinks(case))


def _gradients(context: Context) -> list[Held]:
    evidence = context.evidence
    return [
        *compare_doubles(context, "gradients", GRADIENTS, evidence.cases(GRADIENTS), gradient_base),
        *compare_rounding(context, "gradients", GRADIENTS, _random(evidence.float_cases(GRADIENTS))),
    ]


def _training(evidence: Evidence) -> list[Held]:
    runs = trajectories_as_runs(evidence)
    context = Context(runs, measure_noise(runs))
    curves = runs.doubles.get(("tf", STEP, TRAJECTORY), {})
    weights = largest(array for name, array in curves.items() if name != "loss")

    def base(name: str, scale: float, _: float) -> float:
        # An adaptive optimizer turns the noise of a zero gradient into steps: those are small beside the model,
        # not beside the weight.
        relative = 1.0 if name == "loss" else max(1.0, weights / scale)
        return SEMANTICS_BOUND * step_of(name, curves) * relative

    return [
        *compare_rounding(context, "training", STEP, runs.float_cases(STEP)),
        *compare_doubles(context, "training", STEP, runs.cases(STEP), base),
    ]


def _gate(evidence: Evidence, name: str, leaves: Sequence[Held]) -> Gate:
    if not leaves:
        return _without_evidence(evidence, name)
    comparisons = tuple(leaf.to_record() for leaf in leaves)
    outputs = constants(evidence) if name == "semantics" else {}
    is_constant = outputs and all(outputs.values())
    nothing = (unjudged.constant_outputs(evidence.workload, outputs),) if is_constant else ()
    reasons = (*_stale(evidence, name, leaves), *nothing)
    fails = bool(reasons) or any(leaf.verdict == FAIL for leaf in leaves)
    open_reason = next((leaf.message for leaf in leaves if leaf.verdict == NOT_JUDGED), "")
    if open_reason and not fails:
        return Gate(NOT_JUDGED, comparisons, open_reason)
    if name == "gradients" and not fails and not _any_gradient(evidence):
        return Gate(NOT_APPLICABLE, comparisons, "every gradient is zero, in the original too: nothing is judged by it")
    if not fails:
        reasons = tuple(unjudged.same_everywhere(leaf, value) for leaf, value in outputs.items() if value)
        reasons += {"semantics": evidence.remarks, "training": evidence.training_remarks}.get(name, ())
    if name == "gradients" and not has_kinks(evidence):
        reasons = (*reasons, f"no case {KINKS} was run: the choice of subgradients is not judged")
    return Gate(FAIL if fails else PASS, comparisons, "; ".join(reasons))


def _any_gradient(evidence: Evidence) -> bool:
    arrays = (
        leaves for of in (evidence.doubles, evidence.outputs) for (_, ran, _), leaves in of.items() if ran == GRADIENTS
    )
    return any(array.any() for leaves in arrays for array in leaves.values())


def _without_evidence(evidence: Evidence, name: str) -> Gate:
    if name == "rounding" and evidence.float_cases(FORWARD):
        return Gate(NOT_APPLICABLE, reason="no output is floating-point")
    if name in evidence.not_applicable:
        return Gate(NOT_APPLICABLE, reason=evidence.not_applicable[name])
    pass_ = {"gradients": GRADIENTS, "training": STEP}.get(name, FORWARD)
    reasons = (evidence.why(side, pass_) for side in ("tf", "jax"))
    return Gate(NOT_JUDGED, reason=messages.nothing(evidence.workload, name, *reasons))


def _stale(evidence: Evidence, name: str, leaves: Sequence[Held]) -> tuple[str, ...]:
    pairs = [(leaf.error, leaf.bound) for leaf in leaves if leaf.bound is not None]
    is_incomplete = any(leaf.verdict == NOT_JUDGED for leaf in leaves)
    if not pairs or is_incomplete or any(error > bound.without_declaration for error, bound in pairs):
        return ()
    return tuple(messages.stale(evidence.workload, deviation) for deviation in evidence.deviations_of(name))


def _deviations(evidence: Evidence, name: str, leaves: Sequence[Held]) -> Iterator[Deviation]:
    largest_error = max((leaf.error for leaf in leaves if leaf.bound is not None), default=None)
    yield from _record_declarations(evidence.deviations_of(name), largest_error)
    yield from _record_derivations(evidence, leaves)


def _record_declarations(deviations: Sequence[spec.Deviation], largest_error: float | None) -> Iterator[Deviation]:
    """Record a workload's declarations for a gate, with the largest error of all that they cover."""
    for deviation in deviations:
        yield Deviation(
            kind="declared", gate=deviation.gate, bound=deviation.bound, observed=largest_error, reason=deviation.reason
        )


def _record_derivations(evidence: Evidence, leaves: Sequence[Held]) -> Iterator[Deviation]:
    """Record the leaves that pass only by a widened bound, each with its largest error; of a run, the worst."""
    worst: dict[tuple[str, str], tuple[Held, Bound]] = {}
    for candidate in leaves:
        if (
            candidate.bound is None
            or candidate.verdict != PASS
            or not (candidate.says or candidate.bound.base < candidate.error <= candidate.bound.without_declaration)
        ):
            continue
        # Regions explain a whole run, and thousands of leaves alike.
        leaf = candidate.place.pass_, candidate.says or candidate.place.leaf
        if leaf not in worst or worst[leaf][0].error < candidate.error:
            worst[leaf] = candidate, candidate.bound
    for (pass_, _), (candidate, bound) in worst.items():
        yield Deviation(
            kind="derived",
            gate=candidate.place.gate,
            pass_=pass_,
            leaf=candidate.place.leaf,
            bound=bound.without_declaration,
            observed=candidate.error,
            reason="; ".join(filter(None, (candidate.says, *explain_bound(evidence, pass_, bound)))),
        )
