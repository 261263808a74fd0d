"""Keeps the ledger: calls in order in a fresh worker of each side, then reasons, then every cure in another worker."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from compare.inputs.call_streams import Call
from compare.progress import Reporter
from compare.recompilation.cures import Refused, Trial, cures
from compare.recompilation.miss_reasons import reason
from compare.recompilation.same_results import TOLERANCE, results_of, unlike
from compare.record.ledger_part import NOT_CALLED, LedgerCall, LedgerCure, RecompilationLedger, SideLedger
from compare.sides import requests
from compare.sides._side import BadTarget, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.replies import Seen
from compare.sides.workers import WorkerSet
from workloads.core.spec import Arrays
from workloads.protocol.recompiling import Named, Staging

UNREPEATED = "not compared: the stream as it is gives other results in another process"


@dataclass(frozen=True)
class Asked:
    """The request for a ledger.

    Attributes:
      name: of the ledger.
      stagings: by side, its function.
      calls: the stream, the same for each side.
      summary: what is called with what; empty of a user's own functions.
      statement: what a document says of it, and `source` which.
      with_cures: whether cures are tried.
    """

    name: str
    stagings: Mapping[str, Staging]
    calls: Sequence[Call]
    summary: str = ""
    statement: str = ""
    source: str = ""
    with_cures: bool = True


@dataclass(frozen=True)
class _Ran:
    """A stream as one worker ran it."""

    staged: str
    lines: Sequence[LedgerCall]
    seen: Mapping[int, Seen] = field(default_factory=dict)
    results: Mapping[int, Arrays] = field(default_factory=dict)
    error: str = ""
    lost: bool = False


def keep(
    request: Asked, interpreters: Mapping[str, str | None], timeout_s: float, progress: Reporter
) -> RecompilationLedger:
    """The ledger of a stream on each side that has a function.

    Args:
      interpreters: by side, the one that runs it; None is this one.
      timeout_s: seconds that a call may take.
    """
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))

        def start(side: str) -> Side:
            return LiveSide(side, scratch, interpreters.get(side), timeout_s)

        workers = stack.enter_context(WorkerSet(start))
        workers.start(request.stagings)
        sides = {side: _side_ledger(workers, side, request, progress) for side in request.stagings}
    return RecompilationLedger(request.name, request.summary, request.statement, request.source, sides)


def _side_ledger(workers: WorkerSet, side: str, request: Asked, progress: Reporter) -> SideLedger:
    staging = request.stagings[side]
    progress.stage(f"{request.name}, {side}: the stream", len(request.calls))
    ran = _run(workers, side, staging, request.calls, progress)
    if ran.error:
        return SideLedger(staging.target, error=ran.error, lost=ran.lost)
    lines = _with_reasons(workers, side, staging, request.calls, ran)
    ledger = _add_totals(SideLedger(staging.target, ran.staged, tuple(lines), lost=ran.lost))
    if not request.with_cures:
        return ledger
    candidates = cures(side, staging, request.calls, ledger)
    progress.stage(
        f"{request.name}, {side}: cures", sum(len(cure.calls) for cure in candidates if isinstance(cure, Trial))
    )

    def again(wanted_staging: Staging, calls: Sequence[Call]) -> _Ran:
        # What one stream compiled would make the next one look cheap.
        workers.replace([side])
        return _run(workers, side, wanted_staging, calls, progress)

    control = _Control(lambda: again(staging, request.calls), ran.results)
    return msgspec.structs.replace(ledger, cures=tuple(_cure(cure, again, ran.results, control) for cure in candidates))


def _run(workers: WorkerSet, side: str, staging: Staging, calls: Sequence[Call], progress: Reporter) -> _Ran:
    try:
        worker = workers.get(side)
        stages = requests.watch(worker, staging)
    except BadTarget:
        raise
    except SideError as error:
        return _Ran("", (), error=error.reason, lost=error.lost)
    lines, observations, results = [], dict[int, Seen](), dict[int, Arrays]()
    for number, call in enumerate(calls):
        progress.step(call.text)
        if worker.lost:
            lines.append(LedgerCall(call.text, error=NOT_CALLED))
            continue
        try:
            observations[number], results[number] = requests.watched_call(worker, call.arguments)
        except SideError as error:
            lines.append(LedgerCall(call.text, error=error.reason))
            continue
        lines.append(LedgerCall(call.text, **msgspec.structs.asdict(observations[number])))
    return _Ran(stages, lines, observations, results, lost=worker.lost)


def _with_reasons(
    workers: WorkerSet, side: str, staging: Staging, calls: Sequence[Call], ran: _Ran
) -> list[LedgerCall]:
    """The lines with a reason for each trace, and for each compilation without one."""
    lines = list(ran.lines)
    probe = _Probing(workers, side, staging)
    for number, observation in ran.seen.items():
        if not observation.traces and not observation.compilations:
            continue
        earlier = {before + 1: calls[before].arguments for before in ran.seen if before < number}
        why = reason(calls[number].arguments, earlier, observation, probe, side)
        lines[number] = msgspec.structs.replace(lines[number], why=why.text, established=why.established)
    return lines


class _Probing:
    """Asks the worker of a side what each call does; the replacement of a lost worker gets the calls again."""

    def __init__(self, workers: WorkerSet, side: str, staging: Staging) -> None:
        self._workers, self._side, self._staging = workers, side, staging
        self._watching: Side | None = None

    def __call__(self, before: Named, after: Named, body: bool) -> Seen | None:
        try:
            worker = self._workers.get(self._side)
            if worker is not self._watching:
                requests.watch(worker, self._staging)
                self._watching = worker
            return requests.probe(worker, before, after, body)
        except SideError:
            return None


class _Control:
    """Whether the stream, as it was, gives the same results in another process; it is run again once one differs."""

    def __init__(self, rerun: Callable[[], _Ran], results: Mapping[int, Arrays]) -> None:
        self._rerun, self._results = rerun, results
        self._repeats: bool | None = None

    def repeats(self) -> bool:
        """Whether it does."""
        if self._repeats is None:
            again = self._rerun().results
            numbers = sorted(self._results)
            self._repeats = again.keys() == self._results.keys() and not unlike(
                results_of(self._results, numbers), results_of(again, numbers), "whole"
            )
        return self._repeats


def _cure(
    cure: Trial | Refused,
    run: Callable[[Staging, Sequence[Call]], _Ran],
    results: Mapping[int, Arrays],
    control: _Control,
) -> LedgerCure:
    if isinstance(cure, Refused):
        return LedgerCure(cure.name, cure.change, refused=cure.reason)
    again = run(cure.staging, cure.calls)
    failure = next(
        (f"call {n}: {line.error}" for n, line in enumerate(again.lines, start=1) if line.error), again.error
    )
    if failure:
        return LedgerCure(cure.name, cure.change, refused=failure)
    unequal = unlike(
        results_of(results, cure.numbers), results_of(again.results, range(len(cure.calls))), cure.comparison
    )
    cure_row = LedgerCure(
        cure=cure.name,
        change=cure.change,
        traces=sum(observation.traces for observation in again.seen.values()),
        compilations=sum(observation.compilations for observation in again.seen.values()),
        seconds=sum(observation.seconds for observation in again.seen.values()),
        calls=len(cure.calls),
    )
    if unequal and not control.repeats():
        return msgspec.structs.replace(cure_row, results=UNREPEATED)
    same = f"the same results, to {TOLERANCE:g} of the largest value"
    return msgspec.structs.replace(cure_row, results=unequal or same, same_results=not unequal)


def _add_totals(ledger: SideLedger) -> SideLedger:
    """The ledger with its totals, over the calls that gave results."""
    good_lines = [line for line in ledger.calls if not line.error]
    held_bytes = [line.held_bytes for line in good_lines if line.held_bytes is not None]
    entries = [line.entries for line in good_lines if line.entries is not None]
    return msgspec.structs.replace(
        ledger,
        traces=sum(line.traces or 0 for line in good_lines),
        compilations=sum(line.compilations or 0 for line in good_lines),
        seconds=sum(line.seconds or 0.0 for line in good_lines),
        failed=len(ledger.calls) - len(good_lines),
        entries=entries[-1] if entries else None,
        grown_bytes=held_bytes[-1] - held_bytes[0] if len(held_bytes) > 1 else None,
    )
