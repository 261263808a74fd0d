"""A region is proved by rules alone, identical ones once; what is open is sampled from TensorFlow's values."""

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
from hypothesis import given
from hypothesis import strategies as st
from region_graphs import Line, aligned, arguments, equal_pairs, form, holds, lines, variant

from compare.hlo.align import Alignment, align
from compare.hlo.align.equal_values import Arguments
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import STRUCTURE, Subject
from compare.hlo.pair import Pair
from compare.parity.measure import wide
from compare.prove.cut_values import CutValues
from compare.prove.exact_regions import regions_hold_exactly
from compare.prove.open_regions import OpenRegions
from compare.regions.checking import find_faults
from compare.regions.feeding import find_more_matches
from compare.regions.parts import Regions
from compare.regions.proving import OPEN, RegionProof, prove
from compare.regions.region_counts import count_regions
from compare.regions.splitting import split

Function = Callable[..., Any]
X = np.random.default_rng(5).standard_normal((8, 16)).astype(np.float32)


def subject(label: str, function: Function) -> Subject:
    return Subject(label, hlo_of_artifact(exported(function, X, X[0])), ("input x", "input g"))


def both(left: Function, right: Function) -> tuple[Alignment, list[Arguments]]:
    pair = subject("tf", left), subject("jax", right)
    cases = random_cases(*pair)
    return align(*pair, STRUCTURE, cases), cases


def opened(regions: Regions) -> list[RegionProof]:
    return [group[0] for group in prove(regions).open.values()]


def region_holds(proof: RegionProof, regions: Regions, cases: list[Arguments]) -> bool:
    """Whether both pieces of one region agree in float64 on TensorFlow's values."""
    alone = OpenRegions.of(regions, [proof.region], CutValues(regions.graphs.left))
    calls = [Pair(*([wide(array) for array in side] for side in case)) for case in cases]
    return regions_hold_exactly(alone, calls, [0.0] * len(calls))


def normalized(x: Any, g: Any) -> Any:
    """As Keras in TensorFlow writes it."""
    mean, variance = x.mean(0), x.var(0)
    scale = g * jax.lax.rsqrt(variance + 1e-3)
    return x * scale + (g - mean * scale)


def normalized_otherwise(x: Any, g: Any, epsilon: float = 1e-3) -> Any:
    return (x - x.mean(0)) * (jax.lax.rsqrt(x.var(0) + epsilon) * g) + g


def layers(normalize: Function, count: int = 3) -> Function:
    def model(x: Any, g: Any) -> Any:
        for _ in range(count):
            x = jnp.tanh(normalize(x, g)) * 2
        return x

    return model


@given(st.data())
def test_what_is_proved_is_rightfor_any_values(data: Any) -> None:
    left = data.draw(lines())
    forms = Pair(form(left), form(data.draw(variant(left))))
    regions = split(aligned(forms, equal_pairs(forms)))
    for judged in prove(regions).judged:
        if judged.level != OPEN:
            assert holds(judged.region, regions, arguments(7))


def test_another_operation_is_never_proved() -> None:
    forms = Pair(form([Line("tanh", (0,)), Line("add", (3, 1))]), form([Line("tanh", (0,)), Line("subtract", (3, 1))]))
    left, right = (list(one.graph.nodes) for one in forms)
    (judged,) = (
        each for each in prove(split(aligned(forms, list(zip(left[3:], right[3:], strict=True))))).judged
        if each.level == OPEN
    )  # fmt: skip
    assert judged.region.results == ("1",)


def test_identical_regions_are_one_whatever_order_their_inputs_have() -> None:
    """Two layers read other values in other places; `a * (b - c)` and `(d - e) * f` compute the same."""
    twice = [Line("subtract", (1, 2)), Line("multiply", (0, 3)), Line("subtract", (0, 1)), Line("multiply", (5, 4))]
    wrong = [Line("add", (1, 2)), Line("multiply", (0, 3)), Line("add", (0, 1)), Line("multiply", (5, 4))]
    forms = Pair(form(twice, 1), form(wrong, 1))
    ends = [tuple(one.graph.nodes)[at] for one in forms for at in (4, 6)]
    proofs = prove(split(aligned(forms, [(ends[0], ends[2]), (ends[1], ends[3])])))
    (group,) = proofs.open.values()
    assert len(group) == 2


def test_layers_that_are_written_otherwise_are_one_region_each_and_one_to_sample() -> None:
    alignment, cases = both(layers(normalized), layers(normalized_otherwise))
    proofs = prove(split(alignment))
    regions = proofs.regions
    assert find_faults(regions, alignment) == []
    (group,) = proofs.open.values()
    assert len(group) == 3
    assert all(region_holds(one, regions, cases) for one in group)
    counts = count_regions(alignment)
    assert (counts.open, counts.distinct) == (3, 1)
    assert counts.headline.endswith("open 3 of which 1 are distinct; the largest has 9 of TensorFlow's operations")


def test_a_wrong_layer_among_right_ones_fails_and_those_before_it_hold() -> None:
    """What comes before it is judged by itself, and holds."""

    def wrong_in_the_middle(x: Any, g: Any) -> Any:
        for epsilon in (1e-3, 1e-2, 1e-3):
            x = jnp.tanh(normalized_otherwise(x, g, epsilon)) * 2
        return x

    alignment, cases = both(layers(normalized), wrong_in_the_middle)
    proofs = prove(split(alignment))
    regions, every = proofs.regions, [group[0] for group in proofs.open.values()]
    verdicts = [region_holds(one, regions, cases) for one in every]
    assert verdicts[0] and not all(verdicts)


def test_behind_a_wrong_layer_the_programs_are_judged_again_and_one_region_is_the_place() -> None:
    def wrong_in_the_middle(x: Any, g: Any) -> Any:
        for epsilon in (1e-3, 1e-2, 1e-3):
            x = jnp.tanh(normalized_otherwise(x, g, epsilon)) * 2
        return x

    alignment, cases = both(layers(normalized), wrong_in_the_middle)
    proofs = prove(split(find_more_matches(alignment, cases, behind_changes=True)))
    regions, every = proofs.regions, [group[0] for group in proofs.open.values()]
    failing = [one for one in every if not region_holds(one, regions, cases)]
    assert [regions.graphs.left.nodes[one.region.pieces.left.outputs[0]].opcode for one in failing] == ["add"]
    assert len(proofs.open) == 2


def test_rounded_constants_widen_the_bound_of_a_region_and_no_more() -> None:
    def moved(x: Any, g: Any, factor: float) -> Any:
        return jnp.sin(jnp.sin(x) * factor * g)

    rounded = float(np.float32(0.1) / np.float32(3))
    for factor, is_right in ((rounded * (1 + 1e-7), True), (rounded * (1 + 1e-5), False)):
        alignment, cases = both(lambda x, g: moved(x, g, rounded), lambda x, g, f=factor: moved(x, g, f))
        regions = split(alignment)
        (judged,) = opened(regions)
        assert region_holds(judged, regions, cases) == is_right


def test_random_draws_are_not_judged() -> None:
    draws = [Line("tanh", (0,))]
    forms = Pair(form(draws), form(draws))
    (judged,) = prove(split(aligned(forms, equal_pairs(forms)))).judged
    assert judged.level == STRUCTURE
    nodes = forms.left.graph.nodes
    key = max(nodes)
    drawn = dict(nodes) | {key: nodes[key].but(opcode="rng")}
    random = Pair(*(_with(one, drawn) for one in forms))
    regions = split(aligned(random, [(key, key)]))
    (judged,) = prove(regions).judged
    assert judged.level == OPEN and "random" in judged.reason


def _with(one: Any, nodes: dict[int, Any]) -> Any:

    return dataclasses.replace(one, graph=dataclasses.replace(one.graph, nodes=nodes))


@pytest.mark.parametrize("layered", [layers(normalized_otherwise, 12)])
def test_values_behind_much_rounding_are_cut_points_once_they_are_fed(layered: Function) -> None:
    """Every layer makes rounding ten times as large: run as a whole, the last ones have no value in common."""

    def grown(model: Function) -> Function:
        return lambda x, g: jnp.sin(40 * jnp.sin(40 * model(x, g)))

    alignment, cases = both(grown(layers(normalized, 12)), grown(layered))
    before, after = count_regions(alignment), count_regions(find_more_matches(alignment, cases))
    assert after.largest < before.largest
    assert after.largest <= 9


def test_a_region_computes_what_its_other_inputs_determine_in_several_steps() -> None:
    """Given exponentials and their broadcast sum, each rounded, the fractions no longer add up to 1."""

    def gradient(x: Any, g: Any) -> Any:
        fractions = jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True)
        return fractions * (g - (fractions * g).sum(-1, keepdims=True))

    def gradient_otherwise(x: Any, g: Any) -> Any:
        total = jnp.exp(x).sum(-1, keepdims=True)
        return jnp.exp(x) * (g / total - (jnp.exp(x) * g).sum(-1, keepdims=True) / total**2)

    alignment, _ = both(gradient, gradient_otherwise)
    regions = prove(split(alignment)).regions
    (judged,) = opened(regions)
    read = [regions.graphs.left.nodes[regions.cut_points[at].nodes.left[0]].opcode for at in judged.region.inputs]
    # The other one is g, broadcast.
    assert sorted(read) == ["broadcast", "exponential"]
