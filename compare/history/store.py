"""Runs kept in a folder, one file a run, numbered in the order in which they were saved."""

from __future__ import annotations

import datetime
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from compare.files import Json
from compare.plain_json import write_json
from compare.record.envelope import Record
from compare.record.results_file import RecordError, decode, load_plain

_NAME = re.compile(r"(\d{4,})-(\d{8}T\d{6}Z)\.json")
_LAST = re.compile(r"last(?:~(\d{1,9}))?")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True)
class Run:
    """One saved run; `saved` is the UTC time of its record as in its name, 20260131T235959Z."""

    number: int
    saved: str
    path: Path


def save(record: Json, folder: Path) -> Path:
    """Keep the record as FOLDER/NNNN-<UTC time>.json under the next free number; returns that path.

    Raises:
      RecordError: the record does not say when it was made.
    """
    stamp = _stamp(record)
    folder.mkdir(parents=True, exist_ok=True)
    number = _claim(folder)
    path = folder / f"{number:04d}-{stamp}.json"
    try:
        write_json(path, record)
    finally:
        _claim_path(folder, number).unlink()
    return path


def runs(folder: Path) -> list[Run]:
    """Every saved run, oldest number first.

    Raises:
      RecordError: the folder holds none, or is not there.
    """
    numbered_runs = _list_runs(folder)
    if not numbered_runs:
        raise RecordError(f"expected saved runs in {folder}, found none: save one with `jaxport bench --save`")
    return numbered_runs


def find(reference: str, folder: Path) -> Path:
    """The record that a reference names: a number, "last", "last~1" for the one before, else a path.

    A path may name the folder of a run, whose results.json is then meant.

    Raises:
      RecordError: nothing there has that number, or there are not as many runs.
    """
    last = _LAST.fullmatch(reference)
    if last:
        return _from_the_end(reference, int(last[1] or 0), folder)
    if _NUMBER.fullmatch(reference):
        return _path_of_number(int(reference), folder)
    return results_of(Path(reference))


def load(path: Path) -> Record:
    """The record of one file.

    Raises:
      RecordError: not there, not JSON, not a record, or written by a newer jaxport.
    """
    return decode(load_plain(path), path)


def results_of(path: Path) -> Path:
    """The results.json that a path names: itself, or that of a folder."""
    # Not Path's own: it raises where a name is too long.
    return path / "results.json" if os.path.isdir(path) else path


def _from_the_end(reference: str, back: int, folder: Path) -> Path:
    saved_runs = runs(folder)
    if back >= len(saved_runs):
        raise RecordError(
            f"expected {reference} among the saved runs in {folder}, found {_count(saved_runs)}: name a later one"
        )
    return saved_runs[-1 - back].path


def _path_of_number(number: int, folder: Path) -> Path:
    saved_runs = runs(folder)
    matches = [run.path for run in saved_runs if run.number == number]
    if not matches:
        raise RecordError(
            f"expected run {number} in {folder}, found {_count(saved_runs)}, {saved_runs[0].number} to "
            f"{saved_runs[-1].number}: choose one of them, or name a file"
        )
    return matches[0]


def _count(saved_runs: list[Run]) -> str:
    return f"{len(saved_runs)} run{'s' * (len(saved_runs) > 1)}"


def _list_runs(folder: Path) -> list[Run]:
    try:
        names = os.listdir(folder) if os.path.isdir(folder) else []
    except OSError as error:
        raise RecordError(f"expected saved runs in {folder}, found {error.strerror}: check its permissions") from error
    matches = filter(None, map(_NAME.fullmatch, names))
    return sorted((Run(int(name[1]), name[2], folder / name[0]) for name in matches), key=lambda run: run.number)


def _claim(folder: Path) -> int:
    """A number that no run has and no other process gets: the process that creates the claim's file has it."""
    number = max((run.number for run in _list_runs(folder)), default=0) + 1
    while True:
        try:
            os.close(os.open(_claim_path(folder, number), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            number += 1
            continue
        # Between listing and claiming, the run that had this claim may have been written and the claim given back.
        if all(run.number != number for run in _list_runs(folder)):
            return number
        with suppress(FileNotFoundError):
            _claim_path(folder, number).unlink()
        number += 1


def _claim_path(folder: Path, number: int) -> Path:
    return folder / f".{number:04d}.claim"


def _stamp(record: Json) -> str:
    moment_text = record.get("created")
    try:
        moment = datetime.datetime.fromisoformat(str(moment_text))
    except ValueError as error:
        raise RecordError(
            f"expected a UTC time in `created`, found {moment_text!r}: save the record of a run"
        ) from error
    return moment.astimezone(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
