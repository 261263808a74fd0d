"""Why there is no speed-up: at most ten sentences on one workload, those on the most of a call's time first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compare.explaining import rules_of_compiling, rules_of_costs, rules_of_kernels, rules_of_ratios
from compare.explaining.sentences import Case, Commands, Sentence
from compare.record.envelope import Record
from compare.report.standings import standing
from workloads.core.modes import PORT

MOST = 10
"""Sentences on one workload."""

Rule = Callable[[Case], Iterator[Sentence]]

RULES: tuple[Rule, ...] = (
    rules_of_ratios.against_the_fastest,
    rules_of_ratios.withheld,
    rules_of_ratios.against_the_others,
    rules_of_ratios.compiling,
    rules_of_ratios.split,
    rules_of_ratios.programs,
    rules_of_compiling.new_sizes,
    rules_of_compiling.clusters,
    rules_of_costs.other_threads,
    rules_of_costs.limit,
    rules_of_costs.dispatch,
    rules_of_costs.page_faults,
    rules_of_kernels.longest_kernels,
    rules_of_kernels.small_kernels,
    rules_of_kernels.libraries,
    rules_of_costs.starting,
    rules_of_kernels.modes_alike,
    rules_of_kernels.kernel_counts,
)
"""The rules; sentences about equal amounts of time have their order."""

_HEADLINES = {
    "faster": "is faster than",
    "slower": "is slower than",
    "equivalent": "is as fast as",
    "inconclusive": "is neither shown to be faster nor slower than",
}


@dataclass(frozen=True)
class Explanation:
    """One workload: what came out in one line, and the measurements behind it."""

    name: str
    headline: str
    sentences: tuple[Sentence, ...]


def explain(record: Record, name: str, commands: Commands) -> Explanation:
    """The measurements of one workload that say most of a call's time."""
    case = Case(record, name, commands)
    sentences = [sentence for rule in RULES for sentence in rule(case) if sentence.figures]
    by_time = sorted(sentences, key=lambda sentence: -sentence.seconds)
    return Explanation(name, _headline(case), tuple(by_time[:MOST]))


def _headline(case: Case) -> str:
    fastest = case.fastest
    if fastest is None:
        return standing(case.name, case.part).sentence
    if case.comparable is None:
        return f"the ratio of {PORT} to {fastest} is withheld: nothing may be concluded from these times"
    verdict = case.verdict(PORT, fastest)
    return f"{PORT} {_HEADLINES.get(verdict, f'({verdict}) beside')} {fastest}, the fastest TensorFlow mode"
