"""Finds what to look at on a rung that fails: where `jaxport locate` sees a difference, and the next command."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from compare.errors import RequestError
from compare.hlo.locate import Departure
from compare.progress import Reporter
from compare.prove import locating
from compare.record.rung_part import (
    FORWARD,
    GRADIENTS,
    OPTIMIZER,
    SPEED,
    STRUCTURE,
    TRAJECTORY,
    WEIGHTS,
    LocatedOperation,
    Rung,
)
from compare.record.vocabulary import FAIL
from compare.sides._side import SideError
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload

_NO_CAUSE = "no specific cause"
CAUSE, PLACE = "cause", "place"
REST = "rest.py"
"""The file that `jaxport init` writes beside a port with places."""


def locate_operations(
    pool: Pool, workload: AnyWorkload, rung: Rung, choice: locating.Choice, scratch: Path, reporter: Reporter
) -> Rung:
    """A rung with the operations at which the programs of its pass part."""
    try:
        (located_pass,) = locating.locate_workload(pool, workload, choice, scratch, reporter).values()
    except (RequestError, SideError) as error:
        return replace(rung, remarks=(*rung.remarks, f"the programs were not compared: {error}"))
    operations = tuple(_operation(departure, located_pass) for departure in located_pass.departures)
    if located_pass.verdict in (locating.NONE, locating.FAILED):
        return replace(rung, remarks=(*rung.remarks, f"the programs were not compared: {located_pass.reason}"))
    if not operations:
        remark = "the programs of one call agree, value by value, on a random case and one of edges"
        return replace(rung, remarks=(*rung.remarks, remark))
    return replace(rung, located=operations)


def _operation(departure: Departure, located_pass: locating.Located) -> LocatedOperation:
    is_known = departure.cause != _NO_CAUSE
    proof = CAUSE if departure.by_change or (is_known and departure.confirmed) else PLACE if departure.confirmed else ""
    return LocatedOperation(
        operation=f"{departure.kind} {departure.op}",
        jax=_line(departure.right.source if departure.right else "", located_pass),
        tf=_line(departure.left.source if departure.left else "", located_pass),
        difference=departure.difference,
        cause=departure.cause if is_known else "",
        remedy=departure.remedy if is_known else "",
        gotchas=departure.gotchas,
        proof=proof,
    )


def _line(source: str, located_pass: locating.Located) -> str:
    return f"{source}  {located_pass.texts.get(source, '')}".rstrip()


def with_advice(rung: Rung, reference: str) -> Rung:
    """A rung with what to look at next, in order, where there is something."""
    if rung.verdict != FAIL:
        return rung
    layers = rung.layers
    advice = [layers.told] if layers is not None and layers.told else []
    for operation in rung.located:
        advice += [_looked_at(operation)]
        if operation.gotchas and operation.proof == CAUSE:
            advice += [f"jaxport lookup gotchas {operation.gotchas}"]
    return replace(rung, next=(*advice, *_COMMANDS.get(rung.name, lambda _: ())(reference)))


def _looked_at(operation: LocatedOperation) -> str:
    where = operation.jax or operation.tf
    if not operation.cause:
        return f"{operation.operation} at {where}: {operation.difference}"
    certain = "" if operation.proof == CAUSE else ", which is not proved"
    return f"{operation.operation} at {where}: {operation.cause}{certain}: {operation.remedy}"


def _all_but_places(port: str) -> tuple[str, ...]:
    """The next commands while places of a written port are left."""
    rest = Path(port).with_name(REST)
    has_rest = port.endswith(".py") and rest.is_file() and rest != Path(port)
    return (f"jaxport next {rest}: all but the places that are left to be written",) if has_rest else ()


_COMMANDS = {
    STRUCTURE: lambda port: (f"jaxport run {port} --parity-only --debug", *_all_but_places(port)),
    WEIGHTS: lambda _: ("jaxport weights SRC DST: which weight becomes which variable, with every check",),
    FORWARD: lambda port: (f"jaxport locate {port} --pass forward",),
    GRADIENTS: lambda port: (f"jaxport locate {port} --pass gradients",),
    OPTIMIZER: lambda port: (f"jaxport locate {port} --pass step",),
    TRAJECTORY: lambda _: (
        "what changes from update to update: the schedule of the rate, its count, averages, moving statistics",
    ),
    SPEED: lambda port: (f"jaxport explain {port}",),
}
