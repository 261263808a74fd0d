"""The content of a TensorFlow model, as plain data that crosses between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Plain = bool | int | float | str | None | list[Any] | dict[str, Any]
"""An attribute: what JSON has."""

Config = Mapping[str, Any]
"""An object of Keras, or its attributes, as `get_config()` and files of models have them: JSON that Keras defines."""


@dataclass(frozen=True)
class Layer:
    """One layer of Keras, or one operation of keras.ops between layers.

    Attributes:
      name: with those of the models and wrappers around it, "encoder/dense".
      module: of its class: "keras.layers" of Keras' own, "keras.ops" of an operation.
      class_name: of its class.
      config: its attributes, as far as it says them.
      policy: the dtype policy, "" where it has none.
      weights: shape and dtype by name.
      calls: how often it is called; 0 where that is not known.
      shape: of its input; empty where that is not known. None is a size that is not fixed.
      source: FILE:LINE of its class, where that is not Keras' own.
      bytecode: whether its config holds a function as marshalled bytecode.
      path: as ports and weights name it, by attributes in a class of the user's own; "" where that is not known.
    """

    name: str
    module: str
    class_name: str
    config: Mapping[str, Plain] = field(default_factory=dict)
    policy: str = ""
    weights: Mapping[str, str] = field(default_factory=dict)
    calls: int = 0
    shape: tuple[int | None, ...] = ()
    source: str = ""
    bytecode: bool = False
    path: str = ""


@dataclass(frozen=True)
class Operation:
    """One node of a graph, or of a function that it calls.

    Attributes:
      type: of operation.
      name: of the node.
      function: that it stands in; "" is the graph that was traced.
      inputs: dtypes; empty where TensorFlow does not know the operation.
      outputs: dtypes; likewise.
      shapes: of its outputs: None where the rank is not known, and for a size that is not.
      attributes: those that are numbers, strings, dtypes or lists of these.
      source: FILE:LINE of the innermost line of the user.
      in_layer: whether a layer of Keras made it.
      registered: whether this TensorFlow has such an operation.
      stateful: whether TensorFlow says that it has state or side effects.
      of_constants: whether it depends on constants alone: TensorFlow may compute it before XLA sees it.
      kernel: the sizes of a convolution's kernel along the axes that it moves; empty where they are not known.
    """

    type: str
    name: str
    function: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    shapes: tuple[tuple[int | None, ...] | None, ...] = ()
    attributes: Mapping[str, Plain] = field(default_factory=dict)
    source: str = ""
    in_layer: bool = False
    registered: bool = True
    stateful: bool = False
    of_constants: bool = False
    kernel: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class Value:
    """An input or output of the whole model, or a variable."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None
    trainable: bool = False


@dataclass(frozen=True)
class Effect:
    """A line of Python that runs when a function is traced, and not when it is called: what it does, and where."""

    kind: str
    line: str
    source: str


@dataclass(frozen=True)
class Training:
    """The arguments of `compile`. Losses and metrics by the names of their classes."""

    optimizer: str = ""
    config: Mapping[str, Plain] = field(default_factory=dict)
    losses: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspection:
    """All that was read of a model.

    Attributes:
      kind: "keras archive", "saved model", "keras model" or "function".
      layers: of Keras, in order.
      operations: of the graph and of the functions that it calls.
      entries: the functions that the graph was read of: signatures, or what was traced.
      inputs: of the model.
      outputs: of the model.
      variables: all of them.
      effects: of the Python code.
      training: None where the model was not compiled.
      versions: of what wrote it, by package.
      not_traced: why there are no operations; "" where there are.
    """

    kind: str
    layers: tuple[Layer, ...] = ()
    operations: tuple[Operation, ...] = ()
    entries: tuple[str, ...] = ()
    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    variables: tuple[Value, ...] = ()
    effects: tuple[Effect, ...] = ()
    training: Training | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    not_traced: str = ""
