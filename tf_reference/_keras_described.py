"""A loss, optimizer, schedule, metric or regularizer of Keras as data: nothing of it is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from tf_reference import _keras_config
from workloads._architecture import Described, Inner

_UNSAID = (NotImplementedError, TypeError, AttributeError, ValueError)


def described(value: Any) -> Described:
    """A loss, optimizer, schedule, metric or regularizer as data."""
    kind = value if inspect.isfunction(value) else type(value)
    own = kind.__module__.split(".")[0] in ("keras", "tf_keras")
    try:
        config = {} if inspect.isfunction(value) else {**_given(value), **value.get_config()}
    except _UNSAID:
        config, own = {}, False
    inner = {
        name: _of_config(argument)
        for name, argument in config.items()
        if isinstance(argument, Mapping) and "class_name" in argument
    }
    plain = _keras_config.plain_config({name: argument for name, argument in config.items() if name not in inner})
    return Described(kind.__name__, own, plain, inner)


def _given(value: Any) -> Mapping[str, Any]:
    """What a loss hands to its function: Huber's config leaves its delta out."""
    given = getattr(value, "_fn_kwargs", None)
    return given if isinstance(given, Mapping) else {}


def _of_config(value: Mapping[str, Any]) -> Inner:
    module, config = str(value.get("module") or ""), value.get("config")
    plain = _keras_config.plain_config(config) if isinstance(config, Mapping) else {}
    return Inner(str(value["class_name"]), module.split(".")[0] == "keras", plain)
