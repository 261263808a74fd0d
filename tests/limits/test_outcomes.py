"""How a function came out, and whether that is what was stated and what is known: each judgement can fail."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from compare.limits.outcomes import (
    agrees,
    count_clusters,
    count_compilations,
    cut,
    describe_error,
    find_unexpected,
    gave,
)
from compare.record.clustering_part import BOUNDARY, Cluster, ClusteredGraph, GraphNode
from compare.record.ledger_part import NOT_CALLED, LedgerCall, SideLedger
from compare.record.limit_part import Limit, LimitWay
from workloads.limits._statement import Raised
from workloads.protocol.framework import KernelRun

EAGER = {"0": np.array([1.0, 2.0, 4.0], np.float32)}

LIMIT = Limit(
    name="unique",
    says={"tf/jit": "raises"},
    expected={"tf/eager": "runs", "tf/autocluster": "same", "tf/jit": "raises"},
    ways={
        "tf/eager": LimitWay(outcome="runs"),
        "tf/autocluster": LimitWay(outcome="same", outside=("Unique", "Mul")),
        "tf/jit": LimitWay(outcome="raises", told="XLA has no kernel for Unique", code="y, _ = tf.unique(x)"),
    },
)
RAISES = {"tf/jit": Raised("Unique", "tf.unique")}

OF_A_LOOP = """Input 1 to node `while/Max` must be a compile-time constant.
Stack trace for op definition:
File "/home/tf_reference/limits/known.py", line 3, in axis
	tf2xla conversion failed
Stack trace for op definition:
File "/home/tf_reference/limits/known.py", line 2, in axis
"""


@pytest.mark.parametrize(
    ("found", "padded", "outcome", "bit_equal"),
    [
        ([1.0, 2.0, 4.0], False, "same", True),
        ([1.0, 2.0, 4.00001], False, "same", False),
        ([1.0, 2.0, 4.1], False, "other", None),
        ([1.0, 2.0, np.nan], False, "other", None),
        ([1.0, 2.0], False, "other", None),
        ([], True, "other", None),
        ([1.0, 2.0, 4.0, 9.0], True, "same", True),
        ([1.0, 2.0, 5.0, 9.0], True, "other", None),
        ([1.0, 2.0, 4.0, 9.0], False, "other", None),
    ],
)
def test_results_are_those_of_eager_or_others(
    found: list[float], padded: bool, outcome: str, bit_equal: bool | None
) -> None:
    seen = gave({"0": np.array(found, np.float32)}, EAGER, padded)
    assert (seen.outcome, seen.bit_equal) == (outcome, bit_equal)
    assert bool(seen.told) == (outcome == "other")


def test_another_dtype_is_another_result_and_without_eager_there_is_none_to_compare() -> None:
    assert gave({"0": EAGER["0"].astype(np.float64)}, EAGER, is_padded=False).outcome == "other"
    assert gave({"0": EAGER["0"]}, None, is_padded=False) == LimitWay(outcome="runs")


def test_the_error_of_a_result_is_in_parts_of_the_largest_value() -> None:
    seen = gave({"0": np.array([1.0, 2.00002, 4.0], np.float32)}, EAGER, is_padded=False)
    assert seen.error == pytest.approx(5e-6, rel=0.01)


def test_a_missing_kernel_is_named_with_the_line_of_the_users_code() -> None:
    reason = (
        "InvalidArgumentError: Detected unsupported operations when trying to compile graph __inference_f_1: _Arg (No "
        "registered '_Arg' OpKernel for XLA_CPU_JIT), Unique (No registered 'Unique' OpKernel for XLA_CPU_JIT)"
    )
    seen = describe_error(
        reason, 'File "home/limits/known.py", line 2, in f\nFile "execute.py", line 1', "known.py", ["", " y"]
    )
    assert seen == LimitWay(outcome="raises", told="XLA has no kernel for Unique", place="known.py:2", code="y")


def test_of_an_operation_in_a_loop_its_own_line_is_named() -> None:
    seen = describe_error("InvalidArgumentError: Input 1", OF_A_LOOP, "known.py", ["def", "loop", "max"])
    assert (seen.place, seen.code) == ("known.py:3", "max")


@pytest.mark.parametrize(
    ("details", "place"),
    [
        ("The leaked intermediate value was created on line /home/known.py:2:23 (body).", "known.py:2"),
        ("resource Variable/0 (defined @ /home/known.py:1) located in device CPU:1", "known.py:1"),
        ('File "/home/other.py", line 1', ""),
        ('File "/home/known.py", line 99', ""),
    ],
)
def test_a_line_comes_from_the_functions_own_file_alone(details: str, place: str) -> None:
    assert describe_error("ValueError: no", details, "known.py", ["first", "second"]).place == place


def test_an_error_is_told_without_folders_and_without_what_is_said_of_all_of_its_kind() -> None:
    reason = (
        "TypeError: no, at /home/me/model.py:3. The error occurred while tracing the function f at /home/me/model.py:1 "
        'for jit. (File "/home/me/model.py", line 3, in f)'
    )
    assert describe_error(reason, "", "known.py", []).told == "TypeError: no, at model.py:3."


def test_a_statement_agrees_only_where_all_that_follows_from_it_was_seen() -> None:
    assert agrees(LIMIT, ())
    assert agrees(replace(LIMIT, says={"tf/jit": "same"}), ()) is False
    assert agrees(replace(LIMIT, says={"tf/jit": "raises", "tf/autocluster": "other"}), ()) is False


def test_where_nothing_follows_from_a_statement_nothing_agrees() -> None:
    assert agrees(replace(LIMIT, says={}), ()) is None


def test_another_error_than_the_one_that_is_meant_does_not_agree() -> None:
    surprising = find_unexpected(LIMIT, {"tf/jit": Raised("Where", "")}, [])  # type: ignore[arg-type]
    assert surprising.keys() == {"tf/jit"} and agrees(LIMIT, surprising) is None
    assert agrees(LIMIT, {"tf/autocluster"})


@pytest.mark.parametrize(
    ("stated", "agreeing"),
    [("3 compilations", True), ("1 trace", True), ("3 traces", False), ("raises", False), ("13 compilations", False)],
)
def test_of_a_stream_its_traces_or_its_compilations_are_stated(stated: str, agreeing: bool) -> None:
    ways = {"tf/jit": LimitWay(outcome="1 trace, 3 compilations", counts=("1 trace", "3 compilations"))}
    assert agrees(Limit(says={"tf/jit": stated}, ways=ways), ()) is agreeing


def test_a_statement_neither_agrees_nor_differs_where_a_worker_was_lost() -> None:
    lost = {**LIMIT.ways, "tf/jit": LimitWay(told="the worker died")}
    assert agrees(replace(LIMIT, ways=lost), ()) is None
    assert agrees(replace(LIMIT, ways={"tf/eager": LimitWay(told="the worker died")}), ()) is None
    assert find_unexpected(replace(LIMIT, ways=lost), {}, []) == {"tf/jit": "expected raises, found nothing"}


def test_what_came_out_as_known_is_no_surprise() -> None:
    assert find_unexpected(LIMIT, RAISES, ["Unique"]) == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limit", "raises", "outside", "said"),
    [
        (replace(LIMIT, expected={"tf/jit": "same"}), {}, [], "tf/jit: expected same, found raises"),
        (replace(LIMIT, expected={"jax/port": "same"}), {}, [], "jax/port: expected same, found nothing"),
        (LIMIT, {"tf/jit": Raised("Where", "")}, [], "tf/jit: expected an error with 'Where', found"),
        (LIMIT, {"tf/jit": Raised("", "tf.where")}, [], "tf/jit: expected a line with 'tf.where', found"),
        (LIMIT, {}, ["Where"], "expected Where outside of every cluster, not among those outside: Unique, Mul"),
    ],
)
def test_what_came_out_otherwise_is_said(
    limit: Limit, raises: dict[str, Raised], outside: list[str], said: str
) -> None:
    found = find_unexpected(limit, raises, outside)  # type: ignore[arg-type]
    assert said in "; ".join(f"{way}: {text}" for way, text in found.items())


def test_operations_outside_of_clusters_are_those_of_the_last_call() -> None:
    first = [KernelRun("a:Cast")]
    last = [KernelRun("x:_Arg"), KernelRun("cluster_0/r:_XlaRun"), KernelRun("u:Unique"), KernelRun("v:Unique")]
    assert count_clusters([first, last]) == (1, ("Unique",))
    assert count_clusters([]) == (0, ())


@pytest.mark.parametrize(
    ("kept", "seen"),
    [
        (SideLedger(calls=(LedgerCall(), LedgerCall()), traces=1, compilations=2), LimitWay("1 trace, 2 compilations")),
        (SideLedger(calls=(LedgerCall(), LedgerCall(error="TypeError"))), LimitWay(told="call 2: TypeError")),
        (
            SideLedger(calls=(LedgerCall(error="it died"), LedgerCall(error=NOT_CALLED)), lost=True),
            LimitWay(told="call 1: it died", lost=True),
        ),
        (SideLedger(error="ValueError: no function"), LimitWay(told="ValueError: no function")),
    ],
)
def test_a_stream_is_counted_only_where_every_call_gave_a_result(kept: SideLedger, seen: LimitWay) -> None:
    found = count_compilations(kept)
    assert (found.outcome, found.lost) == (seen.outcome, seen.lost)
    assert found.told == (seen.told or "of 2 calls")


def graph(*clusters: str) -> ClusteredGraph:
    """A node in each of these clusters, "" for none, and an argument."""
    nodes = tuple(GraphNode(name=str(place), cluster=name) for place, name in enumerate(clusters))
    named = tuple(Cluster(name=name) for name in dict.fromkeys(clusters) if name)
    return ClusteredGraph(nodes=(*nodes, GraphNode(name="x", outside=BOUNDARY)), clusters=named)


@pytest.mark.parametrize(
    ("beyond", "outcome"),
    [
        (graph("c0", "c0"), "whole"),
        (graph("c0", "c1"), "cut"),
        (graph("c0", ""), "cut"),
        (graph("", ""), "cut"),
        (None, ""),
    ],
)
def test_a_line_cuts_a_cluster_or_leaves_it_whole(beyond: ClusteredGraph | None, outcome: str) -> None:
    assert cut(graph("c0", "c0"), beyond).outcome == outcome
