"""The page of `jaxport compilation grappler`: both graphs side by side, each change under its pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from compare.record.grappler_part import KINDS, NodeRewrite, Optimization, OptimizedNode
from compare.report import grappler_changes, grappler_rows
from compare.report.cluster_pages import data_url, short_stem
from compare.report.cluster_rows import place
from compare.report.grappler_changes import RewriteRow
from compare.report.grappler_pictures import draw
from compare.report.page_html import styles, templates
from compare.report.pictures import save
from compare.report.showable import printable
from compare.writing import write_atomically

BESIDE = 80
"""Nodes of the graph before, up to which both pictures stand side by side; beyond, nothing could be read."""

LONGEST = 500
"""Rows of one table: the JSON beside the page has them all."""


@dataclass(frozen=True)
class Drawing:
    """One of the graphs."""

    title: str
    picture: str
    """The SVG as a data URL; empty of none."""
    file: str
    hint: str


@dataclass(frozen=True)
class NodeRow:
    """One change as text."""

    name: str
    what: str
    before: str
    after: str
    passes: str
    into: str
    source: str
    line: str


def write_optimization(record: Optimization, out: Path) -> list[str]:
    """Write the page and its pictures into the folder, which is made; what was written, the page last."""
    safe = printable(record)
    stem = short_stem(safe.name)
    drawings = [
        _drawing(f"{safe.name}: {title}", nodes, safe, out / f"{stem}.{title.partition(' ')[0]}")
        for title, nodes in (("before Grappler", safe.before), ("after Grappler", safe.after))
    ]
    rows = grappler_changes.rewrite_rows(safe)
    page = templates().get_template("grappler.html.j2")
    text = page.render(
        style=styles("dump.css", "page.css"),
        place=place,
        title=safe.name,
        headline=grappler_rows.headline(safe),
        lines=_lines(safe),
        passes=[(name, list(group)) for name, group in groupby(rows, key=_passes)],
        operations=grappler_rows.operation_rows(safe),
        drawings=drawings,
        beside=len(safe.before) <= BESIDE,
        nodes=[_row(rewrite, safe) for rewrite in safe.rewrites[:LONGEST]],
        left_out=max(0, len(safe.rewrites) - LONGEST),
        constants=[(node.name, node.constant) for node in grappler_rows.constants(safe)[:LONGEST]],
    )
    write_atomically(out / f"{stem}.html", text)
    hints = dict.fromkeys(drawing.hint for drawing in drawings if drawing.hint)
    return [*(str(out / drawing.file) for drawing in drawings), *hints, str(out / f"{stem}.html")]


def _passes(row: RewriteRow) -> str:
    return row.passes


def _lines(optimization: Optimization) -> list[str]:
    lines = (
        grappler_rows.traced_line(optimization),
        grappler_rows.constants_line(optimization),
        grappler_rows.later_line(optimization),
    )
    ends = (
        *grappler_rows.result_lines(optimization),
        *grappler_rows.kernel_lines(optimization),
        *grappler_rows.doubts(optimization),
    )
    return [*filter(None, lines), *ends]


def _drawing(title: str, nodes: Sequence[OptimizedNode], optimization: Optimization, stem: Path) -> Drawing:
    picture = save(*draw(title, nodes, optimization), stem)
    vector = next((path for path in picture.written if path.suffix == ".svg"), None)
    file = (vector or picture.written[0]).name
    return Drawing(title, data_url(vector) if vector else "", file, picture.hint)


def _row(rewrite: NodeRewrite, optimization: Optimization) -> NodeRow:
    node = rewrite.before or rewrite.after or OptimizedNode()
    return NodeRow(
        name=rewrite.name,
        what=KINDS.get(rewrite.kind, rewrite.kind),
        before=_node(rewrite.before),
        after=_node(rewrite.after),
        passes=grappler_changes.passes(rewrite, optimization),
        into=", ".join(rewrite.into),
        source=node.source,
        line=node.line,
    )


def _node(node: OptimizedNode | None) -> str:
    return f"{node.op}({', '.join(node.inputs)})" if node else ""
