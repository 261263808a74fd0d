"""Parity: is the port the same as the original? Six gates over evidence that others gathered."""

from compare.parity.evidence import Evidence, OracleSource
from compare.parity.verdict import (
    explicable,
    failure_at_size,
    find_amplified,
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
    "failure_at_size",
    "find_amplified",
    "held_leaves",
    "judge",
    "judge_held",
    "unjudged_at_size",
    "with_sizes",
    "with_sweep",
]
