"""Every rule, found by the class of a layer."""

from __future__ import annotations

from collections.abc import Mapping

from compare.weights.attention_rules import ATTENTION
from compare.weights.convolution_rules import CONVOLUTION
from compare.weights.core_rules import CORE
from compare.weights.normalization_rules import NORMALIZATION
from compare.weights.recurrent_rules import RECURRENT
from compare.weights.rule import MissingLeafError, Rule
from compare.weights.stand_ins import STAND_INS
from workloads.protocol.transfer import KERAS_LAYERS, SourceLayer

RULES: tuple[Rule, ...] = (*CORE, *CONVOLUTION, *NORMALIZATION, *ATTENTION, *RECURRENT, *STAND_INS)
"""All rules; of those for one class, the one that a new module would be written by comes first."""

BY_CLASS: Mapping[str, tuple[Rule, ...]] = {
    name: tuple(rule for rule in RULES if name in rule.classes)
    for name in sorted({name for rule in RULES for name in rule.classes})
}
"""The rules of each class of Keras."""

_OF_APPLICATIONS: Mapping[str, str] = {
    "LayerScale": "keras.src.applications.convnext",
    "CustomScaleLayer": "keras.src.applications.inception_resnet_v2",
}
"""Keras' own layers that keras.layers has not -> their module."""


def rules_of(layer: SourceLayer) -> tuple[tuple[Rule, ...], str]:
    """The rules that apply to a layer, the preferred one first; where none does, the reason."""
    if layer.module not in (KERAS_LAYERS, _OF_APPLICATIONS.get(layer.class_name)):
        return (), f"{layer.class_name} is no class of keras.layers"
    rules = BY_CLASS.get(layer.class_name, ())
    if not rules:
        return (), f"no rule knows {layer.class_name}"
    obstacles = [rule.obstacle(layer) for rule in rules]
    fit = tuple(rule for rule, obstacle in zip(rules, obstacles, strict=True) if not obstacle)
    try:
        for rule in fit:
            rule.counterpart(layer)
    except MissingLeafError as missing:
        return (), f"{layer.class_name} has no leaf {missing}"
    return fit, "" if fit else f"no rule knows {layer.class_name} with {obstacles[0]}"
