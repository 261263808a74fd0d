"""The state of an optimizer of optax as plain data: its arrays, each by the parameter that it is of; and steps."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx

from jaxport import _linen_reading, _module_reading
from jaxport._optimizer_paths import name_of, named_leaves
from jaxport._plain_attributes import plain_attributes
from workloads.core.target import resolve
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Plain, Value
from workloads.protocol.optimizer_transfer import TargetOptimizer, TargetSlot

Parameters = dict[Any, Any]

_HYPERPARAMETERS = 8
"""How deep functions are looked for in an optimizer: each of a chain stands in the next one's closure."""


def transformation(reference: str) -> optax.GradientTransformation:
    """The optimizer behind a reference.

    Args:
      reference: FILE.py:NAME of a function of no arguments that makes one.

    Raises:
      Unsupported: it makes something else.
    """
    result = resolve(reference)()
    if not isinstance(result, optax.GradientTransformation):
        raise Unsupported(
            f"expected a function of no arguments that makes an optax.GradientTransformation at {reference}, found "
            f"that it makes {type(result).__name__}: name one"
        )
    return result


def parameters(module: Any, inputs: tuple[Value, ...]) -> Parameters:
    """The parameters that an optimizer is initialized with, as nested dicts of shapes."""
    if isinstance(module, linen.Module):
        return _linen_reading.shapes(module, inputs)["params"]
    tree = nnx.to_pure_dict(nnx.state(module, nnx.Param))
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


def read(reference: str, module: str, inputs: tuple[Value, ...]) -> TargetOptimizer:
    """The state that an optimizer starts with.

    Raises:
      Unsupported: one of both is something else.
    """
    return of(transformation(reference), parameters(_module_reading.module(module), inputs))


def of(optimizer: optax.GradientTransformation, params: Parameters) -> TargetOptimizer:
    """The state that an optimizer starts with."""
    state = jax.eval_shape(optimizer.init, params)
    parameter_paths = {path for path, _ in named_leaves(params)}
    nodes = dict(_named_tuples(state, ""))
    return TargetOptimizer(
        tuple(_slot(path, leaf, nodes, parameter_paths) for path, leaf in named_leaves(state)),
        _closure_numbers(optimizer),
    )


def _named_tuples(node: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every state in a state by its path, the outer ones first."""
    around = f"{path}." if path else ""
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        yield path, node
        for name in getattr(node, "_fields"):  # noqa: B009 - a type checker knows no fields of a tuple
            yield from _named_tuples(getattr(node, name), f"{around}{name}")
    elif isinstance(node, Mapping):
        for name, child in node.items():
            yield from _named_tuples(child, f"{around}{name}")
    elif isinstance(node, list | tuple):
        for number, child in enumerate(node):
            yield from _named_tuples(child, f"{around}{number}")


def _slot(path: str, leaf: Any, nodes: Mapping[str, Any], parameter_paths: set[str]) -> TargetSlot:
    around = max((outer for outer in nodes if not outer or path.startswith(f"{outer}.")), key=len, default=None)
    within = around or ""
    steps = path.removeprefix(f"{within}." if within else "").split(".")
    endings = (".".join(steps[start:]) for start in range(1, len(steps)))
    variable = next((ending for ending in endings if ending in parameter_paths), "")
    name = ".".join(steps).removesuffix(f".{variable}" if variable else "")
    kind = type(nodes[within]) if around is not None else None
    state = f"{kind.__module__.split('.')[0]}.{kind.__name__}" if kind else ""
    return TargetSlot(path, state, within, name, variable, tuple(leaf.shape), str(leaf.dtype))


def _closure_numbers(optimizer: optax.GradientTransformation) -> dict[str, Plain]:
    """The arguments of functions of optax and jaxport in it: numbers in their closures, by FUNCTION.NAME."""
    numbers: dict[str, Plain] = {}
    _closed_over(optimizer.update, numbers, set(), _HYPERPARAMETERS)
    return numbers


def _closed_over(function: Any, plain_numbers: dict[str, Plain], seen_ids: set[int], depth: int) -> None:
    if id(function) in seen_ids or not depth:
        return
    seen_ids.add(id(function))
    if isinstance(function, tuple | list):
        for part in function:
            _closed_over(part, plain_numbers, seen_ids, depth)
        return
    if not inspect.isfunction(function):
        return
    closure = inspect.getclosurevars(function).nonlocals
    maker = function.__qualname__.partition(".")[0]
    numbers = {name: value for name, value in closure.items() if isinstance(value, bool | int | float)}
    for name, value in plain_attributes(numbers.items()):
        plain_numbers.setdefault(f"{maker}.{name}", value)
    for value in closure.values():
        _closed_over(value, plain_numbers, seen_ids, depth - 1)


def take_steps(
    optimizer: optax.GradientTransformation,
    params: Parameters,
    arrays: Mapping[str, np.ndarray],
    steps: int,
    fresh: bool,
) -> dict[str, np.ndarray]:
    """Parameters after each of some steps, as "STEP/PATH".

    Args:
      arrays: parameters as "weights/PATH", the state as "state/PATH", gradients as "STEP/PATH"; what is
        missing is zeros.
      fresh: whether the state is that which the optimizer starts with.
    """
    zeros = {name: np.zeros(leaf.shape, leaf.dtype) for name, leaf in named_leaves(params)}
    own_arrays = {name.removeprefix("weights/"): array for name, array in arrays.items() if name.startswith("weights/")}
    weights = with_arrays(params, {**zeros, **own_arrays})
    state_arrays = {name.removeprefix("state/"): array for name, array in arrays.items() if name.startswith("state/")}
    state = state_of(optimizer, params, own_arrays, {} if fresh else state_arrays)
    step_of = jax.jit(optimizer.update)
    by_step: dict[str, np.ndarray] = {}
    for step in range(steps):
        gradients = {name: arrays.get(f"{step}/{name}", zero) for name, zero in zeros.items()}
        updates, state = step_of(with_arrays(params, gradients), state, weights)
        weights = optax.apply_updates(weights, updates)
        by_step |= {f"{step}/{name}": np.asarray(leaf) for name, leaf in named_leaves(weights)}
    return by_step


def state_of(
    optimizer: optax.GradientTransformation,
    params: Parameters,
    weights: Mapping[str, np.ndarray],
    arrays: Mapping[str, np.ndarray],
) -> Any:
    """The state of an optimizer; what is missing among the arrays is as it starts.

    Args:
      weights: the parameters, by path; what is missing is zeros.
      arrays: of the state, by path.
    """
    zeros = {name: np.zeros(leaf.shape, leaf.dtype) for name, leaf in named_leaves(params)}
    state = optimizer.init(with_arrays(params, {**zeros, **weights}))
    return with_arrays(state, {name: arrays.get(name, leaf) for name, leaf in named_leaves(state)})


def with_arrays(tree: Any, arrays: Mapping[str, Any]) -> Any:
    """The same tree with other arrays, by path."""
    return jax.tree_util.tree_map_with_path(lambda path, _: jnp.asarray(arrays[name_of(path)]), tree)
