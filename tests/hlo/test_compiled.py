"""What is read off an optimized module, and in what two of them differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings, compiled, executing
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.compiled import Alias, CompiledSummary, FigureDifference
from compare.hlo.graph import Graph, Node, Shape

MATRIX = np.ones((8, 8), np.float32)
F32 = Shape("f32", (4, 8), layout=(1, 0))


def optimized(function: Callable[..., Any], *arguments: np.ndarray) -> bytes:
    return executing.compile_bytecode(exported(function, *arguments)).optimized_module


def of_text(body: str, head: str = "") -> CompiledSummary:
    """The summary of an entry computation that is written by hand, for what depends on no release of XLA."""
    return compiled.describe(bindings.hlo_from_text(f"HloModule hand{head}\nENTRY entry {{\n{body}\n}}"))


def looped(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 3, lambda _, carry: jnp.sin(carry) @ carry, x)


class TestKernels:
    def test_one_fusion_is_one_kernel(self) -> None:
        summary = compiled.describe(optimized(lambda x, y: jnp.sin(x) * y + 1, MATRIX, MATRIX))
        assert summary.fusions == summary.kernels == len(summary.kernel_names) == 1
        assert summary.instructions > 4
        assert summary.kernel_names[0] in summary.text

    def test_what_cannot_be_fused_adds_a_kernel(self) -> None:
        together = compiled.describe(optimized(lambda x: jnp.sin(x) + jnp.cos(x), MATRIX))
        apart = compiled.describe(optimized(lambda x: jnp.sort(jnp.sin(x)) + jnp.cos(x), MATRIX))
        assert together.kernels < apart.kernels

    def test_kernels_in_a_loop_count_once_however_often_it_runs(self) -> None:
        few = compiled.describe(optimized(looped, MATRIX))
        many = compiled.describe(optimized(lambda x: jax.lax.fori_loop(0, 90, lambda _, c: jnp.sin(c) @ c, x), MATRIX))
        assert few.kernels == many.kernels >= 2

    @pytest.mark.parametrize(
        ("instructions", "kernels"),
        [
            ([("p", "parameter"), ("k", "constant"), ("t", "tuple"), ("g", "get-tuple-element"), ("b", "bitcast")], []),
            ([("c", "copy"), ("f", "fusion")], ["c", "f"]),
            ([("c", "call", 1), ("f", "fusion", 1)], ["inside", "f"]),
            ([("w", "while", 2)], ["inside", "inside"]),
            ([("r", "reduce", 1)], ["r"]),
        ],
    )
    def test_what_counts_as_a_kernel(self, instructions: list[tuple[Any, ...]], kernels: list[str]) -> None:
        inner = Graph("inner", {1: Node(1, "inside", "add", F32)}, (), (1,))
        nodes = {
            at: Node(at, name, opcode, F32, regions=(inner,) * sum(called))
            for at, (name, opcode, *called) in enumerate(instructions)
        }
        assert [node.name for node in compiled.kernels(Graph("entry", nodes, (), (0,)))] == kernels


class TestCosts:
    def test_are_xlas_own(self) -> None:
        summary = compiled.describe(optimized(lambda x, y: x @ y, MATRIX, MATRIX))
        assert summary.flops == 2 * 8**3
        assert summary.bytes == 3 * 8 * 8 * 4

    def test_are_missing_where_xla_has_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bindings, "hlo_cost", lambda _: {})
        summary = compiled.describe(optimized(jnp.sin, MATRIX))
        assert summary.flops is None
        assert summary.bytes is None

    @pytest.mark.parametrize(
        ("shape", "size"),
        [
            (Shape("f32", (2, 3)), 24),
            (Shape("pred", (5,)), 5),
            (Shape("bf16", (3,)), 6),
            (Shape("c64"), 8),
            (Shape("f8e4m3fn", (7,)), 7),
            (Shape("s4", (8,)), 4),
            (Shape("token"), 0),
            (Shape("tuple", parts=(Shape("s8", (3,)), Shape("f64"))), 11),
        ],
    )
    def test_bytes_of_a_shape(self, shape: Shape, size: int) -> None:
        assert compiled.bytes_of(shape) == size


class TestCustomCalls:
    def test_name_the_target_and_its_library(self) -> None:
        summary = of_text(
            'p = f32[4] parameter(0)\nc = f32[4] custom-call(p), custom_call_target="__onednn$matmul"\n'
            'ROOT d = f32[4] custom-call(c), custom_call_target="TopK"'
        )
        assert [(call.name, call.target, call.library) for call in summary.custom_calls] == [
            ("c", "__onednn$matmul", "oneDNN"),
            ("d", "TopK", ""),
        ]

    def test_hold_fusions_that_a_library_runs(self) -> None:
        text = """HloModule hand
        body { p = f32[4] parameter(0)
          ROOT s = f32[4] sine(p) }
        ENTRY entry { p = f32[4] parameter(0)
          f = f32[4] fusion(p), kind=kCustom, calls=body, backend_config={"fusion_config":{"kind":"__ynn_fusion"}}
          ROOT g = f32[4] fusion(f), kind=kLoop, calls=body }"""
        (call,) = compiled.describe(bindings.hlo_from_text(text)).custom_calls
        assert (call.name, call.target, call.library) == ("f", "__ynn_fusion", "YNNPACK")

    def test_leave_out_fusions_that_the_runtime_of_xla_carries_out(self) -> None:
        kind = '{"fusion_backend_config":{"kind":"__custom_fusion","custom_fusion_config":{"name":"NAME"}}}'
        sliced, other = (kind.replace("NAME", name) for name in ("dynamic_slice_fusion", "other"))
        text = f"""HloModule hand
        body {{ p = f32[4] parameter(0)
          ROOT s = f32[4] sine(p) }}
        ENTRY entry {{ p = f32[4] parameter(0)
          f = f32[4] fusion(p), kind=kCustom, calls=body, backend_config={sliced}
          ROOT g = f32[4] fusion(f), kind=kCustom, calls=body, backend_config={other} }}"""
        assert [call.name for call in compiled.describe(bindings.hlo_from_text(text)).custom_calls] == ["g"]

    def test_know_the_users_line(self) -> None:
        summary = compiled.describe(optimized(lambda x: jax.lax.top_k(x, 2)[0], MATRIX))
        (call,) = summary.custom_calls
        assert call.source.rpartition(":")[0] == __file__

    def test_an_ordinary_fusion_is_none(self) -> None:
        assert compiled.describe(optimized(lambda x: jnp.sin(x) * 2, MATRIX)).custom_calls == ()


class TestLayoutChanges:
    @pytest.mark.parametrize(
        ("instruction", "moved"),
        [
            pytest.param("f32[4,8]{0,1} copy(p)", 128, id="a copy to another layout"),
            pytest.param("f32[8,4]{1,0} transpose(p), dimensions={1,0}", 128, id="a transpose that moves"),
            pytest.param("f32[8,4]{0,1} bitcast(p)", 0, id="a bitcast that renames dimensions"),
        ],
    )
    def test_are_found(self, instruction: str, moved: int) -> None:
        (change,) = of_text(f"p = f32[4,8]{{1,0}} parameter(0)\nROOT r = {instruction}").layout_copies
        assert change.bytes == moved
        assert change.before == "f32[4,8]{1,0}"
        assert change.after in instruction

    @pytest.mark.parametrize(
        "instruction",
        [
            pytest.param("f32[4,8]{1,0} copy(p)", id="a copy to the same layout"),
            pytest.param("f32[8,4]{0,1} transpose(p), dimensions={1,0}", id="a transpose by layout alone"),
            pytest.param("f32[32]{0} bitcast(p)", id="a bitcast that flattens"),
            pytest.param("f32[4,8]{1,0} bitcast(p)", id="a bitcast to the same shape"),
            pytest.param("f32[4,1,8]{2,1,0} bitcast(p)", id="a bitcast that adds a dimension of one"),
        ],
    )
    def test_are_none_where_nothing_is_reordered(self, instruction: str) -> None:
        assert of_text(f"p = f32[4,8]{{1,0}} parameter(0)\nROOT r = {instruction}").layout_copies == ()

    def test_a_dimension_of_one_has_no_place(self) -> None:
        assert of_text("p = f32[1,8]{1,0} parameter(0)\nROOT r = f32[1,8]{0,1} copy(p)").layout_copies == ()


def test_converts_are_found_within_fusions() -> None:
    summary = compiled.describe(optimized(lambda x: (jnp.sin(x) * 2).astype(jnp.bfloat16), MATRIX))
    assert [(one.before, one.after, one.elements) for one in summary.converts] == [("f32", "bf16", 64)]
    assert summary.converts[0].source.rpartition(":")[0] == __file__


def test_aliases_are_read_off_the_module() -> None:
    head = ", input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, must-alias) }"
    body = "p = f32[4] parameter(0)\nq = f32[4] parameter(1)\nROOT t = (f32[4], f32[4]) tuple(q, p)"
    assert of_text(body, head).aliases == (Alias(0, 1, "may-alias"), Alias(1, 0, "must-alias"))
    assert of_text(body).aliases == ()


@pytest.mark.parametrize("junk", [b"", b"\xff", b"\x1a\x05abc", b"\x08", bytes(range(256))])
def test_refuses_what_is_no_module(junk: bytes) -> None:
    with pytest.raises(UnreadableProgram, match=r"^expected a serialized HloModuleProto[^\n]*found[^\n]*$"):
        compiled.describe(junk)


def test_refuses_a_truncated_module() -> None:
    proto = optimized(jnp.sin, MATRIX)
    with pytest.raises(UnreadableProgram):
        compiled.describe(proto[: len(proto) // 2])


class TestCompare:
    ONE = CompiledSummary(
        instructions=3,
        fusions=1,
        kernels=1,
        kernel_names=("f",),
        flops=10.0,
        bytes=20.0,
        text="",
        custom_calls=(compiled.CustomCall("f", "__ynn_fusion", "YNNPACK", ""),),
        layout_copies=(compiled.LayoutChange("c", "copy", "", "", 16, ""),),
        converts=(compiled.Convert("v", "f32", "bf16", 4, ""),),
        aliases=(Alias(0, 0, "may-alias"),),
        temp_bytes=100,
    )

    def test_a_module_differs_in_nothing_from_itself(self) -> None:
        assert compiled.compare(self.ONE, self.ONE, ("a", "b")) == ()

    @pytest.mark.parametrize(
        ("changed", "kind", "text"),
        [
            ({"kernels": 2}, "kernels", "kernels: 1 in a, 2 in b"),
            ({"fusions": 0}, "fusions", "fusions: 1 in a, 0 in b"),
            ({"flops": 1234567.0}, "flops", "floating-point operations: 10 in a, 1,234,567 in b"),
            ({"bytes": 21.0}, "bytes", "bytes accessed: 20 in a, 21 in b"),
            ({"temp_bytes": 0}, "temp_bytes", "bytes of intermediates: 100 in a, 0 in b"),
            ({"layout_copies": ()}, "layout_copies", "bytes moved to another layout: 16 in a, 0 in b"),
            ({"aliases": ()}, "aliases", "parameters updated in place: 1 in a, 0 in b"),
            ({"custom_calls": ()}, "custom_calls", "custom calls __ynn_fusion (YNNPACK): 1 in a, 0 in b"),
            ({"converts": ()}, "converts", "converts f32 to bf16: 1 in a, 0 in b"),
        ],
    )
    def test_says_what_differs_and_no_more(self, changed: dict[str, Any], kind: str, text: str) -> None:
        (found,) = compiled.compare(self.ONE, dataclasses.replace(self.ONE, **changed), ("a", "b"))
        assert (found.kind, found.text) == (kind, text)
        assert isinstance(found, FigureDifference)
        assert found.left != found.right

    def test_what_one_side_does_not_say_is_no_difference(self) -> None:
        unknown = dataclasses.replace(self.ONE, flops=None, temp_bytes=None)
        assert compiled.compare(self.ONE, unknown, ("a", "b")) == ()
