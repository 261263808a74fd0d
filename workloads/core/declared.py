"""A workload without its functions: plain data that a process with foreign code can send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workloads.core.spec import Deviation, Dimensions, Training, Workload


@dataclass(frozen=True)
class Steps:
    """A training run: what its batch is called, how many steps it takes and after which of them weights are compared.

    `takes_data` says whether its examples can be read from a file that is named.
    """

    batch: str
    steps: int
    compared: tuple[int, ...]
    takes_data: bool


@dataclass(frozen=True)
class Declared:
    """A workload as judges know it. `reference` says where its functions are: a name, or a port file."""

    reference: str
    name: str
    summary: str = ""
    source: str = ""
    sizes: Mapping[str, Dimensions] = field(default_factory=dict)
    training: Steps | None = None
    deviations: tuple[Deviation, ...] = ()


def declare(workload: Workload, reference: str = "") -> Declared:
    """The declaration of a workload."""
    return Declared(
        reference=reference or workload.name,
        name=workload.name,
        summary=workload.summary,
        source=workload.source,
        sizes=workload.sizes,
        training=_steps(workload.training) if workload.training else None,
        deviations=tuple(workload.deviations),
    )


def _steps(training: Training) -> Steps:
    return Steps(training.batch, training.steps, training.compared, training.takes_data)


AnyWorkload = Workload | Declared
"""With functions that may be called here, or without."""
