"""The verdicts on the run, on a workload, and by gate and leaf. Nothing is judged again here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from compare.record.base import Number
from compare.record.envelope import Environment, Record
from compare.record.parity_part import Comparison, Gate, Parity, Place
from compare.record.timing_part import Timing
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Workload
from compare.report import numbers
from compare.report.pages import Cell, Tone
from compare.report.showable import present, relative_place
from workloads.core.spec import GATES

INCOMPLETE = "incomplete"
LEFT = "left"
"""The verdict on a port with places that are left to write, whatever the gates say of the rest."""

WORDS = {
    PASS: "pass",
    FAIL: "fail",
    NOT_APPLICABLE: "not applicable",
    NOT_JUDGED: "not judged",
    INCOMPLETE: "incomplete",
    LEFT: "to be written",
}

STYLES = {PASS: "green", FAIL: "bold red", INCOMPLETE: "yellow", NOT_JUDGED: "yellow", LEFT: "yellow"}
"""The styles of verdicts on the console."""

_TONES: Mapping[str, Tone] = {
    **{PASS: "pass", "faster": "pass", FAIL: "fail", "slower": "fail", "equivalent": "", NOT_APPLICABLE: "note"},
}

EXACT = "structure"
"""The gate that compares with TensorFlow's own outputs; every other one compares with the float64 oracle."""


@dataclass(frozen=True)
class Headline:
    """The verdict of the whole run and the sentences that qualify it."""

    verdict: str
    sentence: str
    notes: tuple[str, ...]

    @property
    def sentence_with_notes(self) -> str:
        """The sentence with its notes, as the last line of a command has it."""
        return f"{self.sentence} ({'; '.join(self.notes)})" if self.notes else self.sentence


@dataclass(frozen=True)
class FailureRow:
    """A result that is missing, and why."""

    side: str
    doing: str
    reason: str

    @property
    def line(self) -> str:
        """One sentence, without the workload's name."""
        return f"{self.side}: {self.doing}: {self.reason}"


@dataclass(frozen=True)
class LeafRow:
    """One leaf beside one bound."""

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
    index: str = ""
    """The index of the worst element: "[0, 3]"; empty for a scalar, and if arrays cannot be compared."""
    expected: Number = None
    """The value expected there."""
    found: Number = None
    """The value found there."""

    @property
    def place(self) -> str:
        """The pass, the array and its worst element: "forward output[0, 3]"."""
        return f"{self.pass_} {self.leaf}{self.index}".strip()


@dataclass(frozen=True)
class GateRow:
    """One gate with its leaves, worst first; those without a verdict apart."""

    name: str
    verdict: str
    reason: str
    against: str
    failing: tuple[LeafRow, ...]
    unjudged: tuple[LeafRow, ...]
    passing: tuple[LeafRow, ...]

    @property
    def message(self) -> str:
        """Why the gate fails, or is not judged: the message of its first such leaf, and how many there are besides."""
        rows = self.failing if self.verdict == FAIL else self.unjudged
        messages = [row.message for row in rows if row.message]
        outcome = "failed" if self.verdict == FAIL else "is not judged"
        unsaid = f"{self.name} gate {outcome}, and the record does not say why"
        first = messages[0] if messages else self.reason or unsaid
        more = len(rows) - 1
        return f"{first} (and {more} more)" if more > 0 else first


def headline(record: Record) -> Headline:
    """Fail where a parity verdict fails, else not judged where one is; incomplete where a result is missing."""
    workloads = record.workloads.values()
    verdicts = [verdict(workload) for workload in workloads]
    failures, unjudged_count = verdicts.count(FAIL), verdicts.count(NOT_JUDGED)
    lacking = sum(bool(workload.failures) for workload in workloads)
    withheld_count = sum(_withholds(workload) for workload in workloads)
    lacking_evidence = any((workload.parity or Parity()).verdict == NOT_JUDGED for workload in workloads)
    told_apart = bool(failures) or not lacking_evidence
    counts = (
        (unjudged_count if told_apart else 0, "not judged for parity"),
        (lacking, "with missing results"),
        (withheld_count, "with time ratios withheld"),
    )
    sides = (record.environment or Environment()).sides
    notes = (
        *(f"{_of(number, len(workloads))} {what}" for number, what in counts if number),
        *(
            f"{side} was recorded elsewhere: {facts['recorded']}"
            for side, facts in sides.items()
            if facts.get("recorded")
        ),
    )
    if failures:
        return Headline(FAIL, f"Parity fails in {_of(failures, len(workloads))}", notes)
    if lacking_evidence:
        return Headline(NOT_JUDGED, f"Parity is not judged in {_of(unjudged_count, len(workloads))}", notes)
    if unjudged_count or lacking or not workloads:
        passes = verdicts.count(PASS)
        return Headline(INCOMPLETE, f"Parity holds in {_of(passes, len(workloads))}; the run is incomplete", notes)
    return Headline(PASS, f"Parity holds in {_of(len(workloads), len(workloads))}", notes)


def verdict(workload: Workload) -> str:
    """The parity verdict of a workload, or that there is none."""
    return (workload.parity or Parity()).verdict or NOT_JUDGED


def cell(verdict: str | None, withheld: str = "") -> Cell:
    """A verdict in words and by its colour; or that it is withheld, and why."""
    text = "withheld" if withheld else verdict or NOT_JUDGED
    return Cell(WORDS.get(text, text), _TONES.get(text, "warning"), withheld, status=text)


def is_judged(workload: Workload) -> bool:
    """Whether the record says of its gates whether they hold, or why they are not judged."""
    return (workload.parity or Parity()).verdict is not None


def outcome(workload: Workload) -> str:
    """The verdict that the exit code follows: that of parity, or incomplete where it holds and a result is missing."""
    parity = verdict(workload)
    return INCOMPLETE if parity == PASS and workload.failures else parity


def gate_verdicts(workload: Workload) -> dict[str, str]:
    """Every gate in the order of the contract, whether the record has it or not."""
    return {name: gate.verdict or NOT_JUDGED for name, gate in _gates(workload).items()}


def gates(workload: Workload) -> tuple[GateRow, ...]:
    """The gates that the record has."""
    return tuple(_gate(name, gate) for name, gate in _gates(workload).items() if present(gate))


def failures(workload: Workload) -> tuple[FailureRow, ...]:
    """The results that are missing; those that one side lacks for one reason are one row."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for failure in workload.failures:
        lacking.setdefault((failure.side or "?", failure.reason), []).append(failure.doing)
    return tuple(FailureRow(side, ", ".join(doing), reason) for (side, reason), doing in lacking.items())


def complaints(name: str, workload: Workload) -> tuple[str, ...]:
    """A line for each gate that fails or is not judged, for each place, and for each result that is missing."""
    gate_rows = gates(workload) if is_judged(workload) else ()
    messages = [gate.message for gate in gate_rows if gate.verdict == FAIL]
    messages += [f"not judged: {gate.message}" for gate in gate_rows if gate.verdict == NOT_JUDGED]
    messages += [f"{name}: {sentence}" for sentence in places(workload)]
    messages += [f"{name}: {failure.line}" for failure in failures(workload)]
    return tuple(" ".join(message.split()) for message in messages)


def disagreements(workload: Workload) -> tuple[str, ...]:
    """Where TensorFlow's own modes disagree, once a pass and leaf."""
    first: dict[tuple[str, str], str] = {}
    for finding in workload.parity.findings if workload.parity else ():
        first.setdefault((finding.pass_, finding.leaf), finding.message)
    return tuple(first.values())


def places(workload: Workload) -> tuple[str, ...]:
    """Where the pass that fails departs from TensorFlow's, one sentence an operation."""
    return tuple(map(_describe_place, workload.parity.places)) if workload.parity else ()


def _describe_place(place: Place) -> str:
    if not place.operation:
        return f"{place.pass_}: {place.difference}"
    original = relative_place(place.tf_line)
    lines = [relative_place(place.jax_line), original and f"TensorFlow's {original}"]
    where = f" at {', '.join(filter(None, lines))}" if any(lines) else ", without a source line"
    cause = f"{place.cause}: {place.remedy}" if place.remedy else place.cause
    gotchas = place.gotchas and f"see jaxport lookup gotchas {place.gotchas}"
    account = "; ".join(filter(None, (place.difference, cause, gotchas)))
    return f"{place.pass_}, {place.operation}{where}: {account} (proof: {place.proof})"


def why_missing(workload: Workload) -> str:
    """One sentence for a part of the record that is not there."""
    if workload.failures:
        return "it is not in the record; missing results are listed above"
    return "it is not in the record"


def _gates(workload: Workload) -> dict[str, Gate]:
    """The gates of the contract first, empty if the record has none; then any other."""
    recorded_gates = (workload.parity or Parity()).gates
    return {**{name: recorded_gates.get(name, Gate()) for name in GATES}, **recorded_gates}


def _gate(name: str, gate: Gate) -> GateRow:
    leaves = [_leaf(comparison) for comparison in sorted(gate.comparisons, key=_share_used, reverse=True)]
    return GateRow(
        name=name,
        verdict=gate.verdict or NOT_JUDGED,
        reason=gate.reason,
        against="JAX vs TF" if name == EXACT else "JAX vs oracle",
        failing=tuple(leaf for leaf in leaves if leaf.verdict == FAIL),
        unjudged=tuple(leaf for leaf in leaves if leaf.verdict == NOT_JUDGED),
        passing=tuple(leaf for leaf in leaves if leaf.verdict not in (FAIL, NOT_JUDGED)),
    )


def _leaf(comparison: Comparison) -> LeafRow:
    return LeafRow(
        pass_=comparison.pass_,
        case=comparison.case,
        leaf=comparison.leaf,
        dtype=comparison.dtype,
        compared=f"{_run(comparison.found_from)} vs {_run(comparison.expected_from)}",
        error=numbers.error(comparison.error),
        bound=numbers.error(comparison.bound),
        used=_headroom(_share_used(comparison)),
        noise=numbers.error(comparison.noise),
        verdict=comparison.verdict or NOT_JUDGED,
        worst=_worst(comparison),
        message=comparison.message,
        index=_index(comparison),
        expected=comparison.expected,
        found=comparison.found,
    )


def _share_used(comparison: Comparison) -> float:
    """Error over bound; infinite where the error is not finite or must be zero and is not."""
    error, bound = numbers.finite(comparison.error), numbers.finite(comparison.bound)
    if error is None:
        return math.inf
    if not bound:
        return math.inf if error else 0.0
    return error / bound


def _run(source: str | None) -> str:
    """A side named without a mode is its float64 run."""
    return f"{source} float64" if source in ("tf", "jax") else source or ""


def _headroom(share_used: float) -> str:
    if math.isinf(share_used):
        return numbers.MISSING
    return f"{share_used:,.0f}" if share_used >= 100 else f"{share_used:.3g}"


def _worst(comparison: Comparison) -> str:
    if comparison.found is None and comparison.expected is None:
        return ""
    index = _index(comparison)
    return f"{index and f'{index}: '}{_value(comparison.found)}, expected {_value(comparison.expected)}"


def _index(comparison: Comparison) -> str:
    return str(list(comparison.worst_index)) if comparison.worst_index else ""


def _value(value: Number) -> str:
    return numbers.MISSING if value is None else f"{value:.9g}"


def _withholds(workload: Workload) -> bool:
    return any(ratio.withheld for ratio in (workload.timing or Timing()).ratios.values())


def _of(number: int, total: int) -> str:
    return f"{number} of {numbers.count_of(total, 'workload')}"
