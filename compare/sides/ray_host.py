"""Hosts Ray: joins an existing cluster, gives tasks to its nodes, and tells which ended and which were lost."""

from __future__ import annotations

import importlib
import socket
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from compare import files
from compare.sides._host import Host
from compare.sides.replies import ClusterNode, FinishedTask, NodeFacts, TaskResult
from workloads.core.spec import Arrays
from workloads.protocol.framework import Size, Unsupported

FILES = "files"
AT_NODE = "compare.machines.at_node"
"""Is imported on the nodes: each has its own jaxport."""

_AUTO, _CLIENT = "auto", "ray://"
_WAIT_S = 1.0


class _Task(msgspec.Struct):
    node: str
    reference: Any
    result: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Whole:
    """All that a node has, so that Ray gives it nothing else meanwhile."""

    processors: float
    accelerators: float


class RayHost(Host):
    """Ray, which has joined a cluster and gives tasks to its nodes."""

    host = "cluster"

    def __init__(self) -> None:
        super().__init__()
        self._ray: Any = importlib.import_module("ray")
        self._strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
        self._wholes: dict[str, _Whole] = {}
        self._tasks: dict[int, _Task] = {}
        self._files: Any = None

    def connect(self, address: str, limit_s: float) -> list[ClusterNode]:
        """Join a Ray cluster, and list its nodes that have processors, with what each reports of itself.

        Args:
          limit_s: seconds that the cluster and its nodes may take to answer.
        """
        _check_reachable(address, limit_s)
        try:
            self._ray.init(address=address, log_to_driver=False, configure_logging=False)
        except ImportError as error:
            raise Unsupported(
                f"expected what Ray needs to join {address}, found {_line(error)}: pip install 'jaxport[ray]'"
            ) from error
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise Unsupported(
                f"expected a Ray cluster at {address}, found {_line(error)}: check --ray; this machine has to be one "
                "of its nodes, with the same Ray and Python, or the address has to begin with ray://"
            ) from error
        nodes = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")}
        for name, node in nodes.items():
            self._wholes[name] = _Whole(node["Resources"]["CPU"], node["Resources"].get("GPU", 0))
        at_node: Any = importlib.import_module(AT_NODE)
        tasks = {name: self._remote(at_node.facts, name, _Whole(0, 0)).remote() for name in nodes}
        self._ray.wait(list(tasks.values()), num_returns=len(tasks), timeout=limit_s / 2) if tasks else None
        return [
            ClusterNode(name, node["NodeManagerHostname"], **self._facts(tasks[name], limit_s / 2))
            for name, node in nodes.items()
        ]

    def carry(self, arrays: Arrays) -> None:
        """Put a zip with the files of all tasks into the object store."""
        self._files = self._ray.put(arrays[FILES].tobytes())

    def submit(self, task: Size, node: str, arguments: tuple[str, ...]) -> None:
        """Give a task to a node, which runs nothing else."""
        at_node: Any = importlib.import_module(AT_NODE)
        remote = self._remote(at_node.carried_out, node, self._wholes[node])
        self._tasks[task] = _Task(node, remote.remote(self._files, list(arguments)))

    def finished(self) -> list[FinishedTask]:
        """Wait a moment for a task; return those that ended, and the reasons for those without a result."""
        running = {task.reference: number for number, task in self._tasks.items() if task.result is None}
        ready, _ = self._ray.wait(list(running), num_returns=1, timeout=_WAIT_S)
        return [FinishedTask(running[reference], **self._take_result(running[reference])) for reference in ready]

    def result(self, task: Size) -> tuple[TaskResult, Arrays]:
        """Return the result of a task that ended, its files as bytes."""
        outcome = self._tasks.pop(task).result
        assert outcome is not None
        wrote = {name: np.frombuffer(data, np.uint8) for name, data in outcome["wrote"].items()}
        return TaskResult(**{name: outcome[name] for name in TaskResult.__struct_fields__}), wrote

    def _remote(self, function: Any, node: str, whole: _Whole) -> Any:
        strategy = self._strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        return self._ray.remote(function).options(
            num_cpus=whole.processors,
            num_gpus=whole.accelerators,
            max_retries=0,  # who schedules tries another node
            scheduling_strategy=strategy,
        )

    def _facts(self, reference: Any, limit_s: float) -> dict[str, Any]:
        errors = self._ray.exceptions
        try:
            return {"facts": files.convert_plain(self._ray.get(reference, timeout=0.1), NodeFacts)}
        except errors.GetTimeoutError:
            return {"reason": f"no answer within {limit_s:g} s"}
        except errors.RayTaskError as error:
            return {"reason": f"no jaxport of this version that can be asked: {_line(error.cause)}"}
        except errors.RayError as error:
            return {"reason": _line(error)}

    def _take_result(self, number: int) -> dict[str, Any]:
        task, errors = self._tasks[number], self._ray.exceptions
        try:
            task.result = self._ray.get(task.reference)
        except errors.RayTaskError as error:
            del self._tasks[number]
            return {"lost": _line(error.cause)}
        except errors.RayError as error:
            del self._tasks[number]
            # Of these the node itself is gone; of others the process that worked on it is.
            is_gone = isinstance(error, errors.NodeDiedError | errors.TaskUnschedulableError)
            return {"lost": _line(error), "gone": is_gone or not self._alive(task.node)}
        return {}

    def _alive(self, node: str) -> bool:
        return any(entry["Alive"] for entry in self._ray.nodes() if entry["NodeID"] == node)


def _check_reachable(address: str, limit_s: float) -> None:
    """Ray itself tries for minutes.

    Raises:
      Unsupported: nothing answers there.
    """
    if address == _AUTO:
        return
    host, colon, port = address.removeprefix(_CLIENT).rpartition(":")
    if not colon or not port.isdecimal() or not host:
        raise Unsupported(f"expected HOST:PORT of a Ray cluster, ray://HOST:PORT or auto, found {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=min(limit_s, 10)).close()
    except (OSError, OverflowError) as error:
        raise Unsupported(
            f"expected a Ray cluster at {address}, found {_line(error)}: check the address, and `ray status` there"
        ) from error


def _line(error: BaseException) -> str:
    """The first sentence or line of what Ray says: more follows, for who knows its internals."""
    lines = str(error).strip().splitlines() or [""]
    first = lines[0].partition(". ")[0].rstrip(".: ") or type(error).__name__
    return first if len(first) < 300 else f"{first[:300]} ..."


def create() -> RayHost:
    """This host."""
    return RayHost()
