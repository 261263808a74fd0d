"""Cases of kinks in which rounding decides, as between equal sums that were added up in another order: judged beside.

Inputs and weights of such a case are few round numbers, so that what is added up often cancels, or ties. Where nothing
on the way is rounded, zero is zero and both sides choose a branch by their own rules, which is what the case is for.
Behind a slope of 0.2 it is rounding that chooses: a side gives something else once the roundings of its own float64
program are moved, and round numbers left as they are. There both programs are run again with each number moved by far
more than a rounding, and far less than what lies between two numbers of the case. They have to agree as strictly as
ever.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from compare.hlo import disturbing
from compare.parity import Evidence, messages
from compare.parity.holding import LARGEST_ALLOWANCE, Held, Leaves
from compare.parity.measure import UNIT_ROUNDOFF, is_float
from compare.prove.oracle import Doubles, largest_spreads
from compare.prove.own_formula import FACTOR, LARGEST, ROUNDINGS
from compare.prove.running import running
from compare.record.vocabulary import FAIL
from compare.sides._side import SIDES
from workloads._framework import FORWARD, GRADIENTS, Program, Twin, is_kinks
from workloads._spec import Arrays

SAMPLES = 8
"""How often the original's roundings are moved, at most."""
SPARED = 32
"""A number of at most so many bits is taken for round: sums of products of the few numbers of a case have fewer."""

ASIDE = 2.0**-16
"""Of itself, by how much a number is moved: more than a constant that one side keeps in float32 is off by."""


def judged_beside(twin: Twin, doubles: Doubles, evidence: Evidence, leaves: Leaves) -> Doubles:
    """The float64 evidence with other numbers in the cases of kinks that rounding decides; as given without such.

    Args:
      twin: the workload's arrays.
      doubles: the float64 programs, and their results.
      evidence: tells what an error is relative to.
      leaves: what was held against its bound.

    Raises:
      UnreadableProgram: XLA cannot run a program apart.
    """
    for pass_, failing in _failing(leaves).items():
        programs = {side: doubles.programs.get((side, pass_)) for side in SIDES}
        known = {side: program for side, program in programs.items() if program is not None}
        if len(known) < len(SIDES):
            continue
        decided: set[str] = set()
        # Where one side keeps 0.2 in float32, its sums are exact, and the other's are not.
        for program in known.values():
            left = {case: held for case, held in failing.items() if case not in decided}
            decided |= _decided_by_rounding(program, pass_, twin, left, evidence)
        if decided:
            doubles = _with_other_numbers(known, twin, pass_, sorted(decided), doubles)
    return doubles


def _failing(leaves: Leaves) -> dict[str, dict[str, list[Held]]]:
    """By pass and case what fails at kinks alone: a port that is wrong on ordinary numbers needs no second look."""
    failing: dict[str, dict[str, list[Held]]] = defaultdict(lambda: defaultdict(list))
    wrong = set()
    for held in (each for gate in leaves.values() for each in gate):
        if not _is_off(held):
            continue
        if is_kinks(held.place.case):
            failing[held.place.pass_][held.place.case].append(held)
        elif held.error > LARGEST_ALLOWANCE:
            wrong.add(held.place.pass_)
    return {pass_: cases for pass_, cases in failing.items() if pass_ not in wrong}


def _is_off(held: Held) -> bool:
    """Whether a comparison in float64 is further off than rounding alone makes it."""
    return (
        held.verdict == FAIL
        and held.place.pass_ in (FORWARD, GRADIENTS)
        # A side named without a mode is its float64 run.
        and held.place.found_from == "jax"
        and LARGEST["float64"] < held.error < np.inf
    )


def _decided_by_rounding(
    program: Program, pass_: str, twin: Twin, failing: Mapping[str, list[Held]], evidence: Evidence
) -> set[str]:
    """The cases where a program is as far from itself once its roundings are moved, in every leaf that fails."""
    cases = sorted(failing)
    base = _run(program, program.artifact, twin, cases)
    # Of what the errors are relative to, whichever side is asked.
    scales = {case: evidence.scales(pass_, case, evidence.doubles["tf", pass_, case]) for case in cases}
    jumps: dict[tuple[str, str], float] = defaultdict(float)
    decided: set[str] = set()
    for seed in range(SAMPLES):
        left = [case for case in cases if case not in decided]
        if not left:
            break
        moved = disturbing.disturbed(program.artifact, ROUNDINGS * UNIT_ROUNDOFF["float64"], seed, SPARED)
        run = _run(program, moved, twin, left)
        for (case, leaf, _), spread in largest_spreads(base, [run], scales).items():
            jumps[case, leaf] = max(jumps[case, leaf], spread)
        for case in left:
            if all(FACTOR * jumps[case, each.place.leaf] >= each.error for each in failing[case]):
                decided.add(case)
    return decided


def _with_other_numbers(
    programs: Mapping[str, Program], twin: Twin, pass_: str, cases: Sequence[str], doubles: Doubles
) -> Doubles:
    moved = {case: {name: _aside(name, array) for name, array in twin.cases[case].items()} for case in cases}
    aside = dataclasses.replace(twin, cases=moved)
    arrays = {
        (side, pass_, case): ran
        for side, program in programs.items()
        for case, ran in _run(program, program.artifact, aside, cases).items()
    }
    return dataclasses.replace(
        doubles,
        arrays=doubles.arrays | arrays,
        cases=dict(doubles.cases) | moved,
        remarks=(*doubles.remarks, *(messages.beside_ties(pass_, case, ASIDE) for case in cases)),
    )


def _aside(name: str, array: np.ndarray) -> np.ndarray:
    """Each number in float64 and a little off; zero stays, at which branches part."""
    if not is_float(array) or array.dtype.kind == "c":
        return array
    numbers = np.random.default_rng(zlib.crc32(name.encode())).uniform(-1, 1, array.shape)
    return array.astype(np.float64) * (1 + ASIDE * numbers)


def _run(program: Program, artifact: bytes, twin: Twin, cases: Sequence[str]) -> dict[str, Arrays]:
    return running(dataclasses.replace(program, artifact=artifact), twin).by_case(cases)
