"""Calls of Keras layers, with something else in their place for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import keras

Instead = Callable[[Callable[..., Any], Any, tuple[Any, ...], Mapping[str, Any]], Any]
"""Keras' own call, the layer, what it is given by position, and by name -> what the call returns."""


@contextmanager
def replaced_attribute(layer: Any, name: str, value: Any) -> Iterator[None]:
    """Inside, an attribute of a layer is another."""
    # Not by Keras' own way to set attributes: of a layer that is built it refuses some.
    attributes = vars(layer)
    before = {name: attributes[name]} if name in attributes else {}
    attributes[name] = value
    try:
        yield
    finally:
        del attributes[name]
        attributes.update(before)


@contextmanager
def replaced_calls(instead: Instead) -> Iterator[None]:
    """Inside, every call of a Keras layer is handed to a function, which may call Keras' own."""
    original = keras.Layer.__call__

    def call_instead(self: Any, *positional: Any, **keywords: Any) -> Any:
        return instead(original, self, positional, keywords)

    keras.Layer.__call__ = call_instead
    try:
        yield
    finally:
        keras.Layer.__call__ = original
