"""A model of Keras 2 that a user's file makes with tf_keras, as the file that it saves: Keras 3 builds that again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from workloads.protocol.framework import Unsupported

_PACKAGE = "tf_keras"
_FILE = "keras_2.h5"
_UNSAVED = (NotImplementedError, TypeError, ValueError, RuntimeError, OSError)


def is_of_keras_2(model: Any) -> bool:
    """Whether an object is a layer or model of tf_keras."""
    of_package = any(kind.__module__.partition(".")[0] == _PACKAGE for kind in type(model).__mro__)
    return of_package and not isinstance(model, keras.Layer) and hasattr(model, "save")


def save(model: Any, reference: str, scratch: Path) -> Path:
    """The file of a model of tf_keras.

    Raises:
      Unsupported: it has a call of its own, which no file holds.
    """
    path = scratch / _FILE
    try:
        model.save(path, save_format="h5")
    except _UNSAVED as error:
        raise Unsupported(
            f"expected a model of Keras 3, or a Functional or Sequential one of tf_keras at {reference}, found the "
            f"{type(model).__name__} of tf_keras, which saves no file: import keras in place of tf_keras there"
        ) from error
    return path


def kind_of(model: Any) -> str:
    """The class of an object with its package: a model of another Keras has the same name."""
    package = type(model).__module__.partition(".")[0]
    return f"{type(model).__name__} of {package}" if package != "builtins" else type(model).__name__
