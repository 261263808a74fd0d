"""Recurrences over the first axis whose kernels' gradients are one matrix product each."""

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
      kernels: by name, [..., in, out].
      constants: a pytree that every step reads.
      carry: a pytree that every step takes and gives.
      xs: a pytree of arrays, steps along the first axis.

    Raises:
      ValueError: a kernel that is multiplied twice a step, or never.
    """
    results: Any = _scanned(step, kernels, constants, carry, xs)
    return results


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _scanned(step: Step, kernels: Kernels, constants: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
    return _run(step, kernels, constants, carry, xs, None)[0]


def _run(step: Step, kernels: Kernels, constants: Any, carry: Any, xs: Any, shifts: Any) -> tuple[Any, Any]:
    """The results, and every value that a kernel was multiplied with, steps along its first axis.

    `shifts` are added to the products: their gradients are those of the products.
    """

    def body(carry: Any, at: tuple[Any, Any]) -> tuple[Any, Any]:
        x, shift = at
        multiplied: dict[str, jax.Array] = {}

        def product(name: str, value: jax.Array) -> jax.Array:
            if name in multiplied:
                raise ValueError(f"expected one product a step with {name}, found two: give it a second name")
            multiplied[name] = value
            result = value @ kernels[name]
            return result if shift is None else result + shift[name]

        carry, output = step(product, constants, carry, x)
        if idle := kernels.keys() - multiplied.keys():
            raise ValueError(
                f"expected one product a step with every kernel, found none with {min(idle)}: leave it out"
            )
        return carry, (output, multiplied)

    carry, (outputs, multiplied) = jax.lax.scan(body, carry, (xs, shifts))
    return (carry, outputs), multiplied


def _forward(step: Step, kernels: Kernels, constants: Any, carry: Any, xs: Any) -> tuple[Any, Any]:
    _, multiplied = jax.eval_shape(partial(_run, step), kernels, constants, carry, xs, None)
    shifts = {
        name: jnp.zeros((*multiplied[name].shape[:-1], kernel.shape[-1]), kernel.dtype)
        for name, kernel in kernels.items()
    }
    results, pull, multiplied = jax.vjp(partial(_run, step, kernels), constants, carry, xs, shifts, has_aux=True)
    return results, (pull, multiplied)


def _backward(step: Step, kept: Any, cotangents: Any) -> tuple[Any, ...]:
    pull, multiplied = kept
    constants, carry, xs, shifts = pull(cotangents)
    kernels = {name: jnp.einsum("t...bi,t...bo->...io", multiplied[name], shift) for name, shift in shifts.items()}
    return kernels, constants, carry, xs


_scanned.defvjp(_forward, _backward)
