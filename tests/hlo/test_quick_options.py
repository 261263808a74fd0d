"""Options that make compiling short: of an XLA that does not know one they are left out; no other option is."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from hlo_programs import exported

from compare.hlo import bindings
from compare.hlo.bindings import UnreadableProgram
from jaxport import _private
from workloads.protocol import compiling
from workloads.protocol.compiling import IN_ORDER, MANY_ELEMENTS, QUICKLY, REPEATEDLY, for_size

ABSENT = "xla_of_another_release"


def program() -> bytes:
    return exported(lambda x: jax.numpy.tanh(x) @ x, np.ones((3, 3), np.float32))


@pytest.mark.parametrize("options", [IN_ORDER, QUICKLY, REPEATEDLY])
def test_the_installed_xla_knows_each_of_them(options: dict[str, object]) -> None:
    for name, value in options.items():
        jax.jit(lambda x: x + 1, compiler_options={name: value}).lower(0.0).compile()


def test_one_that_makes_compiling_short_is_left_out_where_it_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_SOONER", {**compiling._SOONER, ABSENT: True})
    x = np.eye(3, dtype=np.float32)
    expected = np.tanh(x) @ x
    np.testing.assert_allclose(bindings.load_bytecode(program(), {**QUICKLY, ABSENT: True})([x])[0], expected)
    compiled = _private.compile_stablehlo(program(), {**QUICKLY, ABSENT: True})
    np.testing.assert_allclose(compiled([jax.numpy.asarray(x)])[0], expected)


def test_any_other_unknown_option_is_refused() -> None:
    with pytest.raises(UnreadableProgram, match=ABSENT):
        bindings.load_bytecode(program(), {ABSENT: True})
    with pytest.raises(jax.errors.JaxRuntimeError, match=ABSENT):
        _private.compile_stablehlo(program(), {ABSENT: True})


@pytest.mark.parametrize(("options", "many"), [(IN_ORDER, 1), (QUICKLY, 1), (REPEATEDLY, 1), ({}, None)])
def test_a_program_of_many_elements_is_optimized_once_more(options: dict[str, object], many: int | None) -> None:
    """And is compiled alike but for that: sums keep their order."""
    level = "xla_backend_optimization_level"
    large = dict(for_size(options, MANY_ELEMENTS + 1))
    assert for_size(options, MANY_ELEMENTS) == options and large.pop(level, None) == many
    assert large == {name: value for name, value in options.items() if name != level}
