"""`jaxport.check` of files: what `jaxport run --parity-only` judges, in workers."""

from __future__ import annotations

from compare.api.check_report import CheckReport, report_of
from compare.inputs.request import Request
from compare.progress import Reporter
from compare.run import whole_run
from compare.run.whole_run import RunResult
from compare.sides.pool import Pool
from workloads._declared import AnyWorkload


def check(workload: AnyWorkload, timeout_s: float, progress: Reporter, pool: Pool | None = None) -> CheckReport:
    """The report of a workload by all gates.

    Args:
      workload: that files declare.
      timeout_s: how long a worker may take for one request.
      progress: shows each step.
      pool: workers that outlive it; by default it starts its own.

    Raises:
      RequestError, BadTarget: it cannot be judged.
      KeyboardInterrupt: the run was interrupted.
    """
    request = Request((workload,), timeout_s=timeout_s, plans=(), parity_only=True)
    return report_of(_whole(whole_run.run(request, progress, pool)).record)


def _whole(result: RunResult) -> RunResult:
    if result.interrupted:
        raise KeyboardInterrupt
    return result
