"""The report of a run: one page, from the record alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from compare.record.envelope import Record
from compare.report import costs, node_rows, overviews, page_html, rooflines, sections, tables, verdicts
from compare.report.next_steps import next_steps
from compare.report.pages import Beside, Block, Cell, Column, Facts, Folded, Lines, Page, Table, columns
from compare.report.showable import printable
from compare.writing import write_atomically

_NODES = (*columns("node", "machine", "load before its tasks"), *columns("workloads", "lost", kind="wrap"))
_NEXT = (Column("what to do next", "code wrap"), Column("what it answers", "wrap"))


def render(record: Record) -> str:
    """The page for a record. Every string of the record is escaped."""
    return page_html.render(_page(printable(record)))


def _page(record: Record) -> Page:
    headline = verdicts.headline(record)
    rows = overviews.overview(record)
    origin = (" ".join(record.command), f"size {record.size}" if record.size else "", record.created)
    return Page(
        command="jaxport",
        title=headline.sentence,
        origin=list(filter(None, origin)),
        sections=[sections.section(row, record.workloads[row.name]) for row in rows],
        verdict=verdicts.cell(headline.verdict),
        remarks=headline.notes,
        overview=list(_overview(record, rows)),
        is_filtered=True,
    )


def _overview(record: Record, rows: tuple[overviews.OverviewRow, ...]) -> Iterator[Block]:
    yield overviews.table(rows) if rows else Lines(["The record holds no workload."], "note")
    if record.omissions:
        yield Lines([f"Not measured: {'; '.join(record.omissions)}."], "note")
    yield Table(_NEXT, next_steps(record, rows), "next steps")
    nodes = [(row.name, row.machine, row.load, row.workloads, row.lost) for row in node_rows.rows(record)]
    yield Table(_NODES, nodes, "nodes")
    if node_rows.unlike(record):
        yield Lines([node_rows.UNLIKE], "note")
    facts = [Facts([(name, Cell(text)) for name, text in pairs], name) for name, pairs in tables.environment(record)]
    if facts:
        yield Folded("Environment", facts)
    limits = [table for table in (rooflines.machine(record), costs.dispatch(record)) if table.rows]
    if limits:
        yield Folded("Machine limits, measured in this run", [Beside(limits)])


def write_report(record: Record, folder: Path) -> Path:
    """Write report.html into the folder, making the folder where there is none; returns its path."""
    page = render(record)
    path = folder / "report.html"
    write_atomically(path, page)
    return path
