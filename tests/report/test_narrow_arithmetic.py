"""What a record says of narrow floats: computed in, or emulated in a wider type."""

from __future__ import annotations

import pytest

from compare.record.program_parts import Compiled, Convert
from compare.record.workload_part import Workload
from compare.report.narrow_arithmetic import in_words

UP, DOWN = Convert(before="bf16", after="f32"), Convert(before="f32", after="bf16")
EMULATED = Compiled(asks={"bf16": 3, "f32": 1}, computes={"f32": 4}, converts=(UP, UP, DOWN))
NATIVE = Compiled(asks={"bf16": 3}, computes={"bf16": 3})


def test_what_no_instruction_computes_in_is_emulated_and_what_one_does_is_not() -> None:
    assert in_words(Workload(compiled={"tf@tf": EMULATED, "jax@jax": NATIVE})) == (
        "tf/jit in bf16: emulated: arithmetic 4 in f32, none in bf16; converts 2 x bf16 to f32, 1 x f32 to bf16; "
        "the program asks for 3 in bf16, 1 in f32",
        "jax/jit in bf16: arithmetic 3 in bf16",
    )


@pytest.mark.parametrize(
    "compiled",
    [
        {},
        {"jax@jax": Compiled(reason="lost")},
        {"jax@jax": Compiled(asks={"f32": 1}, computes={"f32": 1})},
        {"tf@jax": EMULATED},
    ],
    ids=["none", "lost", "not-narrow", "no-mode"],
)
def test_nothing_is_said_of_what_asks_for_no_narrow_float_or_is_no_mode(compiled: dict[str, Compiled]) -> None:
    assert in_words(Workload(compiled=compiled)) == ()
