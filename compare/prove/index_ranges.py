"""Integers that index a table and have no range: drawn anew within it where the original refuses what lies beyond."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compare.hlo.bindings import UnreadableProgram
from compare.inputs.at_size import Prepared, with_arrays
from compare.parity import messages
from compare.parity.evidence import TF_REFERENCE
from compare.prove.both_sides import both
from compare.prove.collect import FLOAT32, Collected
from compare.prove.further import is_free_integer, use_of
from compare.prove.subjects import Readable, twin_of
from compare.record.workload_part import Failure
from compare.sides._side import SIDES
from workloads._framework import FORWARD
from workloads._spec import Arrays

Tables = Mapping[str, int]
"""By input, how many elements there are to pick from."""


def collect_within_tables(
    prepared: Prepared, collect: Callable[[str, Prepared], Collected], failures: list[Failure]
) -> tuple[dict[str, Collected], Prepared, Tables]:
    """What both sides deliver; asked once more where the original refuses indices that nobody asked for.

    Args:
      prepared: the workload, and the arrays that it is judged on.
      collect: asks the side of a name.
      failures: the list that failures of both sides are added to.
    """
    first: list[Failure] = []
    collected = both(first, lambda name: collect(name, prepared))
    tables = _tables(prepared, collected)
    if not tables:
        failures += first
        return collected, prepared, {}
    within = drawn_within(prepared, tables)
    collected = both(failures, lambda name: collect(name, within))
    if "tf" in collected:
        collected["tf"].remarks += [messages.drawn_within(name, table) for name, table in tables.items()]
    return collected, within, tables


def drawn_within(prepared: Prepared, tables: Tables) -> Prepared:
    """The same workload, its indices within their tables.

    Args:
      prepared: the workload, and the arrays that it is judged on.
      tables: by input, how many elements there are to pick from.
    """
    twin = twin_of(prepared)

    def within(arrays: Arrays) -> dict[str, np.ndarray]:
        return {name: array % array.dtype.type(tables.get(name, 0) or 1) if name in tables else array
                for name, array in arrays.items()}  # fmt: skip

    cases = {case: within(arrays) for case, arrays in twin.cases.items()}
    return with_arrays(prepared, cases, twin.weights, within(twin.batches))


def _tables(prepared: Prepared, collected: Mapping[str, Collected]) -> dict[str, int]:
    """The tables of inputs that hold more than these have; nothing where the original computes every case."""
    loading, original = prepared.loading, collected.get("tf")
    if (
        original is None
        or original.lost
        or all((TF_REFERENCE, FORWARD, case) in original.outputs for case in loading.cases)
    ):
        return {}
    written = {side: of.programs.get((FORWARD, FLOAT32)) for side, of in collected.items() if side in SIDES}
    programs = [Readable(side, program) for side, program in written.items() if program is not None]
    twin = twin_of(prepared)
    try:
        known = {name: _table(programs, name) for name, spec in prepared.inputs.items() if is_free_integer(spec)}
    except UnreadableProgram:
        return {}
    drawn = {name: max(int(arrays[name].max(initial=0)) for arrays in twin.cases.values()) for name in known}
    return {name: table for name, table in known.items() if 0 < table <= drawn[name]}


def _table(programs: Sequence[Readable], name: str) -> int:
    told = use_of(programs, name)
    return told.table if told.indexes and not told.counts else 0
