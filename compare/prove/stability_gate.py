"""Runs the last gate: a port that agrees at ordinary inputs is judged far from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compare.hlo.executing import Options, ProgramLost
from compare.inputs.at_size import Prepared
from compare.parity import with_sweep
from compare.parity.breaks import Swept
from compare.progress import Reporter
from compare.prove import sweeping
from compare.prove.collect import Collected
from compare.prove.oracle import Doubles
from compare.prove.original_modes import OriginalModes
from compare.record.parity_part import Parity
from compare.record.vocabulary import FAIL
from compare.record.workload_part import Failure
from compare.sides._side import SIDES
from compare.sides.pool import Pool
from workloads._framework import FORWARD
from workloads._spec import STABILITY


def with_stability(
    pool: Pool,
    parity: Parity,
    instance: Prepared,
    deliveries: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    reporter: Reporter,
) -> Parity:
    """The last gate: a port that agrees at ordinary inputs is judged far from them.

    In mode `jax/jit`, and in `jax/tuned` where that runs: the compiler's options may break what the program does not.

    Args:
      pool: has the sides.
      parity: that of ordinary inputs.
      instance: the workload, and the arrays that it is judged on.
      deliveries: what each side delivered, by side.
      doubles: the float64 evidence.
      failures: the list that failures are added to.
      reporter: shows the step.
    """
    reporter.step("stability")
    if parity.verdict == FAIL:
        unswept = Swept(reason="not judged: the port already differs at ordinary inputs")
        return with_sweep(parity, instance.workload.name, unswept, ())
    missing = [side for side in SIDES if side not in deliveries]
    if missing:
        unswept = Swept(reason=f"not judged: the {missing[0]} side is missing", lost=True)
        return with_sweep(parity, instance.workload.name, unswept, ())
    port = deliveries["jax"]
    sweeps = [{}, port.compiler_options] if "tuned" in port.modes.get(FORWARD, ()) else [{}]
    return swept_with(pool, sweeps, parity, instance, deliveries, doubles, failures, reporter)


def swept_with(
    pool: Pool,
    sweeps: Sequence[Options],
    parity: Parity,
    instance: Prepared,
    deliveries: Mapping[str, Collected],
    doubles: Doubles,
    failures: list[Failure],
    reporter: Reporter,
) -> Parity:
    """The parity with the results of sweeps of the port.

    Args:
      pool: has the sides.
      sweeps: XLA's options that the port is compiled with, one sweep each.
      parity: that of ordinary inputs.
      instance: the workload, and the arrays that it is judged on.
      deliveries: what each side delivered, by side.
      doubles: the float64 evidence.
      failures: the list that failures are added to.
      reporter: shows the progress of the sweep.
    """
    results: list[Swept] = []
    for options in sweeps:
        try:
            eager = OriginalModes(pool, instance, deliveries.get("tf")).eager
            results.append(sweeping.sweep(instance, deliveries, doubles, options, eager, reporter))
        except ProgramLost as error:
            failures.append(Failure("both sides", "sweep", str(error)))
            results.append(Swept(reason=f"not judged: {error}", lost=True))
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    reaches = tuple(reaches for result in results for reaches in result.reached)
    findings = tuple(finding for result in results for finding in result.findings)
    swept = Swept(reaches, results[0].dtype, "; ".join(reasons), any(result.lost for result in results), findings)
    deviations = [deviation for deviation in instance.workload.deviations if deviation.gate == STABILITY]
    return with_sweep(parity, instance.workload.name, swept, deviations)
