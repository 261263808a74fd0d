"""Transforms of weights: each undoes itself bit by bit, and refuses what it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.weights.transforms import (
    IDENTITY,
    Identity,
    Narrowed,
    Permute,
    Reshape,
    Split,
    Transform,
    TransformError,
    Transpose,
)

Drawn = tuple[Transform, tuple[int, ...]]


@st.composite
def transposed(draw: st.DrawFn) -> Drawn:
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=0, max_size=4)))
    return Transpose(tuple(draw(st.permutations(range(len(shape)))))), shape


@st.composite
def reshaped(draw: st.DrawFn) -> Drawn:
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    at = draw(st.integers(0, len(shape) - 1))
    return Reshape(shape, (*shape[:at], math.prod(shape[at:]))), shape


@st.composite
def in_parts(draw: st.DrawFn, make: Callable[[st.DrawFn, int, int], Transform]) -> Drawn:
    shape, parts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)), draw(st.integers(1, 4))
    axis = draw(st.integers(0, len(shape) - 1))
    shape[axis] *= parts
    return make(draw, axis, parts), tuple(shape)


def split(draw: st.DrawFn, axis: int, parts: int) -> Transform:
    return Split(axis, parts)


def permuted(draw: st.DrawFn, axis: int, parts: int) -> Transform:
    return Permute(axis, tuple(draw(st.permutations(range(parts)))))


ANY = st.one_of(
    st.tuples(st.just(IDENTITY), st.just((2, 3))), transposed(), reshaped(), in_parts(split), in_parts(permuted)
)
DTYPES = st.sampled_from(["float32", "float16", "int8", "float64"])


@given(ANY, DTYPES)
def test_a_transform_is_undone_bit_by_bit(drawn: Drawn, dtype: str) -> None:
    transform, shape = drawn
    # Every value once: any other order is seen.
    array = np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    made = transform.forward(array)
    back = transform.back(made)
    assert back.dtype == array.dtype and back.shape == array.shape and back.tobytes() == array.tobytes()
    assert sum(each.size for each in made) == array.size


@given(ANY)
def test_a_receipt_has_all_that_the_way_back_needs(drawn: Drawn) -> None:
    transform, _ = drawn
    plain = msgspec.json.decode(msgspec.json.encode(transform))
    assert msgspec.convert(plain, Transform) == transform


def test_what_does_not_fit_is_refused() -> None:
    array = np.zeros((2, 3))
    for transform in (Transpose((0, 0)), Transpose((0,)), Reshape((3, 2), (6,)), Split(1, 2), Split(2, 1),
                      Permute(1, (0, 0, 1))):  # fmt: skip
        with pytest.raises(TransformError, match="expected an array of"):
            transform.forward(array)
    for transform, arrays in ((Identity(), [array, array]), (Split(0, 2), [array]), (Split(0, 2), [array, array[:1]])):
        with pytest.raises(TransformError, match="expected"):
            transform.back(arrays)
    with pytest.raises(TransformError, match="takes the shape"):
        Reshape((2, 3), (7,)).forward(array)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5))
def test_integers_are_narrowed_and_widened_bit_by_bit(values: list[int]) -> None:
    array, narrowed = np.array(values, np.int64), Narrowed("int64", "int32")
    (made,) = narrowed.forward(array)
    assert made.dtype == np.int32 and made.tolist() == values
    assert narrowed.back([made]).dtype == np.int64 and narrowed.back([made]).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("transform", "value"),
    [
        (Narrowed("int64", "int32"), 2**31),
        (Narrowed("int64", "int32"), -(2**31) - 1),
        (Narrowed("uint64", "uint32"), 2**32),
    ],
)
def test_an_integer_that_fits_no_narrower_type_is_refused(transform: Narrowed, value: int) -> None:
    with pytest.raises(TransformError, match=f"integers that {transform.after} can hold"):
        transform.forward(np.array([1, value], transform.before))


def test_gates_are_permuted_as_named() -> None:
    gates = np.array(["z", "z", "r", "r", "h", "h"])
    assert list(Permute(0, (1, 0, 2)).forward(gates)[0]) == ["r", "r", "z", "z", "h", "h"]
