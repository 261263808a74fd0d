"""Two functions of the caller's process as a workload, and the process in which judges may ask them."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from compare.api import live_weights
from compare.api.call_inputs import CallInputs, call_inputs, check_arguments
from compare.api.displays import InCallersThread, display
from compare.api.live_weights import LivePair
from compare.errors import RequestError
from compare.inputs import functions
from compare.progress import Reporter
from compare.sides.callers_thread import CallersThread
from compare.sides.object_side import ObjectPool, ObjectSide
from compare.sides.pool import Pool
from compare.sides.program_worker import programs_kept
from compare.sides.worker import HOSTED
from workloads.core.device import CPU
from workloads.core.modes import JAX, TF
from workloads.core.spec import Deviation, Workload
from workloads.core.target import referring

NAMES = {TF: "TensorFlow", JAX: "JAX"}

Returned = TypeVar("Returned")


@dataclass(frozen=True)
class Options:
    """The options of a caller besides both functions and their inputs, under their public names."""

    dimensions: Mapping[str, str] = field(default_factory=dict)
    map: Mapping[str, str] = field(default_factory=dict)
    deviations: Sequence[Deviation] = ()
    name: str | None = None
    timeout_s: float = 300
    quiet: bool = False
    isolated: bool = False
    fail_fast: bool = False


@contextmanager
def live_workload(
    tf_fn: object, jax_fn: object, inputs: Mapping[str, Any], options: Options
) -> Iterator[tuple[Workload, LivePair | None]]:
    """The workload of two objects, and their weights where the port is a module; it can be loaded inside the block.

    Args:
      tf_fn: the original.
      jax_fn: its port.
      inputs: by name, in the order of the arguments.
      options: whatever else the caller said.

    Raises:
      RequestError: an object cannot be called, or an input does not fit.
    """
    functions_of = {"tf_fn": tf_fn, "jax_fn": jax_fn}
    values = call_inputs(inputs)
    for argument, function in functions_of.items():
        check_arguments(argument, _callable(argument, function), values.specs)
    check_deviations(options.deviations)
    pair = _pair(tf_fn, jax_fn, options.map)
    _check_names_differ(values, pair)
    with ExitStack() as stack:
        if live_weights.is_model(tf_fn):
            stack.enter_context(importlib.import_module(live_weights.MODELS).restore_afterwards(tf_fn))
        targets = _builders(tf_fn, jax_fn, pair) if pair else (tf_fn, jax_fn)
        tf, jax = (stack.enter_context(referring(target)) for target in targets)
        narrow = importlib.import_module(live_weights.MODELS).narrow_type(tf_fn) if live_weights.is_model(tf_fn) else ""
        name = options.name or _name_of(jax_fn)
        yield _workload(tf, jax, values, options, pair, name=name, narrow=narrow), pair


def in_callers_process(
    job: Callable[[Pool, Reporter], Returned], options: Options
) -> tuple[Returned, Mapping[str, ObjectSide]]:
    """The result of a job whose sides are this process, called in this thread, and both sides.

    Args:
      job: sends requests to the pool, in another thread, and reports its steps.
      options: how long a program that is made of the functions may take, and whether steps are shown.

    Raises:
      RequestError: a framework computes on another device.
      KeyboardInterrupt: this thread was interrupted.
    """
    thread = CallersThread()
    with ExitStack() as settings:
        # Of inputs that the caller did not choose.
        settings.enter_context(warnings.catch_warnings(action="ignore"))
        settings.enter_context(np.errstate(all="ignore"))
        for name in (TF, JAX):
            settings.enter_context(importlib.import_module(HOSTED[name]).settings_for_check())
        sides = {name: ObjectSide(name, thread) for name in (TF, JAX)}
        stop = settings.enter_context(programs_kept(thread.check, options.timeout_s))
        reporter = InCallersThread(settings.enter_context(display(options.quiet)), thread)
        return thread.serve(lambda: job(_on_cpu(ObjectPool(sides)), reporter), stop), sides


def _on_cpu(pool: Pool) -> Pool:
    for name, environment in pool.environments().items():
        if environment["device"] != CPU:
            raise RequestError(
                f"expected {NAMES[name]} on the CPU, found {environment['device']}: hide it by "
                "CUDA_VISIBLE_DEVICES=-1 and JAX_PLATFORMS=cpu, or judge files by `jaxport run --device gpu:0`"
            )
    return pool


def _callable(argument: str, function: object) -> Callable[..., Any]:
    if not callable(function):
        raise RequestError(
            f"expected a function, Keras model or nnx module as {argument}, found {type(function).__name__}: "
            "hand over what can be called"
        )
    return function


def check_deviations(deviations: Sequence[object]) -> None:
    """Raise RequestError for a deviation that is none."""
    if unlike := [deviation for deviation in deviations if not isinstance(deviation, Deviation)]:
        raise RequestError(f"expected deviations as jaxport.Deviation, found {unlike[0]!r}: declare it as one")


def _pair(tf_fn: object, jax_fn: object, names: Mapping[str, str]) -> LivePair | None:
    """The weights of both; None where the port is no module, which is called itself and not a copy."""
    are_both = live_weights.is_model(tf_fn) and live_weights.is_module(jax_fn)
    if names and not are_both:
        raise RequestError("expected a Keras model and an nnx module with map, found other functions: drop map")
    if are_both:
        return live_weights.pair_weights(tf_fn, jax_fn, names)
    return live_weights.no_pairs("") if live_weights.is_module(jax_fn) else None


def _check_names_differ(values: CallInputs, pair: LivePair | None) -> None:
    """Raise RequestError where an input is called as a weight is: the gradients of both are results."""
    if pair and (same := sorted(values.specs.keys() & pair.weights.keys())):
        raise RequestError(f"expected an input of another name than a weight, found {same[0]!r}: rename the input")


def _builders(tf_fn: object, jax_fn: object, pair: LivePair) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The functions that build both models from dimensions and a dtype."""
    models, modules = importlib.import_module(live_weights.MODELS), importlib.import_module(live_weights.MODULES)
    return (
        lambda dimensions, dtype: models.original(tf_fn, list(pair.weights)),
        lambda dimensions, dtype: modules.port(jax_fn, pair.described, dtype),
    )


def _workload(
    tf: str, jax: str, values: CallInputs, options: Options, pair: LivePair | None, *, name: str, narrow: str
) -> Workload:
    dimensions = [f"{dimension}={text}" for dimension, text in options.dimensions.items()]
    return functions.of_specs(
        tf, jax, values.specs, dimensions, name=name, deviations=tuple(options.deviations), example=values.example,
        summary=f"{name}, an object of Python", source="given to jaxport.check", builds=pair is not None,
        weights=pair.weights if pair else {}, narrow=narrow,
    )  # fmt: skip


def _name_of(function: object) -> str:
    """The name of a function, or of the class of another object, without what no file can be called."""
    raw_name = getattr(function, "__name__", type(function).__name__)
    return re.sub(r"[^\w.-]", "", raw_name) or "function"
