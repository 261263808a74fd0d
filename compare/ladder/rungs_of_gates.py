"""Assigns the comparisons of the gates to rungs, without a judgement of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from compare.ladder.first_lines import first_lines
from compare.parity.evidence import side_of
from compare.parity.measure import distance, scale_of
from compare.prove.collect import Collected
from compare.prove.oracle import Doubles
from compare.record.parity_part import Comparison, Parity
from compare.record.rung_part import FORWARD, GRADIENTS, OPTIMIZER, STRUCTURE, TRAJECTORY, Rung
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from workloads.core.declared import AnyWorkload
from workloads.core.spec import Arrays
from workloads.protocol import framework
from workloads.protocol.trajectory import LOSS, kept_as

_FORWARD_GATES = ("structure", "semantics", "rounding", "stability")
_LOSS_BOUND = 1e-9
"""Relative, in float64: what rounded constants of an optimizer make of a loss stays below in the first steps."""

Losses = Mapping[str, np.ndarray]
"""By side, f64[steps]."""


def structure(parity: Parity) -> Rung:
    """Outputs of the forward pass: there at all, under the same names, of the same shapes and dtypes."""
    gate = parity.gates["structure"]
    failing = [comparison for comparison in _failing(gate.comparisons, (framework.FORWARD,)) if _is_refused(comparison)]
    if failing or (gate.verdict == FAIL and not gate.comparisons):
        return _fail(STRUCTURE, failing, gate.reason)
    if gate.verdict == NOT_JUDGED:
        return _not_judged(STRUCTURE, gate.reason)
    leaves = {comparison.leaf for comparison in gate.comparisons if comparison.pass_ == framework.FORWARD}
    return Rung(
        STRUCTURE, PASS, (f"names, shapes and dtypes of {_count_text(len(leaves), 'output')} are the original's",)
    )


def forward(parity: Parity) -> Rung:
    """Values of the forward pass, in every gate that judges them."""
    failing = [
        comparison
        for name in _FORWARD_GATES
        if name in parity.gates
        for comparison in _failing(parity.gates[name].comparisons, (framework.FORWARD,))
    ]
    silent = [
        gate.reason for name in _FORWARD_GATES if (gate := parity.gates.get(name)) is not None
        and gate.verdict == FAIL and not any(comparison.verdict == FAIL for comparison in gate.comparisons)
    ]  # fmt: skip
    if failing or silent:
        return _fail(FORWARD, failing, "; ".join(silent))
    for name in _FORWARD_GATES:
        if name in parity.gates and parity.gates[name].verdict == NOT_JUDGED:
            return _not_judged(FORWARD, parity.gates[name].reason)
    return Rung(FORWARD, PASS, _rests_on(parity, ("semantics", "rounding")))


def gradients(parity: Parity) -> Rung:
    """Gradients, in every gate that judges them."""
    gate = parity.gates["gradients"]
    failing = [
        comparison
        for name in (GRADIENTS, "structure", "stability")
        if name in parity.gates
        for comparison in _failing(parity.gates[name].comparisons, (framework.GRADIENTS,))
    ]
    if failing or gate.verdict == FAIL:
        return _fail(GRADIENTS, failing, gate.reason)
    if gate.verdict == NOT_JUDGED:
        return _not_judged(GRADIENTS, gate.reason)
    if gate.verdict == NOT_APPLICABLE:
        return Rung(GRADIENTS, NOT_APPLICABLE, remarks=(gate.reason,))
    return Rung(GRADIENTS, PASS, _rests_on(parity, (GRADIENTS,)))


def optimizer(parity: Parity, workload: AnyWorkload) -> Rung:
    """Weights after the first checkpoint of training, which is one update where the workload looks at one."""
    gate, training = parity.gates["training"], workload.training
    if gate.verdict == NOT_APPLICABLE or training is None:
        return Rung(OPTIMIZER, NOT_APPLICABLE, remarks=(gate.reason,))
    step = min(training.compared)
    remarks = () if step == 1 else (f"the first checkpoint is after {step} steps: add 1 to `checkpoints`",)
    of_step = [comparison for comparison in gate.comparisons if not comparison.leaf or _is_after(comparison.leaf, step)]
    failing = [comparison for comparison in of_step if comparison.verdict == FAIL]
    if failing or (gate.verdict == FAIL and not any(comparison.verdict == FAIL for comparison in gate.comparisons)):
        apart, leaves = ({comparison.leaf for comparison in comparisons} for comparisons in (failing, of_step))
        sentence = f"{len(apart)} of {_count_text(len(leaves), 'weight')} {'depart' if len(apart) > 1 else 'departs'} "
        rung = _fail(OPTIMIZER, failing, gate.reason, (sentence + f"after {_count_text(step, 'update')}",))
        return replace(rung, remarks=remarks)
    if gate.verdict == NOT_JUDGED:
        return _not_judged(OPTIMIZER, gate.reason)
    leaves = {comparison.leaf for comparison in of_step}
    return Rung(OPTIMIZER, PASS, (f"{_count_text(len(leaves), 'weight')} agree after {_count_text(step, 'update')}",),
                remarks=remarks)  # fmt: skip


def _is_after(leaf: str, step: int) -> bool:
    """Whether an array is a weight after that step."""
    kept_array = kept_as(leaf)
    return kept_array is not None and kept_array.step == step


def trajectory(parity: Parity, workload: AnyWorkload, losses: Losses) -> Rung:
    """Losses of every step, and weights at later checkpoints."""
    gate, training = parity.gates["training"], workload.training
    if gate.verdict == NOT_APPLICABLE or training is None:
        return Rung(TRAJECTORY, NOT_APPLICABLE, remarks=(gate.reason,))
    if gate.verdict == FAIL:
        step = first_other_loss(losses)
        when = () if step is None else (
            f"the losses part at step {step} of {training.steps}, counted from 1: a loss is that before the update, so "
            f"that update {step - 1} is the first to do something else",
        )  # fmt: skip
        return _fail(
            TRAJECTORY, [comparison for comparison in gate.comparisons if comparison.verdict == FAIL], gate.reason, when
        )
    if gate.verdict == NOT_JUDGED:
        return _not_judged(TRAJECTORY, gate.reason)
    return Rung(TRAJECTORY, PASS, (f"losses and weights of {_count_text(training.steps, 'step')} agree",))


def losses(deliveries: Mapping[str, Collected], doubles: Doubles) -> dict[str, np.ndarray]:
    """The losses of both sides in float64.

    Args:
      deliveries: what each side delivered, by side.
      doubles: the float64 evidence.
    """
    runs: dict[tuple[str, str], Arrays] = dict(doubles.trajectories)
    for evidence in deliveries.values():
        runs |= evidence.trajectories
    return {side_of(mode): run[LOSS] for (mode, dtype), run in runs.items() if dtype == "float64"}


def first_other_loss(of_sides: Losses) -> int | None:
    """The first step, counted from 1, whose losses differ; None where none does, or a side has none."""
    ours, theirs = of_sides.get("jax"), of_sides.get("tf")
    if ours is None or theirs is None or ours.shape != theirs.shape:
        return None
    for index in range(len(ours)):
        expected = theirs[index : index + 1]
        if distance(ours[index : index + 1], expected, scale_of(expected, 1.0)).error > _LOSS_BOUND:
            return index + 1
    return None


def _failing(comparisons: Sequence[Comparison], passes: Collection[str]) -> list[Comparison]:
    return [comparison for comparison in comparisons if comparison.verdict == FAIL and comparison.pass_ in passes]


def _is_refused(comparison: Comparison) -> bool:
    """Whether no value was looked at: a leaf is missing, or of another shape or dtype."""
    return comparison.expected is None and comparison.found is None


def _fail(name: str, failing: Sequence[Comparison], reason: str, before: tuple[str, ...] = ()) -> Rung:
    """A rung that fails, with the first message of each gate and leaf."""
    messages = dict.fromkeys(comparison.message for comparison in failing if comparison.message)
    lines = (*before, *first_lines([*messages] or [reason]))
    return Rung(name, FAIL, lines, failing[0].case if failing else "")


def _not_judged(name: str, reason: str) -> Rung:
    """A rung of which nothing is known, with the reason."""
    return Rung(name, NOT_JUDGED, first_lines([reason]))


def _rests_on(parity: Parity, gates: Collection[str]) -> tuple[str, ...]:
    lines: list[str] = []
    for name in gates:
        comparisons = parity.gates[name].comparisons if name in parity.gates else ()
        errors = [comparison.error for comparison in comparisons if comparison.error is not None]
        if errors:
            leaves = {(comparison.case, comparison.leaf) for comparison in comparisons}
            count_text = _count_text(len(leaves), "array")
            lines.append(f"{name}: {count_text} within the bound, the largest error {max(errors):.2g}")
    return tuple(lines)


def _count_text(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
