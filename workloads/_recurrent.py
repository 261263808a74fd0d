"""Weights of recurrent layers that keep a long sequence from amplifying roundings."""

from __future__ import annotations

from workloads._spec import ArraySpec


def recurrent_kernel(units: int, gates: int) -> ArraySpec:
    """[units, gates units] of variance 1 / units, with bounds.

    The bounds hold in the case at the kinks too, whose values would otherwise be up to 1: such a recurrence of 100
    units is chaotic, and takes roundings of float64 apart to 1e-10 within 50 steps.
    """
    bound = (3 / units) ** 0.5
    return ArraySpec((units, gates * units), low=-bound, high=bound)
