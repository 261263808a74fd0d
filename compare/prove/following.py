"""Judges by eager mode those calls of a sweep that break by TensorFlow's program, where its modes disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compare.parity import stability
from compare.parity.breaks import Outcome
from compare.parity.evidence import TF_REFERENCE, TF_XLA
from compare.parity.measure import largest, wide
from compare.parity.messages import Place
from compare.parity.own_modes import disagreeing, report_disagreement
from compare.parity.stability import BREAKS, Rounding, Values
from compare.prove.original_modes import AskEager, Eager
from compare.record.parity_part import Disagreement
from workloads.core.spec import STABILITY, Arrays
from workloads.core.sweeps import Probe

Judged = tuple[Arrays, Values, Outcome]
"""The inputs of a call, its values, and its outcome."""

MOST_IN_VAIN = 4
"""Calls to try first: if the port follows eager mode in none of them, no others are tried."""


class Following:
    """Judges the calls of a pass by eager mode.

    Args:
      title: the workload as messages call it.
    """

    def __init__(self, eager: AskEager, pass_: str, title: str, mode: str) -> None:
        self._eager, self._pass = eager, pass_
        self._place = Place(title, STABILITY, pass_, "", "", mode, TF_REFERENCE)
        self._in_vain = False
        self.findings: list[Disagreement] = []

    def follow(self, judgements: Sequence[Judged], probes: Sequence[Probe], rounding: Rounding) -> list[Judged]:
        """The calls; where the port breaks and follows eager mode, with the outcome by that mode.

        Args:
          judgements: the judgement of each call.
          probes: the probe that each call was drawn for.
        """
        result = list(judgements)
        broken = [position for position, (_, _, outcome) in enumerate(judgements) if outcome.status == BREAKS]
        for calls in (broken[:MOST_IN_VAIN], broken[MOST_IN_VAIN:]):
            if self._in_vain or not calls:
                break
            runs = self._eager(self._pass, [judgements[position][0] for position in calls])
            for position, run in zip(calls, runs, strict=False):
                result[position] = self._by_eager(judgements[position], run, probes[position], rounding)
            self._in_vain = all(result[position] is judgements[position] for position in calls)
        return result

    def _by_eager(self, judgement: Judged, run: Eager, probe: Probe, rounding: Rounding) -> Judged:
        call, values, _ = judgement
        model = largest(values.exact.values())
        where = {
            leaf: disagreeing(exact, run.exact[leaf], model)
            for leaf, exact in values.exact.items()
            if leaf in run.exact and leaf in run.written and run.exact[leaf].shape == exact.shape
        }
        where = {leaf: mask for leaf, mask in where.items() if mask.any()}
        if not where:
            return judgement
        # At all other elements the port is still judged by the program.
        elsewhere = stability.by_leaf(_without(values, where), rounding)
        there = stability.by_leaf(_in_the_place_of(values, run, where), rounding)
        outcomes = stability.worst(elsewhere.values()), stability.worst(there.values())
        if any(outcome.status == BREAKS for outcome in outcomes):
            return judgement
        self._note(values, run, where, probe)
        return call, values, stability.worst(outcomes)

    def _note(self, values: Values, run: Eager, where: Mapping[str, np.ndarray], probe: Probe) -> None:
        for leaf, mask in where.items():
            place = Place(
                self._place.workload,
                STABILITY,
                self._pass,
                f"{probe.moved} {probe.pattern}{probe.magnitude:.3g}",
                leaf,
                self._place.found_from,
                TF_REFERENCE,
            )
            both = values.exact[leaf], run.exact[leaf]
            self.findings.append(report_disagreement(place, (TF_XLA, TF_REFERENCE), both, mask, TF_REFERENCE))


def _without(values: Values, where: Mapping[str, np.ndarray]) -> Values:
    """The values of a call without the elements at which the modes disagree: they are zero on all sides."""

    def keep(arrays: Arrays) -> Arrays:
        return {
            leaf: np.where(where[leaf], 0, array).astype(array.dtype) if leaf in where else array
            for leaf, array in arrays.items()
        }

    return Values(keep(values.found), keep(values.original), keep(values.exact), [keep(one) for one in values.moved])


def _in_the_place_of(values: Values, run: Eager, where: Mapping[str, np.ndarray]) -> Values:
    """The leaves in which the modes disagree, by eager mode; rounding moves them as it moves those of the program."""

    def move(sample: Arrays, leaf: str) -> np.ndarray:
        if values.exact[leaf].dtype.kind not in "fc":
            return run.exact[leaf]
        with np.errstate(invalid="ignore", over="ignore"):
            by = wide(sample[leaf]) - wide(values.exact[leaf])
        return wide(run.exact[leaf]) + np.where(np.isfinite(by), by, 0)

    return Values(
        {leaf: values.found[leaf] for leaf in where if leaf in values.found},
        {leaf: run.written[leaf] for leaf in where},
        {leaf: run.exact[leaf] for leaf in where},
        [{leaf: move(sample, leaf) for leaf in where} for sample in values.moved],
    )
