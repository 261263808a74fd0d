"""Fields of a workload of other kinds than they are declared with: refused where it is made, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_TEXT = ((str,), "a text")
_SPECS = ((Mapping, Callable), "a mapping of names to ArraySpec, or a function of the dimensions that gives one")
_FIELDS: dict[str, tuple[tuple[Any, ...], str]] = {
    "name": _TEXT,
    "tf": ((str,), 'a text like "my_tf.py:f"'),
    "jax": ((str,), 'a text like "my_jax.py:f"'),
    "inputs": _SPECS,
    "weights": _SPECS,
    "sizes": ((Mapping,), "a mapping of sizes to their dimensions"),
    "ranges": ((Mapping,), "a mapping of dimensions to their first and last size"),
}


def check_fields(workload: object, spec: type) -> None:
    """Let a workload pass whose fields, and what they map to, are what they are declared to be.

    Raises:
      TypeError: one is not: its name, what was expected and found.
    """
    for name, (kinds, what) in _FIELDS.items():
        value = getattr(workload, name)
        if not isinstance(value, kinds):
            raise TypeError(f"expected {what} for Workload.{name}, found {_value_text(value)}")
    _check_values(workload, "inputs", (spec,), "an ArraySpec")
    _check_values(workload, "weights", (spec, np.ndarray), "an ArraySpec or an array")
    _check_values(workload, "sizes", (Mapping,), "a mapping of dimensions to integers")


def _check_values(workload: object, name: str, kinds: tuple[type, ...], what: str) -> None:
    field_value = getattr(workload, name)
    for key, value in field_value.items() if isinstance(field_value, Mapping) else ():
        if not isinstance(value, kinds):
            raise TypeError(f"expected {what} for {key!r} in Workload.{name}, found {_value_text(value)}")


def _value_text(value: object) -> str:
    return "none" if value is None else f"a value of type {type(value).__name__}"
