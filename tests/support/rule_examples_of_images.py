"""Examples of convolutions, pools, batch norms and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from judged_rules import Example, of

NONE = np.zeros(0, "float32")
_IMAGES, _KERNEL = "f32[2,5,6,4]", "f32[3,2,4,3]"
_STRIDES = {"strides": [1, 2, 2, 1]}
_POOLS = ("MaxPool", "AvgPool")
_SAME, _VALID = {"padding": "SAME"}, {"padding": "VALID"}
_NORMALIZED: dict[str, Any] = {"kinks": False, "follows": False, "results": 3}
_POOLS_3D = ("MaxPool3D", "AvgPool3D")
_STRIDES_NCHW = {"strides": [1, 1, 2, 2], "padding": "SAME"}
_CUBE_NCDHW = {"strides": [1, 1, 1, 1, 1], "padding": "SAME", "data_format": "NCDHW"}
_DILATED = {"strides": [1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 2, 1]}
_DILATED_CUBE = {"strides": [1, 1, 1, 1, 1], "padding": "SAME", "dilations": [1, 2, 2, 2, 1]}
_EXPLICIT = {"strides": [1, 1, 1, 1], "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 1, 0, 0, 0]}
_PLACES: dict[str, Any] = {"follows": False, "gradients": False}
_ROWS, _LOW, _HIGH = "f32[9,3]", "f32[]:-2.0..-0.5", "f32[]:0.5..2.0"
_LEVELS: tuple[dict[str, Any], ...] = ({}, {"num_bits": 5, "narrow_range": True})
_QUANTIZED = {
    "Args": (_ROWS,),
    "Vars": (_ROWS, _LOW, _HIGH),
    "VarsPerChannel": (_ROWS, "f32[3]:-2.0..-0.5", "f32[3]:0.5..2.0"),
}
_FAKE: dict[str, Any] = {"follows": False, "kinks": False}

EXAMPLES: tuple[Example, ...] = (
    of("Conv2D", _IMAGES, _KERNEL, **_STRIDES, **_SAME),
    of("Conv2D", _IMAGES, _KERNEL, strides=[1, 1, 2, 1], **_VALID),
    of("Conv2D", _IMAGES, _KERNEL, strides=[1, 1, 1, 1], dilations=[1, 2, 1, 1], gradients=False, **_SAME),
    of(
        "Conv2D", _IMAGES, _KERNEL, strides=[1, 2, 1, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0]
    ),
    of("Conv2D", _IMAGES, "f32[3,2,2,6]", strides=[1, 1, 1, 1], gradients=False, **_SAME),
    of("Conv2D", "f32[2,4,5,6]", _KERNEL, strides=[1, 1, 1, 1], data_format="NCHW", left="channels", **_SAME),
    of("Conv3D", "f32[1,3,4,5,2]", "f32[2,2,2,2,3]", strides=[1, 1, 2, 2, 1], **_SAME),
    of("Conv3D", "f32[1,3,4,5,2]", "f32[2,2,2,2,3]", strides=[1, 1, 1, 1, 1], **_VALID),
    of("DepthwiseConv2dNative", _IMAGES, "f32[3,2,4,2]", strides=[1, 2, 2, 1], **_SAME),
    of("DepthwiseConv2dNative", _IMAGES, "f32[3,2,4,1]", strides=[1, 1, 1, 1], **_VALID),
    of(
        "DepthwiseConv2dNative",
        _IMAGES,
        "f32[3,2,4,1]",
        strides=[1, 1, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0],
    ),
    of(
        "DepthwiseConv2dNative",
        "f32[2,4,5,6]",
        "f32[3,2,4,2]",
        strides=[1, 1, 1, 1],
        data_format="NCHW",
        left="channels",
        **_SAME,
    ),
    of("Conv2DBackpropInput", [2, 5, 6, 4], "f32[3,2,4,3]", "f32[2,3,3,3]", **_STRIDES, **_SAME),
    of("Conv2DBackpropInput", [2, 7, 6, 4], "f32[3,2,4,3]", "f32[2,3,3,3]", **_STRIDES, **_VALID),
    of("Conv2DBackpropInput", [2, 8, 7, 4], "f32[3,2,4,3]", "f32[2,3,3,3]", **_STRIDES, **_VALID),
    of("Conv2DBackpropInput", [2, 6, 6, 4], "f32[1,1,4,3]", "f32[2,3,3,3]", **_STRIDES, **_SAME),
    of("Conv3DBackpropInputV2", [1, 5, 4, 6, 2], "f32[2,3,2,2,3]", "f32[1,3,2,3,3]", strides=[1, 2, 2, 2, 1], **_SAME),
    of("Conv3DBackpropInputV2", [1, 6, 5, 6, 2], "f32[2,3,2,2,3]", "f32[1,3,2,3,3]", strides=[1, 2, 2, 2, 1], **_VALID),
    of("Conv2DBackpropInput", [2, 3, 6, 4], "f32[3,2,4,3]", "f32[2,3,3,3]", strides=[1, 1, 2, 1], **_SAME),
    of(
        "Conv2DBackpropInput",
        [2, 4, 5, 6],
        _KERNEL,
        "f32[2,3,3,3]",
        data_format="NCHW",
        left="channels",
        **_STRIDES_NCHW,
    ),
    of("Conv2DBackpropInput", [2, 5, 6, 4], _KERNEL, "f32[2,5,6,3]", **_DILATED, left="dilated"),
    of("Conv2DBackpropInput", [2, 5, 6, 4], _KERNEL, "f32[2,4,6,3]", **_EXPLICIT, left="padded by"),
    of("Conv3DBackpropInputV2", [1, 5, 4, 6, 2], "f32[2,3,2,2,3]", "f32[1,5,2,3,3]", strides=[1, 1, 2, 2, 1], **_SAME),
    of("Conv3DBackpropInputV2", [1, 5, 4, 6, 2], "f32[2,3,2,2,3]", "f32[1,5,4,6,3]", **_DILATED_CUBE, left="dilated"),
    of("Conv3DBackpropInputV2", [1, 2, 5, 4, 6], "f32[2,3,2,2,3]", "f32[1,3,5,4,6]", **_CUBE_NCDHW, left="channels"),
    of("Conv3D", "f32[1,2,3,4,5]", "f32[2,2,2,2,3]", **_CUBE_NCDHW, left="channels"),
    *(of(each, "f32[1,2,3,4,5]", ksize=[1, 1, 2, 2, 2], **_CUBE_NCDHW, left="channels") for each in _POOLS_3D),
    *(
        of(each, "f32[1,3,4,5,2]", ksize=[1, 1, 2, 3, 1], strides=[1, 1, 1, 2, 1], follows=False, kinks=False, **_SAME)
        for each in _POOLS_3D
    ),
    of("ExtractImagePatches", _IMAGES, ksizes=[1, 1, 2, 1], strides=[1, 1, 2, 1], rates=[1, 1, 1, 1], **_VALID),
    of("ResizeBicubic", _IMAGES, [10, 3], align_corners=True, left="half"),
    of("AdjustContrastv2", "f32[2,4,5,3]", "f32[]", follows=False),
    of("BiasAddGrad", "f32[2,4,5,3]"),
    of("BiasAddGrad", "f32[2,3,4,5]", data_format="NCHW"),
    *(of(each, _IMAGES, ksize=[1, 3, 2, 1], **_STRIDES, **_SAME) for each in _POOLS),
    *(of(each, _IMAGES, ksize=[1, 2, 2, 1], strides=[1, 1, 2, 1], **_VALID) for each in _POOLS),
    *(
        of(
            each,
            "f32[2,4,5,6]",
            ksize=[1, 1, 2, 2],
            strides=[1, 1, 2, 2],
            data_format="NCHW",
            left="channels",
            **_VALID,
        )
        for each in _POOLS
    ),
    of(
        "MaxPool",
        _IMAGES,
        ksize=[1, 2, 2, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0],
        left="padded by",
        **_STRIDES,
    ),
    *(
        of(
            f"{each}3D",
            "f32[1,3,4,5,2]",
            ksize=[1, 2, 2, 2, 1],
            strides=[1, 1, 2, 2, 1],
            follows=False,
            kinks=each != "MaxPool",
            **padding,
        )
        for each in _POOLS
        for padding in (_SAME, _VALID)
    ),
    *(
        of(each, _IMAGES, size, half_pixel_centers=True, follows=False)
        for each in ("ResizeBilinear", "ResizeNearestNeighbor")
        for size in ([10, 9], [3, 4])
    ),
    *(
        of(each, _IMAGES, size, follows=False)
        for each in ("ResizeBilinear", "ResizeNearestNeighbor")
        for size in ([10, 9], [3, 4])
    ),
    *(
        of(each, _IMAGES, [10, 3], align_corners=True, follows=False)
        for each in ("ResizeBilinear", "ResizeNearestNeighbor")
    ),
    of("ResizeNearestNeighbor", "i32[2,5,6,4]", [3, 9], half_pixel_centers=True),
    of("ResizeBicubic", _IMAGES, [10, 3], half_pixel_centers=True, follows=False),
    of("ResizeBicubic", _IMAGES, [10, 3], left="half"),
    of(
        "CropAndResize",
        _IMAGES,
        [[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.2, 1.0]],
        [1, 0],
        [3, 4],
        follows=False,
        kinks=False,
    ),
    of(
        "CropAndResize",
        _IMAGES,
        [[0.1, 0.2, 0.8, 1.3]],
        [1],
        [3, 4],
        extrapolation_value=2.0,
        follows=False,
        kinks=False,
    ),
    of("CropAndResize", _IMAGES, [[0.1, 0.2, 0.8, 0.9]], [1], [3, 4], method="nearest", left="nearest"),
    of("ExtractImagePatches", _IMAGES, ksizes=[1, 2, 3, 1], strides=[1, 2, 1, 1], rates=[1, 1, 2, 1], **_VALID),
    of("ExtractImagePatches", _IMAGES, ksizes=[1, 2, 3, 1], strides=[1, 2, 1, 1], rates=[1, 1, 1, 1], **_SAME),
    of("LRN", _IMAGES, follows=False),
    of("LRN", _IMAGES, depth_radius=1, bias=2.0, alpha=0.5, beta=0.75, follows=False),
    *(
        of(
            "FusedBatchNormV3",
            _IMAGES,
            "f32[4]",
            "f32[4]",
            "f32[4]",
            "f32[4]:0.5..2.0",
            is_training=False,
            epsilon=epsilon,
            **_NORMALIZED,
        )
        for epsilon in (0.01, 0.1)
    ),
    of(
        "FusedBatchNormV3",
        _IMAGES,
        "f32[4]",
        "f32[4]",
        NONE,
        NONE,
        is_training=True,
        epsilon=0.01,
        **_NORMALIZED,
    ),
    of(
        "FusedBatchNormV3",
        _IMAGES,
        "f32[4]",
        "f32[4]",
        "f32[4]",
        "f32[4]:0.5..2.0",
        is_training=True,
        epsilon=0.01,
        exponential_avg_factor=0.25,
        **_NORMALIZED,
    ),
    of(
        "FusedBatchNormV3",
        "f32[2,4,3,5]",
        "f32[4]",
        "f32[4]",
        NONE,
        NONE,
        is_training=True,
        epsilon=0.01,
        data_format="NCHW",
        **_NORMALIZED,
        left="channels",
    ),
    of("MaxPoolWithArgmax", _IMAGES, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], **_PLACES, **_SAME),
    of(
        "MaxPoolWithArgmax",
        _IMAGES,
        ksize=[1, 3, 2, 1],
        strides=[1, 1, 2, 1],
        include_batch_in_index=True,
        Targmax=tf.int32,
        **_PLACES,
        **_VALID,
    ),
    *(
        of(f"FakeQuantWithMinMax{kind}", *_QUANTIZED[kind], **levels, **_FAKE)
        for kind in _QUANTIZED
        for levels in _LEVELS
    ),
    *(
        of(f"FakeQuantWithMinMax{kind}Gradient", _ROWS, *_QUANTIZED[kind], **levels, **_FAKE, gradients=False)
        for kind in _QUANTIZED
        for levels in _LEVELS
    ),
    of("FakeQuantWithMinMaxArgs", _ROWS, min=-1.5, max=2.0, **_FAKE),
    of("FakeQuantWithMinMaxArgsGradient", _ROWS, _ROWS, min=-1.5, max=2.0, **_FAKE, gradients=False),
    of("SoftmaxCrossEntropyWithLogits", "f32[2,3]", "f32[2,3]:0.0..1.0"),
    of("SoftmaxCrossEntropyWithLogits", "f32[2,3]", "f32[1,3]:0.0..1.0", left="broadcast"),
)
