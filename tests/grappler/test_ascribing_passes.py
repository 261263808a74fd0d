"""Which pass made a change: only what an experiment shows is said, and none that failed shows anything."""

from __future__ import annotations

from graph_pairs import AFTER, BEFORE, Nodes, constant, node

from compare.grappler import switches
from compare.grappler.aligning import align_nodes, explain_rewrites, group_rewrites
from compare.grappler.ascribing import made_alone, needing
from compare.grappler.node_states import Graph, by_name
from compare.record.grappler_part import NodeRewrite

SQUARED: Nodes = tuple(
    each for each in (*AFTER[:5], node("Identity", "Identity", "mul"), node("result", "_Retval", "Identity"))
)
"""With the square, and the identity still there."""


def ascribed(
    without: dict[str, Graph], alone: dict[str, Graph] | None = None, none: Nodes | None = BEFORE
) -> dict[str, NodeRewrite]:
    needed = needing(align_nodes(BEFORE, AFTER), without)
    made = made_alone(needed, without, alone or {}, by_name(none) if none is not None else None)
    return {each.name: each for each in made}


def test_a_change_needs_the_pass_without_which_it_is_not_made() -> None:
    found = ascribed({"arithmetic": by_name(BEFORE), "remapping": by_name(AFTER)})
    assert {each.needs for each in found.values()} == {("arithmetic",)}


def test_what_two_passes_make_each_needs_none_and_is_made_by_either_alone() -> None:
    found = ascribed({"a": by_name(AFTER), "b": by_name(AFTER)}, {"a": by_name(AFTER), "b": by_name(SQUARED)})
    assert found["pow"].needs == () and found["pow"].alone == ("a", "b")
    assert found["Identity"].alone == ("a",)


def test_what_is_made_with_every_pass_off_is_made_by_none() -> None:
    found = ascribed({"a": by_name(AFTER)}, {"a": by_name(AFTER)}, none=SQUARED)
    assert found["pow"].always and found["pow"].alone == ()
    assert not found["Identity"].always and found["Identity"].alone == ("a",)


def test_without_the_graph_that_no_pass_made_nothing_is_ascribed_to_one_alone() -> None:
    found = ascribed({"a": by_name(AFTER)}, {"a": by_name(AFTER)}, none=None)
    assert all(not each.alone and not each.always and not each.differs for each in found.values())


def test_what_no_single_pass_undoes_or_makes_is_not_known() -> None:
    other = by_name((*AFTER[:3], node("mul", "Square", "pow", "^wait"), *AFTER[4:]))
    found = ascribed({"a": other, "b": by_name(AFTER)}, {"a": by_name(BEFORE), "b": by_name(BEFORE)})
    assert found["mul"].needs == found["mul"].alone == () and found["mul"].differs == ("a",)
    assert found["pow"].differs == ()


def test_a_constant_of_another_value_is_not_the_same_folding() -> None:
    before = constant("a", "2.0"), node("mul", "Mul", "a", "a")
    after, other = (constant("mul", "4.0"),), (constant("mul", "5.0"),)
    needed = needing(align_nodes(before, after), {"folding": by_name(after)})
    (folded,) = [
        each for each in made_alone(needed, {}, {"folding": by_name(other)}, by_name(before)) if each.name == "mul"
    ]
    assert folded.alone == ()


def test_changes_of_different_passes_do_not_hang_together() -> None:
    rewrites = needing(align_nodes(BEFORE, AFTER), {"a": by_name((*AFTER, BEFORE[1]))})
    found = {each.name: each for each in group_rewrites(explain_rewrites(rewrites, BEFORE, AFTER))}
    assert found["pow/y"].needs == ("a",) and found["pow"].needs == ()
    assert found["pow/y"].into == ("pow",) and found["pow/y"].group != found["pow"].group


def test_every_pass_is_switched_off_by_its_own_switch() -> None:
    assert switches.without("remapping") == {"remapping": False}
    assert switches.without(switches.PRUNING) == {"disable_model_pruning": True}
    assert len(switches.without(*switches.PASSES)) == len(switches.PASSES)
    assert "remapping" not in switches.only("remapping") and len(switches.only("remapping")) == len(switches.PASSES) - 1
