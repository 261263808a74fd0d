"""Why two programs part: planted reasons are found, group the places of both sides, and explain nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_cases import random_cases
from hlo_programs import exported

from compare.hlo import bindings
from compare.hlo.align import Alignment, ReasonKind, align
from compare.hlo.levels import RAW, Subject
from compare.hlo.places import NO_REASON, differences_view, headline

Results = tuple[Any, Any, Any]
MATRIX = np.ones((8, 8), np.float32)
NAMES, RESULTS = ("input x", "state step"), ("activation", "scaled", "step")
STEPS = {"tf": np.array(3, np.int32), "jax": np.array(3, np.int16)}


def original(x: Any, step: Any) -> Results:
    return jnp.sin(1 / (1 + jnp.exp(-x))), x * 3.0, step + 1


def port(shift: float = 1.0, factor: float = 3.0, increment: int = 1) -> Callable[..., Results]:
    """The original with another formula for its activation, and with errors where asked for."""
    return lambda x, step: (jnp.sin(0.5 * (jnp.tanh(x / 2) + shift)), x * factor, increment + step)


def subject(label: str, function: Callable[..., Any], *arguments: np.ndarray, **names: tuple[str, ...]) -> Subject:
    return Subject(label, bindings.hlo_of(bindings.parse(exported(function, *arguments))), **names)


def held(ported: Callable[..., Results], left: Callable[..., Results] = original) -> Alignment:
    sides = [
        subject(label, function, MATRIX, STEPS[label], parameters=NAMES, results=RESULTS)
        for label, function in (("tf", left), ("jax", ported))
    ]
    return align(sides[0], sides[1], RAW, random_cases(*sides))


def told(found: Alignment) -> dict[tuple[str | None, str], int]:
    """How many places each reason explains, by its kind and name, in the order in which they are shown."""
    return {(reason["kind"], reason["name"]): reason["places"] for reason in differences_view(found)["reasons"]}


def test_two_reasons_and_a_planted_error_are_told_exactly() -> None:
    found = held(port(factor=3.5))
    step, formula, unknown = told(found)
    assert formula[0] == ReasonKind.FORMULA and formula[1].startswith("another formula for ")
    assert step == (ReasonKind.PARAMETER, "state step: s32 in tf, s16 in jax")
    assert unknown == (None, NO_REASON)
    assert told(found)[step] == 4, "the parameter and the constant 1, on either side"
    assert told(found)[unknown] == 2, "the factor, on either side"
    places = sum(told(found).values())
    assert headline(found) == (
        f"1 of 3 results are equal; the programs differ in {places} places for 2 reasons, 2 without a known reason"
    )
    assert {"constant"} == {place.op for place in found.reasons[-1].places}
    assert all(reason["sides"].keys() == {"tf", "jax"} for reason in differences_view(found)["reasons"])


def test_without_an_error_every_place_has_a_reason() -> None:
    found = held(port())
    assert [group.reason is None for group in found.reasons] == [False, False]
    assert headline(found).startswith("2 of 3 results are equal; the programs differ in ")
    assert headline(found).endswith(" places for 2 reasons")


def test_a_formula_for_another_value_explains_nothing() -> None:
    kinds = [kind for kind, _ in told(held(port(shift=2.0)))]
    assert ReasonKind.FORMULA not in kinds and None in kinds


def test_another_constant_is_not_the_type_of_what_it_is_added_to() -> None:
    found = told(held(port(increment=2)))
    assert found[ReasonKind.PARAMETER, "state step: s32 in tf, s16 in jax"] == 2, "the parameter alone"
    assert found[None, NO_REASON] == 2


@pytest.mark.parametrize("changed", [{"kind": ReasonKind.RULE}, {"name": "another"}, {"meaning": "another"}])
def test_places_whose_reasons_differ_in_anything_stand_apart(changed: dict[str, Any]) -> None:
    found = held(port())
    groups = found.reasons
    place = groups[0].places[0]
    assert place.explanation
    moved = dataclasses.replace(place, explanation=dataclasses.replace(place.explanation, **changed))
    frontier = tuple(moved if entry is place else entry for entry in found.frontier)
    split = dataclasses.replace(found, frontier=frontier).reasons
    assert len(split) == len(groups) + 1
    assert [len(group.places) for group in split if group.places == (moved,)] == [1]
    assert len(split[0].places) == len(groups[0].places) - 1


def test_formulas_that_meet_in_different_values_are_different_reasons() -> None:
    def two(x: Any, step: Any) -> Results:
        return jnp.sin(1 / (1 + jnp.exp(-x))), jnp.cos(jnp.exp(x) * jnp.exp(x)), step

    def ported(x: Any, step: Any) -> Results:
        return jnp.sin(0.5 * (jnp.tanh(x / 2) + 1)), jnp.cos(jnp.exp(x + x)), step

    reasons = [group.reason for group in held(ported, two).reasons if group.reason]
    formulas = {reason.name for reason in reasons if reason.kind == ReasonKind.FORMULA}
    assert len(formulas) == 2


def test_parameters_of_one_side_alone_are_a_reason_that_names_them() -> None:
    left = subject("tf", lambda x, rate: x * rate, MATRIX, MATRIX, parameters=("input x", "state rate"))
    right = subject("jax", lambda x: x * 2, MATRIX, parameters=("input x",))
    (alone, _) = differences_view(align(left, right))["reasons"]
    assert (alone["kind"], alone["name"]) == ("parameter", "parameters of tf alone")
    assert alone["meaning"] == "jax does not take state rate"


def test_unnamed_parameters_of_different_number_cannot_be_paired() -> None:
    left = subject("tf", lambda x, y: jnp.sin(x) + y, MATRIX, MATRIX)
    right = subject("jax", jnp.sin, MATRIX)
    names = {name for _, name in told(align(left, right))}
    assert names == {"parameters that cannot be paired", "parameters of tf alone"}


def looping(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jax.lax.fori_loop(0, 3, lambda _, carried: step(carried), x)


def test_an_operation_whose_bodies_part_is_explained_by_them_and_they_are_not() -> None:
    left = subject("tf", looping(lambda x: jnp.sin(x) + 1), MATRIX)
    right = subject("jax", looping(lambda x: jnp.cos(x) + 1), MATRIX)
    found = align(left, right)
    assert told(found) == {(ReasonKind.BODY, "bodies that differ"): 2, (None, NO_REASON): 2}
    assert {place.op for place in found.reasons[-1].places} == {"sine", "cosine"}
    assert headline(found) == (
        "the result is not equal; the programs differ in 4 places for 1 reason, 2 without a known reason"
    )


def test_programs_that_are_equal_differ_nowhere() -> None:
    pair = subject("tf", jnp.sin, MATRIX), subject("jax", jnp.sin, MATRIX)
    assert align(*pair).reasons == ()
    assert headline(align(*pair)) == "the result is equal"
