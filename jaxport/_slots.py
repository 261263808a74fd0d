"""Optimizers from a rule for one array. The state has what Keras calls slots, by name, and the number of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

Slots = dict[str, jax.Array]
Rule = Callable[[jax.Array, Slots, jax.Array, jax.Array], tuple[jax.Array, Slots]]
"""(gradient, slots, weight, step i32[] counted from 0) -> (what is added to the weight, slots afterwards)."""


class State(NamedTuple):
    """step: i32[]; slots: by name, pytrees like the parameters."""

    step: jax.Array
    slots: dict[str, Any]


def by_rule(rule: Rule, **starts: Callable[[jax.Array], jax.Array]) -> optax.GradientTransformation:
    """An optimizer that applies `rule` to every array; a function of the array makes each initial slot."""

    def init(params: Any) -> State:
        slots = {name: jax.tree.map(start, params) for name, start in starts.items()}
        return State(jnp.zeros((), jnp.int32), slots)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, State]:
        gradients, tree = jax.tree.flatten(updates)
        weights, *slots = (tree.flatten_up_to(pytree) for pytree in (params, *(state.slots[name] for name in starts)))
        results = [
            rule(gradient, dict(zip(starts, own, strict=True)), weight, state.step)
            for gradient, weight, *own in zip(gradients, weights, *slots, strict=True)
        ]
        after = {name: tree.unflatten([slots[name] for _, slots in results]) for name in starts}
        return tree.unflatten([step for step, _ in results]), State(state.step + 1, after)

    return optax.GradientTransformation(init, update)
