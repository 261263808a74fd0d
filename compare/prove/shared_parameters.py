"""Names the parameters of two programs so that equal names mean the same array.

Inputs and weights have such names. States do not: an optimizer calls its slots as it likes. A state is
paired by the weight that it belongs to and by its role.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from workloads.protocol.framework import WEIGHTS, Parameter, Program

_STATE = "state/"
_WORDS = re.compile(r"[A-Za-z]+|\d+")

# The names in Keras, optax and Flax for the parts of an optimizer's state.
_ROLES = {
    "step": {"step", "count", "iteration", "iterations"},
    "first moment": {"momentum", "momentums", "m", "mu", "trace"},
    "second moment": {"velocity", "velocities", "v", "nu", "accumulator", "accumulators", "rms"},
    "learning rate": {"learning", "lr"},
}


@dataclass(frozen=True)
class Slots:
    """Names of parameters and results, in the program's order."""

    parameters: tuple[str, ...]
    results: tuple[str, ...]


def pair_slots(programs: Sequence[Program]) -> list[Slots]:
    """Slots of two programs of one workload. A state without a partner keeps its own name, after its side's number."""
    roles = [_roles(program) for program in programs]
    common = set(roles[0].values()) & set(roles[1].values())
    return [
        _slots(program, {name: role if role in common else f"{number}:{name}" for name, role in roles_of.items()})
        for number, (program, roles_of) in enumerate(zip(programs, roles, strict=True))
    ]


def without_pairs(slots: Sequence[Slots], states: Collection[str]) -> list[Slots]:
    """The slots without the pairs of some states.

    Args:
      states: slots of states that were paired by their names, and hold other values.
    """

    def rename(name: str, number: int) -> str:
        return f"state {number}:{name.removeprefix('state ')}" if name in states else name

    return [
        Slots(*(tuple(rename(name, number) for name in names) for names in (one.parameters, one.results)))
        for number, one in enumerate(slots)
    ]


def updates(program: Program) -> dict[int, int]:
    """By the position of a weight or state among the parameters, the position of the result with its new value."""
    results = {result.name: place for place, result in enumerate(program.results)}
    prefixes = {"weight": WEIGHTS, "state": _STATE}
    new = {
        place: results[prefixes[parameter.kind] + parameter.name]
        for place, parameter in enumerate(program.parameters)
        if parameter.kind in prefixes and prefixes[parameter.kind] + parameter.name in results
    }
    return {place: result for place, result in new.items() if _alike(program, place, result)}


def _alike(program: Program, parameter: int, result: int) -> bool:
    old, new = program.parameters[parameter], program.results[result]
    return (old.shape, old.dtype) == (new.shape, new.dtype)


def _slots(program: Program, states: dict[str, str]) -> Slots:
    return Slots(
        tuple(f"state {states[parameter.name]}" if parameter.kind == "state" else f"{parameter.kind} {parameter.name}"
              for parameter in program.parameters),
        tuple(_result(result.name, states) for result in program.results),
    )  # fmt: skip


def _result(name: str, states: dict[str, str]) -> str:
    if name.startswith(WEIGHTS):
        return f"weight {name.removeprefix(WEIGHTS)}"
    state = name.removeprefix(_STATE)
    return f"state {states[state]}" if name.startswith(_STATE) and state in states else name


def _roles(program: Program) -> dict[str, str]:
    """By state, "first moment of hidden/kernel"; two states of one role keep their names."""
    weights = [parameter for parameter in program.parameters if parameter.kind == "weight"]
    roles = {parameter.name: _role(parameter, weights) for parameter in program.parameters if parameter.kind == "state"}
    often = Counter(roles.values())
    return {name: role if often[role] == 1 else name for name, role in roles.items()}


def _role(state: Parameter, weights: Sequence[Parameter]) -> str:
    if state.owner:
        return f"{_role_named(_words(state.part), state.part)} of {state.owner}"
    words = _words(state.name)
    owners = [weight for weight in weights if weight.shape == state.shape and _words(weight.name) <= words]
    owner = max(owners, key=lambda weight: len(weight.name), default=None)
    if owner is None:
        return _role_named(words, state.name)
    return f"{_role_named(words - _words(owner.name), state.name)} of {owner.name}"


def _role_named(words: set[str], otherwise: str) -> str:
    return next((role for role, names in _ROLES.items() if names & words), otherwise)


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name)}
