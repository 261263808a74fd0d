"""What the public functions ask: objects of the caller's process or files, each by its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compare.api import diagnosis, file_check, live_check, locate_report
from compare.api.check_report import CheckReport
from compare.api.diagnosis import DoctorReport
from compare.api.displays import display
from compare.api.file_workload import file_workload, is_named
from compare.api.live_workload import Options
from compare.api.locate_report import LocateReport
from compare.api.named_model import readable_by_worker
from compare.api.port_writing import Writing, WrittenPort, write_port
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
    """As `jaxport.check`.

    Args:
      tf_fn: the original, or a port file.
      jax_fn: its port; None beside a port file.
      inputs: by name; None beside a port file.
      options: whatever else the caller said.

    Raises:
      Foreseen: the check cannot be carried out.
    """
    if is_named(tf_fn, jax_fn, inputs):
        with foreign_code_apart(options.timeout_s), display(options.quiet) as progress:
            return file_check.check(file_workload(tf_fn, jax_fn, inputs, options), options.timeout_s, progress)
    return live_check.check(tf_fn, jax_fn, inputs or {}, options)


def located(
    tf_fn: Any, jax_fn: Any | None, inputs: Mapping[str, Any] | None, passes: Sequence[str], options: Options
) -> LocateReport:
    """As `jaxport.locate`.

    Args:
      tf_fn: the original, or a port file.
      jax_fn: its port; None beside a port file.
      inputs: by name; None beside a port file.
      passes: that are searched; empty for all.
      options: whatever else the caller said.

    Raises:
      Foreseen: it cannot be searched.
    """
    if is_named(tf_fn, jax_fn, inputs):
        with ExitStack() as stack:
            stack.enter_context(foreign_code_apart(options.timeout_s))
            workload = file_workload(tf_fn, jax_fn, inputs, options)
            progress = stack.enter_context(display(options.quiet))
            return locate_report.locate_files(
                stack.enter_context(workers(options.timeout_s)), workload, passes, progress
            )
    return locate_report.locate_objects(tf_fn, jax_fn, inputs or {}, passes, options)


def diagnosed(model: Any, inputs: Mapping[str, str] | None, custom: Sequence[str], timeout_s: float) -> DoctorReport:
    """As `jaxport.doctor`.

    Args:
      model: a file, FILE.py:NAME, or a Keras model of this process.
      inputs: of code, by name.
      custom: FILE.py:NAME of classes that a file of Keras names.
      timeout_s: how long a worker may take for one request.

    Raises:
      Foreseen: it cannot be read.
    """
    with readable_by_worker(model, inputs, custom, timeout_s) as named:
        return diagnosis.report(diagnosis.diagnose(named))


def written(
    model: Any,
    folder: str | Path,
    inputs: Mapping[str, str] | None,
    custom: Sequence[str],
    timeout_s: float,
    **writing: Any,
) -> WrittenPort:
    """As `jaxport.write_port`.

    Args:
      model: as of `diagnosed`.
      folder: of the port.
      inputs: of code, by name.
      custom: likewise.
      timeout_s: likewise.
      writing: batch, steps, force, run and quiet.

    Raises:
      Foreseen: it cannot be written.
    """
    sizes = Sizes(writing["batch"], writing["steps"])
    how = Writing(sizes, writing["force"], writing["run"])
    with ExitStack() as stack:
        stack.enter_context(foreign_code_apart(timeout_s))
        named = stack.enter_context(readable_by_worker(model, inputs, custom, timeout_s))
        return write_port(named, Path(folder), how, stack.enter_context(display(writing["quiet"])))
