"""Where two programs part and why, as JSON: every place, the reasons that explain them, and one line of both."""

from __future__ import annotations

from collections import Counter

from compare.files import Json
from compare.hlo.align import Alignment, FrontierEntry, ReasonGroup
from compare.plain_json import to_json

NO_REASON = "no reason known"
"""The name of the group of places that nothing explains."""


def place_view(entry: FrontierEntry) -> Json:
    """One place where the programs part; `explanation` is null where no reason is known."""
    return to_json(entry) | {"explained": entry.explanation_name}


def differences_view(alignment: Alignment) -> Json:
    """The headline, and the reasons for which the programs differ: most places first, those without a reason last."""
    return {"headline": headline(alignment), "reasons": [_reason_view(group) for group in alignment.reasons]}


def _reason_view(group: ReasonGroup) -> Json:
    reason = {"kind": None, "name": NO_REASON, "meaning": ""} if group.reason is None else to_json(group.reason)
    return reason | {
        "places": len(group.places),
        "sides": dict(Counter(place.side for place in group.places)),
        "sources": list(dict.fromkeys(place.source for place in group.places if place.source)),
    }


def headline(alignment: Alignment) -> str:
    """A line on the equal results, and on the number of places and reasons of differences."""
    results_text = _results(alignment)
    if not alignment.reasons:
        return results_text
    reason_groups = [group for group in alignment.reasons if group.reason is not None]
    places = sum(len(group.places) for group in alignment.reasons)
    unknown = places - sum(len(group.places) for group in reason_groups)
    why = f" for {_count(len(reason_groups), 'reason')}" if reason_groups else ""
    rest = f", {'all' if unknown == places else unknown} without a known reason" if unknown else ""
    return f"{results_text}; the programs differ in {_count(places, 'place')}{why}{rest}"


def _results(alignment: Alignment) -> str:
    equal = sum(result.equal for result in alignment.results)
    if len(alignment.results) == 1:
        return f"the result is {'' if equal else 'not '}equal"
    return f"{equal} of {len(alignment.results)} results are equal"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
