"""The parity gates of a port that is compiled with other options."""

from __future__ import annotations

import dataclasses
from functools import cached_property

from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.prove.both_sides import BothSides, ask_both, evidence_of
from compare.prove.collect import collect_mode
from compare.prove.judging import judge_gates
from compare.prove.stability_gate import sweep_with
from compare.record.parity_part import Parity
from compare.record.vocabulary import PASS
from compare.record.workload_part import Failure
from compare.sides import requests
from compare.sides.pool import Pool
from compare.tuning.candidate_options import Options
from compare.tuning.option_search import PortFails

CANDIDATE = "candidate"
"""The mode that a port with other options is offered as."""

SIDE = "jax"


class Gates:
    """Judges the port with other options by the port's own evidence, which both sides give once.

    Args:
      pool: the sides that are asked, started when the first candidate is judged.
    """

    def __init__(self, small: Prepared, pool: Pool, reporter: Reporter) -> None:
        self._small, self._pool, self._reporter = small, pool, reporter

    def first_failure(self, options: Options) -> str:
        """Why the port compiled with these options is not the original; empty where every gate passes.

        Raises:
          PortFails: the port itself is not the original.
          SideError: a side does not come up, or the compiler does not take the options.
        """
        sides = self._sides
        port = sides.deliveries[SIDE]
        outputs, trajectories = dict(port.outputs), dict(port.trajectories)
        delivery = dataclasses.replace(port, outputs=outputs, trajectories=trajectories, failures=[])
        side = self._pool.get(SIDE)
        requests.load(side, self._small.loading)
        requests.offer(side, CANDIDATE, options)
        collect_mode(side, CANDIDATE, self._small, delivery, self._reporter)
        if delivery.failures:
            return f"{delivery.failures[0].doing}: {delivery.failures[0].reason}"
        candidate = dataclasses.replace(
            sides, deliveries={**sides.deliveries, SIDE: delivery}, failures=list(sides.failures)
        )
        parity = _judge(candidate, options)
        new_failures = candidate.failures[len(sides.failures) :]
        return failing(parity) or next((f"{failure.doing}: {failure.reason}" for failure in new_failures), "")

    @cached_property
    def _sides(self) -> BothSides:
        """The results of both sides without other options.

        Raises:
          PortFails: the port itself is not the original.
        """
        failures: list[Failure] = []
        deliveries = ask_both(failures, lambda name: evidence_of(self._pool, name, self._small, self._reporter))
        sides = BothSides(self._pool, self._small, deliveries, failures, self._reporter).with_doubles()
        parity = _judge(sides, {})
        if parity.verdict != PASS:
            raise PortFails(failing(parity))
        return sides


def _judge(sides: BothSides, options: Options) -> Parity:
    """All gates; far from ordinary inputs too, where the port agrees at those."""
    # An error that nothing explains fails a gate: why it has no explanation is no failure beside that.
    parity = judge_gates(dataclasses.replace(sides, failures=list(sides.failures)))
    return sweep_with(sides, parity, [options]) if parity.verdict == PASS else parity


def failing(parity: Parity) -> str:
    """The first gate that fails, or is not judged, in its own words."""
    if parity.verdict == PASS:
        return ""
    gate = next(gate for gate in parity.gates.values() if gate.verdict == parity.verdict)
    messages = (comparison.message for comparison in gate.comparisons if comparison.verdict == parity.verdict)
    return next(messages, gate.reason) or ""
