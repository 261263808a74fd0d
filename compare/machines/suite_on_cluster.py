"""A run on the nodes of a Ray cluster: tasks are given to nodes, and what comes back is one record."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from compare.errors import RequestError
from compare.machines import merging
from compare.machines.at_node import FILES, own
from compare.machines.merging import Given
from compare.machines.scheduling import Finished, Node, Schedule
from compare.progress import Reporter
from compare.record import envelope, results_file
from compare.record.workload_part import Workload
from compare.run import record_parts
from compare.run.whole_run import RunResult
from compare.sides import replies
from compare.sides._side import Side, SideError
from compare.sides.client import LiveSide, Stalled
from compare.sides.methods import request
from compare.sides.ray_host import RayHost
from compare.sides.workers import WorkerSet
from workloads.core.declared import AnyWorkload

RAY = "ray"
HERE = "this machine"
OWN = ("jaxport", "jaxport's sources")
"""Versions that have to be equal here and on nodes: options and records differ between versions."""

REFUSED = 2
"""The exit code of a task that cannot be carried out."""


@dataclass(frozen=True)
class Task:
    """A workload at a size.

    Attributes:
      name: in the record.
      workload: what is judged.
      size: None takes that of the tour.
      arguments: of `jaxport` on a node.
    """

    name: str
    workload: AnyWorkload
    size: str | None
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Suite:
    """A suite for a cluster.

    Attributes:
      tasks: a workload at a size each.
      files: a zip of what they need.
      size: that was asked for.
      timed: whether times are taken, so that nothing else may run on a machine.
    """

    tasks: Sequence[Task]
    files: bytes
    size: str | None
    timed: bool


@dataclass(frozen=True)
class Where:
    """The cluster.

    Attributes:
      address: HOST:PORT, ray://HOST:PORT or auto.
      limit_s: how long it may take to answer.
      attempts: nodes that a task may be lost on.
    """

    address: str
    limit_s: float
    attempts: int


def run(suite: Suite, where: Where, scratch: Path, reporter: Reporter) -> RunResult:
    """Give every task to a node; the record of all.

    Raises:
      RequestError: there is no such cluster, its nodes are unlike each other, or no task can be carried out.
    """
    if importlib.util.find_spec(RAY) is None:
        raise RequestError("expected the package ray with --ray, found none: pip install 'jaxport[ray]'")
    reporter.stage(f"the cluster at {where.address}", len(suite.tasks))
    with WorkerSet(lambda name: LiveSide(name, scratch, timeout_s=2 * where.limit_s)) as workers:
        with _one_line(where):
            side = workers.get(RAY)
            nodes = usable_nodes(request(RayHost.connect)(side, where.address, where.limit_s), reporter)
            request(RayHost.carry)(side, {"files": np.frombuffer(suite.files, np.uint8)})
        work = _Work(suite, side, nodes)
        nodes_placed = [Node(name, node.id, node.facts.machine) for name, node in nodes.items() if node.facts]
        schedule = Schedule(len(suite.tasks), nodes_placed, where.attempts, suite.timed, reporter.result)
        return work.result(schedule, _work_on(work, schedule, [task.name for task in suite.tasks], where))


def _work_on(work: _Work, schedule: Schedule, names: Sequence[str], where: Where) -> bool:
    """Work on the tasks; whether a signal ended that. What came back stands, also where the cluster itself is lost."""
    try:
        with _one_line(where):
            schedule.run(work, names)
    except KeyboardInterrupt:
        if not work.given:
            raise
        return True
    except RequestError as error:
        if not work.given:
            raise
        schedule.cut_off(f"expected the cluster to be there to the end, found {error}")
    return False


class _Work:
    """Tasks on a cluster, and what came back of them."""

    def __init__(self, suite: Suite, side: Side, nodes: Mapping[str, replies.ClusterNode]) -> None:
        self._suite, self._side, self._nodes = suite, side, nodes
        self._given_to: dict[int, str] = {}
        self._refused: dict[int, str] = {}
        self.given: dict[int, Given] = {}

    def submit(self, task: int, node: Node) -> None:
        """Start a task on a node."""
        self._given_to[task] = node.name
        request(RayHost.submit)(self._side, task, node.id, tuple(self._suite.tasks[task].arguments))

    def wait_for_ends(self) -> list[Finished]:
        """Wait a moment; return the tasks that ended."""
        task_ends = request(RayHost.finished)(self._side)
        for task_end in task_ends:
            if not task_end.lost:
                self._take(task_end.task)
        return [Finished(task_end.task, task_end.lost, task_end.gone) for task_end in task_ends]

    def now(self) -> float:
        """Seconds."""
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        """Do nothing for so long."""
        time.sleep(seconds)

    def result(self, schedule: Schedule, was_interrupted: bool) -> RunResult:
        """The result of the suite.

        Raises:
          RequestError: no task could be carried out, and why the first could not.
        """
        tasks = self._suite.tasks
        if len(self._refused) == len(tasks):
            raise RequestError(self._refused[0])
        missing_parts: dict[str, Workload] = {}
        for number, task in enumerate(tasks):
            task_result = schedule.results.get(number)
            if number not in self.given and task_result is not None:
                reason = self._refused.get(number) or task_result.reason
                missing_parts[task.name] = merging.part_without_result(
                    task.workload, task.size, reason, task_result.lost_on
                )
        results = [self._with_losses(number, schedule) for number in sorted(self.given)]
        cluster_nodes = {name: self._node(name, schedule.gone) for name in self._nodes}
        names = [task.name for task in tasks]
        record = merging.merge(results, missing_parts, names, cluster_nodes, self._suite.size)
        if was_interrupted:
            record = msgspec.structs.replace(
                record, workloads=record_parts.with_missing(record.workloads, names, record_parts.INTERRUPTED)
            )
        return RunResult(record, tuple(view for result in results for view in result.views), was_interrupted)

    def _take(self, number: int) -> None:
        task, node = self._suite.tasks[number], self._given_to[number]
        outcome, arrays = request(RayHost.result)(self._side, number)
        wrote = {name: array.tobytes() for name, array in arrays.items()}
        if "results" not in wrote:
            self._refused[number] = last_line(outcome, node)
            return
        record = results_file.decode(_json(wrote["results"], node, "results"), Path(FILES["results"]))
        pairs = _json(wrote["programs"], node, "programs")["pairs"] if "programs" in wrote else ()
        views = tuple({**pair, "name": task.name} for pair in pairs)
        self.given[number] = Given(task.name, node, outcome.load, (), record, views, outcome.niceness)

    def _with_losses(self, number: int, schedule: Schedule) -> Given:
        task_result = schedule.results.get(number)
        return dataclasses.replace(self.given[number], lost_on=task_result.lost_on if task_result else ())

    def _node(self, name: str, reasons: Mapping[str, str]) -> envelope.Node:
        facts = self._nodes[name].facts
        environment = msgspec.convert(facts.environment, envelope.Environment) if facts else None
        return envelope.Node(host=self._nodes[name].host, environment=environment, lost=reasons.get(name, ""))


def usable_nodes(nodes: Sequence[replies.ClusterNode], reporter: Reporter) -> dict[str, replies.ClusterNode]:
    """The nodes that can be given tasks, by a name of each.

    Raises:
      RequestError: there are none, or their versions differ.
    """
    for node in nodes:
        if node.facts is None:
            reporter.result(f"{node.host} is left out: {node.reason}")
    reachable_nodes = [node for node in nodes if node.facts is not None]
    if not reachable_nodes:
        reasons = "; ".join(f"{node.host}: {node.reason}" for node in nodes) or "no node with processors"
        raise RequestError(f"expected nodes that have this jaxport, found {reasons}: install it on each")
    nodes_by_name = dict(zip(_names([node.host for node in reachable_nodes]), reachable_nodes, strict=True))
    by_node = {name: node.facts.versions for name, node in nodes_by_name.items() if node.facts}
    check_alike(by_node)
    check_alike({name: {key: versions.get(key) for key in OWN} for name, versions in {HERE: own(), **by_node}.items()})
    return nodes_by_name


def check_alike(versions: Mapping[str, Mapping[str, str | None]]) -> None:
    """Check that all nodes have the same versions: what one of them gives would be another program's result.

    Args:
      versions: by node and package.

    Raises:
      RequestError: they differ.
    """
    (first, expected), *others = versions.items()
    for name, actual in others:
        unlike = [key for key in dict.fromkeys((*expected, *actual)) if expected.get(key) != actual.get(key)]
        if unlike:
            versions_text = "; ".join(
                f"{key} {expected.get(key) or 'missing'} on {first} and {actual.get(key) or 'missing'} on {name}"
                for key in unlike
            )
            raise RequestError(
                f"expected the same versions on all nodes, found {versions_text}: install the same on each"
            )


def _names(hosts: Sequence[str]) -> Iterator[str]:
    """A name of each node: its host, and a number where several nodes are on one."""
    several, counts = Counter(hosts), Counter[str]()
    for host in hosts:
        counts[host] += 1
        yield f"{host}#{counts[host]}" if several[host] > 1 else host


def _json(data: bytes, node: str, name: str) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise RequestError(f"expected {FILES[name]} from {node}, found what is no JSON: {error}: report it") from error


def last_line(result: replies.TaskResult, node: str) -> str:
    """Why a task gave no record: its last line."""
    lines = [line.strip() for line in result.said.splitlines() if line.strip()]
    last = (lines or ["it said nothing"])[-1].removeprefix("jaxport: ")
    return last if result.code == REFUSED else f"expected a record from {node}, found exit code {result.code}: {last}"


@contextmanager
def _one_line(where: Where) -> Iterator[None]:
    """Turn Ray's errors and timeouts about the cluster into one line."""
    try:
        yield
    except Stalled as error:
        raise RequestError(
            f"expected a Ray cluster at {where.address}, found no answer within {2 * where.limit_s:g} s: check the "
            "address, or raise --ray-limit"
        ) from error
    except SideError as error:
        raise RequestError(error.reason) from error
