"""ResNet v1.5 in Flax NNX: what is trained and the moving statistics are apart."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx, traverse_util

from jaxport import Model, Parts, optimizers
from jaxport._batch_norm import BatchNorm
from jaxport._dense import product
from jaxport._nnx import Parameters, Place, WeightMap
from jaxport.loss_scaling import gradients_of, scaled_for
from jaxport.pooling import overlapping_max_pool
from workloads import resnet50
from workloads.core.precision import compute_dtype
from workloads.core.spec import Dimensions
from workloads.resnet50 import Block


class Unit(nnx.Module):
    """Convolution without bias, then batch norm: [batch, height, width, in] -> [batch, height/s, width/s, out]."""

    def __init__(self, inputs: int, outputs: int, size: int, stride: int, rngs: nnx.Rngs, **kinds: Any) -> None:
        if size == 1:
            self.convolution = Pointwise(inputs, outputs, stride, **kinds)
        else:
            self.convolution = nnx.Conv(
                inputs, outputs, (size, size), stride, padding="SAME", use_bias=False, rngs=rngs, **kinds
            )
        self.norm = BatchNorm(outputs, resnet50.NORM_MOMENTUM, resnet50.NORM_EPSILON, **kinds)

    def __call__(self, x: jax.Array, training: bool) -> jax.Array:
        """[batch, height, width, in] -> [batch, height / stride, width / stride, out].

        Args:
          x: [batch, height, width, in].
          training: whether to normalise by the statistics of the batch.
        """
        return self.norm(self.convolution(x), training)


class Pointwise(nnx.Module):
    """A convolution of kernel [1, 1, in, out]: one matrix product over the positions that the stride leaves.

    XLA's convolution on CPU is up to twice as slow in the gradient of such a kernel, and is fused with nothing.
    """

    def __init__(self, inputs: int, outputs: int, stride: int, *, dtype: Any, param_dtype: Any) -> None:
        self.kernel = nnx.Param(jnp.zeros((1, 1, inputs, outputs), param_dtype))
        self.stride = stride
        self.dtype = dtype

    def __call__(self, x: jax.Array) -> jax.Array:
        """[batch, height, width, in] -> [batch, height / stride, width / stride, out]."""
        strided_x = x[:, :: self.stride, :: self.stride].astype(self.dtype)
        kernel = self.kernel.get_value()[0, 0].astype(self.dtype)
        return product(strided_x, kernel)


class Bottleneck(nnx.Module):
    """1x1, 3x3 with the stride, 1x1; the shortcut is projected in the first block of a stage."""

    def __init__(self, block: Block, rngs: nnx.Rngs, **kinds: Any) -> None:
        self.reduce = Unit(block.inputs, block.width, 1, 1, rngs, **kinds)
        self.spatial = Unit(block.width, block.width, 3, block.stride, rngs, **kinds)
        self.expand = Unit(block.width, block.outputs, 1, 1, rngs, **kinds)
        self.projected = block.projected
        if block.projected:
            self.shortcut = Unit(block.inputs, block.outputs, 1, block.stride, rngs, **kinds)

    def __call__(self, x: jax.Array, training: bool) -> jax.Array:
        """[batch, height, width, in] -> [batch, height / stride, width / stride, out].

        Args:
          x: [batch, height, width, in].
          training: whether to normalise by the statistics of the batch.
        """
        shortcut = self.shortcut(x, training) if self.projected else x
        x = nnx.relu(self.reduce(x, training))
        x = nnx.relu(self.spatial(x, training))
        return nnx.relu(self.expand(x, training) + shortcut)


class ResNet(nnx.Module):
    """images [batch, side, side, 3] -> logits [batch, classes], from the average on in the parameters' type."""

    def __init__(self, dimensions: Dimensions, rngs: nnx.Rngs, **kinds: Any) -> None:
        blocks = resnet50.blocks(dimensions)
        self.stem = Unit(3, dimensions["width"], resnet50.STEM_SIZE, 2, rngs, **kinds)
        self.blocks = nnx.List([Bottleneck(block, rngs, **kinds) for block in blocks])
        self.wide = kinds["param_dtype"]
        self.head = nnx.Linear(
            blocks[-1].outputs, dimensions["classes"], dtype=self.wide, param_dtype=self.wide, rngs=rngs
        )

    def __call__(self, images: jax.Array, training: bool) -> jax.Array:
        """Logits [batch, classes].

        Args:
          images: [batch, side, side, 3].
          training: whether to normalise by the statistics of the batch.
        """
        x = overlapping_max_pool(nnx.relu(self.stem(images, training)))
        for block in self.blocks:
            x = block(x, training)
        return self.head(x.astype(self.wide).mean(axis=(1, 2)))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/resnet50.py: forward with the moving statistics, loss with those of the batch.

    Parameters are a pair: what is trained, and the moving statistics.
    """
    compute = compute_dtype(dimensions, dtype)
    kinds = {"dtype": jnp.dtype(compute), "param_dtype": jnp.dtype(dtype)}
    shapes = nnx.eval_shape(lambda: ResNet(dimensions, nnx.Rngs(0), **kinds))
    graph, _, _ = nnx.split(shapes, nnx.Param, nnx.BatchStat)
    optimizer = scaled_for(compute, optimizers.sgd(resnet50.LEARNING_RATE, resnet50.MOMENTUM))
    trained_weights, moving_weights = _weight_maps(dimensions)

    def forward(parameters: Any, images: jax.Array, labels: jax.Array) -> jax.Array:
        return nnx.merge(graph, *parameters)(images, training=False)

    def loss_and_statistics(trainable: Parameters, statistics: Parameters, images: jax.Array, labels: jax.Array) -> Any:
        network: Any = nnx.merge(graph, trainable, statistics)
        logits = network(images, training=True)
        targets = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1], dtype=dtype), resnet50.LABEL_SMOOTHING)
        value = optax.softmax_cross_entropy(logits, targets).mean() + _decay(trainable)
        return value, nnx.to_pure_dict(nnx.state(network, nnx.BatchStat))

    def loss(parameters: Any, images: jax.Array, labels: jax.Array) -> jax.Array:
        trainable, statistics = parameters
        return loss_and_statistics(trainable, statistics, images, labels)[0]

    def gradients(parameters: Any, state: Any, images: jax.Array, labels: jax.Array) -> tuple[Any, jax.Array, Any]:
        trainable, statistics = parameters
        loss_of = partial(loss_and_statistics, statistics=statistics, images=images, labels=labels)
        return gradients_of(loss_of, trainable, state)

    def update(parameters: Any, state: Any, gradients: Any, new_statistics: Any) -> tuple[Any, Any]:
        trainable, _ = parameters
        updates, state = optimizer.update(gradients, state, trainable)
        return (optax.apply_updates(trainable, updates), new_statistics), state

    def from_weights(weights: Mapping[str, jax.Array]) -> tuple[Parameters, Parameters]:
        return trained_weights.from_weights(weights), moving_weights.from_weights(weights)

    def to_weights(parameters: Any) -> dict[str, Any]:
        trainable, statistics = parameters
        return trained_weights.to_weights(trainable) | moving_weights.to_weights(statistics)

    def init(parameters: Any) -> Any:
        return optimizer.init(parameters[0])

    parts = Parts(gradients, update)
    return Model(forward, from_weights, to_weights, loss=loss, init=init, step=parts.step, parts=parts)


def _decay(trainable: Parameters) -> Any:
    """Half the decay times the sum of squares of every kernel; Keras rounds the factor to float32."""
    arrays: Any = traverse_util.flatten_dict(trainable)
    kernels = [array for place, array in arrays.items() if place[-1] == "kernel"]
    return float(np.float32(resnet50.WEIGHT_DECAY / 2)) * sum(jnp.sum(kernel * kernel) for kernel in kernels)


def _weight_maps(dimensions: Dimensions) -> tuple[WeightMap, WeightMap]:
    """The maps of the trained weights and of the moving statistics."""
    modules: dict[str, Place] = {"stem": ("stem",)}
    for index, block in enumerate(resnet50.blocks(dimensions)):
        names = ["reduce", "spatial", "expand"] + ["shortcut"] * block.projected
        modules |= {f"{block.path}/{name}": ("blocks", index, name) for name in names}
    trainable = {
        "kernel": ("convolution", "kernel"),
        "gamma": ("norm", "gamma"),
        "beta": ("norm", "beta"),
    }
    moving = {"mean": ("norm", "mean"), "variance": ("norm", "variance")}
    head = {"head/kernel": ("head", "kernel"), "head/bias": ("head", "bias")}
    return WeightMap(_place(modules, trainable) | head), WeightMap(_place(modules, moving))


def _place(modules: Mapping[str, Place], leaves: Mapping[str, Place]) -> dict[str, Place]:
    return {f"{path}/{leaf}": (*module, *inner) for path, module in modules.items() for leaf, inner in leaves.items()}
