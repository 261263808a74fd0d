"""Chains of layers in TensorFlow, compiled in blocks: the twins of workloads/_layer_chain.py."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import tensorflow as tf

from tf_reference import Model
from tf_reference._small_operations import dense, layer_norm
from workloads.core.spec import Dimensions

Layer = Callable[[tf.Tensor], tf.Tensor]
Variables = Mapping[str, tf.Variable]


def in_blocks(layers: Sequence[Layer], block: int) -> Layer:
    """The layers one after the other, `block` of them in each compiled function; 0 compiles none."""

    def chain(part: Sequence[Layer]) -> Layer:
        def call(x: tf.Tensor) -> tf.Tensor:
            for layer in part:
                x = layer(x)
            return x

        return call

    if not block:
        return chain(layers)
    starts = range(0, len(layers), block)
    return chain([tf.function(chain(layers[start : start + block]), jit_compile=True) for start in starts])


def build_elementwise(dimensions: Dimensions, dtype: str) -> Model:
    """X [batch, width] -> [batch, width]."""
    vector = (dimensions["width"],)

    def layer(x: tf.Tensor, own: Variables) -> tf.Tensor:
        return x + tf.tanh(x * own["scale"] + own["shift"])

    return _chain(layer, {"scale": vector, "shift": vector}, dimensions, dtype)


def build_dense(dimensions: Dimensions, dtype: str) -> Model:
    """X [batch, width] -> [batch, width]."""
    width = dimensions["width"]

    def layer(x: tf.Tensor, own: Variables) -> tf.Tensor:
        return x + dense(layer_norm(x, own["gamma"], own["beta"]), own["kernel"], own["bias"])

    shapes = {"gamma": (width,), "beta": (width,), "kernel": (width, width), "bias": (width,)}
    return _chain(layer, shapes, dimensions, dtype)


def _chain(
    layer: Callable[[tf.Tensor, Variables], tf.Tensor],
    shapes: Mapping[str, tuple[int, ...]],
    dimensions: Dimensions,
    dtype: str,
) -> Model:
    """Equal layers, each with variables of its own."""
    own_variables = [
        {part: tf.Variable(tf.zeros(shape, dtype)) for part, shape in shapes.items()}
        for _ in range(dimensions["layers"])
    ]
    layers = [partial(layer, own=own) for own in own_variables]
    weights = {f"layer{number}/{part}": own[part] for number, own in enumerate(own_variables) for part in shapes}
    return Model(in_blocks(layers, dimensions["block"]), weights)
