"""A split of any alignment is valid, its regions together are the programs, and what makes it invalid is found."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from region_graphs import (
    Line,
    aligned,
    arguments,
    composed,
    equal_pairs,
    form,
    holds,
    lines,
    run,
    variant,
)

from compare.hlo.align import Alignment
from compare.hlo.pair import Pair
from compare.regions.checking import find_faults
from compare.regions.parts import CutPoint, Regions
from compare.regions.splitting import split, without_cut_point

PROGRAM = [Line("tanh", (0,)), Line("subtract", (3, 1)), Line("multiply", (4, 2)), Line("maximum", (5, 3))]
OTHER = [
    Line("tanh", (0,)), Line("negate", (1,)), Line("add", (3, 4)), Line("multiply", (5, 2)), Line("maximum", (6, 3)),
]  # fmt: skip


def alignment_of(left: list[Line], right: list[Line]) -> Alignment:
    forms = Pair(form(left), form(right))
    return aligned(forms, equal_pairs(forms))


@pytest.fixture
def example() -> tuple[Regions, Alignment]:
    alignment = alignment_of(PROGRAM, OTHER)
    return split(alignment), alignment


@given(st.data())
def test_a_split_of_any_alignment_is_valid(data: Any) -> None:
    """Also of one that is wrong: what is matched suggests cut points, and never makes a circle of proofs."""
    forms = Pair(form(data.draw(lines())), form(data.draw(lines())))
    ids = st.tuples(st.sampled_from([*forms.left.graph.nodes]), st.sampled_from([*forms.right.graph.nodes]))
    alignment = aligned(forms, data.draw(st.lists(ids, max_size=12)))
    assert find_faults(split(alignment), alignment) == []


@given(st.data())
def test_regions_one_after_the_other_give_the_results_of_both_programs(data: Any) -> None:
    left = data.draw(lines())
    alignment = alignment_of(left, data.draw(variant(left)))
    regions = split(alignment)
    assert find_faults(regions, alignment) == []
    drawn = arguments()
    for side, one in enumerate((alignment.left, alignment.right)):
        whole = run(one.graph, drawn)
        results = composed(regions, drawn, side)
        for result in alignment.results:
            key = (result.left, result.right)[side]
            if key not in one.graph.parameters:
                np.testing.assert_allclose(results[result.name], whole[key or 0], rtol=1e-9, atol=1e-12)


@given(st.data())
def test_where_results_differ_a_region_does_not_hold(data: Any) -> None:
    """The induction, turned round: nothing but a region can make two programs different."""
    forms = Pair(form(data.draw(lines())), form(data.draw(lines())))
    alignment = aligned(forms, equal_pairs(forms))
    regions = split(alignment)
    drawn = arguments(1)
    left, right = (run(one.graph, drawn) for one in forms)
    ends = zip(forms.left.graph.results, forms.right.graph.results, strict=True)
    if not all(np.allclose(left[one], right[other], rtol=1e-9) for one, other in ends):
        assert not all(holds(region, regions, drawn) for region in regions.regions)


def test_the_region_of_another_formula_has_its_operations_alone(example: tuple[Regions, Alignment]) -> None:
    regions, _ = example
    opcodes = [
        tuple(
            sorted(graph.nodes[key].opcode for key in piece.nodes)
            for graph, piece in zip(regions.graphs, region.pieces, strict=True)
        )
        for region in regions.regions
    ]
    assert opcodes == [
        (["tanh"], ["tanh"]),
        (["subtract"], ["add", "negate"]),
        (["multiply"], ["multiply"]),
        (["maximum"], ["maximum"]),
    ]


def test_a_circle_of_supposed_cut_points_is_broken() -> None:
    """One program computes `negate(p)` from `tanh(p)`, the other the other way round, if one believes the matches."""
    chain = [Line("tanh", (0,)), Line("negate", (3,)), Line("add", (4, 1)), Line("add", (5, 2))]
    back = [Line("negate", (0,)), Line("tanh", (3,)), Line("add", (4, 1)), Line("add", (5, 2))]
    forms = Pair(form(chain), form(back))
    (tanh, negate), (other_negate, other_tanh) = ([key for key in one.graph.nodes if one.graph.nodes[key].opcode in
                                                  ("tanh", "negate")] for one in forms)  # fmt: skip
    alignment = aligned(forms, [(tanh, other_tanh), (negate, other_negate)])
    regions = split(alignment)
    assert regions.dropped == 2
    assert find_faults(regions, alignment) == []
    assert not all(holds(region, regions, arguments()) for region in regions.regions)


def test_a_dropped_region_is_found(example: tuple[Regions, Alignment]) -> None:
    regions, alignment = example
    for at in range(len(regions.regions)):
        less = (*regions.regions[:at], *regions.regions[at + 1 :])
        found = find_faults(dataclasses.replace(regions, regions=less), alignment)
        assert any("computed by 0 regions" in fault for fault in found)
        assert any("in no region" in fault for fault in found)


def test_cut_points_whose_parameters_are_swapped_are_found(example: tuple[Regions, Alignment]) -> None:
    regions, alignment = example
    first, second = (at for at, cut in enumerate(regions.cut_points) if cut.is_parameter and at)
    cuts = list(regions.cut_points)
    one, other = cuts[first], cuts[second]
    cuts[first] = CutPoint(Pair(one.nodes.left, other.nodes.right), is_parameter=True)
    cuts[second] = CutPoint(Pair(other.nodes.left, one.nodes.right), is_parameter=True)
    found = find_faults(dataclasses.replace(regions, cut_points=tuple(cuts)), alignment)
    assert any("given different arrays" in fault for fault in found)


def test_swapped_inputs_of_a_region_are_found() -> None:
    """Values of the left program that change places make a valid split, and regions that do not hold."""
    alignment = alignment_of(PROGRAM, OTHER)
    pairs = [(match.left, match.right) for match in alignment.matches[3:]]
    nodes = alignment.left.graph.nodes
    (tanh, partner), (subtract, other) = (pair for pair in pairs if nodes[pair[0]].opcode in ("tanh", "subtract"))
    forms = Pair(alignment.left, alignment.right)
    swapped = aligned(forms, [pair for pair in pairs if pair[0] not in (tanh, subtract)])
    swapped = dataclasses.replace(
        swapped, matches=(*swapped.matches, *aligned(forms, [(tanh, other), (subtract, partner)]).matches[3:])
    )
    regions = split(swapped)
    assert find_faults(regions, swapped) == []
    assert not all(holds(region, regions, arguments()) for region in regions.regions)


@given(st.data())
def test_a_false_cut_point_is_found_by_the_region_that_computes_it(data: Any) -> None:
    left = data.draw(lines())
    forms = Pair(form(left), form(data.draw(variant(left))))
    pairs = equal_pairs(forms)
    values = Pair(*(run(one.graph, arguments()) for one in forms))
    unequal = [
        (one, other)
        for one in values.left
        for other in values.right
        if (one, other) not in pairs
        and one not in forms.left.graph.parameters and other not in forms.right.graph.parameters
    ]  # fmt: skip
    if not unequal:
        return
    false = data.draw(st.sampled_from(unequal))
    regions = split(aligned(forms, [*(pair for pair in pairs if not set(pair) & set(false)), false]))
    suspects = [
        region for region in regions.regions
        if region.cut_point is not None and regions.cut_points[region.cut_point].nodes == ((false[0],), (false[1],))
    ]  # fmt: skip
    assert not any(holds(region, regions, arguments()) for region in suspects)


@given(st.data())
def test_any_cut_point_can_be_given_up(data: Any) -> None:
    left = data.draw(lines())
    alignment = alignment_of(left, data.draw(variant(left)))
    regions = split(alignment)
    supposed = [at for at, cut in enumerate(regions.cut_points) if not cut.is_parameter]
    while supposed:
        regions = without_cut_point(regions, data.draw(st.sampled_from(supposed)))
        assert find_faults(regions, alignment) == []
        supposed = [at for at, cut in enumerate(regions.cut_points) if not cut.is_parameter]


def test_a_cut_point_that_is_none_is_no_difference_of_the_programs() -> None:
    """The programs are equal, and a value of one is supposed to be its negative: without that, their region holds."""
    left = [Line("tanh", (0,)), Line("subtract", (1, 3))]
    right = [Line("tanh", (0,)), Line("negate", (3,)), Line("add", (1, 4))]
    forms = Pair(form(left, 1), form(right, 1))
    (tanh,) = (key for key, node in forms.left.graph.nodes.items() if node.opcode == "tanh")
    negated = next(key for key, node in forms.right.graph.nodes.items() if node.opcode == "negate")
    regions = split(aligned(forms, [(tanh, negated)]))
    (false,) = (at for at, cut in enumerate(regions.cut_points) if not cut.is_parameter)
    assert not all(holds(region, regions, arguments()) for region in regions.regions)
    mended = without_cut_point(regions, false)
    assert all(holds(region, mended, arguments()) for region in mended.regions)


def mutated(regions: Regions, at: int, **changes: Any) -> Regions:
    other = dataclasses.replace(regions.regions[at], **changes)
    return dataclasses.replace(regions, regions=(*regions.regions[:at], other, *regions.regions[at + 1 :]))


def test_every_other_fault_of_a_split_is_found(example: tuple[Regions, Alignment]) -> None:
    regions, alignment = example
    last = len(regions.regions) - 1
    region = regions.regions[last]

    def with_left(**changes: Any) -> Regions:
        left, right = region.pieces
        return mutated(regions, last, pieces=Pair(dataclasses.replace(left, **changes), right))

    wrong = {
        "reads": mutated(regions, last, inputs=region.inputs[1:]),
        "computed from one another": mutated(regions, 0, inputs=(*regions.regions[0].inputs, region.cut_point or 0)),
        "is not computed": with_left(nodes=()),
        "not all values": with_left(outputs=()),
        "does not tell of": with_left(alone=region.pieces.left.nodes),
        "neither a cut point nor a result": mutated(regions, last, cut_point=None, results=()),
    }  # fmt: skip
    for said, split_wrongly in wrong.items():
        assert any(said in fault for fault in find_faults(split_wrongly, alignment)), said
