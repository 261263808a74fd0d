"""Cases of kinks that the original refuses, such as a singular matrix: no input of its, so nothing is judged there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compare.inputs.at_size import Prepared, with_arrays
from compare.parity import messages
from compare.parity.evidence import TF_REFERENCE
from compare.prove.both_sides import both
from compare.prove.collect import Collected
from compare.prove.index_ranges import Tables, collect_within_tables
from compare.prove.subjects import twin_of
from compare.record.workload_part import Failure
from workloads._framework import FORWARD, GRADIENTS, KINKS


def collect_accepted(
    at_size: Prepared, collect: Callable[[str, Prepared], Collected], failures: list[Failure]
) -> tuple[dict[str, Collected], Prepared, Tables]:
    """What both sides deliver for inputs that the original takes.

    Indices are drawn anew where it refuses them, and cases of kinks are left out where it refuses these.

    Args:
      at_size: the workload, and the arrays that it is judged on.
      collect: asks the side of a name.
      failures: the list that failures of both sides are added to.
    """
    first: list[Failure] = []
    evidence, smaller, tables = collect_within_tables(at_size, collect, first)
    reasons = _refused_kinks(smaller, evidence)
    if not reasons:
        failures += first
        return evidence, smaller, tables
    twin = twin_of(smaller)
    cases = {case: arrays for case, arrays in twin.cases.items() if case not in reasons}
    smaller = with_arrays(smaller, cases, twin.weights, twin.batches)
    evidence = both(failures, lambda name: collect(name, smaller))
    if "tf" in evidence:
        evidence["tf"].remarks.append(messages.refused_kinks(list(reasons), next(iter(reasons.values()))))
    return evidence, smaller, tables


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
