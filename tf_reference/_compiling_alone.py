"""One node of a graph given to XLA by itself: the HLO that it becomes, and the inputs that have to be constants."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tf_reference import _private
from tf_reference._graph_nodes import definition
from tf_reference._operations import input_names
from workloads.protocol.raw_operations import Trial

REFUSALS = (tf.errors.OpError, ValueError, TypeError, NotImplementedError)
"""Errors that TensorFlow raises for what it cannot compile: the class depends on the call."""

_NODE = "node"
_CONSTANT = re.compile(r"Input (\d+) to node `[^`]*` with op (\w+) must be a compile-time constant")
_LACKING = re.compile(r"No registered '(\w+)' OpKernel for XLA_CPU_JIT")
_OTHER_TYPES = "(OpKernel was found, but attributes didn't match)"
_NO_VALUE = re.compile(r"static value of|unknown static value")
_LONGEST_REASON = 200

PLUMBING = frozenset({"parameter", "tuple", "get-tuple-element"})
"""Opcodes that any module has for what goes in and out."""


def can_stand_alone(operation: Any) -> bool:
    """Whether a node can be given to XLA with its inputs as parameters.

    What it holds of resources and variants cannot: TensorFlow crashes where a parameter is one.
    """
    tensors = [*operation.inputs, *operation.outputs]
    has_handles = any(tensor.dtype in (tf.resource, tf.variant) for tensor in tensors)
    return (
        not has_handles
        and bool(operation.outputs)
        and all(tensor.shape.is_fully_defined() for tensor in operation.inputs)
    )


def alone(operation: Any, library: Any) -> Trial:
    """Compile one node by XLA; inputs become constants one by one if XLA requires it."""
    call = _Call(operation, library)
    names = input_names(definition(operation.type), operation.node_def)
    while True:
        constants = tuple(dict.fromkeys(names[index] for index in call.constants))
        try:
            opcodes = call.lowered()
        except REFUSALS as error:
            index = _constant_position(error, operation)
            if index is None or index in call.constants:
                return Trial("not tried" if _NO_VALUE.search(str(error)) else "refused", reason(error), constants)
            value = tf.get_static_value(operation.inputs[index])
            if value is None:
                return Trial("not tried", "", tuple(dict.fromkeys((*constants, names[index]))))
            call.constants[index] = value
        else:
            return Trial("compiled", "", constants, tuple(sorted(opcodes - PLUMBING)), alone=True)


def _constant_position(error: Exception, operation: Any) -> int | None:
    """The position of the input that has to be a constant."""
    match = _CONSTANT.search(str(error))
    return int(match[1]) if match and match[2] == operation.type else None


@dataclass
class _Call:
    operation: Any
    library: Any
    constants: dict[int, Any] = field(default_factory=dict)

    def lowered(self) -> frozenset[str]:
        """The opcodes of its HLO.

        Raises:
          Exception: one of REFUSALS.
        """
        input_numbers = [index for index in range(len(self.operation.inputs)) if index not in self.constants]
        graph = _graph(self.operation, self.library, self.constants)
        outputs = [f"{_NODE}:{index}" for index in range(len(self.operation.outputs))]

        def call(*arguments: Any) -> Any:
            inputs = {f"{_input(index)}:0": argument for index, argument in zip(input_numbers, arguments, strict=True)}
            return tf.graph_util.import_graph_def(graph, inputs, outputs, name="")

        tensors = [self.operation.inputs[index] for index in input_numbers]
        return opcodes_of(call, [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors])


def opcodes_of(function: Any, specs: Sequence[Any]) -> frozenset[str]:
    """The opcodes of the HLO of a function.

    Raises:
      Exception: one of REFUSALS.
    """
    compiled = tf.function(function, jit_compile=True, autograph=False)
    return _private.opcodes(compiled.experimental_get_compiler_ir(*specs)(stage="hlo_serialized"))


def _graph(operation: Any, library: Any, constants: Mapping[int, Any]) -> Any:
    """The node, with constants before it; its other inputs are left to be mapped."""
    graph = tf.compat.v1.GraphDef(library=library, versions=operation.graph.as_graph_def().versions)
    node = graph.node.add()
    node.CopyFrom(operation.node_def)
    node.name = _NODE
    node.attr.pop("_class", None)
    del node.input[:]
    node.input.extend(f"{_input(index)}:0" for index in range(len(operation.inputs)))
    for index, value in constants.items():
        constant_node = graph.node.add(name=_input(index), op="Const")
        dtype = operation.inputs[index].dtype
        constant_node.attr["dtype"].type = dtype.as_datatype_enum
        constant_node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
    return graph


def _input(index: int) -> str:
    return f"input{index}"


def reason(error: Exception) -> str:
    """The first line of what TensorFlow says, without the names that it gave; of a missing kernel, which."""
    text = str(error)
    lacking = _LACKING.search(text)
    if lacking:
        return f"no kernel of {lacking[1]} for XLA" + (" with these dtypes" if _OTHER_TYPES in text else "")
    lines = text.removeprefix("Failed getting HLO text: '").strip().splitlines()
    return (lines or ["nothing said"])[0][:_LONGEST_REASON]
