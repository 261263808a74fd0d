"""Bit-equal means every bit of every leaf, in both passes and every case, and nothing less."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.parity import Evidence
from compare.parity.identical import bit_equal
from compare.sides.wire import DTYPES

X = {"x": np.array([1.0, -0.0, np.nan], np.float32)}
RUNS = [(pass_, case) for pass_ in ("forward", "gradients") for case in ("seed0", "kinks")]
SAME = Evidence("f", {(mode, *run): X for mode in ("tf/eager", "tf/jit", "jax/jit") for run in RUNS}, {})


def test_equal_bits_are_equal() -> None:
    assert bit_equal(SAME) == ("tf/eager", "tf/jit")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    "other",
    [
        {"x": np.array([np.nextafter(np.float32(1), np.float32(2)), -0.0, np.nan], np.float32)},
        {"x": np.array([1.0, 0.0, np.nan], np.float32)},  # equal, and another bit
        {"x": X["x"].astype(np.float64)},
        {"x": X["x"][None]},
        {"y": X["x"]},
        {},
    ],
)
def test_one_bit_type_shape_or_name_is_enough(run: tuple[str, str], other: dict[str, np.ndarray]) -> None:
    assert bit_equal(replace(SAME, outputs={**SAME.outputs, ("tf/eager", *run): other})) == ("tf/jit",)


def test_a_mode_that_lacks_a_case_is_not_equal() -> None:
    outputs = {key: arrays for key, arrays in SAME.outputs.items() if key != ("tf/jit", "gradients", "kinks")}
    assert bit_equal(replace(SAME, outputs=outputs)) == ("tf/eager",)


def test_without_a_port_nothing_is_equal() -> None:
    assert bit_equal(replace(SAME, outputs={("tf/eager", *run): X for run in RUNS})) == ()


LAYOUTS = {
    "rows": lambda array: np.array(array, order="C"),
    "columns": lambda array: np.array(array, order="F"),
    "backwards": lambda array: np.ascontiguousarray(array[::-1])[::-1] if array.ndim else array,
    "every second": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
}
"""The same values, elsewhere in memory."""


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Of any type that crosses between processes, any bits: NaNs of every payload, both zeros."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    size = math.prod(shape) * dtype.itemsize
    content = draw(st.binary(min_size=size, max_size=size))
    whole = np.frombuffer(bytes(byte & 1 for byte in content) if dtype.kind == "b" else content, dtype)
    return whole.reshape(shape)


def with_a_bit_turned(array: np.ndarray, bit: int) -> np.ndarray:
    content = bytearray(array.tobytes())
    content[bit // 8 % len(content)] ^= 1 if array.dtype.kind == "b" else 1 << bit % 8
    return np.frombuffer(bytes(content), array.dtype).reshape(array.shape)


def evidence_of(port: np.ndarray, original: np.ndarray) -> Evidence:
    outputs = {(mode, *run): {"x": array} for mode, array in (("jax/jit", port), ("tf/jit", original)) for run in RUNS}
    return Evidence("f", outputs, {})


@given(arrays(), st.sampled_from(list(LAYOUTS)), st.sampled_from(list(LAYOUTS)), st.integers(0, 10**4))
def test_arrays_are_equal_where_their_bytes_in_row_major_order_are(
    array: np.ndarray, left: str, right: str, bit: int
) -> None:
    same = LAYOUTS[right](array)
    assert same.tobytes() == array.tobytes()
    assert bit_equal(evidence_of(LAYOUTS[left](array), same)) == ("tf/jit",)
    if array.size:
        other = LAYOUTS[right](with_a_bit_turned(array, bit))
        assert other.tobytes() != array.tobytes()
        assert bit_equal(evidence_of(LAYOUTS[left](array), other)) == ()
