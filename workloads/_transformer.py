"""Shared parts of Transformer workloads: the weights of their blocks, and their multiplications."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.core.spec import ArraySpec


@dataclass(frozen=True)
class Block:
    """The configuration of a model's blocks: sizes, and the choices that papers differ in.

    `hidden` is the width inside the feed-forward layer, `rate` that of dropout. `attention_bias` adds biases to
    attention's four projections.
    """

    width: int
    heads: int
    hidden: int
    activation: str = "gelu"
    rate: float = 0.1
    epsilon: float = 1e-12
    attention_bias: bool = True

    def __post_init__(self) -> None:
        if self.heads < 1 or self.width % self.heads:
            raise ValueError(
                f"expected heads that divide the width {self.width}, found {self.heads}: give each head whole features"
            )

    @property
    def depth(self) -> int:
        """The features of one attention head."""
        return self.width // self.heads


def dense_weights(prefix: str, inputs: int, outputs: int) -> dict[str, ArraySpec]:
    """A dense layer: kernel [inputs, outputs] of variance 1 / inputs, small random bias [outputs].

    Args:
      prefix: the path that both names start with.
    """
    return {
        f"{prefix}/kernel": ArraySpec((inputs, outputs), scale=inputs**-0.5),
        f"{prefix}/bias": ArraySpec((outputs,), scale=0.1),
    }


def norm_weights(prefix: str, width: int) -> dict[str, ArraySpec]:
    """A norm: gamma [width] around 1 and beta [width] around 0, both random, since equal ones would hide a swap."""
    return {
        f"{prefix}/gamma": ArraySpec((width,), low=0.5, high=1.5),
        f"{prefix}/beta": ArraySpec((width,), scale=0.1),
    }


def attention_weights(prefix: str, block: Block) -> dict[str, ArraySpec]:
    """query, key and value kernels [width, heads, depth], output kernel [heads, depth, width], and biases if any."""
    width, heads, depth = block.width, block.heads, block.depth
    inner = (heads, depth)
    shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
        part: ((width, *inner), inner) for part in ("query", "key", "value")
    }
    shapes["output"] = ((*inner, width), (width,))
    specs: dict[str, ArraySpec] = {}
    for part, (kernel, bias) in shapes.items():
        specs[f"{prefix}/{part}/kernel"] = ArraySpec(kernel, scale=width**-0.5)
        if block.attention_bias:
            specs[f"{prefix}/{part}/bias"] = ArraySpec(bias, scale=0.1)
    return specs


def feed_forward_weights(prefix: str, block: Block) -> dict[str, ArraySpec]:
    """Two dense layers: width -> hidden -> width."""
    expand = dense_weights(f"{prefix}/expand", block.width, block.hidden)
    return expand | dense_weights(f"{prefix}/contract", block.hidden, block.width)


def encoder_block_weights(prefix: str, block: Block) -> dict[str, ArraySpec]:
    """Self-attention and feed-forward, each with its layer norm."""
    return {
        **attention_weights(f"{prefix}/attention", block),
        **norm_weights(f"{prefix}/attention_norm", block.width),
        **feed_forward_weights(f"{prefix}/feed_forward", block),
        **norm_weights(f"{prefix}/feed_forward_norm", block.width),
    }


def decoder_block_weights(prefix: str, block: Block) -> dict[str, ArraySpec]:
    """Self-attention, attention over the encoder's memory and feed-forward, each with its layer norm."""
    return {
        **encoder_block_weights(prefix, block),
        **attention_weights(f"{prefix}/memory_attention", block),
        **norm_weights(f"{prefix}/memory_attention_norm", block.width),
    }


def encoder_block_products(length: int, block: Block) -> int:
    """Multiply-and-add pairs of one block on one sequence.

    Four projections and two dense layers per position; scores and weighted sums over all pairs of positions
    (Vaswani et al. 2017, arXiv:1706.03762, section 3).
    """
    dense = 4 * block.width * block.width + 2 * block.width * block.hidden
    return length * dense + 2 * length * length * block.width


def decoder_block_products(length: int, memory: int, block: Block) -> int:
    """Products of an encoder block and of attention over `memory` positions, whose keys are projected once.

    Args:
      length: positions of the sequence.
      memory: positions of the encoder's output.
    """
    width = block.width
    return encoder_block_products(length, block) + 2 * (length + memory) * width**2 + 2 * length * memory * width
