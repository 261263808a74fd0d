"""Dropout and recurrent dropout of Keras' recurrent layers: what is dropped is the same at every step of a call."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from typing_extensions import override

from jaxport.layers import GRUCell
from jaxport.recurrent import gru_step

Masks = tuple["jax.Array | None", "jax.Array | None"]
"""The masks of the input and of the hidden state, [gates or 1, batch, features]; None without dropout."""


class DroppingCell(nnx.RNNCellBase):
    """The cell of keras.layers.LSTM, GRU or SimpleRNN with dropout, for `jaxport.sequences.over_steps`.

    In training it drops elements of its input and of the hidden state that it multiplies with its kernels; the state
    that goes on to the next step is whole. With recurrent dropout, an LSTM and a GRU drop other elements for each gate.

    Args:
      cell: nnx.OptimizedLSTMCell, jaxport.layers.GRUCell or nnx.SimpleCell.
      input_rate: the share of the input that is dropped.
      state_rate: the share of the hidden state that is dropped.
      rngs: the random streams of the draws.
    """

    def __init__(
        self,
        cell: nnx.OptimizedLSTMCell | GRUCell | nnx.SimpleCell,
        *,
        input_rate: float = 0.0,
        state_rate: float = 0.0,
        rngs: nnx.Rngs,
    ) -> None:
        self.cell = cell
        self.input_rate, self.state_rate = input_rate, state_rate
        self.input_dropout = nnx.Dropout(input_rate, rngs=rngs)
        self.state_dropout = nnx.Dropout(state_rate, rngs=rngs)

    def masks(self, step_shape: tuple[int, ...]) -> Masks:
        """Draw what one call drops.

        Args:
          step_shape: of the input of one step, [batch, features].
        """
        gates = _gates(self.cell) if self.state_rate else 1
        state_shape = (*step_shape[:-1], self.cell.hidden_features)
        return _mask(self.input_dropout, (gates, *step_shape)), _mask(self.state_dropout, (gates, *state_shape))

    def __call__(self, carry: Any, inputs: jax.Array, masks: Masks | None = None) -> tuple[Any, jax.Array]:
        """The carry after a step, and the output.

        Args:
          carry: before it.
          inputs: [batch, features].
          masks: of this call.

        Raises:
          ValueError: there are no masks in training.
        """
        still = self.input_dropout.deterministic and self.state_dropout.deterministic
        if masks is None and not still:
            raise ValueError("expected masks in training, found none: call the layer by jaxport.sequences.over_steps")
        if masks is None or masks == (None, None):
            return self.cell(carry, inputs)
        if isinstance(self.cell, GRUCell):
            return _gru(self.cell, carry, inputs, masks)
        step = _lstm if isinstance(self.cell, nnx.OptimizedLSTMCell) else _simple
        return step(self.cell, carry, inputs, masks)

    @override
    def initialize_carry(self, input_shape: tuple[int, ...], rngs: Any = None, carry_init: Any = None) -> Any:
        """Zeros, as those of the cell in it; `rngs` and `carry_init` are not used."""
        return self.cell.initialize_carry(input_shape, nnx.Rngs(0))

    @property
    def num_feature_axes(self) -> int:
        """One: the last."""
        return 1


def _gates(cell: nnx.RNNCellBase) -> int:
    return 4 if isinstance(cell, nnx.OptimizedLSTMCell) else 3 if isinstance(cell, GRUCell) else 1


def _mask(dropout: nnx.Dropout, shape: tuple[int, ...]) -> jax.Array | None:
    return None if dropout.deterministic or not dropout.rate else dropout(jnp.ones(shape))


def _product(x: jax.Array, mask: jax.Array | None, kernel: jax.Array) -> jax.Array:
    """[batch, gates * units]: what is left of x, times the kernel [features, gates * units], gate by gate."""
    if mask is None:
        return x @ kernel
    factors = x * mask.astype(x.dtype)
    if len(mask) == 1:
        return factors[0] @ kernel
    kernels = kernel.reshape(len(kernel), len(mask), -1)
    return jnp.einsum("gbf,fgu->bgu", factors, kernels).reshape(len(x), -1)


def _lstm(cell: Any, carry: Any, inputs: jax.Array, masks: Masks) -> tuple[Any, jax.Array]:
    before, hidden = carry
    gates = _product(inputs, masks[0], cell.dense_i.kernel.get_value())
    gates += _product(hidden, masks[1], cell.dense_h.kernel.get_value()) + cell.dense_h.bias.get_value()
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    state = cell.gate_fn(f) * before + cell.gate_fn(i) * cell.activation_fn(g)
    hidden = cell.gate_fn(o) * cell.activation_fn(state)
    return (state, hidden), hidden


def _simple(cell: Any, carry: jax.Array, inputs: jax.Array, masks: Masks) -> tuple[jax.Array, jax.Array]:
    outer = _product(inputs, masks[0], cell.dense_i.kernel.get_value()) + cell.dense_i.bias.get_value()
    hidden = cell.activation_fn(outer + _product(carry, masks[1], cell.dense_h.kernel.get_value()))
    return hidden, hidden


def _gru(cell: GRUCell, carry: jax.Array, inputs: jax.Array, masks: Masks) -> tuple[jax.Array, jax.Array]:
    recurrent, units = cell.recurrent_kernel.get_value(), cell.hidden_features
    bias = None if cell.bias is None else cell.bias.get_value()
    outer = _product(inputs, masks[0], cell.kernel.get_value())
    if cell.reset_after:
        inner = _product(carry, masks[1], recurrent)
        if bias is not None:
            outer, inner = outer + bias[0], inner + bias[1]
        state = gru_step(outer, inner, carry, cell.gate_fn, cell.activation_fn)
        return state, state
    outer = outer if bias is None else outer + bias
    of_gates, of_candidate = (None, None) if masks[1] is None else (masks[1][:2], masks[1][2:])
    gates = outer[:, : 2 * units] + _product(carry, of_gates, recurrent[:, : 2 * units])
    update, reset = jnp.split(cell.gate_fn(gates), 2, axis=-1)
    candidate = _product(reset * carry, of_candidate, recurrent[:, 2 * units :])
    state = update * carry + (1 - update) * cell.activation_fn(outer[:, 2 * units :] + candidate)
    return state, state
