"""Float64 arrays for both sides: built where the code allows, promoted where it does not, and how far to trust them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from compare.hlo import promote
from compare.parity.evidence import OracleSource
from compare.records import Failure
from compare.run.collect import FLOAT32, FLOAT64, Collected
from compare.run.inputs import Prepared
from compare.sides import requests
from compare.sides._side import Side, SideError
from workloads._framework import FORWARD, GRADIENTS, Program
from workloads._spec import Arrays

PERTURBATIONS = 3
"""How often the rounded constants are moved to see what such rounding does to the outputs."""


@dataclass
class Doubles:
    """The float64 evidence of both sides."""

    arrays: dict[tuple[str, str, str], Arrays] = field(default_factory=dict)
    sources: dict[tuple[str, str], OracleSource] = field(default_factory=dict)
    allowance: dict[tuple[str, str], float] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


def find_doubles(jax: Side, sides: list[Collected], prepared: Prepared) -> Doubles:
    """Float64 evidence for every pass that both sides have. The JAX side's client runs promoted programs."""
    found = Doubles()
    for collected in sides:
        for pass_ in (FORWARD, GRADIENTS):
            if not any(ran == pass_ for _, ran, _ in collected.outputs):
                continue
            try:
                _one_side(jax, collected, pass_, prepared, found)
            except (SideError, promote.PromotionError) as error:
                doing = f"float64 {pass_}"
                found.failures.append(Failure(collected.side, doing, str(error)))
                if isinstance(error, SideError) and error.lost:
                    raise
    return found


def _one_side(jax: Side, collected: Collected, pass_: str, prepared: Prepared, found: Doubles) -> None:
    program, source = _double_program(collected, pass_)
    cases = prepared.loading.cases
    found.sources[collected.side, pass_] = source
    if source.kind == "native":
        runs = {case: collected.doubles[pass_, case] for case in cases}
    else:
        handle = requests.compile_program(jax, program).handle
        runs = {case: requests.execute(jax, handle, case) for case in cases}
    for case, arrays in runs.items():
        found.arrays[collected.side, pass_, case] = arrays
    if promote.rounded_constants(program.artifact):
        _allow(jax, program, pass_, cases[0], found)


def _double_program(collected: Collected, pass_: str) -> tuple[Program, OracleSource]:
    native = collected.programs.get((pass_, FLOAT64))
    if native is not None and promote.is_double(native.artifact):
        return native, OracleSource("native", "the twin was built in float64")
    reason = collected.not_double.get(pass_, "its float64 program still computes in a narrower type")
    written = collected.programs.get((pass_, FLOAT32))
    if written is None:
        raise promote.PromotionError(f"there is no float64 run ({reason}) and no program to promote")
    return promoted(written), OracleSource("promoted", reason)


def promoted(program: Program) -> Program:
    """The program with every float type widened, its signature with it."""

    def widened(dtype: str) -> str:
        return FLOAT64 if "float" in dtype else dtype

    return dataclasses.replace(
        program,
        artifact=promote.promote(program.artifact),
        parameters=tuple(dataclasses.replace(each, dtype=widened(each.dtype)) for each in program.parameters),
        results=tuple(dataclasses.replace(each, dtype=widened(each.dtype)) for each in program.results),
    )


def _allow(jax: Side, program: Program, pass_: str, case: str, found: Doubles) -> None:
    # Both runs are the client's: only the constants differ between them.
    base = requests.execute(jax, requests.compile_program(jax, program).handle, case)
    spread: dict[str, float] = {}
    for seed in range(PERTURBATIONS):
        moved = dataclasses.replace(program, artifact=promote.perturb(program.artifact, seed))
        arrays = requests.execute(jax, requests.compile_program(jax, moved).handle, case)
        for leaf, array in arrays.items():
            spread[leaf] = max(spread.get(leaf, 0.0), _relative(array, base[leaf]))
    for leaf, value in spread.items():
        found.allowance[pass_, leaf] = found.allowance.get((pass_, leaf), 0.0) + value


def _relative(moved: np.ndarray, base: np.ndarray) -> float:
    finite = np.isfinite(moved) & np.isfinite(base)
    scale = np.max(np.abs(base), where=finite, initial=0)
    return float(np.max(np.abs(moved - base), where=finite, initial=0) / scale) if scale else 0.0
