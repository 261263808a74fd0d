"""The sweep behind the stability gate: both programs run far from the inputs of a test, beside TensorFlow's float64."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from compare.hlo import breaking, disturbing, stablehlo_text
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import ProgramLost
from compare.hlo.promote import PromotionError
from compare.inputs.at_size import Prepared
from compare.parity import messages, stability, unjudged
from compare.parity.breaks import Broken, Extent, Outcome, Reached, Swept
from compare.parity.evidence import PORT, TUNED
from compare.parity.measure import UNIT_ROUNDOFF
from compare.parity.stability import BREAKS, UNJUDGED, Rounding, Values
from compare.progress import Countdown, Reporter
from compare.prove.both_sides import BothSides
from compare.prove.following import Following
from compare.prove.moved_arguments import clip_to_range, move_roundings
from compare.prove.oracle import promote_program
from compare.prove.original_modes import AskEager, OriginalModes
from compare.prove.running import Running, running
from compare.prove.subjects import first_inputs, subject, twin_of
from compare.prove.sweeping_regions import sweep_regions
from compare.prove.swept_calls import MOST_ELEMENTS, CallResults, judge_calls, measure_rounding, plan_calls
from compare.record.parity_part import Call, Disagreement
from workloads.core import sweeps
from workloads.core.modes import TF
from workloads.core.precision import narrow_dtype
from workloads.core.spec import Arrays
from workloads.core.sweeps import Probe
from workloads.protocol.framework import FORWARD, GRADIENTS, CompilerOptions, Program

CLOSE = 1.01
"""The ratio between a magnitude that holds and one that does not, once the limit is known."""
NEIGHBOURS, FEW_ROUNDINGS = 4, 4
"""A call that breaks is made so many times more, each number moved by at most so many roundings."""
MOST_RECURRING = 4
"""Once so many breaks recur, the others are no chance either."""


def sweep(sides: BothSides, options: CompilerOptions) -> Swept:
    """Find the range of each float input in which the port holds, by pass.

    Args:
      options: of XLA, that the port is compiled with in mode `jax/tuned`; else empty.

    Raises:
      ProgramLost: a program ended the process that ran it, or did not end.
    """
    inputs, passes = sides.instance.inputs, (FORWARD, GRADIENTS)
    if not sweeps.swept(inputs):
        return Swept(reason="no input is a float narrower than float64: there is nothing to sweep")
    dtype = _narrowest(sides.instance)
    elements = sum(math.prod(spec.shape) for spec in inputs.values())
    if elements > MOST_ELEMENTS:
        return Swept((), dtype, "; ".join(unjudged.not_swept(pass_, elements) for pass_ in passes))
    # A port may follow TensorFlow's eager mode where TensorFlow's own modes disagree.
    eager = OriginalModes(sides.pool, sides.instance, sides.deliveries.get(TF)).eager
    parts = [_sweep_pass(sides, pass_, dtype, options, eager) for pass_ in passes]
    return Swept(
        tuple(reach for part in parts for reach in part.reached),
        dtype,
        "; ".join(part.reason for part in parts if part.reason),
        findings=tuple(finding for part in parts for finding in part.findings),
    )


def _sweep_pass(sides: BothSides, pass_: str, dtype: str, options: CompilerOptions, eager: AskEager) -> Swept:
    """A pass by regions; as whole programs where these do not decide, or a compiler's options act on all of it."""
    sides.reporter.step(f"stability, {pass_}")
    programs, exact = sides.programs(pass_), sides.doubles.programs.get((TF, pass_))
    by_regions = (
        None if options or programs is None else sweep_regions(pass_, sides.instance, programs, dtype, sides.reporter)
    )
    if by_regions is not None:
        return Swept(by_regions.reached, dtype, by_regions.says)
    if programs is None or exact is None:
        refusal = sides.deliveries[TF].explain_refusal(pass_) if TF in sides.deliveries else ""
        return Swept((), dtype, f"{pass_}: {refusal or 'not swept, a side gave no program'}")
    reaches: list[Reached] = []
    findings: Sequence[Disagreement] = ()
    reason = ""
    try:
        whole = _Pass(pass_, sides.instance, programs.left, programs.right, exact, dtype, options, eager)
        for reach in whole.reach(sides.reporter):
            # An input that breaks fails, whatever becomes of the next.
            reaches.append(reach)
        findings = whole.findings
    except ProgramLost:
        raise
    except UnreadableProgram as error:
        reason = f"{pass_}: not swept, the programs do not run apart from their frameworks: {error}"
    return Swept(tuple(reaches), dtype, reason, findings=tuple(findings))


def _narrowest(instance: Prepared) -> str:
    """The narrowest type that is computed in."""
    dtypes = [
        narrow_dtype(instance.loading.dimensions),
        *(instance.inputs[name].dtype for name in sweeps.swept(instance.inputs)),
    ]
    return max(dtypes, key=lambda name: UNIT_ROUNDOFF.get(name, 0.0))


class _Pass:
    """One pass of a workload, its programs compiled."""

    def __init__(
        self,
        pass_: str,
        instance: Prepared,
        original: Program,
        port: Program,
        exact: Program,
        dtype: str,
        options: CompilerOptions,
        eager: AskEager,
    ) -> None:
        self._workload, self._pass, self._dtype = instance.workload.name, pass_, dtype
        self._mode = TUNED if options else PORT
        self._specs, self._twin = instance.inputs, twin_of(instance)
        self._base = first_inputs(self._twin, self._specs)
        self._original, self._exact = running(original, self._twin, {}), running(exact, self._twin)
        self._port = running(port, self._twin, options)
        self._following = Following(eager, pass_, instance.title, self._mode)
        self._rounding = self._measure_rounding(stablehlo_text.roundings(original.artifact))
        self._recurring = 0
        """Breaks that recur in calls beside them."""

    def reach(self, reporter: Reporter) -> Iterator[Reached]:
        """The range of each input in which the port holds."""
        probes = plan_calls(self._specs, self._twin)
        countdown = Countdown(reporter, f"stability, {self._pass}: calls of both programs", len(probes))
        outcomes = dict(zip(probes, self._outcomes(probes, countdown), strict=True))
        for input_name in dict.fromkeys(probe.moved for probe in probes):
            yield self._reach_of(
                input_name, {probe: outcome for probe, outcome in outcomes.items() if probe.moved == input_name}
            )

    @cached_property
    def _variant(self) -> Running:
        """Compiled where an error asks for it: honest ports of well-conditioned formulas never do."""
        exact = self._exact.program
        artifact = disturbing.disturb(exact.artifact, UNIT_ROUNDOFF[self._dtype])
        return running(dataclasses.replace(exact, artifact=artifact), self._twin)

    def _measure_rounding(self, times: float) -> Rounding:
        # Training adds up gradients: an error within the rounding of an ordinary one counts nothing.
        ordinary = self._exact([self._base])[0] if self._pass == GRADIENTS else {}
        return measure_rounding(self._dtype, times, ordinary, digits=0.5)

    def _outcomes(self, probes: Sequence[Probe], countdown: Countdown) -> list[Outcome]:
        """The outcome of each call. Roundings are sampled only for calls that do not hold without."""
        outcomes: list[Outcome] = []
        at_once = self._exact.at_once
        for start in range(0, len(probes), at_once):
            countdown.show(start)
            outcomes += [outcome for _, _, outcome in self._judge(probes[start : start + at_once])]
        return outcomes

    @property
    def findings(self) -> Sequence[Disagreement]:
        """Where TensorFlow's own modes disagree, and the port follows eager mode."""
        return self._following.findings

    def _judge(self, probes: Sequence[Probe]) -> list[tuple[Arrays, Values, Outcome]]:
        """Like `_by_program`; TensorFlow's eager mode judges a call that breaks there and follows that mode."""
        judgements = self._by_program(probes)
        return self._following.follow(judgements, probes, self._rounding)

    def _by_program(self, probes: Sequence[Probe]) -> list[tuple[Arrays, Values, Outcome]]:
        """The inputs of each call, its values, and its outcome."""
        judgements = self._judge_calls([sweeps.draw_inputs(probe, self._specs, self._base) for probe in probes])
        return [self._without_chance(*one) for one in judgements]

    def _without_chance(self, call: Arrays, values: Values, outcome: Outcome) -> tuple[Arrays, Values, Outcome]:
        """The call; it is not judged if its break does not recur in most calls beside it.

        Where a problem is ill-conditioned, one side is right by chance, and as wrong as the other beside it.
        """
        if outcome.status != BREAKS or self._recurring == MOST_RECURRING:
            return call, values, outcome
        beside = self._judge_calls([self._move_inputs(call, seed) for seed in range(NEIGHBOURS)])
        if not stability.recurs([near for _, _, near in beside]):
            return call, values, dataclasses.replace(outcome, status=UNJUDGED)
        self._recurring += 1
        return call, values, outcome

    def _move_inputs(self, call: Arrays, seed: int) -> dict[str, np.ndarray]:
        """The inputs, each number moved by a few roundings of its type within its range."""
        inputs = dict(zip(call, move_roundings([*call.values()], seed, roundings=FEW_ROUNDINGS), strict=True))
        return {name: clip_to_range(inputs[name], self._specs.get(name)) for name in call}

    def _judge_calls(self, calls: Sequence[Arrays]) -> list[tuple[Arrays, Values, Outcome]]:
        runs = zip(self._port(calls), self._original(calls), self._exact(calls), strict=True)
        judgements = judge_calls(
            [CallResults(*run) for run in runs],
            self._rounding,
            lambda positions, seed: self._sample([calls[position] for position in positions], seed),
        )
        return [(call, values, outcome) for call, (values, outcome) in zip(calls, judgements, strict=True)]

    def _sample(self, calls: Sequence[Arrays], seed: int) -> list[Arrays]:
        """The original in float64 with every value moved by a rounding, in each call."""
        return self._variant([self._move_by_rounding(call, seed) for call in calls]) if calls else []

    def _move_by_rounding(self, inputs: Arrays, seed: int) -> dict[str, np.ndarray]:
        """Inputs in float64, each moved by a rounding: a port may start with an operation that the original has not."""
        generator, unit = np.random.default_rng(seed), UNIT_ROUNDOFF[self._dtype]
        names = sweeps.swept(self._specs)
        return {
            name: disturbing.disturb_array(array.astype(np.float64), unit, generator) if name in names else array
            for name, array in inputs.items()
        }

    def _reach_of(self, input_name: str, outcomes: Mapping[Probe, Outcome]) -> Reached:
        extents = tuple(
            self._extent({probe: outcome for probe, outcome in outcomes.items() if probe.pattern == pattern})
            for pattern in dict.fromkeys(probe.pattern for probe in outcomes)
        )
        names = sweeps.swept(self._specs) if input_name == sweeps.ALL else [input_name]
        orders = min(sweeps.squares_within(self._specs[name]) for name in names)
        verdict, deciding = stability.deciding(extents, orders)
        if deciding is None:
            return Reached(input_name, self._pass, verdict, extents, mode=self._mode)
        broken = [
            probe
            for probe, outcome in outcomes.items()
            if outcome.status == BREAKS and probe.pattern == deciding.pattern
        ]
        counting = [
            outcome.error
            for probe, outcome in outcomes.items()
            if outcome.status == BREAKS and abs(math.log2(probe.magnitude)) <= orders
        ]
        worst = self._blame(
            deciding, min(broken, key=lambda probe: abs(math.log2(probe.magnitude / deciding.magnitude)))
        )
        message = messages.breaks(self._workload, self._pass, input_name, self._mode, extents, worst)
        error = max([deciding.outcome.error, *counting])
        return Reached(input_name, self._pass, verdict, extents, worst, error, message, self._mode)

    def _extent(self, outcomes: Mapping[Probe, Outcome]) -> Extent:
        """Where one pattern holds, from the magnitude nearest to 1 outwards; each end lies between two calls."""
        probes = sorted(outcomes, key=lambda probe: probe.magnitude)
        calls = tuple(Call(probe.magnitude, outcomes[probe].status) for probe in probes)
        pattern = probes[0].pattern
        middle = min(range(len(probes)), key=lambda position: abs(math.log2(probes[position].magnitude)))
        broken = [position for position, probe in enumerate(probes) if outcomes[probe].status == BREAKS]
        if middle in broken:
            probe = probes[middle]
            return Extent(pattern, None, None, calls, (stability.broken(probe, outcomes[probe]),))
        below = max((position for position in broken if position < middle), default=None)
        above = min((position for position in broken if position > middle), default=None)
        magnitudes = [probe.magnitude for probe in probes if outcomes[probe].status != UNJUDGED]
        if not magnitudes:
            return Extent(pattern, None, None, calls)
        low, high, breaks = magnitudes[0], magnitudes[-1], []
        if below is not None:
            last_good, first_break = self._edge(probes[below + 1], probes[below], outcomes[probes[below]])
            low, breaks = last_good, [*breaks, first_break]
        if above is not None:
            last_good, first_break = self._edge(probes[above - 1], probes[above], outcomes[probes[above]])
            high, breaks = last_good, [*breaks, first_break]
        return Extent(pattern, low, high, calls, tuple(breaks))

    def _edge(self, good: Probe, bad: Probe, bad_outcome: Outcome) -> tuple[float, Broken]:
        """The last magnitude that holds, and the first that does not."""
        while max(good.magnitude, bad.magnitude) > CLOSE * min(good.magnitude, bad.magnitude):
            middle = dataclasses.replace(good, magnitude=math.sqrt(good.magnitude) * math.sqrt(bad.magnitude))
            ((_, _, outcome),) = self._judge([middle])
            if outcome.status == BREAKS:
                bad, bad_outcome = middle, outcome
            else:
                good = middle
        return good.magnitude, stability.broken(bad, bad_outcome)

    def _blame(self, worst: Broken, far: Probe) -> Broken:
        """The break with the operation and the lines behind it, which show best where the port is far gone."""
        inputs = sweeps.draw_inputs(far, self._specs, self._base)
        port, original = self._port.program, self._original.program
        line = ""
        try:
            line = breaking.line_of(subject("tf", original), _position(original, worst.outcome.leaf))
            first = breaking.first_broken(
                subject("jax", port),
                subject("jax", promote_program(port)),
                _position(port, worst.outcome.leaf),
                self._port.arguments(inputs),
                self._port.arguments(self._base),
                self._rounding.unit,
            )
        except (PromotionError, UnreadableProgram):
            # The verdict needs no place: XLA runs the program, only not with all of its values as results.
            first = None
        if first is None:
            return dataclasses.replace(worst, original_line=line)
        return dataclasses.replace(worst, operation=first.opcode, line=first.line, original_line=line)


def _position(program: Program, leaf: str) -> int:
    return [result.name for result in program.results].index(leaf)
