"""Functions that one value may be of another: each is computed here once more, by NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from compare.hlo.locate._measured import distance, exact, is_float, size

Arrays = Sequence[np.ndarray]
Unary = Callable[[np.ndarray], np.ndarray]

_ROUNDED = 3e-7
"""Constants of frontends are rounded to float32."""
_FEWEST = 3
"""Numbers that differ from each other, and from 0 and 1: of fewer, one function looks like another."""
_POWERS = (-3.0, -2.0, -1.5, -1.0, -0.5, 1 / 3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0)

_SELU = 1.0507009873554805, 1.6732632423543772

ACTIVATIONS: dict[str, Unary] = {
    "nothing": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": special.expit,
    "tanh": np.tanh,
    "silu": lambda x: x * special.expit(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "softplus": lambda x: np.logaddexp(x, 0),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: _SELU[0] * np.where(x > 0, x, _SELU[1] * np.expm1(np.minimum(x, 0))),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_sigmoid of slope 0.2": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "hard_silu": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "squared relu": lambda x: np.maximum(x, 0) ** 2,
    "gelu": lambda x: x * special.ndtr(x),
    "gelu by tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu by sigmoid": lambda x: x * special.expit(1.702 * x),
}
FUNCTIONS: dict[str, Unary] = {
    "nothing": lambda x: x,
    "abs": np.abs,
    "square": np.square,
    "root": np.sqrt,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arctan": np.arctan,
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "erf": special.erf,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "one over it": lambda x: 1 / x,
    "relu": lambda x: np.maximum(x, 0),
}
GELUS = ("gelu", "gelu by tanh", "gelu by sigmoid")
RELU = "relu"
SOFTMAXES = ("softmax", "log_softmax")


@dataclass(frozen=True)
class Function:
    """A function by its name; `slope` is that of a leaky relu below 0, None of any other."""

    name: str
    slope: float | None = None

    def __str__(self) -> str:
        return self.name if self.slope is None else f"{self.name} of slope {self.slope:.6g}"


@dataclass(frozen=True)
class Reduction:
    """A reducer, or a softmax, and the axes that it goes over."""

    reducer: str
    axes: tuple[int, ...]


def is_told_apart(arrays: Arrays) -> bool:
    """Whether there are enough different numbers to tell functions of them apart."""
    values = np.unique(np.concatenate([exact(array).ravel() for array in arrays]))
    return int(np.sum(np.isfinite(values) & (values != 0) & (np.abs(values) != 1))) >= _FEWEST


def same(expected: np.ndarray, actual: np.ndarray, bound: float) -> bool:
    """Whether they agree up to the bound and what rounded constants explain."""
    if expected.size != actual.size:
        return False
    return distance(exact(expected).ravel(), actual.ravel()) <= bound + _ROUNDED * size(expected)


def activation(x: Arrays, y: Arrays, bounds: Sequence[float]) -> Function | None:
    """The activation that maps each element of x to y.

    Args:
      x: by case, floats of any shape.
      y: by case, as many floats.
      bounds: by case, the largest difference that rounding explains.

    Returns:
      None of no activation that is listed here.
    """
    for name, function in ACTIVATIONS.items():
        if _everywhere(function, x, y, bounds):
            return Function(name)
    slope = _slope(x, y)
    if slope is not None and _everywhere(lambda values: np.where(values > 0, values, slope * values), x, y, bounds):
        return Function("leaky relu", float(f"{slope:.6g}"))
    return None


def function(x: Arrays, y: Arrays, bounds: Sequence[float]) -> Function | None:
    """The elementwise function, other than an activation, that maps x to y."""
    names = (name for name, function in FUNCTIONS.items() if _everywhere(function, x, y, bounds))
    return next(map(Function, names), None)


def _everywhere(function: Unary, x: Arrays, y: Arrays, bounds: Sequence[float]) -> bool:
    with np.errstate(all="ignore"):
        return all(
            same(b, function(exact(a)), bound) for a, b, bound in zip(x, y, bounds, strict=True)
        )  # fmt: skip


def _slope(x: Arrays, y: Arrays) -> float | None:
    a, b = exact(x[0]).ravel(), exact(y[0]).ravel()
    # Of numbers of one sign alone it is no more than a factor.
    if not (a < 0).any() or not (a > 0).any():
        return None
    lowest = int(np.argmin(a))
    return float(b[lowest] / a[lowest])


def power(x: Arrays, y: Arrays, bounds: Sequence[float]) -> float | None:
    """The exponent where every element is the same power of another.

    Args:
      x: the bases, as of `activation`.
    """
    for exponent in _POWERS:
        if _everywhere(lambda base, by=exponent: base**by, x, y, bounds):
            return exponent
    return None


def _floor_mod(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a - b * np.floor(a / b)


DIVISIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "the quotient": lambda a, b: a / b,
    "the quotient rounded down": lambda a, b: np.floor(a / b),
    "the quotient rounded towards zero": lambda a, b: np.trunc(a / b),
    "the quotient rounded up": lambda a, b: np.ceil(a / b),
    "the quotient rounded to the nearest": lambda a, b: np.round(a / b),
    "the remainder of rounding down": _floor_mod,
    "the remainder of rounding towards zero": lambda a, b: np.fmod(a, b),
}


def division(a: Arrays, b: Arrays, y: Arrays, bounds: Sequence[float]) -> str:
    """The kind of division of two values that gives a third; "" if none does.

    Args:
      a: by case, the dividend.
      b: by case, the divisor, of the same size.
      y: by case, what may be their quotient or remainder.
      bounds: by case, the largest difference that rounding explains.
    """
    # The result of a division by zero does not depend on rounding.
    all_positions = [np.flatnonzero(exact(array).ravel()) for array in b]
    if not (is_told_apart(a) and a[0].size == b[0].size == y[0].size):
        return ""
    cases = [
        (*(exact(array).ravel()[positions].astype(float) for array in arrays), bound)
        for positions, *arrays, bound in zip(all_positions, a, b, y, bounds, strict=True)
    ]
    for name, function in DIVISIONS.items():
        with np.errstate(all="ignore"):
            if all(same(quotient, function(one, other), bound) for one, other, quotient, bound in cases):
                return name
    return ""


def cumulative(x: Arrays, y: Arrays, bounds: Sequence[float]) -> CumulativeSum | None:
    """The cumulative sum of x that gives y; None if none does."""
    rank = x[0].ndim
    for axis, exclusive, reverse in itertools.product(range(rank), (False, True), (False, True)):
        sums = [_running(exact(array), axis, exclusive, reverse) for array in x]
        if all(same(*pair) for pair in zip(y, sums, bounds, strict=True)):
            return CumulativeSum(axis, exclusive, reverse)
    return None


@dataclass(frozen=True)
class CumulativeSum:
    """A running sum along an axis: whether it leaves out the element itself, and whether it starts from the end."""

    axis: int
    exclusive: bool
    reverse: bool

    def __str__(self) -> str:
        return f"{'exclusive ' * self.exclusive}{'reverse ' * self.reverse}sums along axis {self.axis}"


def _running(x: np.ndarray, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
    x = np.flip(x, axis) if reverse else x
    running = np.cumsum(x, axis) - x * exclusive
    return np.flip(running, axis) if reverse else running


REDUCERS: dict[str, Callable[..., np.ndarray]] = {
    "sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "product": np.prod,
    "root of the sum of squares": lambda x, axis: np.sqrt(np.sum(np.square(x), axis=axis)),
    "softmax": lambda x, axis: special.softmax(x, axis=axis),
    "log_softmax": lambda x, axis: special.log_softmax(x, axis=axis),
}  # fmt: skip


def reduction(x: Arrays, y: Arrays, bounds: Sequence[float]) -> Reduction | None:
    """How y reduces x; None where it does not in any way that is listed here.

    Args:
      x: by case, an array of any shape.
      y: by case, what may be its reduction.
      bounds: by case, the largest difference that rounding explains.
    """
    if not x[0].size or x[0].dtype.kind == "c":
        return None
    for axes in _axes(x[0].ndim):
        for name, function in REDUCERS.items():
            if name in SOFTMAXES and not np.isfinite(x[0]).all():
                continue
            with np.errstate(all="ignore"):
                reductions = [np.asarray(function(exact(array), axis=axes)) for array in x]
            if all(same(*pair) for pair in zip(y, reductions, bounds, strict=True)):
                return Reduction(name, axes)
    return None


def _axes(rank: int) -> Iterator[tuple[int, ...]]:
    for many in range(1, rank + 1):
        yield from itertools.combinations(range(rank), many)


def describe_order(x: Arrays, y: Arrays) -> str:
    """How the elements of a value were put into another order, "" where they were not or otherwise."""
    rank = x[0].ndim
    for axes in _axes(rank):
        if all(np.array_equal(np.flip(a, axes).ravel(), b.ravel()) for a, b in zip(x, y, strict=True)):
            return f"reversed along {_join(axes)}"
    for order in itertools.permutations(range(rank)):
        if all(np.array_equal(np.transpose(a, order).ravel(), b.ravel()) for a, b in zip(x, y, strict=True)):
            return f"transposed by {_join(order)}"
    for axis, by in itertools.product(range(rank), (1, -1)):
        if all(np.array_equal(np.roll(a, by, axis).ravel(), b.ravel()) for a, b in zip(x, y, strict=True)):
            return f"rolled by {by} along {axis}"
    return ""


def _join(axes: Sequence[int]) -> str:
    return ", ".join(map(str, axes))


def factor(x: Arrays, y: Arrays, bounds: Sequence[float], few: bool = False) -> float | None:
    """The constant factor between two values; None if there is none.

    Args:
      x: by case, floats of any shape.
      y: by case, as many floats.
      bounds: by case, the largest difference that rounding explains.
      few: whether a single number is enough to tell it by.
    """
    if not all(map(is_float, (*x, *y))) or not (few or is_told_apart(x)):
        return None
    a, b = (np.concatenate([exact(array).ravel() for array in arrays]) for arrays in (x, y))
    if a.size != b.size:
        return None
    largest = int(np.argmax(np.where(np.isfinite(a), np.abs(a), 0)))
    if not a[largest] or not np.isfinite(b[largest]) or not b[largest]:
        return None
    ratio = complex(b[largest] / a[largest])
    multiple = ratio.real
    if abs(ratio.imag) > _ROUNDED * abs(multiple):
        return None
    return multiple if _everywhere(lambda value: value * multiple, x, y, bounds) else None
