"""One Flax module for each model of layers_to_carry, under the same name: what its weights are carried into."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport import layers

Case = tuple[Callable[[nnx.Rngs], Any], Callable[..., Any]]


class Separable(nnx.Module):
    def __init__(self, first: nnx.Conv, second: Any) -> None:
        self.depthwise, self.pointwise = first, second

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.pointwise(self.depthwise(x))


def plain(layer: Any, *x: jax.Array) -> Any:
    return layer(*x)


def last(layer: Any, x: jax.Array) -> jax.Array:
    return layer(x)[:, -1]


def inference(layer: Any, x: jax.Array) -> jax.Array:
    return layer(x, use_running_average=True)


def norm(kind: Any, *sizes: int, **how: Any) -> Callable[[nnx.Rngs], Any]:
    return lambda r: kind(*sizes, epsilon=0.001, use_fast_variance=False, **how, rngs=r)


def rnn(cell: Any, **how: Any) -> Callable[[nnx.Rngs], Any]:
    return lambda r: nnx.RNN(cell(3, 5, rngs=r), **how)


VALID = {"padding": "VALID"}
TURNED: dict[str, Any] = {"transpose_kernel": True}

CASES: dict[str, Case] = {
    "dense": (lambda r: nnx.Linear(8, 3, rngs=r), lambda m, x: jax.nn.relu(m(x))),
    "dense_without_bias": (lambda r: nnx.Linear(8, 8, use_bias=False, rngs=r), plain),
    "einsum_dense": (lambda r: nnx.Einsum("abc,cd->abd", (4, 7), (7,), rngs=r), plain),
    "embedding": (lambda r: nnx.Embed(10, 4, rngs=r), plain),
    "conv1d": (lambda r: nnx.Conv(3, 5, (3,), 2, padding="SAME", rngs=r), plain),
    "conv1d_causal": (lambda r: nnx.Conv(3, 3, (3,), padding="CAUSAL", kernel_dilation=2, rngs=r), plain),
    "conv2d": (lambda r: nnx.Conv(3, 5, (3, 3), **VALID, rngs=r), plain),
    "conv2d_groups": (lambda r: nnx.Conv(3, 6, (3, 2), kernel_dilation=2, feature_group_count=3, rngs=r), plain),
    "conv3d": (lambda r: nnx.Conv(3, 5, (2, 2, 2), padding=0, rngs=r), plain),
    "conv1d_transpose": (lambda r: nnx.ConvTranspose(3, 5, (3,), 2, padding="SAME", **TURNED, rngs=r), plain),
    "conv2d_transpose": (lambda r: nnx.ConvTranspose(3, 5, (3, 3), (2, 2), **VALID, **TURNED, rngs=r), plain),
    "conv3d_transpose": (
        lambda r: nnx.ConvTranspose(3, 5, (2, 2, 2), (2, 2, 2), **VALID, **TURNED, use_bias=False, rngs=r), plain,
    ),
    "depthwise_conv1d": (lambda r: nnx.Conv(3, 6, (3,), **VALID, feature_group_count=3, rngs=r), plain),
    "depthwise_conv2d": (lambda r: nnx.Conv(3, 6, (3, 3), 2, feature_group_count=3, rngs=r), plain),
    "separable_conv1d": (
        lambda r: Separable(
            nnx.Conv(3, 3, (3,), **VALID, feature_group_count=3, use_bias=False, rngs=r), nnx.Linear(3, 5, rngs=r)
        ),
        plain,
    ),
    "separable_conv2d": (
        lambda r: Separable(
            nnx.Conv(3, 6, (3, 3), **VALID, feature_group_count=3, use_bias=False, rngs=r),
            nnx.Conv(6, 5, (1, 1), rngs=r),
        ),
        plain,
    ),
    "batch_normalization": (norm(nnx.BatchNorm, 8), inference),
    "batch_normalization_numbered": (norm(nnx.BatchNorm, 3), inference),
    "batch_normalization_bare": (norm(nnx.BatchNorm, 8, use_bias=False, use_scale=False), inference),
    "layer_normalization": (norm(nnx.LayerNorm, 8), plain),
    "group_normalization": (norm(nnx.GroupNorm, 8, num_groups=2), plain),
    "instance_normalization": (norm(nnx.InstanceNorm, 8), plain),
    "rms_normalization": (lambda r: nnx.RMSNorm(8, epsilon=1e-6, rngs=r), plain),
    "multi_head_attention": (
        lambda r: nnx.MultiHeadAttention(2, 8, decode=False, rngs=r), lambda m, q, v, k: m(q, k, v),
    ),
    "group_query_attention": (
        lambda r: nnx.MultiHeadAttention(4, 8, qkv_features=16, num_kv_heads=2, decode=False, rngs=r),
        lambda m, q, v: m(q, v, v),
    ),
    "lstm": (rnn(nnx.OptimizedLSTMCell), last),
    "lstm_split": (rnn(nnx.LSTMCell), plain),
    "lstm_cell_in_rnn": (rnn(nnx.OptimizedLSTMCell), plain),
    "stacked_cells_in_rnn": (
        lambda r: nnx.RNN(
            layers.StackedCells(cell_0=nnx.OptimizedLSTMCell(3, 5, rngs=r), cell_1=layers.GRUCell(5, 6, rngs=r))
        ),
        plain,
    ),
    "reversible_embedding": (lambda r: nnx.Embed(10, 4, rngs=r), plain),
    "simple_rnn_cell_in_rnn": (rnn(nnx.SimpleCell), plain),
    "simple_rnn": (rnn(nnx.SimpleCell, reverse=True), plain),
    "bidirectional": (
        lambda r: nnx.Bidirectional(rnn(nnx.OptimizedLSTMCell)(r), rnn(nnx.OptimizedLSTMCell)(r)), plain,
    ),
    "gru": (rnn(layers.GRUCell), last),
    "gru_without_bias": (rnn(partial(layers.GRUCell, use_bias=False)), last),
    "gru_reset_before": (rnn(partial(layers.GRUCell, reset_after=False)), plain),
    "gru_cell_in_rnn": (rnn(layers.GRUCell), plain),
    "bidirectional_gru": (
        lambda r: nnx.Bidirectional(rnn(layers.GRUCell)(r), rnn(layers.GRUCell)(r), merge_fn=jnp.add), plain,
    ),
    "conv_lstm1d": (lambda r: nnx.RNN(layers.ConvLSTMCell(3, 5, (3,), rngs=r)), plain),
    "conv_lstm2d": (
        lambda r: nnx.RNN(layers.ConvLSTMCell(3, 5, (3, 3), strides=(2, 2), padding="SAME", rngs=r)), last,
    ),
    "conv_lstm3d": (lambda r: nnx.RNN(layers.ConvLSTMCell(2, 2, (2, 2, 2), rngs=r)), last),
    "attention": (lambda r: layers.Attention(use_scale=True, score_mode="concat"), plain),
    "attention_of_products": (lambda r: layers.Attention(use_scale=True), plain),
    "additive_attention": (lambda r: layers.AdditiveAttention(4, rngs=r), plain),
    "layer_scale": (lambda r: layers.LayerScale(4), plain),
    "untied_embedding": (lambda r: layers.ReversibleEmbed(10, 4, rngs=r), plain),
    "prelu": (lambda r: layers.PReLU((3, 4)), plain),
    "prelu_shared": (lambda r: layers.PReLU((1, 4)), plain),
    "normalization": (lambda r: layers.Normalization((4,)), plain),
    "time_distributed": (lambda r: nnx.Linear(4, 3, rngs=r), plain),
}  # fmt: skip


class One(nnx.Module):
    """One layer, and how it is called."""

    def __init__(self, name: str, rngs: nnx.Rngs) -> None:
        make, self._call = CASES[name]
        self.layer = make(rngs)

    def __call__(self, *x: jax.Array) -> Any:
        return self._call(self.layer, *x)


def module(name: str) -> One:
    return One(name, nnx.Rngs(0))


globals().update({name: partial(module, name) for name in CASES})
