"""Compiler options screened for a device that is not here, by what can be known without running anything.

Fewer launches, fewer bytes and no spills are no times: what comes out first is worth trying first on the device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from compare.devices import describing
from compare.devices.device import Device
from compare.errors import RequestError
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.portable import portable
from compare.progress import Reporter
from compare.prove.on_targets import Lowered, compile_one, lower_program
from compare.prove.subjects import subject
from compare.record.target_part import OnTarget
from compare.sides._side import Side, SideError
from compare.sides.device_worker import DeviceWorker, Targets, missing
from compare.tuning import candidate_options
from compare.tuning.candidate_options import Option, Options

DEFAULT = "default"


@dataclass(frozen=True)
class Screened:
    """The program compiled with some options.

    Attributes:
      name: the options, as XLA_FLAGS would say them without dashes; "default" is none.
      options: by name.
      cell: what came out, or the reason why nothing did.
      spill_bytes: of a thread of each kernel, all kernels together; None where nothing was assembled.
      changes_numbers: whether one of them allows other results.
      same: whether it came out as without options, in everything that is counted.
    """

    name: str
    options: Options
    cell: OnTarget
    spill_bytes: int | None = None
    changes_numbers: bool = False
    same: bool = False


@dataclass(frozen=True)
class ScreenedTarget:
    """All candidates on one device, the most promising first and the default among them; or why there are none."""

    device: Device
    rows: tuple[Screened, ...] = ()
    reason: str = ""


def screen(
    targets: Targets,
    side: Side,
    pass_: str,
    options: Sequence[Option] | None,
    keep_numbers: bool,
    folder: Path,
    reporter: Reporter,
) -> dict[str, ScreenedTarget]:
    """By device, the port's program compiled with each value of each option.

    Args:
      pass_: "forward", "gradients" or "step".
      options: to try; None takes those that are built in for the device's platform.
      keep_numbers: whether options that allow other results are left out.

    Raises:
      SideError: the port cannot be lowered.
      RequestError: none of the options is left to try.
    """
    results = {}
    for device in targets.devices:
        space = options or candidate_options.SPACE.get(device.platform, ())
        tried_options = [option for option in space if not (keep_numbers and option.changes_numbers)]
        reason = missing(targets.worker, device)
        if not tried_options:
            reason = reason or f"expected options to try on {device.name}, found none built in: name them with --option"
        if reason:
            results[device.name] = ScreenedTarget(device, reason=reason)
            continue
        program = lower_program(side, pass_, device.platform)
        candidates = {DEFAULT: {}, **candidate_options.singles(tried_options)}
        reporter.stage(f"{device.name}: candidates", len(candidates))
        rows: list[Screened] = []
        for name, options_chosen in candidates.items():
            reporter.step(name)
            changes = candidate_options.loose(options_chosen, tried_options)
            row = Screened(name, options_chosen, OnTarget(), changes_numbers=changes)
            rows.append(_screen(targets.worker, device, program, row, folder / f"{device.name}-{len(rows)}"))
        results[device.name] = ScreenedTarget(device, _rank(rows))
    if all(target.reason for target in results.values()):
        raise RequestError(next(target.reason for target in results.values()))
    return results


def _screen(worker: DeviceWorker, device: Device, program: Lowered, candidate: Screened, dump: Path) -> Screened:
    try:
        artifact = portable(program.program.artifact)
        program_subject = subject("jax", program.program)
        compilation, compile_s = compile_one(worker, device, artifact, program_subject, dump, options=candidate.options)
        cell = describing.describe(device, compilation)
    except (SideError, UnreadableProgram) as error:
        return replace(candidate, cell=OnTarget(reason=error.reason if isinstance(error, SideError) else str(error)))
    spills = sum(launch.spill_bytes or 0 for launch in cell.launched) if compilation.reports else None
    return replace(candidate, cell=msgspec.structs.replace(cell, compile_s=compile_s), spill_bytes=spills)


def _rank(rows: Sequence[Screened]) -> tuple[Screened, ...]:
    default = next(row for row in rows if row.name == DEFAULT)
    marked_rows = [replace(row, same=row is not default and _counts(row) == _counts(default)) for row in rows]
    return tuple(sorted(marked_rows, key=_promise))


def _counts(row: Screened) -> tuple[object, ...]:
    """Everything that is counted, but for the seconds of compiling."""
    return row.spill_bytes, msgspec.structs.replace(row.cell, compile_s=None)


def _promise(row: Screened) -> tuple[bool, float, int, int, int]:
    """By the bound, then by launches, spills and intermediates; what did not compile stands last."""
    cell = row.cell
    return (
        bool(cell.reason),
        cell.bound_s or 0.0,
        cell.launches or cell.kernels or 0,
        row.spill_bytes or 0,
        cell.temp_bytes or 0,
    )


def view(targets: Mapping[str, ScreenedTarget]) -> dict[str, object]:
    """The targets for the record, without the description of devices."""
    return {name: {"reason": target.reason, "rows": target.rows} for name, target in targets.items()}
