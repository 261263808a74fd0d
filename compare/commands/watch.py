"""`jaxport watch`: judge a port again at every save."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from compare.commands import _arguments, _asked
from compare.commands._conclusion import Conclusion, list_names
from compare.commands._output import conclude, writable_folder, write
from compare.commands._parser import Help
from compare.errors import Foreseen, RequestError
from compare.inputs.request import Request
from compare.plain_json import to_json
from compare.progress import Reporter, reporter
from compare.record.vocabulary import NOT_JUDGED
from compare.report import terminal
from compare.run import whole_run
from compare.run.watched_files import WatchedFiles
from compare.sides._side import SIDES
from compare.sides.remembering import RememberingPool

HELP = Help(
    description="""\
Judge a port by all gates, and again whenever you save one of its files, until you press Ctrl-C. Only the side whose
files changed starts anew: after an edit of the port, TensorFlow is not asked again. Nothing is timed. report.html shows
the last judgement.

What is watched: every file that either side imports, and the Python files beside the port. After a change of other
files, such as weights that a function reads, start `jaxport watch` again.
""",
    operands="[PORT ...]",
    examples="""\
  jaxport watch my_port.py
  jaxport watch --tf my_tf.py:f --jax my_jax.py:g --input x=f32[8,128]
  jaxport watch my_port.py --modes tf/jit jax/jit    fewer modes are judged faster
  jaxport watch my_port.py --fail-fast               after each save, the first lines that differ
""",
    holds="the last judgement holds",
    fails="in the last judgement, a parity verdict fails or is not judged",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add arguments."""
    _arguments.add_workloads(command)
    scope = command.add_argument_group("scope")
    _arguments.add_modes(scope)
    _arguments.add_parity_size(scope)
    _arguments.add_fail_fast(scope)
    _arguments.add_workers(command)
    _arguments.add_out_folder(command.add_argument_group("output"), _arguments.DEFAULT_OUT)


def main(options: argparse.Namespace) -> Conclusion:
    """Judge at every save until an interrupt; return the last verdict."""
    ports = _files(options)
    if not ports:
        raise RequestError("expected a port file or functions of files to watch, found none: jaxport watch my_port.py")
    out = writable_folder(options.out)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        pool = RememberingPool(_asked.sources(options), scratch, options.timeout, SIDES)
        stack.enter_context(pool)
        progress = stack.enter_context(reporter(terminal.console(stderr=True), quiet=False))
        return _Watch(options, out, pool, progress).watch(WatchedFiles(ports))


@dataclass(frozen=True)
class _Watch:
    """The state that judgements share."""

    options: argparse.Namespace
    out: Path
    pool: RememberingPool
    progress: Reporter

    def watch(self, files: WatchedFiles) -> Conclusion:
        """Judge, wait for a save, and judge again; return the last verdict after a signal."""
        conclusion = Conclusion(NOT_JUDGED, "No judgement was completed")
        try:
            while True:
                files.note()
                conclusion = self._judge()
                files.follow(self.pool)
                terminal.complain(f"watching {len(files.paths)} files; Ctrl-C ends")
                changes = files.wait()
                terminal.complain(f"changed: {list_names([path.name for path in changes])}")
                self.pool.forget(files.find_outdated(changes))
        except KeyboardInterrupt:
            return conclusion

    def _judge(self) -> Conclusion:
        """Judge once and print the result; a port that cannot be read is not judged."""
        start = time.monotonic()
        try:
            result = whole_run.run(self._request(), self.progress, self.pool)
        except Foreseen as error:
            terminal.complain(str(error))
            return Conclusion(NOT_JUDGED, "The port could not be judged")
        if result.interrupted:
            raise KeyboardInterrupt
        record = result.record
        terminal.write(write(record, to_json(record), self.out, as_json=False))
        terminal.say(self.out / "report.html")
        conclusion = conclude(record)
        terminal.console().print(conclusion.line.append(f" ({time.monotonic() - start:.1f} s)"), soft_wrap=True)
        return conclusion

    def _request(self) -> Request:
        """A new request for each judgement, since a port file also declares sizes and bounds."""
        options = self.options
        return Request(
            workloads=_asked.workloads(options),
            size=options.size,
            parity_size=options.parity_size,
            data=options.data,
            sources=_asked.sources(options),
            timeout_s=options.timeout,
            plans=(),
            modes=options.modes,
            parity_only=True,
            fail_fast=options.fail_fast,
        )


def _files(options: argparse.Namespace) -> Sequence[Path]:
    """The files that a command line names: ports, and those of functions."""
    targets = [target.rpartition(":")[0] for target in (options.tf, options.jax) if target]
    return [Path(name) for name in (*options.workloads, *targets) if name.endswith(".py") or os.path.isfile(name)]
