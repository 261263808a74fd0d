"""Records whose every string is one text, made from the types of results.json: no field that is added is forgotten."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import inspect

from compare.record.envelope import Record
from compare.record.workload_part import Workload

_NAMES = ("tf", "jax", "tf/jit", "jax/jit", "jax/jit vs tf/jit", "tf@tf", "jax@jax", "frontend", "memory_s", "2")
"""What pages look for by name, so that what stands under it is shown."""

_ROOMY = ("tf", "jax", "2")
"""Of these, those that a mapping of mappings has: under all of them stands the same, thousands of strings each."""


def planted_record(text: str, left_out: Collection[str] = ()) -> dict[str, Any]:
    """A record with all that one can hold, as JSON.

    Args:
      text: every string of it, and one name of every mapping: of a workload, a mode, a ratio, a side.
      left_out: fields that are missing, because what they hold keeps others from being shown.
    """
    workload = _value(inspect.type_info(Workload), text, left_out)
    return _value(inspect.type_info(Record), text, left_out) | {"schema": 1, "workloads": {text: workload}}


def _value(declared: inspect.Type, text: str, left_out: Collection[str]) -> Any:
    match declared:
        case inspect.StructType(fields=fields):
            return {
                field.encode_name: _value(field.type, text, left_out)
                for field in fields
                if field.encode_name not in ("workloads", *left_out)
            }
        case inspect.DictType(value_type=held):
            names = _ROOMY if _holds_mappings(held) else (*_NAMES, f"jax/{text}", f"tf/{text} vs {text}")
            return dict.fromkeys((*names, text), _value(held, text, left_out))
        case inspect.VarTupleType(item_type=held):
            return [_value(held, text, left_out)]
        case inspect.TupleType(item_types=held):
            return [_value(each, text, left_out) for each in held]
        case inspect.UnionType(types=options):
            return _value(min(options, key=_rank), text, left_out)
        case inspect.LiteralType(values=values):
            return "fail" if "fail" in values else values[0]
        case inspect.StrType() | inspect.AnyType():
            return text
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            return 2
    raise AssertionError(f"no value of {declared} is known")


def _holds_mappings(declared: inspect.Type) -> bool:
    match declared:
        case inspect.DictType():
            return True
        case inspect.StructType(fields=fields):
            return any(_holds_mappings(field.type) for field in fields)
        case inspect.VarTupleType(item_type=held):
            return _holds_mappings(held)
        case inspect.UnionType(types=options):
            return any(map(_holds_mappings, options))
    return False


def _rank(option: inspect.Type) -> int:
    """What may be a string is one; a number that may be written as a string is a number."""
    order = (inspect.StrType, inspect.FloatType, inspect.LiteralType, inspect.NoneType)
    return order.index(type(option)) if type(option) in order else 0
