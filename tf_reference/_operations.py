"""The operations that TensorFlow registers: their kernels by device, gradients, and whether they have state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from tf_reference import _private
from workloads.protocol.raw_operations import Gradient, Registered, Registry


def registry() -> Registry:
    """Every type of operation by name."""
    kernels = _kernels()
    operations = {
        definition.name: Registered(
            public=hasattr(tf.raw_ops, definition.name),
            stateful=definition.is_stateful,
            gradient=_gradient(definition.name),
            kernels=kernels.get(definition.name, {}),
        )
        for definition in sorted(_private.operation_definitions(), key=lambda definition: definition.name)
    }
    return Registry({"tensorflow": tf.__version__, "keras": keras.__version__}, operations)


def _kernels() -> dict[str, dict[str, dict[str, tuple[str, ...]]]]:
    """By operation, device and attribute, the dtypes of any kernel."""
    # Those of XLA are registered by the first compilation, not by the import.
    tf.function(lambda x: x + 1, jit_compile=True)(tf.zeros(()))
    by_operation: dict[str, dict[str, dict[str, set[str]]]] = {}
    for kernel in _private.kernel_definitions():
        of_device = by_operation.setdefault(kernel.op, {}).setdefault(kernel.device_type, {})
        for constraint in kernel.constraint:
            dtypes = map(_dtype, constraint.allowed_values.list.type)
            of_device.setdefault(constraint.name, set()).update(dtypes)
    return {
        name: {
            device: {attribute: tuple(sorted(dtypes)) for attribute, dtypes in sorted(attributes.items()) if dtypes}
            for device, attributes in sorted(devices.items())
        }
        for name, devices in by_operation.items()
    }


def _dtype(number: int) -> str:
    return tf.dtypes.as_dtype(number).name


def _gradient(name: str) -> Gradient:
    try:
        return "none" if _private.gradient_function(name) is None else "registered"
    except LookupError:
        return "missing"


def input_names(definition: Any, node: Any) -> Sequence[str]:
    """By position of a node's input, its name; several inputs of a list have the list's."""
    return [argument.name for argument in definition.input_arg for _ in range(_length(argument, node.attr))]


def _length(argument: Any, attributes: Mapping[str, Any]) -> int:
    if argument.number_attr:
        return attributes[argument.number_attr].i
    return len(attributes[argument.type_list_attr].list.type) if argument.type_list_attr else 1
