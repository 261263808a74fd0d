"""Implements the public functions, for objects of the caller's process and for files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compare.api import diagnosis, file_check, live_check, locate_report, programs_report
from compare.api.bench_report import BenchReport
from compare.api.check_report import CheckReport
from compare.api.diagnosis import DoctorReport
from compare.api.displays import display
from compare.api.file_workload import file_workload, is_named, named_programs
from compare.api.importable import importable
from compare.api.live_workload import Options, in_callers_process, live_workload
from compare.api.locate_report import LocateReport
from compare.api.named_model import readable_by_worker
from compare.api.port_writing import Writing, WrittenPort, write_port
from compare.api.programs_report import ProgramOptions, ProgramsReport
from compare.api.timing_options import TimingOptions
from compare.inputs.foreign_code import foreign_code_apart
from compare.porting.port_source import Sizes
from compare.sides._side import SIDES
from compare.sides.pool import Pool, Source


@contextmanager
def workers(timeout_s: float) -> Iterator[Pool]:
    """One worker a side inside the block.

    Args:
      timeout_s: how long a request may take.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="jaxport-"))
        yield stack.enter_context(Pool({side: Source() for side in SIDES}, Path(folder), timeout_s))


def check(tf_fn: Any, jax_fn: Any | None, inputs: Mapping[str, Any] | None, options: Options) -> CheckReport:
    """See `jaxport.check`.

    Raises:
      Foreseen: the check cannot be carried out.
    """
    if options.isolated:
        tf_fn, jax_fn = importable(tf_fn, jax_fn, inputs)
    if is_named(tf_fn, jax_fn, inputs):
        with foreign_code_apart(options.timeout_s), display(options.quiet) as progress:
            workload = file_workload(tf_fn, jax_fn, inputs, options)
            return file_check.check(workload, options.timeout_s, progress, fail_fast=options.fail_fast)
    return live_check.check(tf_fn, jax_fn, inputs or {}, options)


def locate(
    tf_fn: Any, jax_fn: Any | None, inputs: Mapping[str, Any] | None, passes: Sequence[str], options: Options
) -> LocateReport:
    """See `jaxport.locate`.

    Raises:
      Foreseen: it cannot be searched.
    """
    if options.isolated:
        tf_fn, jax_fn = importable(tf_fn, jax_fn, inputs)
    if is_named(tf_fn, jax_fn, inputs):
        with foreign_code_apart(options.timeout_s):
            workload = file_workload(tf_fn, jax_fn, inputs, options)
            with display(options.quiet) as progress, workers(options.timeout_s) as pool:
                return locate_report.locate_files(pool, workload, passes, progress)
    return locate_report.locate_objects(tf_fn, jax_fn, inputs or {}, passes, options)


def bench(
    tf_fn: Any, jax_fn: Any | None, inputs: Mapping[str, Any] | None, timing: TimingOptions, options: Options
) -> BenchReport:
    """See `jaxport.bench`; each framework is timed in processes of its own.

    Raises:
      Foreseen: it cannot be judged or timed.
    """
    tf_fn, jax_fn = importable(tf_fn, jax_fn, inputs)
    is_named(tf_fn, jax_fn, inputs)
    with foreign_code_apart(options.timeout_s):
        workload = file_workload(tf_fn, jax_fn, inputs, options)
        with display(options.quiet) as progress:
            return file_check.bench(workload, timing, options.timeout_s, progress)


def compare_programs(
    tf_fn: Any, jax_fn: Any | None, inputs: Mapping[str, Any] | None, which: ProgramOptions, options: Options
) -> ProgramsReport:
    """See `jaxport.compare_programs`.

    Raises:
      Foreseen: they cannot be compared.
    """
    if options.isolated:
        tf_fn, jax_fn = importable(tf_fn, jax_fn, inputs)
    programs = named_programs(tf_fn, jax_fn, inputs)
    if not programs and not is_named(tf_fn, jax_fn, inputs):
        with live_workload(tf_fn, jax_fn, inputs or {}, options) as (workload, _):
            report, _ = in_callers_process(
                lambda pool, progress: programs_report.compare(pool, [workload], which, progress, False), options
            )
            return report
    with foreign_code_apart(options.timeout_s):
        references = programs or [file_workload(tf_fn, jax_fn, inputs, options)]
        with display(options.quiet) as progress, workers(options.timeout_s) as pool:
            return programs_report.compare(pool, references, which, progress, True)


def diagnose(model: Any, inputs: Mapping[str, str] | None, custom: Sequence[str], timeout_s: float) -> DoctorReport:
    """See `jaxport.doctor`.

    Raises:
      Foreseen: it cannot be read.
    """
    with readable_by_worker(model, inputs, custom, timeout_s) as named_model:
        return diagnosis.report(diagnosis.diagnose(named_model))


def write_port_files(
    model: Any,
    folder: str | Path,
    inputs: Mapping[str, str] | None,
    custom: Sequence[str],
    timeout_s: float,
    **writing: Any,
) -> WrittenPort:
    """See `jaxport.write_port`.

    Raises:
      Foreseen: it cannot be written.
    """
    sizes = Sizes(writing["batch"], writing["steps"])
    how = Writing(sizes, writing["force"], writing["run"], writing["style"])
    with ExitStack() as stack:
        stack.enter_context(foreign_code_apart(timeout_s))
        named_model = stack.enter_context(readable_by_worker(model, inputs, custom, timeout_s))
        return write_port(named_model, Path(folder), how, stack.enter_context(display(writing["quiet"])))
