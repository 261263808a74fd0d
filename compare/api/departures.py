"""Describes the result of `jaxport locate`: the operation to blame in each pass, both lines and both values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console

from compare.hlo.locate import Departure, OperationPlace
from compare.prove import locating
from compare.record.vocabulary import FAIL, NOT_JUDGED, PASS
from compare.report.numbers import count_of, list_first
from compare.report.page_console import print_facts, print_lines
from compare.report.pages import Cell, Facts
from compare.report.showable import relative_place
from workloads.protocol.framework import has_no_gradient


def conclude(results_by_workload: Mapping[str, Mapping[str, locating.Located]]) -> tuple[str, str]:
    """The verdict on all passes and its sentence; a pass that was not searched is no pass that agrees."""
    results = [result for of_workload in results_by_workload.values() for result in of_workload.values()]
    passes = _passes(len(results))
    departing = sum(result.verdict == locating.DEPARTS for result in results)
    if departing:
        return FAIL, f"JAX departs from TensorFlow in {departing} of {passes}"
    agreeing = sum(result.verdict == locating.AGREES for result in results)
    missing = [result for result in results if result.verdict != locating.AGREES and not _has_none(result)]
    if missing or not agreeing:
        why = (missing or results)[0].reason if results else "there is no pass"
        number = len(missing) or len(results)
        return NOT_JUDGED, f"{number} of {passes} could not be searched: {why}"
    return PASS, f"no departure in {_passes(agreeing)}"


def _passes(number: int) -> str:
    return f"{number} {'pass' if number == 1 else 'passes'}"


def _has_none(result: locating.Located) -> bool:
    """Whether there is nothing to search, since the original has no gradient."""
    return result.verdict == locating.NONE and has_no_gradient(result.reason)


def show(results_by_workload: Mapping[str, Mapping[str, locating.Located]], console: Console) -> None:
    """Print one line a pass, with its departures below it."""
    for name, passes in results_by_workload.items():
        for pass_, result in passes.items():
            print_lines([f"{name}, {pass_}: {_headline(result)}"], console, "strong")
            for departure in result.departures:
                print_facts(Facts(list(facts(departure, result))), console, "  ")
                console.print()
            for line in _afterwards(result):
                print_lines([f"  {line}", ""], console, "note")


def _headline(result: locating.Located) -> str:
    if result.verdict == locating.AGREES:
        return "agrees"
    if result.verdict != locating.DEPARTS:
        return f"{'not applicable' if _has_none(result) else 'not judged'}: {result.reason}"
    names = list_first(result.results, 3)
    if not result.departures:
        return f"departs where an earlier pass does; {names} differ"
    departures = count_of(len(result.departures), "new departure" if result.again else "departure")
    return f"{departures} in {result.dtype}; {names} differ{'s' if len(result.results) == 1 else ''}"


def facts(departure: Departure, result: locating.Located) -> Iterator[tuple[str, Cell]]:
    """The facts about an operation to blame, as titles and texts."""
    title = f"{departure.kind} {departure.op}" + (f", {departure.times} times" if departure.times > 1 else "")
    inside = f", in the {', in the '.join(reversed(departure.inside))}" if departure.inside else ""
    yield "operation", Cell(title + inside, "fail")
    for place in (departure.right, departure.left):
        if place is not None:
            yield place.side, _place(place, result.texts)
    yield "what", Cell(departure.difference)
    sample = departure.value
    if sample is not None:
        index = f"[{', '.join(map(str, sample.index))}]" if sample.index else "the value"
        error = f"; off by {sample.error:.3g} of the largest" if sample.error < float("inf") else ""
        yield "values", Cell(f"{index}: tf {sample.left:.7g}, jax {sample.right:.7g}{error}")
    yield "cause", Cell(f"{departure.cause}: {departure.remedy}")
    if departure.gotchas:
        yield "see", Cell(f"jaxport lookup gotchas {departure.gotchas}")
    yield "proof", Cell(locating.describe_proof(departure, len(result.departures)))


def _place(place: OperationPlace, texts: Mapping[str, str]) -> Cell:
    where = relative_place(place.source) if place.source else f"{place.name}, no source line"
    inside = f"in {place.scope}" if place.scope else ""
    return Cell(where, "strong", "  ".join(filter(None, (texts.get(place.source, ""), inside))))


def _afterwards(result: locating.Located) -> Iterator[str]:
    if any(result.cascade) and result.departures:
        left, right = result.cascade
        yield f"{left} values of tf and {right} of jax downstream also differ"
    if result.reason and result.verdict in (locating.AGREES, locating.DEPARTS):
        yield result.reason
