"""Inputs far from those of a test: every magnitude that a float type has, offsets, near ties, saturation."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from workloads.core.arrays import power_of_two
from workloads.core.spec import FLOAT8, Arrays, ArraySpec

ALL = "all inputs"
"""The name that a sweep of every float input at once has in place of an input's."""

STEPS = (2, 8, 24)
"""Binary orders between two magnitudes: near 1, where most models live; where a square stays in range; beyond."""
_FINE = 8
"""Magnitudes of up to 2^8 and down to 2^-8 are near 1."""
_MODERATE = 6
"""A model's inputs are swept up to 2^6 times their scale: its weights were never meant for more."""
_LEAST_OFFSET = 4
"""An offset from here on is far larger than the spread of 1 around it."""
_DEEP = 24
"""Binary orders that a value may come closer to an end of its range."""
_FACTOR = 4
"""Binary orders that a formula of equal quality may lose to a constant: x * 2 * 0.5 overflows where x does not."""


@dataclass(frozen=True)
class Probe:
    """One call of a sweep: the input that is moved (or ALL), how, and how far."""

    moved: str
    pattern: str
    magnitude: float

    def __str__(self) -> str:
        return f"{self.moved} {self.pattern}{self.magnitude:.3g}"


def probes(specs: Mapping[str, ArraySpec], moderate: bool, step: int = STEPS[0]) -> Iterator[Probe]:
    """Every call of the sweeps of each float input alone, and of all at once where there are several.

    Args:
      specs: every input of the call.
      moderate: up to 2^6 either way, for models.
    """
    moved_names = swept(specs)
    for name in moved_names:
        yield from _of(name, specs[name], moderate, step)
    if len(moved_names) > 1:
        widest = min((specs[name] for name in moved_names), key=lambda spec: _exponents(spec, moderate, step)[-1])
        yield from (
            probe
            for probe in _of(ALL, widest, moderate, step)
            if all(_takes(name, specs[name], probe) for name in moved_names)
        )


def swept(specs: Mapping[str, ArraySpec]) -> list[str]:
    """The inputs that are swept: real floats that float64 is wider than. Half of float8's digits are two or one."""
    return [
        name
        for name, spec in specs.items()
        if spec.is_float and np.dtype(spec.dtype).kind != "c" and spec.dtype not in ("float64", *FLOAT8)
    ]


def draw_inputs(probe: Probe, specs: Mapping[str, ArraySpec], base: Arrays) -> dict[str, np.ndarray]:
    """The inputs of a call; those that are not moved are as in `base`.

    Args:
      specs: of all inputs, by name.
      base: the inputs as they are otherwise, in the shapes and dtypes of the specs.
    """
    names = swept(specs) if probe.moved == ALL else [probe.moved]
    return {name: _values(probe, name, specs[name]) if name in names else array for name, array in base.items()}


def squares_within(spec: ArraySpec) -> float:
    """How many binary orders above and below 1 an array may lie for the sum of its squares to stay in range."""
    orders = float(ml_dtypes.finfo(np.dtype(spec.dtype)).maxexp)
    # A narrow type has no room for large sums of squares: what breaks a little above 1 counts all the same.
    return max(orders / 2 - _FACTOR - math.log2(math.prod(spec.shape)) / 2, orders / 4)


def _of(name: str, spec: ArraySpec, moderate: bool, step: int) -> Iterator[Probe]:
    exponents = _exponents(spec, moderate, step)
    for pattern in _PATTERNS:
        for exponent in exponents:
            probe = Probe(name, pattern, 2.0**exponent)
            if _takes(name, spec, probe):
                yield probe
    if spec.low is not None and spec.high is not None:
        width = math.floor(math.log2(spec.high - spec.low))
        for pattern in (NEAR_LOW, NEAR_HIGH):
            for exponent in range(width, width - (_MODERATE if moderate else _DEEP), -step):
                yield Probe(name, pattern, 2.0**exponent)


def _takes(name: str, spec: ArraySpec, probe: Probe) -> bool:
    """Whether a call means anything for an input: a spread around an offset that is no larger is no offset."""
    if probe.pattern in (ABOVE, BELOW, OUTLIER) and probe.magnitude < _LEAST_OFFSET:
        return False
    if probe.pattern not in (MIXED, POSITIVE, NEGATIVE) and abs(math.log2(probe.magnitude)) > squares_within(spec):
        return False
    if probe.pattern in (OUTLIER, NEARLY_EQUAL) and math.prod(spec.shape) == 1:
        return False
    if spec.low is None or spec.high is None:
        return True
    values = _values(probe, name, spec)
    return bool((values >= spec.low).all() and (values <= spec.high).all())


def _exponents(spec: ArraySpec, moderate: bool, step: int) -> list[int]:
    """The smallest and largest exponents of 2: the type's, less those for a sum over the array and a factor."""
    if moderate:
        middle = round(math.log2(power_of_two(spec.scale))) if spec.scale else 0
        return list(range(middle - _MODERATE, middle + _MODERATE + 1, step))
    fine, middling, coarse = STEPS
    info = ml_dtypes.finfo(np.dtype(spec.dtype))
    least = int(info.minexp) + _FACTOR
    most = int(info.maxexp) - 1 - math.ceil(math.log2(math.prod(spec.shape))) - _FACTOR
    inner = int(squares_within(spec))
    most = max(most, inner)
    ranges = (range(-_FINE, _FINE + 1, fine), range(-inner, inner + 1, middling), range(0, most, coarse),
              range(0, least, -coarse), (least, most))  # fmt: skip
    return sorted({exponent for numbers in ranges for exponent in numbers if least <= exponent <= most})


def _values(probe: Probe, name: str, spec: ArraySpec) -> np.ndarray:
    generator = np.random.default_rng([zlib.crc32(name.encode()), zlib.crc32(probe.pattern.encode())])
    if probe.pattern in _PATTERNS:
        return _PATTERNS[probe.pattern](generator, probe.magnitude, spec.shape).astype(spec.dtype)
    aside = probe.magnitude * _sizes(generator, spec.shape)
    low, high = spec.low or 0.0, spec.high or 0.0
    return np.clip(low + aside if probe.pattern == NEAR_LOW else high - aside, low, high).astype(spec.dtype)


def _sizes(generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Between 1/4 and 1, the first of them 1."""
    sizes = generator.uniform(0.25, 1, shape)
    sizes.reshape(-1)[:1] = 1
    return sizes


def _mix(generator: np.random.Generator, magnitude: float, shape: tuple[int, ...]) -> np.ndarray:
    return magnitude * _sizes(generator, shape) * generator.choice([-1, 1], shape)


def _positive(generator: np.random.Generator, magnitude: float, shape: tuple[int, ...]) -> np.ndarray:
    return magnitude * _sizes(generator, shape)


def _negative(generator: np.random.Generator, magnitude: float, shape: tuple[int, ...]) -> np.ndarray:
    return -_positive(generator, magnitude, shape)


def _above(generator: np.random.Generator, magnitude: float, shape: tuple[int, ...]) -> np.ndarray:
    return magnitude + generator.standard_normal(shape)


def _below(generator: np.random.Generator, magnitude: float, shape: tuple[int, ...]) -> np.ndarray:
    return generator.standard_normal(shape) - magnitude


def _nearly_equal(generator: np.random.Generator, magnitude: float, shape: tuple[int, ...]) -> np.ndarray:
    return magnitude * (1 + 2.0**-12 * generator.standard_normal(shape))


def _outlier(generator: np.random.Generator, magnitude: float, shape: tuple[int, ...]) -> np.ndarray:
    values = generator.standard_normal(shape)
    values.reshape(-1)[:1] = magnitude
    return values


MIXED, POSITIVE, NEGATIVE = "of both signs, up to ", "positive, up to ", "negative, down to -"
ABOVE, BELOW, NEARLY_EQUAL, OUTLIER = "around ", "around -", "nearly equal to ", "with one element of "
NEAR_LOW, NEAR_HIGH = "above the lower end of its range by up to ", "below the upper end of its range by up to "
"""Patterns, as they are said in front of a magnitude."""

_PATTERNS: Mapping[str, Callable[[np.random.Generator, float, tuple[int, ...]], np.ndarray]] = {
    MIXED: _mix,
    POSITIVE: _positive,
    NEGATIVE: _negative,
    ABOVE: _above,
    BELOW: _below,
    NEARLY_EQUAL: _nearly_equal,
    OUTLIER: _outlier,
}
