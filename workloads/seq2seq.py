"""A recurrent translation model with attention: bidirectional GRU encoder, GRU decoder that attends at every step."""

from workloads import _parallel_text
from workloads.core.spec import Arrays, ArraySpec, Cost, Dimensions, Training, Workload

EXAMPLES = 1024
LEARNING_RATE = 1e-2
CLIP_NORM = 0.1
"""The largest norm of all gradients together: below that of a first step, so that clipping has something to do.

Bahdanau et al. 2015, appendix B.2, clip at 1.
"""


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs source: i32[batch, length]; target: i32[batch, length + 1].

    The decoder is fed the target without its last token and asked for it without its first.

    Raises:
      ValueError: a vocabulary or a length that no sentence fits into.
    """
    batch, length, vocabulary = dimensions["batch"], dimensions["length"], dimensions["vocabulary"]
    _parallel_text.check(vocabulary, length)
    return {
        "source": ArraySpec((batch, length), "int32", low=0, high=vocabulary),
        "target": ArraySpec((batch, length + 1), "int32", low=0, high=vocabulary),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Kernels [in, out] of variance 1 / in; gates in the order update, reset, candidate, with two biases."""
    vocabulary, embedding = dimensions["vocabulary"], dimensions["embedding"]
    units, attention = dimensions["units"], dimensions["attention"]
    return {
        "source/embedding": ArraySpec((vocabulary, embedding)),
        "target/embedding": ArraySpec((vocabulary, embedding)),
        **_gru("forward", embedding, units),
        **_gru("backward", embedding, units),
        "bridge/kernel": _kernel(units, units),
        "bridge/bias": ArraySpec((units,), scale=0.1),
        "attention/memory/kernel": _kernel(2 * units, attention),
        "attention/memory/bias": ArraySpec((attention,), scale=0.1),
        "attention/query/kernel": _kernel(units, attention),
        "attention/score/kernel": _kernel(attention, 1),
        **_gru("decoder", embedding + 2 * units, units),
        "logits/kernel": _kernel(units, vocabulary),
        "logits/bias": ArraySpec((vocabulary,), scale=0.1),
    }


def _kernel(fan_in: int, fan_out: int) -> ArraySpec:
    return ArraySpec((fan_in, fan_out), scale=fan_in**-0.5)


def _gru(name: str, fan_in: int, units: int) -> dict[str, ArraySpec]:
    return {
        f"{name}/kernel": _kernel(fan_in, 3 * units),
        f"{name}/recurrent_kernel": _kernel(units, 3 * units),
        f"{name}/bias": ArraySpec((2, 3 * units), scale=0.1),
    }


def cost(dimensions: Dimensions) -> Cost:
    """Three products per kernel (forward, both gradients) and token; additive scores; Adam's update.

    The decoder's query is multiplied by every step's state, the memory once. A score of one target and one source
    token is a sum, a hyperbolic tangent and a product over the attention units, and as much in either gradient:
    Bahdanau et al. 2015 (arXiv:1409.0473), appendix A.1.2. Adam's ten operations per weight are those of Kingma
    and Ba 2015, algorithm 1.
    """
    batch, length, embedding = dimensions["batch"], dimensions["length"], dimensions["embedding"]
    units, attention, vocabulary = dimensions["units"], dimensions["attention"], dimensions["vocabulary"]
    encoder = 2 * 3 * units * (embedding + units)
    decoder = 3 * units * (embedding + 2 * units + units) + units * attention
    memory, read = 2 * units * attention, length * (2 * attention + 2 * units)
    products = 6 * batch * (length * (encoder + decoder + memory + units * vocabulary + read) + units * units)
    parameters = encoder + decoder + memory + units * vocabulary + 2 * vocabulary * embedding + units * units
    return Cost(
        products + 10 * parameters,
        4 * (2 * batch * length + 6 * parameters),
        "matrix products 2mnk each, per token; weights and both moments read and written",
    )


def examples(dimensions: Dimensions) -> Arrays:
    """Sentence pairs from `_parallel_text`: source i32[1024, length], target i32[1024, length + 1]."""
    return _parallel_text.pairs(dimensions["vocabulary"], dimensions["length"], EXAMPLES)


WORKLOAD = Workload(
    name="seq2seq",
    summary="recurrent translation with attention: forward, masked loss, clipped gradients and Adam as one program",
    source="S9: the translation model of 2017 in the XLA documents; Bahdanau et al. 2015, arXiv:1409.0473",
    tf="tf_reference.seq2seq:build",
    jax="jaxport.seq2seq:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": {"batch": 8, "length": 7, "vocabulary": 32, "embedding": 8, "units": 8, "attention": 8},
        "default": {"batch": 32, "length": 16, "vocabulary": 2000, "embedding": 128, "units": 256, "attention": 256},
        # Bahdanau et al. 2015, appendix A.2.3 and B.1, without the maxout layer before the logits.
        "paper": {"batch": 80, "length": 50, "vocabulary": 30000, "embedding": 620, "units": 1000, "attention": 1000},
    },
    training=Training(synthetic=examples),
)
