"""Decoding with the translation model: greedy and beam search in one compiled loop, keys and values kept.

The weights are those of workloads/translation.py, given as arrays: at kinks words would tie, and which of two equal
words comes first is no error. No gradient flows through a search; both twins stop it.
"""

import math

import numpy as np

from workloads import _parallel_text, translation
from workloads._transformer import encoder_block_products
from workloads.core.arrays import draw
from workloads.core.spec import ArraySpec, Cost, Dimensions, Workload

PENALTY = 0.6
"""A score is divided by ((5 + length) / 6) to this power (Vaswani et al. 2017, section 6.1; Wu et al. 2016, 7)."""

NEVER = -1e9
"""The logarithm of a probability that no beam can have."""


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs source: i32[batch, length].

    Raises:
      ValueError: heads that do not divide the width; a vocabulary without words; fewer words than beams, or no beam.
    """
    translation.block_of(dimensions)
    vocabulary, beams = dimensions["vocabulary"], dimensions["beams"]
    _parallel_text.check(vocabulary, dimensions["length"])
    if not 1 <= beams <= vocabulary:
        raise ValueError(f"expected 1 to {vocabulary} beams, as many as words at most, found {beams}: change beams")
    return {"source": ArraySpec((dimensions["batch"], dimensions["length"]), "int32", low=0, high=vocabulary)}


def weights(dimensions: Dimensions) -> dict[str, np.ndarray]:
    """Arrays of `translation.weights`, f32, drawn once, with two changes against degenerate output.

    The gamma of the decoder's last norm is negated, since a word that is embedded as it is scored would follow itself
    for ever; and the embedding of END, a row of [vocabulary, width], is so long that END is the likeliest word at some
    steps.
    """
    arrays = {path: draw(spec, path, 0) for path, spec in translation.weights(dimensions).items()}
    arrays[f"decoder{dimensions['layers'] - 1}/feed_forward_norm/gamma"] *= -1
    arrays["embedding"][_parallel_text.END] *= math.sqrt(2 * math.log(dimensions["vocabulary"]))
    return arrays


def cost(dimensions: Dimensions) -> Cost:
    """The encoder once, and for either search the memory's keys and values once and every step to the last.

    A step multiplies every beam with each layer's kernels, its earlier positions and the memory (attention reads
    the whole cache), and with the vocabulary. Bytes are the weights, read at every step, as Pope et al. 2022
    (arXiv:2211.05102, section 2) count them for decoding.
    """
    block, length = translation.block_of(dimensions), dimensions["length"]
    batch, layers, steps = dimensions["batch"], dimensions["layers"], dimensions["steps"]
    width, rows = block.width, 1 + dimensions["beams"]
    step = layers * (6 * width**2 + 2 * width * block.hidden + 2 * (steps + length) * width)
    step += width * dimensions["vocabulary"]
    once = layers * (encoder_block_products(length, block) + rows * length * 2 * width**2)
    parameters = sum(math.prod(spec.shape) for spec in translation.weights(dimensions).values())
    return Cost(
        2 * batch * (once + rows * steps * step),
        4 * 2 * steps * parameters,
        "matrix products 2mnk each, to the last step; weights read once a step in both searches",
    )


WORKLOAD = Workload(
    name="translation_decode",
    summary="greedy and beam search with a Transformer, keys and values of earlier steps kept",
    source="S9: the translation model; Vaswani et al. 2017, arXiv:1706.03762, 4 beams at paper size (section 6.1)",
    tf="tf_reference.translation_decode:build",
    jax="jaxport.translation_decode:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": {
            "batch": 3, "length": 6, "width": 16, "layers": 1, "heads": 2, "hidden": 16, "vocabulary": 32,
            "beams": 3, "steps": 6,
        },
        "default": {
            "batch": 8, "length": 16, "width": 256, "layers": 2, "heads": 4, "hidden": 1024, "vocabulary": 2000,
            "beams": 4, "steps": 16,
        },
        "paper": {
            "batch": 64, "length": 48, "width": 512, "layers": 6, "heads": 8, "hidden": 2048, "vocabulary": 37000,
            "beams": 4, "steps": 98,
        },
    },
)  # fmt: skip
