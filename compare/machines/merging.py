"""One record of what several nodes gave: each workload names its node, and unlike machines share no figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from compare.files import Json
from compare.record.envelope import Environment, Node, Record
from compare.record.workload_part import Failure, Workload
from compare.run import record_parts

MACHINE = ("python", "platform", "cpu", "narrow_floats", "cores")


@dataclass(frozen=True)
class Given:
    """The result of one task.

    Attributes:
      name: in the record of all.
      node: that gave it.
      load: of the node before it.
      lost_on: nodes that it was lost on before.
      record: of the task.
      views: of its pairs of programs.
      niceness: of its processes.
    """

    name: str
    node: str
    load: float
    lost_on: tuple[str, ...]
    record: Record
    views: tuple[Json, ...] = ()
    niceness: int = 0

    @property
    def part(self) -> Workload:
        """The one workload of the task."""
        (part,) = self.record.workloads.values()
        return replace(part, node=self.node, lost_on=self.lost_on)


def merge(
    results: Sequence[Given],
    missing_parts: Mapping[str, Workload],
    order: Sequence[str],
    cluster_nodes: Mapping[str, Node],
    size: str | None,
) -> Record:
    """The record of all tasks.

    Args:
      missing_parts: by name, the parts of those that gave nothing.
      cluster_nodes: by name, the nodes of the cluster; those that neither gave anything nor were lost are left out.
      size: that was asked for; None is the tour's.
    """
    parts = {result.name: result.part for result in results} | dict(missing_parts)
    nodes = {
        name: _node(node, [result for result in results if result.node == name]) for name, node in cluster_nodes.items()
    }
    lost_on = {name for part in parts.values() for name in part.lost_on}
    reporting_nodes = {name: node for name, node in nodes.items() if node.loads or node.lost or name in lost_on}
    working_nodes = [node for node in reporting_nodes.values() if node.loads]
    # A figure of one machine is none of a record of several.
    single = working_nodes[0] if len(working_nodes) == 1 else None
    environment = in_common([node.environment for node in working_nodes if node.environment])
    record = record_parts.envelope(environment, {name: parts[name] for name in order if name in parts}, size, single)
    return replace(record, nodes=reporting_nodes)


def _node(node: Node, results: Sequence[Given]) -> Node:
    with_machine = next((result.record for result in results if result.record.machine), None)
    with_dispatch = next((result.record for result in results if result.record.dispatch), None)
    with_handover = next((result.record for result in results if result.record.handover), None)
    return replace(
        node,
        environment=next((result.record.environment for result in results), node.environment),
        loads={result.name: result.load for result in results},
        niceness=max((result.niceness for result in results), default=None),
        machine=with_machine.machine if with_machine else {},
        dispatch=with_dispatch.dispatch if with_dispatch else {},
        handover=with_handover.handover if with_handover else {},
    )


def in_common(environments: Sequence[Environment]) -> Environment:
    """The common part of the environments of all machines."""
    if not environments:
        return Environment()
    first, *others = environments
    unlike = {
        key: None for key in MACHINE if any(getattr(environment, key) != getattr(first, key) for environment in others)
    }
    sides = {
        side: {
            key: value
            for key, value in facts.items()
            if all(environment.sides.get(side, {}).get(key) == value for environment in others)
        }
        for side, facts in first.sides.items()
    }
    return replace(first, sides=sides, **unlike)


def part_without_result(workload: Any, size: str | None, reason: str, lost_on: tuple[str, ...]) -> Workload:
    """The part of a workload that no node gave, and why."""
    part = record_parts.not_judged(workload, size, Failure("both sides", "judge", reason))
    return replace(part, lost_on=lost_on)
