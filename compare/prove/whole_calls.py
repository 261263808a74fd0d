"""Runs both programs whole, beside their regions: in a fusion a piece may be computed otherwise than alone.

Where a maximum and what it is subtracted from are computed in two kernels, each rounds in its own way, and at 1e9 an
exponential of "at most 0" overflows: `jax.nn.dot_product_attention` does so, though each of its regions holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from compare.hlo.pair import Pair
from compare.parity.measure import is_float, largest, wide
from compare.parity.rules import AMPLIFIED_FACTOR
from compare.prove.moved_arguments import MANY_ROUNDINGS, ROUNDINGS, grow_spreads
from compare.prove.running import Running, running
from workloads.core.spec import Arrays
from workloads.protocol.framework import Program, Twin

GROSS = 2.0**-6
"""Relative to the largest value of a leaf: smaller errors need no explanation."""


@dataclass(frozen=True)
class WholePrograms:
    """Both programs, compiled.

    Attributes:
      original: TensorFlow's.
      port: the port's.
    """

    original: Running
    port: Running

    def agree(self, calls: Sequence[Arrays], relative: float) -> bool:
        """Whether the port is finite wherever TensorFlow is, and nowhere farther apart than rounding takes TensorFlow.

        Args:
          relative: what rounding leaves of a gradient that vanishes, relative to the largest gradient.
        """
        runs = zip(calls, self.port(calls), self.original(calls), strict=True)
        return all(self._agree_in(call, port, original, relative) for call, port, original in runs)

    def _agree_in(self, call: Arrays, port: Arrays, original: Arrays, relative: float) -> bool:
        gradients = {parameter.name for parameter in self.original.program.parameters}
        if _is_alike(port, original, gradients, relative, {}):
            return True
        arguments = self.original.arguments(call)
        spreads = (
            spread
            for many in (ROUNDINGS, MANY_ROUNDINGS)
            for spread in grow_spreads(self.original, arguments, roundings=many)
        )
        return any(_is_alike(port, original, gradients, relative, spread) for spread in spreads)


def compile_whole(programs: Pair[Program], twin: Twin) -> WholePrograms:
    """Both programs with XLA's default options.

    Raises:
      UnreadableProgram: XLA does not compile one where its framework is not.
    """
    return WholePrograms(running(programs.left, twin, {}), running(programs.right, twin, {}))


def _is_alike(
    port: Arrays, original: Arrays, gradients: Set[str], relative: float, spread: Mapping[str, float]
) -> bool:
    if any(leaf not in port or port[leaf].shape != array.shape for leaf, array in original.items()):
        return False
    floats = {leaf: wide(array) for leaf, array in original.items() if is_float(array)}
    floor = relative * largest([array[np.isfinite(array)] for leaf, array in floats.items() if leaf in gradients])
    floors = {leaf: (floor if leaf in gradients else 0.0) + AMPLIFIED_FACTOR * spread.get(leaf, 0.0) for leaf in floats}
    return all(_is_near(wide(port[leaf]), array, floors[leaf]) for leaf, array in floats.items())


def _is_near(port: np.ndarray, original: np.ndarray, floor: float) -> bool:
    finite = np.isfinite(original)
    actual, expected = port[finite], original[finite]
    if not np.isfinite(actual).all():
        return False
    return bool((np.abs(actual - expected) <= GROSS * largest([expected]) + floor).all())
