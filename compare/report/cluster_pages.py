"""The pages of `jaxport compilation clusters` and of `launch` beside it: picture, clusters, and why the rest is out."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from compare.record.clustering_part import ClusteredGraph, Clustering, Clusterings, Launched
from compare.report import cluster_comparisons, cluster_rows
from compare.report.cluster_comparisons import ChangeRow
from compare.report.cluster_pictures import draw
from compare.report.cluster_rows import ClusterRow, OutsideRow
from compare.report.page_html import styles, templates
from compare.report.pictures import save
from compare.report.program_texts import file_stem
from compare.report.showable import printable
from compare.writing import write_atomically

LONGEST = 300
"""Rows of one table: the JSON beside the page has them all."""

MOST_GRAPHS = 60
"""Of a launched program that stand on a page, those with most nodes in clusters first."""

_LONGEST_STEM = 80


@dataclass(frozen=True)
class GraphSection:
    """One graph on a page."""

    anchor: str
    name: str
    headline: str
    lines: tuple[str, ...]
    picture: str
    """The SVG as a data URL; empty of none."""
    picture_file: str
    hint: str
    clusters: tuple[ClusterRow, ...]
    outside: tuple[OutsideRow, ...]
    apart: tuple[str, ...]
    unread: tuple[str, ...]


@dataclass(frozen=True)
class ChangeSection:
    """What differs between two functions."""

    headline: str
    rows: tuple[ChangeRow, ...]
    lines: tuple[str, ...]


def write_clusters(record: Clusterings, out: Path) -> list[str]:
    """Write the page and its pictures into the folder, which is made; what was written, the page last."""
    safe = printable(record)
    names = [clustering.name for clustering in safe.clusterings]
    stem = short_stem("-against-".join(names))
    sections = [_of_clustering(clustering, out, stem, number) for number, clustering in enumerate(safe.clusterings)]
    page = _render("jaxport compilation clusters", " against ".join(names), sections, change=_change(safe), notes=())
    write_atomically(out / f"{stem}.html", page)
    pictures = [str(out / section.picture_file) for section in sections if section.picture_file]
    return [*pictures, *dict.fromkeys(section.hint for section in sections if section.hint), str(out / f"{stem}.html")]


def write_launch(record: Launched, out: Path) -> list[str]:
    """Write launch.html and the pictures of its graphs into the folder, which is there; what was written."""
    safe = printable(record)
    graphs = sorted(safe.graphs, key=lambda graph: (-cluster_rows.inside(graph), -len(graph.nodes)))[:MOST_GRAPHS]
    sections = [
        _section(graph, graph.function or "(no function)", (), out / f"graph_{number}", number)
        for number, graph in enumerate(graphs)
    ]
    left_out = len(safe.graphs) - len(graphs)
    more = (f"{left_out} more graphs stand in launch.json.",) if left_out else ()
    profile = tuple(cluster_rows.profile_lines(safe.profiled))
    page = _render(
        "jaxport compilation launch",
        " ".join(safe.command),
        sections,
        change=None,
        notes=(*profile, *safe.notes, *more),
    )
    write_atomically(out / "launch.html", page)
    return [*dict.fromkeys(section.hint for section in sections if section.hint), str(out / "launch.html")]


def short_stem(name: str) -> str:
    """The name of a page, without its ending."""
    return file_stem(name)[:_LONGEST_STEM]


def _of_clustering(clustering: Clustering, out: Path, stem: str, number: int) -> GraphSection:
    lines = (*filter(None, [cluster_rows.time_line(clustering.time)]), *cluster_rows.whole_lines(clustering))
    graph = clustering.graph or ClusteredGraph()
    return _section(graph, clustering.name, lines, out / f"{stem}.{number}", number, clustering.minimum)


def _section(
    graph: ClusteredGraph, name: str, lines: Iterable[str], stem: Path, number: int, minimum: int | None = None
) -> GraphSection:
    picture = save(*draw(name, graph), stem)
    vector = next((path for path in picture.written if path.suffix == ".svg"), None)
    return GraphSection(
        anchor=f"graph-{number}",
        name=name,
        headline=cluster_rows.headline(graph) if graph.nodes else "no graph of this function is known",
        lines=tuple(lines),
        picture=data_url(vector) if vector else "",
        picture_file=(vector or picture.written[0]).name,
        hint=picture.hint,
        clusters=tuple(cluster_rows.cluster_rows(graph)[:LONGEST]),
        outside=tuple(cluster_rows.outside_rows(graph, minimum)[:LONGEST]),
        apart=tuple(cluster_rows.apart(graph)[:LONGEST]),
        unread=tuple(graph.unread[:LONGEST]),
    )


def data_url(file: Path) -> str:
    """A file as a URL that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(file.read_bytes()).decode()}"


def _change(record: Clusterings) -> ChangeSection | None:
    graphs = [clustering.graph for clustering in record.clusterings if clustering.graph]
    if record.changes is None or len(graphs) != len(record.clusterings):
        return None
    left, right = record.clusterings
    return ChangeSection(
        headline=cluster_comparisons.comparison(graphs[0], graphs[1], record.changes),
        rows=tuple(cluster_comparisons.changed_rows(record.changes, right.minimum)),
        lines=tuple(cluster_comparisons.times_compared(left.time, right.time, record.time)),
    )


def _render(
    command: str, title: str, sections: Sequence[GraphSection], change: ChangeSection | None, notes: Sequence[str]
) -> str:
    values: Mapping[str, object] = {
        "command": command, "title": title, "sections": sections, "change": change, "notes": notes,
    }  # fmt: skip
    page = templates().get_template("clusters.html.j2")
    return page.render(style=styles("dump.css", "page.css"), place=cluster_rows.place, **values)
