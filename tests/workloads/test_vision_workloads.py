"""What the vision workloads are made of: their images, their crops, and the dimensions that they refuse."""

from collections.abc import Callable

import numpy as np
import pytest

from workloads import Workload, _gratings, focalnet_pipeline, resnet50
from workloads.core import arrays

RESNET = resnet50.WORKLOAD.sizes["smoke"]
PIPELINE = focalnet_pipeline.WORKLOAD.sizes["smoke"]


def test_gratings_are_images_of_every_class_and_the_same_every_time() -> None:
    made = _gratings.images(64, 16, 4)
    assert made["images"].shape == (64, 16, 16, 3)
    assert 0 <= made["images"].min() < made["images"].max() <= 1
    assert set(made["labels"]) == set(range(4))
    np.testing.assert_array_equal(made["images"], _gratings.images(64, 16, 4)["images"])


def test_the_paper_size_is_resnet_50() -> None:
    units = list(resnet50.units(resnet50.WORKLOAD.sizes["paper"]))
    # He et al. 2015, table 1: 49 convolutions and a dense layer, and 4 projections; 25.6 million parameters.
    assert len(units) == 49 + 4
    shapes = resnet50.weights(resnet50.WORKLOAD.sizes["paper"])
    trained = [spec.shape for path, spec in shapes.items() if not path.endswith(("/mean", "/variance"))]
    assert sum(int(np.prod(shape)) for shape in trained) == 25_557_032
    assert [unit.side for unit in units if unit.path.endswith("block1/expand")] == [56, 28, 14, 7]


def test_resnet_has_its_stride_in_the_3x3() -> None:
    strided = [unit.path for unit in resnet50.units(RESNET) if unit.stride == 2]
    assert strided == ["stem", "stage2/block1/spatial", "stage2/block1/shortcut"]


def test_positions_are_near_centres_of_tiles_whose_class_they_have() -> None:
    data = focalnet_pipeline.examples(PIPELINE)
    crop, frame = PIPELINE["crop"], PIPELINE["frame"]
    assert data["frames"].shape[1:] == (frame, frame, 3)
    assert np.abs(data["positions"] % crop - crop // 2).max() <= crop // 8
    corners = data["positions"] - crop // 2
    assert corners.min() >= -crop // 8
    assert set(np.unique(data["labels"])) == set(range(PIPELINE["classes"]))


def test_halving_is_bilinear_with_half_pixel_centres() -> None:
    np.testing.assert_array_equal(focalnet_pipeline.interpolation(4), [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])


@pytest.mark.parametrize("workload", [resnet50.WORKLOAD, focalnet_pipeline.WORKLOAD], ids=lambda each: each.name)
def test_weights_are_at_every_size_what_the_blocks_say(workload: Workload) -> None:
    for dimensions in workload.sizes.values():
        assert all(np.prod(spec.shape) > 0 for spec in workload.weight_specs(dimensions).values())
    drawn = arrays.draw_weights(workload, workload.sizes["smoke"])
    assert all(np.ptp(array) > 0 for array in drawn.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: resnet50.blocks(RESNET | {"stage1": 0}), r"expected blocks in stage1 .*, found \[0, 1, 0, 0\]"),
        (lambda: resnet50.blocks(RESNET | {"stage4": 1}), r"no empty stage between others, found \[1, 1, 0, 1\]"),
        (lambda: resnet50.inputs(RESNET | {"side": 36}), "found 36: take a multiple of 8"),
        (lambda: focalnet_pipeline.blocks(PIPELINE | {"crop": 40}), "found 40: take a multiple of 32"),
        (
            lambda: focalnet_pipeline.inputs(PIPELINE | {"frame": 16}),
            "expected frames that hold a crop of 32, found 16",
        ),
        (
            lambda: focalnet_pipeline.blocks(PIPELINE | {"stage2": 0}),
            r"expected blocks in every stage, found \[1, 0, 1\]",
        ),
    ],
)
def test_dimensions_that_make_no_network_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
