"""TensorFlow's log and graphs as data: every reason at its node, and no reason where none is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from clusterings import GRAPH, LINES, recorded, unlogged

from compare.clusters.clustered_graph import minimum, put_together, source_of
from compare.clusters.graph_file import DumpedNode, read_graph
from compare.clusters.log_lines import Refusal, is_of_clustering, read_log
from compare.files import FileError
from compare.record.clustering_part import (
    BOUNDARY,
    DECLUSTERED,
    NO_KERNEL,
    OFF,
    REFUSED,
    SMALL,
    UNKNOWN,
    ClusteredGraph,
)
from compare.report.cluster_rows import why

HEAD = "I0000 00:00:1795559806.452646    {thread} mark_for_compilation_pass.cc:1] {said}"


def said(*lines: str, thread: int = 7) -> list[str]:
    return [HEAD.format(thread=thread, said=line) for line in lines]


def begun(name: str = "__inference_f_1", thread: int = 7) -> list[str]:
    return said(f'Instantiating MultiDevice function "{name}" on default device "CPU:0"', thread=thread)


def reasons(graph: ClusteredGraph) -> dict[str, tuple[str, str]]:
    return {node.name: (node.outside, node.reason) for node in graph.nodes if node.outside}


def within(graph: ClusteredGraph) -> dict[str, str]:
    return {node.name: node.within for node in graph.nodes if node.within}


def built(lines: list[str], *nodes: DumpedNode) -> ClusteredGraph:
    log = read_log(lines)
    return put_together(log, log.of_users[0], nodes, {}, {})


def lone(name: str, op: str = "Tanh") -> DumpedNode:
    return DumpedNode(name, op, (), "")


def test_the_recorded_function_has_two_clusters_and_two_nodes_that_xla_lacks() -> None:
    graph = recorded()
    assert [(each.name, each.nodes, each.compilations) for each in graph.clusters] == [
        ("cluster_0", 9, 1), ("cluster_1", 5, 1),
    ]  # fmt: skip
    assert {name: kind for name, (kind, _) in reasons(graph).items()} == {
        "x": BOUNDARY, "identity_RetVal": BOUNDARY, "PrintV2": NO_KERNEL, "StringFormat": NO_KERNEL,
    }  # fmt: skip
    assert "No registered 'PrintV2' OpKernel" in reasons(graph)["PrintV2"][1]
    (apart,) = graph.apart
    assert (apart.left_cluster, apart.right_cluster) == ("cluster_0", "cluster_1")
    assert apart.reason == "contracting the edge would create a cycle via [StringFormat,PrintV2]"
    assert graph.logged and graph.unread == ()


def test_every_recorded_line_has_a_form() -> None:
    assert all(map(is_of_clustering, LINES))


def test_a_reason_that_is_taken_out_of_the_log_is_not_known() -> None:
    without = [line for line in LINES if "uncompilable node PrintV2" not in line]
    # TensorFlow's own count of what it can compile no longer fits: nothing is guessed of PrintV2.
    assert reasons(recorded(without))["PrintV2"] == (UNKNOWN, "")


def test_without_a_log_clusters_are_known_and_reasons_are_not() -> None:
    graph = unlogged()
    assert len(graph.clusters) == 2 and not graph.logged
    assert reasons(graph)["PrintV2"] == (UNKNOWN, "")
    assert graph.clusters[0].compilations == 0 or graph.clusters[0].compilations is None


def test_a_candidate_without_a_cluster_is_in_one_that_is_too_small() -> None:
    lines = [*begun(), *said("Device type for a: CPU", "compilation_candidates_.size() = 1")]
    assert reasons(built(lines, lone("a"))) == {"a": (SMALL, "")}


def test_a_count_that_does_not_fit_makes_no_reason() -> None:
    lines = [*begun(), *said("Device type for a: CPU", "compilation_candidates_.size() = 0")]
    assert reasons(built(lines, lone("a"))) == {"a": (UNKNOWN, "")}


def test_where_autoclustering_is_off_no_cluster_is_too_small() -> None:
    lines = [*begun(), *said("Device type for a: CPU", "compilation_candidates_.size() = 1")]
    lines += said("Not compiling cluster with device /job:localhost/device:CPU:0")
    assert reasons(built(lines, lone("a"))) == {"a": (OFF, "")}


def test_autoclustering_is_off_where_not_even_arguments_are_refused() -> None:
    lines = [*begun(), *said("Device type for x: CPU", "Device type for a: CPU", "compilation_candidates_.size() = 0")]
    graph = built(lines, lone("x", "_Arg"), lone("a"))
    assert reasons(graph) == {"x": (BOUNDARY, ""), "a": (OFF, "")}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Found uncompilable node a (op Unique): Unique op", (REFUSED, "Unique op")),
        ("Found uncompilable node a (op Foo)", (REFUSED, "op Foo")),
        ("Rejecting a: including it has overhead.", (REFUSED, "including it has overhead.")),
        ("Found uncompilable node b (op Foo): stateful", (REFUSED, "stateful")),
        ("Found uncompilable node b (op _Arg): top level _Arg or _Retval", (REFUSED, "top level _Arg or _Retval")),
        ("Declustering a because it is a root shape consumer", (DECLUSTERED, "it is a root shape consumer")),
        ("Declustering must-be-constant node a", (DECLUSTERED, "must-be-constant node")),
    ],
)
def test_a_line_gives_the_node_its_reason(line: str, expected: tuple[str, str]) -> None:
    assert reasons(built([*begun(), *said("Device type for a: CPU", line)], lone("a"))) == {"a": expected}


def test_a_reason_within_what_a_node_calls_names_the_node_there() -> None:
    graph = built(
        [*begun(), *said("Device type for a: CPU", "Found uncompilable node b (op Foo): stateful")], lone("a")
    )
    assert within(graph) == {"a": "b (op Foo)"}
    assert why(graph.nodes[0]) == "TensorFlow does not compile it: b (op Foo) within it: stateful"


def test_a_line_of_no_known_form_is_kept_as_text() -> None:
    lines = [*begun(), *said("Device type for a: CPU", "Deferring a until the moon is full")]
    graph = built(lines, lone("a"))
    assert graph.unread == ("Deferring a until the moon is full",)
    assert reasons(graph) == {"a": (UNKNOWN, "")}


def test_two_threads_are_told_apart() -> None:
    lines = [*begun("f", 1), *begun("g", 2)]
    for thread, reason in ((1, "first"), (2, "second")):
        lines += said("Device type for a: CPU", f"Rejecting a: {reason}", thread=thread)
    first, second = read_log(lines).of_users
    assert (first.refused, second.refused) == ({"a": Refusal("first")}, {"a": Refusal("second")})


def test_single_operations_are_no_functions_of_the_users() -> None:
    lines = [*begun("__wrapped__Mul_device_/CPU:0"), *begun("__inference_f_1")]
    assert [one.function for one in read_log(lines).of_users] == ["__inference_f_1"]


def test_what_a_program_prints_is_no_line_of_the_log() -> None:
    printed = ["epoch 1", "Device type for a: CPU", "I am I0000", "", "\x00\xff", "I0000 Rejecting a: no"]
    log = read_log([*begun(), *printed])
    assert log.of_users[0].looked_at == [] and not any(map(is_of_clustering, printed))


def test_compilations_are_counted_and_their_seconds_added() -> None:
    times = ("Compiled cluster_0 1 times, compile time: 500000 us, cumulative: x",
             "Compiled cluster_0 2 times, compile time: 250000 us, cumulative: y")  # fmt: skip
    compiled = read_log(said(*times)).compiled["cluster_0"]
    assert (compiled.times, compiled.seconds) == (2, pytest.approx(0.75))


@pytest.mark.parametrize(
    ("node", "line"),
    [
        ("mul", "f.py:3"),
        ("mul/clone_4", "f.py:3"),
        ("ArithmeticOptimizer/FoldTransposeIntoMatMul_mul", "f.py:3"),
        ("ArithmeticOptimizer/AddOpsRewrite_Leaf_0_mul", "f.py:3"),
        ("while/body/_1/while/add", "f.py:5"),
        ("while/enter/_3", "f.py:4"),
        ("while/while/loop_counter_switch/_17", "f.py:4"),
        ("mul_1", ""),
        ("model/mul", ""),
    ],
)
def test_a_node_that_was_made_from_another_has_its_line(node: str, line: str) -> None:
    assert source_of(node, {"mul": "f.py:3", "while": "f.py:4", "while/add": "f.py:5"}) == line


def test_the_last_minimum_counts() -> None:
    assert minimum("") == 4
    assert minimum("--tf_xla_min_cluster_size=2 --tf_xla_min_cluster_size=10") == 10


def test_a_graph_is_read_with_what_its_nodes_read(tmp_path: Path) -> None:
    text = 'node { name: "a" op: "Add" input: "b:1" input: "^c" attr { key: "_XlaCluster" value { s: "cluster_0" } } '
    (tmp_path / "g.pbtxt").write_text(text + 'attr { key: "T" value { type: DT_FLOAT } } } library { } versions { }')
    assert read_graph(tmp_path / "g.pbtxt") == (DumpedNode("a", "Add", ("b", "^c"), "cluster_0"),)


@pytest.mark.parametrize("text", ["node {", "no graph", "node { name: 3 }", "node { " * 3000])
def test_a_damaged_graph_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "g.pbtxt").write_text(text)
    with pytest.raises(FileError, match="expected a graph that TensorFlow dumped") as raised:
        read_graph(tmp_path / "g.pbtxt")
    assert "\n" not in str(raised.value)


def test_the_recorded_graph_is_what_was_dumped() -> None:
    assert len(read_graph(GRAPH)) == 18
