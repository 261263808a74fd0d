"""What ran in CUDA graphs by the instructions that it computes: a profile names the graph alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from compare.profiles.programs import Programs
from compare.profiles.traced import Ran
from compare.record.profile_part import DEVICE


def told_of_graphs(runs: Sequence[Ran], programs: Programs) -> list[Ran]:
    """The same runs, those of a GPU by their instructions as far as these can be told.

    Args:
      runs: in any order.
      programs: the modules that they are of.
    """
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
