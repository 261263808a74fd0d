"""Where a command writes, what it prints, and the exit code that says how its verdicts came out."""

from __future__ import annotations

import contextlib
import copy
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from compare import records
from compare.commands._exit_codes import FAILS, HOLDS
from compare.commands._signals import uninterrupted
from compare.errors import RequestError
from compare.history import store
from compare.record.envelope import Record
from compare.record.results_file import decode
from compare.report import terminal
from compare.report.alignments import write_alignments
from compare.report.console import print_overview
from compare.report.html import render
from compare.report.program_texts import PROGRAMS
from compare.run import record_parts
from compare.sides.processes import outside_scratch
from compare.writing import UnwrittenError

_LONGEST_NAME = 255
"""Bytes that a file's name may have on the common file systems."""


@uninterrupted()
def deliver(found: Any, out: Path, as_json: bool, history: Path | None = None) -> int:
    """Write results.json, report.html and the pages of the programs, and print the overview; the exit code.

    Args:
      found: the record.
      out: the output folder.
      as_json: print the record in place of the overview.
      history: the folder of saved runs where the record is saved too.

    Raises:
      UnwrittenError: a file could not be written; the record is then kept in a temporary folder, or printed.
    """
    plain = records.to_json(found)
    pairs = _taken_out(plain)
    with or_else(lambda: _rescue(plain, as_json)):
        # What does not fit is cut down while the place is looked for: the record itself is still to be kept.
        record = decode(copy.deepcopy(plain), out / "results.json")
        page, overview = render(record), told(record)
        out.mkdir(parents=True, exist_ok=True)
        records.save(plain, out / "results.json")
    records.write_atomically(out / "report.html", page)
    if history is not None:
        terminal.complain(f"saved as {store.save(plain, history)}")
    if pairs:
        write_alignments({"schema": records.SCHEMA, "pairs": pairs}, out / PROGRAMS)
    if as_json:
        terminal.print_json(plain)
    else:
        terminal.write(overview)
        terminal.say(out / "report.html")
    return exit_code(plain)


@contextlib.contextmanager
def or_else(rescue: Callable[[], object]) -> Iterator[None]:
    """Call `rescue` if the block raises."""
    with contextlib.ExitStack() as undone:
        undone.callback(rescue)
        yield
        undone.pop_all()


def keep(name: str, write: Callable[[Path], object]) -> bool:
    """Write results that took long into a new temporary folder and say where; whether that worked."""
    try:
        path = Path(tempfile.mkdtemp(prefix="jaxport-kept-", dir=outside_scratch())) / name
        with or_else(path.parent.rmdir):
            write(path)
    except (OSError, UnwrittenError):
        return False
    terminal.complain(f"results kept as {path}")
    return True


def _rescue(record: Any, as_json: bool) -> None:
    """Print the record if JSON was asked for, or if no disk takes it."""
    if as_json or not keep("results.json", lambda path: records.save(record, path)):
        terminal.print_json(record)


def _taken_out(found: Mapping[str, Any]) -> list[Any]:
    """Both programs of every workload, value by value: as large as the programs, and kept in a file of their own."""
    pairs = [workload.pop("hlo", None) for workload in found["workloads"].values()]
    return [pair for pair in pairs if pair]


def told(record: Record) -> str:
    """The overview, as it is printed."""
    console = terminal.console()
    with console.capture() as captured:
        print_overview(record, console)
    return captured.get()


def exit_code(found: Mapping[str, Any]) -> int:
    """0 where every verdict of the record holds, else 1."""
    return HOLDS if record_parts.verdict(found) == records.PASS else FAILS


def writable_file(path: Path) -> None:
    """Raise RequestError where no file can be written at that path."""
    writable_folder(path.parent)
    obstacle = _obstacle(path)
    if obstacle:
        raise RequestError(f"expected an output file at {path}, found {obstacle}")


def _obstacle(path: Path) -> str:
    if len(os.fsencode(path.name)) > _LONGEST_NAME:
        return "a name that is too long: choose a shorter one"
    if path.is_dir():
        return "a folder: name a file in it"
    if path.is_symlink() and not path.exists():
        return "a broken symbolic link: remove it, or name another file"
    # A device or a pipe would be replaced by the file.
    return "a device, pipe or socket: name another file" if path.exists() and not path.is_file() else ""


def writable_folder(folder: Path) -> Path:
    """The folder, checked to be writable; it is not created.

    Raises:
      RequestError: it is not writable.
    """
    missing: list[Path] = []
    try:
        missing += [parent for parent in (folder, *folder.parents) if not parent.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = "a broken symbolic link" if folder.is_symlink() else error.strerror
        raise RequestError(f"expected a writable folder at {folder}, found {reason}: choose another --out") from error
    finally:
        for created in missing:
            with contextlib.suppress(OSError):
                created.rmdir()
    return folder
