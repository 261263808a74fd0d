"""The draws of dropout and noise while a port is judged: the same on both sides, as frameworks draw differently.

An element is dropped by its place in the array of draws, in row-major order, through a hash of 32 bits: places that
are neighbours along any axis have nothing to do with each other.
"""

from __future__ import annotations

import math

MULTIPLIERS = (2654435761, 2246822519)
"""Odd, of 32 bits with about as many ones as zeros (the first two primes of xxHash32, https://xxhash.com)."""

SHIFTS = (15, 13)
"""By how much a hash is shifted to the right, and combined with itself, after each multiplication."""

HASHES = 1 << 32
"""As many as there are."""

NORMAL_BITS = 24
"""The highest bits of a hash that a number of a noise is made of: float32 holds as many exactly."""

NORMAL_SPREAD = math.sqrt(12)
"""Times a number that is uniform in [-1/2, 1/2), it has the mean and variance of a standard normal one."""

TRUNCATED_SPREAD = 0.8796256610342398 * NORMAL_SPREAD
"""Likewise, the variance of a standard normal one that is drawn again beyond two standard deviations."""


def threshold(rate: float) -> int:
    """Elements whose hash is below it are dropped.

    Args:
      rate: the share that is dropped, in [0, 1].
    """
    return min(round(rate * HASHES), HASHES - 1)
