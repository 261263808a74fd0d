"""A user's own port from the command line: two functions and the inputs that they take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from compare.run.inputs import RequestError
from workloads._spec import ArraySpec, Workload

_DTYPES = {
    "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
    "c64": "complex64", "complex64": "complex64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "bool": "bool", "pred": "bool",
}  # fmt: skip
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INPUT = re.compile(rf"^(\w+)=(\w+)\[([\d,\s]*)\](?::({_NUMBER})\.\.({_NUMBER}))?$")

EXAMPLES = "x=f32[8,128] or n=i32[4]:0..10"


def parse_input(text: str) -> tuple[str, ArraySpec]:
    """`NAME=DTYPE[SHAPE]` with an optional range `:LOW..HIGH` (HIGH excluded for integers).

    Raises:
      RequestError: it does not parse, the dtype is unknown, or the range is empty.
    """
    match = _INPUT.match(text.strip())
    if match is None:
        raise RequestError(f"expected an input like {EXAMPLES}, found {text!r}: write NAME=DTYPE[SHAPE]")
    name, short, sizes, low, high = match.groups()
    if short not in _DTYPES:
        raise RequestError(f"expected a dtype of {', '.join(_DTYPES)} in {text!r}, found {short!r}")
    try:
        shape = tuple(int(size) for size in sizes.split(",") if sizes.strip())
    except ValueError:
        raise RequestError(f"expected sizes separated by commas in {text!r}, found [{sizes}]") from None
    ends = (None, None) if low is None else (float(low), float(high))
    try:
        return name, ArraySpec(shape, _DTYPES[short], *ends)
    except ValueError as error:
        raise RequestError(f"{error}, in {text!r}") from error


def from_functions(tf: str, jax: str, inputs: Sequence[str]) -> Workload:
    """The workload that two functions and their inputs make; both are called with the inputs in that order.

    Raises:
      RequestError: a reference names no file or no function, an input does not parse or occurs twice.
    """
    for side, reference in (("tf", tf), ("jax", jax)):
        where, _, function = reference.rpartition(":")
        if not where or not function.isidentifier():
            raise RequestError(
                f"expected --{side} FILE.py:FUNCTION, found {reference!r}: name the file and the function"
            )
        if where.endswith(".py") and not Path(where).is_file():
            raise RequestError(f"expected a Python file at {where} for --{side}, found nothing: check the path")
    specs: dict[str, ArraySpec] = {}
    for text in inputs:
        name, spec = parse_input(text)
        if name in specs:
            raise RequestError(f"expected every input once, found {name!r} twice: rename one")
        specs[name] = spec
    if not specs:
        raise RequestError(f"expected at least one --input, found none: describe them, like {EXAMPLES}")
    try:
        return Workload(
            name=jax.rpartition(":")[2],
            summary=f"{tf} against {jax}",
            source="given on the command line",
            tf=tf,
            jax=jax,
            inputs=specs,
            builds=False,
            folder=Path.cwd(),
        )
    except ValueError as error:
        raise RequestError(f"{error}, in --jax {jax}") from error
