"""How a weight that a layer of the user's adds is set before it is trained: Keras does not keep it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import keras

from tf_reference import _keras_config
from workloads.protocol.inspection import Plain

_NOTED = "_initializer_of_jaxport"
_CLASS = "class_name"


@contextmanager
def remembering() -> Iterator[None]:
    """Record the initializer of every weight that a layer adds in the block."""
    of_layers: Any = keras.layers.Layer
    original = of_layers.add_weight

    @wraps(original)
    def add_weight(layer: Any, *positional: Any, **keywords: Any) -> Any:
        variable = original(layer, *positional, **keywords)
        setattr(variable, _NOTED, keywords.get("initializer", positional[1] if len(positional) > 1 else None))
        return variable

    of_layers.add_weight = add_weight
    try:
        yield
    finally:
        of_layers.add_weight = original


def initializer_of(variable: Any) -> Mapping[str, Plain]:
    """The class of a weight's initializer and its attributes, as plain data; nothing of one that is not known."""
    if not hasattr(variable, _NOTED):
        return {}
    note = getattr(variable, _NOTED)
    if note is None:
        # As Keras chooses it.
        note = "glorot_uniform" if "float" in str(variable.dtype) else "zeros"
    initializer = keras.initializers.get(note)
    if not isinstance(initializer, keras.initializers.Initializer):
        return {_CLASS: getattr(initializer, "__name__", type(initializer).__name__)}
    own = type(initializer).__module__.partition(".")[0] == "keras"
    return {**(_keras_config.plain_config(initializer.get_config()) if own else {}), _CLASS: type(initializer).__name__}
