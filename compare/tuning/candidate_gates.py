"""The parity gates of a port that is compiled with other options."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from compare.inputs.at_size import Prepared
from compare.progress import Reporter
from compare.prove import both_sides, judging, stability_gate
from compare.prove.collect import Collected, collect_mode
from compare.prove.oracle import Doubles
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
    """Holds the port with other options against what the port is held against; both sides are asked for that once.

    Args:
      small: the arrays that parity is judged on.
      pool: the sides that are asked, started when the first candidate is judged.
      reporter: receives every step.
    """

    def __init__(self, small: Prepared, pool: Pool, reporter: Reporter) -> None:
        self._small, self._pool, self._reporter = small, pool, reporter
        self._failures: list[Failure] = []
        self._collected: dict[str, Collected] = {}
        self._doubles = Doubles()

    def first_failure(self, options: Options) -> str:
        """Why the port compiled with these options is not the original; empty where every gate passes.

        Raises:
          PortFails: the port itself is not the original.
          SideError: a side does not come up, or the compiler does not take the options.
        """
        if not self._collected:
            self._ask()
        port = self._collected[SIDE]
        outputs, trajectories = dict(port.outputs), dict(port.trajectories)
        evidence = dataclasses.replace(port, outputs=outputs, trajectories=trajectories, failures=[])
        side = self._pool.get(SIDE)
        requests.load(side, self._small.loading)
        requests.offer(side, CANDIDATE, options)
        collect_mode(side, CANDIDATE, self._small, evidence, self._reporter)
        if evidence.failures:
            return f"{evidence.failures[0].doing}: {evidence.failures[0].reason}"
        deliveries = {**self._collected, SIDE: evidence}
        parity = self._sweep(self._parity(deliveries), deliveries, options, evidence.failures)
        return failing(parity) or next((f"{failure.doing}: {failure.reason}" for failure in evidence.failures), "")

    def _ask(self) -> None:
        small, failures = self._small, self._failures

        def collect(name: str) -> Collected:
            return both_sides.evidence_of(self._pool, name, small, self._reporter)

        deliveries = both_sides.both(failures, collect)
        self._doubles = both_sides.doubles_of(self._pool, deliveries, small, failures)
        self._collected = deliveries
        parity = self._sweep(self._parity(deliveries), deliveries, {}, failures)
        if parity.verdict != PASS:
            raise PortFails(failing(parity))

    def _parity(self, deliveries: Mapping[str, Collected]) -> Parity:
        return judging.parity_of(self._pool, self._small, deliveries, self._doubles, list(self._failures))

    def _sweep(
        self, parity: Parity, deliveries: Mapping[str, Collected], options: Options, failures: list[Failure]
    ) -> Parity:
        """Far from ordinary inputs too, where it agrees at those."""
        if parity.verdict != PASS:
            return parity
        return stability_gate.swept_with(
            self._pool, [options], parity, self._small, deliveries, self._doubles, failures, self._reporter
        )


def failing(parity: Parity) -> str:
    """The first gate that fails, or is not judged, in its own words."""
    if parity.verdict == PASS:
        return ""
    gate = next(gate for gate in parity.gates.values() if gate.verdict == parity.verdict)
    messages = (comparison.message for comparison in gate.comparisons if comparison.verdict == parity.verdict)
    return next(messages, gate.reason) or ""
