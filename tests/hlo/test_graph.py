"""Programs as graphs: read from protos, inlined, numbered, rewritten, written back and run."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

import compare
import jaxport
from compare.hlo import inline, levels, numbering, proto, read_module, rewriting, values, write_module
from compare.hlo.artifacts import hlo_of_artifact, hlo_of_file
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import Graph, Node, Shape
from compare.hlo.rules.algebraic import ALGEBRAIC
from compare.hlo.rules.structural import STRUCTURAL

X = np.linspace(-2.0, 2.0, 12, dtype=np.float32).reshape(3, 4)


def hlo(function: Any, *arguments: np.ndarray) -> bytes:
    return hlo_of_artifact(exported(function, *arguments))


def graph_of(function: Any, *arguments: np.ndarray) -> Graph:
    module, places = inline.inline(hlo(function, *arguments))
    return read_module.read_message(module, None, places)


def loop(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 3, lambda _, y: jax.nn.relu(y) * 2 + 1, x)


def branch(x: jax.Array) -> jax.Array:
    return jax.lax.cond(x[0, 0] > 0, jnp.sin, lambda y: -y, x)


def several(x: jax.Array) -> Any:
    top, places = jax.lax.top_k(x, 2)
    return {"sorted": jnp.sort(x), "top": top, "places": places, "picked": x[places[:, 0] % 3]}


def half(x: jax.Array) -> jax.Array:
    return (x.astype(jnp.bfloat16) * jnp.asarray([0.5, 1, 2, 4], jnp.bfloat16)).astype(jnp.float32)


def windows(x: jax.Array) -> jax.Array:
    image = x.reshape(1, 3, 4, 1)
    kernel = jnp.ones((2, 2, 1, 3))
    made = jax.lax.conv_general_dilated(image, kernel, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.lax.reduce_window(made, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")


def complex_numbers(x: jax.Array) -> jax.Array:
    return jnp.abs(jnp.fft.fft(x) * jnp.asarray([1 + 2j, 1, 1j, -1], jnp.complex64))


def wide(x: jax.Array) -> jax.Array:
    return x + jnp.arange(3, dtype=jnp.int8)[:, None].astype(jnp.float32) + jnp.uint32(7)


def called(x: jax.Array) -> Any:
    square = x[:, :3] @ x[:, :3].T + 3 * jnp.eye(3)
    return {"cholesky": jnp.linalg.cholesky(square), "qr": jnp.linalg.qr(square)}


FUNCTIONS = (called, loop, branch, several, half, windows, complex_numbers, wide, jax.nn.softmax, jnp.linalg.norm)


class TestReading:
    def test_an_instruction_has_shape_attributes_operands_and_the_users_line(self) -> None:
        graph = graph_of(lambda x: jnp.sum(x * 2.0, axis=1), X)
        by_opcode = {node.opcode: node for node in graph}

        assert str(by_opcode["reduce"].shape) == "f32[3]"
        assert by_opcode["reduce"].attribute("dimensions") == (1,)
        assert [graph.nodes[key].opcode for key in by_opcode["reduce"].operands] == ["multiply", "constant"]
        assert [node.opcode for node in by_opcode["reduce"].regions[0]] == ["parameter", "parameter", "add"]
        assert by_opcode["multiply"].source.startswith(__file__)
        assert by_opcode["multiply"].frames[0] == by_opcode["multiply"].source

    def test_a_line_of_an_installed_package_gives_way_to_the_users(self) -> None:
        frames = ("/venv/lib/python3.11/site-packages/flax/nnx/linear.py:3", "/home/me/model.py:7", "/home/me/run.py:1")

        assert read_module.users_line(frames) == "/home/me/model.py:7"
        assert read_module.users_line(frames[:1]) == frames[0]
        assert read_module.users_line(()) == ""

    def test_a_models_own_library_is_named_and_jaxport_never_is(self) -> None:
        packages = "/venv/lib/python3.11/site-packages"
        session = str(Path(jaxport.__file__).with_name("_session.py")) + ":90"
        frames = (f"{packages}/jax/_src/nn.py:3", f"{packages}/haiku/_src/basic.py:170", "/home/me/model.py:7", session)

        assert read_module.users_line(frames) == f"{packages}/haiku/_src/basic.py:170"
        assert read_module.users_line(("/usr/lib/python3.11/functools.py:4", *frames[2:])) == "/home/me/model.py:7"
        assert read_module.users_line((session, compare.__file__ + ":1")) == ""

    def test_a_port_that_calls_jaxports_library_is_named_and_what_calls_jaxport_is_not(self) -> None:
        twins = Path(jaxport.__file__).parent
        library, twin, session = f"{twins}/recurrent.py:159", f"{twins}/seq2seq.py:88", f"{twins}/_session.py:90"

        assert read_module.users_line((library, "/home/me/model.py:7", session)) == "/home/me/model.py:7"
        assert read_module.users_line((library, twin, session)) == twin
        assert read_module.users_line((library, session, "/home/me/notebook.py:3")) == library

    def test_lines_that_the_module_does_not_tell_come_by_the_frontends_name(self) -> None:
        data = hlo(lambda x: x * 2.0, X)
        module = proto.read_module(data)
        (product,) = [each for each in module.computations[-1].instructions if each.opcode == "multiply"]

        graph = read_module.read(data, {product.metadata.op_name: "model.py:12"})

        assert [node.source for node in graph if node.opcode == "multiply"] == ["model.py:12"]

    def test_how_exactly_a_function_is_wanted_is_an_attribute(self) -> None:
        plain, roughly = (
            {node.opcode: node for node in graph_of(lambda x, how=how: jax.lax.exp(x, accuracy=how), X)}["exponential"]
            for how in (None, jax.lax.Tolerance(atol=1e-3, rtol=0.0, ulps=0))
        )

        assert plain.attribute("result_accuracy") is None
        assert roughly.attribute("result_accuracy")

    @pytest.mark.parametrize(
        "function",
        [
            lambda x, how: jax.lax.exp(x, accuracy=how) - 1,
            lambda x, how: 1 / (1 + jax.lax.exp(-x, accuracy=how)),
            lambda x, how: x / jax.lax.sqrt(x, accuracy=how),
        ],
    )
    def test_no_rule_drops_how_exactly_a_function_is_wanted(self, function: Any) -> None:
        forms = [
            levels.at_level(levels.Subject("", hlo(lambda x, how=how: function(x, how), X)), levels.ALGEBRA)
            for how in (None, jax.lax.AccuracyMode.HIGHEST)
        ]

        assert forms[0].digests[forms[0].graph.results[0]] != forms[1].digests[forms[1].graph.results[0]]

    def test_a_product_keeps_its_algorithm_whatever_rule_writes_it(self) -> None:
        kept = [
            {
                node.opcode: node
                for node in levels.at_level(levels.Subject("", hlo(product, X, X)), levels.ALGEBRA).graph
            }
            for product in (
                lambda x, y: jax.lax.dot(x, y.T, precision=jax.lax.DotAlgorithmPreset.BF16_BF16_F32),
                lambda x, y: jax.lax.dot(x, y.T),
            )
        ]

        assert [nodes["dot"].attribute("algorithm") is None for nodes in kept] == [False, True]

    def test_all_values_of_a_field_count(self) -> None:
        found = []
        for numbers in ((1, 3), (2, 3)):
            module = proto.read_module(hlo(lambda x: x * 2.0, X))
            for value in numbers:
                module.computations[-1].instructions[0].MergeFromString(bytes([0xA0, 0x1F, value]))
            found.append(numbering.digests(read_module.read(module.SerializeToString())))

        assert found[0] != found[1]

    def test_what_a_later_xla_says_of_an_operation_makes_it_another(self) -> None:
        def with_field(number: int) -> Graph:
            module = proto.read_module(hlo(lambda x: x * 2.0, X))
            tag = number << 3 | 2
            for instruction in module.computations[-1].instructions:
                instruction.MergeFromString(bytes([tag & 0x7F | 0x80, tag >> 7]) + b"\x03new")
            return read_module.read(module.SerializeToString())

        plain, other, harmless = map(with_field, (68, 500, 88))
        form = rewriting.rewrite(other, (*STRUCTURAL, *ALGEBRAIC))

        assert not form.changes, "no rule knows what they mean"

        assert numbering.digests(plain) == numbering.digests(harmless)
        assert numbering.digests(plain) != numbering.digests(other)
        assert write_module.write_graph(harmless)
        with pytest.raises(UnreadableProgram, match="expected fields of HLO that jaxport knows, found field 500"):
            write_module.write_graph(other)

    @pytest.mark.parametrize("data", [b"", b"HloModule", b"\x00\x01\x02", b"ML\xefR"])
    def test_other_bytes_are_refused(self, data: bytes) -> None:
        with pytest.raises(UnreadableProgram, match="expected a serialized HloModuleProto"):
            read_module.read(data)

    def test_a_truncated_module_is_refused(self) -> None:
        with pytest.raises(UnreadableProgram):
            read_module.read(hlo(loop, X)[:-20])

    @pytest.mark.process
    def test_reading_needs_no_framework(self) -> None:
        code = (
            "import sys; import compare.hlo.read_module, compare.hlo.inline, compare.hlo.rewriting;"
            "assert not {'tensorflow', 'jax'} & set(sys.modules), sorted(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class TestInlining:
    def test_calls_and_fusions_are_transparent(self) -> None:
        graph = graph_of(lambda x: jax.jit(lambda y: jnp.where(y > 0, y, 0.0))(x), X)

        assert "call" not in {node.opcode for node in graph.walk()}
        (chosen,) = [node for node in graph if node.opcode == "select"]
        assert len(chosen.place) >= 1 and chosen.name.startswith("/".join(chosen.place))

    def test_calls_inside_of_a_loop_are_inlined_too(self) -> None:
        assert "maximum" in {node.opcode for node in graph_of(loop, X).walk()}

    def test_a_shared_instruction_takes_the_line_of_its_call_only_where_it_has_none(self) -> None:
        assert all(node.source for node in graph_of(loop, X).walk() if node.opcode == "maximum")


class TestNumbering:
    def test_names_and_hints_take_no_part(self) -> None:
        graph = graph_of(several, X)
        renamed = {key: node.but(name="other", op_name="", hints=()) for key, node in graph.nodes.items()}

        other = Graph("other", renamed, graph.parameters, graph.results)

        assert numbering.digests(graph) == numbering.digests(other)

    @pytest.mark.parametrize(
        "other",
        [
            lambda x: jnp.sum(x * 2.5, axis=1),
            lambda x: jnp.sum(x * 2.0, axis=0),
            lambda x: jnp.max(x * 2.0, axis=1),
            lambda x: jnp.sum(x + 2.0, axis=1),
        ],
        ids=["literal", "dimension", "reducer", "opcode"],
    )
    def test_literals_attributes_regions_and_opcodes_do(self, other: Any) -> None:
        first, second = graph_of(lambda x: jnp.sum(x * 2.0, axis=1), X), graph_of(other, X)

        assert numbering.digests(first)[first.results[0]] != numbering.digests(second)[second.results[0]]

    def test_parameters_are_known_by_what_fills_them(self) -> None:
        first, second = graph_of(lambda a, b: a - b, X, X), graph_of(lambda b, a: a - b, X, X)

        def result(graph: Graph, *slots: str) -> bytes:
            form = rewriting.rewrite(graph, (), slots)
            return form.digests[form.graph.results[0]]

        assert result(first, "a", "b") == result(second, "b", "a")
        assert result(first, "a", "b") != result(second, "a", "b")


class TestRewriting:
    def test_equal_values_are_merged_and_dead_ones_dropped(self) -> None:
        graph = graph_of(lambda x: jnp.sin(x) + jnp.sin(x) * 1, X)
        unused = Node(10**6, "unused", "cosine", Shape("f32", (3, 4)), graph.parameters)
        graph = Graph("f", {**graph.nodes, unused.id: unused}, graph.parameters, graph.results)

        opcodes = [node.opcode for node in rewriting.rewrite(graph, ()).graph]

        assert opcodes.count("sine") == 1 and "cosine" not in opcodes

    def test_what_a_rule_writes_is_rewritten_in_turn_and_every_change_is_told(self) -> None:
        halve = rewriting.Rule(
            "halve", "a number above 1 is halved", ("constant",),
            lambda node, graph: graph.constant(node.literal / 2, "f32")
            if node.literal is not None and node.literal.max() > 1
            else None,
        )  # fmt: skip

        found = rewriting.rewrite(graph_of(lambda x: x * 8.0, X), (halve,))

        assert [node.literal.item() for node in found.graph if node.literal is not None] == [1.0]
        assert [change.rule for change in found.changes] == ["halve"] * 3

    def test_rules_that_undo_each_other_end(self) -> None:
        swap = rewriting.Rule(
            "swap", "operands change places", ("subtract",),
            lambda node, graph: graph.add("subtract", node.shape, node.operands[::-1]),
        )  # fmt: skip

        found = rewriting.rewrite(graph_of(lambda x, y: x - y, X, X), (swap,))

        assert 0 < len(found.changes) < 1000

    def test_regions_are_rewritten(self) -> None:
        subtract = rewriting.Rule(
            "minus", "a product is a difference", ("multiply",),
            lambda node, graph: graph.add("subtract", node.shape, node.operands),
        )  # fmt: skip

        found = rewriting.rewrite(graph_of(loop, X), (subtract,))

        assert "multiply" not in {node.opcode for node in found.graph.walk()}
        assert {change.rule for change in found.changes} == {"minus"}


class TestWriting:
    @pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: getattr(each, "__name__", "function"))
    def test_a_graph_computes_what_its_program_did_as_read_and_as_rewritten(self, function: Any) -> None:
        expected = jax.tree.leaves(jax.jit(function)(X))
        graph = graph_of(function, X)

        for form in (graph, rewriting.rewrite(graph, ()).graph):
            found = values.prepare(form, form.results)([X])
            for key, value in zip(form.results, expected, strict=True):
                np.testing.assert_allclose(found[key], np.asarray(value), rtol=2e-6, atol=2e-6)

    def test_any_value_can_be_had(self) -> None:
        graph = graph_of(lambda x: jnp.sum(jnp.tanh(x)), X)
        (inner,) = [node.id for node in graph if node.opcode == "tanh"]

        np.testing.assert_allclose(values.prepare(graph, [inner])([X])[inner], np.tanh(X), rtol=1e-6)

    def test_what_is_written_is_read_as_the_same_program(self) -> None:
        graph = graph_of(several, X)

        again = read_module.read(write_module.write_graph(graph))

        assert numbering.region_digest(again, numbering.digests(again)) == numbering.region_digest(
            graph, numbering.digests(graph)
        )


class TestFiles:
    def test_bytecode_proto_and_whole_text_are_one_program(self) -> None:
        artifact = exported(lambda x: x * 2.0, X)
        data = hlo_of_artifact(artifact)
        subject = levels.Subject("text", data)
        text = "HloModule f\n\nENTRY main {\n  x = f32[3,4] parameter(0)\n  c = f32[] constant(2)\n"
        text += "  b = f32[3,4] broadcast(c), dimensions={}\n  ROOT m = f32[3,4] multiply(x, b)\n}\n"

        found = [hlo_of_file(each) for each in (artifact, data, text.encode())]

        digests = [
            set(levels.at_level(dataclasses.replace(subject, hlo=each), levels.STRUCTURE).digests.values())
            for each in found
        ]
        assert digests[0] == digests[1] == digests[2]

    def test_text_that_leaves_a_constant_out_is_refused(self) -> None:
        text = "HloModule f\n\nENTRY main {\n  ROOT c = f32[100] constant({...})\n}\n"

        with pytest.raises(UnreadableProgram, match="expected HLO text with all constants spelled out"):
            hlo_of_file(text.encode())

    def test_a_constant_that_nobody_knows_is_equal_to_no_other(self) -> None:
        data = hlo(lambda x: x * np.arange(4, dtype=np.float32), X)
        (name,) = [node.name for node in read_module.read(data) if node.opcode == "constant"]

        first, second = (levels.Subject(label, data, unknown=frozenset({name})) for label in ("first", "second"))
        forms = [levels.at_level(each, levels.STRUCTURE) for each in (first, second)]

        assert forms[0].digests[forms[0].graph.results[0]] != forms[1].digests[forms[1].graph.results[0]]
        with pytest.raises(UnreadableProgram, match="left out"):
            levels.at_level(first, levels.UNFUSED)


@pytest.mark.parametrize(
    ("op_name", "line"),
    [
        ("dense/MatMul", "model.py:3"),
        ("while/call.2/while/Less", "model.py:7"),
        ("Cos;StatefulPartitionedCall/dense/MatMul", "model.py:3"),
        ("MatMul", ""),
        ("", ""),
    ],
)
def test_a_line_is_found_behind_callers_and_merged_names(op_name: str, line: str) -> None:
    assert read_module.line_of({"dense/MatMul": "model.py:3", "while/Less": "model.py:7"}, op_name) == line


def test_two_draws_are_two_values_and_the_same_two_in_every_copy() -> None:
    text = (
        "HloModule f\n\nENTRY main {\n  low = f32[] constant(0)\n  high = f32[] constant(1)\n"
        "  a = f32[4] rng(low, high), distribution=rng_uniform\n  b = f32[4] rng(low, high), distribution=rng_uniform\n"
        "  ROOT s = f32[4] add(a, b)\n}\n"
    )
    graph = read_module.read(hlo_of_file(text.encode()))

    found = rewriting.rewrite(graph, ())

    assert [node.opcode for node in found.graph].count("rng") == 2
    assert set(found.digests.values()) == set(numbering.digests(graph).values())


def test_a_root_of_several_parts_hands_out_each() -> None:
    text = (
        "HloModule f\n\nENTRY main {\n  x = f32[4] parameter(0)\n  i = s32[4] iota(), iota_dimension=0\n"
        "  ROOT s = (f32[4], s32[4]) sort(x, i), dimensions={0}, to_apply=less\n}\n"
    )
    less = (
        "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n"
        "  ROOT l = pred[] compare(a, b), direction=LT\n}\n\n"
    )
    graph = read_module.read(hlo_of_file(text.replace("ENTRY", less + "ENTRY").encode()))

    run = values.prepare(graph, graph.results)
    values_, places = run([np.array([3, 1, 2, 0], np.float32)]).values()

    assert values_.tolist() == [0, 1, 2, 3] and places.tolist() == [3, 1, 2, 0]
