"""The reasons for which two programs differ, each with its places, as the page shows them. From JSON alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compare.report.showable import entries, mapping, text

Json = Mapping[str, Any]

SIDES = ("left", "right")
"""Of the page; what programs are called there, their labels say."""


@dataclass(frozen=True)
class Place:
    """One line of the frontier, and where on this page its value and what stands in its place are."""

    side: str
    is_left: bool
    op: str
    name: str
    source: str
    counterpart_source: str
    reason: str
    anchor: str
    counterpart_anchor: str


@dataclass(frozen=True)
class Reason:
    """Why programs differ, with its places; without a kind the places that nothing explains."""

    kind: str
    name: str
    meaning: str
    places: int
    sides: Mapping[str, int]
    sources: Sequence[str]
    """Lines of either side."""
    rows: Sequence[Place]


def reasons(view: Json, labels: Sequence[str]) -> list[Reason]:
    """The reasons in the order of the view, each with its places; the places without a reason come last."""
    places = [(mapping(entry, "explanation"), _place(entry, labels)) for entry in entries(view, "frontier")]
    return [_reason(reason, places) for reason in entries(view, "reasons")]


def _reason(reason: Json, places: Sequence[tuple[Json, Place]]) -> Reason:
    def explains(explanation: Json) -> bool:
        keys = ("kind", "name", "meaning")
        return all(explanation.get(key) == reason[key] for key in keys) if reason["kind"] else not explanation

    return Reason(
        kind=text(reason, "kind"),
        name=text(reason, "name"),
        meaning=text(reason, "meaning"),
        places=reason["places"],
        sides=mapping(reason, "sides"),
        sources=entries(reason, "sources"),
        rows=[place for explanation, place in places if explains(explanation)],
    )


def _place(entry: Json, labels: Sequence[str]) -> Place:
    is_left = text(entry, "side") == labels[0]
    here, there = SIDES if is_left else SIDES[::-1]
    node, counterpart = text(entry, "node"), text(entry, "counterpart")
    return Place(
        side=text(entry, "side"),
        is_left=is_left,
        op=text(entry, "op"),
        name=text(entry, "name"),
        source=text(entry, "source"),
        counterpart_source=text(entry, "counterpart_source"),
        reason=text(entry, "reason"),
        anchor=f"{here}-{node}" if node else "",
        counterpart_anchor=f"{there}-{counterpart}" if counterpart else "",
    )
