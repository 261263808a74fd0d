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
]
