"""Names of what fills a program's parameters or is returned, "weight dense/kernel": the only place that reads them.

Both programs share them; `compare.prove.shared_parameters` writes them.
"""

from __future__ import annotations

_WEIGHT, _STATE, _MOVING = "weight ", "state ", "moving"


def is_weight(slot: str) -> bool:
    """Whether it is a weight, or a weight's next value."""
    return slot.startswith(_WEIGHT)


def is_state(slot: str) -> bool:
    """Whether it is state, such as an optimizer's counter."""
    return slot.startswith(_STATE)


def is_moving_average(slot: str) -> bool:
    """Whether it is a moving average of batch normalization."""
    return _MOVING in slot
