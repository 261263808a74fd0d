"""What each kind of request is answered with, as declared types: a recorded side may have been written by anyone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from compare.sides.wire import DTYPES
from workloads._spec import Arrays

Size = Annotated[int, msgspec.Meta(ge=0)]
Scalar = str | int | float | bool | None


class Leaf(msgspec.Struct, frozen=True):
    """A parameter or result of a program."""

    name: str
    shape: tuple[Size, ...]
    dtype: str

    def __post_init__(self) -> None:
        """Refuse what NumPy has not.

        Raises:
          ValueError: another dtype.
        """
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype {self.dtype[:80]!r}")


class Parameter(Leaf, frozen=True, kw_only=True):
    """One that something fills."""

    kind: Literal["input", "weight", "state"]


class Signature(msgspec.Struct, frozen=True):
    """Parameters and results of a program."""

    parameters: tuple[Parameter, ...]
    results: tuple[Leaf, ...]


class Program(Signature, frozen=True):
    """A program: texts of its stages, and lines of its source by op_name."""

    stages: dict[str, str]
    sources: dict[str, str] = {}


class Donation(Signature, frozen=True, kw_only=True):
    """A compiled training step, and the positions of its donated parameters."""

    donated: tuple[Size, ...]

    def __post_init__(self) -> None:
        """Refuse positions of parameters that there are not.

        Raises:
          ValueError: one is too large.
        """
        if max(self.donated, default=-1) >= len(self.parameters):
            raise ValueError(f"donated parameter {max(self.donated)} of {len(self.parameters)}")


class Loaded(msgspec.Struct, frozen=True):
    """The modes of each pass, and the compiler options of mode `tuned`."""

    modes: dict[Literal["forward", "gradients", "step"], list[str]]
    compiler_options: dict[str, Scalar] = {}


class Compiled(msgspec.Struct, frozen=True):
    """The handle of a compiled program, and seconds of compiling it."""

    handle: int
    compile_s: float


class Optimized(msgspec.Struct, frozen=True):
    """Bytes of temporary memory; None where the compiler does not say."""

    temp_bytes: int | None


KernelRun = tuple[str, int, float, float | None]

VALUES: Mapping[str, Any] = {
    "environment": dict[str, Any],
    "load": Loaded,
    "outputs": None,
    "trajectory": None,
    "execute": None,
    "unroll": None,
    "program": Program,
    "compile": Compiled,
    "optimized": Optimized,
    "profile": list[str | list[KernelRun]],
    "donation": Donation,
}
"""By method, the type of the value; None where arrays are all of it."""

_BYTES = {"program": "artifact", "optimized": "module", "donation": "optimized"}
"""By method, the array that is a file as bytes."""


def unfit(method: str, value: Any, arrays: Arrays) -> str:
    """What makes a value of its method's type, and arrays, no reply to it; empty where nothing does."""
    if method == "profile" and len({type(each) for each in value}) > 1:
        return "names of kernels among calls"
    if VALUES[method] is None and not arrays:
        return "no arrays"
    wanted = _BYTES.get(method)
    if wanted is None or wanted not in arrays:
        return f"no array {wanted!r}" if wanted else ""
    array = arrays[wanted]
    return "" if array.dtype == np.uint8 and array.ndim == 1 else f"{array.dtype} of {array.ndim} axes for {wanted!r}"
