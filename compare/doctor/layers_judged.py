"""The layers of a model: their counterparts, the entries of the catalogue that apply to them, and what ports them."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.counterparts import rows
from compare.doctor import rules_of_layers
from compare.doctor.conditions_of_layers import Facts
from compare.doctor.predicted_port import PredictedPort
from compare.doctor.rules_of_layers import ANY, Rule
from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Finding, LayerKind, Means, Place, Severity
from workloads.gotchas._catalogue import Entry, entries
from workloads.protocol.inspection import Layer

KERAS = "keras.layers"
MOST_PLACES = 12
"""The most places of one finding that are listed: a large model repeats most findings."""

_FUNCTION = "Lambda"
_OPERATIONS = "keras.ops"
_CONSTANTS = "preprocessing"
_RANDOM = "Random"
_RANDOM_ROW = "keras.layers.RandomFlip"
_LIBRARY = "jaxport."
_MASKING = ("Masking",)


@dataclass(frozen=True)
class Applied:
    """A rule that holds of a layer, and the attributes that decide."""

    rule: Rule
    because: str


@functools.cache
def catalogue() -> dict[str, Entry]:
    """Entries that differ, by their identifiers."""
    return {entry.id: entry for entry in entries() if not entry.gotcha.is_control}


@functools.cache
def _map() -> dict[str, tuple[str, rows.Layer]]:
    """The rows of the map by the name of the layer, with their groups."""
    return {row.name: (group, row) for group, in_group in rows.layers().items() for row in in_group}


def row_of(layer: Layer) -> rows.Layer | None:
    """The row of the map for a layer of Keras' own; None where it has none."""
    if layer.module != KERAS:
        return None
    name = f"{KERAS}.{layer.class_name}"
    if name not in _map() and layer.class_name.startswith(_RANDOM):
        name = _RANDOM_ROW
    return _map()[name][1] if name in _map() else None


def facts_of(layers: Sequence[Layer]) -> list[Facts]:
    """Every layer with what is around it."""
    has_masks = any(layer.class_name in _MASKING or layer.config.get("mask_zero") is True for layer in layers)
    is_mixed = any(layer.policy.removeprefix("mixed_") in ("float16", "bfloat16") for layer in layers)
    inner = {layer.name.rpartition("/")[0]: layer for layer in reversed(layers)}
    return [Facts(layer, has_masks, is_mixed, inner.get(layer.name)) for layer in layers]


def apply_rules(facts: Facts, rules: Iterable[Rule] = rules_of_layers.LAYERS) -> list[Applied]:
    """The rules that hold of a layer."""
    return [
        Applied(rule, attributes_text(facts.layer, rule.shows))
        for rule in rules
        if _is_for(rule, facts.layer) and rule.when(facts) is True
    ]


def find_undecided(facts: Facts, rules: Iterable[Rule] = rules_of_layers.LAYERS) -> list[str]:
    """Entries that concern a layer, and of which its attributes do not say whether they apply."""
    own = [rule for rule in rules if _is_for(rule, facts.layer)]
    entries_decided = {rule.entry for rule in own if rule.when(facts) is not None}
    name = f"{facts.layer.module}.{facts.layer.class_name}"
    entries_concerned = [key for key, entry in catalogue().items() if name in entry.gotcha.concerns]
    # A rule for every class asks what most classes have not.
    entries_named = [rule.entry for rule in own if ANY not in rule.classes]
    return [key for key in dict.fromkeys([*entries_named, *entries_concerned]) if key not in entries_decided]


def _is_for(rule: Rule, layer: Layer) -> bool:
    return layer.module.startswith("keras") and (ANY in rule.classes or layer.class_name in rule.classes)


def attributes_text(layer: Layer, names: Iterable[str]) -> str:
    """Attributes as they are in the model: "padding=same, strides=[2, 2]"."""
    return ", ".join(f"{name}={layer.config[name]}" for name in names if name in layer.config)


def means_of(layer: Layer, applying: Iterable[Applied], port: PredictedPort | None = None) -> Means:
    """The means of porting a layer.

    Args:
      port: what `jaxport init` would leave; None where it does not read the model.
    """
    if port is None:
        return _means_by_map(layer, applying)
    if port.line_of(layer):
        return "own"
    if layer.module != _OPERATIONS and port.is_ahead(layer):
        return "pipeline"
    means = _means_by_map(layer, applying)
    return "init" if means == "own" else means


def _means_by_map(layer: Layer, applying: Iterable[Applied]) -> Means:
    """The means of porting a layer by the map of layers alone."""
    row = row_of(layer)
    if layer.module == _OPERATIONS:
        return "expression"
    if row is None or not row.has_counterpart or layer.class_name == _FUNCTION:
        return "own"
    # A note does not change what a layer computes: the same initial weights, say.
    if any(
        _LIBRARY in describe_difference(applied_rule.rule, layer)
        for applied_rule in applying
        if applied_rule.rule.severity == ATTENTION
    ):
        return "library"
    if row.flax:
        return "flax"
    # What is trained needs a module to hold it; what preprocessing layers hold are constants.
    has_variables = layer.weights and _map()[row.name][0] != _CONSTANTS
    return "own" if has_variables else "expression"


def findings(layers: Sequence[Layer], port: PredictedPort | None = None) -> Iterator[Finding]:
    """The findings on layers: layers that are not Keras' own, layers without a counterpart, and gotchas.

    Args:
      port: what `jaxport init` would leave; None where it does not read the model.
    """
    all_facts = facts_of(layers)
    yield from _group(_of_class(facts.layer, port) for facts in all_facts)
    yield from _group(
        gotcha(applied_rule, facts.layer.class_name, facts.layer)
        for facts in all_facts
        for applied_rule in apply_rules(facts)
    )


def describe_difference(rule: Rule, layer: Layer) -> str:
    """The difference, in terms of the layer's own attributes if the rule has them."""
    return rule.says.format_map(layer.config) if rule.says else catalogue()[rule.entry].gotcha.why


def gotcha(applied_rule: Applied, subject: str, layer: Layer) -> Finding:
    """An entry of the catalogue that applies, as a finding."""
    entry = catalogue()[applied_rule.rule.entry]
    return Finding(
        severity=applied_rule.rule.severity,
        kind="gotcha",
        subject=subject,
        what=describe_difference(applied_rule.rule, layer),
        gotcha=entry.id,
        gate=entry.gotcha.fails,
        because=applied_rule.because,
        places=(Place(layer.name, layer.source),),
    )


def _of_class(layer: Layer, port: PredictedPort | None) -> Finding | None:
    """The finding on a layer's class, whatever its attributes are."""
    place = (Place(layer.name, layer.source),)
    if layer.bytecode:
        what = "A function as marshalled bytecode: it is not run, and what it computes is not known."
        advice = "Write it as a layer, or as a named function in code."
        return Finding(BLOCKER, "python", layer.class_name, what, advice, places=place)
    is_written = port is not None and not port.line_of(layer)
    if layer.module == _OPERATIONS:
        return None
    if port is not None and port.is_ahead(layer):
        what = "Stays in TensorFlow's input pipeline: the port that `jaxport init` writes starts behind it."
        return Finding(NOTE, "strings", layer.class_name, what, places=place)
    if layer.module == KERAS:
        return _of_row(layer, place, is_written)
    if is_written:
        what = f"A class of {layer.module}, not of keras.layers: `jaxport init` writes its call."
        return Finding(NOTE, "custom", layer.class_name, what, places=place)
    what = f"A class of {layer.module}, not of keras.layers: its counterpart is yours to write."
    return Finding(
        ATTENTION, "custom", layer.class_name, what, "Port its call(), operation by operation.", places=place
    )


def _of_row(layer: Layer, place: tuple[Place, ...], is_written: bool) -> Finding | None:
    row = row_of(layer)
    if row is None and is_written:
        what = "The map of layers has no row for it: `jaxport init` writes its call."
        return Finding(NOTE, "counterpart", layer.class_name, what, places=place)
    if row is None:
        what = "The map of layers has no row for it: its counterpart is not known here."
        return Finding(ATTENTION, "counterpart", layer.class_name, what, places=place)
    if row.has_counterpart:
        return None
    severity: Severity = ATTENTION if layer.class_name.startswith(_RANDOM) else BLOCKER
    return Finding(severity, "counterpart", layer.class_name, "JAX has no counterpart.", row.note, places=place)


def _group(findings: Iterable[Finding | None]) -> list[Finding]:
    return merge(finding for finding in findings if finding is not None)


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Findings that say the same of several places as one, in the order in which they first occur."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        key = (
            finding.severity, finding.kind, finding.subject, finding.what, finding.advice, finding.gotcha,
            finding.because,
        )  # fmt: skip
        groups.setdefault(key, []).append(finding)
    return [_one(group) for group in groups.values()]


def _one(group: Sequence[Finding]) -> Finding:
    first = group[0]
    places = tuple(dict.fromkeys(place for finding in group for place in finding.places))[:MOST_PLACES]
    return Finding(
        first.severity, first.kind, first.subject, first.what, first.advice, first.gotcha, first.gate, first.because,
        sum(finding.count for finding in group), places,
    )  # fmt: skip


def kinds(layers: Sequence[Layer], port: PredictedPort | None = None) -> tuple[LayerKind, ...]:
    """All layers by class, in the order in which classes first occur.

    Args:
      port: what `jaxport init` would leave; None where it does not read the model.
    """
    groups: dict[tuple[str, str], list[Facts]] = {}
    for facts in facts_of(layers):
        groups.setdefault((facts.layer.module, facts.layer.class_name), []).append(facts)
    return tuple(_kind(group, port) for group in groups.values())


def _kind(group: Sequence[Facts], port: PredictedPort | None) -> LayerKind:
    layer = group[0].layer
    row = row_of(layer)
    means = Counter(means_of(facts.layer, apply_rules(facts), port) for facts in group)
    port_lines = (port.line_of(facts.layer) for facts in group) if port else ()
    return LayerKind(
        class_name=layer.class_name,
        module=layer.module,
        means=dict(means),
        flax=row.flax.partition("(")[0] if row else "",
        linen=row.linen if row else "",
        jax=row.jax.strip() if row else "",
        example=(row.keras, row.flax) if row and row.has_counterpart else (),
        note=row.note if row else "",
        names=tuple(facts.layer.name for facts in group),
        activations=tuple(dict.fromkeys(_activation(facts.layer) for facts in group if _activation(facts.layer))),
        source=layer.source,
        left=tuple(dict.fromkeys(filter(None, port_lines))),
        general=tuple(dict.fromkeys(key for facts in group for key in find_undecided(facts))),
    )


def _activation(layer: Layer) -> str:
    """The activation of a layer; "" of none."""
    name = layer.config.get("activation")
    return "" if name in (None, "linear") else str(name)


def effort(layers: Sequence[Layer], port: PredictedPort | None = None) -> dict[Means, int]:
    """Layers by what ports them.

    Args:
      port: what `jaxport init` would leave; None where it does not read the model.
    """
    counts: Mapping[Means, int] = Counter(means_of(facts.layer, apply_rules(facts), port) for facts in facts_of(layers))
    order: tuple[Means, ...] = ("flax", "expression", "library", "init", "pipeline", "own")
    return {means: counts[means] for means in order if counts.get(means)}
