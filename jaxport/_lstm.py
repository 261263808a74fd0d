"""The LSTM as composed primitives: a cell, and a layer that is one scan over time.

Gates stand side by side in the order i, f, g, o (input, forget, candidate, output), as in Keras.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

State = tuple[jax.Array, jax.Array]
"""hidden and cell: [batch, units] each. Flax's own cells carry (cell, hidden)."""


class LSTMWeights(nnx.Module):
    """kernel [features, 4 units], recurrent_kernel [units, 4 units], bias [4 units]: Keras' own layout."""

    def __init__(self, features: int, units: int, dtype: str) -> None:
        gates = 4 * units
        self.kernel = nnx.Param(jnp.zeros((features, gates), dtype))
        self.recurrent_kernel = nnx.Param(jnp.zeros((units, gates), dtype))
        self.bias = nnx.Param(jnp.zeros((gates,), dtype))


def cell_step(weights: LSTMWeights, values: jax.Array, state: State) -> State:
    """The state after one step.

    Args:
      values: [batch, features].
      state: hidden and cell, [batch, units] each.
    """
    hidden, cell = state
    gates = _gates(values @ weights.kernel[...] + hidden @ weights.recurrent_kernel[...] + weights.bias[...])
    return _next_state(gates, cell)[0]


def last_hidden(weights: LSTMWeights, sequences: jax.Array, mask: jax.Array) -> jax.Array:
    """The hidden state [batch, units] after the last step.

    A masked step leaves the state as it is. The product with `kernel` is taken for all steps at once.

    Args:
      sequences: [batch, time, features].
      mask: bool[batch, time].
    """
    projection = jnp.swapaxes(sequences, 0, 1) @ weights.kernel[...] + weights.bias[...]
    return _recurrence(projection, mask.T[:, :, None], weights.recurrent_kernel[...])


@jax.custom_vjp
def _recurrence(projection: jax.Array, mask: jax.Array, kernel: jax.Array) -> jax.Array:
    """The last hidden state [batch, units], from projected [time, batch, 4 units] and mask bool[time, batch, 1].

    The transpose that JAX derives of a scan adds up the kernel's gradient step by step: a small product, and
    4 units^2 numbers read and written, per step. The rule below takes all steps in one product, and keeps the gates.
    With jaxport/recurrent.py, which keeps what JAX's own rules ask for, size default took 38 ms instead of 20.
    """
    return _forward(projection, mask, kernel)[0]


@jax.jit  # one compilation for all calls, even where what calls it is not compiled
def _forward(projection: jax.Array, mask: jax.Array, kernel: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    def step(state: State, x: tuple[jax.Array, jax.Array]) -> tuple[State, tuple[jax.Array, ...]]:
        hidden, cell = state
        gates = _gates(x[0] + hidden @ kernel)
        following, cell_tanh = _next_state(gates, cell)
        state = jnp.where(x[1], following[0], hidden), jnp.where(x[1], following[1], cell)
        return state, (hidden, cell, cell_tanh, *gates)

    start = jnp.zeros((projection.shape[1], len(kernel)), projection.dtype)
    (hidden, _), residuals = jax.lax.scan(step, (start, start), (projection, mask))
    return hidden, residuals


@jax.jit
def _backward(
    mask: jax.Array, kernel: jax.Array, residuals: tuple[jax.Array, ...], cotangent: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Cotangents of `projected` and of `kernel`."""

    def step(later: State, x: tuple[jax.Array, tuple[jax.Array, ...]]) -> tuple[State, jax.Array]:
        present, (_, cell, tanh_cell, i, f, g, o) = x
        by_hidden, by_cell = (jnp.where(present, by_state, 0) for by_state in later)
        by_cell = by_cell + by_hidden * o * (1 - tanh_cell * tanh_cell)
        by_gates = jnp.concatenate(
            [
                by_cell * g * i * (1 - i),
                by_cell * cell * f * (1 - f),
                by_cell * i * (1 - g * g),
                by_hidden * tanh_cell * o * (1 - o),
            ],
            axis=-1,
        )
        earlier = by_gates @ kernel.T, by_cell * f
        return (jnp.where(present, earlier[0], later[0]), jnp.where(present, earlier[1], later[1])), by_gates

    _, by_gates = jax.lax.scan(step, (cotangent, jnp.zeros_like(cotangent)), (mask, residuals), reverse=True)
    return by_gates, jnp.einsum("tbu,tbg->ug", residuals[0], by_gates)


def _with_residuals(
    projection: jax.Array, mask: jax.Array, kernel: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, tuple[jax.Array, ...]]]:
    hidden, residuals = _forward(projection, mask, kernel)
    return hidden, (mask, kernel, residuals)


def _transpose(
    residuals: tuple[jax.Array, jax.Array, tuple[jax.Array, ...]], cotangent: jax.Array
) -> tuple[jax.Array, None, jax.Array]:
    by_projected, by_kernel = _backward(*residuals, cotangent)
    return by_projected, None, by_kernel


_recurrence.defvjp(_with_residuals, _transpose)


def _gates(sums: jax.Array) -> tuple[jax.Array, ...]:
    """[batch, 4 units] -> i, f, g, o of [batch, units] each."""
    i, f, g, o = jnp.split(sums, 4, axis=-1)
    return jax.nn.sigmoid(i), jax.nn.sigmoid(f), jnp.tanh(g), jax.nn.sigmoid(o)


def _next_state(gates: tuple[jax.Array, ...], cell: jax.Array) -> tuple[State, jax.Array]:
    """The state that follows, and the tanh of its cell."""
    i, f, g, o = gates
    following = f * cell + i * g
    cell_tanh = jnp.tanh(following)
    return (o * cell_tanh, following), cell_tanh
