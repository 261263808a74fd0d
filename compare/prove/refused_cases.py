"""Cases of kinks that the original refuses, such as a singular matrix: no input of its, so nothing is judged there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from compare.inputs.at_size import Prepared, with_arrays
from compare.parity import unjudged
from compare.parity.evidence import TF_REFERENCE
from compare.progress import Reporter
from compare.prove.both_sides import BothSides, ask_both, evidence_of
from compare.prove.collect import Collected
from compare.prove.index_ranges import Tables, collect_within_tables
from compare.prove.subjects import twin_of
from compare.record.workload_part import Failure
from compare.sides.pool import Pool
from workloads._framework import FORWARD, GRADIENTS, KINKS, PASSES
from workloads._modes import TF, Mode


def collect_accepted(
    pool: Pool,
    instance: Prepared,
    reporter: Reporter,
    modes: Collection[Mode] = (),
    passes: Collection[str] = PASSES,
) -> tuple[BothSides, Tables]:
    """What both sides deliver for inputs that the original takes, and the sizes of tables that limit indices.

    Indices are drawn anew where it refuses them, and cases of kinks are left out where it refuses these.

    Args:
      pool: has the sides.
      instance: the workload, and the arrays that it is judged on.
      reporter: shows every step.
      modes: the modes to run; empty takes all.
      passes: the passes to run.

    Raises:
      BadTarget: the function or file that was named for a side does not exist.
    """

    def collect(name: str, instance: Prepared) -> Collected:
        return evidence_of(pool, name, instance, reporter, modes, passes)

    first: list[Failure] = []
    deliveries, smaller, tables = collect_within_tables(instance, collect, first)
    reasons = _refused_kinks(smaller, deliveries)
    if not reasons:
        return BothSides(pool, smaller, deliveries, first, reporter), tables
    twin = twin_of(smaller)
    cases = {case: arrays for case, arrays in twin.cases.items() if case not in reasons}
    smaller = with_arrays(smaller, cases, twin.weights, twin.batches)
    failures: list[Failure] = []
    deliveries = ask_both(failures, lambda name: collect(name, smaller))
    if TF in deliveries:
        deliveries[TF].remarks.append(unjudged.refused_kinks(list(reasons), next(iter(reasons.values()))))
    return BothSides(pool, smaller, deliveries, failures, reporter), tables


def _refused_kinks(at_size: Prepared, evidence: Mapping[str, Collected]) -> dict[str, str]:
    """By case of kinks that the original's eager mode refuses, why; nothing where it refuses other cases too."""
    original = evidence.get("tf")
    if original is None or original.lost:
        return {}
    passes = [pass_ for pass_ in (FORWARD, GRADIENTS) if pass_ in original.modes]
    kinks = [case for case in at_size.loading.cases if case.startswith(KINKS)]
    missing = [
        (pass_, case)
        for pass_ in passes
        for case in at_size.loading.cases
        if (TF_REFERENCE, pass_, case) not in original.outputs
    ]
    if any(case not in kinks for _, case in missing):
        return {}
    reasons = [failure.reason for failure in original.failures if failure.mode == "eager"]
    return {case: reasons[0] for _, case in missing} if reasons else {}
