"""What is read off a program before and after XLA: counts, hashes, kernels, costs."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported
from places import DATA, ROOT

from compare.hlo import bindings, stablehlo_text
from compare.hlo.bindings import BindingsMoved, BindingsUntried, UnreadableProgram

TF_RUNNING_EXAMPLE = (DATA / "running_example_tf.mlirbc").read_bytes()
MATRIX = np.ones((8, 8), np.float32)


def looped(x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 3, lambda _, carry: jnp.sin(carry) @ carry, x)


@pytest.fixture
def fresh_bindings() -> Iterator[None]:
    caches = (bindings._private, bindings._warn_if_untried)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


class TestProgram:
    def test_counts_operations_by_name_without_functions_and_returns(self) -> None:
        summary = stablehlo_text.describe(exported(lambda x: jnp.sin(x) + jnp.sin(x) * x, MATRIX))
        assert summary.opcodes == {"add": 1, "multiply": 1, "sine": 2}
        assert summary.instructions == 4

    def test_counts_inside_loops_and_reducers(self) -> None:
        summary = stablehlo_text.describe(exported(looped, MATRIX))
        assert summary.opcodes["while"] == summary.opcodes["sine"] == summary.opcodes["dot_general"] == 1

    def test_reads_tensorflows_plain_bytecode(self) -> None:
        summary = stablehlo_text.describe(TF_RUNNING_EXAMPLE)
        assert summary.opcodes["power"] == 1
        assert summary.instructions == sum(summary.opcodes.values()) == 22

    def test_reading_back_what_was_written_changes_nothing(self) -> None:
        summary = stablehlo_text.describe(TF_RUNNING_EXAMPLE)
        assert stablehlo_text.describe(bindings.serialize(bindings.parse(TF_RUNNING_EXAMPLE))) == summary

    def test_text_and_hash_do_not_know_where_the_source_lies(self) -> None:
        sources = [
            compile(f"{lines}f = lambda x: x * 2 + 1", name, "exec") for lines, name in (("", "a"), ("\n" * 9, "b"))
        ]
        summaries = []
        for source in sources:
            scope: dict[str, Any] = {}
            exec(source, scope)
            summaries.append(stablehlo_text.describe(exported(scope["f"], MATRIX)))
        assert summaries[0] == summaries[1]
        assert "loc(" not in summaries[0].text

    def test_hash_does_not_know_the_names_of_functions(self) -> None:
        def first(x: jax.Array) -> jax.Array:
            return jax.jit(inner)(x) + 1

        def second(x: jax.Array) -> jax.Array:
            return jax.jit(renamed)(x) + 1

        def inner(x: jax.Array) -> jax.Array:
            return jnp.sin(x)

        def renamed(x: jax.Array) -> jax.Array:
            return jnp.sin(x)

        one, other = (stablehlo_text.describe(exported(function, MATRIX)) for function in (first, second))
        assert one.sha256 == other.sha256
        assert "inner" in one.text

    @pytest.mark.parametrize(
        "changed",
        [
            pytest.param(
                lambda x: x @ np.where(np.arange(256) == 220, 2.5, TABLE), id="one element of a large constant"
            ),
            pytest.param(lambda x: x @ TABLE[:, None], id="a shape"),
            pytest.param(lambda x: TABLE @ x, id="the operands' order"),
        ],
    )
    def test_hash_knows(self, changed: Callable[[jax.Array], jax.Array]) -> None:
        square = np.ones((256, 256), np.float32)
        original = stablehlo_text.describe(exported(lambda x: x @ TABLE, square))
        assert stablehlo_text.describe(exported(changed, square)).sha256 != original.sha256
        assert len(original.text) < 2000

    @pytest.mark.parametrize("junk", [b"", b"module {}", b"ML\xefR\x0dbroken", TF_RUNNING_EXAMPLE[:200]])
    def test_refuses_what_is_no_program_in_one_line(self, junk: bytes, capfd: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(UnreadableProgram, match=r"^expected StableHLO[^\n]*found[^\n]*$"):
            stablehlo_text.describe(junk)
        assert capfd.readouterr().err == ""


TABLE = np.arange(256, dtype=np.float32) / 7


class TestBindings:
    @pytest.mark.process
    def test_importing_starts_no_framework(self) -> None:
        program_file = DATA / "running_example_tf.mlirbc"
        check = f"""
import sys
from pathlib import Path
from compare.hlo import artifacts, compiled, levels, promote, stablehlo_text
from compare.hlo.align import align
artifact = Path({str(program_file)!r}).read_bytes()
promote.promote(artifact)
subject = levels.Subject("tf", artifacts.hlo_of_artifact(artifact))
assert align(subject, subject).is_equal
stablehlo_text.describe(artifact)
assert not {{"jax", "tensorflow"}} & set(sys.modules)
"""
        found = subprocess.run([sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")

    @pytest.mark.usefixtures("fresh_bindings")
    @pytest.mark.parametrize(
        ("module", "name"),
        [
            ("jaxlib.mlir.dialects.stablehlo", "deserialize_portable_artifact"),
            ("jaxlib.mlir._mlir_libs._jax_mlir_ext", "register_dialects"),
        ],
    )
    def test_says_in_one_line_what_jaxlib_no_longer_has(
        self, module: str, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(importlib.import_module(module), name)
        with pytest.raises(
            BindingsMoved,
            match=rf"^expected {module}\.{name} as in jaxlib 0\.10\.\*, 0\.11\.\*, 0\.12\.\*, found[^\n]*$",
        ):
            stablehlo_text.describe(TF_RUNNING_EXAMPLE)

    @pytest.mark.usefixtures("fresh_bindings")
    def test_warns_once_of_a_jaxlib_that_was_not_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("jaxlib.version.__version__", "0.13.1")
        with pytest.warns(BindingsUntried, match=r"found jaxlib 0\.13\.1"):
            stablehlo_text.describe(TF_RUNNING_EXAMPLE)
        with warnings.catch_warnings(action="error"):
            stablehlo_text.describe(TF_RUNNING_EXAMPLE)
