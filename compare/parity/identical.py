"""Finds the modes of the original that a port equals bit for bit."""

from __future__ import annotations

import numpy as np

from compare.parity.evidence import Evidence
from workloads.core.spec import Arrays
from workloads.protocol.framework import FORWARD, GRADIENTS


def bit_equal(evidence: Evidence) -> tuple[str, ...]:
    """The modes of the original whose forward pass and gradients the port's main mode has, bit for bit, in every case.

    A mode that did not run every case that the port ran is not among them.
    """
    port = _runs(evidence, evidence.port)
    modes = evidence.original_modes(FORWARD) if port else ()
    return tuple(mode for mode in modes if _same(port, _runs(evidence, mode)))


def _runs(evidence: Evidence, mode: str) -> dict[tuple[str, str], Arrays]:
    return {
        (pass_, case): arrays
        for (ran, pass_, case), arrays in evidence.outputs.items()
        if ran == mode and pass_ in (FORWARD, GRADIENTS)
    }


def _same(port: dict[tuple[str, str], Arrays], original: dict[tuple[str, str], Arrays]) -> bool:
    return port.keys() == original.keys() and all(same_leaves(port[run], original[run]) for run in port)


def same_leaves(actual: Arrays, expected: Arrays) -> bool:
    """Whether two sets of arrays are equal to the last bit: names, dtypes, shapes and values."""
    return actual.keys() == expected.keys() and all(
        actual[leaf].dtype == expected[leaf].dtype
        and actual[leaf].shape == expected[leaf].shape
        and _same_bits(actual[leaf], expected[leaf])
        for leaf in actual
    )


def _same_bits(actual: np.ndarray, expected: np.ndarray) -> bool:
    """Whether arrays of one dtype and shape have equal bits; reads them in place, as gradients can take gigabytes."""
    if np.iscomplexobj(actual):  # no integer is as wide as complex128
        return _same_bits(np.real(actual), np.real(expected)) and _same_bits(np.imag(actual), np.imag(expected))
    bits = f"u{actual.itemsize}"
    return np.array_equal(actual.view(bits), expected.view(bits))
