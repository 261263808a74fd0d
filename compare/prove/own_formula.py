"""Measures the effect of rounding on the original's formula: where values cancel, a right port may differ."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from compare.hlo import disturbing
from compare.parity.evidence import Evidence
from compare.parity.holding import Held, Leaves
from compare.parity.measure import UNIT_ROUNDOFF, largest
from compare.parity.messages import Place
from compare.prove.oracle import Doubles, Run
from compare.prove.rounded_constants import largest_spreads
from compare.record.vocabulary import FAIL
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, GRADIENTS, Program

SAMPLES = 2
"""Disturbed programs that are compiled; an error is compared with the largest spread of a whole group of magnitudes."""
ROUNDINGS = 8
"""A disturbance is so many roundings, and its effect divided by them: one alone float64 can hardly hold."""
FACTOR = 4
"""The spread was measured on a few disturbances of the original; the port rounds in places of its own."""
LARGEST: Mapping[str, float] = {"float64": 1e-6, "float32": 0.01}
"""Relative: a larger error is no rounding, however much cancels."""
NOTHING = 1e-9
"""Relative to an ordinary value: a leaf vanishes in a case where all its values are smaller."""

Spreads = dict[tuple[str, str, str, str, int], float]


def explain_by_formula(
    run: Run, doubles: Doubles, evidence: Evidence, leaves: Leaves, narrow_passes: Collection[str] = ()
) -> Spreads:
    """By width, pass, case, leaf and group of magnitudes, the relative spread; empty where it can explain nothing.

    Args:
      run: runs a float64 program of the original, disturbed or not.
      doubles: the float64 programs, and their results.
      evidence: tells what an error is relative to.
      narrow_passes: passes that the port rounds to fewer bits than the original: in float32 nothing explains those.

    Raises:
      UnreadableProgram: XLA cannot run the original's float64 program apart.
    """
    places_by_run: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for width, leaf in (*_failures(leaves), *_failures_far_on(doubles, leaves)):
        if width == "float32" and (leaf.place.pass_ in narrow_passes or _is_wide(evidence, leaf.place)):
            # A port as wide as the reference must not round to float32.
            continue
        if leaf.error <= LARGEST[width] or vanishes(evidence, leaf.place):
            places_by_run[width, leaf.place.pass_].add((leaf.place.case, leaf.place.leaf))
    spreads: Spreads = {}
    for (width, pass_), places in sorted(places_by_run.items()):
        program = doubles.programs.get(("tf", pass_))
        if program is not None:
            unit = UNIT_ROUNDOFF[width if width == "float64" else evidence.computes_in or width]
            spreads |= _spreads(run, program, (width, pass_), places, unit, evidence)
    return spreads


def _failures(leaves: Leaves) -> Iterator[tuple[str, Held]]:
    for name in ("semantics", "rounding", GRADIENTS):
        for leaf in leaves[name]:
            if leaf.verdict == FAIL and leaf.place.pass_ in (FORWARD, GRADIENTS) and np.isfinite(leaf.error):
                # A side named without a mode is its float64 run.
                yield ("float64" if leaf.place.found_from == "jax" else "float32"), leaf


def _failures_far_on(doubles: Doubles, leaves: Leaves) -> Iterator[tuple[str, Held]]:
    """The failures of short training runs that start where no ordinary run gets."""
    for leaf in leaves["training"]:
        if leaf.verdict == FAIL and leaf.place.case in doubles.placements and np.isfinite(leaf.error):
            yield "float64", leaf


def _is_wide(evidence: Evidence, place: Place) -> bool:
    return evidence.is_wide(place.pass_, place.case, place.leaf)


def vanishes(evidence: Evidence, place: Place) -> bool:
    """Whether a leaf is only noise in a case, compared with its values in others and with the gradients of the case.

    Args:
      evidence: has the float64 results.
    """
    here = evidence.doubles.get(("tf", place.pass_, place.case), {})
    return place.leaf in here and largest([here[place.leaf]]) <= _negligible(evidence, place.pass_, place.leaf, here)


def _negligible(evidence: Evidence, pass_: str, leaf: str, here: Arrays) -> float:
    """The size up to which a leaf may be only noise.

    The gradient of a bias before a normalization is noise in every case: only other gradients are a measure of it.

    Args:
      here: TensorFlow's float64 results of the case.
    """
    gradients = largest(here.values()) if pass_ == GRADIENTS else 0.0
    return NOTHING * max(ordinary(evidence, pass_, leaf), gradients)


def ordinary(evidence: Evidence, pass_: str, leaf: str) -> float:
    """The largest value that a leaf has in any case that its framework ran: others may be far out.

    Args:
      evidence: has the float64 results.
    """
    runs = (evidence.doubles.get(("tf", pass_, case), {}) for case in evidence.float_cases(pass_))
    return max(largest(run[leaf] for run in runs if leaf in run), evidence.ordinary.get((pass_, leaf), 0.0))


def _spreads(
    run: Run, program: Program, of: tuple[str, str], places: set[tuple[str, str]], unit: float, evidence: Evidence
) -> Spreads:
    (width, pass_), cases = of, sorted({case for case, _ in places})
    base = run(program, pass_, cases)
    # Those of the judge: where all cancels, what XLA makes of the program may be 0 and what its framework made not.
    reference = {case: evidence.doubles.get(("tf", pass_, case), arrays) for case, arrays in base.items()}
    scales = {case: evidence.scales(pass_, case, arrays) for case, arrays in reference.items()}
    variants = (disturbing.disturb(program.artifact, ROUNDINGS * unit, seed) for seed in range(SAMPLES))
    runs = (run(dataclasses.replace(program, artifact=artifact), pass_, cases) for artifact in variants)
    # Where all is noise, each mode of TensorFlow has its own: XLA's sums may be exact where eager mode rounds.
    own = largest_spreads(reference, [base], scales)
    spreads: Spreads = {}
    for place, spread in largest_spreads(base, runs, scales).items():
        case, leaf, rank = place
        if (case, leaf) not in places:
            continue
        scale, noise = scales[case].bands[leaf][rank].scale, _negligible(evidence, pass_, leaf, reference[case])
        roundings = max(spread / ROUNDINGS, own[place] if largest([reference[case][leaf]]) <= noise else 0.0)
        spreads[width, pass_, *place] = min(FACTOR * roundings, max(LARGEST[width], noise / scale))
    return spreads
