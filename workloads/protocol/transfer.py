"""The weights of a Keras model and of a Flax module, as plain data, where one is carried into the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.protocol.inspection import Plain, Value
from workloads.protocol.optimizer_transfer import SourceOptimizer, TargetOptimizer

KERAS_LAYERS = "keras.layers"
STATES = "states/"
"""The prefix of states of a stateful recurrent layer: "states/0", "states/1" in Keras' order."""


@dataclass(frozen=True)
class Leaf:
    """One variable of a layer.

    Attributes:
      name: within its layer, "kernel", or "query/kernel" in a layer within that layer.
      key: of the array that travels beside.
      shape: of it.
      dtype: of it.
      trainable: whether Keras trains it where its layer is not frozen.
      tied: the key of the same variable, which another layer has too; "" for the first.
      initializer: the class of what sets it first, and its attributes; empty where that is not known.
    """

    name: str
    key: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool = True
    tied: str = ""
    initializer: Mapping[str, Plain] = field(default_factory=dict)

    @property
    def is_state(self) -> bool:
        """Whether it is what a stateful recurrent layer carries from one call to the next."""
        return self.name.startswith(STATES) and not self.trainable


@dataclass(frozen=True)
class SourceLayer:
    """One layer of a Keras model.

    Attributes:
      path: names from the outside in, "encoder/dense"; "" is the model itself.
      parent: the path of what it stands in; None of the model itself.
      step: its own name in its parent, the last part of the path.
      module: of its class: "keras.layers" of Keras' own, "keras.ops" of an operation.
      class_name: of its class.
      config: its attributes, as far as it says them.
      compute_dtype: what it computes in.
      variable_dtype: what its variables are kept in.
      leaves: its variables, without those of layers that stand for themselves.
      shape: of its input; empty where that is not known. None is a size that is not fixed.
      container: whether it is a model, or a layer of the user's own that holds others.
      defaults: the attributes in `config` that are as its class has them where nothing is said.
    """

    path: str
    parent: str | None
    step: str
    module: str
    class_name: str
    config: Mapping[str, Plain] = field(default_factory=dict)
    compute_dtype: str = ""
    variable_dtype: str = ""
    leaves: tuple[Leaf, ...] = ()
    shape: tuple[int | None, ...] = ()
    container: bool = False
    defaults: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """How messages name it."""
        return f"{self.path or 'the model'} ({self.class_name})"


@dataclass(frozen=True)
class Excluded:
    """State that is no weight, and why it is not carried."""

    path: str
    reason: str


@dataclass(frozen=True)
class Source:
    """A Keras model.

    Attributes:
      layers: all of them, a container before what it holds; a layer that is shared once, where it stands first.
      shared: path -> the path that the same layer stands under already.
      excluded: state that is no weight: of random seeds.
      inputs: of the model, as far as it knows them.
      versions: of what read it, by package.
      optimizer: that it was compiled with, where it was asked for.
    """

    layers: tuple[SourceLayer, ...]
    shared: Mapping[str, str] = field(default_factory=dict)
    excluded: tuple[Excluded, ...] = ()
    inputs: tuple[Value, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    optimizer: SourceOptimizer | None = None


@dataclass(frozen=True)
class TargetVariable:
    """One variable of a module.

    Attributes:
      path: attributes and places in lists from the outside in, "blocks.0.dense.kernel".
      kind: its class in Flax: Param, BatchStat.
      shape: of it.
      dtype: of it.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class TargetModule:
    """One module of Flax.

    Attributes:
      path: as that of a variable; "" is the whole.
      class_name: "nnx.Linear", "jaxport.layers.GRUCell", or that of a user's class. A subclass that computes by the
        `__call__` of one of the first two is named as that.
      attributes: arguments of its constructor: numbers, texts, names of dtypes and functions.
    """

    path: str
    class_name: str
    attributes: Mapping[str, Plain] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A module of Flax with all that it holds.

    Attributes:
      modules: all of them, the whole first; one that is shared once, where it stands first.
      variables: all of them, one that is shared once.
      shared: path -> the path that the same module or variable stands under already.
      excluded: state that is no weight: of random numbers.
      versions: of what read it, by package.
      optimizer: of its parameters, where it was asked for.
    """

    modules: tuple[TargetModule, ...]
    variables: tuple[TargetVariable, ...]
    shared: Mapping[str, str] = field(default_factory=dict)
    excluded: tuple[Excluded, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    optimizer: TargetOptimizer | None = None
