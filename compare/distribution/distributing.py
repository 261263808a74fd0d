"""A workload's training step by every strategy: run, judged, its transfers read off, timed."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from compare.distribution import judging_steps, resuming
from compare.distribution.dividing import Divided, divide
from compare.distribution.exchanged import alike, unlike_copies
from compare.distribution.judging_steps import FLOAT32, FLOAT64, Runs
from compare.distribution.step_verdicts import Found, verdict
from compare.distribution.strategies import Strategy
from compare.distribution.worker_groups import Group, Groups
from compare.progress import Reporter
from compare.record.distribution_part import (
    Blind,
    DistributedStep,
    Distribution,
    Resumed,
    StepDeparture,
)
from compare.record.vocabulary import FAIL, NOT_APPLICABLE, NOT_JUDGED, PASS
from compare.record.workload_part import Failure
from compare.sides import strategy_requests
from compare.sides._side import BadTarget, Missing, SideError, Unavailable
from compare.sides.workers import failure_of
from workloads.core.declared import AnyWorkload
from workloads.protocol.distributing import IN_TURN, MISTAKES, REFERENCES, SINGLE, Unlike

ROUNDS = 5
_ROUND_S = 0.2
"""Seconds of calls of one strategy before another one's turn."""
_MOST_CALLS = 50


@dataclass(frozen=True)
class Asked:
    """The steps that are distributed, and how.

    Attributes:
      strategies: those that are tried.
      size: of the workload; None takes the smallest.
      devices: of one process.
      steps: of training that are compared.
      timed: whether steps are timed too.
      resumed: whether a process is killed and its run resumed too.
    """

    strategies: Sequence[Strategy]
    size: str | None
    devices: int
    steps: int
    timed: bool
    resumed: bool = False


def distribute(
    workload: AnyWorkload, request: Asked, groups: Groups, scratch: Path, reporter: Reporter
) -> Distribution:
    """One workload by every strategy that was asked for.

    Raises:
      RequestError: it cannot be divided so.
      BadTarget, Missing: a twin or a framework is not there.
    """
    division = divide(workload, request.size, request.devices, request.steps, scratch)
    sides = list(dict.fromkeys(strategy.side for strategy in request.strategies))
    reporter.stage(f"{workload.name} on {request.devices} devices", len(sides) * 2 + len(request.strategies))
    survey = _Survey(division, request, groups, reporter, scratch)
    for side in sides:
        survey.refer(side)
    trials = {str(strategy): survey.attempt(strategy) for strategy in request.strategies}
    strategies = {name: step for name, step in trials.items() if step is not None}
    seconds = survey.times() if request.timed else {}
    strategies = {name: replace(step, seconds=seconds.get(name)) for name, step in strategies.items()}
    is_unknown = any(blind.seen == 0 for blind in survey.blind.values())
    failing = is_unknown or survey.failures or any(step.verdict == FAIL for step in strategies.values())
    is_run = any(step.verdict == PASS for step in strategies.values())
    return Distribution(
        name=workload.name,
        size=division.prepared.size,
        batch=division.examples,
        devices=request.devices,
        steps=request.steps,
        axes={name: axis for name, axis in division.axes.items() if axis is not None},
        strategies=strategies,
        references={f"{side}/{SINGLE}": seconds.get(f"{side}/{SINGLE}") for side in sides},
        blind=survey.blind,
        equal_parts=survey.equal_parts,
        alike=division.alike,
        # What no strategy could run, none has shown to be the training step.
        verdict=FAIL if failing or not strategies else PASS if is_run else NOT_JUDGED,
        failures=tuple(survey.failures),
    )


class _Survey:
    """One workload while it is distributed: what was run, and which processes can run more."""

    def __init__(self, division: Divided, request: Asked, groups: Groups, reporter: Reporter, scratch: Path) -> None:
        self._given, self._asked, self._groups, self._reporter = division, request, groups, reporter
        self._scratch = scratch
        self._references: dict[tuple[str, str], Runs] = {}
        self._untold: dict[tuple[str, str], str] = {}
        self._known: dict[str, Sequence[str]] = {}
        self._ready: dict[str, tuple[str, int, int, str]] = {}
        self.blind: dict[str, Blind] = {}
        self.equal_parts: dict[str, StepDeparture] = {}
        self.failures: list[Failure] = []

    def refer(self, side: str) -> None:
        """Run a side's references, and what they are with a mistake."""
        for reference in REFERENCES:
            self._reporter.step(f"{side}/{reference}")
            try:
                group = self._group(side, 1, self._asked.devices)
                self._references[side, reference] = self._step(group, f"{side}/{reference}", reference)[0]
                if reference == IN_TURN:
                    self._plant(group, side)
                    self._repeat(group, side)
            except Unavailable as error:
                self._untold[side, reference] = error.reason
            except (BadTarget, Missing):
                raise
            except SideError as error:
                self._untold[side, reference] = error.reason
                self.failures.append(failure_of(error, f"{side}/{reference}"))
        self._ready[f"{side}/{SINGLE}"] = (side, 1, self._asked.devices, SINGLE)

    def attempt(self, strategy: Strategy) -> DistributedStep | None:
        """Run one strategy; None where the twin has no such step.

        A lost worker is replaced and the strategy runs once more: in two processes TensorFlow's profiler crashes now
        and then. A strategy that crashes every time still fails.
        """
        try:
            return self._try(strategy)
        except (BadTarget, Missing):
            raise
        except SideError as error:
            reason = error.reason
            self._groups.drop(strategy.side, strategy.processes or self._asked.devices)
        step = self._try(strategy, final=True)
        return step and replace(step, lost_first=reason)

    def _try(self, strategy: Strategy, final: bool = False) -> DistributedStep | None:
        self._reporter.step(str(strategy))
        processes = strategy.processes or self._asked.devices
        per_process = self._each(strategy)
        step = DistributedStep(means=strategy.means[0], devices=processes * per_process, processes=processes)
        if self._given.examples % (processes * per_process):
            why = f"{processes * per_process} devices do not divide a batch of {self._given.examples}"
            return replace(step, verdict=NOT_APPLICABLE, reason=why)
        try:
            group = self._group(strategy.side, processes, per_process)
            if strategy.name not in self._known[f"{strategy.side}/{processes}"]:
                return None
            judgement = self._judge(group, strategy, step)
        except (BadTarget, Missing):
            raise
        except SideError as error:
            if error.lost and not final:
                raise
            return self._refuse(error, strategy, step, final)
        self._ready[str(strategy)] = (strategy.side, processes, per_process, strategy.name)
        return judgement

    def _group(self, side: str, processes: int, devices: int) -> Group:
        group = self._groups.get(side, processes, devices)
        division = self._given
        if group.loaded is not division:
            for process in group.sides:
                strategies = strategy_requests.divide(
                    process, division.prepared.loading, side, devices, division.batch, division.axes
                )
                self._known[f"{side}/{processes}"] = [
                    *strategies,
                    *(["multi-worker"] if "mirrored" in strategies else []),
                ]
            group.loaded = division
        return group

    def _step(self, group: Group, name: str, strategy: str) -> tuple[Runs, int | None, list[Unlike]]:
        """The runs of both float types; what the float32 one compiled; copies that differ in either."""
        # What is compiled and timed is float32: the second one.
        by_dtype = {
            dtype: strategy_requests.steps(group.sides, strategy, dtype, self._asked.steps)
            for dtype in (FLOAT64, FLOAT32)
        }
        unlike = [copies for steps in by_dtype.values() for copies in steps.unlike]
        runs = Runs(name, {dtype: steps.arrays for dtype, steps in by_dtype.items()})
        return runs, by_dtype[FLOAT32].compilations, unlike

    def _plant(self, group: Group, side: str) -> None:
        for mistake in MISTAKES:
            wrong = strategy_requests.steps(group.sides, mistake, FLOAT64, self._asked.steps)
            right = self._references[side, IN_TURN]
            self.blind[f"{side}: {mistake}"] = judging_steps.blind(right, wrong.arrays, mistake)

    def _repeat(self, group: Group, side: str) -> None:
        """Where all parts are equal, replicas have to take the step of one device, however examples are averaged."""
        if (side, SINGLE) not in self._references:
            return
        single, in_turn = (
            strategy_requests.steps(group.sides, reference, FLOAT64, self._asked.steps, equal_parts=True).arrays
            for reference in REFERENCES
        )
        self.equal_parts[side] = judging_steps.departure_of_equal_parts(f"{side}/{SINGLE}", in_turn, single)

    def _judge(self, group: Group, strategy: Strategy, step: DistributedStep) -> DistributedStep:
        runs, compilations, unlike = self._step(group, str(strategy), strategy.name)
        departures = {
            reference: judging_steps.departure(runs, self._references[strategy.side, reference], with_state=True)
            for reference in REFERENCES
            if (strategy.side, reference) in self._references
        }
        parity = tuple(departures.values())
        verdicts = {reference: departure.verdict for reference, departure in departures.items()}
        means = next((reference for reference in strategy.means if verdicts.get(reference) == PASS), strategy.means[0])
        across = self._across(runs, strategy.side, means)
        resumption = self._resume(strategy, runs, step) if self._asked.resumed else None
        group = self._group(strategy.side, step.processes or 1, self._each(strategy))
        transfers = alike(strategy_requests.transfers(group.sides, strategy.name))
        why_unknown = self._untold.get((strategy.side, strategy.means[0]), "it was not run")
        equal_parts = self.equal_parts.get(strategy.side)
        findings = Found(means, verdicts.get(means), why_unknown, across, unlike, transfers, resumption, equal_parts)
        held_as, reason = verdict(findings)
        return replace(
            step,
            means=means,
            verdict=held_as,
            reason=reason,
            parity=parity,
            across=across,
            unlike=tuple(map(unlike_copies, unlike)),
            compilations=compilations,
            transfers=transfers,
            resumed=resumption,
        )

    def _resume(self, strategy: Strategy, runs: Runs, step: DistributedStep) -> Resumed:
        processes = step.processes or 1
        prefix = f"{self._given.prepared.workload.name}-{str(strategy).replace('/', '-')}-checkpoints-"
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self._scratch))
        self._reporter.step(f"{strategy} killed and resumed")
        return resuming.resume(
            lambda: self._group(strategy.side, processes, self._each(strategy)),
            lambda: self._groups.drop(strategy.side, processes),
            *(strategy.name, runs.by_dtype[FLOAT64], folder),
        )

    def _each(self, strategy: Strategy) -> int:
        """Devices of each process."""
        return 1 if strategy.processes == 0 else self._asked.devices

    def _across(self, runs: Runs, side: str, means: str) -> StepDeparture | None:
        """JAX's distributed step against TensorFlow's reference, or JAX's reference against TensorFlow's."""
        other = self._references.get(("jax" if side == "tf" else "tf", means))
        if other is None:
            return None
        jax_runs, expected = (runs, other) if side == "jax" else (other, runs)
        judgement = judging_steps.departure(jax_runs, expected, with_state=False)
        return replace(judgement, against=other.name)

    def _refuse(self, error: SideError, strategy: Strategy, step: DistributedStep, after_loss: bool) -> DistributedStep:
        """A refusal of a framework is no failure; the loss of a worker is one, and so are its consequences."""
        self._groups.drop(strategy.side, step.processes or 1)
        if error.lost or (after_loss and not isinstance(error, Unavailable)):
            self.failures.append(failure_of(error, str(strategy)))
            return replace(step, verdict=FAIL, reason=error.reason)
        return replace(step, verdict=NOT_APPLICABLE, reason=error.reason)

    def times(self) -> dict[str, float]:
        """Seconds of a step by strategy, and on one device: turn by turn, so that all see the same machine."""
        self._reporter.stage(f"{self._given.prepared.workload.name}: times", ROUNDS)
        calls = {name: self._calls(name, *ready) for name, ready in self._ready.items()}
        times_by_name: dict[str, list[float]] = defaultdict(list)
        for number in range(ROUNDS):
            self._reporter.step(f"round {number + 1}")
            for name, count in calls.items():
                if count:
                    times_by_name[name].append(median(self._take_times(*self._ready[name], count)))
        return {name: median(medians) for name, medians in times_by_name.items()}

    def _calls(self, name: str, side: str, processes: int, devices: int, strategy: str) -> int:
        """How many calls make a round; 0 where it cannot be timed."""
        try:
            (first,) = self._take_times(side, processes, devices, strategy, 1)
        except SideError as error:
            self.failures.append(failure_of(error, f"times of {name}"))
            return 0
        return max(1, min(_MOST_CALLS, int(_ROUND_S / first)))

    def _take_times(self, side: str, processes: int, devices: int, strategy: str, calls: int) -> list[float]:
        return strategy_requests.step_times(self._group(side, processes, devices).sides, strategy, calls)
