"""Files for Model Explorer: both programs, what belongs together in them, and numbers by value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings, showing
from compare.hlo.align import align
from compare.hlo.levels import Subject
from compare.report.model_explorer import graph_collection, sync_navigation, times, ulps, write_model_explorer

MATRIX = np.ones((4, 4), np.float32)


def node(key: str, op: str, *operands: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "name": f"{op}.{key}", "op": op, "shape": "f32[4]", "operands": list(operands)} | more


def view(
    left: list[dict[str, Any]], right: list[dict[str, Any]], *matches: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {"labels": ["tf", "jax"], "level": "raw", "left": {"label": "tf", "nodes": left},
            "right": {"label": "jax", "nodes": right}, "matches": list(matches), "alike": []} | more  # fmt: skip


def match(left: str, right: str, ulp: float | str | None = None) -> dict[str, Any]:
    return {"left": left, "right": right, "ulp": ulp}


@pytest.fixture(scope="module")
def real() -> dict[str, Any]:
    """The view of two exported programs with a loop in each."""

    def subject(label: str, function: Any) -> Subject:
        return Subject(label, bindings.hlo_of(bindings.parse(exported(function, MATRIX))), ("input x",))

    left = subject("tf", lambda x: jax.lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) + 1, x))
    right = subject("jax", lambda x: jax.lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) * 2, x))
    return showing.view(align(left, right), {}, ("tf", "jax"))


def graphs(found: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    return {graph["id"]: {node["id"]: node for node in graph["nodes"]} for graph in found["graphs"]}


def test_every_value_is_a_node_and_every_edge_has_both_ends(real: dict[str, Any]) -> None:
    found = graph_collection(real)
    assert found["label"] == "tf and jax, structural"
    for graph in found["graphs"]:
        keys = [node["id"] for node in graph["nodes"]]
        assert len(keys) == len(set(keys)) > len(real["left"]["nodes"])
        assert {edge["sourceNodeId"] for node in graph["nodes"] for edge in node["incomingEdges"]} <= set(keys)


def test_nodes_have_the_fields_that_model_explorer_declares(real: dict[str, Any]) -> None:
    """Those of GraphNode, IncomingEdge, KeyValue and MetadataItem in its graph_builder.py, all of them strings."""
    declared = {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata", "style"}
    for graph in graph_collection(real)["graphs"]:
        for each in graph["nodes"]:
            assert set(each) <= declared
            assert all(isinstance(each[name], str) for name in ("id", "label", "namespace"))
            assert all(set(pair) == {"key", "value"} for pair in each["attrs"] + each["outputsMetadata"][0]["attrs"])
            for edge in each["incomingEdges"]:
                assert set(edge) == {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"}
                assert all(isinstance(value, str) for value in edge.values())


def test_a_region_is_a_layer_below_its_value(real: dict[str, Any]) -> None:
    found = graphs(graph_collection(real))["tf"]
    (loop,) = [each for each in found.values() if each["label"] == "while"]
    inner = [each for key, each in found.items() if key.startswith(f"{loop['id']}.")]
    assert inner
    assert all(each["namespace"].startswith(f"{loop['namespace']}/while %{loop['id']}/".lstrip("/")) for each in inner)


def test_a_value_stands_in_its_fusion_or_else_in_the_frontends_scope() -> None:
    left = [
        node("0", "add", place=["call", "a/b"], op_name="jit(f)/mlp/add"),
        node("1", "dot", op_name="jit(f)/mlp/dot"),
        node("2", "copy"),
    ]
    found = graphs(graph_collection(view(left, [])))["tf"]
    assert [each["namespace"] for each in found.values()] == ["call/a_b", "jit(f)/mlp", ""]


def test_a_node_tells_its_source_its_shape_and_its_class() -> None:
    fields = {"source": "model.py:3", "class": "changed", "rules": ["powers"], "frames": ["model.py:3", "train.py:9"]}
    found = graphs(graph_collection(view([node("0", "add", **fields)], [])))["tf"]["0"]
    told = {pair["key"]: pair["value"] for pair in found["attrs"]}
    assert told == {"shape": "f32[4]", "source": "model.py:3", "name": "add.0", "class": "changed", "rules": "powers",
                    "stack": "model.py:3\ntrain.py:9"}  # fmt: skip
    assert found["style"]["backgroundColor"].startswith("#")
    assert found["outputsMetadata"] == [{"id": "0", "attrs": [{"key": "shape", "value": "f32[4]"}]}]


def test_what_is_matched_or_alike_belongs_together_and_nothing_else() -> None:
    found = sync_navigation(view([], [], match("0", "5"), match("3", "1"), alike=[match("2", "2")]))
    assert found == {
        "type": "sync_navigation",
        "disableMappingFallback": True,
        "showDiffHighlights": True,
        "mappingEntries": [
            {"leftNodeIds": ["0"], "rightNodeIds": ["5"]},
            {"leftNodeIds": ["3"], "rightNodeIds": ["1"]},
            {"leftNodeIds": ["2"], "rightNodeIds": ["2"]},
        ],
    }


def test_a_value_with_several_partners_stands_in_one_entry() -> None:
    (entry,) = sync_navigation(view([], [], match("0", "5"), match("1", "5"), match("1", "6")))["mappingEntries"]
    assert (sorted(entry["leftNodeIds"]), sorted(entry["rightNodeIds"])) == (["0", "1"], ["5", "6"])


def test_numbers_are_by_graph_and_value(real: dict[str, Any]) -> None:
    left = [node("0", "add", kernel="fusion"), node("1", "dot"), node("2", "sine", kernel="fusion")]
    found = view(left, [node("0", "add")], match("0", "0", 2.0), match("2", "0", 7.0), match("1", "0", "inf"))
    found["left"]["kernels"] = {"fusion": 3e-6}
    assert {graph: data["results"] for graph, data in times(found).items()} == {
        "tf": {"0": {"value": pytest.approx(3)}, "2": {"value": pytest.approx(3)}}
    }
    assert {graph: data["results"] for graph, data in ulps(found).items()} == {
        "tf": {"0": {"value": 2.0}, "2": {"value": 7.0}},
        "jax": {"0": {"value": 2.0}},
    }
    assert (times(real), ulps(real)) == ({}, {})


def test_two_programs_of_one_name_are_two_graphs() -> None:
    found = view([node("0", "add")], [node("0", "add")])
    found["right"]["label"] = "tf"
    assert [graph["id"] for graph in graph_collection(found)["graphs"]] == ["tf (left)", "tf (right)"]


def test_files_are_written_where_there_is_something_to_say(real: dict[str, Any], tmp_path: Path) -> None:
    assert [path.name for path in write_model_explorer(real, tmp_path / "new")] == ["graphs.json", "sync.json"]
    known = graphs(json.loads((tmp_path / "new" / "graphs.json").read_text()))
    for entry in json.loads((tmp_path / "new" / "sync.json").read_text())["mappingEntries"]:
        assert set(entry["leftNodeIds"]) <= known["tf"].keys()
        assert set(entry["rightNodeIds"]) <= known["jax"].keys()
    found = view([node("0", "add", kernel="k")], [node("0", "add")], match("0", "0", 1.0))
    found["left"]["kernels"] = {"k": 1.0}
    assert [path.name for path in write_model_explorer(found, tmp_path)] == [
        "graphs.json", "sync.json", "times.json", "ulps.json",
    ]  # fmt: skip
