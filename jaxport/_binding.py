"""What fills each parameter of a lowered program, and what each of its results is called."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxport._session import Session, named_results, state_leaves
from workloads._framework import STEP


def parameter_sources(
    session: Session, pass_: str, arguments: Sequence[Any]
) -> tuple[list[tuple[str, str]], dict[str, np.ndarray]]:
    """(kind, name) of each flat argument, and the values of the states.

    Args:
      session: the twin in one float type.
      pass_: "forward", "gradients" or "step".
      arguments: as `Session.arguments` gives them: parameters, the state of a step, inputs.
    """
    places = _filled_with_places(arguments[0])
    by_place = {_place(leaf): ("weight", path) for path, leaf in session.by_weight(places).items()}
    sources = [by_place[place] for place in range(len(jax.tree.leaves(places)))]
    states: dict[str, np.ndarray] = {}
    if pass_ == STEP:
        named = state_leaves(arguments[1])
        states = {name.removeprefix("state/"): np.array(leaf) for name, leaf in named.items()}
        sources += [("state", name) for name in states]
    return sources + [("input", name) for name in session.twin.inputs], states


def leaf_names(session: Session, pass_: str, shapes: Any) -> list[str]:
    """Leaf names of the flat results.

    Args:
      session: the twin in one float type.
      pass_: "forward", "gradients" or "step".
      shapes: a pytree like the results of the pass.
    """
    named = named_results(session, pass_, _filled_with_places(shapes))
    return [name for _, name in sorted((_place(leaf), name) for name, leaf in named.items())]


def _filled_with_places(tree: Any) -> Any:
    """Each leaf as an array of its shape that is filled with its place, and takes no memory: users' maps index it."""
    leaves, structure = jax.tree.flatten(tree)
    filled = [
        np.broadcast_to(np.int32(at), leaf.shape if math.prod(leaf.shape) else ()) for at, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(structure, filled)


def _place(leaf: Any) -> int:
    return int(np.asarray(leaf).flat[0])


def described(kind: Callable[..., Any], aval: Any, *names: str) -> Any:
    """A Parameter or Result of the shape and type of an abstract value.

    Args:
      kind: Parameter or Result.
      aval: has `shape` and `dtype`.
      names: the fields before shape and dtype.
    """
    return kind(*names, shape=tuple(aval.shape), dtype=str(aval.dtype))
