"""Discretization and CategoryEncoding are written: bins and rows as Keras makes them, on the edges and beyond."""

from typing import Any

import keras
import numpy as np
import pytest
from filled_modules import module_of, written_of

from compare.porting.drawn_arrays import input_specs
from tf_reference import _keras_compiled

L = keras.layers
EDGES = np.array([[-2.0], [0.1], [0.5], [np.nextafter(np.float32(0.5), np.float32(0))], [7.0]], "float32")
CLASSES = np.array([[0, 2], [1, 1], [4, 0], [3, 3], [2, 4]], "int32")


def of(layer: Any, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    x = keras.Input(shape, dtype=dtype)
    return keras.Model(x, L.Rescaling(1.0)(layer(x)))


@pytest.mark.parametrize("mode", ["int", "one_hot", "multi_hot", "count"])
@pytest.mark.parametrize("width", [1, 3])
def test_bins(mode: str, width: int) -> None:
    given = np.repeat(EDGES, width, 1) + np.arange(width, dtype="float32")
    model = of(L.Discretization([0.1, 0.5, 2.0], output_mode=mode), (width,))
    _, module = module_of(model)
    np.testing.assert_array_equal(module(given), model(given))


@pytest.mark.parametrize("mode", ["one_hot", "multi_hot", "count"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_rows(mode: str, dtype: str) -> None:
    model = of(L.CategoryEncoding(5, output_mode=mode), (2,), dtype)
    _, module = module_of(model)
    given = CLASSES.astype(dtype) + (0.7 if dtype == "float32" else 0)
    np.testing.assert_array_equal(module(given), model(given))


def test_bins_that_were_adapted_are_written() -> None:
    layer = L.Discretization(num_bins=3, output_mode="one_hot")
    layer.adapt(np.random.default_rng(0).normal(size=(100, 1)))
    model = of(layer, (1,))
    _, module = module_of(model)
    np.testing.assert_array_equal(module(EDGES), model(EDGES))


def test_values_are_drawn_for_every_bin_and_classes_that_there_are() -> None:
    for layer, dtype, ends in (
        (L.Discretization([18.0, 30.0, 50.0]), "float32", "low=7, high=61"),
        (L.Discretization([0.5]), "float32", "low=-1, high=2"),
        (L.CategoryEncoding(5), "int32", "low=0, high=5"),
    ):
        model = of(layer, (2,), dtype)
        (spec,) = input_specs(_keras_compiled.of_model(model), written_of(model), with_training=False).values()
        assert spec.endswith(f"{ends})"), spec


def test_what_is_encoded_in_another_way_is_a_place() -> None:
    found = [written_of(of(L.CategoryEncoding(5, output_mode="count"), (3, 2), "int32"))]
    found += [written_of(of(L.Discretization([0.5], output_mode="multi_hot"), (3, 2)))]
    reasons = [place.reason for written in found for place in written.places]
    assert reasons == [
        "it has output_mode='count' for an input of 3 axes",
        "it has output_mode='multi_hot' for an input of 3 axes",
    ]
