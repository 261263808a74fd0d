"""Optimizers and schedules of Keras as calls of jaxport and optax."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from compare.porting.safe_expressions import UnwritableError, literal
from compare.porting.traced_functions import function_name
from workloads.protocol.architecture import Described
from workloads.protocol.inspection import Plain

_BY_NAME: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "SGD": ("sgd", ("momentum", "nesterov")),
    "Adam": ("adam", ("beta_1", "beta_2", "epsilon")),
    "AdamW": ("adamw", ("beta_1", "beta_2", "epsilon")),
    "Nadam": ("nadam", ("beta_1", "beta_2", "epsilon")),
    "Adamax": ("adamax", ("beta_1", "beta_2", "epsilon")),
    "RMSprop": ("rmsprop", ("rho", "momentum", "epsilon", "centered")),
    "Adagrad": ("adagrad", ("initial_accumulator_value", "epsilon")),
    "Adadelta": ("adadelta", ("rho", "epsilon")),
}
_DEFAULTS: Mapping[str, Mapping[str, Plain]] = {
    "sgd": {"momentum": 0.0, "nesterov": False},
    "adam": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "amsgrad": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "adamw": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "nadam": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "adamax": {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "rmsprop": {"rho": 0.9, "momentum": 0.0, "epsilon": 1e-7, "centered": False},
    "adagrad": {"initial_accumulator_value": 0.1, "epsilon": 1e-7},
    "adadelta": {"rho": 0.95, "epsilon": 1e-7},
}
_SCHEDULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ExponentialDecay": ("exponential_decay", ("initial_learning_rate", "decay_steps", "decay_rate", "staircase")),
    "InverseTimeDecay": ("inverse_time_decay", ("initial_learning_rate", "decay_steps", "decay_rate", "staircase")),
    "PiecewiseConstantDecay": ("piecewise_constant", ("boundaries", "values")),
    "PolynomialDecay": (
        "polynomial_decay", ("initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle"),
    ),
    "CosineDecay": (
        "cosine_decay", ("initial_learning_rate", "decay_steps", "alpha", "warmup_target", "warmup_steps"),
    ),
    "CosineDecayRestarts": (
        "cosine_decay_restarts", ("initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha"),
    ),
}  # fmt: skip
_SCALED = "LossScaleOptimizer"
_SCALES: Mapping[str, Plain] = {"initial_scale": 2.0**15, "dynamic_growth_steps": 2000}
_NOT_KNOWN = ("loss_scale_factor",)


def optimizer_expression(optimizer: Described) -> str:
    """The call that makes an optimizer.

    Raises:
      UnwritableError: it is not known here.
    """
    if scales_loss(optimizer):
        return _scale_loss(optimizer)
    config, function_row = optimizer.config, _BY_NAME.get(optimizer.class_name)
    if function_row is None or not optimizer.own:
        raise UnwritableError(f"the optimizer {optimizer.class_name} is not known here")
    for name in _NOT_KNOWN:
        if config.get(name):
            raise UnwritableError(f"{optimizer.class_name} has {name}={config[name]!r}")
    function, names = function_row
    function = "amsgrad" if config.get("amsgrad") else function
    rate = _rate(optimizer)
    expression = f"jaxport.optimizers.{function}({', '.join([rate, *_keyword_texts(function, names, config)])})"
    decay = config.get("weight_decay")
    if function == "adamw":
        arguments = [rate, f"weight_decay={literal(decay)}", *_keyword_texts(function, names, config)]
        expression = f"jaxport.optimizers.adamw({', '.join(arguments)})"
    elif decay:
        expression = f"jaxport.optimizers.with_weight_decay({expression}, {rate}, weight_decay={literal(decay)})"
    return _average(_accumulate(_clip(expression, config), optimizer), config)


def _accumulate(expression: str, optimizer: Described) -> str:
    """An optimizer that takes a step with the mean of the gradients of several calls."""
    steps = optimizer.config.get("gradient_accumulation_steps")
    if not steps:
        return expression
    if "learning_rate" in optimizer.inner:
        # Keras reads the schedule at the number of calls, optax.MultiSteps at that of steps.
        raise UnwritableError(f"{optimizer.class_name} has gradient_accumulation_steps={steps!r} and a schedule")
    if optimizer.config.get("use_ema"):
        raise UnwritableError(f"{optimizer.class_name} has gradient_accumulation_steps={steps!r} and use_ema=True")
    return f"optax.MultiSteps({expression}, {literal(steps)}).gradient_transformation()"


def _average(expression: str, config: Mapping[str, Plain]) -> str:
    """An optimizer that keeps an average of the weights beside."""
    if not config.get("use_ema"):
        return expression
    arguments = [literal(config.get("ema_momentum", 0.99))]
    arguments += [literal(every)] if (every := config.get("ema_overwrite_frequency")) else []
    average = f"jaxport.optimizers.average_weights({', '.join(arguments)})"
    if expression.startswith("optax.chain("):
        return f"{expression.removesuffix(')')}, {average})"
    return f"optax.chain({expression}, {average})"


def scales_loss(optimizer: Described) -> bool:
    """Whether it takes gradients of a loss that it has scaled, as of float16."""
    return optimizer.own and optimizer.class_name == _SCALED


def decays(optimizer: Described) -> bool:
    """Whether it makes weights smaller, whatever their gradients are."""
    inner = optimizer.inner.get("inner_optimizer")
    return bool(optimizer.config.get("weight_decay") or (inner and inner.config.get("weight_decay")))


def _scale_loss(optimizer: Described) -> str:
    inner, config = optimizer.inner.get("inner_optimizer"), optimizer.config
    if inner is None:
        raise UnwritableError(f"the optimizer {_SCALED} does not say what it is around")
    names = {"initial_scale": "initial_scale", "dynamic_growth_steps": "growth_steps"}
    arguments = [
        f"{names[name]}={literal(config[name])}"
        for name, usual in _SCALES.items()
        if config.get(name) not in (None, usual)
    ]
    expression = optimizer_expression(Described(inner.class_name, inner.own, inner.config))
    return f"jaxport.loss_scaling.scaled({', '.join([expression, *arguments])})"


def _keyword_texts(function: str, names: tuple[str, ...], config: Mapping[str, Plain]) -> list[str]:
    defaults = _DEFAULTS[function]
    return [f"{name}={literal(config[name])}" for name in names if name in config and config[name] != defaults[name]]


def _clip(expression: str, config: Mapping[str, Plain]) -> str:
    clips = {
        "clipnorm": "jaxport.optimizers.clip_by_norm({})",
        "global_clipnorm": "optax.clip_by_global_norm({})",
        "clipvalue": "optax.clip({})",
    }
    clips_text = [text.format(literal(config[name])) for name, text in clips.items() if config.get(name)]
    return f"optax.chain({', '.join([*clips_text, expression])})" if clips_text else expression


def _rate(optimizer: Described) -> str:
    schedule = optimizer.inner.get("learning_rate")
    if schedule is None:
        return f"learning_rate={_shortest(optimizer.config.get('learning_rate'))}"
    function_row = _SCHEDULES.get(schedule.class_name)
    if not schedule.own and schedule.traced is not None:
        return function_name(schedule)
    if function_row is None or not schedule.own:
        raise UnwritableError(f"the schedule {schedule.class_name} is not known here")
    function, names = function_row
    missing = next((name for name in names if name not in schedule.config), "")
    if missing:
        raise UnwritableError(f"the schedule {schedule.class_name} does not say its {missing}")
    return f"jaxport.schedules.{function}({', '.join(literal(schedule.config[name]) for name in names)})"


def _shortest(value: Plain) -> str:
    """A rate that Keras keeps in float32, as it was written."""
    if isinstance(value, float) and float(np.float32(value)) == value:
        return str(np.float32(value))
    return literal(value)
