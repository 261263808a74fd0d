"""Programs in a form that both frameworks' XLA read: the same instructions, the same numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import Function, distance, executed, exported, written
from scipy import special

from compare.hlo import bindings, stablehlo_text
from compare.hlo.align import align
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import Subject
from compare.hlo.open_constants import open_constants
from compare.hlo.portable import portable
from compare.hlo.promote import promote

X = np.linspace(-0.9, 0.9, 24, dtype=np.float32).reshape(4, 6)

# What TensorFlow writes for an exact GELU whose result is assigned to a variable.
UPDATING = written("""func.func @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = mhlo.erf %x : tensor<4x6xf32>
  %1 = mhlo.copy %0 : tensor<4x6xf32>
  return %1 : tensor<4x6xf32> }""")

COMPOSITES = {
    "erf": jax.lax.erf,
    "top_k": lambda x: jax.lax.top_k(x, 3)[0],
    "sinh": jnp.sinh,
    "acosh": lambda x: jnp.arccosh(x + 3),
}


def opcodes(artifact: bytes) -> list[str]:
    module = bindings.parse(artifact)  # operations die with it, whoever still holds them
    return [operation.name for operation in bindings.operations(module)]


def test_erf_beside_an_update_can_be_handed_on_and_is_still_erf() -> None:
    assert distance(executed(promote(UPDATING), X), special.erf(X.astype(np.float64))) < 1e-15
    assert (
        stablehlo_text.describe(portable(UPDATING)).opcodes
        == stablehlo_text.describe(portable(exported(jax.lax.erf, X))).opcodes
    )


@pytest.mark.parametrize("name", COMPOSITES)
def test_composites_are_said_without_any_and_compute_the_same_instructions(name: str) -> None:
    artifact = exported(COMPOSITES[name], X)
    rewritten = portable(artifact)
    assert "stablehlo.composite" in opcodes(artifact)
    assert "stablehlo.composite" not in opcodes(rewritten)
    before, after = (Subject("f", hlo_of_artifact(each)) for each in (artifact, rewritten))
    assert align(before, after).is_equal
    assert portable(rewritten) is rewritten


@pytest.mark.parametrize("function", [jax.lax.erf, lambda x: jax.lax.top_k(x, 3)[0]], ids=["erf", "top_k"])
def test_the_spelled_out_form_of_what_is_called_by_name_is_gone_with_its_constants(function: Function) -> None:
    with jax.enable_x64(True):
        artifact = exported(function, X.astype(np.float64))
    assert open_constants(artifact).values == ()
    assert opcodes(artifact).count("func.func") == 2
    assert opcodes(portable(artifact)).count("func.func") == 1


def test_a_chosen_number_of_largest_values_survives_promotion() -> None:
    promoted = promote(exported(COMPOSITES["top_k"], X))
    np.testing.assert_array_equal(executed(promoted, X), np.sort(X.astype(np.float64))[:, :2:-1])


def test_a_function_that_an_attribute_names_stays() -> None:
    artifact = written("""module {
      func.func private @g(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.custom_call @other(%x) {called_computations = [@g]} : (tensor<2xf32>) -> tensor<2xf32>
        %1 = mhlo.copy %0 : tensor<2xf32>
        return %1 : tensor<2xf32> } }""")
    assert opcodes(portable(artifact)).count("func.func") == 2
