"""Mixed precision by dimensions: which type a model computes in while its weights stay float32."""

from __future__ import annotations

from collections.abc import Iterable

from workloads.core.spec import Dimensions

NARROW = ("bfloat16", "float16")


def mixed_sizes(dimensions: Dimensions, narrow: Iterable[str] = NARROW) -> dict[str, dict[str, int]]:
    """These dimensions at sizes mixed_bfloat16 and mixed_float16, or those of the narrow types that are named."""
    return {f"mixed_{name}": {**dimensions, name: 1} for name in narrow}


def narrow_dtype(dimensions: Dimensions) -> str:
    """The type that {"bfloat16": 1} or {"float16": 1} among the dimensions selects; "" for none.

    Raises:
      ValueError: both narrow types at once.
    """
    dtypes = [name for name in NARROW if dimensions.get(name)]
    if len(dtypes) > 1:
        raise ValueError("expected one narrow type, found bfloat16 and float16: set one of them to 0")
    return dtypes[0] if dtypes else ""


def compute_dtype(dimensions: Dimensions, dtype: str) -> str:
    """The type of activations and products of a twin that is built in a type.

    One that is built in float64 computes in float64: mixed precision is rounding, and float64 judges the rest.

    Raises:
      ValueError: both narrow types at once.
    """
    narrow = narrow_dtype(dimensions)
    return narrow if narrow and dtype == "float32" else dtype
