"""One Keras model for each layer whose weights are carried, every weight random: names as in modules_to_carry."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import keras
import numpy as np

L: Any = keras.layers
# Of keras.applications: keras.layers has none of them.
LayerScale: Any = importlib.import_module("keras.src.applications.convnext").LayerScale
CustomScaleLayer: Any = importlib.import_module("keras.src.applications.inception_resnet_v2").CustomScaleLayer
F, I = "float32", "int32"  # noqa: E741
Spec = tuple[tuple[int | None, ...], str]
Case = tuple[Callable[[], Any], tuple[Spec, ...]]


def f(*shape: int | None) -> Spec:
    return shape, F


CASES: dict[str, Case] = {
    "dense": (lambda: L.Dense(3, activation="relu"), (f(8),)),
    "dense_without_bias": (lambda: L.Dense(8, use_bias=False), (f(8),)),
    "einsum_dense": (lambda: L.EinsumDense("abc,cd->abd", (None, 7), bias_axes="d"), (f(3, 4),)),
    "embedding": (lambda: L.Embedding(10, 4), (((5,), I),)),
    "conv1d": (lambda: L.Conv1D(5, 3, strides=2, padding="same"), (f(8, 3),)),
    "conv1d_causal": (lambda: L.Conv1D(3, 3, padding="causal", dilation_rate=2), (f(8, 3),)),
    "conv2d": (lambda: L.Conv2D(5, 3), (f(6, 6, 3),)),
    "conv2d_groups": (lambda: L.Conv2D(6, (3, 2), groups=3, padding="same", dilation_rate=2), (f(6, 6, 3),)),
    "conv3d": (lambda: L.Conv3D(5, 2), (f(4, 4, 4, 3),)),
    "conv1d_transpose": (lambda: L.Conv1DTranspose(5, 3, 2, padding="same"), (f(6, 3),)),
    "conv2d_transpose": (lambda: L.Conv2DTranspose(5, 3, 2), (f(6, 6, 3),)),
    "conv3d_transpose": (lambda: L.Conv3DTranspose(5, 2, 2, use_bias=False), (f(3, 3, 3, 3),)),
    "depthwise_conv1d": (lambda: L.DepthwiseConv1D(3, depth_multiplier=2), (f(8, 3),)),
    "depthwise_conv2d": (lambda: L.DepthwiseConv2D(3, 2, depth_multiplier=2, padding="same"), (f(6, 6, 3),)),
    "separable_conv1d": (lambda: L.SeparableConv1D(5, 3), (f(8, 3),)),
    "separable_conv2d": (lambda: L.SeparableConv2D(5, 3, depth_multiplier=2), (f(6, 6, 3),)),
    "batch_normalization": (lambda: L.BatchNormalization(), (f(8),)),
    "batch_normalization_bare": (lambda: L.BatchNormalization(center=False, scale=False), (f(8),)),
    "layer_normalization": (lambda: L.LayerNormalization(), (f(3, 8),)),
    "group_normalization": (lambda: L.GroupNormalization(2), (f(3, 3, 8),)),
    "instance_normalization": (lambda: L.GroupNormalization(-1), (f(3, 3, 8),)),
    "rms_normalization": (lambda: L.RMSNormalization(), (f(8),)),
    "multi_head_attention": (lambda: L.MultiHeadAttention(2, 4), (f(3, 8), f(5, 8), f(5, 8))),
    "group_query_attention": (lambda: L.GroupQueryAttention(4, 4, 2), (f(3, 8), f(5, 8))),
    "lstm": (lambda: L.LSTM(5), (f(4, 3),)),
    "lstm_split": (lambda: L.LSTM(5, return_sequences=True), (f(4, 3),)),
    "lstm_cell_in_rnn": (lambda: L.RNN(L.LSTMCell(5), return_sequences=True), (f(4, 3),)),
    "stacked_cells_in_rnn": (
        lambda: L.RNN(L.StackedRNNCells([L.LSTMCell(5), L.GRUCell(6)]), return_sequences=True),
        (f(4, 3),),
    ),
    "reversible_embedding": (lambda: L.ReversibleEmbedding(10, 4), (((5,), I),)),
    "untied_embedding": (lambda: L.ReversibleEmbedding(10, 4, tie_weights=False), (((5,), I),)),
    "simple_rnn_cell_in_rnn": (lambda: L.RNN(L.SimpleRNNCell(5), return_sequences=True), (f(4, 3),)),
    "simple_rnn": (lambda: L.SimpleRNN(5, go_backwards=True, return_sequences=True), (f(4, 3),)),
    "bidirectional": (lambda: L.Bidirectional(L.LSTM(5, return_sequences=True)), (f(4, 3),)),
    "gru": (lambda: L.GRU(5), (f(4, 3),)),
    "gru_without_bias": (lambda: L.GRU(5, use_bias=False), (f(4, 3),)),
    "gru_reset_before": (lambda: L.GRU(5, reset_after=False, return_sequences=True), (f(4, 3),)),
    "gru_cell_in_rnn": (lambda: L.RNN(L.GRUCell(5), return_sequences=True), (f(4, 3),)),
    "bidirectional_gru": (lambda: L.Bidirectional(L.GRU(5, return_sequences=True), "sum"), (f(4, 3),)),
    "conv_lstm1d": (lambda: L.ConvLSTM1D(5, 3, return_sequences=True), (f(4, 6, 3),)),
    "conv_lstm2d": (lambda: L.ConvLSTM2D(5, 3, strides=2, padding="same"), (f(3, 5, 5, 3),)),
    "conv_lstm3d": (lambda: L.ConvLSTM3D(2, 2), (f(2, 3, 3, 3, 2),)),
    "attention": (lambda: L.Attention(use_scale=True, score_mode="concat"), (f(3, 4), f(5, 4), f(5, 4))),
    "attention_of_products": (lambda: L.Attention(use_scale=True), (f(3, 4), f(5, 4))),
    "additive_attention": (lambda: L.AdditiveAttention(), (f(3, 4), f(5, 4))),
    "layer_scale": (lambda: LayerScale(1.0, 4), (f(3, 4),)),
    "batch_normalization_numbered": (lambda: L.BatchNormalization(axis=3), (f(4, 4, 3),)),
    "prelu": (lambda: L.PReLU(), (f(3, 4),)),
    "prelu_shared": (lambda: L.PReLU(shared_axes=[1]), (f(3, 4),)),
    "normalization": (lambda: L.Normalization(), (f(3, 4),)),
    "time_distributed": (lambda: L.TimeDistributed(L.Dense(3)), (f(5, 4),)),
}

FUNCTIONS: dict[str, Case] = {
    "relu": (lambda: L.ReLU(), (f(8),)),
    "relu6": (lambda: L.ReLU(max_value=6.0), (f(8),)),
    "relu_threshold": (lambda: L.ReLU(6.0, 0.1, 0.5), (f(8),)),
    "leaky_relu": (lambda: L.LeakyReLU(0.2), (f(8),)),
    "elu": (lambda: L.ELU(0.7), (f(8),)),
    "softmax": (lambda: L.Softmax(), (f(8),)),
    "max_pooling1d": (lambda: L.MaxPooling1D(), (f(7, 3),)),
    "max_pooling2d": (lambda: L.MaxPooling2D((3, 2), padding="same"), (f(7, 6, 3),)),
    "max_pooling3d": (lambda: L.MaxPooling3D(2), (f(4, 4, 4, 3),)),
    "average_pooling1d": (lambda: L.AveragePooling1D(3, 2), (f(8, 3),)),
    "average_pooling2d": (lambda: L.AveragePooling2D(3, 2, padding="same"), (f(6, 6, 3),)),
    "average_pooling3d": (lambda: L.AveragePooling3D(2), (f(4, 4, 4, 3),)),
    "global_max_pooling1d": (lambda: L.GlobalMaxPooling1D(), (f(7, 3),)),
    "global_max_pooling2d": (lambda: L.GlobalMaxPooling2D(keepdims=True), (f(4, 5, 3),)),
    "global_max_pooling3d": (lambda: L.GlobalMaxPooling3D(), (f(3, 3, 3, 3),)),
    "global_average_pooling1d": (lambda: L.GlobalAveragePooling1D(keepdims=True), (f(7, 3),)),
    "global_average_pooling2d": (lambda: L.GlobalAveragePooling2D(), (f(4, 5, 3),)),
    "global_average_pooling3d": (lambda: L.GlobalAveragePooling3D(), (f(3, 3, 3, 3),)),
    "flatten": (lambda: L.Flatten(), (f(3, 4),)),
    "reshape": (lambda: L.Reshape((2, -1)), (f(8),)),
    "permute": (lambda: L.Permute((3, 1, 2)), (f(3, 4, 5),)),
    "repeat_vector": (lambda: L.RepeatVector(3), (f(8),)),
    "zero_padding1d": (lambda: L.ZeroPadding1D((1, 2)), (f(7, 3),)),
    "zero_padding1d_one": (lambda: L.ZeroPadding1D(2), (f(7, 3),)),
    "zero_padding2d": (lambda: L.ZeroPadding2D(((1, 2), (2, 1))), (f(6, 6, 3),)),
    "zero_padding2d_one": (lambda: L.ZeroPadding2D((1, 2)), (f(6, 6, 3),)),
    "zero_padding3d": (lambda: L.ZeroPadding3D(1), (f(3, 3, 3, 2),)),
    "zero_padding2d_of_nothing": (lambda: L.ZeroPadding2D(0), (f(6, 6, 3),)),
    "cropping2d_of_nothing": (lambda: L.Cropping2D(((0, 0), (0, 0))), (f(6, 6, 3),)),
    "cropping1d": (lambda: L.Cropping1D((1, 2)), (f(7, 3),)),
    "cropping1d_in_front": (lambda: L.Cropping1D((2, 0)), (f(7, 3),)),
    "cropping2d": (lambda: L.Cropping2D(((1, 2), (2, 0))), (f(6, 6, 3),)),
    "cropping3d": (lambda: L.Cropping3D(1), (f(4, 4, 4, 3),)),
    "up_sampling1d": (lambda: L.UpSampling1D(3), (f(4, 3),)),
    "up_sampling2d": (lambda: L.UpSampling2D((2, 3)), (f(2, 3, 4),)),
    "up_sampling2d_bilinear": (lambda: L.UpSampling2D((2, 3), interpolation="bilinear"), (f(3, 4, 2),)),
    "up_sampling2d_bicubic": (lambda: L.UpSampling2D(2, interpolation="bicubic"), (f(3, 4, 2),)),
    "up_sampling3d": (lambda: L.UpSampling3D((1, 2, 3)), (f(2, 3, 2, 3),)),
    "resizing": (lambda: L.Resizing(3, 9), (f(7, 5, 2),)),
    "resizing_nearest": (lambda: L.Resizing(9, 4, interpolation="nearest"), (f(7, 5, 2),)),
    "resizing_bicubic": (lambda: L.Resizing(3, 9, interpolation="bicubic"), (f(7, 5, 2),)),
    "resizing_antialiased": (lambda: L.Resizing(3, 9, antialias=True), (f(7, 5, 2),)),
    "resizing_bicubic_antialiased": (lambda: L.Resizing(3, 9, "bicubic", antialias=True), (f(7, 5, 2),)),
    "rescaling": (lambda: L.Rescaling(1 / 127.5, -1.0), (f(8),)),
    "unit_normalization": (lambda: L.UnitNormalization(), (f(8),)),
    "add": (lambda: L.Add(), (f(8), f(8))),
    "subtract": (lambda: L.Subtract(), (f(8), f(8))),
    "multiply": (lambda: L.Multiply(), (f(8), f(8))),
    "custom_scale": (lambda: CustomScaleLayer(0.17), (f(8), f(8))),
    "average": (lambda: L.Average(), (f(8), f(8))),
    "maximum": (lambda: L.Maximum(), (f(8), f(8))),
    "minimum": (lambda: L.Minimum(), (f(8), f(8))),
    "dot": (lambda: L.Dot((2, 1)), (f(3, 4), f(4, 2))),
    "dot_of_vectors": (lambda: L.Dot(-1, normalize=True), (f(8), f(8))),
    "dot_of_images": (lambda: L.Dot((1, 3)), (f(3, 4, 2), f(5, 2, 3))),
    "dot_with_a_vector": (lambda: L.Dot(1), (f(3, 4), f(3))),
    "concatenate": (lambda: L.Concatenate(1), (f(3, 4), f(2, 4))),
    "masking": (lambda: L.Masking(), (f(3, 2),)),
    "identity": (lambda: L.Identity(), (f(8),)),
    "activity_regularization": (lambda: L.ActivityRegularization(0.1), (f(8),)),
    "gaussian_noise": (lambda: L.GaussianNoise(0.1), (f(8),)),
    "gaussian_dropout": (lambda: L.GaussianDropout(0.1), (f(8),)),
    "alpha_dropout": (lambda: L.AlphaDropout(0.1), (f(8),)),
    "dropout": (lambda: L.Dropout(0.1), (f(8),)),
    "dropout_of_paths": (lambda: L.Dropout(0.1, noise_shape=(None, 1, 1, 1)), (f(4, 4, 3),)),
    "spatial_dropout1d": (lambda: L.SpatialDropout1D(0.1), (f(4, 3),)),
    "spatial_dropout2d": (lambda: L.SpatialDropout2D(0.1), (f(4, 4, 3),)),
    "spatial_dropout3d": (lambda: L.SpatialDropout3D(0.1), (f(2, 2, 2, 3),)),
    **{f"activation_{name}": (partial(L.Activation, name), (f(8),)) for name in (
        "linear", "relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "hard_silu", "gelu", "mish", "softplus",
        "softsign", "sigmoid", "hard_sigmoid", "log_sigmoid", "tanh", "exponential", "softmax", "log_softmax",
    )},
}  # fmt: skip
"""Layers without weights, which an expression stands in for."""


def random_weights(model: Any) -> None:
    """Every weight is drawn; a variance is positive, and one number alone far from 0: what it is has to be seen."""
    numbers = np.random.default_rng(7)
    for each in model.weights:
        alone = "variance" in each.name or len(each.shape) == 0
        drawn = numbers.uniform(0.3, 1.5, each.shape) if alone else numbers.normal(size=each.shape) * 0.5
        each.assign(np.asarray(drawn, str(each.dtype)))


OF_LISTS = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot",
            "Attention", "AdditiveAttention", "CustomScaleLayer")  # fmt: skip
"""Classes that are called with a list of inputs."""


def model(name: str) -> Any:
    make, specs = (CASES | FUNCTIONS)[name]
    inputs = [keras.Input(shape, dtype=dtype, name=f"x{number}") for number, (shape, dtype) in enumerate(specs)]
    layer = make()
    layer.name = "layer"
    made = keras.Model(inputs, layer(inputs) if type(layer).__name__ in OF_LISTS else layer(*inputs))
    random_weights(made)
    if isinstance(layer, L.Normalization):
        # It keeps what it computes with apart from its weights.
        layer.finalize_state()
    return made


globals().update({name: partial(model, name) for name in CASES | FUNCTIONS})
