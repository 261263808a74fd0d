"""The rules for optimizers: Keras' slots -> fields of the states of jaxport and of optax.

A state of optax that keeps something else than Keras, such as a trace before the rate scales it, has no rule here, or
is caught by the steps that both optimizers take (`continuing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from workloads.protocol.inspection import Plain
from workloads.protocol.optimizer_transfer import SourceOptimizer, TargetSlot

STEPS, RATE = "iterations", "learning_rate"
AVERAGES = "model_variables_moving_average"

_OWN = "jaxport.State"
"""The state of those of jaxport's optimizers that keep slots by name."""


@dataclass(frozen=True)
class Field:
    """Where a field of a state comes from.

    Attributes:
      slot: of Keras; the field is as it starts where the optimizer has none of that name.
      negated: whether it has the other sign.
      optional: whether Keras may have no such slot.
    """

    slot: str
    negated: bool = False
    optional: bool = False


@dataclass(frozen=True)
class OptimizerRule:
    """One rule.

    Attributes:
      name: that receipts and errors name it by.
      class_name: of Keras that it is for.
      fields: of each class of state, where its fields come from.
      told: attribute of the optimizer -> the arguments of functions of jaxport and optax that have to be the same.
    """

    name: str
    class_name: str
    fields: Mapping[str, Mapping[str, Field]]
    told: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _fields(**names: str) -> dict[str, Field]:
    return {key.replace("__", "."): Field(name) for key, name in names.items()}


def _own(**slots: str) -> dict[str, Field]:
    return {f"slots.{key}": Field(name) for key, name in slots.items()}


ALWAYS: Mapping[str, Mapping[str, Field]] = {
    _OWN: _fields(step=STEPS),
    "jaxport.Decaying": _fields(step=STEPS),
    "jaxport.Averaging": _fields(step=STEPS, average=AVERAGES),
    "optax.ScaleByScheduleState": _fields(count=STEPS),
    "optax.InjectHyperparamsState": _fields(count=STEPS, hyperparams__learning_rate=RATE),
    "optax.InjectStatefulHyperparamsState": _fields(count=STEPS, hyperparams__learning_rate=RATE),
}
"""The fields of states that may surround any optimizer."""

_AVERAGED = {
    "ema_momentum": "average_weights.momentum",
    "ema_overwrite_frequency": "average_weights.overwrite_frequency",
}

_MOMENTS = {
    "jaxport.AdamState": _fields(step=STEPS, momentum="momentums", velocity="velocities"),
    "optax.ScaleByAdamState": _fields(count=STEPS, mu="momentums", nu="velocities"),
    _OWN: _own(momentum="momentums", velocity="velocities", largest="velocity_hats"),
}
_BETAS = {
    "beta_1": ("adam.beta_1", "amsgrad.beta_1", "scale_by_adam.b1", "lamb.beta_1"),
    "beta_2": ("adam.beta_2", "amsgrad.beta_2", "scale_by_adam.b2", "lamb.beta_2"),
    "epsilon": ("adam.epsilon", "amsgrad.epsilon", "scale_by_adam.eps", "lamb.epsilon"),
}
_TRACE = {"optax.TraceState": _fields(trace="momentums")}

RULES = (
    OptimizerRule("sgd", "SGD", _TRACE, {"momentum": ("trace.decay",), "nesterov": ("trace.nesterov",)}),
    OptimizerRule("adam", "Adam", _MOMENTS, _BETAS),
    OptimizerRule("adamw", "AdamW", _MOMENTS, _BETAS),
    OptimizerRule("lamb", "Lamb", _MOMENTS, _BETAS),
    OptimizerRule(
        "nadam",
        "Nadam",
        {_OWN: _own(momentum="momentums", velocity="velocities", product="u_product")},
        {"beta_1": ("nadam.beta_1",), "beta_2": ("nadam.beta_2",), "epsilon": ("nadam.epsilon",)},
    ),
    OptimizerRule(
        "adamax",
        "Adamax",
        {_OWN: _own(momentum="m", norm="u"), "optax.ScaleByAdamState": _fields(count=STEPS, mu="m", nu="u")},
        {"beta_1": ("adamax.beta_1", "scale_by_adamax.b1"), "beta_2": ("adamax.beta_2", "scale_by_adamax.b2"),
         "epsilon": ("adamax.epsilon", "scale_by_adamax.eps")},
    ),
    OptimizerRule(
        "rmsprop",
        "RMSprop",
        {
            _OWN: {"slots.squares": Field("velocities"), "slots.mean": Field("average_gradients", optional=True),
                   "slots.trace": Field("momentums", optional=True)},
            "optax.ScaleByRmsState": _fields(nu="velocities"),
            "optax.ScaleByRStdDevState": _fields(nu="velocities", mu="average_gradients"),
            "optax.TraceState": {"trace": Field("momentums", negated=True)},
        },
        {"rho": ("rmsprop.rho", "scale_by_rms.decay", "scale_by_stddev.decay"),
         "epsilon": ("rmsprop.epsilon", "scale_by_rms.eps", "scale_by_stddev.eps"),
         "momentum": ("rmsprop.momentum", "trace.decay")},
    ),
    OptimizerRule(
        "adagrad",
        "Adagrad",
        {_OWN: _own(squares="accumulators"), "optax.ScaleByRssState": _fields(sum_of_squares="accumulators")},
        {"epsilon": ("adagrad.epsilon", "scale_by_rss.eps")},
    ),
    OptimizerRule(
        "adadelta",
        "Adadelta",
        {
            _OWN: _own(squares="accumulated_grads", changes="accumulated_delta_vars"),
            "optax.ScaleByAdaDeltaState": _fields(e_g="accumulated_grads", e_x="accumulated_delta_vars"),
        },
        {"rho": ("adadelta.rho", "scale_by_adadelta.rho"), "epsilon": ("adadelta.epsilon", "scale_by_adadelta.eps")},
    ),
    OptimizerRule(
        "lion",
        "Lion",
        {"optax.ScaleByLionState": _fields(count=STEPS, mu="momentums")},
        {"beta_1": ("scale_by_lion.b1",), "beta_2": ("scale_by_lion.b2",)},
    ),
    OptimizerRule("ftrl", "Ftrl", {_OWN: _own(squares="accumulators", linear="linears")}),
    OptimizerRule(
        "schedule_free_adamw", "ScheduleFreeAdamW", {_OWN: _own(stepped="momentums", velocity="velocities")},
        {"beta_1": ("schedule_free_adamw.beta_1",), "beta_2": ("schedule_free_adamw.beta_2",),
         "epsilon": ("schedule_free_adamw.epsilon",)},
    ),
)  # fmt: skip
BY_CLASS: Mapping[str, OptimizerRule] = {rule.class_name: rule for rule in RULES}


def rule_of(optimizer: SourceOptimizer) -> tuple[OptimizerRule | None, str]:
    """The rule for an optimizer; where there is none, the reason."""
    if not optimizer.own:
        return None, f"{optimizer.class_name} is no class of keras.optimizers"
    for name in ("loss_scale_factor", "gradient_accumulation_steps"):
        if optimizer.config.get(name):
            return None, f"no rule knows {optimizer.class_name} with {name}={optimizer.config[name]!r}"
    rule = BY_CLASS.get(optimizer.class_name)
    return rule, "" if rule else f"no rule knows {optimizer.class_name}"


def source_of(rule: OptimizerRule, slot: TargetSlot) -> Field | None:
    """Where a field comes from; None where no rule says."""
    own = rule.fields.get(slot.state, {}).get(slot.field)
    return own or ALWAYS.get(slot.state, {}).get(slot.field)


def told_apart(rule: OptimizerRule, config: Mapping[str, Plain], found_config: Mapping[str, Plain]) -> list[str]:
    """The attributes of an optimizer that differ from its counterpart's, as what was expected and found.

    Args:
      found_config: by FUNCTION.NAME, the arguments of its counterpart.
    """
    return [
        f"{name}={config[name]!r}, found {place}={found_config[place]!r}"
        for name, places in rule.told.items()
        for place in places
        if name in config and place in found_config and not _alike(found_config[place], config[name])
    ]


def averages_apart(config: Mapping[str, Plain], found_config: Mapping[str, Plain]) -> list[str]:
    """How averages of weights are kept otherwise: they move no weight in some steps, so that no step shows it.

    Args:
      found_config: by FUNCTION.NAME, the arguments of its counterpart; it leaves out those that are None.
    """
    if not config.get("use_ema"):
        return []
    return [
        f"{name}={config.get(name)!r}, found {place}={found_config.get(place)!r}"
        for name, place in _AVERAGED.items()
        if not _alike(found_config.get(place), config.get(name))
    ]


def _alike(value: Plain, expected_value: Plain) -> bool:
    """Whether two attributes are one; Keras and jaxport round theirs to float32."""
    if isinstance(value, int | float) and isinstance(expected_value, int | float):
        return bool(np.float32(value) == np.float32(expected_value))
    return value == expected_value


def advice(rule: OptimizerRule, states: Iterable[str]) -> str:
    """Advice on the optimizer to use if steps differ; "" if jaxport's optimizer took them."""
    stock = sorted(state for state in states if state.startswith("optax.") and state in rule.fields)
    if not stock:
        return ""
    return (
        f"{stock[0]} may be of another formula than Keras' {rule.class_name}: jaxport.optimizers.{rule.name} has Keras'"
    )
