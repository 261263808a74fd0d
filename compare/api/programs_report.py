"""`jaxport hlo` from Python: whether two programs are equal, level by level, and why not, as a caller reads it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from compare.api.program_equality import unequal
from compare.api.timing_options import check_pass
from compare.errors import RequestError
from compare.files import Json
from compare.plain_json import to_json
from compare.progress import Reporter
from compare.prove import program_pairs
from compare.prove.program_alignment import OPTIMIZED, SHOWN, RegionSearch, Scope, examine
from compare.record.envelope import SCHEMA
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report import table_page, terminal
from compare.report.alignments import print_alignments
from compare.report.numbers import count_of
from compare.report.pages import Table, columns
from compare.report.region_tables import print_regions
from compare.report.showable import one_line
from compare.report.table_page import Display
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload

_MOST_LINES = 5
"""Differences that a notebook lists; the report has all of them."""


@dataclass(frozen=True)
class ProgramLevel:
    """Two programs at one level.

    Attributes:
      equal: whether they are one program there.
      matched: values that have a partner.
      tf_only: values of TensorFlow's program, or of the first, that have none.
      jax_only: values of JAX's program, or of the second, that have none.
      assumes: what has to hold of the inputs for them to be equal.
      reason: why they could not be compared there; "" where they were.
    """

    equal: bool
    matched: int
    tf_only: int
    jax_only: int
    assumes: Sequence[str]
    reason: str


@dataclass(frozen=True)
class ProgramDifference:
    """One reason for which two programs differ.

    Attributes:
      name: of the reason.
      meaning: what it means; "" where no known reason fits.
      places: values that it is the reason of.
      sources: FILE:LINE of these, where that is known.
    """

    name: str
    meaning: str
    places: int
    sources: Sequence[str]


@dataclass(frozen=True, repr=False)
class ProgramsReport(Display):
    """The result of `jaxport.compare_programs`; its text is the output of `jaxport hlo`.

    Attributes:
      verdict: "pass" where both are one program at `level`, "fail" where not, "not_judged" where that is not known.
      level: that the verdict and `differences` are of.
      levels: by name: raw, structural, algebraic, unfused; and optimized, of objects of this process where it is
        `level`.
      differences: why they differ at `level`; most places first, those without a known reason last.
      message: why they are not equal, in one line; "" where they are.
      record: the same and all that it rests on, as hlo.json has it (docs/hlo.md).
    """

    verdict: str
    level: str
    levels: Mapping[str, ProgramLevel]
    differences: Sequence[ProgramDifference]
    message: str
    record: Mapping[str, object]
    _text: str
    _html: str

    @property
    def equal(self) -> bool:
        """Whether both are one program at `level`."""
        return self.verdict == PASS

    def assert_equal(self) -> None:
        """Do nothing where both are one program at `level`.

        Raises:
          AssertionError: they are not, or it is not known; why, in one line.
        """
        if not self.equal:
            raise AssertionError(self.message)


@dataclass(frozen=True)
class ProgramOptions:
    """The options of `jaxport.compare_programs`, under their public names."""

    level: str
    pass_: str | None
    size: str | None

    def __post_init__(self) -> None:
        if self.level not in SHOWN:
            raise RequestError(f"expected level of {', '.join(SHOWN)}, found {self.level!r}: choose one of these")
        check_pass(self.pass_)


def compare(
    pool: Pool, references: Sequence[str | AnyWorkload], options: ProgramOptions, progress: Reporter, compiled: bool
) -> ProgramsReport:
    """The report of a workload's two programs, or of two programs in files.

    Args:
      pool: of both sides.
      references: one workload, or two programs as `jaxport hlo` names them.
      options: what of it is compared.
      progress: shows each step.
      compiled: whether each side's XLA compiles both programs, whatever the level; at "optimized" it always does.

    Raises:
      RequestError, SideError, UnreadableProgram: they cannot be compared at this level.
    """
    if options.level == OPTIMIZED and len(references) > 1:
        raise RequestError(f"expected functions or a port file with level {OPTIMIZED}, found programs: choose another")
    choice = program_pairs.Choice(options.pass_, options.size, compiled=compiled or options.level == OPTIMIZED)
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        (pair,) = program_pairs.choose_pairs(references, pool, choice, Path(folder), progress)
        view = examine(pair, options.level, progress, Scope.EVERY_LEVEL, by_region=RegionSearch.MATCHED).view
    return _report(to_json({**view, "targets": {}}))


def _report(pair: Json) -> ProgramsReport:
    level, record = pair["level"], {"schema": SCHEMA, "pairs": [pair]}
    apart = next(iter(unequal(pair, level)), None)
    verdict, message = (PASS, "") if apart is None else (apart[0], one_line(apart[2]))
    levels = {name: _level(counts) for name, counts in pair["levels"].items()}
    differences = tuple(map(_difference, pair["levels"][level].get("reasons", ())))
    return ProgramsReport(
        verdict=verdict,
        level=level,
        levels=levels,
        differences=differences,
        message=message,
        record=record,
        _text=terminal.text_of(lambda console: _show(record, console, verdict, message)),
        _html=_page(f"{pair['name']}: {_WORDS[verdict]} at level {level}", levels, differences),
    )


def _level(counts: Json) -> ProgramLevel:
    if "reason" in counts:
        return ProgramLevel(False, 0, 0, 0, (), one_line(counts["reason"]))
    alone = counts["left_only"], counts["right_only"]
    return ProgramLevel(counts["equal"], counts["matched"], *alone, tuple(counts["assumes"]), "")


def _difference(reason: Json) -> ProgramDifference:
    return ProgramDifference(
        one_line(reason["name"]), one_line(reason["meaning"]), reason["places"], tuple(reason["sources"])
    )


def _show(record: Json, console: Console, verdict: str, message: str) -> None:
    print_alignments(record, console)
    print_regions(record, console, False)
    console.print(_WORDS[verdict] + (f": {message}" if message else ""), soft_wrap=True)


_WORDS = {PASS: "equal", FAIL: "not equal", NOT_JUDGED: "not judged"}


def _page(name: str, levels: Mapping[str, ProgramLevel], differences: Sequence[ProgramDifference]) -> str:
    titles = columns("level", "", "values of both", "of tf alone", "of jax alone")
    texts = [_line(difference) for difference in differences[:_MOST_LINES]]
    more = len(differences) - len(texts)
    table = Table(titles, [(title, *_cells(counts)) for title, counts in levels.items()])
    return table_page.render(name, "", table, [*texts, *([f"and {more} more"] if more > 0 else [])])


def _cells(counts: ProgramLevel) -> Sequence[str]:
    if counts.reason:
        return counts.reason, "", "", ""
    texts = "equal" if counts.equal else f"where {' and '.join(counts.assumes)}" if counts.assumes else "not equal"
    return texts, str(counts.matched), str(counts.tf_only), str(counts.jax_only)


def _line(difference: ProgramDifference) -> str:
    where = f" ({', '.join(difference.sources[:2])})" if difference.sources else ""
    meaning = f": {difference.meaning}" if difference.meaning else ""
    return f"{difference.name}, {count_of(difference.places, 'place')}{meaning}{where}"
