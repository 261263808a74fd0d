"""A run: every workload through every judge, one record at the end."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import ProgramLost
from compare.hlo.levels import ALGEBRA
from compare.hlo.promote import PromotionError
from compare.parity import Evidence, explicable, judge, with_sweep
from compare.records import CELLS, PASS, Failure, Parity
from compare.run import bench, cells, hlo, pairs, peers, record, stability, timing
from compare.run.collect import Collected, attempt, collect_evidence, collect_program, steps_of
from compare.run.foreign import Unreadable, prepare_both
from compare.run.formulas import explain_by_formula
from compare.run.further import further
from compare.run.inputs import Prepared, RequestError, choose_size
from compare.run.oracle import Doubles, explain, find_doubles, twin_with
from compare.run.progress import Reporter
from compare.run.request import Request
from compare.run.sides import Pool
from compare.run.subjects import twin_of
from compare.sides import requests
from compare.sides._side import SIDES, BadTarget, Side, SideError
from workloads._declared import AnyWorkload
from workloads._framework import FORWARD, GRADIENTS, Program
from workloads._precision import narrow_dtype
from workloads._spec import STABILITY
from workloads._tree import LONE


def run(request: Request, reporter: Reporter, pool: Pool | None = None) -> dict[str, Any]:
    """Judge every workload; the record, not yet written.

    Args:
      pool: workers that judge it and outlive it; by default it starts its own.

    Raises:
      RequestError, BadTarget: what was asked for cannot be carried out.
    """
    _check_sizes(request)
    with tempfile.TemporaryDirectory(prefix="jaxport-") as folder:
        scratch = Path(folder)
        with nullcontext(pool) if pool else Pool(request.sources_with_peers(), scratch, request.timeout_s) as judging:
            parts, to_time, sides = _judge_all(request, judging, scratch, reporter)
        machine = _time_all(request, to_time, parts, scratch, reporter) if to_time and request.plans else {}
    return record.envelope(record.environment(sides), parts, request.size, machine)


def _check_sizes(request: Request) -> None:
    """Raise RequestError for a size that a workload has not, before any of them is worked on."""
    for workload in request.workloads:
        if not isinstance(workload, Unreadable):
            for size in (request.size, request.parity_size):
                choose_size(workload, size)


def _time_all(
    request: Request, to_time: Sequence[timing.Timed], parts: dict[str, Any], scratch: Path, reporter: Reporter
) -> dict[str, Any]:
    """What time tells of the machine. Interrupted, it leaves what was judged and timed before: hours, it may be."""
    try:
        return bench.time_all(request, to_time, parts, scratch, reporter)
    except KeyboardInterrupt:
        stopped = Failure("both sides", "timing", f"{record.INTERRUPTED}: what was judged and timed before it stands")
        for each in to_time:
            parts[each.prepared.workload.name]["failures"].append(stopped)
        return {}


def record_side(
    side: Side, workload: AnyWorkload, size: str | None, data: Path | None, scratch: Path, reporter: Reporter
) -> list[Failure]:
    """Ask a recording side for all that a run will ask of its record; what it failed at.

    Raises:
      SideError: the side cannot be started, or was lost.
    """
    small, large = prepare_both(workload, size, data, scratch)
    reporter.stage(f"{workload.name}: recording the {side.name} side", steps_of(small))
    found = collect_evidence(side, small, reporter)
    if not found.lost:
        collect_program(side, large, found, reporter, reload=large is not small)
    program, case = found.portable, large.loading.cases[0]
    if program is not None and not found.lost:
        # A refusal is kept in the record too: a run finds that cell empty, with the reason.
        attempt(found, lambda: _run_compiled(side, program, case))
    return found.failures


def _run_compiled(side: Side, program: Program, case: str) -> None:
    handle = requests.compile_program(side, program).handle
    requests.execute(side, handle, case)
    requests.optimized(side, handle)
    requests.profile(side, handle)


def _judge_all(
    request: Request, pool: Pool, scratch: Path, reporter: Reporter
) -> tuple[dict[str, Any], list[timing.Timed], dict[str, Any]]:
    """Every workload's part, what may be timed, and the sides. A workload that cannot be judged costs itself.

    Raises:
      RequestError, BadTarget: what the first one lacks, where none of them could be judged.
    """
    parts: dict[str, Any] = {}
    to_time: list[timing.Timed] = []
    refused: list[RequestError | BadTarget] = []
    try:
        for workload in request.workloads:
            part, timed = _judged(pool, workload, request, scratch, reporter, refused)
            # Asked while the workers live: interrupted, the record tells of them all the same.
            pool.environments()
            parts[workload.name] = part
            if timed is not None:
                to_time.append(timed)
    except KeyboardInterrupt:
        if len(refused) == len(parts):
            raise  # nothing was judged
        record.note_interrupted(parts, [workload.name for workload in request.workloads])
        return parts, [], pool.environments()
    if refused and len(refused) == len(request.workloads):
        raise refused[0]
    return parts, to_time, pool.environments()


def _failure(error: Exception) -> Failure:
    match error:
        case BadTarget():
            return Failure(error.side, error.doing, error.reason)
        case RequestError():
            return Failure("both sides", "judge", str(error))
        case _:
            found = f"expected no {type(error).__name__} here, found one: {error}"
            return Failure("both sides", "judge", f"{found}: judge it alone with --debug and report it")


def _judged(
    pool: Pool,
    workload: AnyWorkload,
    request: Request,
    scratch: Path,
    reporter: Reporter,
    refused: list[RequestError | BadTarget],
) -> tuple[dict[str, Any], timing.Timed | None]:
    """As `_judge_one`; what cannot be judged says why in its part, and is noted."""
    try:
        small, large = prepare_both(workload, request.size, request.data, scratch, request.parity_size)
        reporter.stage(f"{workload.name}: parity and programs", 2 * steps_of(small))
        return _judge_one(pool, small, large, reporter, request)
    except (RequestError, BadTarget) as error:
        refused.append(error)
        return record.not_judged(workload, request.size, _failure(error)), None
    except Exception as error:
        if len(request.workloads) == 1:
            raise
        return record.not_judged(workload, request.size, _failure(error)), None


def _judge_one(
    pool: Pool, small: Prepared, large: Prepared, reporter: Reporter, request: Request
) -> tuple[dict[str, Any], timing.Timed | None]:
    """The workload's part of the record, and what may be timed: nothing where parity fails."""
    failures: list[Failure] = []
    collected = both(pool, failures, lambda name: evidence_of(pool, name, small, reporter, request.modes))
    _check_structure(collected, small)
    doubles = _with_more_cases(doubles_of(pool, collected, small, failures), small, failures)

    def collect_main(name: str) -> Collected:
        if not collected[name].lost:
            collect_program(pool.get(name), large, collected[name], reporter, reload=large is not small)
        return collected[name]

    parity = _with_sweep(
        parity_of(pool, small, collected, doubles, failures), small, collected, doubles, failures, reporter
    )
    if request.parity_only:
        unasked = {cell: {"reason": "parity alone was asked for"} for cell in CELLS}
        return record.workload(large, small.size, collected, parity, unasked, None, failures), None
    collected = both(pool, failures, collect_main, names=list(collected))
    table = _cells(pool, collected, large, failures)
    examined = _examined(pool, large, collected, table, failures, reporter) if request.alignment else None
    part = record.workload(large, small.size, collected, parity, table.described, examined, failures)
    part["hlo"] = examined
    if parity.verdict != PASS:
        return part, None
    part["failures"] += cells.disagreements(table.described)
    timed = timing.timed(large, collected)
    if request.extras.peers:
        reporter.step("peers")
        part["peers"] = peers.judge(pool, small, collected, doubles)
        timed = peers.join(timed, part["peers"], collected["tf"].main_pass)
    return part, timed


def both(
    pool: Pool, failures: list[Failure], ask: Callable[[str], Collected], names: Sequence[str] = SIDES
) -> dict[str, Collected]:
    """Ask both sides at once; a side that was lost is forgotten, one that gave nothing is left out."""
    with ThreadPoolExecutor(len(SIDES)) as threads:
        running = {name: threads.submit(ask, name) for name in names}
    collected: dict[str, Collected] = {}
    for name, future in running.items():
        found = future.result()
        failures += found.failures
        if found.modes:
            collected[name] = found
        if found.lost:
            pool.drop(name)
    return collected


def evidence_of(
    pool: Pool, name: str, prepared: Prepared, reporter: Reporter, modes: Collection[str] = ()
) -> Collected:
    """What one side gives of a workload; a side that cannot be had gives a failure."""
    try:
        pool.renew(name)
        return collect_evidence(pool.get(name), prepared, reporter, modes)
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
            f"{_nest(leaves['tf'])} from TensorFlow and {_nest(leaves['jax'])} from JAX: return the same nest"
        )


def _nest(leaves: set[str], most: int = 12) -> str:
    """Leaves by name, as a message has room for them."""
    if leaves <= {LONE}:
        return "one array" if leaves else "no array at all"
    more = [f"and {len(leaves) - most} more"] if len(leaves) > most else []
    return f"{{{', '.join([*sorted(leaves)[:most], *more])}}}"


def doubles_of(pool: Pool, collected: Mapping[str, Collected], prepared: Prepared, failures: list[Failure]) -> Doubles:
    if "jax" not in collected or collected["jax"].lost:
        return Doubles()
    try:
        found = find_doubles(pool.get("jax"), list(collected.values()), prepared)
    except SideError as error:
        _lose(pool, collected["jax"])
        failures.append(Failure(error.side, error.doing, error.reason))
        return Doubles()
    failures += found.failures
    return found


def _with_more_cases(doubles: Doubles, prepared: Prepared, failures: list[Failure]) -> Doubles:
    """The float64 evidence with that of cases which the programs suggest."""
    try:
        more = further(twin_of(prepared), prepared.inputs, doubles)
    except ProgramLost as error:
        failures.append(Failure("both sides", "further cases", str(error)))
        return doubles
    except UnreadableProgram as error:
        # A program that runs in its framework alone is judged by the cases that its framework ran.
        return dataclasses.replace(doubles, remarks=(f"no cases were drawn from the programs: {error}",))
    return dataclasses.replace(
        doubles, arrays=doubles.arrays | dict(more.arrays), cases=dict(more.cases), remarks=more.remarks
    )


def _lose(pool: Pool, collected: Collected) -> None:
    """The worker is gone: this workload asks it nothing more, the next one gets a fresh one."""
    collected.lost = True
    pool.drop(collected.side)


def _cells(pool: Pool, collected: Mapping[str, Collected], prepared: Prepared, failures: list[Failure]) -> cells.Cells:
    live = {name: pool.get(name) for name, each in collected.items() if not each.lost}
    table = cells.compile_cells(live, collected, prepared.loading.cases[0])
    for error in table.lost:
        pool.drop(error.side)
        failures.append(Failure(error.side, error.doing, error.reason))
    return table


def _examined(
    pool: Pool,
    prepared: Prepared,
    collected: Mapping[str, Collected],
    table: cells.Cells,
    failures: list[Failure],
    reporter: Reporter,
) -> dict[str, Any] | None:
    """Both programs held against each other; None where a side gave none."""
    try:
        pair = pairs.of_collected(prepared, collected, table, pool.environments())
        return hlo.examine(pair, ALGEBRA, reporter, thorough=False) if pair else None
    except UnreadableProgram as error:
        failures.append(Failure("jax", "align the programs", str(error)))
        return None


def parity_of(
    pool: Pool, prepared: Prepared, collected: Mapping[str, Collected], doubles: Doubles, failures: list[Failure]
) -> Parity:
    """The gates at their strictest; where rounding might explain a failure, once more with what it does.

    First that of constants, on both sides, then that of the original's own formula.
    """
    evidence = _evidence(prepared, collected, doubles, failures)
    parity = judge(evidence)
    allowance = _allowance(pool, prepared, collected, doubles, failures, evidence, explicable(parity))
    if any(allowance.values()):
        evidence = dataclasses.replace(evidence, allowance=allowance)
        parity = judge(evidence)
    if parity.verdict == PASS:
        return parity
    try:
        spreads = explain_by_formula(twin_with(prepared, doubles), doubles, evidence, parity)
    except UnreadableProgram:
        # What cannot be explained stays a failure.
        return parity
    return judge(dataclasses.replace(evidence, formula=spreads)) if any(spreads.values()) else parity


def _allowance(
    pool: Pool,
    prepared: Prepared,
    collected: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    evidence: Evidence,
    runs: Collection[tuple[str, str]],
) -> Mapping[tuple[str, str, str, int], float]:
    """What constants rounded to float32 explain; nothing where the JAX side cannot be asked."""
    if not runs or "jax" not in collected or collected["jax"].lost:
        return {}
    try:
        return explain(pool.get("jax"), doubles, prepared, evidence, runs)
    except (PromotionError, UnreadableProgram) as error:
        failures.append(Failure("jax", "allowance", str(error)))
    except SideError as error:
        failures.append(Failure(error.side, f"allowance: {error.doing}", error.reason))
        if error.lost:
            _lose(pool, collected["jax"])
    return {}


def _with_sweep(
    parity: Parity,
    prepared: Prepared,
    collected: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    reporter: Reporter,
) -> Parity:
    """The last gate: what a port does far from ordinary inputs is asked of one that agrees at those."""
    reporter.step("stability")
    declared = [each for each in prepared.workload.deviations if each.gate == STABILITY]
    if parity.verdict != PASS:
        unswept = stability.Swept(reason="not judged: the port already differs at ordinary inputs")
        return with_sweep(parity, prepared.workload.name, unswept, ())
    try:
        swept = stability.sweep(prepared, collected, doubles)
    except ProgramLost as error:
        failures.append(Failure("both sides", "sweep", str(error)))
        swept = stability.Swept(reason=f"not judged: {error}")
    return with_sweep(parity, prepared.workload.name, swept, declared)


def _evidence(
    prepared: Prepared, collected: Mapping[str, Collected], doubles: Doubles, failures: Sequence[Failure]
) -> Evidence:
    return Evidence(
        workload=prepared.workload.name,
        outputs={key: arrays for each in collected.values() for key, arrays in each.outputs.items()},
        doubles=doubles.arrays,
        oracle=doubles.sources,
        trajectories=doubles.trajectories
        | {key: arrays for each in collected.values() for key, arrays in each.trajectories.items()},
        deviations=prepared.workload.deviations,
        failures=(*failures, *(refusal for each in collected.values() for refusal in each.refusals)),
        not_applicable=_not_applicable(prepared, collected),
        remarks=doubles.remarks,
        computes_in=narrow_dtype(prepared.loading.dimensions),
    )


def _not_applicable(prepared: Prepared, collected: Mapping[str, Collected]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if prepared.workload.training is None:
        reasons["training"] = "the workload has no training step"
    refused = [each.refused(GRADIENTS) for each in collected.values()]
    if collected and all(refused):
        reasons["gradients"] = next(filter(None, refused))
    return reasons
