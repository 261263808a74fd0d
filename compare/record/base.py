"""The base of all parts of a record: frozen structs whose fields may all be missing."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from compare.record.vocabulary import Judgement

_Value = TypeVar("_Value")

NON_FINITE = ("inf", "-inf", "nan")
"""How a record writes the numbers that JSON has not."""

Scalar = str | int | float | bool | None
Verdict = Judgement | None

if TYPE_CHECKING:
    Text = str
    Number = float | None
    Count = int | None
    Numbers = tuple[float | None, ...]
    Indices = tuple[int, ...]
    Texts = tuple[str, ...]
    Many = tuple[_Value, ...]
    Named = Mapping[str, _Value]
else:
    # In a file any of these may be null, and so may what they hold; `Part` makes one form of it. Whole numbers stay so.
    Text = str | None
    Number = int | float | Literal["inf", "-inf", "nan"] | None
    Count = Annotated[int, msgspec.Meta(ge=0)] | None
    Numbers = tuple[Number, ...] | None
    Indices = tuple[int, ...] | None
    Texts = tuple[str, ...] | None
    Many = tuple[_Value | None, ...] | None
    Named = dict[str, _Value | None] | None

Interval = tuple[Number, Number] | None


class Part(msgspec.Struct, frozen=True):
    """Any part of a record: nothing in it must be there.

    What is missing or null is None; a text or a collection is empty then. No collection but of numbers holds a null: a
    name keeps a part that holds nothing, anything else is left out. Numbers that are not finite are floats here, and
    strings in a file.
    """

    def __post_init__(self) -> None:
        for name, change in _changes(type(self)):
            value = getattr(self, name)
            new_value = change(value)
            if new_value is not value:
                msgspec.structs.force_setattr(self, name, new_value)


def require(value: _Value | None) -> _Value:
    """Return a value that must be there.

    Raises:
      ValueError: it is missing. A judge that took another number in its place would be guessing.
    """
    if value is None:
        raise ValueError("expected a value that every new record has, found none")
    return value


@functools.cache
def _changes(kind: type[Part]) -> tuple[tuple[str, Any], ...]:
    """By field, what makes one form of its values; fields of one form only are left out."""
    hints = get_type_hints(kind)
    changes = ((name, _change(hints[name])) for name in kind.__struct_fields__)
    return tuple((name, change) for name, change in changes if change is not None)


def _change(hint: Any) -> Any:
    """A function that normalizes the values of a type."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if set(options) == {str, type(None)}:
        return _text
    for option in options:
        match get_origin(option):
            case origin if origin is dict:
                return functools.partial(_mapping, item_types=_item_types(option), change=_change(get_args(option)[1]))
            case origin if origin is tuple and get_args(option)[-1] is Ellipsis:
                return functools.partial(_sequence, item_types=_item_types(option), change=_change(get_args(option)[0]))
            case origin if origin is tuple:
                return _interval
            case origin if origin is Literal and get_args(option) == NON_FINITE:
                return _number
    return None


def _item_types(hint: Any) -> tuple[Any, ...]:
    """The types of a collection's items besides null."""
    item = get_args(hint)[1 if get_origin(hint) is dict else 0]
    options = get_args(item) if get_origin(item) in (Union, UnionType) else (item,)
    return tuple(option for option in options if option is not type(None))


def _part_of(item_types: tuple[Any, ...]) -> type[Part] | None:
    parts = [option for option in item_types if isinstance(option, type) and issubclass(option, Part)]
    return parts[0] if parts else None


def _text(value: Any) -> Any:
    return "" if value is None else value


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) else value


def _interval(value: Any) -> Any:
    return value and tuple(_number(end) for end in value)


def _sequence(value: Any, item_types: tuple[Any, ...], change: Any) -> Any:
    items = [item for item in value or () if item is not None or _part_of(item_types) is None]
    return tuple(map(change, items) if change else items)


def _mapping(value: Any, item_types: tuple[Any, ...], change: Any) -> Any:
    content = dict(value or {})
    part = _part_of(item_types)
    if part is not None:
        # A name without a part stays: dropped, a workload that is null would read as one that was never asked for.
        return {name: part() if item is None else item for name, item in content.items()}
    if item_types in ((str,), (int,)):
        return {name: item for name, item in content.items() if item is not None}
    return {name: change(item) for name, item in content.items()} if change else content
