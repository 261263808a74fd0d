"""`jaxport.check` of two functions of the caller's process before the judges of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compare.api.check_report import CheckReport, report_of
from compare.api.live_weights import LivePair, WeightPairs
from compare.api.live_workload import NAMES, Options, in_callers_process, live_workload
from compare.api.weights_in_record import with_constants, with_weights
from compare.errors import RequestError
from compare.inputs.request import Request
from compare.record.envelope import Record
from compare.record.workload_part import Workload as Part
from compare.run import whole_run
from compare.sides.object_side import ObjectSide
from workloads.core.modes import JAX, TF, Mode
from workloads.core.spec import Workload
from workloads.protocol.framework import FORWARD

MODES = (Mode(TF, "eager"), Mode(TF, "graph"), Mode(TF, "jit"), Mode(JAX, "eager"), Mode(JAX, "jit"))
"""Without autoclustering: TensorFlow reads whether it may cluster on a CPU once, when the caller first imports it."""

_NEEDED = {(TF, "eager"): "run", (TF, "graph"): "trace", (JAX, "jit"): "trace"}
"""By side and mode, what both functions must let a framework do; XLA need not take the original."""


def check(tf_fn: object, jax_fn: object, inputs: Mapping[str, Any], options: Options) -> CheckReport:
    """See `jaxport.check`, for objects.

    Raises:
      RequestError: the check cannot be carried out.
    """
    with live_workload(tf_fn, jax_fn, inputs, options) as (workload, pair):
        return report_of(_judge(workload, options, pair), pair.pairs if pair else None)


def _judge(workload: Workload, options: Options, pair: LivePair | None) -> Record:
    """The record of a run on objects of this process, which are called in this thread.

    Raises:
      RequestError: a function does not run, or cannot be traced.
      KeyboardInterrupt: this thread was interrupted.
    """
    request = Request(
        (workload,), timeout_s=options.timeout_s, plans=(), modes=MODES, parity_only=True, fail_fast=options.fail_fast
    )
    result, sides = in_callers_process(lambda pool, progress: whole_run.run(request, progress, pool), options)
    record = result.record
    _check_runs(record.workloads[workload.name], sides)
    if pair and pair.pairs != WeightPairs({}):
        return with_weights(record, workload.name, pair.pairs)
    return with_constants(record, workload.name) if sides[TF].reads_variables else record


def _check_runs(part: Part, sides: Mapping[str, ObjectSide]) -> None:
    """Raise RequestError where a function gives nothing: there is nothing to judge."""
    for failure in part.failures:
        verb = _NEEDED.get((failure.side, failure.mode))
        if verb and failure.of_pass == FORWARD:
            of = NAMES[failure.side]
            raise RequestError(
                f"expected a function that {of} can {verb} with these inputs, found {failure.reason}: correct the "
                "function or the inputs"
            ) from sides[failure.side].errors.get((failure.mode, failure.of_pass))
