"""The port: JAX, its layers as a list that is compiled in blocks, each block given its own weights."""

import jax

from jaxport import Model


def layer(weights, x):
    # TensorFlow's gelu is exact by default, JAX's is the tanh approximation.
    return x + jax.nn.gelu(x @ weights["kernel"] + weights["bias"], approximate=False)


def chained(layers):
    def call(weights, x):
        for layer, own in zip(layers, weights, strict=True):
            x = layer(own, x)
        return x

    return call


def in_blocks(layers, block):
    """The layers one after the other, `block` of them in each compiled function; 0 compiles none."""
    if not block:
        return chained(layers)
    starts = range(0, len(layers), block)
    compiled = [jax.jit(chained(layers[start : start + block])) for start in starts]

    def call(weights, x):
        for start, function in zip(starts, compiled, strict=True):
            x = function(weights[start : start + block], x)
        return x

    return call


def build(dimensions, dtype):
    numbers = range(dimensions["layers"])

    def from_weights(weights):
        return [{part: weights[f"{number}/{part}"] for part in ("kernel", "bias")} for number in numbers]

    def to_weights(parameters):
        return {f"{number}/{part}": array for number in numbers for part, array in parameters[number].items()}

    return Model(in_blocks([layer] * len(numbers), dimensions["block"]), from_weights, to_weights)
