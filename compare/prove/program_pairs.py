"""Two programs to compare: of the sides of a workload, or from files and dump directories."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compare.errors import RequestError
from compare.hlo.differences import CompiledProgram
from compare.hlo.levels import Subject
from compare.hlo.portable import portable
from compare.inputs import port_files
from compare.inputs.at_size import Prepared, named_apart
from compare.inputs.port_files import prepare_both
from compare.progress import Reporter
from compare.prove.cells import Cells, compile_cells
from compare.prove.collect import Collected, attempt, choose_pass
from compare.prove.references import read_reference
from compare.prove.subjects import Arguments, cases, subjects
from compare.record.program_parts import Compiled
from compare.sides import requests
from compare.sides._side import SIDES
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload
from workloads.core.modes import parse_cell
from workloads.protocol.framework import STEP, Donation, Program


@dataclass(frozen=True)
class Pair:
    """Two programs. The other fields are empty unless the programs are those of a workload.

    Attributes:
      cases: arguments to run both with; empty where these are unknown.
      cells: by "program@compiler", the optimized modules that there are.
      described: by cell, counts and kernel times, or the reason that it is empty.
      donations: by side, the training step compiled as users run it.
      sides: by side, versions and settings.
      pass_: what both programs compute; "" where that is unknown.
      instance: the workload at its size.
    """

    name: str
    left: Subject
    right: Subject
    cases: Sequence[Arguments] = ()
    cells: Mapping[str, CompiledProgram] = field(default_factory=dict)
    described: Mapping[str, Compiled] = field(default_factory=dict)
    donations: Mapping[str, Donation] = field(default_factory=dict)
    sides: Mapping[str, Any] = field(default_factory=dict)
    pass_: str = ""
    instance: Prepared | None = None


@dataclass(frozen=True)
class Choice:
    """The part of a workload to look at. Without a pass, the training step or else the forward pass.

    Attributes:
      compiled: whether each side's XLA compiles the programs too.
      donated: whether each side compiles its training step as users run it.
    """

    pass_: str | None = None
    size: str | None = None
    data: Path | None = None
    compiled: bool = True
    donated: bool = True


def choose_pairs(
    references: Sequence[str | AnyWorkload], pool: Pool, choice: Choice, scratch: Path, reporter: Reporter
) -> Iterator[Pair]:
    """The pairs for references: two programs make one pair, and each workload makes its own.

    A program is WORKLOAD:tf, WORKLOAD:jax, a file, or a dump directory (DIR or DIR:MODULE).

    Raises:
      RequestError: another number of programs than two, programs beside workloads, or no such thing.
      SideError: a side cannot deliver its program.
      UnreadableProgram: XLA does not take a program.
    """
    programs = [reference for reference in references if isinstance(reference, str) and is_program(reference)]
    if not programs:
        for workload in _different(references):
            yield _of_workload(pool, workload, choice, scratch, reporter)
        return
    if len(programs) != 2 or len(references) != 2:
        raise RequestError(
            f"expected two programs, or workloads alone, found {len(programs)} programs of {len(references)} names: "
            "name two programs"
        )
    yield _of_references((programs[0], programs[1]), pool, choice, scratch, reporter)


def _different(references: Sequence[str | AnyWorkload]) -> list[AnyWorkload]:
    """The workloads; all names are looked up before the first is examined."""
    names = dict.fromkeys(reference for reference in references if isinstance(reference, str))
    own: list[AnyWorkload] = [reference for reference in references if not isinstance(reference, str)]
    workloads = own + [port_files.get(name) for name in names]
    named_apart(workloads)
    return workloads


def of_deliveries(
    instance: Prepared, deliveries: Mapping[str, Collected], cells: Cells, sides: Mapping[str, Any]
) -> Pair | None:
    """TensorFlow's program against JAX's, as a run has collected them; None where a side gave none.

    Args:
      deliveries: what each side delivered, by side.
      sides: versions and device by side.

    Raises:
      UnreadableProgram: XLA does not take a program.
    """
    programs = [deliveries[name].portable for name in SIDES if name in deliveries]
    tf, jax = (*programs, None, None)[:2]
    if tf is None or jax is None:
        return None
    pair = subjects(tf, jax)
    by_side: dict[str, Subject] = dict(zip(SIDES, pair, strict=True))
    return Pair(
        name=instance.workload.name,
        left=pair[0],
        right=pair[1],
        cases=cases(tf, jax, instance),
        cells={
            cell: _with_signature(module, by_side[parse_cell(cell).frontend]) for cell, module in cells.modules.items()
        },
        described=cells.described,
        donations={name: delivery.donation for name, delivery in deliveries.items() if delivery.donation},
        sides=sides,
        instance=instance,
    )


def _with_signature(cell: CompiledProgram, program: Subject) -> CompiledProgram:
    """The module with the names of the parameters and results of its program."""
    subject = dataclasses.replace(cell.subject, parameters=program.parameters, results=program.results)
    return dataclasses.replace(cell, subject=subject)


def _of_workload(pool: Pool, workload: AnyWorkload, choice: Choice, scratch: Path, reporter: Reporter) -> Pair:
    pool.renew()
    _, instance = prepare_both(workload, choice.size, choice.data, scratch)
    reporter.stage(f"{workload.name}: programs", 1 + choice.compiled)
    reporter.step("tf program and jax program")
    with ThreadPoolExecutor(len(SIDES)) as threads:
        futures = {name: threads.submit(_collect, pool, name, instance, choice) for name in SIDES}
    deliveries = {name: future.result()[0] for name, future in futures.items()}
    pass_ = futures["jax"].result()[1]
    cells = Cells()
    if choice.compiled:
        reporter.step("four cells")
        cells = compile_cells({name: pool.get(name) for name in SIDES}, deliveries, instance.loading.cases[0])
    pair = of_deliveries(instance, deliveries, cells, pool.environments())
    assert pair is not None
    return dataclasses.replace(pair, pass_=pass_)


def _collect(pool: Pool, name: str, instance: Prepared, choice: Choice) -> tuple[Collected, str]:
    """The results of a side that the alignment needs, and their pass."""
    delivery = Collected(name)
    program, pass_ = _program(pool, name, instance, choice.pass_)
    delivery.main = program
    delivery.portable = dataclasses.replace(program, artifact=portable(program.artifact))
    if pass_ == STEP and choice.donated:
        delivery.donation = attempt(delivery, lambda: requests.donation(pool.get(name)))
    return delivery, pass_


def _of_references(references: tuple[str, str], pool: Pool, choice: Choice, scratch: Path, reporter: Reporter) -> Pair:
    reporter.stage(" and ".join(references), 2)
    pair = [_subject(reference, pool, choice, scratch, reporter) for reference in references]
    labels = _labels([subject.label for subject in pair])
    left, right = (dataclasses.replace(program, label=label) for program, label in zip(pair, labels, strict=True))
    return Pair(f"{references[0]} and {references[1]}", left, right)


def is_program(reference: str) -> bool:
    """Whether a reference names one program, and not a workload with two."""
    return _side_of(reference) is not None or (not reference.endswith(".py") and _is_path(reference))


def _is_path(reference: str) -> bool:
    return Path(reference).exists() or Path(reference.rpartition(":")[0] or reference).is_dir() or "/" in reference


def _side_of(reference: str) -> tuple[str, str] | None:
    workload, _, side = reference.rpartition(":")
    return (workload, side) if workload and side in SIDES else None


def _subject(reference: str, pool: Pool, choice: Choice, scratch: Path, reporter: Reporter) -> Subject:
    reporter.step(reference)
    parts = _side_of(reference)
    if parts is None:
        return read_reference(reference)
    workload = port_files.get(parts[0])
    # Each reference has arrays of its own: one workload may be named twice.
    folder = scratch / f"{len(list(scratch.iterdir()))}"
    folder.mkdir()
    _, instance = prepare_both(workload, choice.size, choice.data, folder)
    program, _ = _program(pool, parts[1], instance, choice.pass_)
    subject, _ = subjects(program, program)
    return dataclasses.replace(subject, label=reference)


def _program(pool: Pool, name: str, instance: Prepared, pass_: str | None) -> tuple[Program, str]:
    """The program of a pass, and which pass that is."""
    side = pool.get(name)
    modes = requests.load(side, instance.loading)
    pass_name = choose_pass(modes, pass_, instance.workload.name)
    return requests.program(side, pass_name, "float32"), pass_name


def _labels(labels: Sequence[str]) -> Sequence[str]:
    return labels if labels[0] != labels[1] else [f"{label} ({number})" for number, label in enumerate(labels, 1)]
