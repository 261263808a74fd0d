"""An optimizer carried beside the weights: its plan, and the steps of both that prove it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from compare.sides.weight_workers import FlaxModule, KerasModel, WeightWorkers
from compare.weights import continuing
from compare.weights.matching import Finding
from compare.weights.optimizer_rules import advice, rule_of
from compare.weights.planning import Plan
from compare.weights.slot_planning import SlotPlan, plan_slots
from workloads.core.spec import Arrays
from workloads.protocol.optimizer_transfer import PREFIX
from workloads.protocol.transfer import Source, Target

FRESH = f"{PREFIX}fresh"
"""The name for --allow if only continued training has to be equal, not a new start."""


def planned_slots(
    source: Source, arrays: Arrays, target: Target, plan: Plan, allowances: Mapping[str, str]
) -> SlotPlan | None:
    """The plan of the optimizer; None where there is none."""
    if source.optimizer is None or target.optimizer is None:
        return None
    return plan_slots(source.optimizer, arrays, target.optimizer, plan.moves, allowances)


def prove(
    workers: WeightWorkers,
    model: KerasModel,
    module: FlaxModule,
    sides: tuple[Source, Arrays, Target],
    plans: tuple[Plan, SlotPlan],
    allowances: Mapping[str, str],
) -> SlotPlan:
    """The plan of the optimizer, with findings where both do not train on alike.

    Args:
      plans: of the weights and of the optimizer, both without findings.
      allowances: with `FRESH`, only the carried state has to go on alike.

    Raises:
      RequestError: a side cannot take the steps.
    """
    (source, arrays, target), (plan, slots) = sides, plans
    assert source.optimizer is not None
    weights = continuing.trained_weights(source.optimizer, plan.moves)
    gradients = continuing.gradients(weights, arrays)
    start = {variable.path: plan.arrays[variable.path] for variable in target.variables
             if variable.kind == "Param" and variable.path in plan.arrays}  # fmt: skip
    arrays_sent = {
        **{f"weights/{path}": array for path, array in start.items()},
        **{f"state/{path}": array for path, array in slots.arrays.items()},
        **continuing.carry(weights, gradients),
    }
    findings: list[Finding] = []
    for fresh, whence in ((False, "from the carried state"), (True, "from a fresh start")):
        if findings or (fresh and FRESH in allowances):
            break
        there = workers.keras_steps(model, gradients, continuing.STEPS, fresh)
        here = workers.optax_steps(module, source.inputs, arrays_sent, continuing.STEPS, fresh)
        findings += continuing.apart(start, continuing.carry(weights, there), here, whence)
    return replace(slots, findings=tuple([*findings, *_reasons(target, source, slots)] if findings else ()))


def _reasons(target: Target, source: Source, slots: SlotPlan) -> Iterator[Finding]:
    """Possible reasons of steps that differ: attributes, then the formula."""
    assert source.optimizer is not None and target.optimizer is not None
    subject = f"the optimizer ({source.optimizer.class_name})"
    yield from (Finding("attribute", f"{subject}: expected {attribute}") for attribute in slots.apart)
    rule, _ = rule_of(source.optimizer)
    advice_text = advice(rule, {slot.state for slot in target.optimizer.slots}) if rule else ""
    if advice_text and not slots.apart:
        yield Finding("rule", f"{subject}: {advice_text}")
