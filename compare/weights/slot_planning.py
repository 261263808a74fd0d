"""The plan of an optimizer: which of its variables becomes which arrays of a state of optax.

The transform of a weight also converts its slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.weights.matching import Finding
from compare.weights.optimizer_rules import (
    RATE,
    STEPS,
    Field,
    OptimizerRule,
    averages_apart,
    rule_of,
    source_of,
    told_apart,
)
from compare.weights.planning import Move
from compare.weights.transforms import Copies, Negated, Simple, Transform, TransformError
from workloads.protocol.optimizer_transfer import PREFIX, Slot, SourceOptimizer, TargetOptimizer, TargetSlot

_RATE_IN_CODE = "the optimizer gets its rate where it is constructed; the steps of both were compared"
_NO_COUNT = "the state counts no steps"
_STARTS = "Keras keeps no such variable with these attributes"


@dataclass(frozen=True)
class SlotMove:
    """One variable of an optimizer, and the arrays that it becomes.

    Attributes:
      slot: itself.
      rule: by which it goes.
      transform: what becomes of it.
      paths: of the arrays that it becomes, in the state.
    """

    slot: Slot
    rule: str
    transform: Transform
    paths: tuple[str, ...]


@dataclass(frozen=True)
class SlotPlan:
    """The moves, which are made if there is no finding, and the findings.

    Attributes:
      rule: of the optimizer; "" where there is none.
      moves: one for every variable that is carried.
      arrays: by the path in the state.
      left: key of a variable -> why it is not carried.
      kept: path in the state -> why that stays as it starts.
      apart: attributes that differ between the two.
      findings: what does not fit; with any, nothing is written.
    """

    rule: str = ""
    moves: tuple[SlotMove, ...] = ()
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def plan_slots(
    source: SourceOptimizer,
    arrays: Mapping[str, np.ndarray],
    target: TargetOptimizer,
    moves: Sequence[Move],
    allowances: Mapping[str, str],
) -> SlotPlan:
    """Plan the move of every variable of an optimizer.

    Args:
      arrays: of its variables, by key.
      allowances: path of an array in the state, with the prefix, that keeps what it starts with -> why.
    """
    rule, reason = rule_of(source)
    if rule is None:
        line = f"the optimizer ({source.class_name}): expected a rule, found that {reason}"
        return SlotPlan(findings=(Finding("rule", line),))
    planning = _Planning(rule, source, arrays, target)
    weights = {move.leaf.key: move for move in moves}
    for slot in source.slots:
        planning.add(slot, weights)
    kept_reasons = dict(planning.find_kept(allowances))
    averages = (
        Finding("attribute", f"the optimizer ({source.class_name}): expected {attribute}")
        for attribute in averages_apart(source.config, target.told)
    )
    findings = [*planning.findings, *planning.find_unwritten(kept_reasons), *averages]
    apart = tuple(told_apart(rule, source.config, target.told))
    return SlotPlan(
        rule.name, tuple(planning.moves), planning.arrays, planning.left, kept_reasons, apart, tuple(findings)
    )


class _Planning:
    """Moves and findings, variable by variable."""

    def __init__(
        self,
        rule: OptimizerRule,
        source: SourceOptimizer,
        arrays: Mapping[str, np.ndarray],
        target: TargetOptimizer,
    ) -> None:
        self.moves: list[SlotMove] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.left: dict[str, str] = {}
        self.findings: list[Finding] = []
        self._rule, self._source, self._sources, self._target = rule, source, arrays, target
        self._fields = {place.path: source_field for place in target.slots if (source_field := source_of(rule, place))}

    def add(self, slot: Slot, weights: Mapping[str, Move]) -> None:
        if slot.weight and slot.weight not in weights:
            # A weight that does not fit has a finding already.
            return
        places = self._places(slot, weights)
        subject = f"the optimizer ({self._source.class_name}): {slot.key.removeprefix(PREFIX)}"
        if not places and slot.name in (RATE, STEPS):
            steps = self._sources[slot.key]
            reason = f"{_NO_COUNT}: Keras has taken {steps}; if a step reads it, set optimizer.step[...] = {steps}"
            self.left[slot.key] = _RATE_IN_CODE if slot.name == RATE else reason
            return
        if not places:
            fields_text = (
                ", ".join(sorted({f"{place.state}.{place.field}" for place in self._target.slots})[:8]) or "none"
            )
            self._refuse(
                "variable",
                f"{subject}: expected an array for it, found none among {fields_text} (rule {self._rule.name})",
            )
            return
        if slot.weight and tuple(place.variable for place in places) != weights[slot.weight].variables:
            expected_paths, actual = (
                ", ".join(weights[slot.weight].variables),
                ", ".join(place.path for place in places),
            )
            self._refuse("variable", f"{subject}: expected one array for each of {expected_paths}, found {actual}")
            return
        transform = self._transform(slot, places, weights)
        paths = tuple(place.path for place in places)
        try:
            new_arrays = transform.forward(self._sources[slot.key])
        except TransformError as error:
            self._refuse("array", f"{subject}: {error} (rule {self._rule.name})")
            return
        self.moves.append(SlotMove(slot, self._rule.name, transform, paths))
        for place, array in zip(places, new_arrays, strict=True):
            self._write(place, array, subject)

    def _places(self, slot: Slot, weights: Mapping[str, Move]) -> list[TargetSlot]:
        """The arrays that a variable becomes; those of a weight in the order in which its transform makes them."""
        fitting = [place for place in self._target.slots if self._slot_of(place) == slot.name]
        if not slot.weight:
            return fitting
        order = weights[slot.weight].variables
        return sorted(
            (place for place in fitting if place.variable in order), key=lambda place: order.index(place.variable)
        )

    def _slot_of(self, place: TargetSlot) -> str:
        source_field = self._fields.get(place.path)
        return source_field.slot if source_field else ""

    def _transform(self, slot: Slot, places: Sequence[TargetSlot], weights: Mapping[str, Move]) -> Transform:
        if not slot.weight:
            return Copies(slot.dtype, tuple(place.dtype for place in places))
        transform = weights[slot.weight].transform
        assert isinstance(transform, Simple)
        return Negated(transform) if self._fields[places[0].path].negated else transform

    def _write(self, place: TargetSlot, array: np.ndarray, subject: str) -> None:
        if place.path in self.arrays:
            self._refuse("variable", f"{subject}: expected {place.path} for it alone, found another there too")
        elif (array.shape, array.dtype.name) != (place.shape, place.dtype):
            expected_type, actual = f"{place.dtype}{list(place.shape)}", f"{array.dtype}{list(array.shape)}"
            self._refuse("array", f"{subject}: expected {expected_type} for {place.path}, found {actual}")
        else:
            self.arrays[place.path] = array

    def find_kept(self, allowances: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Arrays that keep their initial values, each with the reason."""
        present = {slot.name for slot in self._source.slots}
        for place in self._target.slots:
            source_field: Field | None = self._fields.get(place.path)
            if source_field is not None and source_field.optional and source_field.slot not in present:
                yield place.path, _STARTS
            elif f"{PREFIX}{place.path}" in allowances:
                yield place.path, allowances[f"{PREFIX}{place.path}"]

    def find_unwritten(self, kept_reasons: Mapping[str, str]) -> Iterator[Finding]:
        """Find arrays of the state that no variable becomes, and those that should stay but are written."""
        for place in self._target.slots:
            where = f"the state of optax: {place.path} ({place.state}.{place.field}, {place.dtype}{list(place.shape)})"
            if place.path in kept_reasons and place.path in self.arrays:
                yield Finding("variable", f"{where}: expected no variable for what --allow leaves, found one")
            elif place.path not in self.arrays and place.path not in kept_reasons:
                reason = "" if place.path in self._fields else f": no rule of {self._rule.name} knows this field"
                yield Finding("variable", f"{where}: expected a variable of the optimizer, found none{reason}")

    def _refuse(self, kind: str, line: str) -> None:
        self.findings.append(Finding(kind, line))
