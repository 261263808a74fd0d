"""Optimizers by the formulas that Keras uses, where those of optax are others."""

from __future__ import annotations

from jaxport import _optimizer_arithmetic
from jaxport._adagrad_family import adadelta, adafactor, adagrad, ftrl, rmsprop
from jaxport._adam_family import AdamState, adam, adamax, adamw, amsgrad, lamb, nadam, schedule_free_adamw
from jaxport._optimizer_arguments import Averaging, Decaying, average_weights, clip_by_norm, with_weight_decay
from jaxport._sgd_and_muon import muon, sgd

Rate = _optimizer_arithmetic.Rate
"""A learning rate as a number, or as a function of the step (i32[], counted from 0) and the dtype to compute in."""

__all__ = [
    "AdamState",
    "Averaging",
    "Decaying",
    "Rate",
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "amsgrad",
    "average_weights",
    "clip_by_norm",
    "ftrl",
    "lamb",
    "muon",
    "nadam",
    "rmsprop",
    "schedule_free_adamw",
    "sgd",
    "with_weight_decay",
]
