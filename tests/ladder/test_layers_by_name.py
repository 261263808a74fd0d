"""Layers by name: which departs, which only inherits, and what is never counted as compared."""

import numpy as np
import pytest
from chained_layers import Layer, captured, double, given, shifted, triple

from compare.ladder.first_departure import First, first_departure
from compare.ladder.layer_verdicts import BEFORE_ACTIVATION, BOUNDS, Captured, pair_calls, verdicts
from compare.ladder.matched_layers import find_exchanges, match_calls, modules_of
from compare.record.rung_part import LayerVerdict
from workloads.protocol.layer_calls import LayerCall, LayerCalls

BOUND = BOUNDS["float64"]


def judged(
    original: list[Layer], port: list[Layer], names: dict[str, str] | None = None, own: bool = True
) -> tuple[list[LayerVerdict], First | None]:
    theirs, ours = captured(original), captured(port)
    matches = match_calls(theirs.calls, ours.calls, names or {})
    if own:
        ours = captured(port, theirs, matches)
    pairs = pair_calls(theirs, ours, matches, BOUND)
    said = verdicts(theirs, ours, pairs, matches, BOUND)
    return said, first_departure(theirs, ours, pairs, said, BOUND)


def states(said: list[LayerVerdict]) -> dict[str, str]:
    return {each.path: each.state for each in said}


CHAIN = [Layer("first", double), Layer("block/second", shifted), Layer("third", triple), Layer("fourth", shifted)]


def test_equal_layers_agree() -> None:
    said, first = judged(CHAIN, CHAIN)
    assert set(states(said).values()) == {"agrees"}
    assert first is None


def test_the_layer_that_departs_is_told_from_those_that_inherit() -> None:
    port = [CHAIN[0], Layer("block/second", lambda x: x + 1.001), *CHAIN[2:]]
    said, first = judged(CHAIN, port)
    assert states(said) == {"first": "agrees", "block/second": "departs", "third": "inherits", "fourth": "inherits"}
    assert first is not None and first.layer == "block/second"
    assert "tf " in first.told and "jax " in first.told


def test_a_second_departure_behind_the_first_is_one_too() -> None:
    port = [Layer("first", lambda x: 2.1 * x), CHAIN[1], Layer("third", lambda x: 3.1 * x), CHAIN[3]]
    said, first = judged(CHAIN, port)
    assert states(said)["third"] == "departs" and states(said)["block/second"] == "inherits"
    assert first is not None and first.layer == "first"


def test_without_tensorflows_inputs_a_layer_behind_is_not_said_to_inherit() -> None:
    port = [Layer("first", lambda x: 2.1 * x), *CHAIN[1:]]
    said, first = judged(CHAIN, port, own=False)
    assert states(said)["first"] == "departs" and states(said)["third"] == "differs"
    assert first is not None and first.layer == "first"


def test_a_layer_without_a_module_is_not_compared_and_what_departs_in_it_lies_between_two_others() -> None:
    port = [CHAIN[0], Layer("", lambda x: x + 1.5, noted=False), *CHAIN[2:]]
    said, first = judged(CHAIN, port)
    assert states(said)["block/second"] == "not_compared"
    assert first is not None and first.layer == "third"
    assert first.between == ("block/second (Dense)",) and first.after == ("first",)


def test_a_layer_without_a_module_that_agrees_is_no_agreement_of_it() -> None:
    said, first = judged(CHAIN, [CHAIN[0], Layer("", shifted, noted=False), *CHAIN[2:]])
    assert states(said)["block/second"] == "not_compared" and first is None


def test_what_departs_behind_the_last_layer_is_found_in_the_result() -> None:
    said, first = judged(CHAIN, [*CHAIN, Layer("", np.tanh, noted=False)])
    assert set(states(said).values()) == {"agrees"}
    assert first is not None and first.layer == "" and "the result" in first.told and first.after == ("fourth",)


def test_a_module_that_gives_what_its_layers_activation_is_given() -> None:
    original = [Layer("first", double, activation=np.tanh), *CHAIN[2:]]
    port = [Layer("first", double), Layer("", np.tanh, noted=False), *CHAIN[2:]]
    said, first = judged(original, port)
    assert said[0].state == "agrees" and said[0].seen_as == BEFORE_ACTIVATION and first is None


def test_an_activation_that_is_left_out_lies_between_two_layers() -> None:
    original = [Layer("first", double, activation=np.tanh), *CHAIN[2:]]
    _, first = judged(original, [Layer("first", double), *CHAIN[2:]])
    assert first is not None and first.layer == "third" and first.between == ("the activation of first",)


def test_calls_of_one_layer_are_told_by_their_number() -> None:
    original = [Layer("first", double), Layer("shared", shifted), Layer("shared", shifted)]
    port = [Layer("first", double), Layer("shared", shifted), Layer("shared", lambda x: x + 2)]
    said, first = judged(original, port)
    assert [each.state for each in said] == ["agrees", "agrees", "departs"]
    assert first is not None and first.layer == "shared, call 2"


def test_a_call_more_than_the_port_has_is_not_compared() -> None:
    original = [Layer("shared", shifted), Layer("shared", shifted)]
    said, _ = judged(original, [Layer("shared", shifted), Layer("", shifted, noted=False)])
    assert [each.state for each in said] == ["agrees", "not_compared"]


def test_an_output_of_another_shape_is_not_compared() -> None:
    port = [Layer("first", lambda x: 2 * x[:, :2]), Layer("third", triple)]
    said, _ = judged([Layer("first", double), Layer("third", triple)], port)
    assert said[0].state == "not_compared" and "[3, 2]" in said[0].reason and "[3, 4]" in said[0].reason


def test_a_value_that_is_no_number_departs() -> None:
    port = [Layer("first", lambda x: np.where(x > 1, np.nan, 2 * x)), *CHAIN[1:]]
    assert (given() > 1).any()
    said, _ = judged(CHAIN, port)
    assert said[0].state == "departs" and said[0].error == float("inf")


def calls(*paths: str, weights: dict[str, tuple[str, ...]] | None = None) -> LayerCalls:
    return LayerCalls(tuple(LayerCall(path, 0, "Dense") for path in paths), weights=weights or {})


@pytest.mark.parametrize(
    ("layers", "modules", "names", "expected"),
    [
        (["a/b"], ["a/b"], {}, {"a/b": "a/b"}),
        (["block 1/conv-2"], ["block_1/conv_2"], {}, {"block 1/conv-2": "block_1/conv_2"}),
        (["conv"], ["backbone/conv"], {}, {"conv": "backbone/conv"}),
        (["conv"], ["a/conv", "b/conv"], {}, {}),
        (["a/conv", "b/conv"], ["conv"], {}, {}),
        (["conv"], ["first"], {"conv": "first"}, {"conv": "first"}),
        (["conv"], ["conv"], {"conv": "elsewhere"}, {}),
        (["conv"], ["dense"], {}, {}),
        ([""], [""], {}, {}),
    ],
)
def test_names(layers: list[str], modules: list[str], names: dict[str, str], expected: dict[str, str]) -> None:
    assert modules_of(calls(*layers), calls(*modules), names) == expected


def test_weights_in_the_module_of_another_layer_are_found_by_their_values() -> None:
    one, other = np.arange(6.0).reshape(2, 3), np.arange(7.0, 13.0).reshape(2, 3)
    original = captured([Layer("a", double, weights=(one,)), Layer("b", double, weights=(other,))]).calls
    right = captured([Layer("a", double, weights=(one.T,)), Layer("b", double, weights=(other,))]).calls
    swapped = captured([Layer("a", double, weights=(other,)), Layer("b", double, weights=(one,))]).calls
    modules = {"a": "a", "b": "b"}
    assert find_exchanges(original, right, modules) == []
    lines = find_exchanges(original, swapped, modules)
    assert len(lines) == 2 and "weights of layer a lie in module b" in lines[0]


def test_weights_that_several_layers_have_tell_nothing() -> None:
    ones = np.arange(4.0)
    original = captured([Layer("a", double, weights=(ones,)), Layer("b", double, weights=(ones,))]).calls
    assert find_exchanges(original, original, {"a": "a", "b": "b"}) == []


def test_inputs_are_told_by_their_values_whatever_their_order() -> None:
    query, key = given(), given() + 1
    arrays = {"q": query, "k": key, "out": query - key}
    theirs = Captured(LayerCalls((LayerCall("a", 0, "Attention", ("q", "k"), ("out",), makers=(-1, -1)),)), arrays)
    ours = Captured(LayerCalls((LayerCall("a", 0, "Attention", ("k", "q", "q"), ("out",)),)), arrays)
    pair = pair_calls(theirs, ours, {0: 0}, BOUND)[0]
    assert pair.inputs == (1, 0, 0) and pair.inputs_agree is True


def test_inputs_of_one_shape_that_depart_are_not_told_apart() -> None:
    arrays = {"q": given(), "k": given() + 1, "out": given(), "other": given() + 0.5}
    theirs = Captured(LayerCalls((LayerCall("a", 0, "Attention", ("q", "k"), ("out",), makers=(-1, -1)),)), arrays)
    ours = Captured(LayerCalls((LayerCall("a", 0, "Attention", ("q", "other"), ("out",)),)), arrays)
    pair = pair_calls(theirs, ours, {0: 0}, BOUND)[0]
    assert pair.inputs is None and "distinguished" in pair.reason
