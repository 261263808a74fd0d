"""A step of a user's own on twice as many devices: between two, who exchanges with a neighbour exchanges with all."""

from __future__ import annotations

from dataclasses import replace

from compare.distribution.distributing import Asked
from compare.record.distribution_part import Distribution
from compare.record.vocabulary import PASS
from workloads.protocol.distributing import OWN


def with_more_devices(distribution: Distribution, request: Asked) -> Asked | None:
    """The request for the workload's own steps that hold, on twice the devices; None if there are none."""
    holding = {name for name, step in distribution.strategies.items() if step.verdict == PASS}
    strategies = [strategy for strategy in request.strategies if strategy.name == OWN and str(strategy) in holding]
    devices = 2 * request.devices
    if not strategies or (distribution.batch or 0) % devices:
        return None
    return replace(request, strategies=strategies, devices=devices, timed=False, resumed=False)
