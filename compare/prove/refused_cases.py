"""Evidence of both sides, pass by pass, for inputs that the original takes.

Indices are drawn anew where it refuses them. Cases of kinks that it refuses, such as a singular matrix, are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.inputs.at_size import Prepared, with_arrays
from compare.parity import messages, unjudged
from compare.parity.evidence import TF_REFERENCE
from compare.progress import Reporter
from compare.prove.both_sides import BothSides, begin_both
from compare.prove.collect import Collected
from compare.prove.index_ranges import Tables, draw_within, find_tables
from compare.prove.subjects import twin_of
from compare.sides.pool import Pool
from workloads.core.modes import TF, Mode
from workloads.protocol.framework import FORWARD, GRADIENTS, PASSES, is_kinks

AT_ONCE = (PASSES,)
"""All passes as one stage."""


@dataclass(frozen=True)
class PassEvidence:
    """Evidence of some passes, for inputs that the original takes.

    Attributes:
      sides: both sides.
      tables: the sizes of tables that indices were drawn within.
      passes: the passes that were asked for.
    """

    sides: BothSides
    tables: Tables
    passes: tuple[str, ...]


def collect_accepted(
    pool: Pool,
    instance: Prepared,
    reporter: Reporter,
    modes: Collection[Mode] = (),
    stages: Sequence[Sequence[str]] = AT_ONCE,
) -> Iterator[PassEvidence]:
    """Collect the results of both sides for inputs that the original takes; yields all results after each stage.

    Args:
      modes: the modes to run; empty takes all.
      stages: the passes that are asked for at once, stage by stage.

    Raises:
      BadTarget: the function or file that was named for a side does not exist.
    """
    count_passes = sum(map(len, stages))
    tables: Tables = {}
    passes: tuple[str, ...] = ()
    remarks: list[str] = []

    def begin_again(instance: Prepared) -> BothSides:
        """All passes so far on other arrays; a pass that was judged before may have other cases now."""
        sides = begin_both(pool, instance, reporter, modes)
        sides.collect(passes)
        if TF in sides.deliveries:
            sides.deliveries[TF].remarks += remarks
        return sides

    sides = begin_both(pool, instance, reporter, modes)
    for stage in stages:
        passes = (*passes, *stage)
        sides.collect(stage)
        if FORWARD in stage and (tables := find_tables(sides.instance, sides.deliveries)):
            remarks += [messages.drawn_within(name, table) for name, table in tables.items()]
            sides = begin_again(draw_within(sides.instance, tables))
        if reasons := _refused_kinks(sides.instance, sides.deliveries, passes):
            remarks.append(unjudged.refused_kinks(list(reasons), next(iter(reasons.values()))))
            sides = begin_again(_without(sides.instance, reasons))
        if len(passes) == count_passes:
            sides.note_changes()
        yield PassEvidence(sides, tables, passes)


def collect_with_doubles(
    pool: Pool, instance: Prepared, reporter: Reporter, modes: Collection[Mode], stages: Sequence[Sequence[str]]
) -> Iterator[PassEvidence]:
    """Like `collect_accepted`, with float64 evidence of each pass, which is computed once.

    Raises:
      BadTarget: the function or file that was named for a side does not exist.
    """
    before: PassEvidence | None = None
    for evidence in collect_accepted(pool, instance, reporter, modes, stages):
        sides, rest = evidence.sides, evidence.passes
        if before is not None and before.sides.instance is sides.instance:
            sides, rest = replace(sides, doubles=before.sides.doubles), evidence.passes[len(before.passes) :]
        sides = sides.with_doubles(rest)
        before = replace(evidence, sides=sides)
        yield before


def _without(instance: Prepared, cases: Collection[str]) -> Prepared:
    """The workload without some cases."""
    twin = twin_of(instance)
    rest = {case: arrays for case, arrays in twin.cases.items() if case not in cases}
    return with_arrays(instance, rest, twin.weights, twin.batches)


def _refused_kinks(
    at_size: Prepared, evidence: Mapping[str, Collected], collected_passes: Collection[str]
) -> dict[str, str]:
    """By case of kinks that the original's eager mode refuses, why; nothing where it refuses other cases too."""
    original = evidence.get("tf")
    if original is None or original.lost:
        return {}
    reasons: dict[str, str] = {}
    for pass_ in (FORWARD, GRADIENTS):
        if pass_ in original.modes and pass_ in collected_passes:
            reasons = _refused_in(pass_, at_size.loading.cases, original) | reasons
    return reasons


def _refused_in(pass_: str, cases: Collection[str], original: Collected) -> dict[str, str]:
    """The refused cases of one pass alone: passes that come together are judged like single ones."""
    missing = [case for case in cases if (TF_REFERENCE, pass_, case) not in original.outputs]
    failures = [failure for failure in original.failures if failure.mode == "eager" and failure.of_pass == pass_]
    if not failures or not all(map(is_kinks, missing)):
        return {}
    return dict.fromkeys(missing, failures[0].reason)
