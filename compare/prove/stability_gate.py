"""Runs the last gate: a port that agrees at ordinary inputs is judged far from them."""

from __future__ import annotations

from collections.abc import Sequence

from compare.hlo.executing import ProgramLost
from compare.parity import with_sweep
from compare.parity.breaks import Swept
from compare.prove import sweeping
from compare.prove.both_sides import BothSides
from compare.record.parity_part import Parity
from compare.record.vocabulary import FAIL
from compare.record.workload_part import Failure
from compare.sides._side import SIDES
from workloads.core.modes import JAX
from workloads.core.spec import STABILITY
from workloads.protocol.framework import FORWARD, CompilerOptions


def with_stability(sides: BothSides, parity: Parity) -> Parity:
    """The last gate: a port that agrees at ordinary inputs is judged far from them.

    In mode `jax/jit`, and in `jax/tuned` where that runs: the compiler's options may break what the program does not.
    """
    name = sides.instance.workload.name
    if parity.verdict == FAIL:
        return with_sweep(parity, name, Swept(reason="not judged: the port already differs at ordinary inputs"), ())
    missing = [side for side in SIDES if side not in sides.deliveries]
    if missing:
        return with_sweep(parity, name, Swept(reason=f"not judged: the {missing[0]} side is missing", lost=True), ())
    port = sides.deliveries[JAX]
    sweeps = [{}, port.compiler_options] if "tuned" in port.modes.get(FORWARD, ()) else [{}]
    return sweep_with(sides, parity, sweeps)


def sweep_with(sides: BothSides, parity: Parity, sweeps: Sequence[CompilerOptions]) -> Parity:
    """The parity with the results of sweeps of the port."""
    results: list[Swept] = []
    for options in sweeps:
        try:
            results.append(sweeping.sweep(sides, options))
        except ProgramLost as error:
            sides.failures.append(Failure("both sides", "sweep", str(error)))
            results.append(Swept(reason=f"not judged: {error}", lost=True))
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    reaches = tuple(reaches for result in results for reaches in result.reached)
    findings = tuple(finding for result in results for finding in result.findings)
    swept = Swept(reaches, results[0].dtype, "; ".join(reasons), any(result.lost for result in results), findings)
    workload = sides.instance.workload
    deviations = [deviation for deviation in workload.deviations if deviation.gate == STABILITY]
    return with_sweep(parity, workload.name, swept, deviations)
