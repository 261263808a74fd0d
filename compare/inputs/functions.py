"""A user's own port from the command line: two functions and the inputs that they take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compare.errors import RequestError
from workloads.core.dimensions import Range, check_range
from workloads.core.files import check_path, obstacle
from workloads.core.spec import ArraySpec, Workload

DTYPES = {
    "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "c64": "complex64", "complex64": "complex64", "c128": "complex128", "complex128": "complex128",
    "i4": "int4", "s4": "int4", "u4": "uint4",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "bool": "bool", "pred": "bool",
}  # fmt: skip
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INPUT = re.compile(rf"^(\w+)=(\w+)\[([\w,\s]*)\](?::({_NUMBER})\.\.({_NUMBER}))?$")
_DIMENSION = re.compile(r"^(\w+)=(\d+)(?:\.\.(\d+))?$")
_REFERENCE = re.compile(r".+:[A-Za-z_]\w*")

EXAMPLES = "x=f32[8,128], n=i32[4]:0..10 or x=f32[B,128]"


def parse_input(text: str) -> tuple[str, ArraySpec[int | str]]:
    """`NAME=DTYPE[SHAPE]` with an optional range `:LOW..HIGH` (HIGH excluded for integers); a size may be a name.

    Raises:
      RequestError: it does not parse, the dtype is unknown, or the range is empty.
    """
    match = _INPUT.match(text.strip())
    if match is None:
        raise RequestError(f"expected an input like {EXAMPLES}, found {text!r}: write NAME=DTYPE[SHAPE]")
    name, short, sizes, low, high = match.groups()
    if short not in DTYPES:
        raise RequestError(f"expected a dtype of {', '.join(DTYPES)} in {text!r}, found {short!r}: choose one of these")
    shape = tuple(_size(size.strip(), text) for size in sizes.split(",") if sizes.strip())
    ends = (None, None) if low is None else (float(low), float(high))
    try:
        return name, ArraySpec(shape, DTYPES[short], *ends)
    except ValueError as error:
        raise RequestError(f"{error}, in {text!r}") from error


def parse_inputs(texts: Sequence[str]) -> dict[str, ArraySpec[int | str]]:
    """Each argument by its name, in order.

    Raises:
      RequestError: one does not parse, or a name occurs twice.
    """
    specs: dict[str, ArraySpec[int | str]] = {}
    for text in texts:
        name, spec = parse_input(text)
        if name in specs:
            raise RequestError(f"expected every --input once, found {name!r} twice: rename one")
        specs[name] = spec
    return specs


def model_inputs(texts: Sequence[str]) -> list[tuple[str, tuple[int | None, ...], str]]:
    """Name, shape and dtype of each argument of a model; a size that is a name is not fixed: None.

    Raises:
      RequestError: one does not parse, or a name occurs twice.
    """
    return of_known_sizes(parse_inputs(texts))


def of_known_sizes(specs: Mapping[str, ArraySpec[int | str]]) -> list[tuple[str, tuple[int | None, ...], str]]:
    """Name, shape and dtype of each argument; a size that is a name is not fixed: None."""
    return [(name, tuple(_fixed_size(size) for size in spec.shape), spec.dtype) for name, spec in specs.items()]


def _fixed_size(size: int | str) -> int | None:
    return size if isinstance(size, int) else None


def _size(text: str, of: str) -> int | str:
    if text.isdecimal():
        return int(text)
    if not text.isidentifier():
        raise RequestError(
            f"expected integers or dimension names, separated by commas, in the shape of {of!r}, found {text!r}"
        )
    return text


def parse_dimension(text: str) -> tuple[str, int, int | None]:
    """`NAME=SIZE`, or `NAME=LOW..HIGH` with both ends included.

    Raises:
      RequestError: it does not parse.
    """
    match = _DIMENSION.match(text.strip())
    if match is None:
        raise RequestError(f"expected a dimension like B=1..64 or B=32, found {text!r}: write NAME=LOW..HIGH")
    name, low, high = match[1], int(match[2]), None if match[3] is None else int(match[3])
    try:
        check_range(name, (low, low if high is None else high))
    except ValueError as error:
        raise RequestError(str(error)) from error
    return name, low, high


def from_functions(tf: str, jax: str, inputs: Sequence[str], dimensions: Sequence[str] = ()) -> Workload:
    """The workload that two functions and their inputs make.

    Args:
      tf: FILE.py:NAME of the TensorFlow function.
      jax: FILE.py:NAME of the JAX function.
      inputs: NAME=TYPE[SHAPE] of each argument, in order.
      dimensions: NAME=LOW..HIGH, the sizes of a named dimension that parity is judged between, or NAME=SIZE, the
        one that is compiled and timed.

    Raises:
      RequestError: a reference names no file or no function; an input or a dimension does not parse or occurs twice.
    """
    for side, reference in (("tf", tf), ("jax", jax)):
        check_reference(f"--{side}", reference)
    return _workload(jax, tf, jax, f"{tf} against {jax}", inputs, dimensions)


def is_reference(target: str) -> bool:
    """Whether a target names a function, FILE.py:NAME."""
    return _REFERENCE.fullmatch(target) is not None


def of_tensorflow(reference: str, inputs: Sequence[str], dimensions: Sequence[str] = ()) -> Workload:
    """The workload that one function of TensorFlow and its inputs make: it names no port.

    Args:
      reference: FILE.py:NAME of the function.
      inputs: NAME=TYPE[SHAPE] of each argument, in order.
      dimensions: NAME=SIZE of a named dimension.

    Raises:
      RequestError: as `from_functions` does.
    """
    check_reference("", reference)
    return _workload(reference, reference, "", reference, inputs, dimensions)


def check_reference(option: str, reference: str) -> None:
    """Raise RequestError where a reference names no function, or no file that is there; PathError where it may not lie.

    Args:
      option: that it is given by; "" for an operand.
      reference: FILE.py:FUNCTION.
    """
    where, _, function = reference.rpartition(":")
    if not where or not function.isidentifier():
        raise RequestError(
            f"expected {f'{option} FILE.py:FUNCTION'.strip()}, found {reference!r}: name the file and the function"
        )
    if where.endswith(".py") and (problem := obstacle(Path(where))):
        of = f" for {option}" if option else ""
        raise RequestError(f"expected a Python file at {where}{of}, found {problem}: check the path")
    if where.endswith(".py"):
        check_path(Path(where))


def _workload(name: str, tf: str, jax: str, summary: str, inputs: Sequence[str], dimensions: Sequence[str]) -> Workload:
    """The workload of functions that are named after one of them."""
    specs = parse_inputs(inputs)
    if not specs:
        raise RequestError(f"expected at least one --input, found none: add one for each argument, like {EXAMPLES}")
    fields = {"name": name.rpartition(":")[2], "summary": summary, "source": "given on the command line"}
    return of_specs(tf, jax, specs, dimensions, folder=Path.cwd(), **fields)


def of_specs(
    tf: str,
    jax: str,
    specs: Mapping[str, ArraySpec[int | str]],
    dimensions: Sequence[str],
    narrow: str = "",
    **fields: Any,
) -> Workload:
    """The workload of two functions whose inputs are known.

    Args:
      jax: a reference to its port; "" for none.
      specs: of each argument, in order.
      narrow: the narrow type that the original says it computes in; "" where it says none.
      fields: others of `Workload`, its name among them.

    Raises:
      RequestError: a dimension does not parse or occurs twice, or the fields are not those of a workload.
    """
    sizes, ranges = _named_dimensions(dimensions, sorted({name for spec in specs.values() for name in spec.names}))
    if narrow:
        sizes[narrow] = 1
    try:
        settings = {"builds": False, **fields}
        return Workload(tf=tf, jax=jax, inputs=specs, sizes={"default": sizes}, ranges=ranges, **settings)
    except ValueError as error:
        raise RequestError(f"{error}, in {fields['name']}") from error


def _named_dimensions(texts: Sequence[str], names: Sequence[str]) -> tuple[dict[str, int], dict[str, Range]]:
    """The sizes that are timed and the ranges that are judged, by the name of the dimension."""
    sizes: dict[str, int] = {}
    ranges: dict[str, Range] = {}
    for text in texts:
        name, low, high = parse_dimension(text)
        if name not in names:
            raise RequestError(
                f"expected a dimension that an --input names ({', '.join(names) or 'none does'}), found {text!r}: "
                f"write {name} in a shape, as in x=f32[{name},128]"
            )
        if name in (sizes if high is None else ranges):
            what = "size" if high is None else "range"
            raise RequestError(f"expected one {what} of dimension {name}, found {text!r} besides another: keep one")
        if high is None:
            sizes[name] = low
        else:
            ranges[name] = low, high
    return sizes, ranges
