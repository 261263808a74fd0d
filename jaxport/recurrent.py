"""Recurrent layers of Keras, and the loop below them, whose kernels' gradients are one matrix product each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

Kernels = Mapping[str, jax.Array]
Product = Callable[[str, jax.Array], jax.Array]
Step = Callable[[Product, Any, Any, Any], tuple[Any, Any]]
"""(product, constants, carry, x) -> (carry, output), where product(name, value) is value @ kernels[name]."""


def scan(step: Step, kernels: Kernels, constants: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
    """jax.lax.scan of `step`, which multiplies each kernel [..., in, out] with one [..., batch, in] a step.

    The gradient of lax.scan adds to that of a kernel at every step, a product of few rows each time. Here the
    backward loop keeps the gradients of the products, and one product over all steps makes a kernel's gradient.

    Args:
      step: one step; see `Step`.
      kernels: kernels by name, [..., in, out].
      constants: a pytree that every step reads.
      carry: a pytree that every step takes and gives.
      xs: a pytree of arrays, steps along the first axis.

    Raises:
      ValueError: a kernel that is multiplied twice a step, or never.
    """
    results: Any = _scan(step, kernels, constants, carry, xs)
    return results


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _scan(step: Step, kernels: Kernels, constants: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
    return _run(step, kernels, constants, carry, xs, None)[0]


def _run(step: Step, kernels: Kernels, constants: Any, carry: Any, xs: Any, shifts: Any) -> tuple[Any, Any]:
    """The results, and every value that a kernel was multiplied with, steps along its first axis.

    `shifts` are added to the products: their gradients are those of the products.
    """

    def body(carry: Any, x_and_shift: tuple[Any, Any]) -> tuple[Any, Any]:
        x, shift = x_and_shift
        factors: dict[str, jax.Array] = {}

        def product(name: str, value: jax.Array) -> jax.Array:
            if name in factors:
                raise ValueError(f"expected one product a step with {name}, found two: give it a second name")
            factors[name] = value
            result = value @ kernels[name]
            return result if shift is None else result + shift[name]

        carry, output = step(product, constants, carry, x)
        if idle := kernels.keys() - factors.keys():
            raise ValueError(
                f"expected one product a step with every kernel, found none with {min(idle)}: leave it out"
            )
        return carry, (output, factors)

    carry, (outputs, factors) = jax.lax.scan(body, carry, (xs, shifts))
    return (carry, outputs), factors


def _forward(step: Step, kernels: Kernels, constants: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
    _, factors = jax.eval_shape(partial(_run, step), kernels, constants, carry, xs, None)
    shifts = {
        name: jnp.zeros((*factors[name].shape[:-1], kernel.shape[-1]), kernel.dtype) for name, kernel in kernels.items()
    }
    results, pull, factors = jax.vjp(partial(_run, step, kernels), constants, carry, xs, shifts, has_aux=True)
    return results, (pull, factors)


def _backward(step: Step, residuals: Any, cotangents: Any) -> tuple[Any, ...]:
    pull, factors = residuals
    constants, carry, xs, shifts = pull(cotangents)
    kernels = {name: jnp.einsum("t...bi,t...bo->...io", factors[name], shift) for name, shift in shifts.items()}
    return kernels, constants, carry, xs


_scan.defvjp(_forward, _backward)

Activation = Callable[[jax.Array], jax.Array]


def lstm(
    inputs: jax.Array,
    kernel: jax.Array,
    recurrent_kernel: jax.Array,
    bias: jax.Array,
    mask: jax.Array | None = None,
    initial: tuple[jax.Array, jax.Array] | None = None,
    recurrent_activation: Activation = jax.nn.sigmoid,
    go_backwards: bool = False,
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """keras.layers.LSTM with its own weights: all outputs [batch, time, units], then hidden and cell after the last.

    A masked step leaves the state as it is and repeats the output before it; before the first that output is 0.

    Args:
      inputs: [batch, time, features].
      kernel: [features, 4 units], gates i, f, g, o side by side.
      recurrent_kernel: [units, 4 units].
      bias: [4 units].
      mask: bool[batch, time]; all steps count without.
      initial: hidden and cell, [batch, units] each; zeros without. Flax's cells carry (cell, hidden).
      recurrent_activation: the function of the gates i, f and o.
      go_backwards: whether the last step comes first, in the outputs too.
    """

    def step(product: Product, bias: jax.Array, state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        hidden, cell = state
        i, f, g, o = jnp.split(x + product("state", hidden) + bias, 4, axis=-1)
        cell = recurrent_activation(f) * cell + recurrent_activation(i) * jnp.tanh(g)
        hidden = recurrent_activation(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    zeros = jnp.zeros((len(inputs), len(recurrent_kernel)), inputs.dtype)
    return _over_time(
        step, {"state": recurrent_kernel}, bias, initial or (zeros, zeros), inputs @ kernel, mask, go_backwards
    )


def gru(
    inputs: jax.Array,
    kernel: jax.Array,
    recurrent_kernel: jax.Array,
    bias: jax.Array,
    mask: jax.Array | None = None,
    initial: jax.Array | None = None,
    recurrent_activation: Activation = jax.nn.sigmoid,
    reset_after: bool = True,
    go_backwards: bool = False,
) -> tuple[jax.Array, jax.Array]:
    """keras.layers.GRU with its own weights: all outputs [batch, time, units], then the state after the last step.

    nnx.GRUCell has its gates in the order r, z, h, and no bias of the recurrent product, which counts where the reset
    gate scales it. A masked step is as for `lstm`.

    Args:
      inputs: [batch, time, features].
      kernel: [features, 3 units], gates z, r, h side by side.
      recurrent_kernel: [units, 3 units].
      bias: [2, 3 units], of the input and of the recurrent product; [3 units] unless `reset_after`.
      mask: bool[batch, time]; all steps count without.
      initial: [batch, units]; zeros without.
      recurrent_activation: the function of the gates z and r.
      reset_after: whether the reset gate scales the recurrent product, not the state that enters it.
      go_backwards: whether the last step comes first, in the outputs too.
    """
    state = jnp.zeros((len(inputs), len(recurrent_kernel)), inputs.dtype) if initial is None else initial
    if reset_after:
        kernels, (outer, inner) = {"state": recurrent_kernel}, bias
    else:
        gates, candidate = jnp.split(recurrent_kernel, [2 * len(recurrent_kernel)], axis=-1)
        kernels, outer, inner = {"gates": gates, "candidate": candidate}, bias, None

    def reset_last(product: Product, inner: jax.Array, state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = gru_step(x, product("state", state) + inner, state, recurrent_activation)
        return state, state

    def reset_first(product: Product, _: None, state: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        gates, candidate = jnp.split(x, [2 * state.shape[-1]], axis=-1)
        update, reset = jnp.split(recurrent_activation(gates + product("gates", state)), 2, axis=-1)
        candidate = jnp.tanh(candidate + product("candidate", reset * state))
        state = _update(update, state, candidate)
        return state, state

    step = reset_last if reset_after else reset_first
    return _over_time(step, kernels, inner, state, inputs @ kernel + outer, mask, go_backwards)


def gru_step(
    outer: jax.Array,
    inner: jax.Array,
    state: jax.Array,
    recurrent_activation: Activation = jax.nn.sigmoid,
    activation: Activation = jnp.tanh,
) -> jax.Array:
    """The state [..., units] after one step of keras.layers.GRU with `reset_after`.

    Args:
      outer: [..., 3 units], what the input gives to the gates z, r, h, with its bias.
      inner: [..., 3 units], what the state gives to them, with its bias.
      state: [..., units], before the step.
      recurrent_activation: the function of the gates z and r.
      activation: the function of the candidate h.
    """
    (update, reset, candidate), (update_inner, reset_inner, candidate_inner) = (
        jnp.split(gates, 3, axis=-1) for gates in (outer, inner)
    )
    update = recurrent_activation(update + update_inner)
    reset = recurrent_activation(reset + reset_inner)
    candidate = activation(candidate + reset * candidate_inner)
    return _update(update, state, candidate)


def _update(update: jax.Array, state: jax.Array, candidate: jax.Array) -> jax.Array:
    return update * state + (1 - update) * candidate


def _over_time(
    step: Step, kernels: Kernels, constants: Any, state: Any, inputs: jax.Array, mask: Any, go_backwards: bool
) -> tuple[jax.Array, Any]:
    """Outputs [batch, time, units] and the last state, where a step's inputs are [batch, features]."""

    def step_with_mask(product: Product, constants: Any, carry: Any, xs: Any) -> tuple[Any, jax.Array]:
        (x, present), (state, before) = xs, carry
        following, output = step(product, constants, state, x)
        if present is not None:
            following, output = jax.tree.map(
                lambda new, old: jnp.where(present[:, None], new, old), (following, output), (state, before)
            )
        return (following, output), output

    xs = jnp.swapaxes(inputs, 0, 1), None if mask is None else mask.T
    if go_backwards:
        xs = jax.tree.map(lambda leaf: leaf[::-1], xs)
    nothing = jnp.zeros_like(jax.tree.leaves(state)[0])
    (last, _), outputs = scan(step_with_mask, kernels, constants, (state, nothing), xs)
    return jnp.swapaxes(outputs, 0, 1), last
