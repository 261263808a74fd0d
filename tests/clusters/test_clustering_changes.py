"""Two clusterings held against each other: a node that changed its cluster changes what is said."""

from __future__ import annotations

import pytest
from clusterings import graph, node, recorded
from msgspec.structs import replace

from compare.clusters.clustering_changes import changes
from compare.clusters.measured_share import measure_times
from compare.record.clustering_part import NO_KERNEL, SMALL
from compare.report.cluster_comparisons import changed_rows, comparison
from compare.report.cluster_rows import headline, outside_rows, time_line
from workloads.protocol.framework import KernelRun

LEFT = graph(
    node("mul", "Mul", "cluster_0", "y = x * 2"),
    node("tanh", "Tanh", "cluster_0", "y = tf.tanh(y)"),
    node("add", "Add", "cluster_0", "return y + 1"),
)


def test_equal_graphs_are_the_same_whatever_clusters_are_called() -> None:
    renamed = graph(*(replace(each, cluster="cluster_7") for each in LEFT.nodes))
    found = changes(LEFT, renamed)
    assert found.same and comparison(LEFT, renamed, found) == "the same nodes in the same clusters"


def test_a_node_that_is_planted_outside_is_found_with_its_line() -> None:
    planted = graph(*LEFT.nodes[:2], replace(LEFT.nodes[2], cluster="", outside=SMALL))
    found = changes(LEFT, planted)
    assert not found.same
    assert [pair.right.name for pair in found.left_out if pair.right] == ["add"]
    (row,) = changed_rows(found, 4)
    assert (row.what, row.ops, row.places) == ("left its cluster", "Add", {("f.py:7", "return y + 1"): 1})
    assert "at least 4 operations" in row.why
    assert headline(planted) == "2 of 3 nodes in 1 cluster; 1 outside"


def test_a_cluster_that_is_split_is_found() -> None:
    split = graph(*LEFT.nodes[:2], replace(LEFT.nodes[2], cluster="cluster_1"))
    assert [pair.right.name for pair in changes(LEFT, split).regrouped if pair.right] == ["add"]


def test_clusters_that_became_one_are_found() -> None:
    split = graph(*LEFT.nodes[:2], replace(LEFT.nodes[2], cluster="cluster_1"))
    found = changes(split, LEFT)
    assert not found.same and [pair.right.name for pair in found.regrouped if pair.right] == ["add"]


def test_what_only_the_second_has_and_leaves_outside_stands_first() -> None:
    edited = graph(
        *LEFT.nodes[:2],
        replace(LEFT.nodes[2], cluster="cluster_1"),
        node("PrintV2", "PrintV2", "", "tf.print(y)", NO_KERNEL),
    )
    first, *_ = changed_rows(changes(LEFT, edited))
    assert first.what == "only in the second, and outside"
    assert first.ops == "PrintV2" and first.why == "XLA has no kernel for it"
    assert list(first.places) == [("f.py:7", "tf.print(y)")]


def test_names_that_an_edit_numbers_anew_do_not_matter() -> None:
    renamed = graph(*(replace(each, name=f"{each.name}_1") for each in LEFT.nodes))
    assert changes(LEFT, renamed).same


def test_names_tell_apart_the_nodes_of_one_line() -> None:
    before = graph(*(node(f"model/{name}", "Mul", "cluster_0", "model(x, training=True)") for name in "abc"))
    after = graph(*(node(f"model/{name}", "Mul", "cluster_0", "model(x)") for name in "abc"))
    assert changes(before, after).same


def test_the_headline_of_nothing_says_so() -> None:
    bare = graph(*(replace(each, cluster="", outside=SMALL) for each in LEFT.nodes))
    assert headline(bare) == "nothing was compiled: none of 3 nodes is in a cluster"
    (row,) = outside_rows(bare, 4)
    assert row.count == 3 and row.ops == "Mul, Tanh, Add"


def test_the_headline_of_the_recorded_function() -> None:
    assert headline(recorded()) == "14 of 16 nodes in 2 clusters; 2 outside"
    assert [row.ops for row in outside_rows(recorded())] == ["PrintV2", "StringFormat"]


def call(*nodes: tuple[str, float]) -> list[KernelRun]:
    return [KernelRun(name, 0, 0.0, seconds) for name, seconds in nodes]


def test_time_is_divided_between_clusters_and_what_is_outside() -> None:
    ran = [call(("cluster_0_1/xla_run:_XlaRun", 0.6), ("cluster_0_1/xla_compile:_XlaCompile", 0.1), ("u:Unique", 0.3))]
    found = measure_times(ran * 3)
    assert (found.split.compiled_s, found.split.overhead_s, found.split.outside_s) == pytest.approx((0.6, 0.1, 0.3))
    assert found.clusters == {"cluster_0": pytest.approx(0.6)} and dict(found.split.nodes) == {"u": pytest.approx(0.3)}
    assert "60 % in clusters, 30 % outside" in time_line(found.split)


def test_a_node_that_is_planted_slower_takes_a_larger_share() -> None:
    quick = measure_times([call(("cluster_0_1/xla_run:_XlaRun", 0.5), ("u:Unique", 0.5))]).split
    slow = measure_times([call(("cluster_0_1/xla_run:_XlaRun", 0.5), ("u:Unique", 4.5))]).split
    assert "50 % in clusters" in time_line(quick) and "10 % in clusters" in time_line(slow)


def test_a_profile_without_nodes_says_that_nothing_is_known() -> None:
    assert time_line(measure_times([[], []]).split) == "time: not known: the profiler saw no node of the graph"
