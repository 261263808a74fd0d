"""The requests that a side on several devices answers, as typed functions, to one process or to all of a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from compare.sides._side import Reply, Side
from compare.sides.replies import SteppedOn, Transfer
from compare.sides.requests import Loading
from workloads._distributing import Collective, Stepped, Unlike, first_unlike


def divide(side: Side, loading: Loading, devices: int, batch: str, axes: Mapping[str, int | None]) -> list[str]:
    """Build the twin; the strategies that it can be distributed by.

    Args:
      side: one process.
      loading: the workload.
      devices: of each process.
      batch: the dimension that is the number of examples.
      axes: by input, that of the examples; None of what every device is given whole.
    """
    parameters = dataclasses.asdict(loading) | {
        "target": loading.targets[side.name.partition("_")[0]],
        "dimensions": dict(loading.dimensions),
        "arrays": str(loading.arrays),
        "devices": devices,
        "batch": batch,
        "axes": dict(axes),
    }
    del parameters["targets"]
    return side.call("divide", parameters).value


def join(sides: Sequence[Side], addresses: Sequence[str], limit_s: float) -> list[int]:
    """Let processes compute together; how many devices each of them sees.

    Args:
      sides: one process each.
      addresses: HOST:PORT of each.
      limit_s: how long each waits for the others.
    """
    asked = [{"addresses": list(addresses), "process": at, "limit_s": limit_s} for at in range(len(sides))]
    return [reply.value for reply in _of_all(sides, "join", asked)]


def steps(sides: Sequence[Side], strategy: str, dtype: str, count: int) -> Stepped:
    """What some training steps give; of several processes what the first has, and where another has something else.

    Args:
      sides: the processes that compute together.
      strategy: of the twin, or a reference.
      dtype: "float32" or "float64".
      count: of steps.
    """
    asked = {"strategy": strategy, "dtype": dtype, "count": count}
    found = [
        (msgspec.convert(reply.value, SteppedOn), reply.arrays)
        for reply in _of_all(sides, "steps", [asked] * len(sides))
    ]
    unlike = [Unlike(**msgspec.structs.asdict(each)) for told, _ in found for each in told.unlike]
    processes = [f"process {at}" for at in range(len(found))]
    for name in found[0][1]:
        copies = dict(zip(processes, (arrays[name] for _, arrays in found), strict=True))
        kind, _, path = name.partition("/")
        leaf = f"{path} after step {kind.partition('@')[2]}" if path else name
        unlike += filter(None, [first_unlike(leaf, copies)])
    counted = [told.compilations for told, _ in found if told.compilations is not None]
    return Stepped(found[0][1], sum(counted) if counted else None, unlike)


def transfers(sides: Sequence[Side], strategy: str) -> list[Collective]:
    """What a step exchanges between devices, as one process has it."""
    (first, *_) = _of_all(sides, "transfers", [{"strategy": strategy}] * len(sides))
    return [Collective(**msgspec.structs.asdict(each)) for each in msgspec.convert(first.value, list[Transfer])]


def step_times(sides: Sequence[Side], strategy: str, calls: int) -> list[float]:
    """Seconds of each of some calls, as the slowest process has them."""
    replies = _of_all(sides, "step_times", [{"strategy": strategy, "calls": calls}] * len(sides))
    return [max(each) for each in zip(*(reply.value for reply in replies), strict=True)]


def _of_all(sides: Sequence[Side], method: str, parameters: Sequence[Mapping[str, Any]]) -> list[Reply]:
    """The replies of all, asked at once: each waits for what the others send.

    Raises:
      SideError: one failed; of several the one that was lost first in their order.
    """
    with ThreadPoolExecutor(len(sides)) as threads:
        asked = [threads.submit(side.call, method, given) for side, given in zip(sides, parameters, strict=True)]
        return [each.result() for each in asked]
