"""Finds the source of each parameter of a lowered program, and the names of its results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxport._session import Session, leaves_by_path, named_results
from workloads.core.state_names import Own, owner_and_part
from workloads.protocol.framework import STEP, UNROLLED, Parameter, ParameterKind, Result


@dataclass(frozen=True)
class Source:
    """The source of a flat argument, as in `workloads.protocol.framework.Parameter`."""

    kind: ParameterKind
    name: str
    owner: str = ""
    part: str = ""

    def parameter(self, aval: Any) -> Parameter:
        """The parameter with the shape and type of an abstract value."""
        return Parameter(self.kind, self.name, tuple(aval.shape), str(aval.dtype), self.owner, self.part)


def parameter_sources(
    session: Session, pass_: str, arguments: Sequence[Any]
) -> tuple[list[Source], dict[str, np.ndarray]]:
    """The source of each flat argument, and the values of the states.

    Args:
      session: the twin in one float type.
      pass_: "forward", "gradients" or "step".
      arguments: as `Session.arguments` gives them: parameters, the state of a step, inputs.
    """
    places = _filled_with_places(arguments[0])
    by_place = {_place(leaf): path for path, leaf in session.by_weight(places).items()}
    own = {by_place[_place(leaf)]: Own(name, leaf.shape) for name, leaf in leaves_by_path(places).items()}
    sources = [Source("weight", by_place[place]) for place in range(len(jax.tree.leaves(places)))]
    states: dict[str, np.ndarray] = {}
    if pass_ in (STEP, UNROLLED):
        states = {name: np.array(leaf) for name, leaf in leaves_by_path(arguments[1]).items()}
        sources += [Source("state", name, *owner_and_part(name, state.shape, own)) for name, state in states.items()]
    kind = "batches" if pass_ == UNROLLED else "input"
    return sources + [Source(kind, name) for name in session.twin.inputs], states


def leaf_names(session: Session, pass_: str, shapes: Any) -> list[str]:
    """Leaf names of the flat results.

    Args:
      session: the twin in one float type.
      pass_: "forward", "gradients" or "step".
    """
    leaves_by_name = named_results(session, pass_, _filled_with_places(shapes))
    return [name for _, name in sorted((_place(leaf), name) for name, leaf in leaves_by_name.items())]


def _filled_with_places(tree: Any) -> Any:
    """Each leaf as an array of its shape that is filled with its place, and takes no memory: users' maps index it."""
    leaves, structure = jax.tree.flatten(tree)
    placeholders = [
        np.broadcast_to(np.int32(index), leaf.shape if math.prod(leaf.shape) else ())
        for index, leaf in enumerate(leaves)
    ]
    return jax.tree.unflatten(structure, placeholders)


def _place(leaf: Any) -> int:
    return int(np.asarray(leaf).flat[0])


def result(name: str, aval: Any) -> Result:
    """A result of the shape and type of an abstract value."""
    return Result(name, tuple(aval.shape), str(aval.dtype))
