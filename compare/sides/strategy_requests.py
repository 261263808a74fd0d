"""Typed functions for requests to a side on several devices: to one process, or to all of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from compare.sides._side import Side, SideError
from compare.sides.methods import request
from compare.sides.requests import Loading
from compare.sides.strategy_host import Strategies
from workloads.protocol.distributing import Collective, Stepped, first_unlike
from workloads.protocol.trajectory import kept_as

Found = TypeVar("Found")

_SEEN_WITHIN_S = 5.0
"""The most seconds until the death of a process is seen, after another process reported it."""


def divide(
    side: Side, loading: Loading, twin: str, devices: int, batch: str, axes: Mapping[str, int | None]
) -> list[str]:
    """Build the twin; the strategies that it can be distributed by.

    Args:
      twin: whose it is, "tf" or "jax".
      batch: the dimension that is the number of examples.
      axes: by input, that of the examples; None of what every device is given whole.
    """
    return request(Strategies.divide)(side, loading.of(twin), devices, batch, axes)


def join(sides: Sequence[Side], addresses: Sequence[str], limit_s: float) -> list[int]:
    """Connect processes into a cluster; return how many devices each of them sees.

    Raises:
      SideError: they did not find each other within the limit, or one was lost.
    """
    asks = [
        partial(request(Strategies.join), side, tuple(addresses), index, limit_s) for index, side in enumerate(sides)
    ]
    return _of_all(sides, asks, _Joining(len(addresses), limit_s))


def steps(
    sides: Sequence[Side],
    strategy: str,
    dtype: str,
    count: int,
    first: int = 0,
    checkpoint: Path | None = None,
    equal_parts: bool = False,
) -> Stepped:
    """Run training steps; return the results of the first process, and where those of another one differ.

    Args:
      dtype: "float32" or "float64".
      first: how many were taken before: with some, what they left is read from the checkpoint.
      checkpoint: a folder, where what the last step leaves is written; None writes nothing.
    """
    folder = "" if checkpoint is None else str(checkpoint)
    ask = request(Strategies.steps)
    answers = _of_all(sides, [partial(ask, side, strategy, dtype, count, equal_parts, first, folder) for side in sides])
    unlike = [difference for reply, _ in answers for difference in reply.unlike]
    processes = [f"process {index}" for index in range(len(answers))]
    for name in answers[0][1]:
        copies = dict(zip(processes, (arrays[name] for _, arrays in answers), strict=True))
        kept_file = kept_as(name)
        unlike += filter(
            None, [first_unlike(kept_file.path, copies, kept_file.step) if kept_file else first_unlike(name, copies)]
        )
    counts = [reply.compilations for reply, _ in answers if reply.compilations is not None]
    return Stepped(answers[0][1], sum(counts) if counts else None, unlike)


def transfers(sides: Sequence[Side], strategy: str) -> Sequence[Collective]:
    """The exchanges of a step between devices, as one process sees them."""
    (first, *_) = _of_all(sides, [partial(request(Strategies.transfers), side, strategy) for side in sides])
    return first


def step_times(sides: Sequence[Side], strategy: str, calls: int) -> list[float]:
    """Seconds of each call, of the slowest process."""
    times = _of_all(sides, [partial(request(Strategies.step_times), side, strategy, calls) for side in sides])
    return [max(seconds) for seconds in zip(*times, strict=True)]


@dataclass(frozen=True)
class _Joining:
    """How many processes join, and within how long."""

    processes: int
    limit_s: float


def _of_all(
    sides: Sequence[Side], requests: Sequence[Callable[[], Found]], joining: _Joining | None = None
) -> list[Found]:
    """Send a request to all processes at once, because each waits for the others; return the replies.

    Raises:
      SideError: one failed, or did not answer. Others would wait for it without end, and are ended.
    """
    with ThreadPoolExecutor(len(sides)) as threads:
        pending = [threads.submit(request) for request in requests]
        try:
            for ready in as_completed(pending, joining.limit_s if joining else None):
                if ready.exception() is not None:
                    cause = _cause(ready, pending)
                    error = cause.exception()
                    assert error is not None
                    raise _of_process(error, pending.index(cause), len(sides)) from error
        except TimeoutError:
            # In the process itself nothing can be said: TensorFlow waits there and lets no other thread run.
            for side in sides:
                side.kill()
            assert joining is not None
            missing = ", ".join(str(index) for index, future in enumerate(pending) if not future.done())
            reason = (
                f"expected {joining.processes} processes to join within {joining.limit_s:g} s, found that process "
                f"{missing} still waits: one never came; start it, or raise --join-limit"
            )
            raise SideError(sides[0].name, "join", reason, is_lost=True) from None
        except SideError:
            for side in sides if len(sides) > 1 else ():
                side.kill()
            raise
        return [future.result() for future in pending]


def _cause(failure: Future[Found], pending: Sequence[Future[Found]]) -> Future[Found]:
    """The request whose process ended, if there is one; else the one that failed first.

    Others see that its connections are closed, and may say so before its own death is seen.
    """
    with suppress(TimeoutError):
        for future in as_completed(pending, _SEEN_WITHIN_S):
            error = future.exception()
            if isinstance(error, SideError) and error.lost:
                return future
    return failure


def _of_process(error: BaseException, index: int, processes: int) -> BaseException:
    """The error with the number of its process."""
    if not isinstance(error, SideError) or processes == 1:
        return error
    reason = f"process {index} of {processes}: {error.reason}"
    return type(error)(error.side, error.doing, reason, error.details, error.lost)
