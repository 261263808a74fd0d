"""Whether two runs may be compared: the same machine, versions, threads, sizes and inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compare.record.results_file import RecordError

HOST = ("platform", "cpu", "cores", "python")
SIDE = (
    *("python", "numpy", "tensorflow", "keras", "jax", "jaxlib", "flax", "optax"),
    *("device", "threads", "allocator", "recorded"),
)
"""Everything in a side's environment that a ratio depends on. The version of jaxport is not among them:
what it changes is what a history is kept to see."""

WORKLOAD = ("size", "dimensions", "dtype", "sha256")

Found = dict[str, Any]


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
        return f"{self.key}{where}: {_shown(self.before)}, then {_shown(self.after)}"


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], workloads: Iterable[str] | None = None
) -> tuple[Difference, ...]:
    """All that keeps two runs from being compared, in these workloads: by default, in all that both have."""
    found = [Difference(key, old, new) for key, old, new in _unlike(_host(before), _host(after))]
    names = shared_workloads(before, after) if workloads is None else workloads
    grouped: dict[tuple[str, str, str], list[tuple[str, Any, Any]]] = defaultdict(list)
    for name in names:
        for key, old, new in _unlike(_workload(before, name), _workload(after, name)):
            grouped[key, str(old), str(new)].append((name, old, new))
    for (key, _, _), each in grouped.items():
        found.append(Difference(key, each[0][1], each[0][2], tuple(name for name, _, _ in each)))
    return tuple(found)


def shared_workloads(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Workloads that both runs have, in the order of the first."""
    return [name for name in _mapping(before, "workloads") if name in _mapping(after, "workloads")]


def refuse_unlike(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Let like runs pass.

    Raises:
      RecordError: they differ, with every differing key and both values; or they have no workload in common.
    """
    if not shared_workloads(before, after):
        names = [", ".join(_mapping(record, "workloads")) or "none" for record in (before, after)]
        raise RecordError(
            f"expected runs with a workload in common, found {names[0]} and then {names[1]}: compare runs of the same"
        )
    found = differences(before, after)
    if found:
        raise RecordError(
            f"expected runs of one machine with the same versions, threads and sizes, found "
            f"{'; '.join(each.line for each in found)}: run both again alike"
        )


def _host(record: Mapping[str, Any]) -> Found:
    environment = _mapping(record, "environment")
    sides = _mapping(environment, "sides")
    found: Found = {key: environment.get(key) for key in HOST}
    return found | {f"{side}.{key}": _mapping(sides, side).get(key) for side in sides for key in SIDE}


def _workload(record: Mapping[str, Any], name: str) -> Found:
    workload = _mapping(_mapping(record, "workloads"), name)
    threads = _mapping(_mapping(workload, "timing"), "threads")
    sides = _mapping(threads, "sides")
    peers = _mapping(workload, "peers")
    return {
        **{key: workload.get(key) for key in WORKLOAD},
        "threads.asked": threads.get("asked"),
        **{f"threads.{side}.processors": _mapping(sides, side).get("processors") for side in sides},
        **{f"peers.{peer}.version": _mapping(peers, peer).get("version") for peer in peers},
    }


def _unlike(before: Found, after: Found) -> Iterator[tuple[str, Any, Any]]:
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            yield key, before.get(key), after.get(key)


def _mapping(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping under a key; empty where it is missing or null."""
    found = record.get(key)
    return found if isinstance(found, Mapping) else {}


def _shown(value: Any) -> str:
    if value is None:
        return "not recorded"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return " ".join(str(value).split())
