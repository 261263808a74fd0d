"""Everything that one side can say of one workload on its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from compare.errors import RequestError
from compare.hlo import bindings
from compare.hlo.bindings import UnreadableProgram
from compare.inputs.at_size import Prepared
from compare.parity.evidence import TF_REFERENCE
from compare.progress import Reporter
from compare.record.program_parts import Profile
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import BadTarget, Side, SideError, Unavailable
from compare.sides.workers import failure_of
from workloads import _modes
from workloads._framework import (
    FORWARD,
    GRADIENTS,
    KINKS,
    NO_FLOAT_INPUT,
    PASSES,
    STEP,
    UNROLLED,
    Donation,
    Program,
    default_pass,
)
from workloads._modes import Mode
from workloads._spec import Arrays

FLOAT32, FLOAT64 = "float32", "float64"
NATIVE_MODES = {"tf": ("eager", "graph"), "jax": ("jit",)}
"""The modes that run a twin built in float64, the first that can."""
NATIVE_TRAINING_MODE = {"tf": "graph", "jax": "jit"}
"""The mode that trains it: a compiled one, since many steps are taken."""
UNTRAINED = ("jax", "eager")
"""Nobody trains so, and 50 steps of a model take minutes: the gradients gate judges what a step would repeat."""

Result = TypeVar("Result")


@dataclass
class Collected:
    """What one side delivered, and what it did not. Filled request by request: a lost worker loses only the rest."""

    side: str
    modes: requests.Modes = field(default_factory=dict)
    chosen: str = ""
    """The pass that was asked for; empty where none was."""
    compiler_options: Mapping[str, Any] = field(default_factory=dict)
    """Those that mode `tuned` runs with; empty where the twin declares none."""
    outputs: dict[tuple[str, str, str], Arrays] = field(default_factory=dict)
    doubles: dict[tuple[str, str], Arrays] = field(default_factory=dict)
    """(pass, case) -> leaves of the twin built in float64."""
    trajectories: dict[tuple[str, str], Arrays] = field(default_factory=dict)
    programs: dict[tuple[str, str], Program] = field(default_factory=dict)
    """(pass, dtype) -> the programs that the float64 reference rests on."""
    main: Program | None = None
    """The main pass as it is handed to XLA, at the size that is timed."""
    portable: Program | None = None
    """The same, as either side's XLA reads it."""
    stages: Mapping[str, str] = field(default_factory=dict)
    """The main pass as the framework writes it, by stage."""
    donation: Donation | None = None
    """The training step compiled as users run it, and what it may overwrite."""
    profile: dict[str, Profile] = field(default_factory=dict)
    not_double: dict[str, str] = field(default_factory=dict)
    """pass -> why the twin could not be built in float64."""
    failures: list[Failure] = field(default_factory=list)
    refusals: list[Failure] = field(default_factory=list)
    """What the side says that this workload has not: no failure, but a reason where the original lacks it."""
    remarks: list[str] = field(default_factory=list)
    """What a reader has to know of how the side came to all that."""
    lost: bool = False

    @property
    def main_pass(self) -> str:
        """The pass that is compiled, profiled and timed."""
        return self.chosen or default_pass(self.modes)

    @property
    def distinct_modes(self) -> list[str]:
        """The modes of the main pass that run something of their own."""
        alike = {mode for mode, profile in self.profile.items() if profile.same_as}
        return [mode for mode in self.modes.get(self.main_pass, ()) if f"{self.side}/{mode}" not in alike]

    def without_program(self, pass_: str) -> str:
        """Why the side has no program of a pass as it is written."""
        missing = (failure for failure in (*self.refusals, *self.failures) if failure.of_pass == pass_)
        return next((failure.reason for failure in missing if failure.doing.startswith("program")), "nobody asked")

    def refused(self, pass_: str) -> str:
        """Why the side has nothing of a pass; empty where it has it, or failed at it."""
        if not self.modes:
            return ""
        if pass_ not in self.modes:
            return NO_FLOAT_INPUT
        failed = any(failure.of_pass == pass_ for failure in self.failures)
        if failed or any(ran == pass_ for _, ran, _ in self.outputs):
            return ""
        return next((refusal.reason for refusal in self.refusals if refusal.of_pass == pass_), "")


def collect_evidence(
    side: Side,
    prepared: Prepared,
    reporter: Reporter,
    wanted: Collection[Mode] = (),
    passes: Collection[str] = PASSES,
) -> Collected:
    """Ask a side for all that parity needs. Never raises for what the side fails at.

    Args:
      side: who is asked.
      prepared: the workload, and the arrays that it is judged on.
      reporter: told of every step.
      wanted: the modes to run; empty takes all. The reference and the port itself always run.
      passes: those that are run, of the ones that the workload has.

    Raises:
      BadTarget: the function that was named does not exist.
      RequestError: the workload has no such pass as it is to be compiled and timed on.
    """
    collected = Collected(side.name, chosen=prepared.loading.main_pass)

    def ask() -> None:
        loaded = requests.load_twin(side, prepared.loading)
        chosen_pass(loaded.modes, prepared.loading.main_pass, prepared.title)
        chosen = chosen_modes(side.name, loaded.modes, wanted)
        collected.modes = {pass_: modes for pass_, modes in chosen.items() if pass_ in (*passes, UNROLLED)}
        collected.compiler_options = loaded.compiler_options
        _collect_outputs(side, prepared, collected, reporter)
        _collect_doubles(side, prepared, collected, reporter)
        _collect_trajectories(side, prepared, collected, reporter)

    survive(collected, ask)
    return collected


def chosen_pass(passes: Collection[str], asked: str | None, title: str) -> str:
    """The pass that is looked at: the one that was asked for, or else the training step or the forward pass.

    Args:
      passes: those that the workload has.
      asked: one of PASSES; None or empty where nobody has chosen.
      title: the workload as messages call it.

    Raises:
      RequestError: the workload has no such pass.
    """
    wanted = asked or default_pass(passes)
    if wanted not in passes:
        raise RequestError(f"expected a pass of {title} ({', '.join(passes)}), found {wanted!r}: choose another --pass")
    return wanted


def chosen_modes(side: str, modes: requests.Modes, wanted: Collection[Mode]) -> requests.Modes:
    """By pass, the modes of a side that are run: those wanted, and always the reference and the port.

    Args:
      side: whose they are.
      modes: that it has, by pass.
      wanted: by who asks; empty takes all but ON_REQUEST.
    """

    def is_chosen(mode: Mode) -> bool:
        return mode in (*wanted, _modes.TF_EAGER, _modes.PORT) if wanted else mode not in _modes.ON_REQUEST

    return {pass_: [name for name in names if is_chosen(Mode(side, name))] for pass_, names in modes.items()}


def survive(collected: Collected, ask: Callable[[], None]) -> None:
    """Ask, and note what fails; a function that does not exist is no failure of the side."""
    try:
        ask()
    except BadTarget:
        raise
    except SideError as error:
        collected.failures.append(failure_of(error))
        collected.lost = error.lost


def attempt(collected: Collected, ask: Callable[[], Result]) -> Result | None:
    """A reply, or None with the reason noted. A lost worker is not survived here."""
    try:
        return ask()
    except SideError as error:
        if error.lost:
            raise
        kept = collected.refusals if isinstance(error, Unavailable) else collected.failures
        kept.append(failure_of(error))
        return None


def collect_mode(side: Side, mode: str, prepared: Prepared, collected: Collected, reporter: Reporter) -> None:
    """Ask a side for all that parity needs of one mode more, which it was offered.

    Args:
      side: who is asked.
      mode: the name of the mode.
      prepared: the workload, and the arrays that it is judged on.
      collected: gets what the side delivers.
      reporter: told of every step.
    """
    for pass_ in (FORWARD, GRADIENTS):
        if pass_ in collected.modes:
            reporter.step(f"{side.name}/{mode} {pass_}")
            _collect_cases(side, mode, pass_, prepared, collected)
    if prepared.workload.training is not None and STEP in collected.modes:
        _collect_trajectory(side, mode, prepared.workload.training.compared, collected, reporter)


def _collect_outputs(side: Side, prepared: Prepared, collected: Collected, reporter: Reporter) -> None:
    for pass_ in (FORWARD, GRADIENTS):
        for mode in collected.modes.get(pass_, ()):
            reporter.step(f"{side.name}/{mode} {pass_}")
            _collect_cases(side, mode, pass_, prepared, collected)


def _collect_cases(side: Side, mode: str, pass_: str, prepared: Prepared, collected: Collected) -> None:
    for case in prepared.loading.cases:
        arrays = attempt(collected, lambda c=case: requests.outputs(side, mode, pass_, c, FLOAT32))
        if arrays is not None:
            collected.outputs[f"{side.name}/{mode}", pass_, case] = arrays
        elif f"{side.name}/{mode}" != TF_REFERENCE or not case.startswith(KINKS):
            break  # the reference is asked for every case of kinks: those that it refuses are left out


def _collect_doubles(side: Side, prepared: Prepared, collected: Collected, reporter: Reporter) -> None:
    for pass_ in (FORWARD, GRADIENTS):
        if pass_ not in collected.modes:
            continue
        reporter.step(f"{side.name} float64 {pass_}")
        try:
            _collect_double_cases(side, pass_, prepared, collected)
            collected.programs[pass_, FLOAT64] = _double_program(side, pass_)
        except SideError as error:
            # Not a failure: a side that cannot be rebuilt in float64 has a promoted program instead.
            if error.lost:
                raise
            collected.not_double[pass_] = error.reason
        _collect_written(side, pass_, collected)


def _collect_double_cases(side: Side, pass_: str, prepared: Prepared, collected: Collected) -> None:
    """The float64 results of a pass, in the first mode that has them.

    Raises:
      SideError: no mode has them; the reason is that of the first.
    """
    first: SideError | None = None
    for mode in NATIVE_MODES[side.name]:
        try:
            for case in prepared.loading.cases:
                collected.doubles[pass_, case] = requests.outputs(side, mode, pass_, case, FLOAT64)
        except SideError as error:
            if error.lost:
                raise
            first = first or error
        else:
            return
    if first is not None:
        raise first


def _double_program(side: Side, pass_: str) -> Program:
    """The program of a pass in float64.

    Raises:
      SideError: there is none, or its types do not fit: TensorFlow's XLA gives float32 for the gradient of a resized
        image whatever its type, which no operation takes beside float64.
    """
    program = requests.program(side, pass_, FLOAT64)
    try:
        bindings.parse(program.artifact)
    except UnreadableProgram as error:
        raise SideError(side.name, f"float64 {pass_}", "its float64 program is not valid StableHLO") from error
    return program


def _collect_written(side: Side, pass_: str, collected: Collected) -> None:
    """The program of a pass as the twin is written: what is promoted, and for the main pass what is compiled."""
    program = attempt(collected, lambda: requests.program(side, pass_, FLOAT32))
    if program is not None:
        collected.programs[pass_, FLOAT32] = program


def _collect_trajectories(side: Side, prepared: Prepared, collected: Collected, reporter: Reporter) -> None:
    training = prepared.workload.training
    if training is None or STEP not in collected.modes:
        return
    # First: a variable that the twin does not hand over is not put back after training, and belongs to the program.
    reporter.step(f"{side.name} program {STEP}")
    _collect_written(side, STEP, collected)
    for mode in collected.modes[STEP]:
        if (side.name, mode) != UNTRAINED:
            _collect_trajectory(side, mode, training.compared, collected, reporter)
    _collect_double_training(side, training.compared, collected, reporter)


def _collect_trajectory(
    side: Side, mode: str, compared: Sequence[int], collected: Collected, reporter: Reporter
) -> None:
    reporter.step(f"{side.name}/{mode} training")
    arrays = attempt(collected, lambda: requests.trajectory(side, mode, FLOAT32, compared))
    if arrays is not None:
        collected.trajectories[f"{side.name}/{mode}", FLOAT32] = arrays


def _collect_double_training(side: Side, compared: Sequence[int], collected: Collected, reporter: Reporter) -> None:
    mode = NATIVE_TRAINING_MODE[side.name]
    reporter.step(f"{side.name}/{mode} training float64")
    try:
        program = _double_program(side, STEP)
        arrays = requests.trajectory(side, mode, FLOAT64, compared)
        collected.programs[STEP, FLOAT64] = program
    except SideError as error:
        # As with any pass: what cannot be rebuilt in float64 has a promoted program instead.
        if error.lost:
            raise
        collected.not_double[STEP] = error.reason
        return
    narrow = [name for name, array in arrays.items() if array.dtype.kind == "f" and array.dtype != FLOAT64]
    if narrow:
        collected.not_double[STEP] = f"{narrow[0]} stays {arrays[narrow[0]].dtype} when the twin is built in float64"
    else:
        collected.trajectories[f"{side.name}/{mode}", FLOAT64] = arrays


def steps_of(prepared: Prepared) -> int:
    """How many steps the progress of one side's collection has, roughly."""
    return 28 if prepared.workload.training else 18


def unique(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once."""
    return tuple(dict.fromkeys(failures))
