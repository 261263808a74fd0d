"""What both sides are asked for of one workload, at once: their evidence, and the float64 results to judge it by."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import ProgramLost
from compare.inputs.at_size import Prepared
from compare.parity import messages
from compare.progress import Reporter
from compare.prove.collect import Collected, collect_evidence
from compare.prove.further import further
from compare.prove.integer_programs import replace_doubles_of_integers
from compare.prove.late_steps import late_steps
from compare.prove.oracle import Doubles, find_doubles
from compare.prove.original_modes import OriginalModes, asked_original
from compare.prove.subjects import twin_of
from compare.record.workload_part import Failure
from compare.sides._side import SIDES, BadTarget, SideError
from compare.sides.pool import Pool
from compare.sides.process_state import is_ours
from compare.sides.renewal import changed_by
from compare.sides.replies import Changed
from compare.sides.workers import failure_of
from workloads._framework import FORWARD, PASSES, STEP
from workloads._modes import TF, Mode
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
    return replace_doubles_of_integers(doubles, collected)


def with_more_cases(
    pool: Pool, collected: Mapping[str, Collected], doubles: Doubles, prepared: Prepared, failures: list[Failure]
) -> Doubles:
    """The float64 evidence with that of cases which the programs suggest.

    Args:
      pool: has the sides, the workload loaded.
      collected: what each side delivered, by side.
      doubles: the float64 evidence of the drawn cases.
      prepared: the workload, and the arrays that it is judged on.
      failures: gets what fails meanwhile.
    """
    try:
        original = asked_original(OriginalModes(pool, prepared, collected.get(TF)), doubles)
        more = further(twin_of(prepared), prepared.inputs, doubles, original)
    except ProgramLost as error:
        failures.append(Failure("both sides", "further cases", str(error)))
        return doubles
    except SideError as error:
        collected[TF].lost = True
        failures.append(failure_of(error))
        return doubles
    except UnreadableProgram as error:
        # A program that runs in its framework alone is judged by the cases that its framework ran.
        return dataclasses.replace(doubles, remarks=(f"no cases were drawn from the programs: {error}",))
    return dataclasses.replace(
        doubles, arrays=doubles.arrays | dict(more.arrays), cases=dict(more.cases), remarks=more.remarks
    )


def with_late_steps(doubles: Doubles, prepared: Prepared, failures: list[Failure]) -> Doubles:
    """The float64 evidence with that of training runs that start where decisions of the step turn.

    Args:
      doubles: the float64 evidence of the ordinary training run.
      prepared: the workload, and the arrays that it is judged on.
      failures: gets what fails meanwhile.
    """
    training = prepared.workload.training
    programs = {side: program for (side, pass_), program in doubles.programs.items() if pass_ == STEP}
    if training is None:
        return doubles
    try:
        late = late_steps(twin_of(prepared), programs, training.steps)
    except ProgramLost as error:
        failures.append(Failure("both sides", "far training steps", str(error)))
        return doubles
    except UnreadableProgram as error:
        return dataclasses.replace(doubles, training_remarks=(messages.no_late_steps(str(error)),))
    return dataclasses.replace(
        doubles,
        arrays=doubles.arrays | dict(late.arrays),
        placements=dict(late.placements),
        training_remarks=late.remarks,
    )
