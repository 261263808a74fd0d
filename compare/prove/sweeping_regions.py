"""Sweeps a pass region by region: proved regions are not run, the others run from TensorFlow's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compare.hlo import executing, promote
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.pair import Pair
from compare.inputs.at_size import Prepared
from compare.parity import messages
from compare.parity.breaks import Extent, Outcome, Reached
from compare.parity.stability import HOLDS, UNJUDGED
from compare.progress import Countdown, Reporter, Silent
from compare.prove.open_regions import Arguments, OpenRegions
from compare.prove.region_calls import FINE, RegionCalls
from compare.prove.running import arguments
from compare.prove.split_programs import Split, split_on_cases, spread_out
from compare.prove.subjects import first_inputs, twin_of
from compare.prove.swept_calls import plan_calls
from compare.prove.whole_calls import compile_whole
from compare.record.parity_part import Call
from compare.record.vocabulary import PASS
from workloads.core import sweeps
from workloads.core.spec import Arrays
from workloads.core.sweeps import Probe
from workloads.protocol.framework import Program


@dataclass(frozen=True)
class SweptRegions:
    """A pass that holds wherever TensorFlow does.

    Attributes:
      reached: by swept input, how far.
      says: how it was judged, in a line.
    """

    reached: tuple[Reached, ...]
    says: str


def sweep_regions(
    pass_: str,
    instance: Prepared,
    programs: Pair[Program],
    dtype: str,
    reporter: Reporter = Silent(),  # noqa: B008 - has no state
) -> SweptRegions | None:
    """Judge a pass region by region; None where a region does not hold, or cannot be judged alone.

    The caller then sweeps both whole programs.

    Raises:
      ProgramLost: a program ended the process that ran it, or did not end.
    """
    try:
        return _sweep(pass_, instance, programs, dtype, reporter)
    except executing.ProgramLost:
        # Unreadable as well, but the process is gone.
        raise
    except (UnreadableProgram, promote.PromotionError):
        # Programs that cannot be split are swept whole.
        return None


def _sweep(
    pass_: str, instance: Prepared, programs: Pair[Program], dtype: str, reporter: Reporter
) -> SweptRegions | None:
    reporter.detail(f"stability, {pass_}: splitting both programs into regions")
    sweep = _Sweep(pass_, instance, programs, dtype, reporter)
    regions = sweep.split_first()
    while regions is not None:
        broken = sweep.judge(regions)
        if broken is None:
            says = messages.regions_hold(
                pass_, regions.regions, regions.count_open, regions.count_kinds, len(sweep.probes)
            )
            return SweptRegions(_reaches(pass_, sweep.outcomes), says)
        regions = sweep.split_again(broken)
    return None


class _Sweep:
    """The calls of a sweep; each is judged by regions in which all former calls hold too."""

    def __init__(self, pass_: str, instance: Prepared, programs: Pair[Program], dtype: str, reporter: Reporter) -> None:
        self._reporter = reporter
        self._pass, self._inputs, self._programs, self._dtype = pass_, instance.inputs, programs, dtype
        self._twin = twin_of(instance)
        self._base = first_inputs(self._twin, instance.inputs)
        self._whole = compile_whole(programs, self._twin)
        self._split = split_on_cases(instance, programs)
        self.probes = plan_calls(instance.inputs, self._twin)
        self.outcomes: dict[Probe, Outcome] = {}

    def split_first(self) -> Split | None:
        """Regions at values that agree in a few calls, far apart; None where there are none."""
        self._reporter.detail(f"stability, {self._pass}: checking values that both programs have")
        return self._find_regions(spread_out(self.probes))

    def split_again(self, broken: Probe) -> Split | None:
        """Regions at values that agree in this call too; None where it refutes no cut point.

        Args:
          broken: a call that does not hold.
        """
        count_before = self._split.count_refuted
        regions = self._find_regions([broken])
        return regions if self._split.count_refuted > count_before else None

    def judge(self, regions: Split) -> Probe | None:
        """The first call that does not hold; None where all hold, and the whole programs come nowhere grossly apart."""
        open_regions = regions.opened
        judges = self._judges(open_regions) if open_regions else None
        at_once = (
            min(self._whole.original.at_once, open_regions.at_once) if open_regions else self._whole.original.at_once
        )
        probes_to_judge = [probe for probe in self.probes if probe not in self.outcomes]
        countdown = Countdown(self._reporter, f"stability, {self._pass}: calls of regions", len(probes_to_judge))
        for start in range(0, len(probes_to_judge), at_once):
            countdown.show(start)
            probes = probes_to_judge[start : start + at_once]
            calls = [self._draw(probe) for probe in probes]
            outcomes = self._judge_regions(judges, calls)
            broken = [probe for probe, outcome in zip(probes, outcomes, strict=True) if outcome.status not in FINE]
            if broken or not self._whole.agree(calls, judges.vanishing if judges else 0.0):
                return (broken or probes)[0]
            self.outcomes |= zip(probes, outcomes, strict=True)
        return None

    def _judge_regions(self, judges: RegionCalls | None, calls: Sequence[Arrays]) -> list[Outcome]:
        if judges is None:
            return [Outcome(HOLDS)] * len(calls)
        return judges.judge_swept([*map(self._arguments, calls)], len(self.outcomes))

    def _judges(self, open_regions: OpenRegions) -> RegionCalls:
        return RegionCalls(self._pass, open_regions, self._arguments(self._base), self._dtype, open_regions.roundings)

    def _find_regions(self, refuting: Sequence[Probe]) -> Split | None:
        return self._split.find_regions([self._arguments(self._draw(probe)) for probe in refuting])

    def _draw(self, probe: Probe) -> dict[str, np.ndarray]:
        return sweeps.draw_inputs(probe, self._inputs, self._base)

    def _arguments(self, call: Arrays) -> Arguments:
        return self._programs.map(lambda program: arguments(program, self._twin, call))


def _reaches(pass_: str, outcomes: Mapping[Probe, Outcome]) -> tuple[Reached, ...]:
    """How far each input may go: as far as calls were judged, since none breaks."""
    by_pattern: dict[str, dict[str, dict[Probe, Outcome]]] = {}
    for probe, outcome in outcomes.items():
        by_pattern.setdefault(probe.moved, {}).setdefault(probe.pattern, {})[probe] = outcome
    return tuple(
        Reached(input_name, pass_, PASS, tuple(_extent(pattern, calls) for pattern, calls in patterns.items()))
        for input_name, patterns in by_pattern.items()
    )


def _extent(pattern: str, outcomes: Mapping[Probe, Outcome]) -> Extent:
    calls = sorted((probe.magnitude, outcome.status) for probe, outcome in outcomes.items())
    magnitudes = [magnitude for magnitude, status in calls if status != UNJUDGED] or [None]
    return Extent(pattern, magnitudes[0], magnitudes[-1], tuple(Call(*one) for one in calls))
