"""What a page is given of an alignment: every value, its class, its partners, and where the programs part."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings, executing, levels, showing
from compare.hlo.align import Alignment, FrontierEntry, Match, align
from compare.hlo.align._alignment import RegionAlignment, ResultMatch
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.levels import STRUCTURE, Subject
from compare.hlo.rewriting import Change, Rewritten, rewrite
from compare.hlo.rules.structural import STRUCTURAL

MATRIX = np.ones((4, 4), np.float32)
LABELS = ("tf", "jax")
F32 = Shape("f32")


def subject(label: str, function: Callable[..., Any], slots: tuple[str, ...] = ("input x",)) -> Subject:
    return Subject(label, bindings.hlo_of(bindings.parse(exported(function, MATRIX))), slots)


def aligned(left: Callable[..., Any], right: Callable[..., Any], level: str = STRUCTURE) -> Alignment:
    return align(subject("tf", left), subject("jax", right), level)


def shown(alignment: Alignment, **more: Any) -> dict[str, Any]:
    return showing.view(alignment, {}, LABELS, **more)


def nodes_of(side: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for node in side["nodes"]:
        yield node
        for region in node["regions"]:
            yield from nodes_of(region)


def graph(*nodes: Node, results: Sequence[int] = (), name: str = "main") -> Graph:
    parameters = tuple(node.id for node in nodes if node.opcode == "parameter")
    return Graph(name, {node.id: node for node in nodes}, parameters, tuple(results) or (nodes[-1].id,))


def form(*nodes: Node, changes: tuple[Change, ...] = ()) -> Rewritten:
    return dataclasses.replace(rewrite(graph(*nodes), ()), graph=graph(*nodes), changes=changes)


def x(**fields: Any) -> Node:
    return Node(0, "x", "parameter", F32, **fields)


def test_every_value_of_both_programs_stands_in_the_view_in_order() -> None:
    found = aligned(lambda x: jnp.tanh(x @ x) + 1, lambda x: jnp.tanh(x @ x) * 2)
    view = shown(found)
    for side, rewritten in (("left", found.left), ("right", found.right)):
        assert [node["name"] for node in view[side]["nodes"]] == [node.name for node in rewritten.graph]
        keys = [node["id"] for node in nodes_of(view[side])]
        assert len(set(keys)) == len(keys)
        assert {operand for node in nodes_of(view[side]) for operand in node["operands"]} <= set(keys)
        assert set(view[side]["results"] + view[side]["parameters"]) <= set(keys)


def test_the_view_is_plain_json_whatever_it_holds() -> None:
    infinite = np.array([np.nan, np.inf], np.float32)
    left = form(x(), Node(1, "c", "constant", Shape("f32", (2,)), literal=infinite))
    alignment = Alignment(STRUCTURE, left, left, (Match(0, 0, "slot", ulp=float("inf")),), ())
    view = shown(alignment)
    assert json.loads(json.dumps(view, allow_nan=False)) == view
    assert view["matches"][0]["ulp"] == "inf"
    assert view["left"]["nodes"][1]["literal"] == "nan, inf"


def test_values_of_one_number_are_unchanged_and_the_rest_is_only_here() -> None:
    view = shown(aligned(lambda x: jnp.tanh(jnp.sin(x)), lambda x: jnp.sin(x)))
    classes = {node["op"]: node["class"] for side in ("left", "right") for node in view[side]["nodes"]}
    assert classes["sine"] == classes["parameter"] == showing.UNCHANGED
    assert classes["tanh"] == showing.ONLY_HERE
    (entry,) = view["frontier"]
    assert next(node["op"] for node in view["left"]["nodes"] if node["id"] == entry["node"]) == "tanh"


def test_what_a_rule_wrote_is_rewritten_and_names_the_rule() -> None:
    change = Change("reciprocal", "quotient", "divide -> f32[]", "multiply -> f32[]", "model.py:3", numerics=True)
    left = form(x(), Node(1, "quotient", "multiply", F32, (0, 0)), changes=(change,))
    right = form(x(), Node(1, "product", "multiply", F32, (0, 0)))
    view = shown(Alignment(STRUCTURE, left, right, (Match(0, 0, "slot"), Match(1, 1, "value number")), ()))
    (product,) = [node for node in view["left"]["nodes"] if node["op"] == "multiply"]
    assert (product["class"], product["rules"], product["numerics"]) == (showing.REWRITTEN, ["reciprocal"], True)
    assert view["right"]["nodes"][1]["class"] == showing.UNCHANGED


def test_changes_are_counted_by_rule_the_busiest_first_with_its_meaning() -> None:
    rule = STRUCTURAL[0]
    changes = tuple(Change(rule.name, f"v{number}", "a", "b", "", False) for number in range(5))
    left = form(x(), changes=(Change("another", "v", "a", "b", "model.py:1", True), *changes))
    found = shown(Alignment(STRUCTURE, left, form(x()), (), ()))["changes"]
    assert [(each["rule"], each["side"], each["count"], each["numerics"]) for each in found] == [
        (rule.name, "tf", 5, False),
        ("another", "tf", 1, True),
    ]
    assert found[0]["meaning"] == rule.meaning
    assert [each["name"] for each in found[0]["examples"]] == ["v0", "v1", "v2"]
    assert found[1]["examples"][0]["source"] == "model.py:1"


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (Node(1, "v", "constant", F32, literal=np.array(0.00101, np.float32)), ["literal"]),
        (Node(1, "v", "constant", Shape("f64"), literal=np.array(0.001, np.float32)), ["shape"]),
        (
            Node(1, "v", "constant", F32, attributes=(("k", 1),), literal=np.array(0.001, np.float32)),
            ["attribute"],
        ),
        (Node(1, "v", "iota", F32, literal=np.array(0.001, np.float32)), ["opcode"]),
        (Node(1, "v", "constant", F32, literal=np.array(0.001, np.float32)), ["operand"]),
        (Node(1, "v", "iota", Shape("s32"), literal=None), ["opcode", "shape", "literal"]),
    ],
)
def test_what_stands_in_one_place_is_changed_and_says_in_what(other: Node, differs: list[str]) -> None:
    one = Node(1, "v", "constant", F32, literal=np.array(0.001, np.float32))
    alike = (Match(1, 1, "neighbourhood", note="the same place"),)
    view = shown(Alignment(STRUCTURE, form(x(), one), form(x(), other), (Match(0, 0, "slot"),), (), alike))
    assert view["alike"] == [
        {"left": "1", "right": "1", "matcher": "neighbourhood", "ulp": None, "note": "the same place"}
        | {"differs": differs}
    ]
    assert {view[side]["nodes"][1]["class"] for side in ("left", "right")} == {showing.CHANGED}


def test_regions_stand_within_their_values_and_what_is_alike_in_them_is_matched() -> None:
    def looping(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) + 1, x)

    loop = shown(aligned(looping, looping))
    (left,) = [node for node in loop["left"]["nodes"] if node["op"] == "while"]
    assert len(left["regions"]) == 2
    inner = [node["id"] for region in left["regions"] for node in nodes_of(region)]
    assert all(key.startswith(f"{left['id']}.") for key in inner)
    matched = {match["left"]: match["matcher"] for match in loop["matches"]}
    assert {matched[key] for key in inner} == {"region"}
    assert {node["class"] for node in nodes_of(loop["left"])} <= {showing.UNCHANGED, showing.REWRITTEN}


def test_an_alignment_of_regions_is_shown_under_the_keys_of_their_values() -> None:
    bodies = graph(x(), Node(1, "s", "sine", F32, (0,))), graph(x(), Node(1, "c", "cosine", F32, (0,)))
    left, right = (form(x(), Node(1, "r", "map", F32, (0,), regions=(body,))) for body in bodies)
    entry = FrontierEntry("jax", "cosine", "c", "model.py:9", "no cosine", node=1)
    canonical = [rewrite(body, ()) for body in bodies]
    inner = Alignment(STRUCTURE, canonical[0], canonical[1], (Match(0, 0, "region"),), (entry,),
                      alike=(Match(1, 1, "region"),))  # fmt: skip
    outer = Alignment(STRUCTURE, left, right, (Match(0, 0, "slot"),), (), alike=(Match(1, 1, "neighbourhood"),),
                      regions=(RegionAlignment(1, 1, 0, inner),))  # fmt: skip
    view = shown(outer)
    assert [(each["left"], each["right"]) for each in view["matches"]] == [("0", "0"), ("1.0.0", "1.0.0")]
    assert [(each["left"], each["differs"]) for each in view["alike"]] == [("1", ["operand"]), ("1.0.1", ["opcode"])]
    assert [(each["node"], each["counterpart"]) for each in view["frontier"]] == [("1.0.1", "")]


def test_an_entry_of_the_frontier_leads_to_its_value_and_the_nearest_source_beyond() -> None:
    left = form(x(source="model.py:1"), Node(1, "s", "sine", F32, (0,), source="model.py:2"))
    right = form(
        Node(5, "x", "parameter", F32, source="port.py:7"), Node(6, "c", "cosine", F32, (5,), source="port.py:8")
    )
    entries = (FrontierEntry("tf", "sine", "s", "model.py:2", "none", node=1),)
    plain = Alignment(STRUCTURE, left, right, (Match(0, 5, "slot"),), entries)
    (entry,) = shown(plain)["frontier"]
    assert (entry["node"], entry["counterpart"], entry["counterpart_source"]) == ("1", "5", "port.py:7")
    (entry,) = shown(dataclasses.replace(plain, alike=(Match(1, 6, "neighbourhood"),)))["frontier"]
    assert (entry["counterpart"], entry["counterpart_source"]) == ("6", "port.py:8")
    (entry,) = shown(dataclasses.replace(plain, matches=()))["frontier"]
    assert (entry["counterpart"], entry["counterpart_source"]) == ("", "")


def test_levels_are_counted_and_results_and_notes_are_handed_on() -> None:
    left, right = form(x()), form(x(), Node(1, "s", "sine", F32, (0,)))
    other = Alignment(levels.RAW, left, right, (Match(0, 0, "slot"),), ())
    results = (ResultMatch("loss", 0, None, False),)
    main = Alignment(STRUCTURE, left, left, (Match(0, 0, "slot"),), (), results=results, notes=("not run",))
    view = showing.view(main, {levels.RAW: other}, LABELS)
    assert view["levels"] == {
        levels.RAW: {"matched": 1, "left": 1, "right": 2, "equal": False},
        STRUCTURE: {"matched": 1, "left": 1, "right": 1, "equal": False},
    }
    assert view["results"] == [{"name": "loss", "left": 0, "right": None, "equal": False, "matcher": "", "ulp": None}]
    assert (view["level"], view["labels"], view["notes"]) == (STRUCTURE, ["tf", "jax"], ["not run"])


def test_a_value_has_the_kernel_that_it_is_fused_into_or_that_it_is() -> None:
    left = form(
        x(),
        Node(1, "call/sine_fusion/s", "sine", F32, (0,), place=("call", "sine_fusion")),
        Node(2, "dot", "dot", F32, (1, 1)),
        Node(3, "copy", "copy", F32, (2,)),
    )
    times = {"tf": {"sine_fusion": 2e-6, "dot": 3e-6, "gone": 1.0}}
    side = shown(Alignment(STRUCTURE, left, form(x()), (), ()), times=times)["left"]
    assert [node["kernel"] for node in side["nodes"]] == ["", "sine_fusion", "dot", ""]
    assert side["kernels"] == {"sine_fusion": 2e-6, "dot": 3e-6}


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        (np.array(0.5, np.float32), "0.5"),
        (np.full((2, 2), 3, np.int32), "3 everywhere"),
        (np.arange(8), "0, 1, 2, 3, 4, 5, 6, 7"),
        (np.arange(10), "0, 1, 2, 3, 4, 5, 6, 7, and 2 more"),
        (np.zeros((0,), np.float32), ""),
    ],
)
def test_a_literal_says_as_much_as_fits(literal: np.ndarray, text: str) -> None:
    assert showing.node_view(Node(0, "c", "constant", F32, literal=literal))["literal"] == text


def test_attributes_read_as_text() -> None:
    window = (("dimensions", ((("size", 3), ("stride", 2)), (("size", 1),))),)
    said = showing.readable((("dimensions", (0, 1)), ("direction", "GT"), ("window", window), ("config", b"a")))
    assert said == "dimensions={0,1} direction=GT window={dimensions={{size=3 stride=2},{size=1}}} config=b'a'"


def test_a_module_is_shown_with_its_fusions_and_what_is_matched() -> None:
    optimized = executing.compile_bytecode(exported(lambda x: jnp.tanh(x @ x + 1).sum(), MATRIX)).optimized_module
    read = levels.read(Subject("jax", optimized))
    first = next(iter(read.nodes))
    view = showing.module_view(read, [first])
    assert len(view["nodes"]) == len(read)
    assert any(node["place"] for node in view["nodes"])
    assert [node["id"] for node in view["nodes"] if node["matched"]] == [str(first)]
    assert any(node["source"].startswith(str(Path(__file__))) for node in view["nodes"])
    assert view["results"] == [str(key) for key in read.results]
    assert {node["matched"] for node in showing.module_view(read)["nodes"]} == {None}
