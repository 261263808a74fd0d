"""Pictures of modules: what is computed together in one box, every value or every kernel, drawn or only written."""

from __future__ import annotations

import os
import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import graphviz
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import executing, levels, showing
from compare.report import pictures
from compare.report.pictures import draw, kind_of, write_picture

MATRIX = np.ones((8, 8), np.float32)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def dot() -> None:
    """Graphviz itself; without it the tests that draw are skipped, except where CI promises it."""
    missing = "expected dot on the PATH, found none: install graphviz to test what it draws"
    if shutil.which("dot") is None:
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)


def node(key: str, op: str, *operands: str, place: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    plain = {"id": key, "name": f"{op}.{key}", "op": op, "shape": "f32[8]", "operands": list(operands)}
    return plain | {"place": list(place), "literal": "", "source": f"model.py:{key}", "matched": True} | more


def module(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"name": "main", "nodes": list(nodes), "results": [nodes[-1]["id"]]}


def chain(count: int, kernel_of: Any) -> dict[str, Any]:
    return module(node("0", "parameter"), *(
        node(str(at), "add", str(at - 1), place=(kernel_of(at),)) for at in range(1, count)
    ))  # fmt: skip


SMALL = module(
    node("0", "parameter", name="x"),
    node("1", "dot", "0", "0", place=("call", "dot_fusion"), shape="f32[8,2]"),
    node("2", "tanh", "1", place=("call", "tanh_fusion")),
    node("3", "copy", "2", matched=False),
)


def boxes(picture: graphviz.Digraph) -> dict[str, str]:
    """By box, its attributes as written."""
    return dict(re.findall(r'^\t+([vk]\d+) (\[(?:[^"\]]|"[^"]*")*\])', picture.source, re.MULTILINE))


def clusters(picture: graphviz.Digraph) -> list[str]:
    return re.findall(r'label="([^"]*)" style="filled,rounded" tooltip', picture.source)


def edges(picture: graphviz.Digraph) -> list[tuple[str, str, str]]:
    return re.findall(r'^\t(\w+) -> (\w+)(?: \[label="([^"]*)"\])?$', picture.source, re.MULTILINE)


def test_kernels_are_boxes_around_their_values_nested_as_they_call_each_other() -> None:
    picture, count = draw(SMALL)
    assert count == 4
    assert clusters(picture) == ["call (matrix)", "dot_fusion (matrix)", "tanh_fusion (elementwise)"]
    assert re.search(
        r"subgraph cluster_0 \{.*subgraph cluster_0_0 \{.*v1 \[.*subgraph cluster_0_1 \{", picture.source, re.S
    )


def test_edges_have_the_shape_of_what_flows() -> None:
    assert edges(draw(SMALL)[0]) == [
        ("v0", "v1", "f32[8]"), ("v1", "v2", "f32[8,2]"), ("v2", "v3", "f32[8]"), ("v3", "r0", ""),
    ]  # fmt: skip


def test_only_what_has_a_partner_is_tinted() -> None:
    found = boxes(draw(SMALL)[0])
    assert kind_of(SMALL["nodes"][1])[0] in found["v1"] and "dashed" not in found["v1"]
    assert pictures.UNMATCHED in found["v3"] and "dashed" in found["v3"]


def test_without_another_program_every_value_is_tinted() -> None:
    alone = module(node("0", "dot", matched=None))
    assert kind_of(alone["nodes"][0])[0] in boxes(draw(alone)[0])["v0"]
    assert "without a partner" not in draw(alone)[0].source


def test_a_box_tells_its_name_and_source() -> None:
    assert 'tooltip="dot.1 model.py:1"' in boxes(draw(SMALL)[0])["v1"]


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [("dot", "matrix"), ("reduce", "reduction"), ("gather", "indexing"), ("transpose", "layout"),
     ("custom-call", "library"), ("while", "control"), ("parameter", "input"), ("tanh", "elementwise")],
)  # fmt: skip
def test_operations_are_coloured_by_kind_and_every_kind_in_the_picture_is_in_its_legend(opcode: str, kind: str) -> None:
    picture, _ = draw(module(node("0", opcode)))
    color, name = kind_of(node("0", opcode))
    assert name == kind
    assert f'<td bgcolor="{color}">{kind}</td>' in picture.source


@pytest.mark.parametrize(
    ("opcodes", "kind"),
    [(["add", "dot", "reduce"], "matrix"), (["transpose", "add"], "elementwise"), (["constant", "copy"], "layout"),
     (["reduce", "tanh"], "reduction")],
)  # fmt: skip
def test_a_kernel_is_of_its_most_telling_kind(opcodes: list[str], kind: str) -> None:
    values = [node(str(at), op, place=("fusion",)) for at, op in enumerate(opcodes)]
    assert clusters(draw(module(*values))[0]) == [f"fusion ({kind})"]


def test_a_large_module_shows_kernels_and_not_their_values() -> None:
    small, large = (chain(count, lambda at: f"fusion.{at // 50}") for count in (pictures.WHOLE, pictures.WHOLE + 1))
    assert len(boxes(draw(small)[0])) == pictures.WHOLE
    picture, count = draw(large)
    assert (count, len(boxes(picture)), clusters(picture)) == (8, 8, [])
    assert "fusion.1 (elementwise)\n50 values: 50 add" in picture.source
    assert len(edges(picture)) == 8


def test_the_body_of_a_loop_is_a_box_whose_results_lead_back_and_a_reducer_is_none() -> None:
    body = {"name": "body", "nodes": [node("1.0.0", "parameter"), node("1.0.1", "tanh", "1.0.0")], "results": ["1.0.1"]}
    loop, total = (node("1", op, "0", regions=[body], place=("call",)) for op in ("while", "reduce"))
    picture, count = draw(module(node("0", "parameter"), loop))
    assert (count, clusters(picture)) == (4, ["call (control)", "body of while.1 (elementwise)"])
    assert re.search(r'"v1\.0\.1" -> v1 \[constraint=false style=dashed\]', picture.source)
    assert draw(module(node("0", "parameter"), total))[1] == 2


def test_the_tuple_that_hands_out_results_is_no_box() -> None:
    found = module(node("0", "parameter"), node("1", "tuple", "0"))
    assert list(boxes(draw(found | {"results": ["0"]})[0])) == ["v0"]


@pytest.mark.usefixtures("dot")
def test_both_files_are_written_into_a_new_folder(tmp_path: Path) -> None:
    found = write_picture(SMALL, tmp_path / "new" / "tf@tf")
    assert [path.name for path in found.written] == ["tf@tf.dot", "tf@tf.svg"]
    assert found.hint == ""
    drawing = ElementTree.parse(found.written[1])
    titles = {each.get("{http://www.w3.org/1999/xlink}title") for each in drawing.iter(f"{SVG}a")}
    assert "dot.1 model.py:1" in titles


def test_a_missing_dot_costs_only_the_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = write_picture(SMALL, tmp_path / "module")
    assert [path.name for path in found.written] == ["module.dot"]
    assert found.hint == (
        "expected Graphviz's dot on the PATH, found none: "
        "apt-get install graphviz, then dot -Tsvg -O module.dot draws it"
    )


def test_a_dot_that_fails_costs_only_the_drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dot").write_text("#!/bin/sh\ncat > /dev/null\nexit 3\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = write_picture(SMALL, tmp_path / "module")
    assert [path.name for path in found.written] == ["module.dot"]
    assert "found that it ended with status 3" in found.hint


def test_what_nobody_could_read_is_not_drawn(tmp_path: Path) -> None:
    count = pictures.DRAWN + 1
    found = write_picture(chain(count, lambda at: f"fusion.{at}"), tmp_path / "module")
    assert [path.name for path in found.written] == ["module.dot"]
    assert f"expected at most {pictures.DRAWN} boxes and as many arrows, found {count} and " in found.hint


def test_what_is_all_arrows_is_not_drawn_either(tmp_path: Path) -> None:
    """Every value reads the forty before it: few boxes, and a picture that takes Graphviz minutes."""
    nodes = [node(str(at), "add", *map(str, range(max(0, at - 40), at))) for at in range(1, 60)]
    found = write_picture(module(node("0", "parameter"), *nodes), tmp_path / "module")
    assert [path.name for path in found.written] == ["module.dot"]
    assert re.search(rf"expected at most {pictures.DRAWN} boxes and as many arrows, found 60 and \d{{4}}:", found.hint)


HOSTILE = ['<b onclick="x">', '"];}digraph evil{', "back\\slash\\N", "<>", "a:b:c", "\x1b[31m", "&amp;"]


@pytest.mark.usefixtures("dot")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(tmp_path: Path, name: str) -> None:
    values = [
        node("0", "parameter", name=name, shape=name, source=name, place=(name,)),
        node("1", name, "0", literal=name, place=(name, name)),
    ]
    found = write_picture({"name": name, "nodes": values, "results": ["1"]}, tmp_path / "module")
    drawing = ElementTree.parse(found.written[1])
    shown = name.removeprefix("\x1b[31m")
    for box, lines in (("v0", ["parameter", shown, shown]), ("v1", [shown, "f32[8]"])):
        (group,) = [each for each in drawing.iter(f"{SVG}g") if each.findtext(f"{SVG}title") == box]
        assert [each.text for each in group.iter(f"{SVG}text")] == [line for line in lines if line]
    assert not [each for each in drawing.iter() if each.get("onclick")]


@pytest.mark.usefixtures("dot")
@pytest.mark.usefixtures("programs_here")
def test_a_module_that_xla_optimized_is_drawn_with_its_fusions(tmp_path: Path) -> None:
    program = exported(lambda x: jnp.tanh(x @ x + 1).sum(axis=0), MATRIX)
    optimized = executing.compile_bytecode(program).optimized_module
    view = showing.module_view(levels.read(levels.Subject("jax", optimized)))
    found = write_picture(view, tmp_path / "jax@jax")
    texts = " ".join(each.text or "" for each in ElementTree.parse(found.written[1]).iter(f"{SVG}text"))
    assert "fusion" in texts and "tanh" in texts and "f32[8,8]" in texts
