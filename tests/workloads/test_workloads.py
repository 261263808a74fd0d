"""Every registered workload keeps the contract of a spec, at every size, without any framework."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workloads import ArraySpec, Training, Workload, _digits, _dropout, conv_mnist, lstm
from workloads.core import registry
from workloads.core.arrays import draw, draw_batches, draw_cases, draw_kinks
from workloads.core.spec import SIZES
from workloads.core.tree import leaves

WORKLOADS = [registry.get(name) for name in registry.names()]


@pytest.fixture(params=WORKLOADS, ids=lambda workload: workload.name)
def workload(request: pytest.FixtureRequest) -> Workload:
    return request.param


def test_it_has_the_three_sizes_and_says_what_and_where_from(workload: Workload) -> None:
    assert tuple(workload.sizes)[:3] == ("smoke", "default", "paper")
    others = ("lamb", "keras", "deeper", "base", "large")
    assert all(name.startswith("mixed_") or name in others for name in tuple(workload.sizes)[3:])
    assert workload.summary
    assert workload.source


def test_its_cost_has_a_source_and_grows_with_the_size(workload: Workload) -> None:
    assert workload.cost is not None
    costs = [workload.cost(workload.sizes[size]) for size in SIZES]
    assert all(cost.source and cost.flops > 0 and cost.bytes > 0 for cost in costs)
    assert costs[0].flops <= costs[1].flops <= costs[2].flops


def test_the_same_seed_draws_the_same_arrays_and_another_seed_others(workload: Workload) -> None:
    dimensions = workload.sizes["smoke"]
    first, again = (draw_cases(workload, dimensions, 2, None) for _ in range(2))
    for case, arrays in first.items():
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, again[case][name])
    name = next(iter(workload.input_specs(dimensions)))
    assert not np.array_equal(first["seed0"][name], first["seed1"][name])


def test_arrays_have_the_shapes_dtypes_and_ranges_that_the_spec_gives(workload: Workload) -> None:
    dimensions = workload.sizes["smoke"]
    for arrays in draw_cases(workload, dimensions, 1, None).values():
        for name, spec in workload.input_specs(dimensions).items():
            assert arrays[name].shape == spec.shape
            assert arrays[name].dtype == spec.dtype
            assert spec.low is None or arrays[name].min() >= spec.low
            assert spec.high is None or arrays[name].max() <= spec.high


def test_kinks_tie_and_are_exact(workload: Workload) -> None:
    spec = ArraySpec((64,))
    first, second = draw_kinks(spec, "x", 0), draw_kinks(spec, "y", 0)
    assert (first == second).any()
    assert (first == 0).any()
    np.testing.assert_array_equal(first * 2, np.round(first * 2))


@pytest.mark.parametrize(("scale", "largest"), [(1.0, 1.0), (0.1, 0.125), (-0.1, 0.125), (0.0, 0.0)])
def test_kinks_are_of_the_array_s_own_scale(scale: float, largest: float) -> None:
    drawn = draw_kinks(ArraySpec((64,), scale=scale), "x", 0)
    assert np.abs(drawn).max() == largest
    np.testing.assert_array_equal(drawn * 16, np.round(drawn * 16))


def test_an_example_is_a_case_of_its_own_and_what_it_lacks_is_drawn() -> None:
    specs = {"x": ArraySpec((2,)), "y": ArraySpec((2,))}
    example = {"x": np.array([5.0, 7.0], np.float32)}
    cases = draw_cases(Workload("port", "", "", specs, example=example), {}, 1, None)
    assert list(cases)[:2] == ["seed0", "example"] and cases["example"]["x"] is example["x"]
    assert np.array_equal(cases["example"]["y"], cases["seed0"]["y"])


def test_kinks_keep_to_a_weights_range_and_leave_given_weights_alone() -> None:
    given = np.array([2.0, 3.0], np.float32)
    specs = {"variance": ArraySpec((50,), low=0.5, high=2.0), "given": given}
    port = Workload(name="port", tf="t:f", jax="j:f", inputs={"x": ArraySpec((3,))}, weights=specs)
    kinks = draw_cases(port, {}, 1, None)["kinks"]
    assert kinks["weights/variance"].min() >= 0.5
    assert "weights/given" not in kinks


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArraySpec((3, 0)), "expected sizes above 0"),
        (lambda: ArraySpec((3,), low=1), "expected low and high together"),
        (lambda: ArraySpec((3,), "uint8", -1, 5), "expected a range within 0..255 of uint8"),
        (lambda: Workload(name="a/b", tf="t:f", jax="j:f", inputs={}), "expected a name of letters"),
        (lambda: Training(_digits.load, _digits.dimensions_of, steps=0), "expected at least one training step"),
    ],
)
def test_a_spec_that_means_nothing_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_the_last_step_of_a_training_run_is_always_compared() -> None:
    training = Training(_digits.load, _digits.dimensions_of, steps=20)
    assert training.compared == (1, 10, 20)


def test_scalars_stay_scalars() -> None:
    assert draw(ArraySpec(()), "a", 0).shape == ()


def test_digits_are_real_images_in_the_unit_interval() -> None:
    data = _digits.load(None)
    assert data["images"].shape == (1797, 64)
    assert data["images"].dtype == np.float32
    assert 0 <= data["images"].min() < data["images"].max() == 1
    assert set(data["labels"]) == set(range(10))


def test_an_mnist_npz_is_read(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (12, 28, 28)).astype(np.uint8)
    np.savez(tmp_path / "mnist.npz", x_train=images, y_train=np.arange(12) % 10)
    data = _digits.load(tmp_path / "mnist.npz")
    assert data["images"].shape == (12, 784)
    assert _digits.dimensions_of(data) == {"features": 784}
    images = _digits.load_images(tmp_path / "mnist.npz")
    assert images["images"].shape == (12, 28, 28, 1)
    assert conv_mnist.dimensions_of(images) == {"height": 28, "width": 28}


def test_images_too_small_for_two_poolings_are_refused() -> None:
    with pytest.raises(ValueError, match="expected images of at least 4 x 4, found 3 x 28: two poolings"):
        conv_mnist.features({"height": 3, "width": 28, "filters": 8})
    with pytest.raises(_digits.DataError, match="found 28 x 2: two poolings"):
        conv_mnist.dimensions_of({"images": np.zeros((5, 28, 2, 1))})


def test_sequences_are_of_different_lengths_and_padded_with_zeros() -> None:
    made = lstm.examples(lstm.WORKLOAD.sizes["smoke"])
    lengths, time = made["lengths"], made["sequences"].shape[1]
    assert set(lengths) == {3, 4, 5}
    padding = np.arange(time) >= lengths[:, None]
    assert not made["sequences"][padding].any()
    assert made["sequences"][~padding].all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros(3)}, "found the arrays"),
        ({"x_train": np.ones((3, 28)), "y_train": np.zeros(3, int)}, r"found x_train \(3, 28\)"),
        ({"x_train": np.ones((3, 2, 2)), "y_train": np.array([0, 1, 10])}, "found labels outside 0..9"),
        ({"x_train": np.ones((3, 2, 2)), "y_train": np.zeros(4, int)}, r"y_train \(4,\)"),
        ({"x_train": np.ones((0, 2, 2)), "y_train": np.zeros(0, int)}, r"x_train \(0, 2, 2\)"),
        ({"x_train": np.ones((3, 2, 2)), "y_train": np.zeros(3, int)}, "found x_train of float64"),
    ],
)
def test_an_npz_of_something_else_is_refused(tmp_path: Path, arrays: dict, message: str) -> None:
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(_digits.DataError, match=message):
        _digits.load(tmp_path / "other.npz")


def test_files_that_are_no_npz_or_pickles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "pickled.npz", x_train=np.array([{}], dtype=object), y_train=np.zeros(1, int))
    for name, message in (
        ("text.npz", "found a broken zip"),
        ("pickled.npz", "found objects in 'x_train'"),
        ("none.npz", "no such file"),
    ):
        with pytest.raises(_digits.DataError, match=message):
            _digits.load(tmp_path / name)


def test_an_array_that_leaves_its_length_open_is_refused(tmp_path: Path) -> None:
    file, labels = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (-1, 2, 2)})
    np.save(labels, np.zeros(3, int))
    with zipfile.ZipFile(tmp_path / "open.npz", "w") as packed:
        packed.writestr("x_train.npy", file.getvalue() + bytes([1] * 12))
        packed.writestr("y_train.npy", labels.getvalue())
    with pytest.raises(_digits.DataError, match=re.escape("a broken array 'x_train' (of shape (-1, 2, 2))")):
        _digits.load(tmp_path / "open.npz")


def test_leaves_are_named_by_their_place() -> None:
    assert leaves(3) == {"output": 3}
    assert leaves({"b": (1, None, {"c": 2})}) == {"b/0": 1, "b/2/c": 2}


@pytest.mark.parametrize("result", [{"a/b": 1, "a": {"b": 2}}, {1: 1, "1": 2}, {"output": 1, "": 2}])
def test_two_leaves_of_one_path_are_refused(result: dict[object, object]) -> None:
    with pytest.raises(ValueError, match=r"expected one leaf at .* of the result, found two: rename a key"):
        leaves(result)


def test_examples_come_from_one_source() -> None:
    made = Training(synthetic=lambda dimensions: {"x": np.zeros((4, dimensions["width"]))})
    assert made.examples(None, {"width": 3})["x"].shape == (4, 3)
    assert made.infer_dimensions({}) == {}
    with pytest.raises(ValueError, match="found neither"):
        Training()
    with pytest.raises(ValueError, match="found both"):
        Training(_digits.load, synthetic=lambda dimensions: {})


def test_an_input_that_the_examples_lack_is_drawn_anew_for_every_step() -> None:
    port = Workload(
        name="port",
        tf="t:f",
        jax="j:f",
        inputs={"x": ArraySpec((2,)), "draws": _dropout.draws(2, 50)},
        training=Training(synthetic=lambda dimensions: {"x": np.arange(6.0)}, steps=3),
    )
    batches = draw_batches(port, {"batch": 2}, {"x": np.arange(6.0)})
    assert batches["draws"].shape == (3, 2, 50)
    assert not np.array_equal(batches["draws"][0], batches["draws"][1])


def test_a_dropout_rate_is_a_share_of_256_levels() -> None:
    assert _dropout.threshold(0.1) == 26
    assert _dropout.scale(0.5) == 2
    with pytest.raises(ValueError, match=r"expected a dropout rate in \[0, 1\), found 1"):
        _dropout.threshold(1)
