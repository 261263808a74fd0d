"""Names the layer of a config that Keras does not build in its safe mode, and the reason, in one line."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping

import keras
import tensorflow as tf

from tf_reference import _keras_config
from workloads.protocol.inspection import Config

UNBUILT = (TypeError, ValueError, AttributeError, LookupError, RuntimeError, ImportError, ArithmeticError, MemoryError,
           AssertionError, tf.errors.OpError)  # fmt: skip
"""The errors that Keras raises for a config that is not its own."""

IN_CODE = "name the code that makes the model, as FILE.py:build"

_MOST_CHARACTERS = 300
_DUMPS = re.compile(r"\s*(\n\nconfig=|config=\{|(Full|Full object) config: |If you trust the source of the artifact)")
"""Where Keras repeats the whole config, or says how to run code of a file."""
_ENCOUNTERED = "Exception encountered: "
_LOCATED = re.compile(r"Could not locate (?:class|function) \'([^\']*)\'|Unknown layer: \'([^\']*)\'")
_BYTECODE = re.compile(r"Python lambda")


def reason_not_built(config: Config, error: Exception) -> str:
    """The layer that is the cause, its class, what Keras says of it, and the way out."""
    for layer in _innermost_layers(config):
        try:
            keras.saving.deserialize_keras_object(copy.deepcopy(layer), safe_mode=True)
        except UNBUILT as of_layer:
            inner = layer.get("config")
            name = (inner.get("name") if isinstance(inner, Mapping) else "") or layer.get("name") or "without a name"
            return _describe(f"layer {str(name)[:80]} ({str(layer.get('class_name'))[:80]}): ", cause(of_layer))
    return _describe("", cause(error))


def cause(error: Exception) -> str:
    """The last statement of Keras' message, without the configs and the history around it."""
    text = str(error).rpartition(_ENCOUNTERED)[2]
    first = _DUMPS.split(text, maxsplit=1)[0] or text
    message = " ".join(first.split()).rstrip(".")
    return message[:_MOST_CHARACTERS] or type(error).__name__


def _describe(layer: str, message: str) -> str:
    match = _LOCATED.search(message)
    if match:
        missing = match[1] or match[2]
        return f"{layer}{missing} is not of Keras {keras.__version__}: add --custom FILE.py:{missing}, or {IN_CODE}"
    if _BYTECODE.search(message):
        return f"{layer}a Python lambda as bytecode, which is not run: {IN_CODE}"
    return f"{layer}{message}: {IN_CODE}"


def _innermost_layers(description: Config) -> Iterator[Config]:
    """The layers of a model and of the models in it, in order."""
    config = description.get("config")
    layers = config.get("layers") if isinstance(config, Mapping) else None
    if not isinstance(layers, list) or not _keras_config.is_container({"module": "keras", **description}):
        yield description
        return
    for layer in layers:
        if isinstance(layer, Mapping) and isinstance(layer.get("class_name"), str):
            yield from _innermost_layers(layer)
