"""Keras's dtype policy, and its loss scaling, for what a workload's dimensions ask for."""

from __future__ import annotations

import keras

from workloads.core.precision import compute_dtype
from workloads.core.spec import Dimensions


def policy_of(dimensions: Dimensions, dtype: str) -> str:
    """Keras's policy: a mixed one where the model computes in a narrower type than its variables have, else `dtype`."""
    compute = compute_dtype(dimensions, dtype)
    return dtype if compute == dtype else f"mixed_{compute}"


def scaled_for(policy: str, optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """The optimizer as a model of this policy needs it: `model.compile` wraps it likewise."""
    return keras.optimizers.LossScaleOptimizer(optimizer) if policy == "mixed_float16" else optimizer
