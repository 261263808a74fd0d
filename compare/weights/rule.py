"""Rules: a layer of Keras with its attributes -> a module of Flax, its arguments, and the place of each leaf.

`jaxport weights` matches a module that is there against one; what writes a module reads the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from compare.weights.transforms import IDENTITY, Transform
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import SourceLayer

ANY_MODULE = ""
"""The class of a module that a rule asks nothing of but what it holds."""


@dataclass(frozen=True)
class Module:
    """The module of Flax that a rule gives.

    Attributes:
      class_name: "nnx.Linear", "jaxport.layers.GRUCell".
      arguments: of its constructor, which it has as attributes of the same names: each is checked. A module among them
        stands in it under that name.
      advised: likewise, but for other inputs or for training alone: a difference is reported, and refuses nothing.
      constructed: arguments that it has no attributes of.
    """

    class_name: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    advised: Mapping[str, Plain] = field(default_factory=dict)
    constructed: Mapping[str, Plain] = field(default_factory=dict)

    @property
    def inner(self) -> Mapping[str, Module]:
        """The modules in it, by name."""
        return {name: argument for name, argument in self.arguments.items() if isinstance(argument, Module)}

    @property
    def settings(self) -> Mapping[str, Plain]:
        """Its arguments that are no modules."""
        return {name: argument for name, argument in self.arguments.items() if not isinstance(argument, Module)}


Argument: TypeAlias = "Plain | Module"


@dataclass(frozen=True)
class Carried:
    """Where a leaf goes.

    Attributes:
      leaf: its name in the layer.
      variables: their paths in the module, one for each array that the transform gives.
      transform: what becomes of it.
    """

    leaf: str
    variables: tuple[str, ...]
    transform: Transform = IDENTITY


@dataclass(frozen=True)
class Counterpart:
    """The counterpart of a layer in Flax.

    Attributes:
      module: that computes it; None where a plain function does.
      function: that expression, of x; beside a module, what stands in for it in inference.
      carried: every leaf of the layer.
      left: leaf -> why it is not carried.
      unchecked: attributes of the layer that its module does not have: the caller of the module applies them.
      steps: the name of a layer in it -> where that stands below this one's module; "" is the same place.
      within: attributes that a layer in it has otherwise here, by its name.
    """

    module: Module | None = None
    function: str = ""
    carried: tuple[Carried, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict)
    unchecked: tuple[str, ...] = ()
    steps: Mapping[str, str] = field(default_factory=dict)
    within: Mapping[str, Mapping[str, Plain]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
      name: that receipts and errors name it by.
      classes: of Keras that it is for.
      counterpart: of a layer that it applies to.
      needs: attribute -> the values that it is for; of any other value it is not.
      unless: what else of a layer it is not for, as NAME=VALUE; empty where there is nothing.
    """

    name: str
    classes: tuple[str, ...]
    counterpart: Callable[[SourceLayer], Counterpart]
    needs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    unless: Callable[[SourceLayer], str] | None = None

    def obstacle(self, layer: SourceLayer) -> str:
        """The attribute, with its value, that keeps this rule from applying to the layer; empty where it applies."""
        for name, values in self.needs.items():
            if name in layer.config and layer.config[name] not in values:
                return f"{name}={layer.config[name]!r}"
        return self.unless(layer) if self.unless is not None else ""


class MissingLeafError(LookupError):
    """A layer without a leaf that its rule reads: the leaf."""


def shape_of(layer: SourceLayer, name: str) -> tuple[int, ...]:
    """The shape of a leaf.

    Raises:
      MissingLeafError: the layer has none of that name.
    """
    shape = next((leaf.shape for leaf in layer.leaves if leaf.name == name), None)
    if shape is None:
        raise MissingLeafError(name)
    return shape


def shape_if_any(layer: SourceLayer, name: str) -> tuple[int, ...]:
    """The shape of a leaf; empty where the layer has none of that name."""
    return next((leaf.shape for leaf in layer.leaves if leaf.name == name), ())


def same(*pairs: tuple[str, str]) -> tuple[Carried, ...]:
    """Leaves that go as they are to variables."""
    return tuple(Carried(leaf, (variable,)) for leaf, variable in pairs)


def present(layer: SourceLayer, ways: tuple[Carried, ...]) -> tuple[Carried, ...]:
    """The ways whose leaf the layer has: without use_bias there is no bias."""
    names = {leaf.name for leaf in layer.leaves}
    return tuple(way for way in ways if way.leaf in names)


def attributes_of_call(layer: SourceLayer, *names: str) -> tuple[str, ...]:
    """The attributes among these that the caller of the module has to implement, as NAME=VALUE."""
    nothing = (None, False, "linear", 0, 0.0)
    return tuple(f"{name}={layer.config[name]!r}" for name in names if layer.config.get(name) not in nothing)


def dtypes(layer: SourceLayer) -> dict[str, Plain]:
    """The dtype of a module's computation, and that of its variables."""
    return {"dtype": layer.compute_dtype, "param_dtype": layer.variable_dtype}


def flag(layer: SourceLayer, name: str) -> bool:
    """An attribute that is true unless the layer says otherwise."""
    return bool(layer.config.get(name, True))
