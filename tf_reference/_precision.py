"""Keras's dtype policy for what a workload's dimensions ask for."""

from __future__ import annotations

from workloads._precision import compute_dtype
from workloads._spec import Dimensions


def policy_of(dimensions: Dimensions, dtype: str) -> str:
    """ "mixed_bfloat16" or "mixed_float16" where the model computes in a narrower type than its variables have."""
    compute = compute_dtype(dimensions, dtype)
    return dtype if compute == dtype else f"mixed_{compute}"
