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
from compare.recompilation.same_results import TOLERANCE, tried, unlike
from compare.record.ledger_part import NOT_CALLED, LedgerCall, LedgerCure, RecompilationLedger, SideLedger
from compare.sides import requests
from compare.sides._side import BadTarget, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.replies import Seen
from compare.sides.workers import WorkerSet
from workloads._recompiling import Named, Staging
from workloads._spec import Arrays

UNREPEATED = "not compared: the stream as it is gives other results in another process"


@dataclass(frozen=True)
class Asked:
    """What a ledger is kept of.

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
    asked: Asked, interpreters: Mapping[str, str | None], timeout_s: float, progress: Reporter
) -> RecompilationLedger:
    """The ledger of a stream on each side that has a function.

    Args:
      asked: the functions and the stream.
      interpreters: by side, the one that runs it; None is this one.
      timeout_s: seconds that a call may take.
      progress: is told of every stage.
    """
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))

        def start(side: str) -> Side:
            return LiveSide(side, scratch, interpreters.get(side), timeout_s)

        workers = stack.enter_context(WorkerSet(start))
        workers.start(asked.stagings)
        sides = {side: _side_ledger(workers, side, asked, progress) for side in asked.stagings}
    return RecompilationLedger(asked.name, asked.summary, asked.statement, asked.source, sides)


def _side_ledger(workers: WorkerSet, side: str, asked: Asked, progress: Reporter) -> SideLedger:
    staging = asked.stagings[side]
    progress.stage(f"{asked.name}, {side}: the stream", len(asked.calls))
    ran = _run(workers, side, staging, asked.calls, progress)
    if ran.error:
        return SideLedger(staging.target, error=ran.error, lost=ran.lost)
    lines = _with_reasons(workers, side, staging, asked.calls, ran)
    ledger = _summed(SideLedger(staging.target, ran.staged, tuple(lines), lost=ran.lost))
    if not asked.with_cures:
        return ledger
    candidates = cures(side, staging, asked.calls, ledger)
    progress.stage(
        f"{asked.name}, {side}: cures", sum(len(cure.calls) for cure in candidates if isinstance(cure, Trial))
    )

    def again(staged: Staging, calls: Sequence[Call]) -> _Ran:
        # What one stream compiled would make the next one look cheap.
        workers.replace([side])
        return _run(workers, side, staged, calls, progress)

    control = _Control(lambda: again(staging, asked.calls), ran.results)
    return msgspec.structs.replace(
        ledger, cures=tuple(_cured(cure, again, ran.results, control) for cure in candidates)
    )


def _run(workers: WorkerSet, side: str, staging: Staging, calls: Sequence[Call], progress: Reporter) -> _Ran:
    try:
        worker = workers.get(side)
        staged = requests.watch(worker, staging)
    except BadTarget:
        raise
    except SideError as error:
        return _Ran("", (), error=error.reason, lost=error.lost)
    lines, seen, results = [], dict[int, Seen](), dict[int, Arrays]()
    for number, call in enumerate(calls):
        progress.step(call.text)
        if worker.lost:
            lines.append(LedgerCall(call.text, error=NOT_CALLED))
            continue
        try:
            seen[number], results[number] = requests.watched_call(worker, call.arguments)
        except SideError as error:
            lines.append(LedgerCall(call.text, error=error.reason))
            continue
        lines.append(LedgerCall(call.text, **msgspec.structs.asdict(seen[number])))
    return _Ran(staged, lines, seen, results, lost=worker.lost)


def _with_reasons(
    workers: WorkerSet, side: str, staging: Staging, calls: Sequence[Call], ran: _Ran
) -> list[LedgerCall]:
    """The lines with a reason for each trace, and for each compilation without one."""
    lines = list(ran.lines)
    probe = _Probing(workers, side, staging)
    for number, seen in ran.seen.items():
        if not seen.traces and not seen.compilations:
            continue
        earlier = {before + 1: calls[before].arguments for before in ran.seen if before < number}
        why = reason(calls[number].arguments, earlier, seen, probe, side)
        lines[number] = msgspec.structs.replace(lines[number], why=why.text, established=why.established)
    return lines


class _Probing:
    """Asks the worker of a side what one call does after another; a worker that is lost is replaced and told again."""

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
                tried(self._results, numbers), tried(again, numbers), "whole"
            )
        return self._repeats


def _cured(
    cure: Trial | Refused,
    run: Callable[[Staging, Sequence[Call]], _Ran],
    results: Mapping[int, Arrays],
    control: _Control,
) -> LedgerCure:
    if isinstance(cure, Refused):
        return LedgerCure(cure.name, cure.change, refused=cure.reason)
    again = run(cure.staging, cure.calls)
    failed = next((f"call {n}: {line.error}" for n, line in enumerate(again.lines, start=1) if line.error), again.error)
    if failed:
        return LedgerCure(cure.name, cure.change, refused=failed)
    unequal = unlike(tried(results, cure.numbers), tried(again.results, range(len(cure.calls))), cure.comparison)
    counted = LedgerCure(
        cure=cure.name,
        change=cure.change,
        traces=sum(seen.traces for seen in again.seen.values()),
        compilations=sum(seen.compilations for seen in again.seen.values()),
        seconds=sum(seen.seconds for seen in again.seen.values()),
        calls=len(cure.calls),
    )
    if unequal and not control.repeats():
        return msgspec.structs.replace(counted, results=UNREPEATED)
    same = f"the same results, to {TOLERANCE:g} of the largest value"
    return msgspec.structs.replace(counted, results=unequal or same, same_results=not unequal)


def _summed(ledger: SideLedger) -> SideLedger:
    """The ledger with its totals, over the calls that gave results."""
    counted = [line for line in ledger.calls if not line.error]
    held = [line.held_bytes for line in counted if line.held_bytes is not None]
    entries = [line.entries for line in counted if line.entries is not None]
    return msgspec.structs.replace(
        ledger,
        traces=sum(line.traces or 0 for line in counted),
        compilations=sum(line.compilations or 0 for line in counted),
        seconds=sum(line.seconds or 0.0 for line in counted),
        failed=len(ledger.calls) - len(counted),
        entries=entries[-1] if entries else None,
        grown_bytes=held[-1] - held[0] if len(held) > 1 else None,
    )
