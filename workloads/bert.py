"""BERT's pretraining step: masked words and next sentences, warm-up, AdamW or LAMB, as one program."""

from workloads import _dropout, _sentence_pairs
from workloads._transformer import (
    Block,
    dense_weights,
    encoder_block_products,
    encoder_block_weights,
    norm_weights,
)
from workloads.core.precision import mixed_sizes
from workloads.core.spec import ArraySpec, Cost, Dimensions, Training, Workload

PEAK_RATE = 1e-4
PEAK_RATE_WIDTH = 768
"""Devlin et al. 2019, appendix A.2, train the base model, 768 wide, with a peak of 1e-4."""

WARM_UP_STEPS = 10
TOTAL_STEPS = 1000
WEIGHT_DECAY = 0.01
EPSILON = 1e-6


def block_of(dimensions: Dimensions) -> Block:
    """Norms behind the residual connections, exact gelu, dropout 0.1, epsilon 1e-12: those of BERT.

    With LAMB attention has no biases: that of the keys adds the same to all scores of a query, which softmax takes
    away again, so that its gradient is nothing but rounding, and LAMB makes full steps of any gradient.

    Raises:
      ValueError: heads that do not divide the width.
    """
    lamb = bool(dimensions.get("lamb"))
    return Block(dimensions["width"], dimensions["heads"], dimensions["hidden"], attention_bias=not lamb)


def peak_rate(dimensions: Dimensions) -> float:
    """BERT's peak learning rate, in inverse proportion to the width: small models learn in few steps."""
    return PEAK_RATE * PEAK_RATE_WIDTH / dimensions["width"]


def inputs(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Inputs of one pretraining step, and the draws of dropout.

    tokens and segments: i32[batch, length]; positions and words, those to be guessed: i32[batch, predictions];
    weights of the guesses: f32[batch, predictions]; follows: i32[batch]. Draws, u8: embeddings [batch, length, width],
    attention [layers, batch, heads, length, length], sublayers [layers, 2, batch, length, width].

    Raises:
      ValueError: heads that do not divide the width.
    """
    block = block_of(dimensions)
    batch, length, layers = dimensions["batch"], dimensions["length"], dimensions["layers"]
    predictions, vocabulary = dimensions["predictions"], dimensions["vocabulary"]
    return {
        "tokens": ArraySpec((batch, length), "int32", low=0, high=vocabulary),
        "segments": ArraySpec((batch, length), "int32", low=0, high=2),
        "positions": ArraySpec((batch, predictions), "int32", low=0, high=length),
        "words": ArraySpec((batch, predictions), "int32", low=0, high=vocabulary),
        "weights": ArraySpec((batch, predictions), low=0, high=1),
        "follows": ArraySpec((batch,), "int32", low=0, high=2),
        "embedding_draws": _dropout.draws(batch, length, block.width),
        "attention_draws": _dropout.draws(layers, batch, block.heads, length, length),
        "hidden_draws": _dropout.draws(layers, 2, batch, length, block.width),
    }


def weights(dimensions: Dimensions) -> dict[str, ArraySpec]:
    """Weights of embeddings [rows, width], blocks and both heads.

    The head that guesses words multiplies by the transposed embedding of the tokens (Devlin et al. 2019).
    """
    block = block_of(dimensions)
    width, vocabulary = block.width, dimensions["vocabulary"]
    tables = {"tokens": vocabulary, "positions": dimensions["length"], "segments": 2}
    return {
        **{f"embeddings/{name}": ArraySpec((rows, width), scale=width**-0.5) for name, rows in tables.items()},
        **norm_weights("embeddings/norm", width),
        **{
            path: spec
            for layer in range(dimensions["layers"])
            for path, spec in encoder_block_weights(f"layer{layer}", block).items()
        },
        **dense_weights("words/dense", width, width),
        **norm_weights("words/norm", width),
        "words/bias": ArraySpec((vocabulary,), scale=0.1),
        **dense_weights("follows/pooler", width, width),
        **dense_weights("follows/logits", width, 2),
    }


def cost(dimensions: Dimensions) -> Cost:
    """Every product three times (forward, both gradients), and Adam's update of every weight.

    Products: those of the blocks, of both heads, and of the guessed words with the whole vocabulary. Adam's ten
    operations per weight are those of Kingma and Ba 2015, algorithm 1, and two more decay a weight. Bytes are
    the weights and both moments, read and written, and the draws.
    """
    block = block_of(dimensions)
    batch, width, vocabulary = dimensions["batch"], block.width, dimensions["vocabulary"]
    heads = dimensions["predictions"] * width * (width + vocabulary) + width * (width + 2)
    products = dimensions["layers"] * encoder_block_products(dimensions["length"], block) + heads
    parameters = sum(_size(spec) for spec in weights(dimensions).values())
    read = sum(_size(spec) * (1 if spec.dtype == "uint8" else 4) for spec in inputs(dimensions).values())
    return Cost(
        3 * 2 * batch * products + 12 * parameters,
        4 * 6 * parameters + read,
        "products of blocks and heads, 2mnk each, three times; weights and both moments read and written",
    )


def _size(spec: ArraySpec) -> int:
    size = 1
    for extent in spec.shape:
        size *= extent
    return size


_DEFAULT = {
    "batch": 8, "length": 64, "width": 256, "layers": 4, "heads": 4, "hidden": 1024,
    "vocabulary": 4096, "predictions": 10, "lamb": 0,
}  # fmt: skip
_TINY = _DEFAULT | {
    "length": 12, "width": 128, "layers": 2, "heads": 2, "hidden": 512, "vocabulary": 32, "predictions": 3,
}  # fmt: skip
_PAPER = _DEFAULT | {
    "length": 128, "width": 768, "layers": 12, "heads": 12, "hidden": 3072, "vocabulary": 30522, "predictions": 20,
}  # fmt: skip
_LARGE = _PAPER | {"width": 1024, "layers": 24, "heads": 16, "hidden": 4096}

WORKLOAD = Workload(
    name="bert",
    summary="BERT pretraining: masked words, next sentences and AdamW with warm-up as one program",
    source="S10: BERT of the Model Garden set; Devlin et al. 2019, arXiv:1810.04805, tiny and mini of arXiv:1908.08962",
    tf="tf_reference.bert:build",
    jax="jaxport.bert:build",
    inputs=inputs,
    weights=weights,
    cost=cost,
    sizes={
        "smoke": _TINY,
        "default": _DEFAULT,
        "paper": _PAPER,
        "base": _PAPER,
        "large": _LARGE,
        **mixed_sizes(_TINY),
        "lamb": _TINY | {"lamb": 1},
    },
    training=Training(synthetic=_sentence_pairs.make),
)  # fmt: skip
