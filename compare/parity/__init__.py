"""Parity: is the port the same as the original? Six gates over evidence that others gathered."""

from compare.parity.evidence import Evidence, OracleSource
from compare.parity.verdict import (
    explicable,
    fails_by_rounding,
    failure_at_size,
    find_rounding_failures,
    held_leaves,
    judge,
    judge_held,
    unjudged_at_size,
    with_sizes,
    with_sweep,
)

__all__ = [
    "Evidence",
    "OracleSource",
    "explicable",
    "fails_by_rounding",
    "failure_at_size",
    "find_rounding_failures",
    "held_leaves",
    "judge",
    "judge_held",
    "unjudged_at_size",
    "with_sizes",
    "with_sweep",
]
