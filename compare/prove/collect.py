"""Everything that one side delivers of one workload on its own."""

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
from workloads.core.modes import ON_REQUEST, PORT, TF_EAGER, Mode
from workloads.core.spec import Arrays
from workloads.protocol.framework import (
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

FLOAT32, FLOAT64 = "float32", "float64"
NATIVE_MODES = {"tf": ("eager", "graph"), "jax": ("jit",)}
"""The modes that may run a twin built in float64, in the order in which they are tried."""
NATIVE_TRAINING_MODE = {"tf": "graph", "jax": "jit"}
"""The mode that trains a twin in float64: a compiled one, since training takes many steps."""
UNTRAINED = ("jax", "eager")
"""This mode is not trained: 50 steps take minutes, users do not train in it, and the gradients gate judges a step."""

Result = TypeVar("Result")


@dataclass
class Collected:
    """The results of one side, and why others are missing. Filled request by request: a lost worker loses the rest."""

    side: str
    modes: requests.Modes = field(default_factory=dict)
    chosen: str = ""
    """The pass that the user chose; empty where none was chosen."""
    compiler_options: Mapping[str, Any] = field(default_factory=dict)
    """The options of mode `tuned`; empty where the twin declares none."""
    outputs: dict[tuple[str, str, str], Arrays] = field(default_factory=dict)
    doubles: dict[tuple[str, str], Arrays] = field(default_factory=dict)
    """(pass, case) -> leaves of the twin built in float64."""
    trajectories: dict[tuple[str, str], Arrays] = field(default_factory=dict)
    programs: dict[tuple[str, str], Program] = field(default_factory=dict)
    """(pass, dtype) -> the program that the float64 reference is computed with."""
    main: Program | None = None
    """The program of the main pass, at the size that is timed."""
    portable: Program | None = None
    """The program in the portable form, which either side's XLA reads."""
    stages: Mapping[str, str] = field(default_factory=dict)
    """The main pass as the framework writes it, by stage."""
    donation: Donation | None = None
    """The training step compiled as users run it, and what it may overwrite."""
    profile: dict[str, Profile] = field(default_factory=dict)
    not_double: dict[str, str] = field(default_factory=dict)
    """pass -> why the twin could not be built in float64."""
    failures: list[Failure] = field(default_factory=list)
    refusals: list[Failure] = field(default_factory=list)
    """The side's statements of what this workload lacks: reasons where the original lacks it, and no failures."""
    remarks: list[str] = field(default_factory=list)
    """Remarks for the reader on how the side computed this."""
    lost: bool = False

    @property
    def main_pass(self) -> str:
        """The pass that is compiled, profiled and timed."""
        return self.chosen or default_pass(self.modes)

    @property
    def distinct_modes(self) -> list[str]:
        """The modes of the main pass, without those that run the same kernels as another."""
        alike = {mode for mode, profile in self.profile.items() if profile.same_as}
        return [mode for mode in self.modes.get(self.main_pass, ()) if f"{self.side}/{mode}" not in alike]

    def without_program(self, pass_: str) -> str:
        """Why the side has no float32 program of a pass."""
        missing = (failure for failure in (*self.refusals, *self.failures) if failure.of_pass == pass_)
        return next((failure.reason for failure in missing if failure.doing.startswith("program")), "nobody asked")

    def explain_refusal(self, pass_: str) -> str:
        """Why the side has no results of a pass; empty where it has some, or failed to compute them."""
        if not self.modes:
            return ""
        if pass_ not in self.modes:
            return NO_FLOAT_INPUT
        has_failed = any(failure.of_pass == pass_ for failure in self.failures)
        if has_failed or any(ran == pass_ for _, ran, _ in self.outputs):
            return ""
        return next((refusal.reason for refusal in self.refusals if refusal.of_pass == pass_), "")


def begin_evidence(side: Side, instance: Prepared, selection: Collection[Mode] = ()) -> Collected:
    """Load a workload in a side; the delivery has its modes, or why there are none.

    Args:
      selection: the modes to run; empty takes all. The reference and the port itself always run.

    Raises:
      BadTarget: the function that was named does not exist.
      RequestError: the workload does not have the pass that is to be compiled and timed.
    """
    delivery = Collected(side.name, chosen=instance.loading.main_pass)

    def ask() -> None:
        twin = requests.load_twin(side, instance.loading)
        choose_pass(twin.modes, instance.loading.main_pass, instance.title)
        delivery.modes = choose_modes(side.name, twin.modes, selection)
        delivery.compiler_options = twin.compiler_options

    survive(delivery, ask)
    return delivery


def collect_pass(side: Side, pass_: str, instance: Prepared, delivery: Collected, reporter: Reporter) -> None:
    """Ask a side for all that parity needs of one pass. A failure of the side is noted, not raised.

    Training comes after the other passes: it changes variables that a twin does not hand over.

    Args:
      pass_: the pass; nothing is asked if the side does not have it.

    Raises:
      BadTarget: the function that was named does not exist.
    """

    def ask() -> None:
        if pass_ == STEP:
            _collect_trajectories(side, instance, delivery, reporter)
        else:
            _collect_outputs(side, pass_, instance, delivery, reporter)
            _collect_doubles(side, pass_, instance, delivery, reporter)

    if pass_ in delivery.modes and not delivery.lost:
        survive(delivery, ask)


def collect_evidence(
    side: Side,
    instance: Prepared,
    reporter: Reporter,
    selection: Collection[Mode] = (),
    passes: Collection[str] = PASSES,
) -> Collected:
    """Ask a side for all that parity needs. A failure of the side is noted, not raised.

    Raises:
      BadTarget, RequestError: see `begin_evidence`.
    """
    delivery = begin_evidence(side, instance, selection)
    delivery.modes = {pass_: modes for pass_, modes in delivery.modes.items() if pass_ in (*passes, UNROLLED)}
    for pass_ in PASSES:
        collect_pass(side, pass_, instance, delivery, reporter)
    return delivery


def choose_pass(passes: Collection[str], choice: str | None, title: str) -> str:
    """The pass to look at: the chosen one, or else the training step or the forward pass.

    Args:
      choice: one of PASSES; None or empty for the default.
      title: the workload as messages call it.

    Raises:
      RequestError: the workload has no such pass.
    """
    pass_ = choice or default_pass(passes)
    if pass_ not in passes:
        raise RequestError(f"expected a pass of {title} ({', '.join(passes)}), found {pass_!r}: choose another --pass")
    return pass_


def choose_modes(side: str, modes: requests.Modes, selection: Collection[Mode]) -> requests.Modes:
    """By pass, the modes of a side to run: the selected ones, and always the reference and the port.

    Args:
      modes: its modes, by pass.
      selection: the selected modes; empty takes all but ON_REQUEST.
    """

    def is_chosen(mode: Mode) -> bool:
        return mode in (*selection, TF_EAGER, PORT) if selection else mode not in ON_REQUEST

    return {pass_: [name for name in names if is_chosen(Mode(side, name))] for pass_, names in modes.items()}


def survive(delivery: Collected, ask: Callable[[], None]) -> None:
    """Ask, and note what fails; a function that does not exist is the user's mistake, and raises."""
    try:
        ask()
    except BadTarget:
        raise
    except SideError as error:
        delivery.failures.append(failure_of(error))
        delivery.lost = error.lost


def attempt(delivery: Collected, ask: Callable[[], Result]) -> Result | None:
    """A reply, or None with the reason noted. The loss of a worker raises."""
    try:
        return ask()
    except SideError as error:
        if error.lost:
            raise
        failures = delivery.refusals if isinstance(error, Unavailable) else delivery.failures
        failures.append(failure_of(error))
        return None


def collect_mode(side: Side, mode: str, instance: Prepared, delivery: Collected, reporter: Reporter) -> None:
    """Ask a side for all that parity needs of one more mode, which it was offered."""
    for pass_ in (FORWARD, GRADIENTS):
        if pass_ in delivery.modes:
            reporter.detail(f"{side.name}/{mode} {pass_}")
            _collect_cases(side, mode, pass_, instance, delivery)
    if instance.workload.training is not None and STEP in delivery.modes:
        _collect_trajectory(side, mode, instance.workload.training.compared, delivery, reporter)


def _collect_outputs(side: Side, pass_: str, instance: Prepared, delivery: Collected, reporter: Reporter) -> None:
    for mode in delivery.modes[pass_]:
        reporter.detail(f"{side.name}/{mode} {pass_}")
        _collect_cases(side, mode, pass_, instance, delivery)


def _collect_cases(side: Side, mode: str, pass_: str, instance: Prepared, delivery: Collected) -> None:
    for case in instance.loading.cases:
        arrays = attempt(delivery, lambda c=case: requests.outputs(side, mode, pass_, c, FLOAT32))
        if arrays is not None:
            delivery.outputs[f"{side.name}/{mode}", pass_, case] = arrays
        elif f"{side.name}/{mode}" != TF_REFERENCE or not case.startswith(KINKS):
            break  # the reference tries every case of kinks: those that it refuses are left out


def _collect_doubles(side: Side, pass_: str, instance: Prepared, delivery: Collected, reporter: Reporter) -> None:
    reporter.detail(f"{side.name} float64 {pass_}")
    try:
        _collect_double_cases(side, pass_, instance, delivery)
        delivery.programs[pass_, FLOAT64] = _double_program(side, pass_)
    except SideError as error:
        # Not a failure: a side that cannot be rebuilt in float64 has a promoted program instead.
        if error.lost:
            raise
        delivery.not_double[pass_] = error.reason
    _collect_written(side, pass_, delivery)


def _collect_double_cases(side: Side, pass_: str, instance: Prepared, delivery: Collected) -> None:
    """The float64 results of a pass, in the first mode that has them.

    Raises:
      SideError: no mode has them; the reason is that of the first.
    """
    first: SideError | None = None
    for mode in NATIVE_MODES[side.name]:
        try:
            for case in instance.loading.cases:
                delivery.doubles[pass_, case] = requests.outputs(side, mode, pass_, case, FLOAT64)
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


def _collect_written(side: Side, pass_: str, delivery: Collected) -> None:
    """The float32 program of a pass, which is promoted, and compiled if it is the main pass."""
    program = attempt(delivery, lambda: requests.program(side, pass_, FLOAT32))
    if program is not None:
        delivery.programs[pass_, FLOAT32] = program


def _collect_trajectories(side: Side, instance: Prepared, delivery: Collected, reporter: Reporter) -> None:
    training = instance.workload.training
    if training is None:
        return
    # First: a variable that the twin does not hand over is not put back after training, and belongs to the program.
    reporter.detail(f"{side.name} program {STEP}")
    _collect_written(side, STEP, delivery)
    for mode in delivery.modes[STEP]:
        if (side.name, mode) != UNTRAINED:
            _collect_trajectory(side, mode, training.compared, delivery, reporter)
    _collect_double_training(side, training.compared, delivery, reporter)


def _collect_trajectory(
    side: Side, mode: str, checkpoints: Sequence[int], delivery: Collected, reporter: Reporter
) -> None:
    reporter.detail(f"{side.name}/{mode} training")
    arrays = attempt(delivery, lambda: requests.trajectory(side, mode, FLOAT32, checkpoints))
    if arrays is not None:
        delivery.trajectories[f"{side.name}/{mode}", FLOAT32] = arrays


def _collect_double_training(side: Side, checkpoints: Sequence[int], delivery: Collected, reporter: Reporter) -> None:
    mode = NATIVE_TRAINING_MODE[side.name]
    reporter.detail(f"{side.name}/{mode} training float64")
    try:
        program = _double_program(side, STEP)
        arrays = requests.trajectory(side, mode, FLOAT64, checkpoints)
        delivery.programs[STEP, FLOAT64] = program
    except SideError as error:
        # As with any pass: what cannot be rebuilt in float64 has a promoted program instead.
        if error.lost:
            raise
        delivery.not_double[STEP] = error.reason
        return
    narrow = [name for name, array in arrays.items() if array.dtype.kind == "f" and array.dtype != FLOAT64]
    if narrow:
        delivery.not_double[STEP] = f"{narrow[0]} stays {arrays[narrow[0]].dtype} when the twin is built in float64"
    else:
        delivery.trajectories[f"{side.name}/{mode}", FLOAT64] = arrays


def unique(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Each failure once."""
    return tuple(dict.fromkeys(failures))
