"""The convolutional digit classifier in Flax NNX, trained with optax."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from jaxport import Model, optimizers
from jaxport._dropout import dropout
from jaxport._nnx import Parameters, WeightMap, structure, trainable_model
from jaxport.convolution import shift_images, shifted_products
from jaxport.pooling import max_pool
from workloads import conv_mnist
from workloads.core.spec import Dimensions


class GreyConvolution(nnx.Module):
    """images [batch, height, width, 1] -> [batch, height, width, channels], with zeros around the images."""

    def __init__(self, channels: int, dtype: str) -> None:
        self.kernel = nnx.Param(jnp.zeros((conv_mnist.KERNEL, conv_mnist.KERNEL, 1, channels), dtype))
        self.bias = nnx.Param(jnp.zeros(channels, dtype))

    def __call__(self, images: jax.Array) -> jax.Array:
        """[batch, height, width, 1] -> [batch, height, width, channels]."""
        return convolve(images, self.kernel.get_value()) + self.bias.get_value()


@jax.custom_vjp
def convolve(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """A convolution of one channel: [batch, height, width, 1], kernel [size, size, 1, channels] -> [..., channels].

    Of one channel these are nine products a value, which fuse with what follows; the kernel's gradient is one product
    of matrices. With XLA's convolution the step takes as long at size default, and half as long again at size paper.
    """
    return shifted_products(images, len(kernel), _places(kernel))


def _multiply(images: jax.Array, kernel: jax.Array) -> jax.Array:
    """The convolution as one product of matrices."""
    parts = jnp.concatenate(list(shift_images(images, len(kernel))), axis=-1)
    places = _places(kernel)
    return (parts.reshape(-1, len(places)) @ places).reshape(*images.shape[:-1], -1)


def _places(kernel: jax.Array) -> jax.Array:
    """The kernel as [size * size, channels]."""
    return kernel.reshape(-1, kernel.shape[-1])


convolve.defvjp(
    lambda images, kernel: (convolve(images, kernel), (images, kernel)),
    lambda residuals, cotangent: jax.vjp(_multiply, *residuals)[1](cotangent),
)


class Classifier(nnx.Module):
    """images [batch, height, width, 1], draws u8[batch, features] -> logits [batch, 10]."""

    def __init__(self, dimensions: Dimensions, dtype: str, rngs: nnx.Rngs) -> None:
        first, second = conv_mnist.channels(dimensions)
        kernel = (conv_mnist.KERNEL, conv_mnist.KERNEL)
        types: dict[str, Any] = {"dtype": jnp.dtype(dtype), "param_dtype": jnp.dtype(dtype), "rngs": rngs}
        self.conv1 = GreyConvolution(first, dtype)
        self.conv2 = nnx.Conv(first, second, kernel, **types)
        self.logits = nnx.Linear(conv_mnist.features(dimensions), 10, **types)

    def __call__(self, images: jax.Array, draws: jax.Array | None = None) -> jax.Array:
        """Images [batch, height, width, 1], draws u8[batch, features] or None for no dropout -> logits [batch, 10]."""
        features = max_pool(nnx.relu(self.conv2(max_pool(nnx.relu(self.conv1(images))))))
        flat = features.reshape(len(features), -1)
        return self.logits(flat if draws is None else dropout(flat, draws, conv_mnist.DROPOUT_RATE))


def build(dimensions: Dimensions, dtype: str) -> Model:
    """The twin of workloads/conv_mnist.py; the weights come from outside, so that no initialiser runs."""
    graph = structure(lambda: Classifier(dimensions, dtype, nnx.Rngs(0)))
    optimizer = optimizers.adam(conv_mnist.LEARNING_RATE)

    def forward(parameters: Parameters, images: jax.Array, draws: jax.Array, labels: jax.Array) -> jax.Array:
        return nnx.merge(graph, parameters)(images)

    def loss(parameters: Parameters, images: jax.Array, draws: jax.Array, labels: jax.Array) -> jax.Array:
        logits = nnx.merge(graph, parameters)(images, draws)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    return trainable_model(
        *(forward, loss, optimizer, _WEIGHTS),
        # 0.589x [0.529, 0.657] of the time without: step at size default on 2 threads of Intel(R) Xeon(R)
        # Processor; jaxlib 0.10.2, jaxport bench (options chosen by jaxport tune)
        compiler_options={
            "cpu": {
                "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE,LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
            }
        },
    )


_WEIGHTS = WeightMap(
    {
        "conv1/kernel": ("conv1", "kernel"),
        "conv1/bias": ("conv1", "bias"),
        "conv2/kernel": ("conv2", "kernel"),
        "conv2/bias": ("conv2", "bias"),
        "logits/kernel": ("logits", "kernel"),
        "logits/bias": ("logits", "bias"),
    }
)
