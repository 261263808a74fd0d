"""Conditions over the attributes of a layer: true, false, or None where the layer does not say."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from workloads.protocol.inspection import Layer

_ACTIVATIONS = ("activation", "recurrent_activation")
_NARROW = ("float16", "bfloat16")


@dataclass(frozen=True)
class Facts:
    """A layer, and what its model has around it.

    Attributes:
      layer: whose attributes are asked.
      masked: whether any layer of the model attaches a mask to what it returns.
      mixed: whether any layer of the model computes in a narrow type.
      inner: the layer that it wraps, if any.
    """

    layer: Layer
    masked: bool = False
    mixed: bool = False
    inner: Layer | None = None

    def get(self, name: str) -> Any:
        """An attribute; None where the layer has none by that name, or none is set."""
        return self.layer.config.get(name)

    def has(self, name: str) -> bool:
        """Whether the layer says what the attribute is."""
        return name in self.layer.config


Condition = Callable[[Facts], bool | None]


def always(facts: Facts) -> bool | None:
    """Holds whatever the attributes are."""
    return True


def is_masked(facts: Facts) -> bool | None:
    """A layer of the model attaches a mask."""
    return facts.masked


def narrow(facts: Facts) -> bool | None:
    """The layer computes in float16 or bfloat16."""
    return facts.layer.policy.removeprefix("mixed_") in _NARROW if facts.layer.policy else None


def is_mixed(facts: Facts) -> bool | None:
    """The layer computes in a narrow type and keeps its weights in float32."""
    return facts.layer.policy.startswith("mixed_") if facts.layer.policy else None


def float16(facts: Facts) -> bool | None:
    """The layer computes in float16."""
    return facts.layer.policy.endswith("_float16") or facts.layer.policy == "float16" if facts.layer.policy else None


def wide_among_narrow(facts: Facts) -> bool | None:
    """The layer computes in float32 though others of its model do not."""
    return facts.layer.policy == "float32" and facts.mixed if facts.layer.policy else None


def called_again(facts: Facts) -> bool | None:
    """The layer is called more than once."""
    return facts.layer.calls > 1 if facts.layer.calls else None


def is_frozen(facts: Facts) -> bool | None:
    """The layer's weights are not trained."""
    return facts.get("trainable") is False if facts.has("trainable") else None


def equals(name: str, *values: Any) -> Condition:
    """The attribute is one of these values."""
    return lambda facts: facts.get(name) in values if facts.has(name) else None


def differs(name: str, value: Any) -> Condition:
    """The attribute is another value, numbers to within a millionth."""

    def condition(facts: Facts) -> bool | None:
        attribute = facts.get(name)
        if not facts.has(name):
            return None
        if _is_number(attribute) and _is_number(value):
            return not math.isclose(attribute, value, rel_tol=1e-6, abs_tol=1e-12)
        return attribute != value

    return condition


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def any_above(name: str, least: float) -> Condition:
    """The attribute, or any of its numbers, is larger."""

    def condition(facts: Facts) -> bool | None:
        attribute = facts.get(name)
        if not facts.has(name):
            return None
        numbers = [
            number for number in (attribute if isinstance(attribute, list) else [attribute]) if _is_number(number)
        ]
        return any(number > least for number in numbers)

    return condition


def activation(name: str) -> Condition:
    """The activation, or that of a recurrence, is this one."""

    def condition(facts: Facts) -> bool | None:
        values = [facts.get(attribute_name) for attribute_name in _ACTIVATIONS if facts.has(attribute_name)]
        return name in values if values else None

    return condition


def both(*conditions: Condition) -> Condition:
    """All of them hold; false as soon as one is false."""

    def condition(facts: Facts) -> bool | None:
        answers = [conjunct(facts) for conjunct in conditions]
        return False if False in answers else None if None in answers else True

    return condition


def inner(condition: Condition) -> Condition:
    """The condition holds of the layer that this one wraps."""
    return lambda facts: condition(replace(facts, layer=facts.inner)) if facts.inner else None


def symmetric_padding(facts: Facts) -> bool | None:
    """Whether the padding is not zero, and equal in front and behind along every axis."""
    padding = facts.get("padding")
    if not isinstance(padding, list):
        return None
    pairs = [amount if isinstance(amount, list) else [amount, amount] for amount in padding]
    return all(front == behind > 0 for front, behind in pairs)


def uneven_padding(facts: Facts) -> bool | None:
    """Along an axis with a stride, SAME pads more behind than in front; so it may where the size is not known."""
    strides, kernel, dilation = (_sizes(facts.get(name)) for name in ("strides", "kernel_size", "dilation_rate"))
    if facts.get("data_format") == "channels_first" or not strides or len(strides) != len(kernel):
        return None
    sizes = facts.layer.shape[1:-1] if len(facts.layer.shape) == len(strides) + 2 else (None,) * len(strides)
    spread = [
        1 + (width - 1) * (dilation[axis] if len(dilation) == len(kernel) else 1) for axis, width in enumerate(kernel)
    ]
    axes = zip(sizes, strides, spread, strict=True)
    return any(stride > 1 and width > 1 and _is_uneven(size, stride, width) for size, stride, width in axes)


def _sizes(value: Any) -> list[int]:
    return [size for size in value if isinstance(size, int)] if isinstance(value, list) else []


def _is_uneven(size: int | None, stride: int, width: int) -> bool:
    if size is None:
        return True
    return max((math.ceil(size / stride) - 1) * stride + width - size, 0) % 2 == 1


def nothing_cropped_behind(facts: Facts) -> bool | None:
    """A side is cropped in front only."""
    cropping = facts.get("cropping")
    if not isinstance(cropping, list):
        return None
    pairs: list[Any] = cropping if any(isinstance(amount, list) for amount in cropping) else [cropping]
    return any(isinstance(pair, list) and pair[1] == 0 for pair in pairs)


def any_of(names: Collection[str]) -> Condition:
    """Any of these attributes is set to something that is true."""

    def condition(facts: Facts) -> bool | None:
        values = [facts.get(name) for name in names if facts.has(name)]
        return any(values) if values else None

    return condition
