"""Both programs as XLA compiles them, beside their regions: fused, a piece may be computed otherwise than alone.

Where a maximum and what it is subtracted from are computed in two kernels, each rounds in its own way, and at 1e9 an
exponential of "at most 0" overflows: `jax.nn.dot_product_attention` does so, though each of its regions holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from compare.hlo.disturbing import disturb_array
from compare.hlo.pair import Pair
from compare.parity.measure import UNIT_ROUNDOFF, is_float, largest, wide
from compare.prove.running import Running, running
from workloads._framework import WEIGHTS, Program, Twin
from workloads._spec import Arrays

GROSS = 2.0**-6
"""Relative to the largest value of a leaf: what no call needs an explanation for."""
SAMPLES = 4
"""How often roundings are moved where a call comes farther apart."""
ROUNDINGS = 64
"""By so many of its own roundings a number is moved, for those of all values inside: of MobileNetV2's gradients, moved
by 8, two samples of eight turned a relu6 that the port turns, and by 64 all eight turned some."""
FACTOR = 4
"""Of what that does to TensorFlow's own results: a relu that decides otherwise takes a gradient far, in either."""


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
          calls: inputs of each.
          relative: what rounding leaves of a gradient that vanishes, relative to the largest gradient.
        """
        runs = zip(calls, self.port(calls), self.original(calls), strict=True)
        return all(self._agree_in(call, port, original, relative) for call, port, original in runs)

    def _agree_in(self, call: Arrays, port: Arrays, original: Arrays, relative: float) -> bool:
        gradients = {parameter.name for parameter in self.original.program.parameters}
        if _is_alike(port, original, gradients, relative, {}):
            return True
        moved = self.original([self._moved(call, seed) for seed in range(SAMPLES)])
        return _is_alike(port, original, gradients, relative, _spread(original, moved))

    def _moved(self, call: Arrays, seed: int) -> Arrays:
        """The inputs of a call and the weights, each number moved by a few roundings of its type."""
        generator, twin = np.random.default_rng(seed), self.original.twin
        weights = {f"{WEIGHTS}{path}": array for path, array in twin.weights.items()}
        return {name: _move(array, generator) for name, array in {**weights, **call}.items()}


def compile_whole(programs: Pair[Program], twin: Twin) -> WholePrograms:
    """Both programs with XLA's default options.

    Args:
      programs: TensorFlow's and the port's.
      twin: has the weights.

    Raises:
      UnreadableProgram: XLA does not compile one where its framework is not.
    """
    return WholePrograms(running(programs.left, twin), running(programs.right, twin))


def _move(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    unit = UNIT_ROUNDOFF.get(array.dtype.name)
    if unit is None:
        return array
    return disturb_array(array, ROUNDINGS * unit, generator).astype(array.dtype)


def _spread(original: Arrays, moved: Sequence[Arrays]) -> Mapping[str, float]:
    """By leaf of floats, how far any element moves with the roundings of inputs and weights."""
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = {
            leaf: [np.abs(wide(one[leaf]) - wide(array)) for one in moved]
            for leaf, array in original.items()
            if is_float(array)
        }
    return {leaf: max(largest([gap[np.isfinite(gap)]]) for gap in of) for leaf, of in gaps.items()}


def _is_alike(
    port: Arrays, original: Arrays, gradients: Set[str], relative: float, spread: Mapping[str, float]
) -> bool:
    if any(leaf not in port or port[leaf].shape != array.shape for leaf, array in original.items()):
        return False
    floats = {leaf: wide(array) for leaf, array in original.items() if is_float(array)}
    floor = relative * largest([array[np.isfinite(array)] for leaf, array in floats.items() if leaf in gradients])
    return all(
        _is_near(wide(port[leaf]), array, (floor if leaf in gradients else 0.0) + FACTOR * spread.get(leaf, 0.0))
        for leaf, array in floats.items()
    )


def _is_near(port: np.ndarray, original: np.ndarray, floor: float) -> bool:
    finite = np.isfinite(original)
    computed, expected = port[finite], original[finite]
    if not np.isfinite(computed).all():
        return False
    return bool((np.abs(computed - expected) <= GROSS * largest([expected]) + floor).all())
