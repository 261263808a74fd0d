"""Porting errors to be planted in ResNet and the FocalNet pipeline."""

from __future__ import annotations

from mutants import Mutant

MUTANTS = (
    Mutant(
        "stride in the first 1x1 (v1)",
        "resnet50",
        "1, 1, rngs, **kinds)\n        self.spatial = Unit(block.width, block.width, 3, block.stride,",
        "1, block.stride, rngs, **kinds)\n        self.spatial = Unit(block.width, block.width, 3, 1,",
    ),
    Mutant("padding alike on both sides", "resnet50", 'padding="SAME"', "padding=size // 2"),
    Mutant("epsilon of Keras's default", "resnet50", "resnet50.NORM_EPSILON", "1e-3"),
    Mutant("statistics of the batch at inference", "resnet50", "(images, training=False)", "(images, training=True)"),
    Mutant(
        "height and width of kernels swapped",
        "resnet50",
        "return trained_weights.from_weights(weights),",
        "weights = {path: jnp.moveaxis(array, 0, array.ndim // 4) for path, array in weights.items()}\n"
        "        return trained_weights.from_weights(weights),",
    ),
    Mutant(
        "gamma and beta swapped",
        "resnet50",
        '"gamma": ("norm", "gamma"),\n        "beta": ("norm", "beta")',
        '"gamma": ("norm", "beta"),\n        "beta": ("norm", "gamma")',
    ),
    Mutant("shortcut added after the activation", "resnet50", "training) + shortcut)", "training)) + shortcut"),
    Mutant("pool of 2 x 3", "resnet50", "_of_three(across, 1)", "_of_three(across.at[:, 2::2].set(-jnp.inf), 1)"),
    Mutant("pool's gradient to the first window alone", "resnet50", "to_even + from_before", "to_even", "gradients"),
    Mutant("statistics held constant", "resnet50", "cotangent - share * by_beta", "cotangent", "gradients"),
    Mutant("labels not smoothed", "resnet50", "resnet50.LABEL_SMOOTHING)", "0.0)", "gradients"),
    Mutant("decay not halved", "resnet50", "WEIGHT_DECAY / 2", "WEIGHT_DECAY", "gradients"),
    Mutant("decay of norms and biases too", "resnet50", 'if place[-1] == "kernel"', "if place", "gradients"),
    Mutant(
        "variance of a sample",
        "resnet50",
        "jnp.square(x - mean).mean(axes)",
        "jnp.square(x - mean).sum(axes) / (x.size // x.shape[-1] - 1)",
        "gradients",
    ),
    Mutant(
        "share of the new statistics for that of the old",
        "resnet50",
        "old * momentum + value * (1 - momentum)",
        "value * momentum + old * (1 - momentum)",
        "training",
    ),
    Mutant(
        "Nesterov's momentum",
        "resnet50",
        "optax.trace(decay, nesterov)",
        "optax.trace(decay, not nesterov)",
        "training",
    ),
    Mutant("rows for columns", "focalnet_pipeline", "row, column = ", "column, row = "),
    Mutant("positions as corners", "focalnet_pipeline", "position - crop // 2", "position"),
    Mutant("resized with antialias", "focalnet_pipeline", "antialias=False", "antialias=True"),
    Mutant("scaled, then shifted", "focalnet_pipeline", "(smaller - mean) / deviation", "smaller / deviation - mean"),
    Mutant(
        "gelu by tanh",
        "focalnet_pipeline",
        "partial(_gelu.gelu, root_of_half=float(np.float32(0.5**0.5)))",
        "jax.nn.gelu",
    ),
    Mutant("epsilon of NNX's default", "focalnet_pipeline", "epsilon=pipeline.NORM_EPSILON", "epsilon=1e-6"),
    Mutant("query and context swapped", "focalnet_pipeline", "query, context, gates", "context, query, gates"),
    Mutant("gates one level on", "focalnet_pipeline", "gates[..., level, None]", "gates[..., level + 1, None]"),
    Mutant(
        "depthwise kernel transposed",
        "focalnet_pipeline",
        "depthwise(x, self.kernel.get_value())",
        "depthwise(x, self.kernel.get_value().swapaxes(0, 1))",
    ),
    Mutant("kernel not turned in the gradient", "focalnet_pipeline", "kernel[::-1, ::-1]", "kernel", "gradients"),
    Mutant(
        "kernel's gradient of other rows", "focalnet_pipeline", "row + down,", "row + size - 1 - down,", "gradients"
    ),
    Mutant(
        "gradient of the last images", "focalnet_pipeline", "return totals + jnp.stack", "return jnp.stack", "gradients"
    ),
    Mutant(
        "whole not activated",
        "focalnet_pipeline",
        "gelu(context.mean(axis=(1, 2), keepdims=True))",
        "context.mean(axis=(1, 2), keepdims=True)",
    ),
    Mutant(
        "norm behind the sum",
        "focalnet_pipeline",
        "x + self.modulation(self.norm1(x))",
        "self.norm1(x + self.modulation(x))",
    ),
)
