"""The requests that a side on several devices answers, as typed functions, to one process or to all of a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from compare.sides._side import Reply, Side, SideError
from compare.sides.replies import SteppedOn, Transfer
from compare.sides.requests import Loading
from workloads._distributing import Collective, Stepped, Unlike, first_unlike
from workloads._trajectory import kept_as

_SEEN_WITHIN_S = 5.0
"""So long may it take until the death of a process is seen, after another one said that it is gone."""


def divide(
    side: Side, loading: Loading, twin: str, devices: int, batch: str, axes: Mapping[str, int | None]
) -> list[str]:
    """Build the twin; the strategies that it can be distributed by.

    Args:
      side: one process.
      loading: the workload.
      twin: whose it is, "tf" or "jax".
      devices: of each process.
      batch: the dimension that is the number of examples.
      axes: by input, that of the examples; None of what every device is given whole.
    """
    parameters = dataclasses.asdict(loading) | {
        "target": loading.targets[twin],
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

    Raises:
      SideError: they did not find each other within the limit, or one was lost.
    """
    asked = [{"addresses": list(addresses), "process": at, "limit_s": limit_s} for at in range(len(sides))]
    return [reply.value for reply in _of_all(sides, "join", asked, limit_s)]


def steps(
    sides: Sequence[Side],
    strategy: str,
    dtype: str,
    count: int,
    first: int = 0,
    checkpoint: Path | None = None,
    equal_parts: bool = False,
) -> Stepped:
    """What some training steps give; of several processes what the first has, and where another has something else.

    Args:
      sides: the processes that compute together.
      strategy: of the twin, or a reference.
      dtype: "float32" or "float64".
      count: of steps.
      first: how many were taken before: with some, what they left is read from the checkpoint.
      checkpoint: a folder, where what the last step leaves is written; None writes nothing.
      equal_parts: take each batch's first part over and over, as many times as there are parts.
    """
    asked: dict[str, Any] = {"strategy": strategy, "dtype": dtype, "count": count, "equal_parts": equal_parts}
    if checkpoint is not None:
        asked |= {"first": first, "checkpoint": str(checkpoint)}
    answers = [
        (msgspec.convert(reply.value, SteppedOn), reply.arrays)
        for reply in _of_all(sides, "steps", [asked] * len(sides))
    ]
    unlike = [Unlike(**msgspec.structs.asdict(difference)) for told, _ in answers for difference in told.unlike]
    processes = [f"process {at}" for at in range(len(answers))]
    for name in answers[0][1]:
        copies = dict(zip(processes, (arrays[name] for _, arrays in answers), strict=True))
        known = kept_as(name)
        unlike += filter(None, [first_unlike(known.path, copies, known.step) if known else first_unlike(name, copies)])
    counted = [told.compilations for told, _ in answers if told.compilations is not None]
    return Stepped(answers[0][1], sum(counted) if counted else None, unlike)


def transfers(sides: Sequence[Side], strategy: str) -> list[Collective]:
    """What a step exchanges between devices, as one process has it."""
    (first, *_) = _of_all(sides, "transfers", [{"strategy": strategy}] * len(sides))
    return [Collective(**msgspec.structs.asdict(transfer)) for transfer in msgspec.convert(first.value, list[Transfer])]


def step_times(sides: Sequence[Side], strategy: str, calls: int) -> list[float]:
    """Seconds of each of some calls, as the slowest process has them."""
    replies = _of_all(sides, "step_times", [{"strategy": strategy, "calls": calls}] * len(sides))
    return [max(seconds) for seconds in zip(*(reply.value for reply in replies), strict=True)]


def _of_all(
    sides: Sequence[Side], method: str, parameters: Sequence[Mapping[str, Any]], limit_s: float | None = None
) -> list[Reply]:
    """The replies of all, asked at once: each waits for what the others send.

    Args:
      sides: one process each.
      method: what is asked.
      parameters: of each.
      limit_s: how long all of it may take; None leaves that to each side.

    Raises:
      SideError: one failed, or did not answer. Others would wait for it without end, and are ended.
    """
    with ThreadPoolExecutor(len(sides)) as threads:
        asked = [threads.submit(side.call, method, given) for side, given in zip(sides, parameters, strict=True)]
        try:
            for done in as_completed(asked, limit_s):
                if done.exception() is not None:
                    cause = _cause(done, asked)
                    error = cause.exception()
                    assert error is not None
                    raise _of_process(error, asked.index(cause), len(sides)) from error
        except TimeoutError:
            # In the process itself nothing can be said: TensorFlow waits there and lets no other thread run.
            for side in sides:
                side.kill()
            missing = ", ".join(str(at) for at, future in enumerate(asked) if not future.done())
            processes = len(parameters[0].get("addresses", sides))
            reason = (
                f"expected {processes} processes to {method} within {limit_s:g} s, found that process {missing} still "
                "waits: one never came; start it, or raise --join-limit"
            )
            raise SideError(sides[0].name, method, reason, lost=True) from None
        except SideError:
            for side in sides if len(sides) > 1 else ():
                side.kill()
            raise
        return [future.result() for future in asked]


def _cause(failed: Future[Reply], asked: Sequence[Future[Reply]]) -> Future[Reply]:
    """The request whose process is gone, where there is one; else the one that failed first.

    Others see that its connections are closed, and may say so before its own death is seen.
    """
    with suppress(TimeoutError):
        for done in as_completed(asked, _SEEN_WITHIN_S):
            error = done.exception()
            if isinstance(error, SideError) and error.lost:
                return done
    return failed


def _of_process(error: BaseException, at: int, processes: int) -> BaseException:
    """The same, and which of several processes it is from."""
    if not isinstance(error, SideError) or processes == 1:
        return error
    reason = f"process {at} of {processes}: {error.reason}"
    return type(error)(error.side, error.doing, reason, error.details, error.lost)
