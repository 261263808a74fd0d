"""Hosts TensorFlow or JAX on several logical devices, with one workload loaded."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from compare.bench import clock
from compare.sides import mapped, wire
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.host_parameters import Divided, Joining, StrategyCalls, StrategyNamed, StrategySteps
from compare.sides.parameters import Nothing
from workloads._distributing import Cluster, Distributing, Division
from workloads._spec import Arrays


class Strategies(Host):
    """Turns requests into calls of one framework on several devices."""

    host = "strategies"

    def __init__(self, side: Distributing) -> None:
        super().__init__()
        self._side = side
        self._prepared: dict[str, Any] = {}

    def environment(self, parameters: Nothing, arrays: Arrays) -> Reply:
        """Versions and devices."""
        return Reply(dict(self._side.environment()))

    def divide(self, parameters: Divided, arrays: Arrays) -> Reply:
        """Take a workload; the strategies that its twin has."""
        self._prepared.clear()
        told = msgspec.structs.asdict(parameters)
        twin = wire.unpack_twin(told, mapped.load(parameters.arrays))
        return Reply(list(self._side.load(twin, Division(parameters.devices, parameters.batch, parameters.axes))))

    def join(self, parameters: Joining, arrays: Arrays) -> Reply:
        """Compute with other processes from now on."""
        return Reply(self._side.join(Cluster(parameters.addresses, parameters.process, parameters.limit_s)))

    def steps(self, parameters: StrategySteps, arrays: Arrays) -> Reply:
        """Some training steps."""
        stepped = self._side.steps(*msgspec.structs.astuple(parameters))
        unlike = [dataclasses.asdict(difference) for difference in stepped.unlike]
        return Reply({"compilations": stepped.compilations, "unlike": unlike}, stepped.arrays)

    def transfers(self, parameters: StrategyNamed, arrays: Arrays) -> Reply:
        """What a step exchanges between devices."""
        # Reads with jaxlib, which an environment of TensorFlow's own has not: every worker imports this file.
        from compare.hlo.collectives import collectives

        program = self._side.program(parameters.strategy)
        exchanged = collectives(program.module) if program.module else program.collectives
        return Reply([dataclasses.asdict(collective) for collective in exchanged])

    def step_times(self, parameters: StrategyCalls, arrays: Arrays) -> Reply:
        """Seconds of each of some calls of a step; it is compiled and called once before."""
        strategy = parameters.strategy
        if strategy not in self._prepared:
            self._prepared[strategy] = self._side.prepare(strategy)
        return Reply(clock.time_calls(self._prepared[strategy], parameters.calls))
