"""Hosts TensorFlow or JAX on several logical devices, with one workload loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compare.bench import clock
from compare.sides import mapped, wire
from compare.sides._host import Host
from compare.sides.replies import Calls, Load, SteppedOn
from workloads.core.spec import Arrays
from workloads.protocol.distributing import Cluster, Collective, Distributing, Division
from workloads.protocol.framework import Scalar, Size


class Strategies(Host):
    """TensorFlow or JAX on several logical devices, with one workload loaded."""

    host = "strategies"

    def __init__(self, side: Distributing) -> None:
        super().__init__()
        self._side = side
        self._prepared: dict[str, Any] = {}

    def environment(self) -> dict[str, Scalar]:
        """Report the versions and the devices of the side."""
        return dict(self._side.environment())

    def divide(self, loading: Load, /, devices: Calls, batch: str, axes: Mapping[str, Size | None]) -> list[str]:
        """Build the workload, and list the strategies that distribute its step.

        Args:
          batch: the dimension that is the number of examples.
          axes: by input, that of the examples; None of what every device is given whole.
        """
        self._prepared.clear()
        twin = wire.unpack_twin(vars(loading), mapped.load(loading.arrays))
        return list(self._side.load(twin, Division(devices, batch, axes)))

    def join(self, addresses: tuple[str, ...], process: Size, limit_s: float) -> int:
        """Join other processes for all later computation, and return the number of devices of all processes.

        Args:
          limit_s: seconds to wait for the others.
        """
        return self._side.join(Cluster(addresses, process, limit_s))

    def steps(
        self, strategy: str, dtype: str, count: Calls, equal_parts: bool, first: Size = 0, checkpoint: str = ""
    ) -> tuple[SteppedOn, Arrays]:
        """Return losses, weights and the optimizer's state of some distributed steps.

        Args:
          dtype: "float32" or "float64".
          first: how many were taken before: with some, what they left is read from the checkpoint.
          checkpoint: a folder, where what the last step leaves is written; "" writes nothing.
        """
        result = self._side.steps(strategy, dtype, count, first, checkpoint, equal_parts)
        return SteppedOn(result.compilations, result.unlike), result.arrays

    def transfers(self, strategy: str) -> Sequence[Collective]:
        """Report what a distributed step exchanges between devices."""
        # Reads with jaxlib, which an environment of TensorFlow's own has not: every worker imports this file.
        from compare.hlo.collectives import collectives

        program = self._side.program(strategy)
        return collectives(program.module) if program.module else program.collectives

    def step_times(self, strategy: str, calls: Calls) -> list[float]:
        """Compile a distributed step, call it once, and measure the seconds of each of some calls."""
        if strategy not in self._prepared:
            self._prepared[strategy] = self._side.prepare(strategy)
        return clock.time_calls(self._prepared[strategy], calls)
