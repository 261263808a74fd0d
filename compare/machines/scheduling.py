"""Assigns tasks to nodes: a node runs one task at a time, and another node gets the task of a lost one. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Node:
    """One node.

    Attributes:
      name: that people read.
      id: that the cluster knows it by.
      machine: that it runs on; two nodes may share one.
    """

    name: str
    id: str
    machine: str


@dataclass(frozen=True)
class Finished:
    """A task that ended, with or without a result.

    Attributes:
      task: its number.
      lost: why it gave no result; "" where it gave one.
      gone: whether its node is lost too.
    """

    task: int
    lost: str = ""
    gone: bool = False


@dataclass(frozen=True)
class Scheduled:
    """How a task came out.

    Attributes:
      node: that gave the result; "" where none did.
      lost_on: the nodes where it was lost before, in order.
      reason: why there is no result; "" where there is.
    """

    node: str
    lost_on: tuple[str, ...] = ()
    reason: str = ""


class Cluster(Protocol):
    """The methods of a cluster."""

    def submit(self, task: int, node: Node) -> None:
        """Start a task on a node."""
        ...

    def wait_for_ends(self) -> Sequence[Finished]:
        """Wait a moment; return the tasks that ended."""
        ...

    def now(self) -> float:
        """Seconds of a monotonic clock."""
        ...

    def wait(self, seconds: float) -> None:
        """Do nothing for so long."""
        ...


REST_S = 30.0
"""The seconds without a task for a node on which one was killed: memory may be free again by then."""


class Schedule:
    """Tasks by number on nodes.

    Args:
      most: nodes that a task may be lost on; with the last one it is given up.
      alone: whether a machine works on one task at a time, whichever of its nodes have it: nothing
        else disturbs what is timed.
    """

    def __init__(
        self, count: int, nodes: Sequence[Node], most: int, alone: bool, report: Callable[[str], None]
    ) -> None:
        self._waiting = list(range(count))
        self._nodes, self._most, self._alone, self._report = list(nodes), most, alone, report
        self._running: dict[int, Node] = {}
        self._lost_on: dict[int, list[Node]] = defaultdict(list)
        self._rests: dict[str, float] = {}
        self._whys: dict[int, str] = {}
        self._scheduled: dict[int, Scheduled] = {}
        self.gone: dict[str, str] = {}
        """By name of a node that is gone, what was said of it."""

    @property
    def results(self) -> Mapping[int, Scheduled]:
        """By number, the tasks that came out."""
        return self._scheduled

    def run(self, cluster: Cluster, names: Sequence[str]) -> None:
        """Work until every task has come out."""
        while self._waiting or self._running:
            for task, node in self._place(cluster.now()):
                self._report(f"{names[task]} on {node.name}")
                cluster.submit(task, node)
            if self._running:
                for task_end in cluster.wait_for_ends():
                    self._take(task_end, names, cluster.now())
            elif there := [until for node, until in self._rests.items() if node not in self.gone]:
                cluster.wait(max(0.0, min(there) - cluster.now()))
            else:
                self._give_up()
                return

    def cut_off(self, reason: str) -> None:
        """Give up all tasks that have no result, for this reason."""
        for task in sorted({*self._waiting, *self._running}):
            self._scheduled[task] = Scheduled("", self._where(task), reason)
        self._waiting.clear()
        self._running.clear()

    def _place(self, now: float) -> Iterator[tuple[int, Node]]:
        self._rests = {node: until for node, until in self._rests.items() if until > now}
        for task in list(self._waiting):
            node = self._node_for(task)
            if node is not None:
                self._waiting.remove(task)
                self._running[task] = node
                yield task, node

    def _node_for(self, task: int) -> Node | None:
        """A free node, if possible one where the task was not lost."""
        there = [node for node in self._nodes if node.name not in self.gone]
        others = [node for node in there if node not in self._lost_on[task]]
        busy = [node.machine if self._alone else node.name for node in self._running.values()]
        free = (node for node in others or there if (node.machine if self._alone else node.name) not in busy)
        return next((node for node in free if node.name not in self._rests), None)

    def _take(self, task_end: Finished, names: Sequence[str], now: float) -> None:
        task, node = task_end.task, self._running.pop(task_end.task)
        if task_end.gone:
            self.gone[node.name] = task_end.lost
        if not task_end.lost:
            self._scheduled[task] = Scheduled(node.name, self._where(task))
            return
        self._rests[node.name] = now + REST_S
        self._lost_on[task].append(node)
        self._whys[task] = task_end.lost
        self._report(f"{names[task]}: lost on {node.name}: {task_end.lost}")
        if len(self._lost_on[task]) < self._most:
            self._waiting.insert(0, task)
            return
        count = len(self._lost_on[task])
        self._scheduled[task] = Scheduled("", self._where(task), self._given_up(task, f"it is tried {count} times"))

    def _give_up(self) -> None:
        for task in self._waiting:
            self._scheduled[task] = Scheduled("", self._where(task), self._given_up(task, "no node is left"))
        self._waiting.clear()

    def _given_up(self, task: int, why: str) -> str:
        where = self._where(task)
        where_lost = (
            f"it was lost on {' and then on '.join(where)} ({self._whys[task]})" if where else "it was not begun"
        )
        return (
            f"expected a result from a node, found that {where_lost}, and {why}: look at those nodes, and run it again"
        )

    def _where(self, task: int) -> tuple[str, ...]:
        return tuple(node.name for node in self._lost_on[task])
