"""Draws integers that index a table anew, within the table, where the original refuses indices beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from compare.hlo.bindings import UnreadableProgram
from compare.inputs.at_size import Prepared, with_arrays
from compare.parity.evidence import TF_REFERENCE
from compare.prove.collect import FLOAT32, Collected
from compare.prove.further import is_free_integer, use_of
from compare.prove.subjects import Readable, twin_of
from compare.sides._side import SIDES
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD

Tables = Mapping[str, int]
"""By input, how many elements its table has."""


def find_tables(instance: Prepared, deliveries: Mapping[str, Collected]) -> Tables:
    """The tables of inputs with indices beyond them; empty where the original computes every case.

    Args:
      deliveries: what each side delivered of the forward pass, by side.
    """
    loading, original = instance.loading, deliveries.get("tf")
    if (
        original is None
        or original.lost
        or all((TF_REFERENCE, FORWARD, case) in original.outputs for case in loading.cases)
    ):
        return {}
    candidates = {side: of.programs.get((FORWARD, FLOAT32)) for side, of in deliveries.items() if side in SIDES}
    programs = [Readable(side, program) for side, program in candidates.items() if program is not None]
    twin = twin_of(instance)
    try:
        tables = {name: _table(programs, name) for name, spec in instance.inputs.items() if is_free_integer(spec)}
    except UnreadableProgram:
        return {}
    maxima = {name: max(int(arrays[name].max(initial=0)) for arrays in twin.cases.values()) for name in tables}
    return {name: table for name, table in tables.items() if 0 < table <= maxima[name]}


def draw_within(instance: Prepared, tables: Tables) -> Prepared:
    """The workload with indices within their tables.

    Args:
      tables: by input, how many elements its table has.
    """
    twin = twin_of(instance)

    def within(arrays: Arrays) -> dict[str, np.ndarray]:
        return {name: array % array.dtype.type(tables.get(name, 0) or 1) if name in tables else array
                for name, array in arrays.items()}  # fmt: skip

    cases = {case: within(arrays) for case, arrays in twin.cases.items()}
    return with_arrays(instance, cases, twin.weights, within(twin.batches))


def _table(programs: Sequence[Readable], name: str) -> int:
    input_use = use_of(programs, name)
    return input_use.table if input_use.indexes and not input_use.counts else 0
