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
from collections.abc import Mapping

import numpy as np

from compare.hlo import disturbing
from compare.parity import Evidence, messages
from compare.parity.holding import Held, Leaves
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
    failing: dict[tuple[str, str], list[Held]] = defaultdict(list)
    for held in (each for gate in leaves.values() for each in gate):
        if _may_be_decided(held):
            failing[held.place.pass_, held.place.case].append(held)
    for (pass_, case), held in failing.items():
        programs = {side: doubles.programs.get((side, pass_)) for side in SIDES}
        known = {side: program for side, program in programs.items() if program is not None}
        if len(known) < len(SIDES):
            continue
        # Where one side keeps 0.2 in float32, its sums are exact, and the other's are not.
        if any(_rounding_decides(program, twin, case, held, evidence) for program in known.values()):
            doubles = _with_other_numbers(known, twin, (pass_, case), doubles)
    return doubles


def _may_be_decided(held: Held) -> bool:
    """Whether a comparison in float64, of a case of kinks, is further off than rounding alone makes it."""
    return (
        held.verdict == FAIL
        and is_kinks(held.place.case)
        and held.place.pass_ in (FORWARD, GRADIENTS)
        # A side named without a mode is its float64 run.
        and held.place.found_from == "jax"
        and LARGEST["float64"] < held.error < np.inf
    )


def _rounding_decides(program: Program, twin: Twin, case: str, held: list[Held], evidence: Evidence) -> bool:
    """Whether a program is as far from itself once its roundings are moved, in every leaf that fails."""
    base = _run(program, program.artifact, twin, twin.cases[case])
    pass_ = held[0].place.pass_
    # Of what the errors are relative to, whichever side is asked.
    scales = {case: evidence.scales(pass_, case, evidence.doubles["tf", pass_, case])}
    jumps: dict[str, float] = defaultdict(float)
    for seed in range(SAMPLES):
        moved = disturbing.disturbed(program.artifact, ROUNDINGS * UNIT_ROUNDOFF["float64"], seed, SPARED)
        run = {case: _run(program, moved, twin, twin.cases[case])}
        for (_, leaf, _), spread in largest_spreads({case: base}, [run], scales).items():
            jumps[leaf] = max(jumps[leaf], spread)
        if all(FACTOR * jumps[each.place.leaf] >= each.error for each in held):
            return True
    return False


def _with_other_numbers(programs: Mapping[str, Program], twin: Twin, of: tuple[str, str], doubles: Doubles) -> Doubles:
    pass_, case = of
    moved = {name: _aside(name, array) for name, array in twin.cases[case].items()}
    arrays = {(side, pass_, case): _run(program, program.artifact, twin, moved) for side, program in programs.items()}
    return dataclasses.replace(
        doubles,
        arrays=doubles.arrays | arrays,
        cases=dict(doubles.cases) | {case: moved},
        remarks=(*doubles.remarks, messages.beside_ties(pass_, case, ASIDE)),
    )


def _aside(name: str, array: np.ndarray) -> np.ndarray:
    """Each number in float64 and a little off; zero stays, at which branches part."""
    if not is_float(array) or array.dtype.kind == "c":
        return array
    numbers = np.random.default_rng(zlib.crc32(name.encode())).uniform(-1, 1, array.shape)
    return array.astype(np.float64) * (1 + ASIDE * numbers)


def _run(program: Program, artifact: bytes, twin: Twin, case: Arrays) -> Arrays:
    return running(dataclasses.replace(program, artifact=artifact), twin)([case])[0]
