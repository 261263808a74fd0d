"""Words that a record uses for verdicts and cells."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_APPLICABLE: Final = "not_applicable"
NOT_JUDGED: Final = "not_judged"

Judgement = Literal["pass", "fail", "not_applicable", "not_judged"]
"""The verdict of a gate: `not_applicable` if the original cannot have it, `not_judged` if evidence is missing."""

Composed = Literal["pass", "fail", "not_judged"]
"""The verdict that several verdicts compose."""


def compose(verdicts: Iterable[str | None]) -> Composed:
    """Compose verdicts: fail where any is fail; else not judged where any is missing or not judged; else pass."""
    distinct = set(verdicts)
    if FAIL in distinct:
        return FAIL
    return PASS if distinct <= {PASS, NOT_APPLICABLE} else NOT_JUDGED


PASS_WORDS = {"forward": "forward pass", "gradients": "gradients", "step": "training step"}
"""The passes in words."""

CELLS = ("tf@tf", "jax@jax", "tf@jax", "jax@tf")
"""program@compiler: each frontend's program compiled by each side's XLA."""

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
BOTH = "backward and optimizer"

PHASES = (FORWARD, BACKWARD, BOTH, OPTIMIZER)
"""The phases of a training step. Forward operations that are repeated for the backward pass belong to it."""
