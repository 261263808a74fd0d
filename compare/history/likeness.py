"""Whether two runs may be compared: the same machine, versions, threads, sizes, passes and inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compare.record.envelope import Environment, Node, Record
from compare.record.results_file import RecordError
from compare.record.timing_part import Threads, Timing
from compare.record.workload_part import Workload
from workloads.core.modes import JAX_DONATED
from workloads.protocol.framework import FORWARD, STEP

HOST = ("platform", "cpu", "cores", "python")
SIDE = (
    *("python", "numpy", "tensorflow", "keras", "jax", "jaxlib", "flax", "optax"),
    *("device", "lowered_for", "matmul_precision", "deterministic", "threads", "allocator", "recorded"),
)
"""Everything in a side's environment that a ratio depends on. The version of jaxport is not among them:
what it changes is what a history is kept to see."""

WORKLOAD = ("size", "dimensions", "dtype", "sha256", "unrolled")

Facts = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """A key under which two runs differ; None where a run does not have it."""

    key: str
    before: Any
    after: Any
    workloads: tuple[str, ...] = ()
    """Where the key is that of a workload: which ones differ in just this way."""

    @property
    def line(self) -> str:
        """The key and both values."""
        where = f" of {', '.join(self.workloads)}" if self.workloads else ""
        return f"{self.key}{where}: {_text_of(self.before)}, then {_text_of(self.after)}"


def differences(before: Record, after: Record, workloads: Iterable[str] | None = None) -> tuple[Difference, ...]:
    """All that keeps two runs from being compared, in these workloads: by default, in all that both have.

    Args:
      workloads: names of those that are looked at; None takes all that both have.
    """
    # Of a cluster each workload has a machine of its own.
    has_clusters = bool(before.nodes or after.nodes)
    unlike = (
        [] if has_clusters else [Difference(key, old, new) for key, old, new in _unlike(_host(before), _host(after))]
    )
    names = shared_workloads(before, after) if workloads is None else workloads
    groups: dict[tuple[str, str, str], list[tuple[str, Any, Any]]] = defaultdict(list)
    for name in names:
        earlier, later = (
            _workload(record, name) | (_host(record, name) if has_clusters else {}) for record in (before, after)
        )
        for key, old, new in _unlike(earlier, later):
            groups[key, str(old), str(new)].append((name, old, new))
    for (key, _, _), rows in groups.items():
        unlike.append(Difference(key, rows[0][1], rows[0][2], tuple(name for name, _, _ in rows)))
    return tuple(unlike)


def shared_workloads(before: Record, after: Record) -> list[str]:
    """Workloads that both runs have, in the order of the first."""
    return [name for name in before.workloads if name in after.workloads]


def refuse_unlike(before: Record, after: Record) -> None:
    """Let like runs pass.

    Raises:
      RecordError: they differ, with every differing key and both values; or they have no workload in common.
    """
    if not shared_workloads(before, after):
        names = [", ".join(record.workloads) or "none" for record in (before, after)]
        raise RecordError(
            f"expected runs with a workload in common, found {names[0]} and then {names[1]}: compare runs of the same"
        )
    unlike = differences(before, after)
    if unlike:
        raise RecordError(
            f"expected runs of one machine with the same versions, threads, sizes and passes, found "
            f"{'; '.join(difference.line for difference in unlike)}: run both again alike"
        )


def _host(record: Record, name: str = "") -> Facts:
    """The machine of a run, or of one of its workloads, with the versions there."""
    workload = record.workloads.get(name) or Workload()
    node = record.nodes.get(workload.node) or Node()
    environment = node.environment or record.environment or Environment()
    facts: Facts = {key: getattr(environment, key) for key in HOST}
    return facts | {
        f"{side}.{key}": facts_of_side.get(key) for side, facts_of_side in environment.sides.items() for key in SIDE
    }


def _workload(record: Record, name: str) -> Facts:
    workload = record.workloads.get(name) or Workload()
    threads = (workload.timing or Timing()).threads or Threads()
    return {
        **{key: getattr(workload, key) or None for key in WORKLOAD},
        "main_pass": _main_pass(workload),
        "threads.asked": threads.asked,
        **{f"threads.{side}.processors": list(bound.processors) or None for side, bound in threads.sides.items()},
        **{f"peers.{peer}.version": result.version for peer, result in workload.peers.items()},
    }


def _main_pass(workload: Workload) -> str | None:
    """The timed pass. Records of older versions lack it: they timed the training step, if there was one."""
    if workload.main_pass or workload == Workload():
        return workload.main_pass or None
    return STEP if workload.trajectory or str(JAX_DONATED) in workload.profile else FORWARD


def _unlike(before: Facts, after: Facts) -> Iterator[tuple[str, Any, Any]]:
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield key, before.get(key), after.get(key)


def _text_of(value: Any) -> str:
    if value is None:
        return "not recorded"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return " ".join(str(value).split())
