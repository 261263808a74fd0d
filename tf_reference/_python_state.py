"""State that Python keeps from one training step to the next: a traced step would update it once."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any

import keras

from tf_reference import _python_effects
from workloads.protocol.framework import Unsupported

_HIDDEN = (_python_effects.STATE, _python_effects.RANDOM, _python_effects.CLOCK)
_COUNTED = (bool, int, float, str, type(None), list, tuple, dict, set)
"""Types of attributes in which a step may count."""


@functools.cache
def _attributes_of_keras() -> frozenset[str]:
    """The attributes that Keras itself sets. To make a model starts TensorFlow's threads, which an import must not."""
    return frozenset(vars(keras.Model()))


def check_methods(model: Any) -> None:
    """Raise where Python itself counts or draws in the methods of a step: a trace shows one of many steps.

    Raises:
      Unsupported: it does.
    """
    methods = [type(model).train_step, type(model).compute_loss]
    effect = next(
        (effect for effect in _python_effects.effects(methods, type(model)) if effect.kind in _HIDDEN),
        None,
    )
    if effect is not None:
        line = effect.source.rpartition("/")[2]
        what = {
            _python_effects.STATE: "changes what Python keeps",
            _python_effects.RANDOM: "draws by Python or NumPy",
            _python_effects.CLOCK: "reads the clock",
        }[effect.kind]
        raise Unsupported(f"it {what} at {line}, which a compiled step does once: {effect.line[:60]}")


def state_of(model: Any) -> dict[str, str]:
    """The Python state of a model and of the users' objects in it, by attribute."""
    attributes = {name: value for name, value in vars(model).items() if name not in _attributes_of_keras()}
    own = {name: value for name, value in attributes.items() if _is_of_user(type(value)) and hasattr(value, "__dict__")}
    return _counts("", attributes) | {
        name: text for owner, value in own.items() for name, text in _counts(f"{owner}.", vars(value)).items()
    }


def _counts(prefix: str, attributes: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{prefix}{name}": repr(value)
        for name, value in attributes.items()
        if name not in _attributes_of_keras() and (isinstance(value, _COUNTED) or type(value).__module__ == "itertools")
    }


def _is_of_user(kind: type) -> bool:
    """Whether a class is none of Python, Keras, TensorFlow or NumPy."""
    return kind.__module__.split(".")[0] not in {*sys.stdlib_module_names, "keras", "tensorflow", "numpy"}
