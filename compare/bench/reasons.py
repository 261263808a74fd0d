"""Why a ratio is not given, or is given without an interval: one line each, for people."""

from __future__ import annotations

from compare.bench.stats import IDENTICAL, LEAST_PAIRS, Interval

FEW_PAIRS = f"fewer than {LEAST_PAIRS} pairs of processes: how far another would lie is not known; run more pairs"


PEER = "a peer's process runs nothing else and has no second process of itself: within 10 % its ratio tells nothing"


SECOND_PROCESS, SECOND_COPY = "a second process of itself", "a second copy of itself"


def null_missed(arm: str, ratio: float, interval: Interval, other: str = SECOND_PROCESS) -> str:
    """Identical code did not come out equal.

    Args:
      interval: of it, at the level `IDENTICAL`.
    """
    low, high = interval
    return (
        f"A/A check failed: {arm} against {other} gives {ratio:.3f}, {100 * IDENTICAL:g} % interval "
        f"[{low:.3f}, {high:.3f}], which excludes 1: run again on a quieter machine"
    )


def null_missing(arm: str, other: str = SECOND_PROCESS) -> str:
    """Identical code was not timed against itself."""
    return f"{arm} was not timed against {other}: no A/A control, ratios withheld"


def never_together(arm: str, other: str) -> str:
    """Each was timed, but no pair has both."""
    return f"{arm} and {other} did not both run in any pair of processes"
