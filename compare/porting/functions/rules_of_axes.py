"""Rules for operations along axes: reductions, cumulative operations, sorting, and moves of elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.porting.functions.rule_calls import Call, Rule
from compare.porting.functions.slices import index_text, indices
from compare.porting.functions.written_values import tuple_text
from compare.porting.safe_expressions import UnwritableError


def _axes(call: Call) -> str:
    """The axes of a reduction as an argument; "" of all."""
    axes = sorted(axis % max(call.rank(0), 1) if call.rank(0) else 0 for axis in call.integers(1))
    if len(axes) == call.rank(0):
        return ""
    return str(call.integers(1)[0]) if len(axes) == 1 else tuple_text([str(axis) for axis in axes])


def _reduction(function: str, floats: str = "") -> Rule:
    def rule(call: Call) -> str:
        axes = _axes(call)
        keepdims = ["keepdims=True"] if call.attribute("keep_dims") else []
        arguments = [call.array(0), *([axes] if axes else []), *keepdims]
        integer = not call.is_float(0) and not call.is_complex(0)
        if function in ("jnp.sum", "jnp.prod") and integer:
            arguments.append("promote_integers=False")
        return f"{floats if floats and integer else function}({', '.join(arguments)})"

    return rule


def _norm(call: Call) -> str:
    if call.is_complex(0):
        raise UnwritableError("it is of complex numbers")
    axes = _axes(call)
    axes_text = f", {axes}" if axes else ""
    keepdims = ", keepdims=True" if call.attribute("keep_dims") else ""
    return f"jnp.sqrt(jnp.sum(jnp.square({call.array(0)}){axes_text}{keepdims}))"


def _place_of_extreme(function: str) -> Rule:
    def rule(call: Call) -> str:
        return f"{function}({call.array(0)}, {call.integers(1)[0]}).astype({call.dtype()})"

    return rule


def _cumulative(function: str, neutral: str) -> Rule:
    def rule(call: Call) -> str:
        rank = call.rank(0)
        axis = call.integers(1)[0] % rank
        x, reverse = call.array(0), bool(call.attribute("reverse"))
        if call.attribute("exclusive"):
            widths = [("1", "0") if index == axis else ("0", "0") for index in range(rank)]
            slices = ":, " * axis + (":-1" if not reverse else "1:")
            if reverse:
                widths[axis] = ("0", "1")
            pads = tuple_text([f"({low}, {high})" for low, high in widths])
            x = f"jnp.pad({x}[{slices}], {pads}, constant_values={neutral})"
        if function == "cumprod" and call.is_float(0):
            inner = f"jnp.flip({x}, {axis})" if reverse else x
            product = f"jaxport.elementwise.cumprod({inner}, {axis})"
            return f"jnp.flip({product}, {axis})" if reverse else product
        return f"jax.lax.{function}({x}, {axis}{', reverse=True' if reverse else ''})"

    return rule


def _top(call: Call) -> tuple[str, ...]:
    if not call.attribute("sorted", True):
        raise UnwritableError("the order of what it finds is not said (sorted=False)")
    values = f"jax.lax.top_k({call.array(0)}, {call.number(1)})"
    return (
        ("*", values)
        if call.node.results[1].dtype == "int32"
        else ("*", f"({values}[0], {values}[1].astype({call.dtype(1)}))")
    )


def _reshape(call: Call) -> str:
    return f"{call.array(0)}.reshape({call.numbers(1)})"


def _expand(call: Call) -> str:
    return f"jnp.expand_dims({call.array(0)}, {call.number(1)})"


def _squeeze(call: Call) -> str:
    axes = call.attribute("squeeze_dims") or [index for index, size in enumerate(call.shape(0)) if size == 1]
    if not call.attribute("squeeze_dims") and None in call.shape(0):
        raise UnwritableError("which of its axes have size 1 is not known")
    return f"jnp.squeeze({call.array(0)}, {axes[0] if len(axes) == 1 else tuple_text([str(axis) for axis in axes])})"


def _transpose(call: Call) -> str:
    order = call.integers(1)
    suffix = ".T" if order == [1, 0] else f".transpose({', '.join(map(str, order))})"
    result = f"{call.array(0)}{suffix}"
    return f"jnp.conj({result})" if call.node.type == "ConjugateTranspose" and call.is_complex(0) else result


def _stack(call: Call) -> str:
    axis = int(call.attribute("axis", 0))
    return f"jnp.stack({call.arrays()}{f', {axis}' if axis else ''})"


def _unstack(call: Call) -> Sequence[str]:
    x, axis = call.variable(0), int(call.attribute("axis", 0)) % call.rank(0)
    return [f"{x}[{':, ' * axis}{index}]" for index in range(len(call.node.results))]


def _concatenate(call: Call) -> str:
    axis = call.integers(len(call.values) - 1)[0]
    return f"jnp.concatenate({call.arrays(0, -1)}{f', {axis}' if axis else ''})"


def _split(call: Call) -> Sequence[str]:
    of, axis = (1, 0) if call.node.type == "Split" else (0, 2)
    number = len(call.node.results)
    if call.node.type == "Split":
        return ("*", f"jnp.split({call.array(of)}, {number}, {call.integers(axis)[0]})")
    sizes = call.integers(1)
    if -1 in sizes:
        whole = call.shape(0)[call.integers(2)[0]]
        if whole is None:
            raise UnwritableError("the size of one of its parts is not known")
        sizes = [whole - sum(sizes) - 1 if size < 0 else size for size in sizes]
    ends = [sum(sizes[: index + 1]) for index in range(number - 1)]
    return ("*", f"jnp.split({call.array(0)}, {ends}, {call.integers(2)[0]})")


def _slice(call: Call) -> str:
    begin, size = call.values[1], call.values[2]
    if begin.host is not None and size.host is not None:
        starts, sizes = call.host(1).tolist(), call.host(2).tolist()
        parts = []
        for start, length in zip(starts, sizes, strict=True):
            whole = isinstance(length, int) and length < 0
            plain = isinstance(start, int) and isinstance(length, int)
            end = None if whole else (start + length if plain else f"({start} + {length})")
            parts.append(slice(start, end))
        text = index_text(tuple(parts))
        return f"{call.array(0)}[{text}]" if text else call.array(0)
    return f"jax.lax.dynamic_slice({call.array(0)}, {call.array(1)}, {call.numbers(2)})"


def _strided_slice(call: Call) -> str:
    bounds = [_elements(call, index) for index in (1, 2)]
    index = indices(call.node, bounds[0], bounds[1], call.host(3).tolist())
    if any(isinstance(part, slice) and "v__" in f"{part.start}{part.stop}" and _is_traced(call) for part in index):
        return _dynamic(call, bounds)
    if call.values[0].only and index in ((0,), (-1,)):
        return call.values[0].only
    text = index_text(index)
    return f"{call.array(0)}[{text}]" if text else call.array(0)


def _is_traced(call: Call) -> bool:
    return call.values[1].host is None or call.values[2].host is None


def _dynamic(call: Call, bounds: list[list[object]]) -> str:
    sizes = call.node.results[0].shape
    if len(bounds[0]) != 1 or not sizes or sizes[0] is None:
        raise UnwritableError("its ends are computed from arrays, and its size is not known")
    return f"jax.lax.dynamic_slice_in_dim({call.array(0)}, {bounds[0][0]}, {sizes[0]})"


def _elements(call: Call, index: int) -> list[object]:
    if call.values[index].host is not None:
        return call.host(index).tolist()
    length = call.shape(index)[0]
    if length == 1 and call.values[index].only:
        return [call.values[index].only]
    if length is None:
        raise UnwritableError("its ends are computed from arrays")
    name = call.variable(index)
    return [f"{name}[{position}]" for position in range(length)]


def _pad(call: Call) -> str:
    widths = tuple_text([tuple_text([str(width) for width in row]) for row in call.host(1).tolist()])
    kind = call.node.type
    if kind == "MirrorPad":
        return f"jnp.pad({call.array(0)}, {widths}, {str(call.attribute('mode')).lower()!r})"
    # TensorFlow gives no gradient to the value.
    value = f", constant_values={_without_gradient(call, 2)}" if kind == "PadV2" else ""
    return f"jnp.pad({call.array(0)}, {widths}{value})"


def _without_gradient(call: Call, index: int) -> str:
    """A number, or an array that no gradient goes to."""
    return call.operand(index) if call.values[index].is_known else f"jax.lax.stop_gradient({call.array(index)})"


def _fill(call: Call) -> str:
    host = call.values[1].host
    value = str(host[()]) if host is not None and host.dtype == object else call.array(1)
    return f"jnp.full({call.numbers(0)}, {value}, {call.dtype()})"


def _empty(call: Call) -> str:
    if not call.attribute("init", False):
        raise UnwritableError("it holds whatever the memory held")
    return f"jnp.zeros({call.numbers(0)}, {call.dtype()})"


def _range(call: Call) -> str:
    start, limit, step = (call.number(index) for index in range(3))
    ends = limit if start == "0" and step == "1" else f"{start}, {limit}" + ("" if step == "1" else f", {step}")
    return f"jnp.arange({ends}, dtype={call.dtype()})"


def _linspace(call: Call) -> str:
    # TensorFlow's operation has no gradient; tf.linspace is made of others.
    ends = f"{_without_gradient(call, 0)}, {_without_gradient(call, 1)}"
    return f"jnp.linspace({ends}, {call.number(2)}, dtype={call.dtype()})"


def _flip(call: Call) -> str:
    axes = call.integers(1)
    return f"jnp.flip({call.array(0)}, {axes[0] if len(axes) == 1 else tuple_text([str(axis) for axis in axes])})"


def _roll(call: Call) -> str:
    if call.values[1].host is None:
        return f"jnp.roll({call.array(0)}, {call.array(1)}, {call.number(2)})"
    shifts, axes = (call.number(1), call.number(2)) if call.rank(1) == 0 else (call.numbers(1), call.numbers(2))
    return f"jnp.roll({call.array(0)}, {shifts}, {axes})"


def _sums_of_exponentials(call: Call) -> str:
    if call.attribute("exclusive"):
        raise UnwritableError("it begins with the lowest number of its type (exclusive=True)")
    axis = call.integers(1)[0] % call.rank(0)
    reverse = ", reverse=True" if call.attribute("reverse") else ""
    return f"jax.lax.cumlogsumexp({call.array(0)}, {axis}{reverse})"


RULES: Mapping[str, Rule] = {
    "Sum": _reduction("jnp.sum"), "Mean": _reduction("jnp.mean", "jaxport.dtypes.mean"), "Prod": _reduction("jnp.prod"),
    "Max": _reduction("jnp.max"), "Min": _reduction("jnp.min"), "All": _reduction("jnp.all"),
    "Any": _reduction("jnp.any"),
    "EuclideanNorm": _norm, "ArgMax": _place_of_extreme("jnp.argmax"), "ArgMin": _place_of_extreme("jnp.argmin"),
    "Cumsum": _cumulative("cumsum", "0"), "Cumprod": _cumulative("cumprod", "1"), "TopKV2": _top, "Reshape": _reshape,
    "ExpandDims": _expand, "Squeeze": _squeeze, "Transpose": _transpose, "ConjugateTranspose": _transpose,
    "Pack": _stack, "Unpack": _unstack, "ConcatV2": _concatenate, "Split": _split, "SplitV": _split, "Slice": _slice,
    "StridedSlice": _strided_slice, "Pad": _pad, "PadV2": _pad, "MirrorPad": _pad, "Fill": _fill, "Empty": _empty,
    "Range": _range, "LinSpace": _linspace, "CumulativeLogsumexp": _sums_of_exponentials,
    "InvertPermutation": lambda call: f"jnp.argsort({call.array(0)}).astype({call.dtype()})",
    "ReverseV2": _flip, "Roll": _roll,
    "Tile": lambda call: f"jnp.tile({call.array(0)}, {call.numbers(1)})",
    "BroadcastTo": lambda call: f"jnp.broadcast_to({call.array(0)}, {call.numbers(1)})",
}  # fmt: skip
