"""The result of a check: verdicts, the places that fail, and the text of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from compare.api.live_weights import WeightPairs
from compare.plain_json import to_json
from compare.record.envelope import Record
from compare.record.parity_part import Place
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.record.workload_part import Workload
from compare.report import console, table_page, terminal, verdicts
from compare.report.pages import Table, columns
from compare.report.showable import one_line, printable
from compare.report.table_page import Display
from compare.report.verdicts import GateRow


@dataclass(frozen=True)
class Failure:
    """One array of the port that fails a gate.

    Attributes:
      gate: its name.
      place: the pass, the array and the element: "forward output[0, 3]".
      message: one line: what is expected there, what the port gives, and the bound.
      expected: the value of the original there; None where the arrays cannot be compared.
      found: the value of the port there; None likewise.
    """

    gate: str
    place: str
    message: str
    expected: float | None = None
    found: float | None = None


@dataclass(frozen=True)
class Gate:
    """The verdict of one gate.

    Attributes:
      verdict: "pass", "fail", "not_applicable" or "not_judged".
      message: why it fails or is not judged, or what qualifies a verdict that holds; else empty.
    """

    verdict: str
    message: str


@dataclass(frozen=True, repr=False)
class CheckReport(Display):
    """The result of `jaxport.check`. A notebook shows it as HTML; its text is the output of the command line.

    Attributes:
      verdict: "pass", "fail", "not_judged" where evidence for a gate is missing, or "incomplete" where all gates hold
        and another result is missing.
      gates: by name: structure, semantics, rounding, gradients, training, stability.
      failures: the arrays that fail, gate by gate.
      places: of a check with `fail_fast`, the operations to blame in the pass that fails.
      weights: of a Keras model and an nnx module, which were paired and where they differ; None of other functions.
      record: the same and all that it rests on, as results.json has it (docs/results.md).
    """

    verdict: str
    gates: Mapping[str, Gate]
    failures: Sequence[Failure]
    places: Sequence[Place]
    weights: WeightPairs | None
    record: Mapping[str, object]
    _text: str
    _complaints: Sequence[str]
    _html: str

    @property
    def passed(self) -> bool:
        """Whether every gate holds and no result is missing: what is not judged has not passed."""
        return self.verdict == PASS

    def assert_passed(self) -> None:
        """Do nothing for a port that passed.

        Raises:
          AssertionError: it did not; the lines that the command line prints of it.
        """
        if not self.passed:
            raise AssertionError("\n".join(self._complaints))


def report_of(record: Record, weights: WeightPairs | None = None, further: Sequence[str] = ()) -> CheckReport:
    """The report of a record of one workload.

    Args:
      record: of it.
      weights: of a Keras model and an nnx module; None of other functions.
      further: sentences that stand before the last line.
    """
    safe = printable(record)
    lines = [one_line(line) for line in (*(weights.lines if weights else ()), *further)]
    ((name, part),) = safe.workloads.items()
    rows = verdicts.gates(part)
    return CheckReport(
        verdict=verdicts.outcome(part),
        gates={row.name: Gate(row.verdict, _message(row)) for row in rows},
        failures=tuple(failure for row in rows if row.verdict == FAIL for failure in _failures(row)),
        places=part.parity.places if part.parity else (),
        weights=weights,
        record=to_json(record),
        _text=_text(record, lines),
        _complaints=verdicts.complaints(name, part),
        _html=_page(name, part, lines),
    )


def _page(name: str, part: Workload, further: Sequence[str]) -> str:
    """The verdict, the gates, and the first place that fails."""
    gates = verdicts.gates(part)
    why = ["" if row.verdict in (FAIL, NOT_JUDGED) else row.reason for row in gates]
    rows = [(row.name, verdicts.cell(row.verdict), reason) for row, reason in zip(gates, why, strict=True)]
    places = [f"First place that fails: {leaf.place}" for row in gates for leaf in row.failing][:1]
    lines = (*places, *verdicts.complaints(name, part), *further)
    return table_page.render(name, verdicts.outcome(part), Table(columns("gate", "verdict", ""), rows), lines)


def _message(row: GateRow) -> str:
    return row.message if row.verdict in (FAIL, NOT_JUDGED) else row.reason


def _failures(row: GateRow) -> list[Failure]:
    """The arrays of a gate that fail; one without a place where none can be compared."""
    failing = [Failure(row.name, leaf.place, leaf.message, leaf.expected, leaf.found) for leaf in row.failing]
    return failing or [Failure(row.name, "", row.message)]


def _text(record: Record, further: Sequence[str]) -> str:
    """The overview, what else there is to say, and the last line, as the command line writes them to a file."""
    headline = verdicts.headline(record)

    def show(out: Console) -> None:
        console.print_overview(record, out)
        for line in further:
            out.print(line, soft_wrap=True)
        out.print(f"{verdicts.WORDS[headline.verdict]} {headline.sentence_with_notes}", soft_wrap=True)

    return terminal.text_of(show)
