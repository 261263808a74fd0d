"""Elements of cases of kinks that rounding decides, as between equal sums that were added up in another order.

Inputs and weights of such a case are few round numbers, so that what is added up often cancels, or ties. Where nothing
on the way is rounded, zero is zero and both sides choose a branch by their own rules, which is what the case is for.
Behind a slope of 0.2 it is rounding that chooses: a side gives something else once the roundings of its own float64
program are moved, and round numbers left as they are. An element that both is off and moves with the roundings counts
nothing there; all others do. In its place both programs are run once more with each number moved by far more than a
rounding, and far less than what lies between two numbers of the case. They have to agree as strictly as ever.

Roundings that a port alone makes could hide a rule of its own: no element may be off for another reason where all
inputs are zero either, and nothing is rounded.
"""

from __future__ import annotations

import dataclasses
import itertools
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compare.hlo import disturbing
from compare.parity import Evidence, messages
from compare.parity.bands import Band
from compare.parity.holding import Held, Leaves
from compare.parity.measure import UNIT_ROUNDOFF, is_float, pattern, wide
from compare.prove.moved_arguments import clip_to_range
from compare.prove.oracle import Doubles
from compare.prove.own_formula import FACTOR, LARGEST, NOTHING, ROUNDINGS, ordinary, vanishes
from compare.prove.running import running
from compare.record.vocabulary import FAIL
from compare.sides._side import SIDES
from workloads.core.spec import Arrays, ArraySpec
from workloads.protocol.framework import FORWARD, GRADIENTS, WEIGHTS, Program, Twin, is_kinks

SAMPLES = 8
"""The most samples of a program with moved roundings."""
SPARED = 32
"""A number with at most this many bits counts as round: sums of products of the numbers of a case have fewer."""

ASIDE = 2.0**-16
"""Relative: how far a number is moved. That is farther than the rounding of a constant to float32."""

BESIDE = " beside"
AT_ZERO = " at zero"
"""Suffixes of the names of cases that are made from a case."""

Specs = Mapping[str, ArraySpec[int]]
Runs = Mapping[str, Mapping[str, Arrays]]
"""By side and case."""


@dataclass(frozen=True)
class _Pass:
    """A pass of both sides, compiled to run here."""

    name: str
    programs: Mapping[str, Program]
    twin: Twin
    specs: Specs
    leaves: frozenset[str]
    """The leaves that are judged: a program may return others, such as the gradient of a statistic."""

    def run(self, side: str, cases: Sequence[str], artifact: bytes | None = None) -> dict[str, Arrays]:
        """The results of a side by case; another artifact replaces that of its own program."""
        program = self.programs[side]
        variant = dataclasses.replace(program, artifact=program.artifact if artifact is None else artifact)
        ran = running(variant, self.twin).by_case(cases)
        return {
            case: {leaf: array for leaf, array in arrays.items() if leaf in self.leaves} for case, arrays in ran.items()
        }

    def with_cases(self, cases: Mapping[str, Arrays]) -> _Pass:
        """The pass with more cases."""
        return dataclasses.replace(self, twin=dataclasses.replace(self.twin, cases={**self.twin.cases, **cases}))


def judge_beside_ties(twin: Twin, specs: Specs, doubles: Doubles, evidence: Evidence, leaves: Leaves) -> Doubles:
    """The float64 evidence without the elements that rounding decides, and with one more case; unchanged without any.

    Args:
      doubles: the float64 programs, and their results.
      evidence: tells what an error is relative to.

    Raises:
      UnreadableProgram: XLA cannot run a program apart.
    """
    for name, cases in _failing(evidence, leaves).items():
        programs = {side: doubles.programs.get((side, name)) for side in SIDES}
        present = {side: program for side, program in programs.items() if program is not None}
        if len(present) == len(SIDES):
            both = (frozenset(doubles.arrays[side, name, cases[0]]) for side in SIDES)
            of = _Pass(name, present, twin, specs, frozenset.intersection(*both))
            doubles = _judge_pass(of, cases, doubles, evidence)
    return doubles


def _failing(evidence: Evidence, leaves: Leaves) -> dict[str, list[str]]:
    """By pass, its failing cases, if only kinks fail: a port that fails on ordinary numbers is not examined here."""
    failures = [leaf for gate in leaves.values() for leaf in gate if _is_failure(leaf)]
    wrong = {leaf.place.pass_ for leaf in failures if not is_kinks(leaf.place.case)}
    off = [leaf for leaf in failures if leaf.error > LARGEST["float64"] and not vanishes(evidence, leaf.place)]
    # Rounding explains neither another shape nor NaN on one side alone.
    one_sided = {(leaf.place.pass_, leaf.place.case) for leaf in off if leaf.error == np.inf}
    failing: dict[str, set[str]] = defaultdict(set)
    for leaf in off:
        pass_, case = leaf.place.pass_, leaf.place.case
        if is_kinks(case) and pass_ not in wrong and (pass_, case) not in one_sided:
            failing[pass_].add(case)
    return {pass_: sorted(cases) for pass_, cases in failing.items()}


def _is_failure(leaf: Held) -> bool:
    """Whether a float64 comparison of a forward pass or of gradients fails."""
    return (
        leaf.verdict == FAIL
        and leaf.place.pass_ in (FORWARD, GRADIENTS)
        # A side named without a mode is its float64 run.
        and leaf.place.found_from == "jax"
    )


def _judge_pass(of: _Pass, cases: Sequence[str], doubles: Doubles, evidence: Evidence) -> Doubles:
    at_zero = {case + AT_ZERO: _at_zero(of.twin.cases[case], of.specs) for case in cases}
    of = of.with_cases(at_zero)
    here = {side: of.run(side, [*cases, *at_zero]) for side in SIDES}
    runs = {side: here[side] | {case: doubles.arrays[side, of.name, case] for case in cases} for side in SIDES}
    off = {case: _gaps(of.name, case, runs, evidence) for case in (*cases, *at_zero)}
    # Compared with runs here, not with the framework's: TensorFlow's eager mode has rules of its own for some.
    rest = _not_decided(of, here, off)
    for case in cases:
        if rest.isdisjoint((case, case + AT_ZERO)):
            doubles = _with_case_beside(of, case, off[case], doubles)
    return doubles


def _gaps(pass_: str, case: str, runs: Runs, evidence: Evidence) -> Arrays:
    """By leaf, the error of each element of the port; 0 where ordinary rounding explains it."""
    port, expected = (runs[side][case] for side in ("jax", "tf"))
    scales = evidence.scales(pass_, case, expected)
    return {
        leaf: _gaps_in(port[leaf], expected[leaf], bands, NOTHING * ordinary(evidence, pass_, leaf))
        for leaf, bands in scales.bands.items()
        if leaf in port
    }


def _gaps_in(
    port: np.ndarray, expected: np.ndarray, bands: Sequence[Band], nothing: float
) -> np.ndarray[Any, np.dtype[np.float64]]:
    gap = _apart(port, expected)
    common = np.full(gap.shape, nothing)
    for band in bands:
        within = True if band.others is None else ~band.others
        common = np.where(within, np.maximum(common, LARGEST["float64"] * band.scale), common)
    return np.where(is_float(expected) & (gap <= common), 0, gap)


def _apart(one: np.ndarray, other: np.ndarray) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The distance of each pair of elements; infinite where only one of them is NaN or infinite."""
    finite = np.isfinite(one) & np.isfinite(other)
    gap = np.abs(np.where(finite, wide(one), 0) - np.where(finite, wide(other), 0))
    return np.where(pattern(one) == pattern(other), gap, np.inf)


def _not_decided(of: _Pass, runs: Runs, off: Mapping[str, Arrays]) -> set[str]:
    """The cases with an error that moved roundings of neither side explain."""
    rest = {case: dict(gaps) for case, gaps in off.items()}
    # Both sides: where one keeps 0.2 in float32, its sums are exact, and the other's are not.
    for side, seed in itertools.product(SIDES, range(SAMPLES)):
        cases = _cases_with_any(rest)
        if not cases:
            break
        variant = disturbing.disturb(
            of.programs[side].artifact, ROUNDINGS * UNIT_ROUNDOFF["float64"], seed, spared_bits=SPARED
        )
        for case, ran in of.run(side, cases, variant).items():
            for leaf, gap in rest[case].items():
                jump = _apart(ran[leaf], runs[side][case][leaf])
                rest[case][leaf] = np.where(np.isfinite(jump) & (FACTOR * jump >= gap), 0, gap)
    return set(_cases_with_any(rest))


def _cases_with_any(rest: Mapping[str, Arrays]) -> list[str]:
    return [case for case, gaps in rest.items() if any(gap.any() for gap in gaps.values())]


def _with_case_beside(of: _Pass, case: str, off: Arrays, doubles: Doubles) -> Doubles:
    """The case without the elements that rounding decides, and one beside it; unchanged where that has no numbers."""
    name, inputs = case + BESIDE, _move_numbers(of.twin.cases[case], of.specs)
    of = of.with_cases({name: inputs})
    here = {side: doubles.arrays[side, of.name, case] for side in SIDES}
    arrays = {(side, of.name, name): of.run(side, [name])[name] for side in SIDES}
    if any(not _as_finite(arrays[side, of.name, name], here[side]) for side in SIDES):
        return doubles
    without_ties = {leaf: np.where(gap > 0, here["tf"][leaf], here["jax"][leaf]) for leaf, gap in off.items()}
    arrays["jax", of.name, case] = {**here["jax"], **without_ties}
    counts = sum(int(np.count_nonzero(gap)) for gap in off.values()), sum(gap.size for gap in off.values())
    return dataclasses.replace(
        doubles,
        arrays=doubles.arrays | arrays,
        cases=doubles.cases | {name: inputs},
        remarks=(*doubles.remarks, messages.beside_ties(of.name, case, name, counts, ASIDE)),
    )


def _as_finite(arrays: Arrays, others: Arrays) -> bool:
    """Whether arrays are finite wherever others are."""
    return all(np.all(np.isfinite(array) >= np.isfinite(others[leaf])) for leaf, array in arrays.items())


def _at_zero(arrays: Arrays, specs: Specs) -> dict[str, np.ndarray]:
    """A case with its own weights, and inputs of zeros, or of the number in their range that is nearest to zero."""
    return {
        name: array
        if name.startswith(WEIGHTS) or not is_float(array)
        else clip_to_range(np.zeros_like(array), specs.get(name))
        for name, array in arrays.items()
    }


def _move_numbers(arrays: Arrays, specs: Specs) -> dict[str, np.ndarray]:
    """Each number in float64 and slightly moved, within its range. Zero stays, since branches part there."""
    return {
        name: _aside(name, array, specs.get(name)) if is_float(array) and array.dtype.kind != "c" else array
        for name, array in arrays.items()
    }


def _aside(name: str, array: np.ndarray, spec: ArraySpec[int] | None) -> np.ndarray:
    away = ASIDE * np.random.default_rng(zlib.crc32(name.encode())).uniform(-1, 1, array.shape)
    numbers = array.astype(np.float64)
    nearby = numbers * (1 + away)
    # At the end of its range a number is moved inwards.
    return clip_to_range(np.where(clip_to_range(nearby, spec) == nearby, nearby, numbers * (1 - away)), spec)
