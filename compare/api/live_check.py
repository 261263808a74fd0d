"""`jaxport.check`: two functions of the caller's process before the judges of a run."""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compare.api import live_weights
from compare.api.call_inputs import CallInputs, call_inputs, check_arguments
from compare.api.check_report import CheckReport, report_of
from compare.api.live_weights import LivePair
from compare.api.weights_in_record import with_constants, with_weights
from compare.errors import RequestError
from compare.inputs import functions
from compare.inputs.request import Request
from compare.progress import Silent
from compare.record.envelope import Record
from compare.record.workload_part import Workload as Part
from compare.run import whole_run
from compare.sides.callers_thread import CallersThread
from compare.sides.object_side import ObjectPool, ObjectSide
from compare.sides.program_worker import programs_kept
from compare.sides.worker import HOSTED
from workloads._device import CPU
from workloads._framework import FORWARD
from workloads._modes import JAX, TF, Mode
from workloads._spec import Deviation, Workload
from workloads._target import referring

MODES = (Mode(TF, "eager"), Mode(TF, "graph"), Mode(TF, "jit"), Mode(JAX, "eager"), Mode(JAX, "jit"))
"""Without autoclustering: TensorFlow reads whether it may cluster on a CPU once, when the caller first imports it."""

_NEEDED = {(TF, "eager"): "run", (TF, "graph"): "trace", (JAX, "jit"): "trace"}
"""By side and mode, what both functions must let a framework do; XLA need not take the original."""

_NAMES = {TF: "TensorFlow", JAX: "JAX"}


@dataclass(frozen=True)
class Options:
    """What a caller of `jaxport.check` may say besides both functions and their inputs, under the names that it has."""

    dimensions: Mapping[str, str] = field(default_factory=dict)
    map: Mapping[str, str] = field(default_factory=dict)
    deviations: Sequence[Deviation] = ()
    name: str | None = None
    timeout_s: float = 300


def check(
    tf_fn: Callable[..., Any], jax_fn: Callable[..., Any], inputs: Mapping[str, Any], options: Options
) -> CheckReport:
    """As `jaxport.check`.

    Args:
      tf_fn: the original.
      jax_fn: its port.
      inputs: by name, in the order of the arguments.
      options: whatever else the caller said.

    Raises:
      RequestError: the check cannot be carried out.
    """
    functions_of = {"tf_fn": tf_fn, "jax_fn": jax_fn}
    _check_types(functions_of, options.deviations)
    given = call_inputs(inputs)
    for argument, function in functions_of.items():
        check_arguments(argument, function, given.specs)
    pair = _pair(tf_fn, jax_fn, options.map)
    _check_names_apart(given, pair)
    with ExitStack() as held:
        if live_weights.is_model(tf_fn):
            held.enter_context(importlib.import_module(live_weights.MODELS).unchanged(tf_fn))
        targets = _builders(tf_fn, jax_fn, pair) if pair else (tf_fn, jax_fn)
        tf, jax = (held.enter_context(referring(target)) for target in targets)
        workload = _workload(tf, jax, given, options.name or _name_of(jax_fn), options, pair)
        return report_of(_judge(workload, options.timeout_s, pair), pair.pairs if pair else None)


def _pair(tf_fn: object, jax_fn: object, names: Mapping[str, str]) -> LivePair | None:
    """The weights of both; None where the port is no module, which is called itself and not a copy."""
    are_both = live_weights.is_model(tf_fn) and live_weights.is_module(jax_fn)
    if names and not are_both:
        raise RequestError("expected a Keras model and an nnx module with map, found other functions: drop map")
    if are_both:
        return live_weights.paired(tf_fn, jax_fn, names)
    return live_weights.unpaired("") if live_weights.is_module(jax_fn) else None


def _check_names_apart(given: CallInputs, pair: LivePair | None) -> None:
    """Raise RequestError where an input is called as a weight is: the gradients of both are results."""
    if pair and (same := sorted(given.specs.keys() & pair.weights.keys())):
        raise RequestError(f"expected an input of another name than a weight, found {same[0]!r}: rename the input")


def _builders(tf_fn: object, jax_fn: object, pair: LivePair) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What makes both models of a workload, of dimensions and a dtype."""
    models, modules = importlib.import_module(live_weights.MODELS), importlib.import_module(live_weights.MODULES)
    return (
        lambda dimensions, dtype: models.original(tf_fn, list(pair.weights)),
        lambda dimensions, dtype: modules.port(jax_fn, pair.described, pair.constant, dtype),
    )


def _check_types(functions_of: Mapping[str, object], deviations: Sequence[object]) -> None:
    """Raise RequestError for an object that cannot be called, or a deviation that is none."""
    for argument, function in functions_of.items():
        if not callable(function):
            raise RequestError(
                f"expected a function, Keras model or nnx module as {argument}, found {type(function).__name__}: "
                "hand over what can be called"
            )
    if unlike := [deviation for deviation in deviations if not isinstance(deviation, Deviation)]:
        raise RequestError(f"expected deviations as jaxport.Deviation, found {unlike[0]!r}: declare it as one")


def _workload(tf: str, jax: str, given: CallInputs, name: str, options: Options, pair: LivePair | None) -> Workload:
    dimensions = [f"{dimension}={text}" for dimension, text in options.dimensions.items()]
    return functions.of_specs(
        tf, jax, given.specs, dimensions, name=name, deviations=tuple(options.deviations), example=given.example,
        summary=f"{name}, an object of Python", source="given to jaxport.check", builds=pair is not None,
        weights=pair.weights if pair else {},
    )  # fmt: skip


def _name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or of the class of another object, without what no file can be called."""
    named = getattr(function, "__name__", type(function).__name__)
    return re.sub(r"[^\w.-]", "", named) or "function"


def _judge(workload: Workload, timeout_s: float, pair: LivePair | None) -> Record:
    """The record of a run on objects of this process, which are called in this thread.

    Raises:
      RequestError: a function does not run, or cannot be traced.
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
        stop = settings.enter_context(programs_kept(thread.check, timeout_s))
        request = Request((workload,), timeout_s=timeout_s, plans=(), modes=MODES, parity_only=True)
        record = thread.serve(lambda: _run(request, ObjectPool(sides)), stop)
    _check_runs(record.workloads[workload.name], sides)
    if pair and (pair.pairs.equal or pair.pairs.lines):
        return with_weights(record, workload.name, pair.pairs)
    return with_constants(record, workload.name) if sides[TF].reads_variables else record


def _run(request: Request, pool: ObjectPool) -> Record:
    for name, environment in pool.environments().items():
        if environment["device"] != CPU:
            raise RequestError(
                f"expected {_NAMES[name]} on the CPU, found {environment['device']}: hide it by "
                "CUDA_VISIBLE_DEVICES=-1 and JAX_PLATFORMS=cpu, or judge files by `jaxport run --device gpu:0`"
            )
    return whole_run.run(request, Silent(), pool).record


def _check_runs(part: Part, sides: Mapping[str, ObjectSide]) -> None:
    """Raise RequestError where a function gives nothing: there is nothing to judge."""
    for failure in part.failures:
        verb = _NEEDED.get((failure.side, failure.mode))
        if verb and failure.of_pass == FORWARD:
            of = _NAMES[failure.side]
            raise RequestError(
                f"expected a function that {of} can {verb} with these inputs, found {failure.reason}: correct the "
                "function or the inputs"
            ) from sides[failure.side].errors.get((failure.mode, failure.of_pass))
