"""Text on both programs compiled for a device, for pages and the console. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from compare.record.base import Number
from compare.record.target_part import OnTarget, Target
from compare.report import numbers
from compare.report.showable import present
from workloads.core.modes import JAX, TF, Cell

CELLS = {side: str(Cell(side, JAX)) for side in (TF, JAX)}
"""By frontend, its program compiled by JAX's XLA."""

PROGRAMS = {TF: "TensorFlow's program", JAX: "the port"}
UNKNOWN = "the record does not say why"
_LONGEST_REASON = 200
COMPILED_IN = "compiled here in"
FITS = {True: "yes", False: "no", None: numbers.MISSING}
"""Whether a program fits into the memory of a device, as text."""


@dataclass(frozen=True)
class Figure:
    """One figure of both cells; `exact` where a text is rounded."""

    title: str
    texts: tuple[str, str]
    exact: tuple[str, str] = ("", "")

    @property
    def differs(self) -> bool:
        """Whether both are known, are not the same, and say something of the module."""
        is_known = self.title != COMPILED_IN and numbers.MISSING not in self.texts
        return is_known and (self.texts[0] != self.texts[1] or self.exact[0] != self.exact[1])


def of_sides(target: Target) -> dict[str, OnTarget]:
    """By frontend, its program there; with a reason where there is no module."""
    both = {TF: present(target.tf), JAX: present(target.jax)}
    return {side: cell or OnTarget(reason=UNKNOWN) for side, cell in both.items()}


def sentence(name: str, target: Target) -> str:
    """A sentence, without a full stop, on the differences between port and original on the device."""
    tf, jax = of_sides(target).values()
    if tf.reason and jax.reason:
        why = f": {brief(jax.reason)}" if tf.reason == jax.reason else ""
        return f"For {name}, XLA compiles neither program{why}"
    if tf.reason or jax.reason:
        there, missing = (PROGRAMS[JAX], PROGRAMS[TF]) if tf.reason else (PROGRAMS[TF], PROGRAMS[JAX])
        only, why = (jax, brief(tf.reason)) if tf.reason else (tf, brief(jax.reason))
        return f"On {name}, XLA makes {' '.join(_count_texts(only))} of {there}, and nothing of {missing}: {why}"
    return "; ".join(filter(None, (f"On {name}, {_module_sentence(tf, jax)}", _bounds(tf, jax), _too_large(target))))


def brief(reason: str) -> str:
    """The beginning of a reason that fits into a sentence: compilers give pages of text."""
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]} …"


def figures(target: Target) -> Iterator[Figure]:
    """Every figure of both cells."""
    cells = tuple(of_sides(target).values())
    for title, count in (("kernels", "kernels"), ("launches", "launches"), ("fusions", "fusions")):
        yield Figure(title, _texts(numbers.count(getattr(cell, count)) for cell in cells))
    yield Figure("library calls", _texts(map(library_calls, cells)))
    yield _bytes("intermediates", (cell.temp_bytes for cell in cells))
    yield _bytes("peak memory", (cell.peak_bytes for cell in cells))
    yield Figure("fits into the device", _texts(FITS[cell.fits] for cell in cells))
    if any(cell.largest_batch or cell.too_large_batch for cell in cells):
        yield Figure("largest batch", _texts(map(largest_batch, cells)))
    yield _bytes("read and written", (cell.bytes for cell in cells))
    yield _exactly("operations of the program", numbers.operations, 1000, (cell.flops for cell in cells))
    yield Figure("bound", _texts(map(bound, cells)))
    yield Figure("lowered for", _texts(cell.lowered_for or numbers.MISSING for cell in cells))
    yield Figure(COMPILED_IN, _texts(numbers.seconds(cell.compile_s) for cell in cells))


def bound(cell: OnTarget) -> str:
    """The least time of a call and its bound: "45.2 ns by memory"."""
    seconds = numbers.seconds(cell.bound_s)
    return f"{seconds} by {cell.bound_by}" if cell.bound_by else seconds


def largest_batch(cell: OnTarget) -> str:
    """The largest batch that fits, and the next that was tried: "3,000 (3,093 does not fit)"."""
    fits, too_large = cell.largest_batch, cell.too_large_batch
    if not fits:
        return f"none ({numbers.count(too_large)} does not fit)" if too_large else numbers.MISSING
    if not too_large:
        return f"at least {numbers.count(fits)}"
    return f"{numbers.count(fits)} ({numbers.count(too_large)} does not fit)"


def library_calls(cell: OnTarget) -> str:
    """Calls by library: "5 cuBLASLt"."""
    if cell.reason:
        return numbers.MISSING
    return ", ".join(f"{numbers.count(calls)} {library}" for library, calls in cell.library_calls.items()) or "none"


def _module_sentence(tf: OnTarget, jax: OnTarget) -> str:
    (count, unit), (other_count, other_unit) = _count_texts(jax), _count_texts(tf)
    one, other = f"{count} {unit}", f"{other_count} {other_unit}"
    others = other_count if unit == other_unit else other
    sentence = (
        f"{one} of either program" if one == other else f"{one} of {PROGRAMS[JAX]} and {others} of {PROGRAMS[TF]}"
    )
    if jax.temp_bytes is None or tf.temp_bytes is None:
        return f"XLA makes {sentence}"
    temps = [numbers.binary_bytes(cell.temp_bytes) for cell in (jax, tf)]
    apart = f"{temps[0]} of intermediates for {PROGRAMS[JAX]} and {temps[1]} for {PROGRAMS[TF]}"
    return f"XLA makes {sentence}, with {f'{temps[0]} of intermediates each' if temps[0] == temps[1] else apart}"


def _count_texts(cell: OnTarget) -> tuple[str, str]:
    """How much of what a runtime launches; where none counts that, of the operations that run code."""
    if cell.launches is not None:
        return numbers.count(cell.launches), "launch" if cell.launches == 1 else "launches"
    return numbers.count(cell.kernels), "kernel" if cell.kernels == 1 else "kernels"


def _bounds(tf: OnTarget, jax: OnTarget) -> str:
    if jax.bound_s is None or tf.bound_s is None:
        return ""
    one, other = (numbers.seconds(cell.bound_s) for cell in (jax, tf))
    if jax.bound_by != tf.bound_by:
        return f"the bound is {bound(jax)} for {PROGRAMS[JAX]} and {bound(tf)} for {PROGRAMS[TF]}"
    by = f" by {jax.bound_by}" if jax.bound_by else ""
    both = "either" if one == other else f"{PROGRAMS[JAX]} and {other} for {PROGRAMS[TF]}"
    return f"the bound{by} is {one} for {both}"


def _too_large(target: Target) -> str:
    too_large = [PROGRAMS[side] for side, cell in of_sides(target).items() if cell.fits is False]
    memory = numbers.binary_bytes(target.memory_bytes)
    what = "neither fits" if len(too_large) == len(PROGRAMS) else f"{''.join(too_large)} does not fit"
    return f"{what} into its {memory}" if too_large else ""


def notes(target: Target) -> Iterator[str]:
    """Each note once, with its cell where the other has it not."""
    cells = of_sides(target)
    for note in dict.fromkeys(note for cell in cells.values() for note in cell.notes):
        having = [CELLS[side] for side, cell in cells.items() if note in cell.notes]
        compiled = [side for side, cell in cells.items() if not cell.reason]
        yield note if len(having) >= len(compiled) else f"{having[0]}: {note}"


def _bytes(title: str, values: Iterable[Number]) -> Figure:
    return _exactly(title, numbers.binary_bytes, 1024, values)


def _exactly(title: str, format_number: Callable[[Number], str], step: int, values: Iterable[Number]) -> Figure:
    all_values = tuple(values)
    return Figure(title, _texts(map(format_number, all_values)), _texts(_exact(value, step) for value in all_values))


def _exact(value: Number, step: int) -> str:
    """The whole number, where it is shown rounded: from the first unit with a prefix on."""
    number = numbers.finite(value)
    return "" if number is None or abs(number) < step else numbers.count(value)


def _texts(texts: Iterable[str]) -> tuple[str, str]:
    tf, jax = texts
    return tf, jax
