"""The strategies of both sides: in how many processes each runs, and what it is to compute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.protocol.distributing import IN_TURN, OWN, SINGLE


@dataclass(frozen=True)
class Strategy:
    """A way to distribute a training step.

    Attributes:
      side: "tf" or "jax".
      name: as the side knows it.
      means: the references one of which it has to equal.
      summary: one line.
      processes: so many; 0 for one a device, each with a single device.
    """

    side: str
    name: str
    means: tuple[str, ...]
    summary: str
    processes: int = 1
    label: str = ""

    def __str__(self) -> str:
        return f"{self.side}/{self.label or self.name}"


STRATEGIES = (
    Strategy("tf", "mirrored", (IN_TURN, SINGLE), "MirroredStrategy: gradient compiled, all-reduce and update outside"),
    Strategy("tf", "mirrored-compiled", (IN_TURN, SINGLE), "MirroredStrategy: the whole step compiled in strategy.run"),
    Strategy("tf", OWN, (IN_TURN, SINGLE), "the twin's own, in MirroredStrategy"),
    Strategy(
        "tf", "multi-worker", (IN_TURN, SINGLE), "MultiWorkerMirroredStrategy, a process a device: gradient compiled", 0
    ),
    Strategy("jax", "spmd", (SINGLE,), "jax.jit of the whole step over a mesh, the batch divided"),
    Strategy("jax", "fsdp", (SINGLE,), "as spmd, weights and optimizer state divided too, each along its largest axis"),
    Strategy(
        "jax", "tensor", (SINGLE,), "attention divided by heads, feed-forward layers by features; the batch whole"
    ),
    Strategy(
        "jax", "shard_map", (IN_TURN, SINGLE), "jax.shard_map with jax.lax.pmean of gradients, loss and statistics"
    ),
    Strategy("jax", OWN, (SINGLE, IN_TURN), "the twin's own, over a mesh"),
    Strategy("jax", "spmd", (SINGLE,), "as spmd, in two processes over gloo", 2, "gloo"),
)
"""In the order in which they are shown."""

BY_NAME: Mapping[str, Strategy] = {str(strategy): strategy for strategy in STRATEGIES}
