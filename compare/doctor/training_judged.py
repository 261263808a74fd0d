"""What a model was compiled with: its optimizer, losses and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compare.doctor import rules_of_layers
from compare.doctor.conditions_of_layers import Facts
from compare.doctor.layers_judged import apply_rules, catalogue, find_undecided, gotcha, merge
from compare.record.diagnosis_part import NOTE, Finding, Place
from workloads._inspection import Layer, Training

_OPTIMIZERS = "keras.optimizers"
_MODULES = ("keras.losses", "keras.metrics")
_SHORT = {
    "mse": "MeanSquaredError", "mae": "MeanAbsoluteError", "mape": "MeanAbsolutePercentageError",
    "msle": "MeanSquaredLogarithmicError", "bce": "BinaryCrossentropy", "kld": "KLDivergence",
    "kl_divergence": "KLDivergence", "auc": "AUC",
}  # fmt: skip


def findings(training: Training | None) -> list[Finding]:
    """What is to be said of an optimizer, and which entries concern losses and metrics."""
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
    """The class of an optimizer, a loss or a metric, however compile() was told of it: "mse", "mean_squared_error"."""
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
