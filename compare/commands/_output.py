"""Writes and prints what a command made, and concludes the verdict of a run."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from compare.commands._conclusion import Conclusion
from compare.commands._signals import hold_signals
from compare.errors import RequestError
from compare.history import store
from compare.plain_json import to_json, write_json
from compare.record.envelope import SCHEMA, Record
from compare.report import terminal, verdicts
from compare.report.alignments import write_alignments
from compare.report.console import print_overview
from compare.report.html import render
from compare.report.program_texts import PROGRAMS
from compare.run.whole_run import RunResult
from compare.sides.processes import outside_scratch
from compare.writing import UnwrittenError, write_atomically
from workloads.core.modes import Mode

_LONGEST_NAME = 255
"""Bytes that a file's name may have on the common file systems."""


@hold_signals()
def deliver(
    result: RunResult, out: Path, as_json: bool, history: Path | None = None, baseline: Mode | None = None
) -> Conclusion:
    """Write results.json, report.html and the pages of programs, print the overview, and return the verdict.

    Args:
      as_json: print the record in place of the overview.
      history: the folder of saved runs where the record is saved too.

    Raises:
      UnwrittenError: a file could not be written; the record is then kept in a temporary folder, or printed.
    """
    record, plain = result.record, to_json(result.record)
    overview = write(record, plain, out, as_json, baseline)
    if history is not None:
        terminal.complain(f"saved as {store.save(plain, history)}")
    if result.views:
        write_alignments(to_json({"schema": SCHEMA, "pairs": result.views}), out / PROGRAMS)
    if as_json:
        terminal.print_json(plain)
    else:
        terminal.write(overview)
        terminal.say(out / "report.html")
    return conclude(record)


def write(record: Record, plain: Any, out: Path, as_json: bool, baseline: Mode | None = None) -> str:
    """Write results.json and report.html; the overview.

    Args:
      as_json: whether the record is printed where it cannot be written.

    Raises:
      UnwrittenError: a file could not be written; the record is then kept in a temporary folder, or printed.
    """
    with or_else(lambda: rescue(plain, "results.json", as_json)):
        page, overview = render(record), overview_of(record, baseline)
        write_json(out / "results.json", plain)
    write_atomically(out / "report.html", page)
    return overview


@contextlib.contextmanager
def or_else(rescue: Callable[[], object]) -> Iterator[None]:
    """Call `rescue` if the block raises."""
    with contextlib.ExitStack() as rollback:
        rollback.callback(rescue)
        yield
        rollback.pop_all()


def keep(name: str, write: Callable[[Path], object]) -> bool:
    """Write results into a new temporary folder and print its path; return whether that worked."""
    try:
        path = Path(tempfile.mkdtemp(prefix="jaxport-kept-", dir=outside_scratch())) / name
        with or_else(path.parent.rmdir):
            write(path)
    except (OSError, UnwrittenError):
        return False
    terminal.complain(f"results kept as {path}")
    return True


def rescue(record: Any, name: str, as_json: bool) -> None:
    """Keep a record that cannot be written to its place; print it for --json, or if no disk has space.

    Args:
      as_json: whether it is printed anyhow.
    """
    if as_json or not keep(name, lambda path: write_json(path, record)):
        terminal.print_json(record)


def overview_of(record: Record, baseline: Mode | None = None) -> str:
    """The overview, as it is printed."""
    console = terminal.console()
    with console.capture() as capture:
        print_overview(record, console, baseline)
    return capture.get()


def conclude(record: Record) -> Conclusion:
    """The verdict on all workloads of a record, with what qualifies it."""
    headline = verdicts.headline(record)
    return Conclusion(headline.verdict, headline.sentence_with_notes)


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
    # Writing would replace a device or a pipe by a file.
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
        for made_folder in missing:
            with contextlib.suppress(OSError):
                made_folder.rmdir()
    return folder
