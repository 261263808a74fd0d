"""What both sides are given: cases, one digest, and one copy on disk."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ROOT

from compare.errors import RequestError
from compare.inputs import at_size
from compare.sides import mapped
from workloads import ArraySpec, Training, Workload
from workloads.core import registry
from workloads.core.spec import Dimensions

EXAMPLE = registry.get("running_example")


def test_parity_can_be_asked_for_at_another_size_than_times(tmp_path: Path) -> None:
    judged, timed = at_size.prepare_both(EXAMPLE, "default", None, tmp_path, judge_at="smoke")
    assert (judged.size, timed.size) == ("smoke", "default")
    with pytest.raises(RequestError, match="found 'huge'"):
        at_size.prepare_both(EXAMPLE, "default", None, tmp_path, judge_at="huge")


def test_examples_and_batches_are_made_at_the_dimensions_that_vary_too(tmp_path: Path) -> None:
    def made(dimensions: Dimensions) -> dict[str, np.ndarray]:
        return {"x": np.ones((4 * dimensions["B"], dimensions["features"]), np.float32)}

    varied = Workload(
        name="varied", tf="t:f", jax="j:f", inputs={"x": ArraySpec(("B", "features"))},
        sizes={"default": {"features": 3}}, training=Training(synthetic=made, batch="B", steps=2),
    )  # fmt: skip
    own = varied.dimensions("default")["B"]
    examples = at_size.examples_of(varied, "default", None)
    assert examples is not None and examples["x"].shape == (4 * own, 3)
    enlarged = at_size.prepare_batch(varied, "default", 2 * own, None, tmp_path)
    assert enlarged.dimensions == {"features": 3, "B": 2 * own}
    arrays = mapped.load(enlarged.loading.arrays)
    assert {array.shape for name, array in arrays.items() if name.endswith("/x")} == {(2 * own, 3), (1, 2 * own, 3)}


def test_dimensions_that_the_data_decides_need_not_be_given(tmp_path: Path) -> None:
    def dataset(path: Path | None) -> dict[str, np.ndarray]:
        return {"x": np.ones((10, 7), np.float32)}

    learned = Workload(
        name="learned",
        tf="t:f",
        jax="j:f",
        inputs=lambda dimensions: {"x": ArraySpec((dimensions["batch"], dimensions["width"]))},
        sizes={"smoke": {"batch": 2}},
        training=Training(dataset, lambda data: {"width": data["x"].shape[1]}, steps=3),
    )
    prepared, timed = at_size.prepare_both(learned, "smoke", None, tmp_path)
    assert prepared is timed
    assert prepared.inputs == {"x": ArraySpec((2, 7))}


def test_small_inputs_are_drawn_three_times_and_once_at_the_kinks(tmp_path: Path) -> None:
    assert at_size.prepare(EXAMPLE, "smoke", None, tmp_path).loading.cases == ("seed0", "seed1", "seed2", "kinks")


def test_what_is_only_timed_is_drawn_once(tmp_path: Path) -> None:
    assert at_size.prepare(EXAMPLE, "smoke", None, tmp_path, one_case=True).loading.cases == ("seed0",)


def test_the_digest_tells_names_shapes_dtypes_and_values_apart() -> None:
    array = np.arange(6, dtype=np.int32)
    others = [{"b": array}, {"a": array.reshape(2, 3)}, {"a": array.astype(np.int64)}, {"a": array + 1}, {}]
    digests = [at_size.digest(each) for each in [{"a": array}, *others]]
    assert len(set(digests)) == len(digests)
    assert at_size.digest({"a": array.copy()}) == digests[0]


@pytest.mark.parametrize("array", [np.float32(3), np.zeros((0, 3)), np.arange(5)[::2], np.array([True])])
def test_arrays_come_back_from_disk_as_they_were_and_cannot_be_written(tmp_path: Path, array: np.ndarray) -> None:
    mapped.save({"a/b": np.asarray(array)}, tmp_path / "kept")
    found = mapped.load(tmp_path / "kept")["a/b"]
    np.testing.assert_array_equal(found, array, strict=True)
    assert not found.flags.writeable


def test_relative_twins_start_at_the_port_file() -> None:
    port = registry.get(str(ROOT / "examples" / "feed_forward" / "port.py"))
    assert at_size._target(port, port.tf).endswith("examples/feed_forward/model_tf.py:feed_forward")
    assert at_size._target(EXAMPLE, EXAMPLE.tf) == "tf_reference.running_example:build"


def test_dimensions_that_a_workload_refuses_are_one_line(tmp_path: Path) -> None:
    def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
        raise ValueError("expected heads that divide width 10, found 3: choose a divisor")

    odd = Workload("odd", "t:f", "j:f", {"x": ArraySpec((2,))}, weights)
    with pytest.raises(RequestError, match=r"^odd at size default: expected heads that divide width 10"):
        at_size.prepare(odd, "default", None, tmp_path)


def test_dimensions_that_inputs_or_examples_refuse_are_one_line(tmp_path: Path) -> None:
    def refuse(dimensions: Dimensions) -> Any:
        raise ValueError("expected an even width, found 3: choose another")

    no_inputs = Workload("odd", "t:f", "j:f", refuse)
    no_examples = Workload("odd", "t:f", "j:f", {"x": ArraySpec((2,))}, training=Training(synthetic=refuse))
    for odd in (no_inputs, no_examples):
        with pytest.raises(RequestError, match=r"^odd at size default: expected an even width, found 3"):
            at_size.prepare_both(odd, None, None, tmp_path)


def test_a_size_that_examples_are_made_for_decides_their_shape(tmp_path: Path) -> None:
    made = Workload(
        name="made",
        tf="t:f",
        jax="j:f",
        inputs=lambda dimensions: {"x": ArraySpec((dimensions["batch"], dimensions["width"]))},
        sizes={"smoke": {"batch": 2, "width": 3}, "default": {"batch": 4, "width": 5}},
        training=Training(synthetic=lambda dimensions: {"x": np.ones((9, dimensions["width"]))}, steps=2),
    )
    assert at_size.prepare_both(made, "default", None, tmp_path)[0].inputs == {"x": ArraySpec((4, 5))}
    assert mapped.load(tmp_path / "made-default.arrays")["batches/x"].shape == (2, 4, 5)
