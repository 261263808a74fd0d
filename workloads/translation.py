"""A Transformer that translates: encoder and decoder, smoothed labels, dropout, warm-up and Adam as one program."""

import math

import numpy as np

from workloads import _dropout, _parallel_text
from workloads._transformer import (
    Block,
    decoder_block_products,
    decoder_block_weights,
    encoder_block_products,
    encoder_block_weights,
)
from workloads.core.precision import mixed_sizes
from workloads.core.spec import Arrays, ArraySpec, Cost, Dimensions, Training, Workload

EXAMPLES = 1024
SMOOTHING = 0.1
BETA_2, EPSILON = 0.98, 1e-9
"""Vaswani et al. 2017, sections 5.4 and 5.3."""


def block_of(dimensions: Dimensions) -> Block:
    """Norms behind the residual connections, relu, dropout 0.1, and no biases around attention: those of the paper.

    Raises:
      ValueError: heads that do not divide the width.
    """
    return Block(
        dimensions["width"],
        dimensions["heads"],
        dimensions["hidden"],
        activation="relu",
        epsilon=1e-6,
        attention_bias=False,
    )


def positions(length: int, width: int) -> np.ndarray:
    """f64[length, width]: sines in the even places, cosines in the odd ones (Vaswani et al. 2017, section 3.5)."""
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(length, -1)[:, :width]


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs source: i32[batch, length]; target: i32[batch, length + 1]; the draws of dropout, u8.

    The decoder is fed the target without its last token and asked for it without its first. Draws are those of
    embeddings [2, batch, length, width], attention [layers, ..., heads, length, length] and sublayers
    [layers, ..., length, width]: two of these in a block of the encoder, three in one of the decoder.

    Raises:
      ValueError: heads that do not divide the width; a vocabulary or a length that no sentence fits into.
    """
    block = block_of(dimensions)
    batch, length, layers = dimensions["batch"], dimensions["length"], dimensions["layers"]
    vocabulary = dimensions["vocabulary"]
    _parallel_text.check(vocabulary, length)
    return {
        "source": ArraySpec((batch, length), "int32", low=0, high=vocabulary),
        "target": ArraySpec((batch, length + 1), "int32", low=0, high=vocabulary),
        "embedding_draws": _dropout.draws(2, batch, length, block.width),
        "encoder_attention_draws": _dropout.draws(layers, batch, block.heads, length, length),
        "encoder_hidden_draws": _dropout.draws(layers, 2, batch, length, block.width),
        "decoder_attention_draws": _dropout.draws(layers, 2, batch, block.heads, length, length),
        "decoder_hidden_draws": _dropout.draws(layers, 3, batch, length, block.width),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Weights of all blocks, and embedding [vocabulary, width] for both languages and the logits.

    Sharing it: Vaswani et al. 2017, section 3.4.
    """
    block = block_of(dimensions)
    specs = {"embedding": ArraySpec((dimensions["vocabulary"], block.width), scale=block.width**-0.5)}
    for layer in range(dimensions["layers"]):
        specs |= encoder_block_weights(f"encoder{layer}", block) | decoder_block_weights(f"decoder{layer}", block)
    return specs


def cost(dimensions: Dimensions) -> Cost:
    """Every product three times (forward, both gradients), and Adam's update of every weight.

    Products: those of the blocks, and of every target position with the whole vocabulary. Adam's ten operations
    per weight are those of Kingma and Ba 2015, algorithm 1. Bytes are the weights and both moments, read and
    written, and the draws.
    """
    block, length = block_of(dimensions), dimensions["length"]
    layer = encoder_block_products(length, block) + decoder_block_products(length, length, block)
    products = dimensions["layers"] * layer + length * block.width * dimensions["vocabulary"]
    parameters = sum(math.prod(spec.shape) for spec in weights(dimensions).values())
    read = sum(math.prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in inputs(dimensions).values())
    return Cost(
        6 * dimensions["batch"] * products + 10 * parameters,
        24 * parameters + read,
        "products of blocks and logits, 2mnk each, three times; weights and both moments read and written",
    )


def examples(dimensions: Dimensions) -> Arrays:
    """Sentence pairs from `_parallel_text`: source i32[1024, length], target i32[1024, length + 1]."""
    return _parallel_text.pairs(dimensions["vocabulary"], dimensions["length"], EXAMPLES)


_DEFAULT = {
    "batch": 16, "length": 16, "width": 256, "layers": 2, "heads": 4, "hidden": 1024,
    "vocabulary": 2000, "warm_up": 100,
}  # fmt: skip
_SMOKE = {
    "batch": 8, "length": 7, "width": 8, "layers": 1, "heads": 2, "hidden": 16,
    "vocabulary": 32, "warm_up": 40,
}  # fmt: skip
_PAPER = {
    "batch": 64, "length": 48, "width": 512, "layers": 6, "heads": 8, "hidden": 2048,
    "vocabulary": 37000, "warm_up": 4000,
}  # fmt: skip

WORKLOAD = Workload(
    name="translation",
    summary="Transformer translation: smoothed labels, dropout, warm-up and Adam as one program",
    source="S9, S10: the translation model and the Transformer of the XLA documents; Vaswani et al. 2017, "
    "arXiv:1706.03762, base model at paper size, 3072 target tokens a batch",
    tf="tf_reference.translation:build",
    jax="jaxport.translation:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": _SMOKE,
        "default": _DEFAULT,
        "paper": _PAPER,
        **mixed_sizes(_SMOKE),
    },
    training=Training(synthetic=examples),
)
