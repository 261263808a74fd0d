"""How a weight that a layer of the user's adds is set before it is trained: Keras does not keep it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import keras

from tf_reference import _keras_config
from workloads._inspection import Plain

_NOTED = "_initializer_of_jaxport"
_CLASS = "class_name"


@contextmanager
def remembering() -> Iterator[None]:
    """Inside, every weight that a layer adds remembers its initializer."""
    of_layers: Any = keras.layers.Layer
    original = of_layers.add_weight

    @wraps(original)
    def add_weight(layer: Any, *given: Any, **named: Any) -> Any:
        variable = original(layer, *given, **named)
        setattr(variable, _NOTED, named.get("initializer", given[1] if len(given) > 1 else None))
        return variable

    of_layers.add_weight = add_weight
    try:
        yield
    finally:
        of_layers.add_weight = original


def initializer_of(variable: Any) -> Mapping[str, Plain]:
    """The class of a weight's initializer and its attributes, as plain data; nothing of one that is not known.

    Args:
      variable: of a layer.
    """
    if not hasattr(variable, _NOTED):
        return {}
    told = getattr(variable, _NOTED)
    if told is None:
        # As Keras chooses it.
        told = "glorot_uniform" if "float" in str(variable.dtype) else "zeros"
    made = keras.initializers.get(told)
    if not isinstance(made, keras.initializers.Initializer):
        return {_CLASS: getattr(made, "__name__", type(made).__name__)}
    own = type(made).__module__.partition(".")[0] == "keras"
    return {**(_keras_config.plain_config(made.get_config()) if own else {}), _CLASS: type(made).__name__}
