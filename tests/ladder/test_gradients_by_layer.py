"""Gradients from the loss backwards: which layer hands back another one than TensorFlow's."""

import numpy as np

from compare.ladder.gradient_departure import gradient_departure
from compare.ladder.layer_verdicts import Captured, Paired
from compare.record.rung_part import LayerVerdict
from workloads.protocol.layer_calls import LayerCall, LayerCalls

ONES = np.arange(1.0, 5.0)


def side(reached: list[np.ndarray], handed: list[np.ndarray]) -> Captured:
    """A chain of layers a, b and c, with the gradients that reach each and that each hands back."""
    arrays: dict[str, np.ndarray] = {}
    calls: list[LayerCall] = []
    for at, (path, out, back) in enumerate(zip("abc", reached, handed, strict=True)):
        arrays |= {f"{at}out": out, f"{at}in": back}
        calls.append(
            LayerCall(path, 0, "Dense", ("x",), ("y",), "", (at - 1,), (f"{at}out",), (f"{at}in",), started=at)
        )
    return Captured(LayerCalls(tuple(calls)), arrays)


def first(ours: Captured, seen_as: str = "") -> str:
    theirs = side([ONES, ONES, ONES], [ONES, ONES, ONES])
    pairs = {
        at: Paired(layer, module, (0,), True)
        for at, (layer, module) in enumerate(zip(theirs.calls.calls, ours.calls.calls, strict=True))
    }
    said = [LayerVerdict(path=path, state="agrees", seen_as=seen_as) for path in "abc"]
    found = gradient_departure(theirs, ours, pairs, said)
    return found.told if found else ""


def test_equal_gradients() -> None:
    assert first(side([ONES, ONES, ONES], [ONES, ONES, ONES])) == ""


def test_a_layer_that_is_reached_by_tensorflows_and_hands_back_another() -> None:
    told = first(side([0 * ONES, ONES, ONES], [0 * ONES, 0 * ONES, ONES]))
    assert told.startswith("b (Dense) hands back another gradient: given TensorFlow's, [3]: tf 4, jax 0")


def test_a_gradient_that_is_stopped_between_two_layers() -> None:
    told = first(side([0 * ONES, ONES, ONES], [0 * ONES, ONES, ONES]))
    assert told.startswith("a (Dense) is reached by another gradient: between its output and b;")


def test_of_an_output_before_its_activation_what_reaches_it_is_not_told() -> None:
    told = first(side([0 * ONES, 0 * ONES, ONES], [0 * ONES, 0 * ONES, ONES]), seen_as="before its activation")
    assert told.startswith("b (Dense), or what its output goes through, hands back another gradient")
