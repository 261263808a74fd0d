"""Limits tried in workers: every function in every way, every stream of calls, and both functions of every pair."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from compare.inputs import call_streams
from compare.inputs.at_size import prepare_one
from compare.inputs.sizes import choose_size
from compare.limits import outcomes
from compare.limits.naming_limits import STREAM_WAYS
from compare.progress import Reporter
from compare.prove import clustering
from compare.recompilation import keeping
from compare.record.clustering_part import ClusteredGraph
from compare.record.envelope import SCHEMA
from compare.record.limit_part import PAIR, STATEMENT, Limit, LimitWay, TriedLimits
from compare.sides import requests
from compare.sides._side import BadTarget, Missing, NoDevice, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.workers import WorkerSet
from workloads.core.arrays import draw
from workloads.core.modes import parse_mode
from workloads.core.spec import Arrays, Workload
from workloads.gotchas._gotcha import NAIVE
from workloads.limits._limit import WITHIN, limits
from workloads.limits._statement import Statement, statements
from workloads.limits.recompilation import STREAMS, jax_target, tf_target
from workloads.protocol.recompiling import Staging

_PACKAGES = {"tf": "tf_reference.limits", "jax": "jaxport.limits"}


@dataclass(frozen=True)
class Trying:
    """How limits are tried: the interpreters, the timeout of a request, and what reports every step."""

    pythons: Mapping[str, str | None]
    timeout_s: float
    progress: Reporter


def try_each(selection: Sequence[Limit], trying: Trying) -> TriedLimits:
    """The limits with what was seen of them, in their order, and with which versions.

    Raises:
      SideError: a framework is not there.
    """
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))

        def start(side: str) -> Side:
            return LiveSide(side, scratch, trying.pythons.get(side), trying.timeout_s)

        workers = stack.enter_context(WorkerSet(start))
        results = tuple(_try(limit, workers, trying, scratch) for limit in selection)
        return TriedLimits(SCHEMA, results, requests.versions(workers))


def _try(limit: Limit, workers: WorkerSet, trying: Trying, scratch: Path) -> Limit:
    if limit.kind == STATEMENT:
        _, statement = statements()[limit.name]
        trying.progress.stage(limit.name, len(limit.expected))
        result = replace(limit, ways=_ways(workers, limit, statement, trying.progress))
        surprises = outcomes.find_unexpected(result, statement.raises, statement.outside)
    else:
        ways = _clustered_pair(limit, trying, scratch) if limit.kind == PAIR else _stream(limit, trying)
        result = replace(limit, ways=ways)
        surprises = outcomes.find_unexpected(result, {}, [])
    surprises_text = "; ".join(f"{way}: {text}" for way, text in surprises.items())
    return replace(result, agrees=outcomes.agrees(result, surprises), unexpected=surprises_text)


def _ways(workers: WorkerSet, limit: Limit, statement: Statement, progress: Reporter) -> dict[str, LimitWay]:
    if statement.alone:
        workers.replace(list(workers.sides))
    arrays = {name: draw(spec, name, 0) for name, spec in statement.inputs.items()}
    ways: dict[str, LimitWay] = {}
    eager: Arrays | None = None
    for way in statement.seen:
        progress.step(way)
        ways[way], outputs = _way(workers, limit, way, arrays, eager, statement.padded)
        if way == outcomes.EAGER:
            eager = outputs
            if not ways[way].outcome:
                break  # lost: no other result can be distinguished from it
    if statement.alone:
        workers.replace(list(workers.sides))
    return ways


def _way(
    workers: WorkerSet, limit: Limit, way: str, arrays: Arrays, eager: Arrays | None, is_padded: bool
) -> tuple[LimitWay, Arrays | None]:
    mode = parse_mode(way)
    side, kind = mode.side, mode.name
    target = f"{_PACKAGES[side]}.{limit.theme}:{NAIVE if kind == 'naive' else ''}{limit.name}"
    try:
        attempt = requests.attempt(workers.get(side), target, kind if side == "tf" else "jit", arrays)
    except (Missing, NoDevice, BadTarget):
        raise
    except SideError as error:
        if error.lost:
            return LimitWay(told=error.reason, lost=True), None
        path = _twin(side, limit.theme)
        return outcomes.describe_error(error.reason, error.details, path.name, path.read_text().splitlines()), None
    outcome = outcomes.gave(attempt.outputs, eager, is_padded and side == "jax")
    if not attempt.calls:
        return outcome, attempt.outputs
    clusters, outside = outcomes.count_clusters(attempt.calls)
    return replace(outcome, clusters=clusters, outside=outside), attempt.outputs


def _twin(side: str, theme: str) -> Path:
    """The file of a theme."""
    package = importlib.util.find_spec(_PACKAGES[side].partition(".")[0])
    if package is None or package.origin is None:
        raise ModuleNotFoundError(f"expected the package {_PACKAGES[side]}, found none: install jaxport again")
    return Path(package.origin).parent / "limits" / f"{theme}.py"


def _stream(limit: Limit, trying: Trying) -> dict[str, LimitWay]:
    stream = STREAMS[limit.name]
    stagings = {"tf": Staging(tf_target(limit.name)), "jax": Staging(jax_target(limit.name), stream.static)}
    calls = call_streams.stream(stream.calls, stream.sizes)
    request = keeping.Asked(limit.name, stagings, calls, with_cures=False)
    sides = keeping.keep(request, trying.pythons, trying.timeout_s, trying.progress).sides
    return {STREAM_WAYS[side]: outcomes.count_compilations(side_ledger) for side, side_ledger in sides.items()}


def _clustered_pair(limit: Limit, trying: Trying, scratch: Path) -> dict[str, LimitWay]:
    theme, pair = limits()[limit.name]
    pairs = ((f"{WITHIN}{pair.name}", pair.workload(theme, within=True)), (pair.name, pair.workload(theme)))
    try:
        within, beyond = (_graph(name, workload, trying, scratch / name) for name, workload in pairs)
    except (Missing, NoDevice, BadTarget):
        raise
    except SideError as error:
        return {"tf/autocluster": LimitWay(told=error.reason, lost=error.lost)}
    return {"tf/autocluster": outcomes.cut(within, beyond)}


def _graph(title: str, workload: Workload, trying: Trying, scratch: Path) -> ClusteredGraph | None:
    scratch.mkdir()
    instance = prepare_one(workload, choose_size(workload, None), None, scratch)
    request = clustering.Asked(instance, title, jax=False, pythons=trying.pythons, timeout_s=trying.timeout_s)
    return clustering.examine(request, scratch / "clusters", trying.progress).graph
