"""Why the factors of the attribution are what they are: what programs differ in, and what compilers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings, differences, executing
from compare.hlo.align import Alignment, FrontierEntry, Reason, ReasonKind, align
from compare.hlo.differences import CompiledProgram, explain_attribution
from compare.hlo.graph import Graph
from compare.hlo.levels import Subject
from compare.hlo.rewriting import Change, Rewritten
from compare.plain_json import to_json

MATRIX = np.ones((8, 8), np.float32)
UNFUSED = {"xla_disable_hlo_passes": "fusion,fusion-wrapper,dot-library-rewriter"}
SIGNED_ZERO = Reason(ReasonKind.RULE, "signed zero", "x + 0 is x")
SIDES = {"tf": {"tensorflow": "2.21.0", "threads": 2}, "jax": {"jaxlib": "0.10.2", "threads": 2}}


def program(label: str, function: Callable[..., Any]) -> Subject:
    return Subject(label, bindings.hlo_of(bindings.parse(exported(function, MATRIX))), ("input x",), ("y",))


def cell(
    function: Callable[..., Any], options: dict[str, Any] | None = None, temp_bytes: int | None = None
) -> CompiledProgram:
    module = executing.compile_bytecode(exported(function, MATRIX), options).optimized_module
    return CompiledProgram(Subject("", module, ("input x",), ("y",)), temp_bytes)


def wave(x: Any) -> Any:
    return jnp.sin(x) * 2 + x


def other(x: Any) -> Any:
    return jnp.cos(x) * 2 + x


def half(x: Any) -> Any:
    return (jnp.sin(x) * 2).astype(jnp.bfloat16)


def texts(reasons: Any, kind: str) -> list[str]:
    return [each.text for each in reasons if each.kind == kind]


def applied(*rules: tuple[str, bool]) -> Rewritten:
    changes = [Change(name, "n", "a", "b", "model.py:4", numerics) for name, numerics in rules]
    return Rewritten(Graph("g", {}, (), ()), {}, {}, tuple(changes))


def test_nothing_is_explained_where_nothing_differs() -> None:
    cells = {name: cell(wave) for name in ("tf@tf", "tf@jax", "jax@tf", "jax@jax")}
    found = explain_attribution(align(program("tf", wave), program("jax", wave)), cells, {})
    assert found == differences.Explained((), ())


class TestFrontend:
    def test_first_operations_that_part_are_named_with_their_line(self) -> None:
        found = explain_attribution(align(program("tf", wave), program("jax", other)), {}, {}).frontend
        named = texts(found, "operation")
        assert any(text.startswith("tf: sine") for text in named)
        assert any(text.startswith("jax: cosine") for text in named)
        assert all(source.rpartition(":")[0] == __file__ for each in found for source in each.sources)
        assert any(each.sources for each in found)

    def test_a_known_difference_is_said(self) -> None:
        entry = FrontierEntry("tf", "reduce", "sum", "model.py:3", "no reduce of these operands in jax", SIGNED_ZERO)
        form = applied()
        (found,) = explain_attribution(Alignment("algebraic", form, form, (), (entry,)), {}, {}).frontend
        assert found.text.endswith("no reduce of these operands in jax; known difference: signed zero")
        assert found.sources == ("model.py:3",)

    def test_a_rule_that_one_program_needed_is_named(self) -> None:
        form = applied(("powers multiplied out", True))
        (found,) = explain_attribution(Alignment("algebraic", form, applied(), (), ()), {}, {}).frontend
        assert found.kind == "rule"
        assert found.text == "'powers multiplied out' applied 1 times to tf, 0 times to jax; last bits may differ"
        assert found.sources == ("model.py:4",)

    def test_a_rule_that_both_programs_needed_explains_nothing(self) -> None:
        form = applied(("operands sorted", False))
        assert explain_attribution(Alignment("algebraic", form, form, (), ()), {}, {}).frontend == ()

    def test_is_empty_where_a_program_is_missing(self) -> None:
        assert explain_attribution(None, {}, {}).frontend == ()


class TestCompiler:
    def test_fusions_that_only_one_compiler_makes_are_named(self) -> None:
        found = explain_attribution(None, {"jax@tf": cell(wave, UNFUSED), "jax@jax": cell(wave)}, {}).compiler
        (fusion,) = texts(found, "fusion")
        assert fusion.startswith("jax@jax's ")
        assert "kernels in jax@tf" in fusion
        assert texts(found, "memory")[0].startswith("jax@tf writes ")
        assert any(text.startswith("kernels: ") for text in texts(found, "figure"))

    def test_one_program_is_never_held_against_the_other(self) -> None:
        assert explain_attribution(None, {"tf@tf": cell(wave), "jax@jax": cell(other)}, {}).compiler == ()

    def test_library_calls_of_one_compiler_are_named(self) -> None:
        text = """HloModule hand
        ENTRY e { p = f32[4] parameter(0)
          ROOT c = f32[4] custom-call(p), custom_call_target="__onednn$matmul",
            metadata={source_file="m.py" source_line=7} }"""
        plain = "HloModule hand\nENTRY e { p = f32[4] parameter(0)\nROOT c = f32[4] sine(p) }"
        cells = {
            name: CompiledProgram(Subject("", bindings.hlo_from_text(body)))
            for name, body in (("tf@tf", text), ("tf@jax", plain))
        }
        found = [each for each in explain_attribution(None, cells, {}).compiler if each.kind == "library"]
        assert [(each.text, each.sources) for each in found] == [
            ("custom calls __onednn$matmul (oneDNN): 1 in tf@tf, 0 in tf@jax", ("m.py:7",))
        ]

    def test_converts_of_one_compiler_are_named_with_their_lines(self) -> None:
        found = explain_attribution(None, {"tf@tf": cell(half), "tf@jax": cell(wave)}, {}).compiler
        (convert,) = [each for each in found if each.kind == "dtype"]
        assert convert.text == "converts f32 to bf16: 1 in tf@tf, 0 in tf@jax"
        assert convert.sources[0].rpartition(":")[0] == __file__

    def test_memory_for_intermediates_is_what_the_compilers_said(self) -> None:
        found = explain_attribution(None, {"tf@tf": cell(wave, None, 8), "tf@jax": cell(wave, None, 0)}, {}).compiler
        assert texts(found, "figure") == ["bytes of intermediates: 8 in tf@tf, 0 in tf@jax"]

    def test_versions_come_first(self) -> None:
        found = explain_attribution(None, {}, SIDES).compiler
        assert texts(found, "version") == ["tf's XLA is that of tensorflow 2.21.0, jax's that of jaxlib 0.10.2"]
        assert texts(found, "setting") == []

    @pytest.mark.parametrize(("name", "left", "right"), [("threads", 2, 4), ("device", "cpu", "gpu")])
    def test_settings_that_differ_are_named(self, name: str, left: Any, right: Any) -> None:
        sides = {"tf": SIDES["tf"] | {name: left}, "jax": SIDES["jax"] | {name: right}}
        assert texts(explain_attribution(None, {}, sides).compiler, "setting") == [
            f"{name}: {left} in tf, {right} in jax"
        ]

    def test_a_side_that_is_missing_has_no_version(self) -> None:
        assert explain_attribution(None, {}, {"tf": {"missing": "no TensorFlow"}, "jax": SIDES["jax"]}).compiler == ()


def test_it_is_data_for_the_record() -> None:
    found = to_json(explain_attribution(align(program("tf", wave), program("jax", other)), {}, SIDES))
    assert set(found) == {"frontend", "compiler"}
    assert all(set(line) == {"kind", "text", "sources"} for lines in found.values() for line in lines)
