"""A function that is tried under jax.jit: what it gives, or JAX's refusal as it is raised."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np

from workloads.core.spec import Arrays
from workloads.core.target import resolve
from workloads.protocol.attempting import around
from workloads.protocol.framework import Attempted


def attempt(target: str, arrays: Arrays) -> Attempted:
    """Call a function under jax.jit, and return its results."""
    function = resolve(target)
    results = around(function)(partial(jax.jit, function), *arrays.values())
    return Attempted({str(number): np.asarray(leaf) for number, leaf in enumerate(jax.tree.leaves(results))})
