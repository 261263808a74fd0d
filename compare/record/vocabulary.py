"""Words that a record uses for verdicts and cells."""

from __future__ import annotations

from typing import Final, Literal

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_APPLICABLE: Final = "not_applicable"

Judgement = Literal["pass", "fail", "not_applicable"]
"""What a gate says."""

PASS_WORDS = {"forward": "forward pass", "gradients": "gradients", "step": "training step"}
"""What is run, in words."""

CELLS = ("tf@tf", "jax@jax", "tf@jax", "jax@tf")
"""program@compiler: each frontend's program compiled by each side's XLA."""

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
BOTH = "backward and optimizer"

PHASES = (FORWARD, BACKWARD, BOTH, OPTIMIZER)
"""Of a training step. A kernel that computes the forward pass anew for the backward one is of the backward one."""
