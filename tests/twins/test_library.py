"""What ports import: properties that the catalogue of gotchas does not reach."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxport import convolution, dtypes, indexing, linear_algebra, pooling, resizing, segments, signal


def normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(len(shape)).normal(size=shape), jnp.float32)


def test_a_transposed_convolution_refuses_sizes_that_no_convolution_makes_its_input_of() -> None:
    with pytest.raises(ValueError, match=r"found \(13, 13\): makes \(1, 7, 7, 3\)"):
        convolution.conv_transpose(normal(1, 6, 6, 3), normal(3, 3, 4, 3), (13, 13), 2, "SAME")


def test_adaptive_pooling_into_one_window_is_global() -> None:
    x = normal(2, 5, 3)
    np.testing.assert_allclose(pooling.adaptive_average_pool(x, (1,))[:, 0], x.mean(1), rtol=1e-6)
    np.testing.assert_array_equal(pooling.adaptive_max_pool(x, (1,))[:, 0], x.max(1))


def test_adaptive_pooling_wants_a_size_an_axis() -> None:
    with pytest.raises(ValueError, match="a size for each of 2 axes"):
        pooling.adaptive_max_pool(normal(2, 5, 5, 3), (2,))


@pytest.mark.parametrize("align_corners", [False, True])
def test_an_image_resized_to_its_size_stays(align_corners: bool) -> None:
    images = normal(2, 5, 4, 3)
    for resize in (resizing.resize_bilinear, resizing.resize_nearest):
        np.testing.assert_array_equal(resize(images, (5, 4), align_corners), images)
    np.testing.assert_allclose(resizing.resize_bicubic(images, (5, 4)), images, atol=1e-6)


def test_aligned_corners_are_the_corners() -> None:
    images = normal(1, 5, 4, 1)
    np.testing.assert_allclose(
        resizing.resize_bilinear(images, (9, 7), True)[:, ::8, ::6], images[:, ::4, ::3], rtol=1e-6
    )


def test_a_crop_beyond_the_image_has_the_value_that_is_asked_for() -> None:
    images, box = normal(1, 5, 5, 2), jnp.array([[0.0, 0.0, 2.0, 1.0]])
    crop = resizing.crop_and_resize(images, box, jnp.array([0]), (3, 5), extrapolation_value=7.0)
    np.testing.assert_allclose(crop[0, :2], images[0, ::4], rtol=1e-6)
    np.testing.assert_array_equal(crop[0, 2], 7)


def test_a_crop_of_one_pixel_is_the_middle_of_its_box() -> None:
    images = normal(1, 5, 5, 2)
    crop = resizing.crop_and_resize(images, jnp.array([[0.0, 0.0, 1.0, 1.0]]), jnp.array([0]), (1, 1))
    np.testing.assert_array_equal(crop[0, 0, 0], images[0, 2, 2])


def test_pixels_of_a_patch_lie_rates_apart() -> None:
    images = normal(1, 5, 5, 2)
    patches = resizing.extract_patches(images, (2, 2), (1, 1), rates=(2, 3))
    np.testing.assert_array_equal(patches[0, 1, 0], images[0, 1:4:2, 0:4:3].reshape(-1))


def test_sequences_turned_twice_stay_along_any_axis() -> None:
    x, lengths = normal(3, 4, 5), jnp.array([1, 0, 3, 2, 3])
    turned = indexing.reverse_sequence(x, lengths, axis=0, batch_axis=2)
    np.testing.assert_array_equal(turned[:, :, 2], x[::-1, :, 2])
    np.testing.assert_array_equal(indexing.reverse_sequence(turned, lengths, axis=0, batch_axis=2), x)


@pytest.mark.parametrize("values", [[3, 1, 3, 2, 1], [5, 5, 5, 5, 5], [4, 3, 2, 1, 0]])
def test_values_are_numbered_by_where_they_occur_first(values: list[int]) -> None:
    seen = list(dict.fromkeys(values))
    found = jax.jit(indexing.first_occurrences)(jnp.array(values))
    assert found.tolist() == [seen.index(value) for value in values]


def test_places_out_of_bounds_are_dropped_or_moved_inside() -> None:
    x, places = jnp.arange(6.0).reshape(2, 3), jnp.array([[-1, 0], [1, 5]])
    np.testing.assert_array_equal(indexing.gather_nd(x, places), [0, 5])
    np.testing.assert_array_equal(indexing.tensor_scatter_nd_update(x, places, jnp.ones(2)), x)
    assert not indexing.scatter_nd(places, jnp.ones(2), (2, 3)).any()


def test_a_segment_that_holds_an_infinity_is_not_empty() -> None:
    x, ids = jnp.array([-jnp.inf, 1.0]), jnp.array([0, 2])
    assert segments.segment_max(x, ids, 3).tolist() == [-np.inf, float(jnp.finfo(x.dtype).min), 1]
    assert segments.segment_min(-x, ids, 3).tolist() == [np.inf, float(jnp.finfo(x.dtype).max), -1]


def test_casts_saturate_from_floats_and_from_integers() -> None:
    numbers = [-300, -1, 7, 300]
    for kind in (jnp.float32, jnp.int32, jnp.int16):
        assert dtypes.saturate_cast(jnp.array(numbers, kind), jnp.uint8).tolist() == [0, 0, 7, 255]
    assert dtypes.saturate_cast(jnp.array([3e9, -3e9, 5]), jnp.int32).tolist() == [2**31 - 1, -(2**31), 5]
    assert dtypes.saturate_cast(jnp.array([-1.0, 5e9]), jnp.uint32).tolist() == [0, 2**32 - 1]
    with pytest.raises(ValueError, match="found float32"):
        dtypes.saturate_cast(jnp.zeros(1), jnp.float32)


def test_a_mean_of_integers_is_rounded_to_zero_over_any_axes() -> None:
    x = jnp.array([[-3, -4], [3, 4]])
    assert dtypes.mean(x, axis=1).tolist() == [-3, 3]
    assert dtypes.mean(x, keepdims=True).tolist() == [[0]]
    assert dtypes.mean(jnp.array([1.0, 2.0])) == 1.5


def test_least_squares_of_a_wide_matrix_are_the_shortest() -> None:
    a, b = normal(3, 5), normal(3, 1)
    np.testing.assert_allclose(linear_algebra.lstsq(a, b), jnp.linalg.lstsq(a, b)[0], atol=1e-5)


def test_a_negative_band_is_the_whole_triangle() -> None:
    x = normal(3, 4)
    np.testing.assert_array_equal(linear_algebra.band_part(x, -1, -1), x)
    np.testing.assert_array_equal(linear_algebra.band_part(x, -1, 0), jnp.tril(x))


def test_adding_overlaps_is_the_transpose_of_framing() -> None:
    x, frames = normal(2, 13), normal(2, 3, 5)
    (transposed,) = jax.linear_transpose(lambda each: signal.frame(each, 5, 4), x)(frames)
    np.testing.assert_allclose(signal.overlap_and_add(frames, 4), transposed, rtol=1e-6)
