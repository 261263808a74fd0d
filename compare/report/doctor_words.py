"""How a diagnosis is put into words, on the console and on the page alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Diagnosis, Finding, LayerKind, Means, Place
from compare.report.numbers import count_of

KINDS = {
    "keras archive": "a .keras or .h5 file",
    "saved model": "a SavedModel",
    "keras model": "a Keras model",
    "function": "a function",
}
MEANS: Mapping[Means, str] = {
    "flax": "a module of Flax",
    "expression": "an expression in JAX",
    "library": "a function of jaxport's library",
    "init": "code that `jaxport init` writes",
    "pipeline": "nothing, since they stay in the input pipeline",
    "own": "code of your own",
}


_LONGEST_CODE = 60
_NAMED = {"Activation": "functions of jax.nn, by name", "Lambda": "a function of your own"}
"""Layers that are whatever function they are given."""


def headline(diagnosis: Diagnosis) -> str:
    """How many blockers, which do not compile or have no counterpart, and how many decisions, in one line."""
    blockers, attention = diagnosis.counts.get(BLOCKER, 0), diagnosis.counts.get(ATTENTION, 0)
    blockers_text = count_of(blockers, "blocker") if blockers else "No blockers"
    restriction = ", as far as layers say: operations were not looked at" if diagnosis.not_traced else ""
    decisions = f"{count_of(attention, 'finding')} that want{'s' if attention == 1 else ''} a decision"
    return f"{blockers_text}{restriction}; {decisions}"


def summary(diagnosis: Diagnosis) -> str:
    """A line on the model."""
    layers = sum(len(layer.names) for layer in diagnosis.layers)
    operations = sum(operation.count for operation in diagnosis.operations)
    parts = [
        f"{diagnosis.target}: {KINDS.get(diagnosis.kind, diagnosis.kind)}",
        count_of(layers, "layer") if layers else "",
        count_of(operations, "operation") if operations else "",
        f"{diagnosis.weights:,} weights" if diagnosis.weights else "",
        f"{count_of(diagnosis.counts.get(NOTE, 0), 'note')} besides" if diagnosis.counts.get(NOTE) else "",
    ]
    return ", ".join(filter(None, parts))


def title(finding: Finding) -> str:
    """Name the subject of a finding: "52 BatchNormalization (epsilon=0.001)"."""
    times = f"{finding.count} " if finding.count > 1 else ""
    return f"{times}{finding.subject}{f' ({finding.because})' if finding.because else ''}"


def where(place: Place) -> str:
    """A place in a line: its name, and FILE:LINE where that is known."""
    return f"{place.source} {place.name}" if place.source else place.name


def each_place(places: Sequence[Place], count: int) -> list[str]:
    """Places, and how many more there are of `count`; nothing where none is known."""
    more = count - len(places)
    return [*map(where, places), *([f"and {more} more"] if places and more > 0 else [])]


def list_places(places: Sequence[Place], count: int) -> str:
    """The places in a line."""
    return "; ".join(each_place(places, count))


def kind_of(layer: LayerKind) -> str:
    """A class of layers, with the activations that they have."""
    return f"{layer.class_name} ({', '.join(layer.activations)})" if layer.activations else layer.class_name


def counterpart(layer: LayerKind) -> str:
    """The name of the counterpart of a layer."""
    if layer.module == "keras.ops":
        return "an expression: see the operations"
    names = [name for name in (layer.flax, layer.linen) if name]
    if names:
        return ", ".join(dict.fromkeys(names))
    if layer.left:
        return "; ".join(layer.left)
    if "pipeline" in layer.means:
        return "stays in TensorFlow's input pipeline"
    if "init" in layer.means:
        return "`jaxport init` writes it"
    if "own" in layer.means and layer.source:
        return f"your own class: {layer.source}"
    if layer.class_name in _NAMED:
        return _NAMED[layer.class_name]
    if layer.jax:
        # Of the row of the map, with its attributes: a layer's own may differ.
        return f"such as {layer.jax}" if len(layer.jax) <= _LONGEST_CODE else "code in JAX: see the page"
    return layer.note or "not known here"


def means(layer: LayerKind) -> str:
    """By what the layers of a class are ported: "library", or "flax 3, library 1" where they differ."""
    if len(layer.means) == 1:
        return next(iter(layer.means))
    return ", ".join(f"{name} {count}" for name, count in layer.means.items())


def effort(diagnosis: Diagnosis) -> list[str]:
    """How many layers are ported by what, in a sentence; none where there are no layers."""
    parts = [f"{count} by {MEANS[means]}" for means, count in diagnosis.effort.items()]
    return [f"Layers ported {', '.join(parts)}."] if parts else []


def of_init(diagnosis: Diagnosis) -> str:
    """A sentence on what `jaxport init` writes of a model: all of it, or all but its places; "" if unknown."""
    if diagnosis.no_port:
        return f"`jaxport init` does not write it: {diagnosis.no_port}"
    if diagnosis.places is None:
        return ""
    if not diagnosis.places:
        return "`jaxport init` writes all of it."
    return f"`jaxport init` writes all but {count_of(len(diagnosis.places), 'place')}:"
