"""The page of `jaxport lookup datatypes`: what each mode made of every type, and what XLA computed in. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from compare.record.datatypes_part import (
    DIFFERS,
    LOST,
    OTHER_TYPE,
    REFUSED,
    UNJUDGED,
    TypedFunction,
    TypedFunctions,
    TypedMode,
    TypedProgram,
)
from compare.report.pages import Lines, Page, Section, Table, columns

LEGEND = (
    "A number is the largest error against the same function in float64, relative to its largest value; that of the "
    "reference, TensorFlow's eager mode, is what the others are measured by.",
    "holds: the gates' rules for this type hold, integers and booleans exactly. gives: another type than the "
    "reference gives, or than the inputs have where there is none.",
    "differs: further from float64 than the rules allow, or another integer. refused: the framework raised. lost: its "
    "worker crashed or did not answer. not judged: nothing to hold it against, or only int64 in place of the type, "
    "which disagrees.",
)
_LONGEST = 220

_SHORTER = (("complex", "c"), ("float", "f"), ("f8_", "f8"), ("uint", "u"), ("int", "i"))
_NARROW = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")


def page(functions: TypedFunctions) -> Page:
    """Every function in every type."""
    return Page(
        command="jaxport lookup datatypes",
        title="Data types, measured",
        origin=[", ".join(["on a CPU", *(f"{name} {version}" for name, version in functions.environments.items())])],
        sections=[_section(function) for function in functions.functions],
        notes=LEGEND,
    )


def _section(function: TypedFunction) -> Section:
    modes = list(dict.fromkeys(mode.mode for row in function.rows for mode in row.modes))
    reasons_text = [f"{where}: {_cut(reason)}" for where, reason in reasons(function)]
    blocks = (
        Table(columns("inputs", *modes), list(_rows(function, modes)), f"types of {function.name}"),
        Lines(list(stand_ins(function)), title="What stands in for the reference"),
        Lines(reasons_text, title="What was refused, lost or not judged, or differs"),
        Lines(list(computation_lines(function)), title="What the optimized programs compute in"),
    )
    inputs = f"{', '.join(function.inputs)} cast, {function.elements or 0:,} elements in the largest"
    return Section(function.name, inputs, blocks=blocks)


def _cut(reason: str) -> str:
    return reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}..."


def short(dtype: str) -> str:
    """A type as --input takes it: "bf16"."""
    return functools.reduce(lambda text, pair: text.replace(*pair), _SHORTER, dtype)


def _rows(function: TypedFunction, modes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """A line for each type, and one more where JAX keeps no 64 bits."""
    for row in function.rows:
        modes_by_key = {(mode.mode, mode.without_x64): mode for mode in row.modes}
        yield short(row.dtype), *(_cell(modes_by_key.get((mode, False))) for mode in modes)
        if any(mode.without_x64 for mode in row.modes):
            yield f"{short(row.dtype)}, no x64", *(_cell(modes_by_key.get((mode, True))) for mode in modes)


def _cell(mode: TypedMode | None) -> str:
    if mode is None:
        return ""
    if mode.status == OTHER_TYPE:
        return f"gives {', '.join(map(short, mode.dtypes))}"
    return f"{mode.status} {mode.error:.1e}" if mode.error and mode.status != UNJUDGED else mode.status


def reasons(function: TypedFunction) -> Iterator[tuple[str, str]]:
    """Each refusal, loss, difference and missing judgement once, after the types and modes with it."""
    places: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for row in function.rows:
        titles: dict[str, list[str]] = {}
        for mode in row.modes:
            if mode.status in (REFUSED, LOST, UNJUDGED, DIFFERS):
                titles.setdefault(_general(mode.reason, row.dtype), []).append(mode.title)
        for reason, modes in titles.items():
            places.setdefault((tuple(modes), reason), []).append(row.dtype)
    for (modes, reason), dtypes in places.items():
        yield f"{', '.join(map(short, dtypes))}: {', '.join(modes)}", reason


def stand_ins(function: TypedFunction) -> Iterator[str]:
    """The reference of the modes after the types, where it is computed in another type than theirs."""
    types: dict[str, list[str]] = {}
    for row in function.rows:
        if row.stand_in:
            types.setdefault(row.stand_in, []).append(short(row.dtype))
    for stand_in, dtypes in types.items():
        yield f"{', '.join(dtypes)}: {stand_in}, in the place of tf/eager; what disagrees with it is not judged"


def _general(reason: str, dtype: str) -> str:
    """The reason without the file that it came from, the type as TYPE: equal for all types that are refused alike."""
    general = reason.split(' (File "')[0].split("; ; NodeDef")[0]
    return general.replace(f"DT_{dtype.upper()}", "TYPE").replace(f" {dtype} ", " TYPE ")


def computation_lines(function: TypedFunction) -> Iterator[str]:
    """The types that the optimized modules compute in for each narrow float; for 64 bits, those of JAX's parameters."""
    for row in function.rows:
        for program in row.programs:
            if row.dtype in _NARROW and not program.reason:
                yield f"{short(row.dtype)}, {program.title}: {arithmetic(short(row.dtype), program)}"
            elif program.without_x64 and program.parameters:
                takes = ", ".join(map(short, dict.fromkeys(program.parameters)))
                yield f"{short(row.dtype)}, {program.title}: its program takes {takes}"


def arithmetic(own: str, program: TypedProgram) -> str:
    """Whether a program that asks for a narrow float, such as "bf16", is computed in it, and what converts."""
    computes, asks = _floats(program.computes), _floats(program.asks)
    converts = ", ".join(f"{count} x {name}" for name, count in sorted(program.converts.items()))
    calls = f"; in {', '.join(program.calls)}, whose type is not known" if program.calls else ""
    if not computes:
        return f"the optimized module has no arithmetic on floats of its own{calls}"
    if own in computes:
        rest = "" if len(computes) == 1 else f"; converts {converts or 'none'}"
        return f"arithmetic {_list_floats(computes)}{rest}{calls}"
    rest = f"arithmetic {_list_floats(computes)}, none in {own}; converts {converts or 'none'}{calls}"
    if not asks:
        return f"{rest}; the program as written has no arithmetic on floats"
    if own not in asks:
        return f"the program asks for {', '.join(sorted(asks))}: {rest}"
    also = f"; the program asks for {_list_floats(asks)}" if len(asks) > 1 else ""
    return f"emulated: {rest}{also}"


def _floats(counts: Mapping[str, int | None]) -> dict[str, int]:
    return {name: count or 0 for name, count in counts.items() if name.startswith(("f", "bf"))}


def _list_floats(floats: Mapping[str, int]) -> str:
    return ", ".join(f"{count} in {name}" for name, count in sorted(floats.items()))
