"""Parity of one workload: what both sides are asked for, and what the gates make of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import Options, ProgramLost
from compare.hlo.promote import PromotionError
from compare.inputs.at_size import Prepared
from compare.parity import Evidence, explicable, held_leaves, judge, judge_held, with_sweep
from compare.parity.breaks import Swept
from compare.parity.holding import Leaves
from compare.progress import Reporter
from compare.prove import sweeping
from compare.prove.beside_ties import judged_beside
from compare.prove.collect import Collected, collect_evidence
from compare.prove.further import further
from compare.prove.near_choices import choices_beside_edges
from compare.prove.oracle import Doubles, explain, find_doubles, twin_with
from compare.prove.own_formula import explain_by_formula
from compare.prove.subjects import twin_of
from compare.record.parity_part import Parity
from compare.record.vocabulary import PASS
from compare.record.workload_part import Failure
from compare.sides._side import SIDES, BadTarget, SideError
from compare.sides.pool import Pool
from compare.sides.process_state import is_ours
from compare.sides.renewal import changed_by
from compare.sides.replies import Changed
from compare.sides.workers import failure_of
from workloads._framework import FORWARD, GRADIENTS, PASSES
from workloads._modes import Mode
from workloads._precision import narrow_dtype
from workloads._spec import STABILITY
from workloads._tree import LONE


def both(
    failures: list[Failure], ask: Callable[[str], Collected], names: Sequence[str] = SIDES
) -> dict[str, Collected]:
    """Ask both sides at once; a side that gave nothing is left out.

    Args:
      failures: gets those of both sides.
      ask: asks the side of a name, in a thread of its own.
      names: the sides to ask.
    """
    with ThreadPoolExecutor(len(SIDES)) as threads:
        running = {name: threads.submit(ask, name) for name in names}
    collected: dict[str, Collected] = {}
    for name, future in running.items():
        delivered = future.result()
        failures += delivered.failures
        if delivered.modes:
            collected[name] = delivered
    return collected


def evidence_of(
    pool: Pool,
    name: str,
    prepared: Prepared,
    reporter: Reporter,
    modes: Collection[Mode] = (),
    passes: Collection[str] = PASSES,
) -> Collected:
    """Everything that one side delivers of a workload; a side that cannot be started is a failure.

    Args:
      pool: has the sides.
      name: of the side.
      prepared: the workload, and the arrays that it is judged on.
      reporter: told of every step.
      modes: the modes to run; empty takes all.
      passes: those that are asked for.

    Raises:
      BadTarget: the function or file that was named for the side does not exist.
    """
    try:
        pool.renew(name)
        side = pool.get(name)
        collected = collect_evidence(side, prepared, reporter, modes, passes)
    except BadTarget:
        raise
    except SideError as error:
        return Collected(name, failures=[failure_of(error)])
    note_changes(side.name, changed_by(side), collected)
    return collected


def note_changes(side: str, changed: Changed, collected: Collected) -> None:
    """Say what a workload's code changes of its process; what the worker works with itself, it may not replace.

    Args:
      side: whose code it is.
      changed: what is another one since.
      collected: gets remarks, or a failure.
    """
    ours = [name for name in changed.replaced if is_ours(name)]
    if ours:
        reason = (
            f"expected code that leaves NumPy and jaxport as they are, found {_listed(ours)} replaced: what this side "
            "hands over proves nothing"
        )
        collected.failures.append(Failure(side, "load", reason))
    told = [*changed.shared, *(f"{name} (replaced)" for name in changed.replaced if name not in ours)]
    if told:
        collected.remarks.append(
            f"{side}: the workload's code changes what its whole process shares: {_listed(told)}: whoever imports it "
            "gets that too"
        )


def _listed(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def check_structure(collected: Mapping[str, Collected], prepared: Prepared) -> None:
    """Only equal leaves can be compared.

    Raises:
      RequestError: both sides return something, and not the same nest.
    """
    leaves = {
        side: set(arrays)
        for side, delivered in collected.items()
        for (mode, pass_, _), arrays in delivered.outputs.items()
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
    """The float64 evidence of both sides; none where the JAX side cannot be asked.

    Args:
      pool: has the sides.
      collected: what each side delivered, by side.
      prepared: the workload, and the arrays that it is judged on.
      failures: gets what fails meanwhile.
    """
    if "jax" not in collected or collected["jax"].lost:
        return Doubles()
    try:
        doubles = find_doubles(pool.get("jax"), list(collected.values()), prepared)
    except SideError as error:
        collected["jax"].lost = True
        failures.append(failure_of(error))
        return Doubles()
    failures += doubles.failures
    return doubles


def with_more_cases(doubles: Doubles, prepared: Prepared, failures: list[Failure]) -> Doubles:
    """The float64 evidence with that of cases which the programs suggest.

    Args:
      doubles: the float64 evidence of the drawn cases.
      prepared: the workload, and the arrays that it is judged on.
      failures: gets what fails meanwhile.
    """
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


def parity_of(
    pool: Pool,
    prepared: Prepared,
    collected: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    ordinary: Mapping[tuple[str, str], float] | None = None,
) -> Parity:
    """The gates at their strictest; once more with what rounding does to constants, to the formula and to choices.

    Args:
      pool: has the sides.
      prepared: the workload, and the arrays that it is judged on.
      collected: what each side delivered, by side.
      doubles: the float64 evidence.
      failures: gets what fails meanwhile.
      ordinary: see `Evidence`; at another size than the workload's own.
    """
    evidence = dataclasses.replace(_evidence(prepared, collected, doubles, failures), ordinary=ordinary or {})
    held = held_leaves(evidence)
    beside = _beside_ties(prepared, doubles, evidence, held)
    if beside is not doubles:
        doubles = beside
        evidence = dataclasses.replace(_evidence(prepared, collected, doubles, failures), ordinary=evidence.ordinary)
        held = held_leaves(evidence)
    # A rate that is kept in float32 mostly explains all there is, and no program is compiled anew to move it.
    for constants in (False, True):
        allowance = _allowance(pool, prepared, collected, doubles, failures, evidence, explicable(held), constants)
        if any(allowance.values()):
            evidence = dataclasses.replace(evidence, allowance={**evidence.allowance, **allowance})
            held = held_leaves(evidence)
    parity = judge_held(evidence, held)
    if parity.verdict == PASS:
        return parity
    twin = twin_with(prepared, doubles)
    try:
        spreads = explain_by_formula(twin, doubles, evidence, held)
        if any(spreads.values()):
            evidence = dataclasses.replace(evidence, formula=spreads)
            held = held_leaves(evidence)
        choices = choices_beside_edges(twin, prepared, collected, evidence, held)
    except (PromotionError, UnreadableProgram):
        # What cannot be explained stays a failure.
        return judge_held(evidence, held)
    return judge(dataclasses.replace(evidence, choices=choices)) if choices else judge_held(evidence, held)


def _beside_ties(prepared: Prepared, doubles: Doubles, evidence: Evidence, held: Leaves) -> Doubles:
    """The float64 evidence with other numbers where rounding decides; as it is where XLA cannot run the programs."""
    try:
        return judged_beside(twin_with(prepared, doubles), doubles, evidence, held)
    except UnreadableProgram:
        # What cannot be explained stays a failure.
        return doubles


def _allowance(
    pool: Pool,
    prepared: Prepared,
    collected: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    evidence: Evidence,
    runs: Collection[tuple[str, str]],
    constants: bool,
) -> Mapping[tuple[str, str, str, int], float]:
    """What states, or constants too, rounded to float32 explain; nothing where the JAX side cannot be asked."""
    if not runs or "jax" not in collected or collected["jax"].lost:
        return {}
    try:
        return explain(pool.get("jax"), doubles, prepared, evidence, runs, constants)
    except (PromotionError, UnreadableProgram) as error:
        failures.append(Failure("jax", "allowance", str(error)))
    except SideError as error:
        failures.append(failure_of(error, "allowance"))
        # This workload asks it nothing more: another worker has not loaded it.
        collected["jax"].lost |= error.lost
    return {}


def with_stability(
    parity: Parity,
    prepared: Prepared,
    collected: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    reporter: Reporter,
) -> Parity:
    """The last gate: what a port does far from ordinary inputs is asked of one that agrees at those.

    In mode `jax/jit`, and in `jax/tuned` where that runs: the compiler's options may break what the program does not.

    Args:
      parity: that of ordinary inputs.
      prepared: the workload, and the arrays that it is judged on.
      collected: what each side delivered, by side.
      doubles: the float64 evidence.
      failures: gets what fails meanwhile.
      reporter: told of the step.
    """
    reporter.step("stability")
    if parity.verdict != PASS:
        unswept = Swept(reason="not judged: the port already differs at ordinary inputs")
        return with_sweep(parity, prepared.workload.name, unswept, ())
    port = collected["jax"]
    sweeps = [{}, port.compiler_options] if "tuned" in port.modes.get(FORWARD, ()) else [{}]
    return swept_with(sweeps, parity, prepared, collected, doubles, failures)


def swept_with(
    sweeps: Sequence[Options],
    parity: Parity,
    prepared: Prepared,
    collected: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
) -> Parity:
    """The parity with the results of sweeps of the port.

    Args:
      sweeps: XLA's options that the port is compiled with, one sweep each.
      parity: that of ordinary inputs.
      prepared: the workload, and the arrays that it is judged on.
      collected: what each side delivered, by side.
      doubles: the float64 evidence.
      failures: gets what fails meanwhile.
    """
    results: list[Swept] = []
    for options in sweeps:
        try:
            results.append(sweeping.sweep(prepared, collected, doubles, options))
        except ProgramLost as error:
            failures.append(Failure("both sides", "sweep", str(error)))
            results.append(Swept(reason=f"not judged: {error}"))
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    reached = tuple(reached for result in results for reached in result.reached)
    swept = Swept(reached, results[0].dtype, "; ".join(reasons))
    declared = [deviation for deviation in prepared.workload.deviations if deviation.gate == STABILITY]
    return with_sweep(parity, prepared.workload.name, swept, declared)


def _evidence(
    prepared: Prepared, collected: Mapping[str, Collected], doubles: Doubles, failures: Sequence[Failure]
) -> Evidence:
    return Evidence(
        workload=prepared.title,
        outputs={key: arrays for delivered in collected.values() for key, arrays in delivered.outputs.items()},
        doubles=doubles.arrays,
        oracle=doubles.sources,
        trajectories=doubles.trajectories
        | {key: arrays for delivered in collected.values() for key, arrays in delivered.trajectories.items()},
        deviations=prepared.workload.deviations,
        failures=(*failures, *(refusal for delivered in collected.values() for refusal in delivered.refusals)),
        not_applicable=_not_applicable(prepared, collected),
        remarks=(*doubles.remarks, *(remark for delivered in collected.values() for remark in delivered.remarks)),
        computes_in=narrow_dtype(prepared.loading.dimensions),
    )


def _not_applicable(prepared: Prepared, collected: Mapping[str, Collected]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if prepared.workload.training is None:
        reasons["training"] = "the workload has no training step"
    refused = [delivered.refused(GRADIENTS) for delivered in collected.values()]
    if collected and all(refused):
        reasons["gradients"] = next(filter(None, refused))
    return reasons
