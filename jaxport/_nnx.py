"""A Flax NNX network as pure functions of its state: what every trained twin does with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import optax
from flax import nnx, traverse_util

from jaxport._model import Model, Parts
from jaxport.loss_scaling import gradients_of

Place = tuple[str | int, ...]
"""Where a variable is in a network: attributes and positions in lists, from the outside in."""

Parameters = dict[str | int, Any]
"""A network's arrays in nested dicts: jax.jit takes those apart in C++, an nnx.State in Python at every call."""


@dataclass(frozen=True)
class WeightMap:
    """Canonical path -> place, one for every weight: nothing is guessed from names or shapes."""

    places: Mapping[str, Place]

    def from_weights(self, weights: Mapping[str, jax.Array]) -> Parameters:
        """The parameters that `nnx.merge` takes, of these arrays.

        Args:
          weights: by canonical path, each in the shape of its place in the module.
        """
        return traverse_util.unflatten_dict({self.places[path]: weights[path] for path in self.places})

    def to_weights(self, parameters: Parameters) -> dict[str, Any]:
        """The arrays of parameters, or of their gradients, by canonical path."""
        flat = traverse_util.flatten_dict(parameters)
        return {path: flat[place] for path, place in self.places.items()}


def structure(make: Callable[[], nnx.Module]) -> nnx.GraphDef[Any]:
    """A network without its weights: they come from outside, and no initialiser runs.

    Split from its state once, so that a call costs one dispatch of jax.jit and none of nnx.jit.
    """
    graph, _ = nnx.split(nnx.eval_shape(make), nnx.Param)
    return graph


def training_parts(loss: Callable[..., jax.Array], optimizer: optax.GradientTransformation) -> Parts:
    """A training step in two parts, of (parameters, *inputs) -> loss: the loss is that before the update."""

    def gradients(parameters: Any, state: Any, *inputs: jax.Array) -> tuple[Any, jax.Array, None]:
        gradients, value, _ = gradients_of(lambda weights: (loss(weights, *inputs), None), parameters, state)
        return gradients, value, None

    def update(parameters: Any, state: Any, gradients: Any, statistics: None) -> tuple[Any, Any]:
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state

    return Parts(gradients, update)


def trainable_model(
    forward: Callable[..., Any],
    loss: Callable[..., jax.Array],
    optimizer: optax.GradientTransformation,
    weights: WeightMap,
    **more: Any,
) -> Model:
    """A twin that is trained, its step in two parts.

    Args:
      forward: (parameters, *inputs) -> outputs.
      loss: (parameters, *inputs) -> f32[].
    """
    parts = training_parts(loss, optimizer)
    ways = (weights.from_weights, weights.to_weights)
    return Model(forward, *ways, loss=loss, init=optimizer.init, step=parts.step, parts=parts, **more)


def training_step(
    loss: Callable[..., jax.Array], optimizer: optax.GradientTransformation
) -> Callable[..., tuple[Any, Any, jax.Array]]:
    """(parameters, optimizer state, *inputs) -> (parameters, optimizer state, loss before the update)."""
    return training_parts(loss, optimizer).step
