"""Cases that both programs suggest, run in float64 apart from the frameworks and judged like the others."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from compare.hlo.thresholds import thresholds, thresholds_of, ties
from compare.hlo.uses import Use, use
from compare.parity import unjudged
from compare.parity.measure import SEMANTICS_BOUND, distance, is_float, scale_of
from compare.prove.coverage import find_covering_cases
from compare.prove.oracle import Doubles
from compare.prove.running import Running, running
from compare.prove.special_cases import Original, select_gradients, special_cases
from compare.prove.subjects import Readable, first_inputs
from compare.sides._side import SIDES
from workloads.core.integers import CASES, Domain, draw, whole
from workloads.core.marks import around_floats, around_integers, place_marks
from workloads.core.modes import TF
from workloads.core.spec import Arrays, ArraySpec
from workloads.protocol.framework import FORWARD, GRADIENTS, Twin

INTEGERS, CONSTANTS = "integers", "constants"
"""Names of cases: of integers in the range of their use, and of numbers that programs compare with."""
_MOST_CASES = 48


@dataclass(frozen=True)
class Further:
    """More cases, their float64 arrays by side, pass and case, and remarks on differences that a port may have."""

    cases: Mapping[str, Arrays] = field(default_factory=dict)
    arrays: Mapping[tuple[str, str, str], Arrays] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def find_more_cases(twin: Twin, specs: Mapping[str, ArraySpec], doubles: Doubles, original: Original) -> Further:
    """More cases of a workload, suggested by its float64 programs.

    Args:
      specs: its inputs, by name.
      doubles: the float64 programs, and their results.

    Raises:
      UnreadableProgram: XLA does not run a program apart from its framework.
    """
    present = {side: doubles.programs.get((side, FORWARD)) for side in SIDES}
    programs = [Readable(side, program) for side, program in present.items() if program is not None]
    if len(programs) < len(SIDES):
        return Further()
    base = first_inputs(twin, specs)
    uses = {name: use_of(programs, name) for name, spec in specs.items() if is_free_integer(spec)}
    domains = {name: domain for name, input_use in uses.items() if (domain := _domain(input_use, specs[name]))}
    cases = {f"{INTEGERS}{number}": _case(base, domains, specs, number) for number in range(CASES)}
    cases = (cases if domains else {}) | _decisive(base, _marks_of(programs, twin, specs, domains), specs)
    # Compiled at the first call: most programs decide nothing and look nothing up.
    run = functools.cache(lambda: _both(twin, doubles, FORWARD))
    special = special_cases(_with(twin, cases), specs, programs, base, run, original)
    cases |= {name: dict(arrays) for name, arrays in special.cases.items()}
    covering_cases, coverage_remarks = find_covering_cases(
        _with(twin, cases),
        specs,
        programs,
        lambda case: all(_is_finite(program([case])[0]) for program in run().values()),
    )
    cases |= covering_cases
    remarks = (*_remarks(run, base, uses), *special.remarks, *coverage_remarks)
    arrays = _arrays(twin, doubles, cases) if cases else {}
    return Further(cases, _without_unjudged(arrays, special.cases, original), remarks)


def _with(twin: Twin, cases: Mapping[str, Arrays]) -> Twin:
    return dataclasses.replace(twin, cases={**twin.cases, **cases})


def _without_unjudged(
    arrays: Mapping[tuple[str, str, str], Arrays], special: Mapping[str, Arrays], original: Original
) -> dict[tuple[str, str, str], Arrays]:
    """The results without those gradients at special values that are not judged."""
    results = dict(arrays)
    for case, inputs in special.items():
        expected = results.get((TF, GRADIENTS, case))
        if expected is None:
            continue
        # An infinite value or NaN has no slope.
        has_value = _is_finite(arrays[TF, FORWARD, case])
        gradients = select_gradients(expected, original(GRADIENTS, inputs)) if has_value else set[str]()
        for side in SIDES:
            leaves = {leaf: array for leaf, array in results.pop((side, GRADIENTS, case)).items() if leaf in gradients}
            if leaves:
                results[side, GRADIENTS, case] = leaves
    return results


def is_free_integer(spec: ArraySpec) -> bool:
    """Whether an input is an integer without a declared range."""
    return np.dtype(spec.dtype).kind in "iu" and spec.low is None


def _marks_of(
    programs: Sequence[Readable], twin: Twin, specs: Mapping[str, ArraySpec], domains: Mapping[str, Domain]
) -> dict[str, Sequence[float | int]]:
    """By input, numbers around the thresholds of either program; in a model, around those of that input."""
    held_against = {name: _thresholds_of(programs, name if twin.weights else "") for name in specs}
    halves = [] if twin.weights else list(dict.fromkeys(tie for of in programs for tie in ties(of.graph)))
    floats = {name: around_floats(held_against[name], spec, halves) for name, spec in specs.items() if _is_real(spec)}
    integers = {name: around_integers(held_against[name], domain) for name, domain in domains.items()}
    return {name: marks for name, marks in (floats | integers).items() if marks}


def _thresholds_of(programs: Sequence[Readable], name: str) -> list[float | int]:
    """The thresholds that the programs compare an input with; without a name, all their thresholds."""
    if not name:
        return list(dict.fromkeys(number for of in programs for number in thresholds(of.graph)))
    groups = [thresholds_of(of.graph, position) for of in programs for position in _positions(of, name)]
    return list(dict.fromkeys(number for numbers in groups for number in numbers))


def _positions(of: Readable, name: str) -> list[int]:
    """The positions of an input among the parameters of a program."""
    parameters = enumerate(of.program.parameters)
    return [position for position, parameter in parameters if (parameter.kind, parameter.name) == ("input", name)]


def _is_real(spec: ArraySpec) -> bool:
    return spec.is_float and np.dtype(spec.dtype).kind != "c"


def _decisive(
    base: Arrays, marks: Mapping[str, Sequence[float | int]], specs: Mapping[str, ArraySpec]
) -> dict[str, dict[str, np.ndarray]]:
    """Enough cases to place every number once in every input, up to a limit."""
    count = max((math.ceil(len(values) / base[name].size) for name, values in marks.items()), default=0)
    return {
        f"{CONSTANTS}{case}": {
            name: place_marks(marks[name], specs[name], turn, case) if name in marks else array
            for turn, (name, array) in enumerate(base.items())
        }
        for case in range(min(count, _MOST_CASES))
    }


def use_of(programs: Sequence[Readable], name: str) -> Use:
    """How both programs use an input."""
    uses = Use()
    for of in programs:
        for position in _positions(of, name):
            uses |= use(of.graph, position)
    return uses


def _domain(input_use: Use, spec: ArraySpec) -> Domain | None:
    """The integers to draw from; None where the ordinary cases have to do."""
    if input_use.counts or (input_use.indexes and not input_use.table):
        return None
    if input_use.indexes:
        return Domain(0, min(input_use.table, int(np.iinfo(spec.dtype).max)) - 1)
    if input_use.shifts:
        return Domain(0, np.iinfo(spec.dtype).bits - 1)
    return whole(spec.dtype, nonzero=input_use.divides)


def _case(
    base: Arrays, domains: Mapping[str, Domain], specs: Mapping[str, ArraySpec], number: int
) -> dict[str, np.ndarray]:
    integers = {name: draw(domain, specs[name], name, number) for name, domain in domains.items()}
    return {name: integers.get(name, array) for name, array in base.items()}


def _arrays(twin: Twin, doubles: Doubles, cases: Mapping[str, Arrays]) -> dict[tuple[str, str, str], Arrays]:
    arrays_of: dict[tuple[str, str, str], Arrays] = {}
    for pass_ in (FORWARD, GRADIENTS):
        for side, run in _both(twin, doubles, pass_).items():
            for case, arrays in zip(cases, run(list(cases.values())), strict=True):
                arrays_of[side, pass_, case] = arrays
    return arrays_of


def _both(twin: Twin, doubles: Doubles, pass_: str) -> dict[str, Running]:
    """The float64 programs of a pass, where both sides have one."""
    programs = {side: doubles.programs.get((side, pass_)) for side in SIDES}
    present = {side: program for side, program in programs.items() if program is not None}
    return {side: running(program, twin) for side, program in present.items()} if len(present) == len(programs) else {}


def _is_finite(arrays: Arrays) -> bool:
    return all(bool(np.isfinite(array).all()) for array in arrays.values() if is_float(array))


def _remarks(run: Callable[[], Mapping[str, Running]], base: Arrays, uses: Mapping[str, Use]) -> list[str]:
    """Remarks on indices beyond their table, where both sides treat these differently."""
    beyond = {
        name: input_use.table
        for name, input_use in uses.items()
        if input_use.indexes and input_use.table and not input_use.counts
    }
    lines: list[str] = []
    for name, table in beyond.items():
        outside = np.resize([-1, table], base[name].shape).astype(base[name].dtype)
        (expected,), (actual,) = (run()[side]([{**base, name: outside}]) for side in SIDES)
        if any(_differ(actual[leaf], expected[leaf]) for leaf in expected.keys() & actual.keys()):
            lines.append(unjudged.beyond(name, table))
    return lines


def _differ(actual: np.ndarray, expected: np.ndarray) -> bool:
    if actual.shape != expected.shape:
        return True
    if not is_float(expected):
        return bool((actual != expected).any())
    return distance(actual, expected, scale_of(expected, 0.0)).error > SEMANTICS_BOUND
