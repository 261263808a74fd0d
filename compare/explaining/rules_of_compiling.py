"""Rules about compilation: the clusters of autoclustering, and new sizes that are compiled again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from compare.explaining.sentences import CLUSTERS, Case, Figure, Sentence, present_figures
from compare.record.clustering_part import ClusteredShare
from compare.record.ledger_part import LedgerCall, RecompilationLedger, SideLedger
from compare.report import numbers
from compare.report.numbers import count_of
from workloads.core.modes import TF_AUTOCLUSTER, TF_GRAPH

MOST_REASONS = 2
"""How many reasons are given for nodes outside of clusters."""


def clusters(case: Case) -> Iterator[Sentence]:
    """How much autoclustering compiled, where it left something outside."""
    share = case.part.clustering or ClusteredShare()
    nodes, inside = (case.figure(getattr(share, name), "clustering", name) for name in ("nodes", "clustered"))
    if nodes is None or inside is None or share.clusters is None or not nodes.value or not share.outside:
        return
    of_all = f"{numbers.count(share.clustered)} of {count_of(int(nodes.value), 'node')}"
    cluster_text = (
        f"autoclustering put {of_all} into {count_of(share.clusters, 'cluster')}{_of_time(share)}"
        if share.clusters
        else f"autoclustering compiled none of {count_of(int(nodes.value), 'node')}: "
        f"{TF_AUTOCLUSTER} is {TF_GRAPH} here"
    )
    figures = [case.figure(value, "clustering", "time", name) for name, value in _times(share).items()]
    yield Sentence(
        "clusters",
        f"{cluster_text}; outside: {_outside(share)}",
        (nodes, inside, *present_figures([case.figure(share.clusters, "clustering", "clusters"), *figures])),
        case.commands.by(CLUSTERS),
        tuple(dict.fromkeys(source for outside in share.outside[:MOST_REASONS] for source in outside.sources)),
        _times(share).get("outside_s", 0.0),
    )


def _times(share: ClusteredShare) -> dict[str, float]:
    """Seconds of a call by who computed; empty where they are not known."""
    values = {name: getattr(share.time, name, None) for name in ("compiled_s", "outside_s", "overhead_s")}
    times = {name: seconds for name, value in values.items() if (seconds := numbers.finite(value)) is not None}
    return times if len(times) == len(values) else {}


def _of_time(share: ClusteredShare) -> str:
    times = _times(share)
    total = sum(times.values())
    if total <= 0:
        return ""
    return (
        f", which take {numbers.share(times['compiled_s'] / total)} of a call's time in nodes and leave "
        f"{numbers.share(times['outside_s'] / total)} outside"
    )


def _outside(share: ClusteredShare) -> str:
    reasons = [f"{outside.ops} ({outside.why})" for outside in share.outside[:MOST_REASONS]]
    rest = sum(outside.count or 0 for outside in share.outside[MOST_REASONS:])
    return "; ".join([*reasons, *([f"{count_of(rest, 'node')} for other reasons"] if rest else [])])


def new_sizes(case: Case) -> Iterator[Sentence]:
    """A sentence on the cost of a call with new sizes, if it was compiled for them."""
    ledger = case.part.recompilation or RecompilationLedger()
    for name, side in ledger.sides.items():
        call_numbers = _first_anew(side)
        if call_numbers is None:
            continue
        anew = call_numbers[0]
        place = ("recompilation", "sides", name, "calls")
        figures = present_figures([
            case.figure(side.calls[number].seconds, *place, number, "seconds") for number in call_numbers
        ] + [case.figure(side.calls[anew].compilations, *place, anew, "compilations")])  # fmt: skip
        if len(figures) < 3:
            continue
        call = side.calls[anew]
        yield Sentence(
            "new_sizes",
            f"after {side.calls[0].call}, {side.staged} compiled {count_of(int(figures[2].value), 'program')} anew for "
            f"{call.call}: {_parts(figures[0], call)}; the next call of those sizes took "
            f"{numbers.seconds(figures[1].value)}",
            figures,
            _command(ledger),
            seconds=figures[0].value,
        )


def _first_anew(side: SideLedger) -> tuple[int, int] | None:
    """The first call after another one that compiled for its arguments, and its repetition, which did not.

    Only a reason that was found again with all else held fixed counts.
    """
    for number, call in enumerate(side.calls[1:], 1):
        if call.error or not call.compilations or not call.established:
            continue
        later = enumerate(side.calls[number + 1 :], number + 1)
        again = next((place for place, other in later if other.call == call.call and not other.error), None)
        if again is not None and side.calls[again].compilations == 0 and side.calls[again].traces == 0:
            return number, again
    return None


def _parts(seconds: Figure, call: LedgerCall) -> str:
    compiling = numbers.finite(call.compile_s)
    inside = f", {numbers.seconds(compiling)} of it in XLA" if compiling else ""
    return f"that call took {numbers.seconds(seconds.value)}{inside}"


def _command(ledger: RecompilationLedger) -> str:
    """The command that measures the same stream again."""
    targets = [word for side, side_ledger in ledger.sides.items() for word in (f"--{side}", side_ledger.target)]
    first = next(iter(ledger.sides.values()))
    calls = [word for call in first.calls for word in ("--call", call.call)]
    return f"jaxport compilation recompiles {shlex.join([*targets, *calls])} --no-cures"
