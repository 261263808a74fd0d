"""How the arguments of one call differ from those of another, argument by argument. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from compare.inputs.call_streams import leaves, shorten
from workloads.protocol.recompiling import Named

Kind = Literal["signature", "value"]
"""The kind of a change: of the signature, which all arrays of that shape share, or of the values of an array."""


def changes(before: Named, after: Named, side: str = "") -> dict[str, str]:
    """By argument, what is different in the later call; arguments that are the same are left out.

    Args:
      before: arguments of the earlier call.
      side: in whose words: JAX compiles values in of static arguments alone, and gives Python numbers a weak type.
    """
    arguments = {**before, **after}
    texts = {name: _change(name, before.get(name, _ABSENT), after.get(name, _ABSENT), side) for name in arguments}
    return {name: text for name, text in texts.items() if text}


def only_values(before: Named, after: Named, name: str) -> bool:
    """Whether an argument differs in what its arrays hold, and in nothing else.

    Args:
      before: arguments of the earlier call.
    """
    return _alike(before, after, name, np.ndarray)


def only_numbers(before: Named, after: Named, name: str) -> bool:
    """Whether an argument differs in what its arrays and NumPy scalars hold, and in nothing else.

    Args:
      before: arguments of the earlier call.
    """
    return _alike(before, after, name, np.ndarray | np.generic)


def _alike(before: Named, after: Named, name: str, kinds: Any) -> bool:
    pairs = _pairs(before.get(name, _ABSENT), after.get(name, _ABSENT))
    unlike = [pair for pair in pairs.values() if not _same(*pair)]
    return bool(unlike) and all(
        isinstance(one, kinds)
        and isinstance(other, kinds)
        and (type(one), one.shape, one.dtype) == (type(other), other.shape, other.dtype)
        for one, other in unlike
    )


_ABSENT = object()


def _shorten(value: Any) -> str:
    return "left out" if value is _ABSENT else shorten(value)


def _change(name: str, before: Any, after: Any, side: str) -> str:
    if before is _ABSENT or after is _ABSENT:
        return f"{name}: {_shorten(before)} -> {_shorten(after)}"
    if (form := _form(before)) != _form(after):
        return f"{name}: {form} -> {_form(after)}, another structure"
    unlike = {path: pair for path, pair in _pairs(before, after).items() if not _same(*pair)}
    return "; ".join(f"{'.'.join((name, *path))}: {_leaf_change(*pair, side)}" for path, pair in unlike.items())


def _pairs(before: Any, after: Any) -> Mapping[tuple[str, ...], tuple[Any, Any]]:
    first, second = leaves(before), leaves(after)
    return {path: (first.get(path, _ABSENT), second.get(path, _ABSENT)) for path in {**first, **second}}


def _form(structure: Any) -> str:
    """A structure without its leaves."""
    match structure:
        case Mapping():
            return f"{{{', '.join(f'{key!r}{_inside(child)}' for key, child in sorted(structure.items()))}}}"
        case list():
            return f"[{', '.join(map(_form, structure))}]"
        case tuple():
            return f"({', '.join(map(_form, structure))})"
    return "_"


def _inside(child: Any) -> str:
    form = _form(child)
    return "" if form == "_" else f": {form}"


def _leaf_change(before: Any, after: Any, side: str) -> str:
    return f"{_name_change(before, after)}{''.join(f', {what}' for what in _aspects(before, after, side))}"


def _name_change(before: Any, after: Any) -> str:
    if _is_array(before) and _is_array(after) and shorten(before) == shorten(after):
        return f"{before.ravel()[:3].tolist()} -> {after.ravel()[:3].tolist()}"
    return f"{shorten(before)} -> {shorten(after)}"


def _aspects(before: Any, after: Any, side: str) -> Iterator[str]:
    """The aspects in which a leaf differs."""
    if _is_array(before) and _is_array(after):
        yield from _array_aspects(before, after)
    elif type(before) is type(after):
        static = "static " if side == "jax" else ""
        yield f"the value of a {static}{_scalar(before)}"
    elif side == "jax" and _is_weak_form(before, after):
        yield f"{_kind(before)} -> {_kind(after)}, weak type"
    else:
        yield f"{_kind(before)} -> {_kind(after)}"


def _is_weak_form(before: Any, after: Any) -> bool:
    """Whether one is a Python number and the other an array or NumPy scalar of the dtype that JAX gives it."""
    pairs = ((before, after), (after, before))
    return any(
        type(one) in _WEAK
        and isinstance(other, np.ndarray | np.generic)
        and (other.shape, other.dtype.name) == ((), _WEAK[type(one)])
        for one, other in pairs
    )


_WEAK = {int: "int32", float: "float32"}


def _array_aspects(before: np.ndarray, after: np.ndarray) -> Iterator[str]:
    if before.ndim != after.ndim:
        yield "rank"
    else:
        axes = [
            str(axis) for axis, (one, other) in enumerate(zip(before.shape, after.shape, strict=True)) if one != other
        ]
        if axes:
            yield f"dimension{'s' if len(axes) > 1 else ''} {', '.join(axes)}"
    if before.dtype != after.dtype:
        yield "dtype"
    if _shape_and_dtype(before) == _shape_and_dtype(after):
        yield "the values of an array"


def _kind(leaf: Any) -> str:
    if _is_array(leaf):
        return "an array"
    return f"a {_scalar(leaf)}"


def _scalar(leaf: Any) -> str:
    return "NumPy scalar" if isinstance(leaf, np.generic) else f"Python {_type(leaf)}"


def _type(leaf: Any) -> str:
    return "None" if leaf is None else type(leaf).__name__


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray)


def _shape_and_dtype(array: np.ndarray) -> tuple[Any, ...]:
    return array.shape, array.dtype


def _same(before: Any, after: Any) -> bool:
    if _is_array(before) and _is_array(after):
        return _shape_and_dtype(before) == _shape_and_dtype(after) and before.tobytes() == after.tobytes()
    return type(before) is type(after) and repr(before) == repr(after)
