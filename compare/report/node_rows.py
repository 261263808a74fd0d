"""The machines of a cluster that a record is of, and which workload was judged and timed on which. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compare.record.envelope import Environment, Node, Record
from compare.record.workload_part import Workload
from compare.report import numbers

ALIKE = ("platform", "cpu", "cores")
"""Nodes that differ in one of these are unlike machines."""

UNLIKE = "the nodes are unlike machines: a time of one is not compared with a time of another"


GAVE_WAY = "its tasks gave way to whatever else ran there, and so did what was timed"


@dataclass(frozen=True)
class NodeRow:
    """One node in one line."""

    name: str
    machine: str
    load: str
    workloads: str
    lost: str

    @property
    def line(self) -> str:
        """All of it."""
        return f"{self.name}: {self.details}"

    @property
    def details(self) -> str:
        """All but its name."""
        facts = (self.workloads or "no result", self.machine, self.load and f"load {self.load}")
        return f"{', '.join(filter(None, facts))}{f'; lost: {self.lost}' if self.lost else ''}"


def rows(record: Record) -> tuple[NodeRow, ...]:
    """Every node, in the record's order."""
    return tuple(_row(name, node, record) for name, node in record.nodes.items())


def unlike(record: Record) -> bool:
    """Whether workloads were timed on machines of which one is not as another."""
    machines = {
        tuple(getattr(node.environment or Environment(), key) for key in ALIKE)
        for node in record.nodes.values()
        if node.loads
    }
    return len(machines) > 1


def of_workload(workload: Workload) -> str:
    """The node of a workload; "" where there was one machine."""
    loss = f", after it was lost on {' and '.join(workload.lost_on)}" if workload.lost_on else ""
    return f"{workload.node}{loss}" if workload.node else ""


def sentences(record: Record) -> Iterator[str]:
    """Each node, then what was lost and run again, and that machines are unlike."""
    yield from (row.line for row in rows(record))
    for name, workload in record.workloads.items():
        if workload.lost_on and workload.node:
            yield f"{name}: lost on {' and '.join(workload.lost_on)}, run again on {workload.node}"
    for name, node in record.nodes.items():
        if (node.niceness or 0) > 0:
            yield f"{name}: {GAVE_WAY} (niceness {node.niceness}): start Ray there with RAY_worker_niceness=0"
    if unlike(record):
        yield UNLIKE


def _row(name: str, node: Node, record: Record) -> NodeRow:
    environment = node.environment or Environment()
    cores = f"{environment.cores} cores" if environment.cores else ""
    loads = [load for value in node.loads.values() if (load := numbers.finite(value)) is not None]
    ends = [f"{load:.1f}" for load in (min(loads), max(loads))] if loads else []
    return NodeRow(
        name=name,
        machine=", ".join(filter(None, (environment.cpu, cores))),
        load=" to ".join(dict.fromkeys(ends)),
        workloads=", ".join(
            workload_name for workload_name, workload in record.workloads.items() if workload.node == name
        ),
        lost=node.lost,
    )
