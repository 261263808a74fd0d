"""A diagnosis from what was read of a model: every judge is asked, and findings are put in order."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from compare.doctor import layers_judged, operations_judged, rules_of_layers
from compare.doctor.conditions_of_layers import Facts
from compare.doctor.known_operations import lookup
from compare.doctor.layers_judged import apply_rules, catalogue, find_undecided, gotcha, merge
from compare.doctor.operations_judged import Lookup
from compare.doctor.predicted_port import PredictedPort
from compare.record.diagnosis_part import ATTENTION, BLOCKER, NOTE, Described, Diagnosis, Finding, Place, Severity
from workloads.protocol.inspection import Inspection, Layer, Training, Value

_ORDER: tuple[Severity, ...] = (BLOCKER, ATTENTION, NOTE)
_WIDE = ("int64", "uint64", "float64", "complex128")
_EFFECTS: Mapping[str, tuple[str, str]] = {
    "print": ("Prints while it is traced, once, and not when it is called.", "jax.debug.print."),
    "state": ("Changes a Python object while it is traced, once for each signature.",
              "Return the value; a counter in particular stands still after the first call."),
    "random": ("Draws a number while it is traced: the same one in every call after.",
               "Pass a key of jax.random, or the number itself."),
    "clock": ("Reads the clock while it is traced: the same time in every call after.", "Read it outside."),
    "file": ("Reads or writes while it is traced, once.", "Do it outside, and pass arrays."),
}  # fmt: skip


def diagnose(
    target: str,
    inspection: Inspection,
    find_operation: Lookup = lookup,
    port: PredictedPort | None = None,
    no_port: str = "",
    command: str = "",
) -> Diagnosis:
    """Diagnose a model: its parts, and what will be hard to port.

    Args:
      port: what `jaxport init` would leave to be written; None where it does not read the model.
    """
    findings = (
        *_of_reading(inspection),
        *layers_judged.findings(inspection.layers, port),
        *operations_judged.findings(inspection.operations, find_operation),
        *training_findings(inspection.training),
        *_of_effects(inspection),
        *_of_values(inspection, port),
    )
    sorted_findings = sorted(layers_judged.merge(findings), key=lambda finding: _ORDER.index(finding.severity))
    counts = Counter(finding.severity for finding in sorted_findings)
    return Diagnosis(
        target=target,
        kind=inspection.kind,
        entries=inspection.entries,
        versions=dict(inspection.versions),
        inputs=_describe_values(inspection.inputs),
        outputs=_describe_values(inspection.outputs),
        variables=len(inspection.variables),
        weights=_weights(inspection.variables),
        not_traced=inspection.not_traced,
        counts={severity: counts[severity] for severity in _ORDER},
        findings=tuple(sorted_findings),
        layers=layers_judged.kinds(inspection.layers, port),
        operations=operations_judged.kinds(inspection.operations, find_operation),
        effort=layers_judged.effort(inspection.layers, port),
        places=None if port is None else port.places,
        no_port=no_port,
        command="" if port is None else command,
    )


def _of_reading(inspection: Inspection) -> Iterator[Finding]:
    if inspection.not_traced:
        what = f"The graph was not traced: {inspection.not_traced}. Nothing is said of its operations."
        advice = "Name an instance in code, as FILE.py:NAME." if inspection.kind == "keras archive" else ""
        yield Finding(ATTENTION, "reading", "model", what, advice)


def _of_effects(inspection: Inspection) -> Iterator[Finding]:
    for effect in inspection.effects:
        what, advice = _EFFECTS[effect.kind]
        yield Finding(ATTENTION, "side effect", "Python", what, advice, places=(Place(effect.line, effect.source),))


def _of_values(inspection: Inspection, port: PredictedPort | None) -> Iterator[Finding]:
    """Sizes that are not fixed, and 64 bits, among inputs, outputs and variables."""
    for value in inspection.inputs:
        yield from _of_shape(value)
    for what, values in (
        ("input", inspection.inputs),
        ("output", inspection.outputs),
        ("variable", inspection.variables),
    ):
        for value in values:
            if value.dtype in _WIDE:
                yield _wide(what, value)
            elif value.dtype == "string" and what != "variable":
                is_ahead = port is not None and what == "input" and port.is_looked_up(value.name)
                yield _of_strings(what, value, is_ahead)


def _of_strings(what: str, value: Value, is_ahead: bool) -> Finding:
    says, place = f"An {what} of strings. JAX has no arrays of strings.", (Place(value.name),)
    if is_ahead:
        says += " It is looked up in TensorFlow's input pipeline: `jaxport init` starts the port behind the lookup."
        return Finding(NOTE, "strings", what, says, places=place)
    return Finding(BLOCKER, "strings", what, says, "Pass numbers: look words up before.", places=place)


def _wide(what: str, value: Value) -> Finding:
    severity: Severity = NOTE if what == "variable" and value.dtype != "float64" else ATTENTION
    says = f"{'An' if what != 'variable' else 'A'} {what} of {value.dtype}."
    return Finding(severity, "dtype", what, says, operations_judged.narrowing(value.dtype), places=(Place(value.name),))


def _of_shape(value: Value) -> Iterator[Finding]:
    place = (Place(f"{value.name}: {type_text(value)}"),)
    if value.shape is None:
        what = "An input of any rank: jax.jit compiles a program for every shape that it meets."
        yield Finding(ATTENTION, "shapes", "input", what, "Fix the rank.", places=place)
        return
    if None in value.shape[1:]:
        what = "A size behind the first that is not fixed: jax.jit compiles a program for every size that it meets."
        yield Finding(ATTENTION, "shapes", "input", what, "Pad to a few sizes, with a mask.", places=place)
    elif None in value.shape[:1]:
        what = "The batch is not fixed: jax.jit compiles a program for every size that it meets."
        yield Finding(NOTE, "shapes", "input", what, "Keep one size; pad the last batch.", places=place)


def type_text(value: Value) -> str:
    """A dtype and a shape: "float32[?,224,224,3]", "float32[...]" of any rank."""
    sizes = "..." if value.shape is None else ",".join("?" if size is None else str(size) for size in value.shape)
    return f"{value.dtype}[{sizes}]"


def _describe_values(values: Iterable[Value]) -> tuple[Described, ...]:
    return tuple(Described(value.name, type_text(value)) for value in values)


def _weights(variables: Sequence[Value]) -> int | None:
    """The numbers in all variables; None where a size is not known, or there are none."""
    total = 0
    for variable in variables:
        if variable.shape is None or None in variable.shape:
            return None
        total += math.prod(size for size in variable.shape if size is not None)
    return total if variables else None


_OPTIMIZERS = "keras.optimizers"
_MODULES = ("keras.losses", "keras.metrics")
_SHORT = {
    "mse": "MeanSquaredError", "mae": "MeanAbsoluteError", "mape": "MeanAbsolutePercentageError",
    "msle": "MeanSquaredLogarithmicError", "bce": "BinaryCrossentropy", "kld": "KLDivergence",
    "kl_divergence": "KLDivergence", "auc": "AUC",
}  # fmt: skip


def training_findings(training: Training | None) -> list[Finding]:
    """The findings on an optimizer, and the entries on losses and metrics."""
    return merge(_findings(training)) if training else []


def _findings(training: Training) -> Iterator[Finding]:
    if training.optimizer:
        optimizer = Layer("optimizer", _OPTIMIZERS, class_name(training.optimizer), training.config)
        for applied_rule in apply_rules(Facts(optimizer), rules_of_layers.OPTIMIZERS):
            yield gotcha(applied_rule, f"{_OPTIMIZERS}.{optimizer.class_name}", optimizer)
        for key in find_undecided(Facts(optimizer), rules_of_layers.OPTIMIZERS):
            yield _general(key, f"{_OPTIMIZERS}.{optimizer.class_name}", "optimizer")
    for module, names in zip(_MODULES, (training.losses, training.metrics), strict=True):
        for name in names:
            public = f"{module}.{class_name(name)}"
            for key, entry in catalogue().items():
                if public in entry.gotcha.concerns:
                    yield _general(key, public, module.rpartition(".")[2])


def _general(key: str, subject: str, place: str) -> Finding:
    entry = catalogue()[key]
    return Finding(NOTE, "gotcha", subject, entry.gotcha.why, "", key, entry.gotcha.fails, places=(Place(place),))


def class_name(name: str) -> str:
    """The class of an optimizer, a loss or a metric by any name that compile() takes: "mse", "mean_squared_error"."""
    if name in _SHORT:
        return _SHORT[name]
    if name[:1].isupper():
        return name
    camel_case = "".join(part.capitalize() for part in name.split("_"))
    class_names = {public.rpartition(".")[2] for entry in catalogue().values() for public in entry.gotcha.concerns}
    return next(
        (known_name for known_name in class_names if known_name.lower() == camel_case.lower()),
        re.sub(r"\W", "", camel_case),
    )
