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
    told = list(runs)
    streams: dict[tuple[tuple[str, str], int], list[int]] = defaultdict(list)
    for at in sorted(range(len(runs)), key=lambda at: runs[at].start):
        if runs[at].kind == DEVICE and runs[at].module[0]:
            streams[runs[at].module, runs[at].thread].append(at)
    for (module, _), places in streams.items():
        schedule = programs.schedule(module)
        if schedule is None:
            continue
        names = schedule.instructions([runs[at].name for at in places])
        for at, name in zip(places, names, strict=True):
            told[at] = replace(runs[at], name=name)
    return told
