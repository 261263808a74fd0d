"""A run: every workload through every judge, one record at the end."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare.parity import Evidence, judge
from compare.records import PASS, Failure
from compare.run import cells, record, timing
from compare.run.collect import Collected, collect, steps_of
from compare.run.inputs import Prepared, RequestError, prepare
from compare.run.oracle import Doubles, find_doubles
from compare.run.progress import Reporter
from compare.run.sides import Pool, Source
from compare.sides import requests
from compare.sides._side import SIDES, BadTarget, Side, SideError
from workloads._framework import FORWARD
from workloads._spec import Workload


@dataclass(frozen=True)
class Request:
    """What is asked for. `size` None takes each workload's size of the tour; `pairs` 0 times nothing."""

    workloads: Sequence[Workload]
    size: str | None = None
    data: Path | None = None
    sources: Mapping[str, Source] = field(default_factory=lambda: {side: Source() for side in SIDES})
    timeout_s: float = 300
    pairs: int = 5
    budget_s: float = 2.5
    seed: int = 0


def run(request: Request, reporter: Reporter) -> dict[str, Any]:
    """Judge every workload; the record, not yet written.

    Raises:
      RequestError, BadTarget: what was asked for cannot be carried out.
    """
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        scratch = Path(folder)
        parts, to_time, sides = _judge_all(request, scratch, reporter)
        if request.pairs and to_time:
            _time_all(request, to_time, parts, scratch, reporter)
    return record.envelope(record.environment(sides), parts, request.size)


def record_side(side: Side, prepared: Prepared, reporter: Reporter) -> list[Failure]:
    """Ask a recording side for all that a run will ask of its record; what it failed at.

    Raises:
      SideError: the side cannot be started, or was lost.
    """
    found = collect(side, prepared, reporter)
    program = cells.program_of(found)
    if program is not None and not found.lost:
        built = requests.compile_program(side, program)
        requests.execute(side, built.handle, prepared.loading.cases[0])
    return found.failures


def _judge_all(
    request: Request, scratch: Path, reporter: Reporter
) -> tuple[dict[str, Any], list[timing.Timed], dict[str, Any]]:
    parts: dict[str, Any] = {}
    to_time: list[timing.Timed] = []
    with Pool(dict(request.sources), scratch, request.timeout_s) as pool:
        for workload in request.workloads:
            prepared = prepare(workload, request.size, request.data if workload.training else None, scratch)
            reporter.stage(f"{workload.name}: parity and programs", 2 * steps_of(prepared))
            collected, part = _judge_one(pool, prepared, reporter)
            parts[workload.name] = part
            if part["parity"].verdict == PASS:
                to_time.append(timing.timed(prepared, collected))
        sides = {name: _environment(pool, name, request.sources[name]) for name in SIDES}
    return parts, to_time, sides


def _judge_one(pool: Pool, prepared: Prepared, reporter: Reporter) -> tuple[dict[str, Collected], dict[str, Any]]:
    failures: list[Failure] = []
    with ThreadPoolExecutor(len(SIDES)) as threads:
        running = {name: threads.submit(_collect_side, pool, name, prepared, reporter) for name in SIDES}
    collected: dict[str, Collected] = {}
    for name, future in running.items():
        found = future.result()
        failures += found.failures
        if found.modes:
            collected[name] = found
        if found.lost:
            pool.drop(name)
    _check_structure(collected, prepared)
    live = {name: pool.get(name) for name in collected if not collected[name].lost}
    doubles = _doubles(pool, live, collected, prepared, failures)
    table = _cells(pool, live, collected, prepared, failures)
    parity = judge(_evidence(prepared, collected, doubles, failures))
    return collected, record.workload(prepared, collected, parity, table, failures)


def _collect_side(pool: Pool, name: str, prepared: Prepared, reporter: Reporter) -> Collected:
    try:
        return collect(pool.get(name), prepared, reporter)
    except BadTarget:
        raise
    except SideError as error:
        return Collected(name, failures=[Failure(name, error.doing, error.reason)])


def _check_structure(collected: Mapping[str, Collected], prepared: Prepared) -> None:
    leaves = {
        side: set(arrays)
        for side, each in collected.items()
        for (mode, pass_, _), arrays in each.outputs.items()
        if pass_ == FORWARD and mode in ("tf/eager", "jax/jit")
    }
    if len(leaves) == len(SIDES) and leaves["tf"] != leaves["jax"]:
        raise RequestError(
            f"expected both sides of {prepared.workload.name} to return the same structure, found "
            f"{sorted(leaves['tf'])} from TensorFlow and {sorted(leaves['jax'])} from JAX: return the same nest"
        )


def _doubles(
    pool: Pool, live: dict[str, Side], collected: Mapping[str, Collected], prepared: Prepared, failures: list[Failure]
) -> Doubles:
    if "jax" not in live:
        return Doubles()
    try:
        found = find_doubles(live["jax"], list(collected.values()), prepared)
    except SideError as error:
        pool.drop(live.pop("jax").name)
        return Doubles(failures=[Failure(error.side, error.doing, error.reason)])
    failures += found.failures
    return found


def _cells(
    pool: Pool, live: dict[str, Side], collected: Mapping[str, Collected], prepared: Prepared, failures: list[Failure]
) -> dict[str, Any]:
    try:
        table, _ = cells.compile_cells(live, collected, prepared.loading.cases[0])
    except SideError as error:
        pool.drop(error.side)
        failures.append(Failure(error.side, error.doing, error.reason))
        return {cell: {"reason": error.reason} for cell in cells.CELLS}
    return table


def _evidence(
    prepared: Prepared, collected: Mapping[str, Collected], doubles: Doubles, failures: Sequence[Failure]
) -> Evidence:
    return Evidence(
        workload=prepared.workload.name,
        outputs={key: arrays for each in collected.values() for key, arrays in each.outputs.items()},
        doubles=doubles.arrays,
        oracle=doubles.sources,
        allowance=doubles.allowance,
        trajectories={key: arrays for each in collected.values() for key, arrays in each.trajectories.items()},
        deviations=prepared.workload.deviations,
        failures=tuple(failures),
        not_applicable=_not_applicable(prepared, collected),
    )


def _not_applicable(prepared: Prepared, collected: Mapping[str, Collected]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if prepared.workload.training is None:
        reasons["training"] = "the workload has no training step"
    if collected and not any("gradients" in each.modes for each in collected.values()):
        reasons["gradients"] = "no input or weight is a float: there is nothing to differentiate"
    return reasons


def _time_all(
    request: Request, to_time: Sequence[timing.Timed], parts: dict[str, Any], scratch: Path, reporter: Reporter
) -> None:
    samples = timing.measure(
        to_time, request.sources, request.pairs, request.budget_s, request.seed, scratch, request.timeout_s, reporter
    )
    recorded = [side for side, source in request.sources.items() if source.recorded is not None]
    for name, measured in samples.items():
        parts[name] |= timing.summarise(measured, recorded)
        parts[name]["failures"] += record.reasons(measured.failures)


def _environment(pool: Pool, name: str, source: Source) -> dict[str, Any]:
    try:
        found = requests.environment(pool.get(name))
    except SideError as error:
        return {"missing": error.reason}
    return found | {"recorded": source.recorded.name if source.recorded else None}
