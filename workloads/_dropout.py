"""Dropout whose randomness is an input, so that both frameworks drop the same values bit for bit.

TensorFlow and JAX draw different bits from the same seed, and TensorFlow turns the same Philox bits into
other floats in eager mode than under XLA: a mask that is handed over is the only one that is the same everywhere.
"""

from __future__ import annotations

from workloads.core.spec import ArraySpec

LEVELS = 256


def draws(*shape: int) -> ArraySpec:
    """One u8 draw per value that may be dropped, uniform in 0..255."""
    return ArraySpec(shape, "uint8", low=0, high=LEVELS)


def threshold(rate: float) -> int:
    """Values whose draw is below it are dropped: the rate is rounded to 1/256.

    Raises:
      ValueError: a rate outside [0, 1).
    """
    if not 0 <= rate < 1:
        raise ValueError(f"expected a dropout rate in [0, 1), found {rate:g}: 0 keeps everything")
    return round(rate * LEVELS)


def scale(rate: float) -> float:
    """The factor of the values that are kept, which preserves their expectation."""
    return LEVELS / (LEVELS - threshold(rate))
