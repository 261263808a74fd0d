"""The replies of tools to an agent: verdicts, places, both values, and what to do next, in few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compare.api import ladders
from compare.api.check_report import CheckReport
from compare.api.diagnosis import DoctorReport
from compare.api.locate_report import FirstDeparture, LocateReport
from compare.api.port_writing import WrittenPort
from compare.record.diagnosis_part import NOTE, Finding
from compare.record.rung_part import Ladder, LocatedOperation
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS

_MOST = 5
"""Failures, and findings of a severity, that a reply lists in full; it counts the others."""
_LONGEST = 400

Shown = Callable[[str], str]
"""Makes paths in a text relative."""


@dataclass(frozen=True)
class FailureReply:
    """An array of the port that fails a gate: its place, the original's value there, the port's, and one line."""

    gate: str
    place: str
    expected: float | None
    found: float | None
    message: str


@dataclass(frozen=True)
class CheckReply:
    """The verdicts of the gates on a port: `verdict` is pass, fail, not_judged or incomplete."""

    verdict: str
    gates: dict[str, str]
    failures: list[FailureReply]
    further_failures: int
    not_judged: list[str]
    hint: str


@dataclass(frozen=True)
class LocateReply:
    """The operations to blame: `verdict` is pass where no pass departs, fail, or not_judged."""

    verdict: str
    passes: dict[str, str]
    departures: list[FirstDeparture]
    hint: str


@dataclass(frozen=True)
class BlamedOperation:
    """An operation that departs, its line in either file, what is wrong, and what to do about it."""

    operation: str
    jax_line: str
    tf_line: str
    cause: str
    remedy: str


@dataclass(frozen=True)
class LadderReply:
    """The rung at which a port fails, the first layer that differs, the operations to blame, and what to look at.

    `rungs` from the first to the last are pass, fail, not_judged, not_reached or not_applicable.
    """

    verdict: str
    fails: str
    rungs: dict[str, str]
    messages: list[str]
    layer: str
    operations: list[BlamedOperation]
    look_at: list[str]
    hint: str


@dataclass(frozen=True)
class FindingReply:
    """One thing in a model that will hurt, or wants a decision, and where it is."""

    severity: str
    subject: str
    what: str
    advice: str
    gotcha: str
    places: list[str]


@dataclass(frozen=True)
class DoctorReply:
    """The hard parts of a model, and what `write_port` leaves unwritten; null if it does not read the model."""

    blockers: int
    findings: list[FindingReply]
    further_findings: int
    left_to_write: list[str] | None
    hint: str


@dataclass(frozen=True)
class PortReply:
    """A port that was written: `file` is what `check` takes."""

    folder: str
    file: str
    left_to_write: list[str]
    left_in: list[str]
    check: CheckReply | None
    hint: str


def check_reply(report: CheckReport, show: Shown) -> CheckReply:
    """The reply to `check`.

    Args:
      report: of the gates.
      show: makes paths relative.
    """
    failures = [
        FailureReply(failure.gate, failure.place, failure.expected, failure.found, _short(show(failure.message)))
        for failure in report.failures[:_MOST]
    ]
    missing = [f"{name}: {gate.message}" for name, gate in report.gates.items() if gate.verdict == NOT_JUDGED]
    return CheckReply(
        verdict=report.verdict,
        gates={name: gate.verdict for name, gate in report.gates.items()},
        failures=failures,
        further_failures=max(0, len(report.failures) - _MOST),
        not_judged=[_short(show(line)) for line in missing],
        hint=_hint(report.verdict),
    )


def _hint(verdict: str) -> str:
    if verdict == PASS:
        return "the port is proved: every gate holds"
    if verdict == FAIL:
        return "call locate with the same arguments: it names the operation to blame"
    return "nothing is proved: see not_judged, and correct what could not be run"


def locate_reply(report: LocateReport, show: Shown) -> LocateReply:
    """The reply to `locate`.

    Args:
      report: of all passes.
      show: makes paths relative.
    """
    departures = [
        replace(departure, tf_line=show(departure.tf_line), jax_line=show(departure.jax_line))
        for departure in report.departures[:_MOST]
    ]
    word = next((departure.gotchas for departure in departures if departure.gotchas), "")
    about = f"; gotchas {word!r} shows the right port" if word else ""
    hints = {
        PASS: "no operation departs: what fails is another matter, see check",
        FAIL: f"edit the line at jax_line, then call check again{about}",
    }
    return LocateReply(
        report.verdict, dict(report.passes), departures, hints.get(report.verdict, _short(show(str(report))))
    )


def ladder_reply(ladder: Ladder, show: Shown) -> LadderReply:
    """The reply to `next`.

    Args:
      ladder: of a port.
      show: makes paths relative.
    """
    verdict, sentence = ladders.conclude(ladder)
    telling = [rung for rung in ladder.rungs if rung.verdict in (FAIL, NOT_JUDGED)]
    operations = [_operation(place, show) for rung in telling for place in rung.located[:_MOST]]
    hints = {
        PASS: "call check: next judges fewer modes than all gates do",
        FAIL: f"edit what look_at names, then call next again ({sentence})",
    }
    return LadderReply(
        verdict=verdict,
        fails=ladder.fails,
        rungs={rung.name: rung.verdict for rung in ladder.rungs},
        messages=_list_texts([line for rung in telling for line in rung.told][:_MOST], show),
        layer=next((rung.layers.first for rung in telling if rung.layers and rung.layers.first), ""),
        operations=operations,
        look_at=_list_texts([line for rung in ladder.rungs for line in rung.next], show),
        hint=hints.get(verdict, f"nothing is proved: {_short(sentence)}"),
    )


def _operation(place: LocatedOperation, show: Shown) -> BlamedOperation:
    # The text of the line follows.
    jax, tf = (show(line.partition("  ")[0]) for line in (place.jax, place.tf))
    return BlamedOperation(place.operation, jax, tf, _short(place.cause), _short(place.remedy))


def doctor_reply(report: DoctorReport, show: Shown) -> DoctorReply:
    """The reply to `doctor`: blockers and what wants a decision; notes are counted.

    Args:
      report: of a model.
      show: makes paths relative.
    """
    findings = [finding for finding in report.findings if finding.severity != NOTE][: 2 * _MOST]
    places = None if report.places is None else [show(place) for place in report.places]
    return DoctorReply(
        blockers=len(report.blockers),
        findings=[_finding(finding, show) for finding in findings],
        further_findings=len(report.findings) - len(findings),
        left_to_write=places,
        hint="call write_port with the same arguments" if places is not None else "write the port by hand, then check",
    )


def _finding(finding: Finding, show: Shown) -> FindingReply:
    places = [show(place.source or place.name) for place in finding.places[:_MOST]]
    return FindingReply(
        *(finding.severity, finding.subject, show(finding.what), show(finding.advice), finding.gotcha, places)
    )


def port_reply(port: WrittenPort, show: Shown) -> PortReply:
    """The reply to `write_port`.

    Args:
      port: the port.
      show: makes paths relative.
    """
    check = None if port.report is None else check_reply(port.report, show)
    unwritten_places = _list_texts(port.unwritten, show)
    hint = (
        "write what is left, then call check with file"
        if unwritten_places
        else check.hint
        if check
        else "call check with file"
    )
    return PortReply(
        show(str(port.folder)), show(str(port.file)), unwritten_places, list(port.unwritten_in), check, hint
    )


def _list_texts(texts: Sequence[str], show: Shown) -> list[str]:
    return [_short(show(text)) for text in texts]


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
