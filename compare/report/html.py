"""One self-contained page: no network, and nothing on it needs a script to be seen."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from compare.record.envelope import Record
from compare.record.parity_part import Parity
from compare.record.workload_part import Workload
from compare.report import (
    charts,
    compilers,
    cost_charts,
    costs,
    limits,
    numbers,
    overviews,
    program_texts,
    reach,
    tables,
    timing_notes,
    verdicts,
)
from compare.report.showable import printable
from compare.writing import write_atomically
from workloads._dimensions import described
from workloads._modes import JAX_TUNED

TEMPLATES = Path(__file__).parent / "templates"


def render(record: Record) -> str:
    """The page for a record. Every string of the record is escaped."""
    shown = printable(record)
    script = (TEMPLATES / "report.js").read_text()
    overview = overviews.overview(shown)
    return (
        templates()
        .get_template("report.html.j2")
        .render(
            headline=verdicts.headline(shown),
            words=verdicts.WORDS,
            created=shown.created,
            command=" ".join(shown.command),
            size=shown.size,
            environment=tables.environment(shown),
            machine=limits.machine(shown),
            dispatch=costs.dispatch(shown),
            overview=overview,
            sections=[_section(row, shown.workloads[row.name]) for row in overview],
            style=Markup((TEMPLATES / "report.css").read_text()),
            script=Markup(script),
            script_hash=script_hash(script),
        )
    )


def write_report(record: Record, folder: Path) -> Path:
    """Write report.html into the folder, making the folder where there is none; returns its path."""
    page = render(record)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    write_atomically(path, page)
    return path


@functools.cache
def templates() -> Environment:
    """The templates: strings are escaped, and a name that nobody gave is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _section(row: overviews.OverviewRow, workload: Workload) -> dict[str, Any]:
    """All that the template shows of one workload."""
    return {
        "row": row,
        "summary": workload.summary,
        "source": workload.source,
        "cost": tables.cost(workload),
        "facts": _facts(workload),
        "failures": verdicts.failures(workload),
        "why_missing": verdicts.why_missing(workload),
        **_parity(workload),
        **_speed(workload),
        **_conditions(workload),
        **_costs(workload),
        **_texts(workload),
        "page": program_texts.page(workload, row.name),
        "made": compilers.of_workload(workload),
    }


def _facts(workload: Workload) -> list[tuple[str, str]]:
    """Dimensions, then inputs with their types, then the compiler options that the port declares."""
    dimensions = [(name, numbers.scalar(value)) for name, value in workload.dimensions.items()]
    facts = [*dimensions, *workload.inputs.items()]
    options = tables.compiler_options(workload)
    return [*facts, (f"compiler options of {JAX_TUNED}", options)] if options else facts


def _parity(workload: Workload) -> dict[str, Any]:
    parity = workload.parity or Parity()
    return {
        "gates": verdicts.gates(workload),
        "oracle": list(parity.oracle.items()),
        "deviations": [
            {
                "gate": deviation.gate,
                "kind": deviation.kind or "declared",
                "where": " ".join(filter(None, (deviation.pass_, deviation.leaf))),
                "bound": numbers.error(deviation.bound),
                "observed": numbers.error(deviation.observed),
                "reason": deviation.reason,
            }
            for deviation in parity.deviations
        ],
        "sizes": [
            {
                "dimensions": described(size.dimensions),
                "verdict": size.verdict or verdicts.NOT_JUDGED,
                "reason": size.reason,
            }
            for size in parity.sizes
        ],
        "reach": reach.rows(workload),
        "reach_key": reach.key(workload),
        "reach_chart": Markup(reach.chart(workload)),
        "losses": Markup(charts.losses(workload)),
        "loss_gaps": [
            (gap.first, gap.second, numbers.error(gap.error), gap.step) for gap in charts.loss_gaps(workload)
        ],
    }


def _speed(workload: Workload) -> dict[str, Any]:
    return {
        "matrix": tables.matrix(workload),
        "kernels": tables.kernels(workload),
        "modes": tables.modes(workload),
        "ratios": tables.ratios(workload),
        "attribution": tables.attribution_in_words(workload),
        "page_faults": tables.page_faults_in_words(workload),
        # Vega escapes the names that it draws; tests hold it to that.
        "timing_chart": Markup(charts.timing(workload)),
        "ratio_chart": Markup(charts.ratios(workload)),
    }


def _conditions(workload: Workload) -> dict[str, Any]:
    return {
        "threads": timing_notes.threads(workload),
        "planted": timing_notes.planted(workload),
        "smallest": timing_notes.smallest(workload),
        "by_threads": timing_notes.by_threads(workload),
        "peers": timing_notes.peers(workload),
    }


def _costs(workload: Workload) -> dict[str, Any]:
    return {
        "phases": costs.phases(workload),
        "storage": costs.storage(workload),
        "roofline": limits.roofline(workload),
        "roofline_chart": Markup(cost_charts.roofline(workload)),
        "batches": costs.batches(workload),
        "batch_limit": costs.batch_limit(workload),
        "largest_batches": costs.largest_batches(workload),
        "batch_chart": Markup(cost_charts.batches(workload)),
    }


def _texts(workload: Workload) -> dict[str, Any]:
    return {
        "opcodes": program_texts.opcodes(workload),
        "programs": program_texts.programs(workload),
        "same_program": program_texts.same_program(workload),
        "stages": program_texts.stages(workload),
        "modules": program_texts.modules(workload),
        "alignment": program_texts.alignment(workload),
        "frontier": program_texts.frontier(workload),
    }


def script_hash(script: str) -> str:
    """What the page's content security policy lets run: this script, and none that a record might carry."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
