"""A loss, optimizer, schedule, metric or regularizer of Keras as data: nothing of it is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import keras

from tf_reference import _keras_config
from workloads.protocol.architecture import Described, Inner
from workloads.protocol.inspection import Config

_UNSAID = (NotImplementedError, TypeError, AttributeError, ValueError)


def describe(value: Any) -> Described:
    """A loss, optimizer, schedule, metric or regularizer as data."""
    kind = value if inspect.isfunction(value) else type(value)
    own = kind.__module__.split(".")[0] in ("keras", "tf_keras")
    schedule: dict[str, Inner] = {}
    try:
        config = {} if inspect.isfunction(value) else {**_function_arguments(value), **value.get_config()}
    except _UNSAID:
        schedule = _schedule(value)
        config, own = _without_schedule(value) if schedule else {}, own and bool(schedule)
    inner = schedule | {
        name: _of_config(argument)
        for name, argument in config.items()
        if isinstance(argument, Mapping) and "class_name" in argument
    }
    plain = _keras_config.plain_config({name: argument for name, argument in config.items() if name not in inner})
    return Described(kind.__name__, own, plain, inner=inner)


def config_of(optimizer: Any) -> Config:
    """The config of an optimizer; without its schedule, where the schedule has no config."""
    try:
        return optimizer.get_config()
    except _UNSAID:
        return _without_schedule(optimizer) if _schedule(optimizer) else {}


def _schedule(optimizer: Any) -> dict[str, Inner]:
    """The schedule of an optimizer that says nothing of itself, as "learning_rate"; nothing of another value."""
    schedule = getattr(optimizer, "_learning_rate", None)
    if not isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        return {}
    return {"learning_rate": Inner(type(schedule).__name__, own=False)}


def _without_schedule(optimizer: Any) -> Config:
    """The config of an optimizer without its schedule."""
    schedule, optimizer._learning_rate = optimizer._learning_rate, None
    try:
        return optimizer.get_config()
    finally:
        optimizer._learning_rate = schedule


def _function_arguments(value: Any) -> Config:
    """The keyword arguments that a loss passes to its function: Huber's config lacks its delta."""
    arguments = getattr(value, "_fn_kwargs", None)
    return arguments if isinstance(arguments, Mapping) else {}


def _of_config(value: Config) -> Inner:
    module, config = str(value.get("module") or ""), value.get("config")
    plain = _keras_config.plain_config(config) if isinstance(config, Mapping) else {}
    return Inner(str(value["class_name"]), module.split(".")[0] == "keras", plain)
