"""Collects from both sides at once what a verdict on one workload rests on: evidence, and float64 results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import ProgramLost
from compare.hlo.pair import Pair
from compare.inputs.at_size import Prepared
from compare.parity import unjudged
from compare.progress import Reporter
from compare.prove.collect import FLOAT32, Collected, begin_evidence, collect_evidence, collect_pass, survive
from compare.prove.further import find_more_cases
from compare.prove.guided_training import count_steps
from compare.prove.integer_programs import replace_doubles_of_integers
from compare.prove.late_steps import late_steps
from compare.prove.oracle import Doubles, find_doubles
from compare.prove.original_modes import OriginalModes, make_original
from compare.prove.subjects import twin_of
from compare.record.workload_part import Failure
from compare.sides._side import SIDES, BadTarget, Side, SideError
from compare.sides.pool import Pool
from compare.sides.process_state import is_ours
from compare.sides.renewal import changed_by
from compare.sides.replies import Changed
from compare.sides.workers import failure_of
from workloads.core.modes import JAX, TF, Mode
from workloads.core.tree import LONE
from workloads.protocol.framework import FORWARD, PASSES, STEP, Program


@dataclass(frozen=True)
class BothSides:
    """One workload at one size, with what both sides delivered of it so far.

    All copies share failures and deliveries: a side that one has lost is lost for all.

    Attributes:
      pool: has the sides, with the workload loaded.
      instance: the workload, and the arrays that it is judged on.
      deliveries: by side; one that gave nothing is left out.
      failures: results that are missing; the list grows.
      reporter: shows every step.
      doubles: the float64 evidence.
    """

    pool: Pool
    instance: Prepared
    deliveries: Mapping[str, Collected]
    failures: list[Failure]
    reporter: Reporter
    doubles: Doubles = field(default_factory=Doubles)

    def is_lost(self, side: str) -> bool:
        """Whether a side cannot be asked any more."""
        return side not in self.deliveries or self.deliveries[side].lost

    def programs(self, pass_: str) -> Pair[Program] | None:
        """The programs of a pass in float32; None where a side has none."""
        programs = [self.deliveries[side].programs.get((pass_, FLOAT32)) for side in SIDES if side in self.deliveries]
        present = [program for program in programs if program is not None]
        return Pair(*present) if len(present) == len(SIDES) else None

    def check_structure(self) -> None:
        """Check that both sides return the same leaves.

        Raises:
          RequestError: both sides return something, and not the same nest.
        """
        leaves = {
            side: set(arrays)
            for side, delivery in self.deliveries.items()
            for (mode, pass_, _), arrays in delivery.outputs.items()
            if pass_ == FORWARD and mode in ("tf/eager", "jax/jit")
        }
        if len(leaves) == len(SIDES) and leaves["tf"] != leaves["jax"]:
            raise RequestError(
                f"expected both sides of {self.instance.workload.name} to return the same structure, found "
                f"{_nest(leaves['tf'])} from TensorFlow and {_nest(leaves['jax'])} from JAX: return the same nest"
            )

    def collect(self, passes: Sequence[str]) -> None:
        """Ask both sides at once for all that parity needs of some passes. What fails is added to `failures`.

        Args:
          passes: in order; neither side waits for the other between two of them.

        Raises:
          BadTarget: the function or file that was named for a side does not exist.
        """

        def ask(side: Side, delivery: Collected) -> None:
            for pass_ in passes:
                collect_pass(side, pass_, self.instance, delivery, self.reporter)

        self._ask_each(ask)

    def note_changes(self) -> None:
        """Note what the workload's code changed in the processes of both sides."""
        self._ask_each(_note_changes_in)

    def _ask_each(self, ask: Callable[[Side, Collected], None]) -> None:
        """Ask both sides at once; what fails is added to `failures`, and a side that is lost is not asked."""

        def ask_one(delivery: Collected) -> list[Failure]:
            count_before = len(delivery.failures)
            if not delivery.lost:
                survive(delivery, lambda: ask(self.pool.get(delivery.side), delivery))
            return delivery.failures[count_before:]

        with ThreadPoolExecutor(len(SIDES)) as threads:
            for failures in threads.map(ask_one, self.deliveries.values()):
                self.failures.extend(failures)

    def with_doubles(self, passes: Collection[str] = PASSES) -> BothSides:
        """The sides with float64 evidence; without any if there is no JAX side."""
        if self.is_lost(JAX):
            return self
        try:
            doubles = find_doubles(self.pool.get(JAX), list(self.deliveries.values()), self.instance, passes)
        except SideError as error:
            self.deliveries[JAX].lost = True
            self.failures.append(failure_of(error))
            return self
        self.failures.extend(doubles.failures)
        doubles = self.doubles.with_passes(doubles)
        return replace(self, doubles=replace_doubles_of_integers(doubles, self.deliveries))

    def with_more_cases(self) -> BothSides:
        """The sides with float64 evidence of further cases, which the programs suggest."""
        doubles = self.doubles
        try:
            original = make_original(OriginalModes(self.pool, self.instance, self.deliveries.get(TF)), doubles)
            more = find_more_cases(twin_of(self.instance), self.instance.inputs, doubles, original)
        except ProgramLost as error:
            self.failures.append(Failure("both sides", "further cases", str(error)))
            return self
        except SideError as error:
            self.deliveries[TF].lost = True
            self.failures.append(failure_of(error))
            return self
        except UnreadableProgram as error:
            # A program that runs in its framework alone is judged by the cases that its framework ran.
            remark = f"no cases were drawn from the programs: {error}"
            return replace(self, doubles=replace(doubles, remarks=(remark,)))
        arrays = doubles.arrays | dict(more.arrays)
        return replace(self, doubles=replace(doubles, arrays=arrays, cases=dict(more.cases), remarks=more.remarks))

    def with_late_steps(self) -> BothSides:
        """The sides with float64 evidence of further training runs, which start where decisions of the step change."""
        doubles, training = self.doubles, self.instance.workload.training
        programs = {side: program for (side, pass_), program in doubles.programs.items() if pass_ == STEP}
        if training is None:
            return self
        try:
            twin = twin_of(self.instance)
            weight_bytes = 8 * sum(array.size for array in twin.weights_of(twin.first_case).values())
            late = late_steps(twin, programs, count_steps(training.steps, weight_bytes))
        except ProgramLost as error:
            self.failures.append(Failure("both sides", "far training steps", str(error)))
            return self
        except UnreadableProgram as error:
            return replace(self, doubles=replace(doubles, training_remarks=(unjudged.no_late_steps(str(error)),)))
        wider = replace(
            doubles,
            arrays=doubles.arrays | dict(late.arrays),
            placements=dict(late.placements),
            training_remarks=late.remarks,
        )
        return replace(self, doubles=wider)


def ask_both(
    failures: list[Failure], ask: Callable[[str], Collected], names: Sequence[str] = SIDES
) -> dict[str, Collected]:
    """Ask both sides at once; a side that gave nothing is left out."""
    with ThreadPoolExecutor(len(SIDES)) as threads:
        running = {name: threads.submit(ask, name) for name in names}
    deliveries: dict[str, Collected] = {}
    for name, future in running.items():
        delivery = future.result()
        failures += delivery.failures
        if delivery.modes:
            deliveries[name] = delivery
    return deliveries


def begin_both(pool: Pool, instance: Prepared, reporter: Reporter, modes: Collection[Mode] = ()) -> BothSides:
    """Load a workload in both sides at once; they are then asked pass by pass. A side that does not start is a failure.

    Args:
      modes: the modes to run; empty takes all.

    Raises:
      BadTarget: the function or file that was named for a side does not exist.
    """

    def begin(name: str) -> Collected:
        try:
            pool.renew(name)
            return begin_evidence(pool.get(name), instance, modes)
        except BadTarget:
            raise
        except SideError as error:
            return Collected(name, failures=[failure_of(error)])

    failures: list[Failure] = []
    return BothSides(pool, instance, ask_both(failures, begin), failures, reporter)


def evidence_of(
    pool: Pool,
    name: str,
    instance: Prepared,
    reporter: Reporter,
    modes: Collection[Mode] = (),
    passes: Collection[str] = PASSES,
) -> Collected:
    """Collect all that one side delivers of a workload; a side that does not start is a failure.

    Args:
      modes: the modes to run; empty takes all.

    Raises:
      BadTarget: the function or file that was named for the side does not exist.
    """
    try:
        pool.renew(name)
        side = pool.get(name)
        delivery = collect_evidence(side, instance, reporter, modes, passes)
    except BadTarget:
        raise
    except SideError as error:
        return Collected(name, failures=[failure_of(error)])
    _note_changes_in(side, delivery)
    return delivery


def _note_changes_in(side: Side, delivery: Collected) -> None:
    note_changes(side.name, changed_by(side), delivery)


def note_changes(side: str, changes: Changed, delivery: Collected) -> None:
    """Note what a workload's code changes in its process. To replace what the worker itself uses is a failure."""
    ours = [name for name in changes.replaced if is_ours(name)]
    if ours:
        reason = (
            f"expected code that leaves NumPy and jaxport as they are, found {_list_names(ours)} replaced: what this "
            "side hands over proves nothing"
        )
        delivery.failures.append(Failure(side, "load", reason))
    names = [*changes.shared, *(f"{name} (replaced)" for name in changes.replaced if name not in ours)]
    if names:
        delivery.remarks.append(
            f"{side}: the workload's code changes what its whole process shares: {_list_names(names)}: whoever "
            "imports it gets that too"
        )


def _list_names(names: Sequence[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _nest(leaves: set[str], most: int = 12) -> str:
    """The names of leaves, shortened for a message."""
    if leaves <= {LONE}:
        return "one array" if leaves else "no array at all"
    more = [f"and {len(leaves) - most} more"] if len(leaves) > most else []
    return f"{{{', '.join([*sorted(leaves)[:most], *more])}}}"
