"""Streams of calls from the command line: arrays, Python values, NumPy scalars, and structures of them."""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.errors import RequestError
from compare.inputs.functions import DTYPES, parse_input
from workloads.core.arrays import draw
from workloads.core.spec import ArraySpec
from workloads.protocol.recompiling import Named

EXAMPLES = "'x=f32[8,4], axis=0' or 'batch={\"ids\": i32[B,16], \"scale\": 2.0}'"

MOST_CALLS = 1000
"""The most calls of a stream: each new one compiles."""

MOST_BYTES = 1 << 31
"""The most bytes of all arrays of a stream, which are drawn before it starts."""

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_ARRAY = re.compile(rf"(?<![\w.\])'\"])(\w+)\[([\w,\s]*)\](?::{_NUMBER}\.\.{_NUMBER})?")
_PLACE = "_array_{}_"
_SHORT = {dtype: short for short, dtype in reversed(DTYPES.items())}


@dataclass(frozen=True)
class Call:
    """One call: how it is written, and its arguments, with arrays drawn. Equal names and shapes hold equal values."""

    text: str
    arguments: Named


def stream(texts: Sequence[str], sizes: Sequence[str]) -> list[Call]:
    """The calls in order; those with named sizes as often as these have values, which vary together.

    Args:
      texts: `NAME=VALUE, ...` of each call.
      sizes: `NAME=SIZE,SIZE,...` of each named size.

    Raises:
      RequestError: there is none, one does not parse, or a size has no value or no use.
    """
    templates = [parse_call(text) for text in texts]
    values = _sizes(sizes)
    names = {name for template in templates for name in _names(template)}
    for name in values:
        if name not in names:
            raise RequestError(
                f"expected a size that a --call names, found {name}: write it in a shape, as x=f32[{name},4]"
            )
    return draw_calls([spec for template in templates for spec in _at_sizes(template, values)])


def draw_calls(specs: Sequence[Named]) -> list[Call]:
    """Calls with their arrays.

    Args:
      specs: the arguments of each call, with an `ArraySpec` for each array.

    Raises:
      RequestError: there is none, or their arrays are too large.
    """
    if not 0 < len(specs) <= MOST_CALLS:
        raise RequestError(f"expected 1 to {MOST_CALLS} calls, found {len(specs)}: add --call, like {EXAMPLES}")
    arrays = [leaf for spec in specs for leaf in leaves(spec).values() if isinstance(leaf, ArraySpec)]
    size = sum(math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize for leaf in arrays)
    if size > MOST_BYTES:
        raise RequestError(
            f"expected arrays of at most {MOST_BYTES >> 30} GiB in all calls, found {size >> 30} GiB: use fewer"
        )
    return [Call(describe(spec), _draw(spec)) for spec in specs]


def from_file(text: str) -> list[str]:
    """The calls of a file, one a line; empty lines and those that start with # are left out."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def parse_call(text: str) -> Named:
    """The arguments of a call by name, with `ArraySpec`s for arrays.

    Raises:
      RequestError: it does not parse.
    """
    arrays: list[ArraySpec[int | str]] = []

    def placeholder(match: re.Match[str]) -> str:
        arrays.append(parse_input(f"x={match[0]}")[1])
        return _PLACE.format(len(arrays) - 1)

    source = _ARRAY.sub(placeholder, text)
    try:
        tree = ast.parse(f"call({source}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refuse(text, "what is no Python") from error
    if not isinstance(tree, ast.Call) or not (isinstance(tree.func, ast.Name) and tree.func.id == "call"):
        raise _refuse(text, "more than the arguments of one call")
    if tree.args or any(keyword.arg is None for keyword in tree.keywords):
        raise _refuse(text, "an argument without a name")
    names = {_PLACE.format(number): spec for number, spec in enumerate(arrays)}
    arguments = {str(keyword.arg): _value(keyword.value, names, text) for keyword in tree.keywords}
    if len(arguments) < len(tree.keywords) or not arguments:
        raise _refuse(text, "no argument" if not arguments else "an argument twice")
    return arguments


_QUOTED = 200
"""Characters of a call that a line repeats."""


def _refuse(text: str, problem: str) -> RequestError:
    quote = text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."
    return RequestError(
        f"expected a call like {EXAMPLES}, found {problem[:_QUOTED]} in {quote!r}: write NAME=VALUE, ..."
    )


def _value(node: ast.expr, arrays: Mapping[str, ArraySpec[int | str]], text: str) -> Any:
    match node:
        case ast.Name(id=name) if name in arrays:
            return arrays[name]
        case ast.Constant(value=None | bool() | int() | str() as value):
            return value
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if math.isfinite(value):
            return -value
        case ast.List(elts=items) if items:
            return [_value(item, arrays, text) for item in items]
        case ast.Tuple(elts=items) if items:
            return tuple(_value(item, arrays, text) for item in items)
        case ast.Dict(keys=keys, values=values) if keys:
            return {_key(key, text): _value(value, arrays, text) for key, value in zip(keys, values, strict=True)}
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=dtype), args=[literal], keywords=[]):
            return _typed_array(dtype, literal, arrays, text)[()]
        case ast.Call(func=ast.Name(id=short), args=[literal], keywords=[]) if short in DTYPES:
            return _typed_array(DTYPES[short], literal, arrays, text)
    raise _refuse(text, f"{ast.unparse(node)[:60]!r}")


def _key(node: ast.expr | None, text: str) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _refuse(text, "a key that is no text")


def _typed_array(dtype: str, node: ast.expr, arrays: Mapping[str, ArraySpec[int | str]], text: str) -> np.ndarray:
    """An array of given values."""
    value = _value(node, arrays, text)
    try:
        if dtype not in DTYPES.values():
            raise ValueError(f"{dtype} is none of {', '.join(dict.fromkeys(DTYPES.values()))}")
        plain = np.asarray(value)
        if plain.dtype.kind not in "biuf":
            raise ValueError(f"{value!r} is no number")
        cast = plain.astype(dtype)
    except (ValueError, OverflowError) as error:
        raise _refuse(text, f"{error}") from error
    if cast.dtype.kind in "biu" and not np.array_equal(cast.astype(plain.dtype), plain):
        raise _refuse(text, f"{value!r}, which no {dtype} holds")
    return cast


def _sizes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    sizes: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, equals, numbers = text.partition("=")
        values = [number.strip() for number in numbers.split(",")]
        if not equals or not name.strip().isidentifier() or not all(re.fullmatch(r"0*[1-9]\d{0,8}", v) for v in values):
            raise RequestError(f"expected sizes like B=32,32,32,17, found {text!r}: write NAME=SIZE,SIZE,...")
        if name.strip() in sizes:
            raise RequestError(f"expected the sizes of {name.strip()} once, found them twice: keep one")
        sizes[name.strip()] = tuple(map(int, values))
    if len({len(values) for values in sizes.values()}) > 1:
        counts = ", ".join(f"{len(values)} of {name}" for name, values in sizes.items())
        raise RequestError(f"expected as many sizes of every name, for they vary together, found {counts}")
    return sizes


def _names(template: Any) -> set[str]:
    return {name for leaf in leaves(template).values() if isinstance(leaf, ArraySpec) for name in leaf.names}


def _at_sizes(template: Named, values: Mapping[str, Sequence[int]]) -> Iterator[Named]:
    missing = sorted(_names(template) - values.keys())
    if missing:
        raise RequestError(f"expected sizes of {missing[0]}, found none: add --sizes {missing[0]}=32,32,32,17")
    if not _names(template):
        yield template
        return
    for position in range(len(next(iter(values.values())))):
        here = {name: sizes[position] for name, sizes in values.items()}
        yield map_leaves(template, lambda leaf, here=here: _resize(leaf, here))


def _resize(leaf: Any, sizes: Mapping[str, int]) -> Any:
    if not isinstance(leaf, ArraySpec):
        return leaf
    return dataclasses.replace(leaf, shape=tuple(sizes[one] if isinstance(one, str) else one for one in leaf.shape))


def _draw(template: Named) -> Named:
    return map_with_paths(
        template, lambda path, leaf: draw(leaf, ".".join(path), 0) if isinstance(leaf, ArraySpec) else leaf
    )


def leaves(structure: Any) -> dict[tuple[str, ...], Any]:
    """The leaves of a structure, by the names and numbers on the path."""
    match structure:
        case Mapping():
            inside = structure.items()
        case list() | tuple():
            inside = enumerate(structure)
        case leaf:
            return {(): leaf}
    return {(str(key), *rest): leaf for key, child in inside for rest, leaf in leaves(child).items()}


def map_with_paths(structure: Any, change: Callable[[tuple[str, ...], Any], Any], path: tuple[str, ...] = ()) -> Any:
    """A structure of the same form with other leaves.

    Args:
      change: the path of a leaf and the leaf -> the new leaf.
    """
    match structure:
        case Mapping():
            return {key: map_with_paths(child, change, (*path, str(key))) for key, child in structure.items()}
        case list() | tuple():
            child = (map_with_paths(one, change, (*path, str(number))) for number, one in enumerate(structure))
            return type(structure)(child)
    return change(path, structure)


def map_leaves(structure: Any, change: Callable[[Any], Any]) -> Any:
    """A structure of the same form with other leaves."""
    return map_with_paths(structure, lambda _, leaf: change(leaf))


def describe(structure: Any) -> str:
    """A structure as `parse_call` reads it; of the arguments of a call, without the braces."""
    return ", ".join(f"{name}={shorten(value)}" for name, value in structure.items())


def shorten(value: Any) -> str:
    """A value in short: f32[8,4], i32(3), np.float32(0.5), 'text', or a structure of these."""
    match value:
        case ArraySpec() | np.ndarray() if value.shape or isinstance(value, ArraySpec):
            return f"{_SHORT[np.dtype(value.dtype).name]}[{','.join(map(str, value.shape))}]{_range(value)}"
        case np.ndarray():
            return f"{_SHORT[value.dtype.name]}({value.item()})"
        case np.generic():
            return f"np.{value.dtype.name}({value.item()})"
        case Mapping():
            return f"{{{', '.join(f'{key!r}: {shorten(child)}' for key, child in value.items())}}}"
        case list() | tuple():
            inside = ", ".join(map(shorten, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    return repr(value)


def _range(value: ArraySpec | np.ndarray) -> str:
    """The range of an array that is drawn from one, as `parse_input` reads it."""
    ends = (value.low, value.high) if isinstance(value, ArraySpec) else ()
    bounds = [int(end) if float(end).is_integer() else end for end in ends if end is not None]
    return f":{bounds[0]}..{bounds[1]}" if bounds else ""
