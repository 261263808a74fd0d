"""Sequence layers of Keras with masks or states that Flax lacks: recurrent layers, pooling, attention."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from jaxport.recurrent_dropout import DroppingCell
from jaxport.stateful import StatefulRNN, carry_of, states_of


def over_steps(
    rnn: nnx.RNN,
    inputs: jax.Array,
    *,
    mask: jax.Array | None = None,
    initial: Sequence[jax.Array] | None = None,
    last: bool = False,
    zero_output: bool = False,
) -> tuple[jax.Array, ...]:
    """A recurrent layer of Keras with return_state: outputs [batch, time, ...], then each state.

    nnx.RNN knows lengths, and no mask. A masked step leaves the states as they are and repeats the output before it;
    before the first that output is 0. A StatefulRNN starts from its own states, and keeps those that it ends with.

    Args:
      rnn: a cell over time, maybe backwards; the first of its outputs is then that of the last step.
      inputs: [batch, time, ...].
      mask: bool[batch, time]; all steps count without.
      initial: the states before the first step, as Keras orders them: of an LSTM the hidden one comes first; without
        them those of a StatefulRNN, and zeros of any other.
      last: whether the outputs [batch, ...] of the last step are wanted alone.
      zero_output: whether the output of a masked step is 0.
    """
    xs = jnp.moveaxis(inputs, 1, 0), None if mask is None else mask.astype(bool).T
    if rnn.reverse:
        xs = jax.tree.map(lambda leaf: leaf[::-1], xs)
    if initial is None and isinstance(rnn, StatefulRNN):
        initial = rnn.states
    step_shape = xs[0].shape[1:]
    # Zeros, whatever is drawn.
    zeros = rnn.cell.initialize_carry(step_shape, nnx.Rngs(0))
    carry = zeros if initial is None else carry_of(rnn.cell, initial, step_shape)
    masks = [rnn.cell.masks(step_shape)] if isinstance(rnn.cell, DroppingCell) else []
    graph, weights = nnx.split(rnn.cell)
    before = jnp.zeros_like(jax.eval_shape(lambda x: rnn.cell(carry, x, *masks)[1], xs[0][0]))

    def step(state: Any, xs: Any) -> Any:
        (carry, before), (x, present) = state, xs
        following, output = nnx.merge(graph, weights)(carry, x, *masks)
        if present is not None:
            previous = (carry, jnp.zeros_like(output) if zero_output else before)
            following, output = jax.tree.map(partial(_where, present), (following, output), previous)
        return (following, output), output

    (carry, _), outputs = jax.lax.scan(step, (carry, before), xs)
    states = states_of(rnn.cell, carry)
    if isinstance(rnn, StatefulRNN):
        rnn.keep(states)
    return (outputs[-1] if last else jnp.moveaxis(outputs, 0, 1), *states)


def both_ways(
    both: nnx.Bidirectional,
    inputs: jax.Array,
    *,
    mask: jax.Array | None = None,
    initial: Sequence[jax.Array] | None = None,
    last: bool = False,
    zero_output: bool = False,
) -> tuple[Any, ...]:
    """keras.layers.Bidirectional with return_state: the merged outputs, then the states of each direction.

    Args:
      both: two layers and what merges them.
      inputs: [batch, time, ...].
      mask: as for `over_steps`.
      initial: the states of the forward layer, then of the other.
      last: whether what each ends with is wanted alone.
      zero_output: as for `over_steps`.
    """
    half = len(initial) // 2 if initial is not None else 0
    ahead: Any = both.forward_rnn
    behind: Any = both.backward_rnn
    forward, *states = over_steps(
        ahead, inputs, mask=mask, initial=initial and initial[:half], last=last, zero_output=zero_output
    )
    backward, *others = over_steps(
        behind,
        jnp.flip(inputs, 1),
        mask=None if mask is None else jnp.flip(mask, 1),
        initial=initial and initial[half:],
        last=last,
        zero_output=zero_output,
    )
    return both.merge_fn(forward, backward if last else jnp.flip(backward, 1)), *states, *others


def average(forward: jax.Array, backward: jax.Array) -> jax.Array:
    """The mean of what both directions give, as merge_mode="ave" has it.

    Args:
      forward: of any shape.
      backward: of the same.
    """
    return (forward + backward) / 2


def apart(forward: jax.Array, backward: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The outputs of both directions, as with merge_mode=None.

    Args:
      forward: of any shape.
      backward: of any.
    """
    return forward, backward


def masked_average(x: jax.Array, mask: jax.Array, keepdims: bool = False) -> jax.Array:
    """keras.layers.GlobalAveragePooling1D with a mask: the mean of the steps that count, NaN where none does.

    Args:
      x: [batch, time, features].
      mask: bool[batch, time].
      keepdims: whether the axis of time stays, with one step.
    """
    present = mask.astype(bool)[:, :, None]
    present_values = jnp.where(present, x, 0)
    return present_values.sum(1, keepdims=keepdims) / present.astype(x.dtype).sum(1, keepdims=keepdims)


def attention_mask(
    query: jax.Array | None = None,
    value: jax.Array | None = None,
    key: jax.Array | None = None,
    pairs: jax.Array | None = None,
) -> jax.Array:
    """bool[batch, 1, queries, keys] for nnx.MultiHeadAttention, of the masks that Keras' layer of that name takes.

    Args:
      query: bool[batch, queries], those that count.
      value: bool[batch, keys].
      key: bool[batch, keys].
      pairs: its attention_mask: [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys].

    Raises:
      ValueError: there is no mask at all.
    """
    all_masks = [None if query is None else query[:, None, :, None]]
    all_masks += [None if mask is None else mask[:, None, None, :] for mask in (value, key)]
    all_masks.append(pairs if pairs is None or pairs.ndim > 3 else jnp.expand_dims(pairs, -3))
    masks = [mask.astype(bool) for mask in all_masks if mask is not None]
    if not masks:
        raise ValueError("expected a mask, found none: call the attention without")
    whole = masks[0]
    for mask in masks[1:]:
        whole = whole & mask
    return whole


def attention_of_kept(
    query: jax.Array, key: jax.Array, value: jax.Array, *, mask: jax.Array | None = None, **settings: Any
) -> jax.Array:
    """f[batch, queries, heads, features]: nnx.dot_product_attention, and 0 where a mask leaves a query nothing.

    For nnx.MultiHeadAttention, as its attention_fn: Keras' layer of that name does so if it has a dropout, and takes
    the mean of all values without one, as Flax always does.

    Args:
      query: f[batch, queries, heads, features].
      key: f[batch, keys, heads, features].
      value: likewise.
      mask: bool[batch, heads or 1, queries, keys].
      **settings: what else nnx.MultiHeadAttention says.
    """
    result = nnx.dot_product_attention(query, key, value, mask=mask, **settings)
    if mask is None:
        return result
    some = jnp.swapaxes(mask.astype(bool).any(-1), -2, -1)
    return jnp.where(some[..., None], result, jnp.zeros((), result.dtype))


def _where(present: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    return jnp.where(present.reshape(-1, *(1,) * (new.ndim - 1)), new, old)
