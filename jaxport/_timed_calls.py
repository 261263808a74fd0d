"""A staged function with its arguments, as it is called to be trained or timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from jaxport._modes import APART, EAGER
from jaxport._session import Session
from workloads.core.spec import Arrays
from workloads.protocol.framework import (
    STEP,
    UNROLLED,
    WEIGHTS,
    Analysis,
    MemoryAnalysis,
    Prepared,
)
from workloads.protocol.trajectory import Guide, trajectory


def ready_call(session: Session, pass_: str, mode: str, function: Any) -> Prepared:
    """A pass in a mode, ready to be timed.

    Args:
      session: the model in one float type.
    """
    call, arguments = pass_call(session, pass_, function)
    with session.precision():
        stages = {} if mode in (EAGER, APART) else staged_apart(function, arguments)
    return Prepared(call, around=session.precision, **stages)


def warm_up(call: Callable[[], Any]) -> Callable[[], Any]:
    """A call that was made once."""
    call()
    return call


def training_call(
    session: Session, function: Callable[..., Any], checkpoints: Sequence[int], guide: Arrays | None = None
) -> dict[str, np.ndarray]:
    """A training run.

    Args:
      session: the model in one float type.
      checkpoints: after how many steps the weights are kept.
      guide: "weights@STEP/PATH" of another run, which this one goes on from; None lets it go on from its own.
    """
    carry = session.arguments(STEP, session.twin.first_case)[:2]

    def step(batch: Arrays) -> Any:
        carry[0], carry[1], loss = function(*carry, *session.inputs(batch))
        return loss

    def weights() -> dict[str, np.ndarray]:
        return {path: session.fetch(WEIGHTS + path, leaf) for path, leaf in session.by_weight(carry[0]).items()}

    def start_from(weights: Arrays) -> None:
        carry[0] = session.parameters_of(weights)

    return trajectory(session.twin, checkpoints, step, weights, Guide(guide, start_from) if guide else None)


def pass_call(session: Session, pass_: str, function: Callable[..., Any]) -> tuple[Callable[[], Any], list[Any]]:
    """One call of a pass with its barrier inside, and the arguments that it starts from.

    Args:
      session: the model in one float type.
    """
    with session.precision():
        arguments = session.arguments(pass_, session.twin.first_case)
    if pass_ in (STEP, UNROLLED):
        return carrying_state(function, arguments), arguments
    return partial(finish, function, *arguments), arguments


def finish(function: Callable[..., Any], *arguments: Any) -> Any:
    """One call and all of its results."""
    return jax.block_until_ready(function(*arguments))


def staged_apart(function: Any, arguments: Sequence[Any]) -> dict[str, Any]:
    """Seconds of each public stage, as Prepared names them. The calls that follow find what these stages made."""
    times = [time.perf_counter()]
    traced = function.trace(*arguments)
    times.append(time.perf_counter())
    lowered = traced.lower()
    times.append(time.perf_counter())
    compiled = lowered.compile()
    times.append(time.perf_counter())
    trace_s, lower_s, compile_s = (end - start for start, end in pairwise(times))
    analyse = partial(analyse_memory, compiled)
    return {"trace_s": trace_s, "lower_s": lower_s, "compile_s": compile_s, "analyse": analyse}


def analyse_memory(compiled: Any) -> Analysis:
    memory = compiled.memory_analysis()
    if memory is None:  # the backend keeps no count
        return Analysis()
    sizes = (f"{kind}_size_in_bytes" for kind in ("argument", "output", "temp", "alias"))
    return Analysis(memory=MemoryAnalysis(*(getattr(memory, size) for size in sizes)))


def carrying_state(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[], None]:
    """A training step as a loop runs it: each call starts from the state that the one before left."""
    carry = list(arguments)

    def call() -> None:
        carry[0], carry[1], loss = function(*carry)
        jax.block_until_ready((carry[0], carry[1], loss))

    return call
