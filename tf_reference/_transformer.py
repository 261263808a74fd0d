"""Transformer layers in Keras whose dropout masks are handed over (Vaswani et al. 2017, arXiv:1706.03762).

keras.layers.MultiHeadAttention draws its own dropout, which no other framework can repeat: these layers are
made of the same parts, keras.layers.EinsumDense and keras.layers.Softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tf_reference._dropout import dropout
from workloads._transformer import Block


class MultiHeadAttention(keras.layers.Layer):
    """queries [batch, q, width] over memory [batch, k, width] -> [batch, q, width].

    `project` and `attend` are the two halves, for a decoder that keeps keys and values of earlier positions.
    """

    def __init__(self, block: Block, **options: Any) -> None:
        super().__init__(**options)
        self.block = block
        self.query, self.key, self.value = (
            keras.layers.EinsumDense(
                "btw,whd->bthd",
                (None, block.heads, block.depth),
                bias_axes="hd" if block.attention_bias else None,
                dtype=self.dtype_policy,
                name=part,
            )
            for part in ("query", "key", "value")
        )
        self.combine = keras.layers.EinsumDense(
            "bthd,hdw->btw",
            (None, block.width),
            bias_axes="w" if block.attention_bias else None,
            dtype=self.dtype_policy,
            name="output",
        )
        self.softmax = keras.layers.Softmax(dtype=self.dtype_policy)

    def build(self, input_shape: Any) -> None:
        """Create the variables for inputs [batch, length, width]."""
        for projection in (self.query, self.key, self.value):
            projection.build(input_shape)
        self.combine.build(self.query.compute_output_shape(input_shape))

    def call(self, queries: tf.Tensor, memory: tf.Tensor, mask: Any = None, draws: Any = None) -> Any:
        """The mask broadcasts to [batch, heads, q, k], true where attention may look; draws are u8 of that shape.

        Args:
          queries: [batch, q, width].
          memory: [batch, k, width].
          mask: bool, broadcast to [batch, heads, q, k]; None lets every position look everywhere.
          draws: u8[batch, heads, q, k] of the dropout; None for none.
        """
        return self.attend(self.query(queries), *self.project(memory), mask, draws)

    def project(self, memory: tf.Tensor) -> tuple[Any, Any]:
        """Keys and values [batch, k, heads, depth].

        Args:
          memory: [batch, k, width].
        """
        return self.key(memory), self.value(memory)

    def attend(self, query: Any, key: Any, value: Any, mask: Any = None, draws: Any = None) -> Any:
        """Projected queries [batch, q, heads, depth] over keys and values -> [batch, q, width].

        Args:
          query: [batch, q, heads, depth].
          key: [batch, k, heads, depth].
          value: [batch, k, heads, depth].
          mask: bool, broadcast to [batch, heads, q, k]; None lets every position look everywhere.
          draws: u8[batch, heads, q, k] of the dropout; None for none.
        """
        scores = tf.einsum("bqhd,bkhd->bhqk", query * self.block.depth**-0.5, key)
        weights = self.softmax(scores, mask=mask)
        if draws is not None:
            weights = dropout(weights, draws, self.block.rate)
        return self.combine(tf.einsum("bhqk,bkhd->bqhd", weights, value))

    def canonical(self, prefix: str) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        parts = {"query": self.query, "key": self.key, "value": self.value, "output": self.combine}
        return {
            path: variable
            for part, layer in parts.items()
            for path, variable in dense(f"{prefix}/{part}", layer).items()
        }


class FeedForward(keras.layers.Layer):
    """[..., width] -> hidden, the activation -> [..., width]."""

    def __init__(self, block: Block, **options: Any) -> None:
        super().__init__(**options)
        self.expand = keras.layers.Dense(
            block.hidden, activation=activation_of(block), dtype=self.dtype_policy, name="expand"
        )
        self.contract = keras.layers.Dense(block.width, dtype=self.dtype_policy, name="contract")

    def build(self, input_shape: Any) -> None:
        """Create the variables for inputs [batch, length, width]."""
        self.expand.build(input_shape)
        self.contract.build(self.expand.compute_output_shape(input_shape))

    def call(self, inputs: tf.Tensor) -> Any:
        """Two dense layers.

        Args:
          inputs: [batch, length, width].
        """
        return self.contract(self.expand(inputs))

    def canonical(self, prefix: str) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        return dense(f"{prefix}/expand", self.expand) | dense(f"{prefix}/contract", self.contract)


class Residual(keras.layers.Layer):
    """A sublayer, dropout, the residual connection, and layer norm last."""

    def __init__(self, block: Block, **options: Any) -> None:
        super().__init__(**options)
        self.block = block
        self.norm = keras.layers.LayerNormalization(epsilon=block.epsilon, dtype=self.dtype_policy, name="norm")

    def build(self, input_shape: Any) -> None:
        """Create the variables for inputs [batch, length, width]."""
        self.norm.build(input_shape)

    def call(self, inputs: tf.Tensor, *, sublayer: Callable[[Any], Any], draws: Any = None) -> Any:
        """Inputs plus what the sublayer makes of them; draws are u8 of the inputs' shape.

        Args:
          inputs: [batch, length, width].
          draws: u8 of the inputs' shape; None for no dropout.
        """
        branch = sublayer(inputs)
        return self.norm(inputs + (branch if draws is None else dropout(branch, draws, self.block.rate)))

    def canonical(self, prefix: str) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        return norm(prefix, self.norm)


class EncoderBlock(keras.layers.Layer):
    """Self-attention and feed-forward, each in a residual connection: [batch, length, width] -> the same."""

    def __init__(self, block: Block, **options: Any) -> None:
        super().__init__(**options)
        policy = self.dtype_policy
        self.attention = MultiHeadAttention(block, dtype=policy, name="attention")
        self.attention_residual = Residual(block, dtype=policy, name="attention_residual")
        self.feed_forward = FeedForward(block, dtype=policy, name="feed_forward")
        self.feed_forward_residual = Residual(block, dtype=policy, name="feed_forward_residual")

    def build(self, input_shape: Any) -> None:
        """Create the variables for inputs [batch, length, width]."""
        for layer in (self.attention, self.attention_residual, self.feed_forward, self.feed_forward_residual):
            layer.build(input_shape)

    def call(self, inputs: tf.Tensor, mask: Any = None, attention_draws: Any = None, hidden_draws: Any = None) -> Any:
        """Attention draws u8[batch, heads, length, length], hidden draws u8[2, batch, length, width].

        Args:
          inputs: [batch, length, width].
          mask: bool, broadcast to [batch, heads, length, length]; None lets every position look everywhere.
          attention_draws: u8[batch, heads, length, length].
          hidden_draws: u8[2, batch, length, width].
        """
        first, second = parts_of(hidden_draws, 2)

        def attend(values: Any) -> Any:
            return self.attention(values, values, mask, attention_draws)

        states = self.attention_residual(inputs, sublayer=attend, draws=first)
        return self.feed_forward_residual(states, sublayer=self.feed_forward, draws=second)

    def canonical(self, prefix: str) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        return {
            **self.attention.canonical(f"{prefix}/attention"),
            **self.attention_residual.canonical(f"{prefix}/attention_norm"),
            **self.feed_forward.canonical(f"{prefix}/feed_forward"),
            **self.feed_forward_residual.canonical(f"{prefix}/feed_forward_norm"),
        }


class DecoderBlock(keras.layers.Layer):
    """Self-attention, attention over a memory and feed-forward, each in a residual connection."""

    def __init__(self, block: Block, **options: Any) -> None:
        super().__init__(**options)
        policy = self.dtype_policy
        self.attention = MultiHeadAttention(block, dtype=policy, name="attention")
        self.attention_residual = Residual(block, dtype=policy, name="attention_residual")
        self.memory_attention = MultiHeadAttention(block, dtype=policy, name="memory_attention")
        self.memory_attention_residual = Residual(block, dtype=policy, name="memory_attention_residual")
        self.feed_forward = FeedForward(block, dtype=policy, name="feed_forward")
        self.feed_forward_residual = Residual(block, dtype=policy, name="feed_forward_residual")

    def build(self, input_shape: Any) -> None:
        """Create the variables for inputs [batch, length, width]; the memory is as wide."""
        for layer in (self.attention, self.memory_attention, self.feed_forward):
            layer.build(input_shape)
        for layer in (self.attention_residual, self.memory_attention_residual, self.feed_forward_residual):
            layer.build(input_shape)

    def call(
        self,
        inputs: tf.Tensor,
        memory: tf.Tensor,
        masks: tuple[Any, Any],
        attention_draws: Any = None,
        hidden_draws: Any = None,
    ) -> Any:
        """The block's states [batch, length, width], from those before it and from what it attends to.

        Args:
          inputs: [batch, length, width].
          memory: [batch, source, width].
          masks: bool: over the inputs, and over the memory.
          attention_draws: u8[2, batch, heads, length, source], where source is length; None for no dropout.
          hidden_draws: u8[3, batch, length, width]; None for no dropout.
        """
        own, foreign = parts_of(attention_draws, 2)
        first, second, third = parts_of(hidden_draws, 3)

        def attend(values: Any) -> Any:
            return self.attention(values, values, masks[0], own)

        def attend_memory(values: Any) -> Any:
            return self.memory_attention(values, memory, masks[1], foreign)

        states = self.attention_residual(inputs, sublayer=attend, draws=first)
        states = self.memory_attention_residual(states, sublayer=attend_memory, draws=second)
        return self.feed_forward_residual(states, sublayer=self.feed_forward, draws=third)

    def canonical(self, prefix: str) -> dict[str, keras.Variable]:
        """The variables under the workload's names."""
        return {
            **self.attention.canonical(f"{prefix}/attention"),
            **self.attention_residual.canonical(f"{prefix}/attention_norm"),
            **self.memory_attention.canonical(f"{prefix}/memory_attention"),
            **self.memory_attention_residual.canonical(f"{prefix}/memory_attention_norm"),
            **self.feed_forward.canonical(f"{prefix}/feed_forward"),
            **self.feed_forward_residual.canonical(f"{prefix}/feed_forward_norm"),
        }


def parts_of(draws: Any, number: int) -> tuple[Any, ...]:
    """Draws u8[number, ...] one by one; each None where there are none, so that nothing is dropped."""
    return tuple(None if draws is None else draws[part] for part in range(number))


def gelu(values: tf.Tensor) -> Any:
    """The exact gelu, x/2 erfc(-x / sqrt 2); Keras's own rounds the constant to float32 even in float64.

    Args:
      values: floats of any shape.
    """
    return 0.5 * values * tf.math.erfc(-values * 0.5**0.5)


def activation_of(block: Block) -> Any:
    """The activation of a block, as a Keras layer takes it."""
    return gelu if block.activation == "gelu" else block.activation


def dense(prefix: str, layer: Any) -> dict[str, keras.Variable]:
    """Kernel and bias, if there is one, of a layer under the workload's names."""
    parts = {"kernel": layer.kernel, "bias": layer.bias}
    return {f"{prefix}/{name}": variable for name, variable in parts.items() if variable is not None}


def norm(prefix: str, layer: Any) -> dict[str, keras.Variable]:
    """Gamma and beta of a layer under the workload's names."""
    return {f"{prefix}/gamma": layer.gamma, f"{prefix}/beta": layer.beta}
