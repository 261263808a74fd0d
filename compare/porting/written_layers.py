"""Finds the modules for a layer, each with its constructor call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compare.porting.read_attributes import with_changes
from compare.porting.safe_expressions import UnwritableError, check
from compare.porting.styles import LINEN, NNX, Style
from compare.weights.all_rules import rules_of
from compare.weights.constructors import constructor_text
from compare.weights.linen_modules import NoLinenModuleError, linen_module
from compare.weights.rule import ANY_MODULE, Counterpart, Module
from workloads.protocol.transfer import SourceLayer

OF_ALL_STEPS = frozenset({"Dense", "Conv1D", "Conv2D", "Conv3D", "LayerNormalization", "Dropout"})
"""Layers whose modules take any leading axes: what TimeDistributed calls for each step is one call. A batch norm is
none of them, since Keras takes the statistics of each step."""


@dataclass(frozen=True)
class Parts:
    """A layer's modules.

    Attributes:
      counterpart: by its rule.
      modules: what is added to its attribute's name -> the call that makes the module.
      called: the layer in it that is called in its place; None where it is called itself.
      each_step: whether that one is called for each step, by what stands in for it.
    """

    counterpart: Counterpart
    modules: Mapping[str, str] = field(default_factory=dict)
    called: SourceLayer | None = None
    each_step: bool = False


_ATTENTION = frozenset({"MultiHeadAttention", "GroupQueryAttention", "GroupedQueryAttention"})

Inside = Callable[[str], Sequence[SourceLayer]]
"""(path of a layer) -> the layers that stand in it."""


def parts_of(
    layer: SourceLayer, inside: Inside = lambda path: (), *, is_masked: bool = False, style: Style = NNX
) -> Parts:
    """The modules of a layer.

    Args:
      is_masked: whether some call of it is given a mask.

    Raises:
      UnwritableError: no rule knows it, it is not written here, or it has no counterpart in the style.
    """
    rules, reason = rules_of(layer)
    if not rules:
        raise UnwritableError(reason)
    if layer.class_name == "TimeDistributed":
        return _of_all_steps(inside(layer.path), style)
    if layer.class_name == "Bidirectional":
        _check_directions(inside(layer.path))
    counterpart = rules[0].counterpart(layer)
    if counterpart.module is None:
        return Parts(counterpart)
    module = counterpart.module
    if module.class_name == ANY_MODULE:
        return Parts(counterpart, {f"_{name}": _constructor_text(inner, style) for name, inner in module.inner.items()})
    if counterpart.steps:
        module = _fill(layer, counterpart, module, inside)
    if is_masked and layer.class_name in _ATTENTION and layer.config.get("dropout"):
        module = replace(module, advised={**module.advised, "attention_fn": "attention_of_kept"})
    return Parts(counterpart, {"": _constructor_text(module, style)})


def _of_all_steps(inner: Sequence[SourceLayer], style: Style) -> Parts:
    """The modules of the layer that is called for every step, which take all steps at once."""
    (layer,) = inner
    parts = parts_of(layer, style=style) if not layer.container else None
    if parts is not None and not parts.modules:
        return replace(parts, called=layer, each_step=True)
    if layer.class_name not in OF_ALL_STEPS or layer.config.get("noise_shape"):
        raise UnwritableError(f"it calls {layer.class_name} for every step: call the module on all steps at once")
    return replace(parts_of(layer, style=style), called=layer)


def _check_directions(inner: Sequence[SourceLayer]) -> None:
    """Raise where the layers of two directions are none that a Bidirectional is written of."""
    for layer in inner:
        if layer.class_name not in ("LSTM", "GRU", "SimpleRNN"):
            raise UnwritableError(f"it is of {layer.class_name}")
        if layer.step == "forward_layer" and layer.config.get("go_backwards"):
            raise UnwritableError("its forward layer has go_backwards=True")


def _fill(layer: SourceLayer, counterpart: Counterpart, module: Module, inside: Inside) -> Module:
    """The module of a layer with those of the layers in it, and of the layers in these."""
    modules: dict[str, Module] = {}
    for step in inside(layer.path):
        inner = replace(step, config=with_changes(step.config, counterpart.within.get(step.step, {})))
        rules, reason = rules_of(inner)
        its = rules[0].counterpart(inner) if rules else None
        if its is None or its.module is None or inner.step not in counterpart.steps:
            raise UnwritableError(reason or f"{inner.class_name} in it")
        modules[counterpart.steps[inner.step]] = _fill(inner, its, its.module, inside)
    return replace(module, arguments={**modules, **module.arguments})


def _constructor_text(module: Module, style: Style) -> str:
    try:
        return check(constructor_text(linen_module(module) if style == LINEN else module), frozenset())
    except NoLinenModuleError as error:
        raise UnwritableError(str(error)) from error
