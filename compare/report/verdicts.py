"""What the judges said: of the run, of a workload, of each gate and each leaf. Nothing is judged again here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compare.records import FAIL, GATES, NOT_APPLICABLE, PASS
from compare.report import numbers
from compare.report.showable import entries, mapping, part, text

NOT_JUDGED = "not_judged"
INCOMPLETE = "incomplete"

WORDS = {
    PASS: "pass",
    FAIL: "fail",
    NOT_APPLICABLE: "not applicable",
    NOT_JUDGED: "not judged",
    INCOMPLETE: "incomplete",
}

EXACT = "structure"
"""The gate that compares with TensorFlow's own outputs; every other one compares with the float64 oracle."""


@dataclass(frozen=True)
class Headline:
    """The verdict of the whole run and the sentences that qualify it."""

    verdict: str
    sentence: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class FailureRow:
    """Something that could not be had, and why."""

    side: str
    doing: str
    reason: str

    @property
    def line(self) -> str:
        """One sentence, without the workload's name."""
        return f"{self.side}: {self.doing}: {self.reason}"


@dataclass(frozen=True)
class LeafRow:
    """One leaf held against one bound."""

    pass_: str
    case: str
    leaf: str
    dtype: str
    compared: str
    error: str
    bound: str
    used: str
    """Error over bound: above one fails."""
    noise: str
    verdict: str
    worst: str
    message: str


@dataclass(frozen=True)
class GateRow:
    """One gate with its leaves, worst first."""

    name: str
    verdict: str
    reason: str
    against: str
    failing: tuple[LeafRow, ...]
    passing: tuple[LeafRow, ...]

    @property
    def message(self) -> str:
        """Why the gate fails: the message of its first failing leaf, and how many there are besides."""
        said = [row.message for row in self.failing if row.message]
        first = said[0] if said else self.reason or f"{self.name} gate failed, and the record does not say why"
        more = len(self.failing) - 1
        return f"{first} (and {more} more)" if more > 0 else first


def headline(record: Mapping[str, Any]) -> Headline:
    """Fail where a parity verdict fails; incomplete where one is missing or a part could not be had."""
    workloads = mapping(record, "workloads")
    verdicts = [verdict(workload) for workload in workloads.values()]
    failed, unjudged = verdicts.count(FAIL), verdicts.count(NOT_JUDGED)
    lacking = sum(bool(failures(workload)) for workload in workloads.values())
    withheld = sum(_withholds(workload) for workload in workloads.values())
    counted = (
        (unjudged, "not judged for parity"),
        (lacking, "with a part that could not be had"),
        (withheld, "with time ratios withheld"),
    )
    notes = (
        *(f"{_of(number, len(workloads))} {what}" for number, what in counted if number),
        *(
            f"{side} was recorded elsewhere: {text(facts, 'recorded')}"
            for side, facts in mapping(record, "environment", "sides").items()
            if text(facts, "recorded")
        ),
    )
    if failed:
        return Headline(FAIL, f"Parity fails in {_of(failed, len(workloads))}", notes)
    if unjudged or lacking or not workloads:
        held = verdicts.count(PASS)
        return Headline(INCOMPLETE, f"Parity holds in {_of(held, len(workloads))}; the run is incomplete", notes)
    return Headline(PASS, f"Parity holds in {_of(len(workloads), len(workloads))}", notes)


def verdict(workload: object) -> str:
    """The parity verdict of a workload, or that there is none."""
    return text(workload, "parity", "verdict") or NOT_JUDGED


def gate_verdicts(workload: object) -> dict[str, str]:
    """Every gate in the order of the contract, whether the record has it or not."""
    return {name: text(workload, "parity", "gates", name, "verdict") or NOT_JUDGED for name in _names(workload)}


def gates(workload: object) -> tuple[GateRow, ...]:
    """The gates that the record has."""
    return tuple(
        _gate(name, part(workload, "parity", "gates", name)) for name in _names(workload) if _has(workload, name)
    )


def failures(workload: object) -> tuple[FailureRow, ...]:
    """What could not be had."""
    return tuple(
        FailureRow(text(entry, "side") or "?", text(entry, "doing"), text(entry, "reason"))
        for entry in entries(workload, "failures")
    )


def why_missing(workload: object) -> str:
    """One sentence for a part of the record that is not there."""
    if failures(workload):
        return "it is not in the record, and what could not be had is listed above"
    return "it is not in the record"


def _names(workload: object) -> tuple[str, ...]:
    extra = (name for name in mapping(workload, "parity", "gates") if name not in GATES)
    return (*GATES, *extra)


def _has(workload: object, name: str) -> bool:
    return bool(mapping(workload, "parity", "gates", name))


def _gate(name: str, gate: object) -> GateRow:
    comparisons = sorted(entries(gate, "comparisons"), key=_used, reverse=True)
    return GateRow(
        name=name,
        verdict=text(gate, "verdict") or NOT_JUDGED,
        reason=text(gate, "reason"),
        against="JAX vs TF" if name == EXACT else "JAX vs oracle",
        failing=tuple(_leaf(entry) for entry in comparisons if part(entry, "verdict") == FAIL),
        passing=tuple(_leaf(entry) for entry in comparisons if part(entry, "verdict") != FAIL),
    )


def _leaf(entry: object) -> LeafRow:
    used = _used(entry)
    return LeafRow(
        pass_=text(entry, "pass"),
        case=text(entry, "case"),
        leaf=text(entry, "leaf"),
        dtype=text(entry, "dtype"),
        compared=f"{_run(text(entry, 'found_from'))} vs {_run(text(entry, 'expected_from'))}",
        error=numbers.error(part(entry, "error")),
        bound=numbers.error(part(entry, "bound")),
        used=_headroom(used),
        noise=numbers.error(part(entry, "noise")),
        verdict=text(entry, "verdict"),
        worst=_worst(entry),
        message=text(entry, "message"),
    )


def _used(entry: object) -> float:
    """Error over bound; infinite where the error is not finite or must be zero and is not."""
    error, bound = numbers.finite(part(entry, "error")), numbers.finite(part(entry, "bound"))
    if error is None:
        return math.inf
    if not bound:
        return math.inf if error else 0.0
    return error / bound


def _run(source: str) -> str:
    """A side named without a mode is its float64 run."""
    return f"{source} float64" if source in ("tf", "jax") else source


def _headroom(used: float) -> str:
    if math.isinf(used):
        return numbers.MISSING
    return f"{used:,.0f}" if used >= 100 else f"{used:.3g}"


def _worst(entry: object) -> str:
    found, expected = part(entry, "found"), part(entry, "expected")
    if found is None and expected is None:
        return ""
    index = entries(entry, "worst_index")
    return f"{f'{list(index)}: ' if index else ''}{_value(found)}, expected {_value(expected)}"


def _value(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _withholds(workload: object) -> bool:
    ratios = mapping(workload, "timing", "ratios")
    return any(part(ratio, "withheld") for ratio in ratios.values())


def _of(number: int, total: int) -> str:
    return f"{number} of {total} workload{'' if total == 1 else 's'}"
