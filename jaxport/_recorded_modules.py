"""Calls of Flax modules, NNX or Linen, noted while a function runs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx
from jax.core import Tracer

from jaxport._module_nodes import nodes
from workloads.protocol.layer_calls import value_digest

_TRACED = "it is called inside of a function that JAX traces, such as a loop"
_LIBRARIES = ("flax", "jaxport")


@dataclass
class Seen:
    """One call of a module.

    Attributes:
      module: that was called: an NNX module, or the path of a Linen one.
      class_name: of it.
      started: which call it is, in the order in which they started.
      around: the call that it is made in.
      inputs: arrays that it was given.
      outputs: arrays that it gave.
      own: what it gave for what it was given besides.
      weights: digests of the values of its own variables.
      reason: why it has no values.
    """

    module: Any
    class_name: str
    started: int
    around: Seen | None
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    own: list[Any] = field(default_factory=list)
    weights: tuple[str, ...] = ()
    reason: str = ""


class Recording:
    """Calls in the order in which they ended.

    Args:
      given: by the start of a call, arrays that it is called with once more, on a copy of its module.
      added: by "in" or "out", the start of a call and a place: what is added to the array there.
    """

    def __init__(
        self,
        inputs_by_start: Mapping[int, Sequence[np.ndarray]],
        perturbations: Mapping[tuple[str, int, int], Any] | None = None,
    ) -> None:
        self.ended: list[Seen] = []
        self._given, self._added = inputs_by_start, perturbations
        self.roots: list[Any] = []
        self._open: list[Seen] = []
        self._idle, self._started = False, 0

    def within(self, module: Any, call: Callable[..., Any]) -> Any:
        """The result of a method that is not noted: calls in it belong to parts of its module."""
        if self._idle or (self._open and self._open[-1].module is module):
            return call()
        self._open_call(Seen(module, type(module).__name__, -1, self._open[-1] if self._open else None))
        result = call()
        self._open.pop()
        return result

    def _open_call(self, seen_call: Seen) -> None:
        if seen_call.around is None and not any(seen_call.module is root for root in self.roots):
            self.roots.append(seen_call.module)
        self._open.append(seen_call)

    def call(
        self,
        module: Any,
        class_name: str,
        positional: Any,
        keywords: Any,
        original: Callable[..., Any],
        copy_call: Callable[..., Any],
        weights: Callable[[], tuple[str, ...]],
    ) -> Any:
        """Note a call: its result.

        Args:
          positional: what it is given by position.
          keywords: what it is given by name.
        """
        around = self._open[-1] if self._open else None
        if self._idle or (around is not None and around.module is module):
            return original(*positional, **keywords)
        seen_call = Seen(module, class_name, self._started, around)
        self._started += 1
        seen_call.inputs = _arrays((positional, keywords))
        if self._added is None and any(isinstance(array, Tracer) for array in seen_call.inputs):
            seen_call.reason = _TRACED
        elif self._added is None:
            seen_call.weights = weights()
            seen_call.own = self._besides(seen_call, copy_call, positional, keywords)
        positional, keywords = self._perturb("in", seen_call, (positional, keywords))
        self._open_call(seen_call)
        result = original(*positional, **keywords)
        self._open.pop()
        result = self._perturb("out", seen_call, result)
        seen_call.outputs = _arrays(result)
        if (
            not seen_call.reason
            and self._added is None
            and any(isinstance(array, Tracer) for array in seen_call.outputs)
        ):
            seen_call.reason = _TRACED
        self.ended.append(seen_call)
        return result

    def _besides(self, seen_call: Seen, copy_call: Callable[..., Any], positional: Any, keywords: Any) -> list[Any]:
        arrays = self._given.get(seen_call.started)
        if arrays is None:
            return []
        others = iter(arrays)
        positional, keywords = _replace((positional, keywords), lambda array: jnp.asarray(next(others), array.dtype))
        self._idle = True
        try:
            return _arrays(copy_call(*positional, **keywords))
        finally:
            self._idle = False

    def _perturb(self, kind: str, seen_call: Seen, structure: Any) -> Any:
        """The arrays in a structure with what is added to each."""
        if self._added is None:
            return structure
        perturbations, places = self._added, iter(range(len(_arrays(structure))))

        def perturb(array: Any) -> Any:
            place = (kind, seen_call.started, next(places))
            return array + perturbations[place] if place in perturbations else array

        return _replace(structure, perturb)

    def paths(self) -> list[str]:
        """By call, names from the outside in: those in the outermost module, where there is one alone."""
        path_of: dict[int, str] = {}
        for root in self.roots:
            if isinstance(root, nnx.Module):
                prefix = "" if len(self.roots) == 1 else type(root).__name__
                path_of[id(root)] = prefix
                for path, node, _ in nodes(root):
                    path_of.setdefault(id(node), "/".join(filter(None, (prefix, path.replace(".", "/")))))
        return [_path(seen_call, path_of) for seen_call in self.ended]


def _path(seen_call: Seen, path_of: Mapping[int, str]) -> str:
    if isinstance(seen_call.module, tuple):
        return "/".join(seen_call.module)
    if id(seen_call.module) in path_of:
        return path_of[id(seen_call.module)]
    # A module that is made within a call stands in none.
    around = _path(seen_call.around, path_of) if seen_call.around is not None else ""
    return "/".join(filter(None, (around, seen_call.class_name)))


@contextmanager
def enter(recording: Recording) -> Iterator[None]:
    """Note every call of a Flax module in the block."""
    originals = [(kind, name, method) for kind in _below(nnx.Module) for name, method in _methods(kind)]
    for kind, name, original in originals:
        setattr(kind, name, (_note if name == "__call__" else _within)(recording, original))
    try:
        with linen.intercept_methods(functools.partial(_intercept, recording)):
            yield
    finally:
        for kind, name, original in originals:
            setattr(kind, name, original)


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The call of a class; of a class of the user's, other methods too, from which parts may be called."""
    for name, method in list(vars(kind).items()):
        own = inspect.isfunction(method) and not name.startswith("__") and not _of_library(kind)
        if name == "__call__" or own:
            yield name, method


def _of_library(kind: type) -> bool:
    return kind.__module__.split(".")[0] in _LIBRARIES


def _within(recording: Recording, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def within(module: Any, *positional: Any, **keywords: Any) -> Any:
        return recording.within(module, functools.partial(original, module, *positional, **keywords))

    return within


def has_modules() -> bool:
    """Whether there is a class of modules that no library made."""
    classes = (*_below(nnx.Module), *_below(linen.Module))
    return any(not _of_library(kind) for kind in classes)


def _below(kind: type) -> list[type]:
    return [below for subclass in kind.__subclasses__() for below in (subclass, *_below(subclass))]


def _note(recording: Recording, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def note(module: Any, *positional: Any, **keywords: Any) -> Any:
        def copy_call(*positional: Any, **keywords: Any) -> Any:
            return original(nnx.clone(module), *positional, **keywords)

        return recording.call(
            module,
            type(module).__name__,
            positional,
            keywords,
            functools.partial(original, module),
            copy_call,
            functools.partial(_digests, module),
        )

    return note


def _intercept(recording: Recording, call: Callable[..., Any], positional: Any, keywords: Any, context: Any) -> Any:
    """A call of a Linen module."""
    if context.method_name != "__call__":
        return call(*positional, **keywords)
    module = context.module

    def copy_call(*positional: Any, **keywords: Any) -> Any:
        unbound, variables = module.unbind()
        return unbound.apply(variables, *positional, mutable=True, **keywords)[0]

    def digests() -> tuple[str, ...]:
        own = (
            value
            for collection in module.variables.values()
            for value in collection.values()
            if not isinstance(value, Mapping)
        )
        return tuple(sorted(filter(None, (value_digest(np.asarray(value)) for value in own))))

    return recording.call(module.path, type(module).__name__, positional, keywords, call, copy_call, digests)


def _digests(module: nnx.Module) -> tuple[str, ...]:
    variables = (child.get_value() for _, child in nnx.iter_children(module) if isinstance(child, nnx.Variable))
    digests = (value_digest(np.asarray(value)) for value in variables if _is_number(value))
    return tuple(sorted(filter(None, digests)))


def _is_number(value: Any) -> bool:
    return hasattr(value, "dtype") and jnp.issubdtype(value.dtype, np.number) and not isinstance(value, Tracer)


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray) and not jnp.issubdtype(value.dtype, jax.dtypes.extended)


def _is_whole(value: Any) -> bool:
    """Whether a value stays whole: modules and variables are trees too."""
    return isinstance(value, nnx.Pytree | nnx.Variable | linen.Module)


def _arrays(structure: Any) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(structure, is_leaf=_is_whole) if _is_array(leaf)]


def _replace(structure: Any, other: Callable[[Any], Any]) -> Any:
    return jax.tree.map(lambda leaf: other(leaf) if _is_array(leaf) else leaf, structure, is_leaf=_is_whole)
