"""Clusterings on a terminal: how much is compiled, the clusters, what stayed outside with its lines, and the times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from compare.record.clustering_part import ClusteredGraph, Clustering, ClusteringChanges, EditTime, Launched
from compare.report import cluster_comparisons, cluster_rows
from compare.report.cluster_comparisons import ChangeRow
from compare.report.cluster_rows import OutsideRow, place
from compare.report.numbers import count_of
from compare.report.showable import on_lines
from compare.report.terminal import print_table

_MOST_ROWS = 12
_MOST_PLACES = 3
_MOST_GRAPHS = 6
_MOST_NAMED = 2
"""Nodes of one operation that are named where their lines are known too."""
_COLUMNS = ("cluster", "nodes", "operations", "compiled", "XLA made", "a call")


def print_clustering(clustering: Clustering, console: Console) -> None:
    """One function."""
    lines = on_lines(clustering)
    if lines.graph is None:
        console.print(Text(f"{lines.name}: TensorFlow's log names no graph of this function: nothing is known"))
        return
    print_graph(lines.name, lines.graph, console, lines.minimum)
    for line in (cluster_rows.time_line(lines.time), *cluster_rows.whole_lines(lines)):
        if line:
            console.print(Text(f"  {line}"), soft_wrap=True)
    if lines.others:
        console.print(Text(f"  {count_of(len(lines.others), 'other function')} ran meanwhile: see the page"))


def print_graph(name: str, graph: ClusteredGraph, console: Console, minimum: int | None = None) -> None:
    """One graph.

    Args:
      name: what it is called.
      graph: its nodes and clusters.
      console: where to.
      minimum: operations that a cluster has to have.
    """
    console.print(Text.assemble((name, "bold"), f": {cluster_rows.headline(graph)}"), soft_wrap=True)
    if graph.clusters:
        print_table(console, _table(graph))
    for line in _lines(graph, minimum):
        console.print(line, soft_wrap=True)


def print_comparison(
    left: Clustering, right: Clustering, changes: ClusteringChanges, time: EditTime | None, console: Console
) -> None:
    """Two functions held against each other.

    Args:
      left: before the edit.
      right: after it.
      changes: what differs.
      time: of both, where it was measured.
      console: where to.
    """
    first, second, changes_shown = on_lines(left), on_lines(right), on_lines(changes)
    if first.graph is None or second.graph is None:
        return
    sentence = cluster_comparisons.comparison(first.graph, second.graph, changes_shown)
    console.print(Text.assemble((f"{first.name} against {second.name}", "bold"), f": {sentence}"), soft_wrap=True)
    for row in cluster_comparisons.changed_rows(changes_shown, second.minimum):
        for line in _change(row):
            console.print(line, soft_wrap=True)
    for line in cluster_comparisons.times_compared(first.time, second.time, time):
        console.print(Text(f"  {line}"), soft_wrap=True)


def _table(graph: ClusteredGraph) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in _COLUMNS:
        table.add_column(f"  {title}" if title == "cluster" else title, overflow="fold")
    for row in cluster_rows.cluster_rows(graph)[:_MOST_ROWS]:
        cells = (f"  {row.name}", row.nodes, row.ops, row.compiled, row.made, row.seconds)
        table.add_row(*map(Text, cells))
    return table


def _lines(graph: ClusteredGraph, minimum: int | None) -> Iterator[Text]:
    if len(graph.clusters) > _MOST_ROWS:
        yield Text(f"  and {count_of(len(graph.clusters) - _MOST_ROWS, 'smaller cluster')}")
    rows = cluster_rows.outside_rows(graph, minimum)
    if rows:
        yield Text("  outside:")
    for row in rows[:_MOST_ROWS]:
        yield from _outside(row)
    if len(rows) > _MOST_ROWS:
        yield Text(f"    and {count_of(sum(row.count for row in rows[_MOST_ROWS:]), 'node')} more, on the page")
    for line in cluster_rows.apart(graph)[:_MOST_ROWS]:
        yield Text(f"  {line}")
    if graph.unread:
        yield Text(f"  {count_of(len(graph.unread), 'line')} of TensorFlow's log not understood: see the page")


def _outside(row: OutsideRow) -> Iterator[Text]:
    yield Text.assemble("    ", (row.ops, "yellow"), f": {row.why}")
    yield from _places(row.places)
    if row.count <= _MOST_NAMED or not row.places:
        more = f" and {len(row.names) - _MOST_PLACES} more" if len(row.names) > _MOST_PLACES else ""
        yield Text(f"      {', '.join(row.names[:_MOST_PLACES])}{more}", style="dim")


def _places(places: Mapping[tuple[str, str], int]) -> Iterator[Text]:
    for (source, line), count in list(places.items())[:_MOST_PLACES]:
        times = f" ({count} nodes)" if count > 1 else ""
        yield Text(f"      {place(source)}  {line}{times}", style="dim")
    if len(places) > _MOST_PLACES:
        yield Text(f"      and {count_of(len(places) - _MOST_PLACES, 'more line')}", style="dim")


def _change(row: ChangeRow) -> Sequence[Text]:
    reason = f": {row.why}" if row.why else ""
    return [Text.assemble(f"  {row.what}: ", (row.ops, "yellow"), reason), *_places(row.places)]


def print_launch(launch: Launched, console: Console, auto_jit: bool) -> None:
    """A program, and what TensorFlow compiled in it.

    Args:
      launch: what was read.
      console: where to.
      auto_jit: whether autoclustering was switched on for it.
    """
    lines = on_lines(launch)
    for line in cluster_rows.launch_lines(lines, auto_jit):
        console.print(Text(line), soft_wrap=True)
    graphs = sorted(lines.graphs, key=lambda graph: -cluster_rows.inside(graph))
    clustering = [graph for graph in graphs if graph.clusters]
    for graph in clustering[:_MOST_GRAPHS]:
        print_graph(graph.function or "(no function)", graph, console)
    rest = [*clustering[_MOST_GRAPHS:], *(graph for graph in graphs if not graph.clusters)]
    if rest:
        nodes = sum(len(cluster_rows.computing(graph)) for graph in rest)
        console.print(Text(f"{count_of(len(rest), 'more function')} of {count_of(nodes, 'node')}: see the page"))
