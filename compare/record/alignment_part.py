"""Both programs held against each other, and why compilers made different code of them."""

from __future__ import annotations

from compare.record.base import Count, Many, Named, Part, Text, Texts


class Departure(Part, frozen=True):
    """One entry of an alignment's frontier."""

    side: Text = ""
    op: Text = ""
    name: Text = ""
    source: Text = ""
    reason: Text = ""


class Level(Part, frozen=True):
    matched: Count = None
    left: Count = None
    right: Count = None
    equal: bool | None = None
    reason: Text = ""


class Donated(Part, frozen=True):
    holds: bool | None = None
    donated: Count = None
    bytes_in_place: Count = None
    bytes_missed: Count = None
    missed: Texts = ()


class Alignment(Part, frozen=True):
    level: Text = ""
    matched: Count = None
    tf_only: Count = None
    jax_only: Count = None
    frontier: Many[Departure] = ()
    levels: Named[Level] = {}
    donation: Named[Donated] = {}


class Reason(Part, frozen=True):
    kind: Text = ""
    text: Text = ""
    sources: Texts = ()


class Compilers(Part, frozen=True):
    frontend: Many[Reason] = ()
    compiler: Many[Reason] = ()
    partitions: Texts = ()
    reason: Text = ""
