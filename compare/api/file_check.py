"""`jaxport.check` and `jaxport.bench` of files: what `jaxport run --parity-only` and `jaxport bench` do, in workers."""

from __future__ import annotations

from compare.api.bench_report import BenchReport, bench_report
from compare.api.check_report import CheckReport, report_of
from compare.api.timing_options import TimingOptions
from compare.inputs.request import Request
from compare.progress import Reporter
from compare.run import whole_run
from compare.run.whole_run import RunResult
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload


def check(
    workload: AnyWorkload, timeout_s: float, progress: Reporter, pool: Pool | None = None, *, fail_fast: bool = False
) -> CheckReport:
    """The report of a workload by all gates.

    Args:
      workload: that files declare.
      timeout_s: how long a worker may take for one request.
      progress: shows each step.
      pool: workers that outlive it; by default it starts its own.
      fail_fast: whether it stops at the first pass that fails, and locates it.

    Raises:
      RequestError, BadTarget: it cannot be judged.
      KeyboardInterrupt: the run was interrupted.
    """
    request = Request((workload,), timeout_s=timeout_s, plans=(), parity_only=True, fail_fast=fail_fast)
    return report_of(_whole(whole_run.run(request, progress, pool)).record)


def bench(workload: AnyWorkload, timing: TimingOptions, timeout_s: float, progress: Reporter) -> BenchReport:
    """The report of a workload that is judged by all gates, and then timed in fresh processes.

    Args:
      workload: that files declare.
      timing: how.
      timeout_s: how long a worker may take for one request.
      progress: shows each step.

    Raises:
      RequestError, BadTarget: it cannot be judged, or an option fits nothing.
      KeyboardInterrupt: the run was interrupted.
    """
    return bench_report(_whole(whole_run.run(timing.request(workload, timeout_s), progress)).record)


def _whole(result: RunResult) -> RunResult:
    if result.interrupted:
        raise KeyboardInterrupt
    return result
