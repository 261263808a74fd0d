"""Judged workloads of a run, kept in a folder, so that a killed run need not judge them again."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from safetensors.numpy import save

from compare import files, leftovers
from compare.bench.roofline import Work
from compare.files import FileError, Json
from compare.inputs.at_size import Prepared
from compare.inputs.request import Request
from compare.measure.timed_sets import Timed
from compare.plain_json import to_json
from compare.record.vocabulary import FAIL
from compare.record.workload_part import Workload
from compare.run import grounds, record_parts
from compare.sides import requests, wire
from compare.sides._side import SideError
from compare.sides.methods import unfit_signature
from compare.sides.pool import Pool
from compare.sides.records import record_of, to_plain
from compare.writing import PARTIAL, UnwrittenError, write_atomically
from workloads.protocol.framework import Parameter, Program, Result

FORMAT = 1
FOLDER = ".judged"
"""In the output folder."""

MOST_BYTES = 1 << 33
_JSON = "json"
_KEPT = files.Expected("a judgement that `jaxport run` kept", "it is made again")


class _Signature(msgspec.Struct, frozen=True):
    """A program without its arrays."""

    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    sources: dict[str, str]

    def __post_init__(self) -> None:
        reason = unfit_signature(to_plain(self))
        if reason:
            raise ValueError(reason)


class _Times(msgspec.Struct, frozen=True):
    """The data that timing a workload needs, without its arrays and the artifacts."""

    modes: dict[str, list[str]]
    programs: dict[str, _Signature]
    work: Work | None
    why_no_work: str
    main_pass: str
    steps: int


class _Kept(msgspec.Struct, frozen=True):
    format: files.FormatNumber
    grounds: str
    files: dict[str, str]
    part: Workload
    view: Any
    times: _Times | None


@dataclass(frozen=True)
class Judgement:
    """A judged workload: its part of the record, the view of its programs, and what may be timed."""

    part: Workload
    view: Json | None = None
    timed: Timed | None = None

    @property
    def fails(self) -> bool:
        """Whether a gate fails."""
        return self.part.parity is not None and self.part.parity.verdict == FAIL


class Judgements:
    """The judgements of one run, in a folder."""

    def __init__(self, folder: Path, request: Request) -> None:
        self._folder, self._request = folder, request
        self._of_run: str | None = None

    def judge(
        self, pool: Pool, both: tuple[Prepared, Prepared], judge: Callable[[], Judgement], report: Callable[[str], None]
    ) -> Judgement:
        """The kept judgement if nothing that it depends on has changed; else a new one, which is kept."""
        name, began = both[0].workload.name, time.time_ns()
        try:
            rests_on = self._grounds(pool, both)
        except grounds.Unknown as why:
            report(f"{name}: cannot be resumed: {why}")
            return judge()
        path = self._path(name)
        earlier = self._read(path, rests_on, both[1], report)
        if earlier is not None:
            report(f"{name}: judged before, and nothing changed")
            return earlier
        judgement = judge()
        if judgement.part.parity is None or judgement.part.failures:
            return judgement  # a result that is missing may come in the next run
        try:
            imports = self._imports(pool, began)
            is_stale = self._grounds(pool, both) != rests_on
        except (grounds.Unknown, SideError) as why:
            report(f"{name}: cannot be resumed: {why}")
            return judgement
        if is_stale:
            report(f"{name}: cannot be resumed: its files changed while it was judged")
            return judgement
        try:
            write_atomically(path, _pack(rests_on, imports, judgement))
        except UnwrittenError as why:
            # A judgement that cannot be kept must not end this run, whose record may still be written.
            report(f"{name}: cannot be resumed: {why}")
        return judgement

    def forget(self) -> None:
        """Remove all that was kept."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove partial files that a killed run has left."""
        for folder in (self._folder, self._folder.parent):
            leftovers.sweep_files(folder, PARTIAL)

    def _path(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.safetensors"

    def _grounds(self, pool: Pool, both: tuple[Prepared, Prepared]) -> str:
        if self._of_run is None:
            self._of_run = grounds.of_run(self._request, record_parts.environment(pool.environments()))
        return f"{self._of_run} {grounds.of_workload(both, self._folder.parent)}"

    def _imports(self, pool: Pool, began: int) -> dict[str, str]:
        """By path, stamps of the files that live sides have imported.

        Raises:
          grounds.Unknown: a file changed since the judgement began, which may have read either version.
          SideError: a side cannot be asked.
        """
        live = [name for name, source in self._request.sources.items() if source.recorded is None]
        paths = {Path(path) for name in live for path in requests.imported(pool.get(name))}
        for path in paths:
            if path.exists() and path.stat().st_mtime_ns > began:
                raise grounds.Unknown(f"{path} was changed while it was judged")
        return {str(path): grounds.file_stamp(path) for path in sorted(paths) if path.exists()}

    def _read(self, path: Path, rests_on: str, large: Prepared, report: Callable[[str], None]) -> Judgement | None:
        if not path.exists():
            return None
        try:
            arrays, _ = files.read_arrays(path, _KEPT, MOST_BYTES)
            if _JSON not in arrays:
                _KEPT.refuse(path, "a safetensors file of something else")
            plain = files.parse(arrays.pop(_JSON).tobytes(), path, _KEPT)
            if not isinstance(plain, dict) or plain.get("format") != FORMAT:
                return None
            judgement = files.convert(plain, _Kept, path, _KEPT)
        except FileError as error:
            report(str(error))
            return None
        if judgement.grounds != rests_on or not _are_unchanged(judgement.files):
            report(f"{large.workload.name}: judged before, but something changed since: judged again")
            return None
        return Judgement(
            judgement.part, judgement.view, judgement.times and _unpack_timed(judgement.times, arrays, large)
        )


def _are_unchanged(stamps: Mapping[str, str]) -> bool:
    try:
        return all(grounds.file_stamp(Path(path)) == stamp for path, stamp in stamps.items())
    except grounds.Unknown:
        return False


def _pack(rests_on: str, imports: Mapping[str, str], judgement: Judgement) -> bytes:
    to_time, arrays = judgement.timed, {}
    times = None
    if to_time is not None:
        programs = {side: record_of(Program).pack(program) for side, program in to_time.programs.items()}
        arrays = {f"{side}/{name}": array for side, reply in programs.items() for name, array in reply.arrays.items()}
        times = {
            "modes": {side: list(modes) for side, modes in to_time.modes.items()},
            "programs": {side: reply.value for side, reply in programs.items()},
            "work": asdict(to_time.work) if to_time.work else None,
            "why_no_work": to_time.why_no_work,
            "main_pass": to_time.main_pass,
            "steps": to_time.steps,
        }
    content = {
        "format": FORMAT, "grounds": rests_on, "files": dict(imports), "part": to_json(judgement.part),
        "view": to_json(judgement.view), "times": times,
    }  # fmt: skip
    head = {_JSON: np.frombuffer(json.dumps(content).encode(), np.uint8)}
    return save(wire.contiguous({**arrays, **head}))


def _unpack_timed(times: _Times, arrays: Mapping[str, Any], large: Prepared) -> Timed:
    programs = {
        side: record_of(Program).unpack(
            program,
            {name.removeprefix(f"{side}/"): array for name, array in arrays.items() if name.startswith(f"{side}/")},
        )
        for side, program in times.programs.items()
    }
    return Timed(large, times.modes, programs, times.work, times.why_no_work, times.main_pass, times.steps)
