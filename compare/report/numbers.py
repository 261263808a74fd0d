"""A number and its unit as text. Pure; a number that is missing or not finite is said, never guessed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compare.record.base import Interval, Number, Scalar

MISSING = "\u2013"

_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_DECIMAL = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")


def finite(value: object) -> float | None:
    """The number, or None for anything that is not one: missing, text, NaN, infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def seconds(value: Number) -> str:
    """Three significant digits in ns, µs, ms or s: 0.00123 is "1.23 ms"."""
    number = finite(value)
    if number is None:
        return _other(value)
    if number == 0:
        return "0 s"
    unit, scale = next((pair for pair in _TIMES if abs(_round(number)) >= pair[1]), _TIMES[-1])
    return f"{_significant(number / scale)} {unit}"


def binary_bytes(value: Number) -> str:
    """Three significant digits in B, KiB, MiB...: 2**24 is "16.0 MiB"."""
    return _scale(value, 1024, _BINARY)


def operations(value: Number) -> str:
    """Floating-point operations with a decimal prefix: 5.37e8 is "537 MFLOP"."""
    return _scale(value, 1000, _DECIMAL)


def error(value: Number) -> str:
    """A relative error or its bound: "1.2e-07", and "0" where nothing differs."""
    number = finite(value)
    if number is None:
        return _other(value)
    return "0" if number == 0 else f"{number:.1e}"


def ratio(value: Number) -> str:
    """A factor of time, three significant digits: "2.31x"."""
    number = finite(value)
    if number is None:
        return f"{value}x" if value in (math.inf, -math.inf) else _other(value)
    return f"{_significant(number)}x"


def interval(bounds: Interval) -> str:
    """The ends of an interval of ratios: "[0.38, 0.42]"."""
    if bounds is None:
        return MISSING
    return f"[{', '.join(ratio(bound).removesuffix('x') for bound in bounds)}]"


def count(value: Number) -> str:
    """A whole number with separators: "1,234,567"."""
    number = finite(value)
    return _other(value) if number is None else f"{number:,.0f}"


def count_of(number: Number, what: str) -> str:
    """A number with what it counts: 1 node, 2 nodes."""
    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def list_first(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are: a, b and 3 more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def scalar(value: Scalar) -> str:
    """Text, a number or a truth value as it stands."""
    return MISSING if value is None else str(value)


def share(value: Number) -> str:
    """A fraction of one in percent: "37 %"."""
    number = finite(value)
    return _other(value) if number is None else f"{100 * number:.0f} %"


def _other(value: Number) -> str:
    return MISSING if value is None else str(value)


def _round(number: float) -> float:
    return float(f"{number:.2e}")


def _significant(number: float) -> str:
    """Three significant digits without an exponent: 12.3, 1.23, 123, 0.0123."""
    value = _round(number)
    decimals = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{number:.{max(decimals, 0)}f}"


def _scale(value: Number, step: int, units: tuple[str, ...]) -> str:
    number = finite(value)
    if number is None:
        return _other(value)
    if abs(number) < step:
        return f"{number:.4g} {units[0]}"
    place = 0
    while abs(float(_significant(number))) >= step and place < len(units) - 1:
        number, place = number / step, place + 1
    return f"{_significant(number)} {units[place]}"
