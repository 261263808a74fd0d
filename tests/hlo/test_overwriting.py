"""What a program overwrites stands in what XLA is given, and is what the compiler then does in place."""

from __future__ import annotations

from compare.hlo import bindings, proto
from compare.hlo.compiled import Alias, aliases
from compare.hlo.overwriting import overwriting

STEP = bindings.artifact(
    """func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
      %loss = stablehlo.constant dense<0.0> : tensor<f32>
      %new = stablehlo.add %x, %w : tensor<4xf32>
      return %loss, %new : tensor<f32>, tensor<4xf32>
    }"""
)


def in_place(artifact: bytes) -> tuple[Alias, ...]:
    return aliases(proto.read_module(bindings.hlo_of(bindings.parse(artifact))))


def test_a_result_overwrites_the_parameter_that_it_is_the_new_value_of() -> None:
    assert in_place(STEP) == ()
    assert in_place(overwriting(STEP, {1: 1})) == (Alias(result=1, parameter=1, kind="may-alias"),)


def test_what_a_program_says_already_stands() -> None:
    said = overwriting(STEP, {1: 1})
    assert in_place(overwriting(said, {0: 1})) == in_place(said)


def test_a_step_without_state_overwrites_nothing() -> None:
    assert in_place(overwriting(STEP, {})) == ()
