"""Every public layer of Keras in a model of its own, with arguments in which it does something."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras

L = keras.layers
NAME = "the_layer"

STEPS, IMAGE, VOLUME, WORDS = (5, 4), (8, 8, 3), (4, 4, 4, 2), (5,)


@dataclass(frozen=True)
class Case:
    """One layer.

    Attributes:
      shapes: of its inputs; several are given as one list, unless `apart`.
      arguments: of its constructor.
      dtype: of the inputs.
      apart: whether inputs are arguments of their own.
    """

    shapes: tuple[tuple[int, ...], ...] = (STEPS,)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    dtype: str = "float32"
    apart: bool = False


def of(shape: tuple[int, ...], **arguments: Any) -> Case:
    return Case((shape,), arguments)


def merging(**arguments: Any) -> Case:
    return Case((STEPS, STEPS), arguments)


def _by_space(name: str, **arguments: Any) -> dict[str, Case]:
    return {f"{name}{count}D": of(shape, **arguments) for count, shape in enumerate((STEPS, IMAGE, VOLUME), 1)}


_IMAGES: Mapping[str, Mapping[str, Any]] = {
    "AugMix": {}, "AutoContrast": {}, "CenterCrop": {"height": 4, "width": 4},
    "ContrastLimitedAdaptiveHistogramEqualization": {}, "CutMix": {}, "MixUp": {}, "RandAugment": {},
    "RandomBrightness": {"factor": 0.2}, "RandomColorDegeneration": {"factor": 0.2}, "RandomColorJitter": {},
    "RandomContrast": {"factor": 0.2}, "RandomCrop": {"height": 4, "width": 4}, "RandomElasticTransform": {},
    "RandomErasing": {}, "RandomFlip": {}, "RandomGaussianBlur": {}, "RandomGrayscale": {},
    "RandomHue": {"factor": 0.2}, "RandomInvert": {}, "RandomPerspective": {}, "RandomPosterization": {"factor": 4},
    "RandomRotation": {"factor": 0.2}, "RandomSaturation": {"factor": 0.2}, "RandomSharpness": {"factor": 0.2},
    "RandomShear": {"x_factor": 0.2}, "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.2},
    "RandomZoom": {"height_factor": 0.2}, "Resizing": {"height": 4, "width": 4},
    "Solarization": {"addition_factor": 0.2},
}  # fmt: skip

CASES: Mapping[str, Case] = {
    "Activation": of(STEPS, activation="relu"),
    "ActivityRegularization": of(STEPS, l1=0.1),
    **_by_space("AdaptiveAveragePooling", output_size=2),
    **_by_space("AdaptiveMaxPooling", output_size=2),
    **dict.fromkeys(("Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract"), merging()),
    "Dot": merging(axes=1),
    "AdditiveAttention": merging(),
    "Attention": merging(),
    "AlphaDropout": of(STEPS, rate=0.3),
    **_by_space("AveragePooling", pool_size=2),
    **_by_space("MaxPooling", pool_size=2),
    "BatchNormalization": Case(),
    "Bidirectional": of(STEPS, layer=lambda: L.GRU(3)),
    "CategoryEncoding": of(WORDS, num_tokens=5),
    **_by_space("Conv", filters=3, kernel_size=2),
    "Conv1DTranspose": of(STEPS, filters=3, kernel_size=2),
    "Conv2DTranspose": of(IMAGE, filters=3, kernel_size=2),
    "Conv3DTranspose": of(VOLUME, filters=3, kernel_size=2),
    "ConvLSTM1D": of((3, 6, 2), filters=3, kernel_size=2),
    "ConvLSTM2D": of((3, 6, 6, 2), filters=3, kernel_size=2),
    "ConvLSTM3D": of((3, 4, 4, 4, 2), filters=3, kernel_size=2),
    **_by_space("Cropping", cropping=1),
    **_by_space("ZeroPadding", padding=1),
    **_by_space("UpSampling"),
    **_by_space("GlobalAveragePooling"),
    **_by_space("GlobalMaxPooling"),
    **_by_space("SpatialDropout", rate=0.3),
    "Dense": of(STEPS, units=3),
    "DepthwiseConv1D": of(STEPS, kernel_size=2),
    "DepthwiseConv2D": of(IMAGE, kernel_size=2),
    "SeparableConv1D": of(STEPS, filters=3, kernel_size=2),
    "SeparableConv2D": of(IMAGE, filters=3, kernel_size=2),
    "Discretization": of(STEPS, bin_boundaries=[0.0, 1.0]),
    "Dropout": of(STEPS, rate=0.3),
    "ELU": Case(),
    "EinsumDense": of(STEPS, equation="abc,cd->abd", output_shape=(None, 3)),
    "Embedding": Case((WORDS,), {"input_dim": 7, "output_dim": 3}, "int32"),
    "ReversibleEmbedding": Case((WORDS,), {"input_dim": 7, "output_dim": 3}, "int32"),
    "Flatten": of(IMAGE),
    **dict.fromkeys(("GRU", "LSTM", "SimpleRNN"), of(STEPS, units=3)),
    **{name: of(STEPS, units=3) for name in ("GRUCell", "LSTMCell", "SimpleRNNCell")},
    "RNN": of(STEPS, cell=lambda: L.GRUCell(3)),
    "StackedRNNCells": of(STEPS, cells=lambda: [L.GRUCell(3), L.LSTMCell(2)]),
    "GaussianDropout": of(STEPS, rate=0.3),
    "GaussianNoise": of(STEPS, stddev=0.3),
    "GroupNormalization": of(STEPS, groups=2),
    "GroupedQueryAttention": Case(
        (STEPS, STEPS), {"head_dim": 4, "num_query_heads": 2, "num_key_value_heads": 1}, apart=True
    ),
    "MultiHeadAttention": Case((STEPS, STEPS), {"num_heads": 2, "key_dim": 3}, apart=True),
    "Hashing": Case((WORDS,), {"num_bins": 4}, "int32"),
    "Identity": Case(),
    "IntegerLookup": Case((WORDS,), {"vocabulary": [1, 2]}, "int64"),
    "LayerNormalization": Case(),
    "LeakyReLU": Case(),
    "Masking": Case(),
    "MelSpectrogram": of((4096,)),
    "Normalization": Case(),
    "PReLU": Case(),
    "Permute": of(STEPS, dims=(2, 1)),
    "Pipeline": of(IMAGE, layers=lambda: [L.RandomFlip()]),
    "RMSNormalization": Case(),
    "ReLU": Case(),
    "RepeatVector": of((4,), n=2),
    "Rescaling": of(IMAGE, scale=2.0),
    "Reshape": of(STEPS, target_shape=(4, 5)),
    "STFTSpectrogram": of((512, 1)),
    "Softmax": Case(),
    "SpectralNormalization": of(STEPS, layer=lambda: L.Dense(3)),
    "TimeDistributed": of(STEPS, layer=lambda: L.Dense(3)),
    "UnitNormalization": Case(),
    **{name: of(IMAGE, **arguments) for name, arguments in _IMAGES.items()},
}

NOT_IN_A_MODEL: Mapping[str, str] = {
    "Equalization": "its call takes arrays alone",
    "FlaxLayer": "a module of JAX already", "JaxLayer": "a function of JAX already",
    "HashedCrossing": "it takes strings or integers of one column, ahead of a model",
    "InputLayer": "the input of every model", "Layer": "it has no call", "Wrapper": "it has no call",
    "Lambda": "what its function does is written in its place",
    "MaxNumBoundingBoxes": "it takes boxes of a data pipeline",
    "StringLookup": "it takes strings", "TextVectorization": "it takes strings",
    "TFSMLayer": "it takes a SavedModel", "TorchModuleWrapper": "it takes a module of PyTorch",
}  # fmt: skip
"""Public layers that no model of arrays has -> why."""


def public() -> dict[str, type[Any]]:
    """Every class of layers in keras.layers, by its own name."""
    classes = (value for value in vars(L).values() if inspect.isclass(value) and issubclass(value, L.Layer))
    return {kind.__name__: kind for kind in classes}


def model_of(name: str, **changes: Any) -> Any:
    """A model of one layer.

    Args:
      name: of its class.
      **changes: arguments of the constructor beside those of its case.
    """
    keras.utils.clear_session()
    case = CASES[name]
    given = {key: value() if isinstance(value, Callable) else value for key, value in case.arguments.items()}
    layer = public()[name](**{**given, **changes}, name=NAME)
    if name.endswith(("Cell", "Cells")):
        layer = L.RNN(layer, name=f"around_{NAME}")
    inputs = [keras.Input(shape, dtype=case.dtype) for shape in case.shapes]
    outputs = layer(*inputs) if case.apart or len(inputs) == 1 else layer(inputs)
    return keras.Model(inputs, outputs)
