"""Types of options: they convert text of the command line, and refuse it in one line."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable

from compare.errors import RequestError
from compare.sides.settings import available_processors
from workloads.core import modes
from workloads.core.device import CPU, GPU
from workloads.core.modes import Mode

ALL = "all"
"""A number of threads: one per processor."""

MODES = {str(mode): mode for mode in modes.MODES}
"""By name, the modes that can be asked for."""

_MOST_DIGITS = 4
"""The most digits of a device's number."""

_YEAR_S, _LARGEST = 365 * 24 * 3600, sys.float_info.max
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def thread_counts(text: str) -> list[int]:
    """Thread counts, each once, none above the number of processors.

    Args:
      text: "all,1": integers or `all`, separated by commas.

    Raises:
      RequestError: something else.
    """
    available = available_processors()
    counts = [available if number == ALL else _thread_count(number) for number in text.split(",")]
    if max(counts) > available:
        raise RequestError(
            f"expected --threads of at most {available}, the processors of this machine, found {max(counts)}: lower it"
        )
    return list(dict.fromkeys(counts))


def _thread_count(text: str) -> int:
    try:
        return count(text)
    except argparse.ArgumentTypeError as error:
        raise RequestError(f"{error} in --threads: give integers or `{ALL}`, separated by commas") from error


def mode(text: str) -> Mode:
    """A mode that a workload may have: "jax/jit"."""
    if text not in MODES:
        raise argparse.ArgumentTypeError(f"expected a mode of {', '.join(MODES)}, found {text!r}")
    return MODES[text]


def device(text: str) -> tuple[str, int]:
    """The kind of a device and its number: "cpu", "gpu", "gpu:1"."""
    kind, colon, number = text.partition(":")
    if text == CPU:
        return CPU, 0
    if kind != GPU or (colon and not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS)):
        raise argparse.ArgumentTypeError(f"expected a device such as cpu, gpu or gpu:1, found {text!r}")
    return GPU, int(number or 0)


def count(text: str) -> int:
    """A positive integer."""
    return int(_parse_bounded(text, int, 1, "a positive integer"))


def count_or_zero(text: str) -> int:
    """An integer that is not negative."""
    return int(_parse_bounded(text, int, 0, "an integer of at least 0"))


def counts(text: str) -> tuple[int, ...]:
    """Positive integers, separated by commas."""
    return tuple(count(number) for number in text.split(","))


def seconds(text: str) -> float:
    """Seconds, at least a hundredth, and at most a year: the system's clocks take no number of any size."""
    return _parse_bounded(text, float, 0.01, "a positive number of seconds, at most a year", _YEAR_S)


def minutes(text: str) -> float:
    """Minutes, at least a tenth, and at most a year."""
    return _parse_bounded(text, float, 0.1, "a positive number of minutes, at most a year", _YEAR_S / 60)


def fraction(text: str) -> float:
    """A fraction of one: "0.03" or "3%"."""
    kind = (lambda digits: float(digits[:-1]) / 100) if text.endswith("%") else float
    return _parse_bounded(text, kind, 0.001, "a fraction such as 3% or 0.03")


def memory(text: str) -> int:
    """Bytes: "2G", "512M", "100000"."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].upper() in set("KMGT") else (text, "")
    return int(_parse_bounded(number, float, 1, "bytes such as 512M or 2G") * _UNITS[unit])


def tolerance(text: str) -> float:
    """A number that is not negative."""
    return _parse_bounded(text, float, 0.0, "a number of at least 0")


def _parse_bounded(text: str, kind: Callable[[str], float], low: float, what: str, high: float = _LARGEST) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"expected {what}, found {text!r}")
    return value
