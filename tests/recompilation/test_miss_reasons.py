"""A reason is what misses a cache again; the cache here is the test's own."""

from collections.abc import Callable, Hashable

import numpy as np
import pytest

from compare.inputs.call_streams import stream
from compare.recompilation.miss_reasons import Reason, reason
from compare.sides.replies import Seen
from workloads.protocol.recompiling import Named

TRACED, COMPILED = Seen(1, 1, 0.0, 0.0, None, 0.0), Seen(0, 1, 0.0, 0.0, None, 0.0)
HIT = Seen(0, 0, 0.0, 0.0, None, 0.0)

Key = Callable[[Named], Hashable]


def shapes(arguments: Named) -> Hashable:
    return tuple(value.shape if isinstance(value, np.ndarray) else value for value in arguments.values())


def why(texts: list[str], seen: Seen, key: Key = shapes) -> Reason:
    """Why the last of these calls was as it was, in a framework whose cache has this key."""
    *earlier, call = stream(texts, [])

    def probe(before: Named, after: Named, body: bool) -> Seen:
        assert body is (seen.traces == 0)
        return HIT if key(before) == key(after) else seen

    return reason(call.arguments, {n: one.arguments for n, one in enumerate(earlier, 1)}, seen, probe, "tf")


def test_nothing_has_to_be_found_for_a_first_call() -> None:
    assert why(["x=f32[3]"], TRACED) == Reason("first call", None)


def test_the_nearest_earlier_call_explains() -> None:
    found = why(["x=f32[3], k=1", "x=f32[4], k=2", "x=f32[3], k=2"], TRACED)
    assert found == Reason("x: f32[4] -> f32[3], dimension 0", True)


def test_a_change_that_misses_nothing_is_no_reason() -> None:
    found = why(["x=f32[3], k=1", "x=f32[4], k=2"], TRACED, key=lambda arguments: arguments["x"].shape)
    assert found == Reason("x: f32[3] -> f32[4], dimension 0", True)


def test_each_of_several_reasons_is_one() -> None:
    assert why(["x=f32[3], k=1", "x=f32[4], k=2"], TRACED).text.split("; ") == [
        "x: f32[3] -> f32[4], dimension 0", "k: 1 -> 2, the value of a Python int"
    ]  # fmt: skip


def test_changes_that_miss_only_together_are_said_so() -> None:
    found = why(["a=1, b=1", "a=2, b=2"], TRACED, key=lambda arguments: (arguments["a"], arguments["b"]) == (2, 2))
    assert found.established and found.text.startswith("together: a: 1 -> 2")


@pytest.mark.parametrize("seen", [TRACED, COMPILED])
def test_the_same_arguments_explain_nothing(seen: Seen) -> None:
    assert why(["x=f32[3]", "x=f32[3]"], seen) == Reason("not known: call 1 had the same arguments", False)


def test_a_change_that_cannot_be_repeated_is_not_stated_as_a_reason() -> None:
    found = why(["x=f32[3]", "x=f32[4]"], TRACED, key=lambda _: 0)
    assert found.established is False and found.text.startswith("not known: ")


def test_a_compilation_under_the_same_trace_has_a_shape_or_a_constant_for_a_reason() -> None:
    assert why(["x=f32[3]", "x=f32[4]"], COMPILED).text == (
        "x: f32[3] -> f32[4], dimension 0: compiled again under the same trace"
    )
    assert "which XLA needs as a constant" in why(["n=np.int32(0)", "n=np.int32(1)"], COMPILED).text
    found = why(["x=f32[3], n=i32(0)", "x=f32[4], n=i32(1)"], COMPILED, key=lambda arguments: int(arguments["n"]))
    assert found.text.startswith("n: i32(0) -> i32(1)") and "x:" not in found.text


def test_a_probe_that_fails_establishes_nothing() -> None:
    one, other = stream(["x=f32[3], k=1", "x=f32[4], k=2"], [])
    found = reason(other.arguments, {1: one.arguments}, TRACED, lambda *_: None, "tf")
    assert found.established is False
