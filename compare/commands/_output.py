"""Where a command writes, what it prints, and the exit code that says how its verdicts came out."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compare import records
from compare.bench.history import store
from compare.report import print_overview, terminal, write_report
from compare.report.alignments import write_alignments
from compare.report.programs import PROGRAMS
from compare.run import record
from compare.run.inputs import RequestError

HOLDS, FAILS, REFUSED, INTERRUPTED = 0, 1, 2, 130


def deliver(found: Any, out: Path, as_json: bool, history: Path | None = None) -> int:
    """Write results.json, report.html and both programs' pages, keep the record, print the overview; exit code."""
    plain = records.to_json(found)
    out.mkdir(parents=True, exist_ok=True)
    pairs = _taken_out(plain)
    records.save(plain, out / "results.json")
    report = write_report(plain, out)
    if history is not None:
        kept = store.save(plain, history)
        terminal.complain(f"kept as {kept}")
    if pairs:
        write_alignments({"schema": records.SCHEMA, "pairs": pairs}, out / PROGRAMS)
    if as_json:
        terminal.print_json(plain)
    else:
        show(plain, report)
    return exit_code(plain)


def _taken_out(found: Mapping[str, Any]) -> list[Any]:
    """Both programs of every workload, value by value: as large as the programs, and kept in a file of their own."""
    pairs = [workload.pop("hlo", None) for workload in found["workloads"].values()]
    return [pair for pair in pairs if pair]


def show(found: Mapping[str, Any], report: Path) -> None:
    """The overview, then where the report is."""
    print_overview(found, terminal.console())
    terminal.say(report)


def exit_code(found: Mapping[str, Any]) -> int:
    """0 where every verdict of the record holds, else 1."""
    return HOLDS if record.verdict(found) == records.PASS else FAILS


def writable_file(path: Path) -> None:
    """Raise RequestError where no file can be written at that path."""
    writable_folder(path.parent)
    if path.is_dir():
        raise RequestError(f"expected a file to write at {path}, found a folder: name a file in it")


def writable_folder(folder: Path) -> Path:
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
