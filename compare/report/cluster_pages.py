"""The pages of `jaxport compilation clusters` and of `launch` beside it: picture, clusters, and why the rest is out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from compare.record.clustering_part import ClusteredGraph, Clustering, Clusterings, Launched
from compare.report import cluster_comparisons, cluster_rows
from compare.report.cluster_pictures import draw
from compare.report.cluster_rows import MOST_ON_CONSOLE
from compare.report.numbers import count_of
from compare.report.page_html import write_page
from compare.report.pages import Block, Cell, Column, Folded, Lines, Page, Picture, Pictures, Section, Table, list_lines
from compare.report.pictures import keep
from compare.report.program_texts import file_stem
from compare.report.showable import printable

MOST_GRAPHS = 60
"""The most graphs of a launched program on a page, those with most nodes in clusters first."""
_MOST_ON_CONSOLE = 6
_LONGEST_STEM = 80
_NOTE = "A cluster is what XLA compiles as one program; all other nodes run as in a plain tf.function."
_OUTSIDE = (Column("operation"), Column("nodes", "number", "page"), Column("why", "wrap"), Column("lines"))
_CHANGES = (Column("nodes"), Column("operations"), Column("why", "wrap"), Column("lines"))


def write_clusters(record: Clusterings, out: Path) -> tuple[Page, list[str]]:
    """Write the page and its pictures into the folder, which is made; the page, and what was written, the page last."""
    safe = printable(record)
    names = [clustering.name for clustering in safe.clusterings]
    stem = short_stem("-against-".join(names))
    pictures = [
        keep(f"{clustering.name}: {_DRAWN}", draw(clustering.name, graph), out / f"{stem}.{number}")
        for number, clustering in enumerate(safe.clusterings)
        for graph in [clustering.graph or ClusteredGraph()]
    ]
    sections = [_of_clustering(*both) for both in zip(safe.clusterings, pictures, strict=True)]
    page = Page(
        command="jaxport compilation clusters",
        title=" against ".join(names),
        sections=[*sections, *_change(safe)],
        notes=[_NOTE],
    )
    path = write_page(page, out / f"{stem}.html")
    return page, [*(str(out / picture.file) for picture in pictures), *_hints(pictures), str(path)]


_DRAWN = "after Grappler, without constants"


def write_launch(record: Launched, out: Path, auto_jit: bool) -> tuple[Page, list[str]]:
    """Write launch.html and the pictures of its graphs into the folder, which is there; the page, and what was written.

    Args:
      auto_jit: whether autoclustering was switched on for the program.
    """
    safe = printable(record)
    graphs = sorted(safe.graphs, key=lambda graph: (-cluster_rows.inside(graph), -len(graph.nodes)))
    names = [graph.function or "(no function)" for graph in graphs]
    pictures = [
        keep(f"{name}: {_DRAWN}", draw(name, graph), out / f"graph_{number}")
        for number, (name, graph) in enumerate(zip(names[:MOST_GRAPHS], graphs, strict=False))
    ]
    sections = [
        _section(graph, name, (), picture, is_on_page_alone=number >= _MOST_ON_CONSOLE or not graph.clusters)
        for number, (graph, name, picture) in enumerate(zip(graphs, names, pictures, strict=False))
    ]
    lines = Lines(list(cluster_rows.launch_lines(safe, auto_jit)))
    page = Page(
        command="jaxport compilation launch",
        title=" ".join(safe.command),
        sections=[Section("The program", blocks=[lines]), *sections],
        notes=[_NOTE, *_rest(graphs, sections)],
    )
    return page, [*_hints(pictures), str(write_page(page, out / "launch.html"))]


def _rest(graphs: Sequence[ClusteredGraph], sections: Sequence[Section]) -> Iterable[str]:
    """Where functions are that a console has no room for."""
    rest = [graph for graph, section in zip(graphs, sections, strict=False) if section.is_on_page_alone]
    if rest:
        nodes = sum(len(cluster_rows.computing(graph)) for graph in rest)
        yield f"{count_of(len(rest), 'more function')} of {count_of(nodes, 'node')} stand in launch.html."
    if len(graphs) > len(sections):
        yield f"{len(graphs) - len(sections)} more graphs stand in launch.json."


def short_stem(name: str) -> str:
    """The name of a page, without its ending."""
    return file_stem(name)[:_LONGEST_STEM]


def _hints(pictures: Iterable[Picture]) -> list[str]:
    return list(dict.fromkeys(picture.hint for picture in pictures if picture.hint))


def _of_clustering(clustering: Clustering, picture: Picture) -> Section:
    lines = [cluster_rows.time_line(clustering.time), *cluster_rows.whole_lines(clustering)]
    if clustering.others:
        lines.append(f"{count_of(len(clustering.others), 'other function')} ran meanwhile: clusters.json has them")
    graph = clustering.graph or ClusteredGraph()
    return _section(graph, clustering.name, filter(None, lines), picture, clustering.minimum)


def _section(
    graph: ClusteredGraph,
    name: str,
    lines: Iterable[str],
    picture: Picture,
    minimum: int | None = None,
    is_on_page_alone: bool = False,
) -> Section:
    if not graph.nodes:
        return Section(name, "TensorFlow's log names no graph of this function: nothing is known")
    apart = [(line,) for line in cluster_rows.apart(graph)]
    rest = [
        (row.ops, str(row.count), row.why, Cell("", sources=list_lines(row.places), names=row.names))
        for row in cluster_rows.outside_rows(graph, minimum)
    ]
    blocks = (
        cluster_rows.cluster_table(graph),
        _listing((Column("clusters", "wrap"),), apart, "Clusters that were not joined"),
        _listing(_OUTSIDE, rest, "Outside of every cluster"),
        Pictures([picture]),
        *_log_lines(graph),
    )
    return Section(name, cluster_rows.headline(graph), list(lines), blocks, is_on_page_alone)


def _listing(columns: Sequence[Column], rows: Sequence[Sequence[Cell | str]], title: str) -> Table:
    return Table(columns, rows, title=title, most_on_console=MOST_ON_CONSOLE, is_nested=True)


def _log_lines(graph: ClusteredGraph) -> Iterable[Block]:
    if graph.unread:
        sentence = f"{count_of(len(graph.unread), 'line')} of TensorFlow's log not understood"
        yield Lines([f"{sentence}; the page lists them"])
        yield Folded(sentence, [Lines(graph.unread)])


def _change(record: Clusterings) -> Iterable[Section]:
    """The sections on the differences between two functions."""
    graphs = [clustering.graph for clustering in record.clusterings if clustering.graph]
    if record.changes is None or len(graphs) != len(record.clusterings):
        return
    left, right = record.clusterings
    rows = [
        (row.what, Cell(row.ops, "warning"), row.why, Cell("", sources=list_lines(row.places)))
        for row in cluster_comparisons.changed_rows(record.changes, right.minimum)
    ]
    yield Section(
        f"{left.name} against {right.name}",
        cluster_comparisons.comparison(graphs[0], graphs[1], record.changes),
        list(cluster_comparisons.times_compared(left.time, right.time, record.time)),
        [_listing(_CHANGES, rows, "Nodes that differ")],
    )
