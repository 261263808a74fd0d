"""Splits the JAX/TF time ratio into the frontend's, the compiler's and the runtime's part."""

from __future__ import annotations

import math
from collections.abc import Mapping

from compare.record.timing_part import Attribution
from compare.record.vocabulary import CELLS


def attribute(
    cells: Mapping[str, float | None], tf_public: float | None, jax_public: float | None
) -> Attribution | None:
    """Attribute jax_public / tf_public to frontend, compiler and runtime.

    A factor is the geometric mean of its two swaps: the frontend's under either compiler, the compiler's
    under either frontend. So frontend * compiler is jax@jax / tf@tf, and runtime is what the public entry points add.

    Args:
      cells: seconds of the bare execution by program@compiler.
      tf_public: seconds of a call as TensorFlow's users make it.

    Returns:
      None where a cell or a public time is missing.

    Raises:
      ValueError: a time is not positive and finite.
    """
    times = [*(cells.get(name) for name in CELLS), tf_public, jax_public]
    known_times = [time for time in times if time is not None]
    if len(known_times) < len(times):
        return None
    if not all(0 < time < math.inf for time in known_times):
        raise ValueError(f"expected positive times in seconds, found {known_times}")
    tf, jax, tf_by_jax, jax_by_tf, tf_run, jax_run = known_times
    frontend = math.sqrt((jax_by_tf / tf) * (jax / tf_by_jax))
    compiler = math.sqrt((tf_by_jax / tf) * (jax / jax_by_tf))
    return Attribution(frontend, compiler, (jax_run / tf_run) / (jax / tf))
