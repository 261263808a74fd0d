"""`jaxport`: reads the command line, runs, prints, and turns every foreseen failure into one line."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from compare import records
from compare.arguments import parser
from compare.hlo.bindings import BindingsMoved
from compare.report import print_overview, write_report
from compare.run import ports, record, run
from compare.run.inputs import RequestError
from compare.run.progress import reporter
from compare.run.sides import Source
from compare.sides._side import SIDES, SideError
from compare.sides.client import LiveSide
from compare.sides.recorded import RecordedSideError, RecordingSide
from workloads import _registry
from workloads._digits import DataError
from workloads._spec import Workload

HOLDS, FAILS, REFUSED, INTERRUPTED = 0, 1, 2, 130

FORESEEN = (
    RequestError,
    _registry.RegistryError,
    DataError,
    records.RecordError,
    RecordedSideError,
    SideError,
    BindingsMoved,
    OSError,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how its verdicts came out."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = parser().parse_args(given)
        return {"run": _run, "record": _record, "report": _report, "list": _list}[options.command](options)
    except KeyboardInterrupt:
        print("jaxport: interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except FORESEEN as error:
        return _refuse(error, "--debug" in given)
    except Exception as error:  # noqa: BLE001 - the last line of defence: --debug shows the traceback
        what = f"expected no {type(error).__name__} here, found one: {error}: run with --debug and report it"
        return _refuse(error, "--debug" in given, what)


def _refuse(error: Exception, debug: bool, what: str | None = None) -> int:
    if debug:
        traceback.print_exception(error)
        print(getattr(error, "details", ""), file=sys.stderr)
    print(f"jaxport: {' '.join((what or str(error)).split())}", file=sys.stderr)
    return REFUSED


def _run(options: argparse.Namespace) -> int:
    out = _writable_folder(options.out)
    request = run.Request(
        workloads=_workloads(options),
        size=options.size,
        data=options.data,
        sources={side: _source(options, side) for side in SIDES},
        timeout_s=options.timeout,
        pairs=0 if options.no_timing else options.pairs,
        budget_s=options.budget,
        seed=options.seed,
    )
    with reporter(Console(stderr=True), quiet=options.json) as progress:
        found = run.run(request, progress)
    plain = records.to_json(found)
    report = _write(plain, out)
    if options.json:
        print(json.dumps(plain))
    else:
        _show(plain, report)
    return _exit_code(plain)


def _record(options: argparse.Namespace) -> int:
    _writable_folder(options.out.parent)
    if options.out.is_dir():
        raise RequestError(f"expected a file to write at {options.out}, found a folder: name a file in it")
    _check_interpreter(options.python, "--python")
    console = Console(stderr=True)
    failures = []
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxport-")))
        live = LiveSide(options.side, scratch, options.python, options.timeout)
        side = RecordingSide(live)
        stack.callback(side.close)
        progress = stack.enter_context(reporter(console, quiet=False))
        side.call("environment", {})
        for workload in _workloads(options):
            failures += run.record_side(side, workload, options.size, options.data, scratch, progress)
            if not live.alive:
                live = LiveSide(options.side, scratch, options.python, options.timeout)
                side.follow(live)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        side.save(options.out)
    for failure in failures:
        print(f"jaxport: {failure.side}: {failure.doing}: {failure.reason}", file=sys.stderr)
    print(options.out)
    return FAILS if failures else HOLDS


def _report(options: argparse.Namespace) -> int:
    path = options.record / "results.json" if options.record.is_dir() else options.record
    found = records.load(path)
    if options.json:
        print(json.dumps(found))
        return _exit_code(found)
    out = _writable_folder(options.out or path.parent)
    _show(found, write_report(found, out))
    return _exit_code(found)


def _exit_code(found: dict) -> int:
    return HOLDS if record.verdict(found) == records.PASS else FAILS


def _list(options: argparse.Namespace) -> int:
    table = Table(Column("workload", no_wrap=True), "computes", "sizes", "source", box=None, pad_edge=False)
    for name in _registry.names():
        workload = _registry.get(name)
        sizes = "; ".join(
            f"{size} {', '.join(f'{key}={value}' for key, value in dimensions.items())}".strip()
            for size, dimensions in workload.sizes.items()
        )
        table.add_row(name, workload.summary, sizes, workload.source)
    Console().print(table)
    return HOLDS


def _workloads(options: argparse.Namespace) -> list[Workload]:
    own = [option for option in (options.tf, options.jax) if option]
    if own and (len(own) < 2 or options.workloads):
        raise RequestError("expected --tf and --jax together and no workload beside them: name both functions")
    if own:
        return [ports.from_functions(options.tf, options.jax, options.input)]
    if options.input:
        raise RequestError("expected --tf and --jax with --input, found neither: name both functions")
    chosen = [_registry.get(name) for name in dict.fromkeys(options.workloads) or _registry.built_in()]
    names = [workload.name for workload in chosen]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise RequestError(f"expected workloads of different names, found {twice[0]!r} twice: rename one")
    if options.data and not any(workload.training for workload in chosen):
        raise RequestError(f"expected a workload that trains beside --data, found {', '.join(names)}: drop --data")
    return chosen


def _source(options: argparse.Namespace, side: str) -> Source:
    python, recorded = getattr(options, f"{side}_python"), getattr(options, f"{side}_recorded")
    if python and recorded:
        raise RequestError(f"expected --{side}-python or --{side}-recorded, found both: choose one")
    _check_interpreter(python, f"--{side}-python")
    return Source(python, recorded)


def _check_interpreter(python: str | None, option: str) -> None:
    if python and shutil.which(python) is None:
        raise RequestError(f"expected a Python interpreter at {python}, found nothing to run: check {option}")


def _writable_folder(folder: Path) -> Path:
    """The folder, known to be writable before anything is measured; it is not left behind empty."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RequestError(
            f"expected a folder that can be written at {folder}, found {error.strerror}: choose another --out"
        ) from error
    finally:
        for each in missing:
            with contextlib.suppress(OSError):
                each.rmdir()
    return folder


def _write(found: dict, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    records.save(found, folder / "results.json")
    return write_report(found, folder)


def _show(found: dict, report: Path) -> None:
    console = Console()
    print_overview(found, console)
    console.print(str(report), highlight=False, markup=False, soft_wrap=True)
