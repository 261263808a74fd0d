"""Float64 arrays for both sides: built where the code allows, promoted where it does not, and how far to trust them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from compare.hlo import promote
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.portable import portable
from compare.inputs.at_size import Prepared
from compare.parity.evidence import OracleSource, promoted_mode
from compare.prove.collect import FLOAT32, FLOAT64, Collected
from compare.prove.placed_training import Placement, train_placed
from compare.prove.running import count_elements, running, without_states
from compare.prove.subjects import twin_of
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads.core.spec import Arrays
from workloads.protocol.compiling import IN_ORDER, REPEATEDLY, for_size
from workloads.protocol.framework import PASSES, STEP, Program, Twin
from workloads.protocol.trajectory import kept_as

Run = Callable[[Program, str, Sequence[str]], Mapping[str, Arrays]]
"""Runs a float64 program of a pass, and returns its results by case; for a step, those of its training run."""


NATIVE = "native"
"""The kind of a float64 reference that the side computed itself."""

CONSTANT = "constant/"
"""The prefix of the name of a state that a program holds as a constant."""


@dataclass
class Doubles:
    """The float64 evidence of both sides, and the programs that compute it."""

    arrays: dict[tuple[str, str, str], Arrays] = field(default_factory=dict)
    trajectories: dict[tuple[str, str], Arrays] = field(default_factory=dict)
    sources: dict[tuple[str, str], OracleSource] = field(default_factory=dict)
    programs: dict[tuple[str, str], Program] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    cases: dict[str, Arrays] = field(default_factory=dict)
    """Cases that neither side ran: their arrays come from the programs."""
    remarks: tuple[str, ...] = ()
    placements: dict[str, Placement] = field(default_factory=dict)
    """Cases of the training step that start where no ordinary run gets."""
    training_remarks: tuple[str, ...] = ()
    guide: Arrays = field(default_factory=dict)
    """The weights that all training runs but TensorFlow's float64 one go on from; empty of runs that go on from their
    own."""

    def with_passes(self, others: Doubles) -> Doubles:
        """The doubles with the arrays, runs, sources, programs and failures of other passes."""
        return dataclasses.replace(
            self,
            arrays=self.arrays | others.arrays,
            trajectories=self.trajectories | others.trajectories,
            sources=self.sources | others.sources,
            programs=self.programs | others.programs,
            failures=[*self.failures, *others.failures],
        )


def find_doubles(
    jax: Side, sides: Sequence[Collected], instance: Prepared, passes: Collection[str] = PASSES
) -> Doubles:
    """Float64 evidence for every pass that a side has."""
    doubles = Doubles()
    for delivery in sides:
        present = {pass_ for _, pass_, _ in delivery.outputs} | ({STEP} & delivery.modes.keys())
        for pass_ in PASSES:
            if pass_ not in passes or pass_ not in present:
                continue
            try:
                if pass_ == STEP:
                    _training(jax, delivery, instance, doubles)
                else:
                    _one_pass(jax, delivery, pass_, instance, doubles)
            except (SideError, promote.PromotionError, UnreadableProgram) as error:
                if isinstance(error, SideError) and error.lost:
                    raise
                doubles.failures.append(Failure(delivery.side, f"float64 {pass_}", str(error), of_pass=pass_))
    return doubles


def twin_with(instance: Prepared, doubles: Doubles) -> Twin:
    """The workload's arrays, with the cases that neither side ran."""
    twin = twin_of(instance)
    return dataclasses.replace(twin, cases={**twin.cases, **doubles.cases})


def runner_of(jax: Side, doubles: Doubles, instance: Prepared) -> Run:
    """A function that runs float64 programs of either side; the JAX side, which has the batches, does training runs."""
    twin, training = twin_with(instance, doubles), instance.workload.training
    guide_steps = {checkpoint.step for name in doubles.guide if (checkpoint := kept_as(name)) is not None}
    checkpoints = sorted(guide_steps) or (training.compared if training else ())

    def run(program: Program, pass_: str, cases: Sequence[str]) -> Mapping[str, Arrays]:
        if pass_ != STEP:
            return running(program, twin).by_case(cases)
        placements = {case: doubles.placements[case] for case in cases if case in doubles.placements}
        side = _side_of(program, doubles)
        runs = {case: train_placed(program, twin, placement, side) for case, placement in placements.items()}
        if len(placements) == len(cases):
            return runs
        handle = requests.compile_program(jax, program, REPEATEDLY).handle
        guide = doubles.guide or None
        return runs | {
            case: requests.unroll(jax, handle, checkpoints, guide) for case in cases if case not in placements
        }

    return run


def _side_of(program: Program, doubles: Doubles) -> str:
    """The side whose training step a program is, moved or not."""
    own = tuple(parameter for parameter in program.parameters if not parameter.name.startswith(CONSTANT))
    return next(side for (side, pass_), of in doubles.programs.items() if pass_ == STEP and of.parameters == own)


def _one_pass(jax: Side, delivery: Collected, pass_: str, instance: Prepared, doubles: Doubles) -> None:
    cases = instance.loading.cases
    reason = _without_program(delivery, pass_, cases)
    if reason:
        doubles.sources[delivery.side, pass_] = OracleSource(NATIVE, reason)
        doubles.arrays |= {(delivery.side, pass_, case): delivery.doubles[pass_, case] for case in cases}
        return
    program, source = _double_program(delivery, pass_)
    doubles.sources[delivery.side, pass_] = source
    doubles.programs[delivery.side, pass_] = program
    if source.kind == NATIVE:
        runs = {case: delivery.doubles[pass_, case] for case in cases}
    else:
        options = for_size(IN_ORDER, count_elements(program))
        handle = requests.compile_program(jax, program, options).handle
        runs = {case: without_states(program, requests.execute(jax, handle, case)) for case in cases}
    for case, arrays in runs.items():
        doubles.arrays[delivery.side, pass_, case] = arrays


def _training(jax: Side, delivery: Collected, instance: Prepared, doubles: Doubles) -> None:
    own_step = delivery.programs.get((STEP, FLOAT64)) or delivery.programs.get((STEP, FLOAT32))
    native = any(dtype == FLOAT64 for _, dtype in delivery.trajectories)
    if native:
        doubles.sources[delivery.side, STEP] = OracleSource(NATIVE, "the twin was built in float64")
    if own_step is None:
        return
    reason = _not_double_training(delivery, native)
    try:
        # Promoted even if native: an optimizer may keep a rate in float32 whatever the model's type is.
        program = promote_program(own_step)
    except promote.PromotionError as error:
        if native and reason:
            doubles.sources[delivery.side, STEP] = OracleSource(NATIVE, f"{reason}, and {error}")
        raise
    doubles.programs[delivery.side, STEP] = program
    if not reason:
        return
    training = instance.workload.training
    handle = requests.compile_program(jax, program, REPEATEDLY).handle
    checkpoints = training.compared if training else ()
    doubles.trajectories[promoted_mode(delivery.side), FLOAT64] = requests.unroll(jax, handle, checkpoints)
    doubles.sources[delivery.side, STEP] = OracleSource("promoted", reason)


def _not_double_training(delivery: Collected, native: bool) -> str:
    """Why the native float64 training run is not the reference; empty if it is."""
    if not native:
        return delivery.not_double.get(STEP, "the training step cannot be built in float64")
    program = delivery.programs.get((STEP, FLOAT64))
    narrow = promote.narrow_computation(program.artifact) if program is not None else ""
    return f"its float64 step still computes in a narrower type, first in {narrow}" if narrow else ""


def _without_program(delivery: Collected, pass_: str, cases: Sequence[str]) -> str:
    """Why native float64 runs are the reference without a program; empty with a program, or without runs."""
    if (pass_, FLOAT32) in delivery.programs or any((pass_, case) not in delivery.doubles for case in cases):
        return ""
    return f"run op by op, its program unseen: {delivery.explain_refusal(pass_) or delivery.not_double[pass_]}"


def _double_program(delivery: Collected, pass_: str) -> tuple[Program, OracleSource]:
    native = delivery.programs.get((pass_, FLOAT64))
    if native is not None and promote.is_double(native.artifact):
        return native, OracleSource(NATIVE, "the twin was built in float64")
    reason = delivery.not_double.get(pass_, "its float64 program still computes in a narrower type")
    narrow = delivery.programs.get((pass_, FLOAT32))
    if narrow is None:
        without = delivery.without_program(pass_)
        raise promote.PromotionError(f"{reason}; and there is no program to promote: {without}")
    try:
        return promote_program(narrow), OracleSource("promoted", reason)
    except promote.PromotionError as error:
        if native is None:
            raise
        # Its narrower parts, such as a constant, make agreement less likely: the bounds stay those of float64.
        return native, OracleSource(NATIVE, f"{reason}, and {error}")


def promote_program(program: Program) -> Program:
    """The program with every float type widened, its signature with it."""

    def widen(dtype: str) -> str:
        # By name: programs have types, of 4 and 8 bits, that NumPy does not know.
        return "complex128" if dtype.startswith("complex") else FLOAT64 if "float" in dtype else dtype

    return dataclasses.replace(
        program,
        artifact=promote.promote(portable(program.artifact)),
        parameters=tuple(
            dataclasses.replace(parameter, dtype=widen(parameter.dtype)) for parameter in program.parameters
        ),
        results=tuple(dataclasses.replace(result, dtype=widen(result.dtype)) for result in program.results),
    )
