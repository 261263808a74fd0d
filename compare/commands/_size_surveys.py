"""The common parts of `jaxport crossing sizes` and `blocks`: choose workloads, run the survey, write its record."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from compare.commands import _asked
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import or_else, rescue, writable_folder
from compare.commands._signals import hold_signals
from compare.crossings.size_series import Series
from compare.crossings.sized_times import Asked
from compare.inputs import port_files
from compare.inputs.at_size import named_apart
from compare.inputs.request import Plan
from compare.plain_json import to_json, write_json
from compare.progress import Reporter, reporter
from compare.record.block_part import ChainsInBlocks
from compare.record.crossing_part import Crossings
from compare.record.vocabulary import FAIL, PASS, compose
from compare.report import numbers, page_html, terminal
from compare.report.page_console import print_page
from compare.report.pages import Page
from compare.report.verdicts import INCOMPLETE
from workloads.core.declared import AnyWorkload
from workloads.core.spec import Workload

Found = TypeVar("Found", Crossings, ChainsInBlocks)


@dataclass(frozen=True)
class Survey(Generic[Found]):
    """One of the two: how it is made, and how its record is named and shown."""

    make: Callable[[Sequence[Series], Asked, Path, Reporter], Found]
    file: str
    page: Callable[[Found], Page]

    def run(
        self, options: argparse.Namespace, series: Callable[[], Sequence[Series]], plan: Callable[[], Plan]
    ) -> Conclusion:
        """Survey, write, print; the verdict on parity at every size.

        Raises:
          RequestError: the request cannot be carried out.
        """
        out = writable_folder(options.out)
        selection = series()
        request = Asked(_asked.sources(options), plan(), options.timeout)
        with contextlib.ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
            progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=options.json))
            record = self.make(selection, request, scratch, progress)
        self._deliver(record, out, options.json)
        return conclude(record)

    @hold_signals()
    def _deliver(self, record: Found, out: Path, as_json: bool) -> None:
        """Write the record and its page, print the tables, or the record."""
        plain: Any = to_json(record)
        with or_else(lambda: rescue(plain, self.file, as_json)):
            write_json(out / self.file, plain)
            page = self.page(record)
            path = page_html.write_page(page, (out / self.file).with_suffix(".html"))
        terminal.print_answer(plain, as_json, lambda console: print_page(page, console), path)


def find_workloads(names: Sequence[str], builtin: Mapping[str, Workload]) -> list[AnyWorkload]:
    """The named workloads, each once: known names, other workloads, or port files.

    Raises:
      RequestError, RegistryError: there is no such thing, or two of one name.
    """
    selection = [builtin.get(name) or port_files.get(name) for name in dict.fromkeys(names)]
    named_apart(selection)
    return selection


def conclude(record: Crossings | ChainsInBlocks) -> Conclusion:
    """The verdict on parity at every size; a result that is missing, or a size that was not reached, is none."""
    runs = [(series.name, run) for series in record.series for run in series.runs]
    sizes = numbers.count_of(len(runs), "size")
    verdict = compose(run.parity for _, run in runs)
    if verdict == PASS and (record.interrupted or not runs or any(run.failures for _, run in runs)):
        why = "it was interrupted" if record.interrupted else "results are missing"
        return Conclusion(INCOMPLETE, f"parity holds at {sizes}; {why}")
    if verdict == PASS:
        return Conclusion(PASS, f"parity holds at {sizes}")
    # Composed of these verdicts, it is that of one of them.
    unlike = [name for name, run in runs if compose([run.parity]) == verdict]
    outcome = "fails" if verdict == FAIL else "is not judged"
    return Conclusion(verdict, f"parity {outcome} at {len(unlike)} of {sizes}: {list_names(unlike)}")
