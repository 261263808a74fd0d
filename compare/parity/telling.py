"""Whether the cases can tell ports apart: an output that is the same in all of them agrees with anything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from compare.parity.evidence import TF_REFERENCE, Evidence
from compare.parity.measure import SEMANTICS_BOUND, is_float, wide
from workloads.protocol.framework import FORWARD


def constants(evidence: Evidence) -> dict[str, str]:
    """By output of the original, the one value of all cases, or that none is finite; empty where it varies."""
    return {leaf: _constant(list(_values(evidence, leaf))) for leaf in sorted(_leaves(evidence))}


def _leaves(evidence: Evidence) -> set[str]:
    return {leaf for case in evidence.cases(FORWARD) for leaf in _run(evidence, case)}


def _run(evidence: Evidence, case: str) -> dict[str, np.ndarray]:
    """The original's outputs, in float64 where it has those."""
    outputs = evidence.outputs.get((TF_REFERENCE, FORWARD, case), {})
    return {**outputs, **evidence.doubles.get(("tf", FORWARD, case), {})}


def _values(evidence: Evidence, leaf: str) -> Iterator[np.ndarray]:
    for case in evidence.cases(FORWARD):
        array = _run(evidence, case).get(leaf)
        if array is not None and array.size:
            yield array


def _constant(arrays: list[np.ndarray]) -> str:
    """The common value of all elements; empty if two of them differ by more than a bound would notice."""
    if not arrays:
        return "empty"
    values = np.concatenate([array.ravel() for array in arrays])
    if not is_float(values):
        return str(values[0]) if np.all(values == values[0]) else ""
    values = wide(values)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return "NaN or infinite"
    apart = np.max(np.abs(finite - finite[0]))
    return f"{finite[0]:.6g}" if apart <= SEMANTICS_BOUND * np.max(np.abs(finite)) else ""
