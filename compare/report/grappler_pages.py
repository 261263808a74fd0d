"""The page of `jaxport compilation grappler`: each change under its pass, both graphs, and every node that changed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from compare.record.grappler_part import KINDS, NodeRewrite, Optimization, OptimizedNode
from compare.report import grappler_changes, grappler_rows
from compare.report.cluster_pages import short_stem
from compare.report.grappler_pictures import draw
from compare.report.page_html import write_page
from compare.report.pages import Cell, Column, Lines, Page, Pictures, Section, SourceLine, Table, columns, list_lines
from compare.report.pictures import keep
from compare.report.showable import printable

BESIDE = 80
"""Nodes of the graph before, up to which both pictures stand side by side; beyond, nothing could be read."""
FILE = "grappler.json"
_MOST_ON_CONSOLE = 10
_CHANGES = (Column("change", "wrap"), Column("nodes", "number", "page"), Column("lines"))
_OPERATIONS = (Column("operation"), *columns("before", "after", kind="number"))
_CONSTANTS = (*columns("node", "type"), Column("bytes", "number"), Column("value", "code wrap"))
_NODES = (*columns("node", "change", kind="wrap"), *columns("before", "after", kind="code wrap"), Column("by", "wrap"))


def write_optimization(record: Optimization, out: Path) -> tuple[Page, list[str]]:
    """Write the page and its pictures into the folder, which is made; the page, and what was written, the page last."""
    safe = printable(record)
    stem = short_stem(safe.name)
    pictures = [
        keep(title, draw(f"{safe.name}: {title}", nodes, safe), out / f"{stem}.{title.partition(' ')[0]}")
        for title, nodes in (("before Grappler", safe.before), ("after Grappler", safe.after))
    ]
    page = Page(
        command="jaxport compilation grappler",
        title=safe.name,
        sections=[_changes(safe), *_on_page(safe, Pictures(pictures, is_beside=len(safe.before) <= BESIDE))],
        notes=["Before: the graph that runs with Grappler switched off. After: the graph that runs with it."],
    )
    path = write_page(page, out / f"{stem}.html")
    hints = dict.fromkeys(picture.hint for picture in pictures if picture.hint)
    return page, [*(str(out / picture.file) for picture in pictures), *hints, str(path)]


def _changes(optimization: Optimization) -> Section:
    """The changes by pass, and what follows."""
    first = (grappler_rows.traced_line(optimization), grappler_rows.operations_line(optimization))
    last = (
        *filter(None, (grappler_rows.constants_line(optimization), grappler_rows.later_line(optimization))),
        *grappler_rows.result_lines(optimization),
        *grappler_rows.kernel_lines(optimization),
        *grappler_rows.doubts(optimization),
    )
    rows = grappler_changes.rewrite_rows(optimization)
    tables = [
        Table(_CHANGES, _changes_of(group), title=passes, most_on_console=_MOST_ON_CONSOLE, is_nested=True)
        for passes, group in groupby(rows, key=attrgetter("passes"))
    ]
    headline = grappler_rows.headline(optimization)
    return Section(optimization.name, headline, last, (Lines(list(filter(None, first))), *tables))


def _changes_of(rows: Iterator[grappler_changes.RewriteRow]) -> list[list[Cell]]:
    return [
        [Cell(row.what), Cell(str(row.count)), Cell("", sources=list_lines(row.places), names=row.names)]
        for row in rows
    ]


def _on_page(optimization: Optimization, pictures: Pictures) -> Iterator[Section]:
    """The sections that only a page has."""
    yield Section("Both graphs", blocks=[pictures], is_on_page_alone=True)
    tables = (
        ("Operations", _OPERATIONS, [(op, str(b), str(a)) for op, b, a in grappler_rows.operation_rows(optimization)]),
        ("Constants that Grappler computed", _CONSTANTS, list(map(_constant, grappler_rows.constants(optimization)))),
        ("Node by node", (*_NODES, Column("line")), [_row(rewrite, optimization) for rewrite in optimization.rewrites]),
    )
    for name, titles, rows in tables:
        if rows:
            yield Section(name, blocks=[Table(titles, rows, whole_in=FILE)], is_on_page_alone=True)


def _constant(node: OptimizedNode) -> tuple[str, ...]:
    constant = node.constant
    if constant is None:
        return node.name, "", "", ""
    return node.name, f"{constant.dtype}[{','.join(map(str, constant.shape))}]", str(constant.bytes), constant.text


def _row(rewrite: NodeRewrite, optimization: Optimization) -> tuple[Cell | str, ...]:
    node = rewrite.before or rewrite.after or OptimizedNode()
    kind = KINDS.get(rewrite.kind, rewrite.kind)
    return (
        rewrite.name,
        ": ".join(filter(None, (kind, ", ".join(rewrite.into)))),
        _node(rewrite.before),
        _node(rewrite.after),
        grappler_changes.passes(rewrite, optimization),
        Cell("", sources=[SourceLine(node.source, node.line)] if node.source else ()),
    )


def _node(node: OptimizedNode | None) -> str:
    return f"{node.op}({', '.join(node.inputs)})" if node else ""
