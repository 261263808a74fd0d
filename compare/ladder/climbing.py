"""The rungs of a port from the first to the last, as far as they hold: each asks the gates that exist, and where."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from compare.errors import RequestError
from compare.inputs.at_size import Prepared
from compare.inputs.port_files import prepare_both
from compare.inputs.request import Request
from compare.ladder import asking_layers, rungs_of_gates
from compare.ladder.first_lines import first_lines
from compare.ladder.looking_closer import locate_operations, with_advice
from compare.ladder.speed_rung import speed, timed_request
from compare.progress import Reporter
from compare.prove import locating
from compare.prove.both_sides import BothSides, ask_both, evidence_of
from compare.prove.collect import unique
from compare.prove.judging import judge_gates
from compare.prove.other_sizes import with_others
from compare.prove.stability_gate import with_stability
from compare.record.rung_part import (
    AGREES,
    FORWARD,
    GRADIENTS,
    NOT_COMPARED,
    NOT_REACHED,
    OPTIMIZER,
    RUNGS,
    SPEED,
    STRUCTURE,
    TRAJECTORY,
    WEIGHTS,
    Ladder,
    Layers,
    Rung,
)
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides._side import SIDES, BadTarget, BadWeights, Missing, NoDevice, SideError
from compare.sides.pool import Pool
from compare.sides.settings import available_processors
from compare.weights import receipt
from workloads.core.modes import Mode
from workloads.protocol import framework
from workloads.protocol.framework import PASSES

MODES = (Mode("tf", "jit"), Mode("jax", "jit"))
RECEIPT = "weights.receipt.json"

_PASS_OF = {
    FORWARD: framework.FORWARD,
    GRADIENTS: framework.GRADIENTS,
    OPTIMIZER: framework.STEP,
    TRAJECTORY: framework.STEP,
}


@dataclass(frozen=True)
class Choice:
    """How a port is climbed.

    Attributes:
      request: for the one workload: its size, data, sides and modes.
      reference: the port, as the user gave it.
      locate: whether the programs of a pass that fails are compared.
      pairs: of processes that time a port of which all else holds; 0 times nothing.
    """

    request: Request
    reference: str
    locate: bool
    pairs: int


class _Stop(Exception):
    """A rung fails: those above it are not reached."""


def climb(pool: Pool, choice: Choice, scratch: Path, reporter: Reporter) -> Ladder:
    """Judge a port rung by rung, up to the first that fails.

    Raises:
      RequestError: the workload cannot be drawn.
      SideError: a framework is not there, or a file or function that is named.
    """
    climbing = _Climbing(pool, choice, scratch, reporter)
    try:
        climbing.all()
    except _Stop:
        reporter.result(f"{climbing.workload.name}: stopped")
    rungs = [climbing.found.get(name, Rung(name, NOT_REACHED)) for name in RUNGS]
    fails = next((rung.name for rung in rungs if rung.verdict == FAIL), "")
    return Ladder(climbing.workload.name, fails, tuple(with_advice(rung, choice.reference) for rung in rungs))


class _Climbing:
    """One port on its way up.

    Attributes:
      found: rungs so far, by name.
      workload: the port.
    """

    def __init__(self, pool: Pool, choice: Choice, scratch: Path, reporter: Reporter) -> None:
        (self.workload,) = choice.request.workloads
        self.found: dict[str, Rung] = {}
        self._pool, self._choice, self._scratch, self._reporter = pool, choice, scratch, reporter
        self._names = _names(choice.reference)
        self._instance: Prepared = prepare_both(self.workload, choice.request.size, choice.request.data, scratch)[0]

    def all(self) -> None:
        """Every rung, until one fails."""
        self._reporter.stage(f"{self.workload.name}: rungs", 6 + len(self._instance.others))
        self._pool.renew()
        self._load()
        layers = self._layers(framework.FORWARD)
        sides = self._collect((framework.FORWARD,))
        parity = judge_gates(sides)
        self._keep(rungs_of_gates.structure(parity))
        self._ran(sides.failures)
        self._keep(weights_rung(layers))
        self._keep(rungs_of_gates.forward(parity), layers.layers)
        self._upper(layers.layers)
        self._speed()

    def _upper(self, layers: Layers) -> None:
        """All gates, with what is far from ordinary inputs, and at other sizes of named dimensions."""
        sides = self._collect(PASSES)
        parity = judge_gates(sides)
        losses = rungs_of_gates.losses(sides.deliveries, sides.doubles)
        parity = with_others(sides, with_stability(sides, parity), self._scratch)
        self._keep(rungs_of_gates.forward(parity), layers)
        self._keep(rungs_of_gates.gradients(parity))
        self._keep(rungs_of_gates.optimizer(parity, self.workload))
        self._keep(rungs_of_gates.trajectory(parity, self.workload, losses))
        self._ran(sides.failures)

    def _ran(self, failures: Sequence[Failure]) -> None:
        """Report failures outside of gates, such as a mode of the port that did not run."""
        lines = [f"{failure.side}: {failure.doing}: {failure.reason}" for failure in unique(failures)]
        if lines:
            at_fault = any(failure.side == "jax" and not failure.lost for failure in failures)
            verdict = FAIL if at_fault else NOT_JUDGED
            self._keep(replace(self.found[STRUCTURE], verdict=verdict, told=first_lines(lines)))

    def _speed(self) -> None:
        if not self._choice.pairs:
            self._keep(Rung(SPEED, NOT_APPLICABLE, remarks=("not asked for",)))
            return
        # Nothing is timed beside workers that are up.
        self._pool.close()
        request = timed_request(self._choice.request, self._choice.pairs, available_processors())
        self._keep(speed(request, self._reporter))

    def _load(self) -> None:
        """Both halves: what does not load at all, and weights that are not the workload's."""
        for side in SIDES:
            try:
                requests.load(self._pool.get(side), self._instance.loading)
            except BadWeights as error:
                remark = "outputs were not compared: the weights do not fit"
                self.found[STRUCTURE] = Rung(STRUCTURE, NOT_APPLICABLE, remarks=(remark,))
                self._keep(Rung(WEIGHTS, FAIL, (error.reason,)))
            except (BadTarget, Missing, NoDevice):
                raise
            except SideError as error:
                self._keep(Rung(STRUCTURE, FAIL, (f"the half in {side} does not load: {error.reason}",)))

    def _layers(self, pass_: str, case: str = "") -> asking_layers.Asked:
        self._reporter.step(f"layers, {pass_}")
        try:
            return asking_layers.ask(self._pool, self._instance, pass_, case, self._names)
        except SideError as error:
            return asking_layers.Asked(Layers(pass_=pass_, reason=str(error)))

    def _collect(self, passes: Collection[str]) -> BothSides:
        self._reporter.step("forward pass of both sides" if len(passes) == 1 else "every pass of both sides")
        failures: list[Failure] = []
        modes = self._choice.request.modes
        deliveries = ask_both(
            failures, lambda name: evidence_of(self._pool, name, self._instance, self._reporter, modes, passes)
        )
        sides = BothSides(self._pool, self._instance, deliveries, failures, self._reporter)
        try:
            sides.check_structure()
        except RequestError as error:
            self._keep(Rung(STRUCTURE, FAIL, (str(error),)))
        return sides.with_doubles().with_more_cases().with_late_steps()

    def _keep(self, rung: Rung, layers: Layers | None = None) -> None:
        """Keep a rung; one that fails with where it departs.

        Raises:
          _Stop: it fails.
        """
        if rung.verdict != FAIL:
            self.found[rung.name] = replace(rung, layers=layers, remarks=(*rung.remarks, *remarks_of(layers)))
            return
        self.found[rung.name] = self._looked_at(rung, layers)
        raise _Stop

    def _looked_at(self, rung: Rung, layers: Layers | None) -> Rung:
        pass_ = _PASS_OF.get(rung.name)
        if pass_ is None:
            return rung
        if pass_ != framework.STEP:
            is_known = layers is not None and layers.case == asking_layers.case_of(self._instance, rung.case)
            rung = replace(rung, layers=layers if is_known else self._layers_again(pass_, rung.case))
        if not self._choice.locate:
            return rung
        self._reporter.step("programs")
        where = locating.Choice((pass_,), self._instance.size, self._choice.request.data)
        # Both draw files of the same names.
        apart = Path(tempfile.mkdtemp(dir=self._scratch))
        return locate_operations(self._pool, self.workload, rung, where, apart, self._reporter)

    def _layers_again(self, pass_: str, case: str) -> Layers:
        """Layers in the case that fails; another size may have been loaded since."""
        try:
            for side in SIDES:
                requests.load(self._pool.get(side), self._instance.loading)
        except SideError as error:
            return Layers(pass_=pass_, reason=str(error))
        return self._layers(pass_, case).layers


def weights_rung(answer: asking_layers.Asked) -> Rung:
    """Weights as both sides loaded them, which refuses other names and shapes; then by their values."""
    changes = [f"{path}: to_weights gives something else than from_weights was given" for path in answer.changed]
    if changes or answer.exchanged:
        return Rung(WEIGHTS, FAIL, (*answer.exchanged, *first_lines(changes)))
    layers = answer.layers
    came_back = ", and comes back as it was given" if layers.dtype else ""
    sentence = f"every weight of the workload is one of both sides, of its shape{came_back}"
    remark = layers.reason and f"in which layer's module each lies was not looked at: {layers.reason}"
    return Rung(WEIGHTS, PASS, (sentence,), remarks=(remark,) if remark else ())


def remarks_of(layers: Layers | None) -> tuple[str, ...]:
    """Remarks of layers on a rung that holds: values without a comparison, and values that differ all the same."""
    if layers is None:
        return ()
    if layers.reason:
        return (f"layers were not compared: {layers.reason}",)
    comparable = [call for call in layers.calls if call.state != NOT_COMPARED]
    apart = [call for call in comparable if call.state != AGREES]
    remaining = len(layers.calls) - len(comparable)
    lines = [
        f"{len(comparable) - len(apart)} of {len(layers.calls)} calls of layers agree, {remaining} were not compared"
    ]
    if layers.told:
        lines.append(f"every result agrees all the same, though {layers.told}")
    return tuple(lines)


def _names(reference: str) -> dict[str, str]:
    """Path of a layer -> that of its module, as the receipt beside a port file says.

    Raises:
      RequestError: the file is no receipt.
    """
    path = Path(reference).with_name(RECEIPT)
    if not reference.endswith(".py") or not path.is_file():
        return {}
    return {layer.path: layer.target.replace(".", "/") for layer in receipt.read(path).layers if layer.module}
