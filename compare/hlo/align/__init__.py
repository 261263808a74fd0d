"""Aligns two programs, value by value."""

from compare.hlo.align._align import align
from compare.hlo.align._alignment import (
    Alignment,
    FrontierEntry,
    Match,
    Reason,
    ReasonGroup,
    ReasonKind,
    RegionAlignment,
    ResultMatch,
)
from compare.hlo.align.slots import random_cases

__all__ = [
    "Alignment",
    "FrontierEntry",
    "Match",
    "Reason",
    "ReasonGroup",
    "ReasonKind",
    "RegionAlignment",
    "ResultMatch",
    "align",
    "random_cases",
]
