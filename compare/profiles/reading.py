"""A user's own profile as a record: every kernel and operation with its time, phase and lines, and the pauses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from compare.hlo import kernel_times, step_phases
from compare.hlo.kernel_times import LocatedKernel
from compare.profiles import spent, traced
from compare.profiles.finding_profiles import Recorded
from compare.profiles.programs import Instruction, Key, Programs
from compare.profiles.shared_work import shared_times
from compare.profiles.traced import HostSpan, Ran, Traced
from compare.record.envelope import SCHEMA
from compare.record.profile_part import DEVICE, NODE, Pause, PhaseTime, ProfiledKernel, ProfiledLine, ReadProfile
from compare.record.vocabulary import BACKWARD, BOTH

_PICOSECOND = 1e-12


def read_profile(recording: Recorded, dump: Mapping[Key, bytes] | None = None) -> ReadProfile:
    """Read the files of a profile.

    Args:
      dump: optimized modules by name and number, for those that the profile does not hold.

    Raises:
      RequestError: a file cannot be read, or is no profile.
    """
    trace = traced.read(recording.files)
    programs = Programs(trace.modules, dump)
    trace.runs = told_of_graphs(trace.runs, programs)
    kernels = _kernels(trace, programs)
    return ReadProfile(
        schema=SCHEMA,
        files=tuple(map(str, recording.files)),
        span_s=_span(trace.runs),
        busy_s=_seconds(sum(end - start for start, end in spent.merge((run.start, run.done) for run in trace.runs))),
        kernels=kernels,
        phases=_phases(kernels),
        lines=_lines(kernels),
        pauses=_pauses(trace.runs, trace.host),
        notes=tuple(_notes(recording, trace, programs, kernels)),
    )


def _seconds(picoseconds: int) -> float:
    return picoseconds * _PICOSECOND


def _span(runs: Sequence[Ran]) -> float:
    return _seconds(max(run.done for run in runs) - min(run.start for run in runs)) if runs else 0.0


def _kernels(trace: Traced, programs: Programs) -> tuple[ProfiledKernel, ...]:
    own = spent.own_times(trace.runs, lambda run: programs.instruction(run.module, run.name).opcode)
    times_elsewhere = shared_times(trace.runs, trace.tasks)
    groups: dict[tuple[str, Key, str, str], list[int]] = defaultdict(list)
    for run, length, elsewhere in zip(trace.runs, own, times_elsewhere, strict=True):
        groups[run.kind, run.module, run.name, run.operation].append(length + elsewhere)
    of_nodes = dict(step_phases.of_operations({name for kind, _, name, _ in groups if kind == NODE}))
    total = sum(own) + sum(times_elsewhere) or 1
    kernels = [
        ProfiledKernel(
            name=name,
            kind=kind,
            module=key[0],
            opcode=instruction.opcode,
            op_name=instruction.op_name,
            phase=instruction.phase,
            runs=len(lengths),
            seconds=_seconds(sum(lengths)),
            longest_s=_seconds(max(lengths)),
            share=sum(lengths) / total,
            sources=instruction.sources,
        )
        for (kind, key, name, operation), lengths in groups.items()
        for instruction in [
            programs.instruction(key, name) if key[0] else Instruction(operation, "", of_nodes.get(name, ""))
        ]
    ]
    return tuple(sorted(kernels, key=lambda kernel: (-(kernel.seconds or 0.0), kernel.module, kernel.name)))


def _phases(kernels: Sequence[ProfiledKernel]) -> tuple[PhaseTime, ...]:
    """Kernels by phase; nothing where there is no backward one, and so no training step."""
    groups: dict[str, list[ProfiledKernel]] = defaultdict(list)
    for kernel in kernels:
        groups[kernel.phase].append(kernel)
    if not groups.keys() & {BACKWARD, BOTH}:
        return ()
    times = [
        PhaseTime(
            phase=phase,
            kernels=len(group),
            seconds=sum(kernel.seconds or 0.0 for kernel in group),
            share=sum(kernel.share or 0.0 for kernel in group),
        )
        for phase, group in groups.items()
    ]
    return tuple(sorted(times, key=lambda time: -(time.seconds or 0.0)))


def _lines(kernels: Sequence[ProfiledKernel]) -> tuple[ProfiledLine, ...]:
    with_lines = [
        LocatedKernel(kernel.name, kernel.seconds or 0.0, kernel.runs or 0, kernel.share or 0.0, "", kernel.sources)
        for kernel in kernels
    ]
    return tuple(
        ProfiledLine(source=line.source, seconds=line.seconds, kernels=line.kernels)
        for line in kernel_times.lines(with_lines)
    )


def _pauses(runs: Sequence[Ran], host: Sequence[HostSpan]) -> tuple[Pause, ...]:
    groups = spent.by_kernels(spent.pauses(runs), host)
    pauses = []
    for (before, after), group in groups.items():
        name, longest = max(group.host.items(), key=lambda entry: entry[1], default=("", 0))
        pauses.append(
            Pause(
                before=before,
                after=after,
                times=group.times,
                seconds=_seconds(group.length),
                host=name,
                host_s=_seconds(longest) if name else None,
            )
        )
    return tuple(sorted(pauses, key=lambda pause: -(pause.seconds or 0.0)))


def _notes(recording: Recorded, trace: Traced, programs: Programs, kernels: Sequence[ProfiledKernel]) -> Iterator[str]:
    if recording.older:
        yield f"the newest of {recording.older + 1} profiles in this folder: name a file to read another"
    if not trace.runs:
        yield "no kernel and no operation ran while this profile was recorded: call the function within the trace"
    for name, reason in programs.problems.items():
        yield f"module {name} cannot be read, and its kernels have neither opcodes nor lines: {reason}"
    lacking = Counter(run.module[0] for run in trace.runs if run.module[0] and not programs.has(run.module))
    for name in lacking:
        yield f"the profile does not hold module {name}: name a dump of it with --dump"
    if any(run.module[0] for run in trace.runs) and not any(kernel.sources for kernel in kernels):
        yield "no module names a line of your code, as TensorFlow's do not: look for the frontend's names"


def told_of_graphs(runs: Sequence[Ran], programs: Programs) -> list[Ran]:
    """The runs, with instructions for those of a GPU that the profile names."""
    result = list(runs)
    streams: dict[tuple[tuple[str, str], int], list[int]] = defaultdict(list)
    for index in sorted(range(len(runs)), key=lambda index: runs[index].start):
        if runs[index].kind == DEVICE and runs[index].module[0]:
            streams[runs[index].module, runs[index].thread].append(index)
    for (module, _), places in streams.items():
        schedule = programs.schedule(module)
        if schedule is None:
            continue
        names = schedule.instructions([runs[index].name for index in places])
        for index, name in zip(places, names, strict=True):
            result[index] = replace(runs[index], name=name)
    return result
