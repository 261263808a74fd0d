"""How a function came out beside TensorFlow eager, and whether that is what was stated and what is known. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from compare.clusters.measured_share import RUN, RanNode
from compare.limits.naming_limits import CUT, WHOLE, counts
from compare.recompilation.same_results import call_unlike
from compare.record.clustering_part import BOUNDARY, ClusteredGraph
from compare.record.ledger_part import SideLedger
from compare.record.limit_part import Limit, LimitWay, is_as_stated
from workloads.core.spec import Arrays
from workloads.limits._statement import Raised, Way

EAGER = "tf/eager"
RUNS, SAME, OTHER, RAISES = "runs", "same", "other", "raises"

_FRAME = re.compile(r'File "[^"]*?([^"/]+)", line (\d+)')
_DEFINED = re.compile(r"(?:defined @|was created on line) \S*?([^/\s]+\.py):(\d+)")
_TRACE = "Stack trace for op definition"
"""TensorFlow's heading over the lines of an operation; of one in a loop, those of the loop follow under another."""
_REST = re.compile(
    r"[\s;]*(\(?File \"|Stack trace for op definition|The error occurred while tracing|This error means).*$"
)
"""The text behind an explanation: its place, and the general text of its kind of error."""
_FOLDER = re.compile(r"/\S*/(?=\w+\.py\b)")
_NO_KERNEL = re.compile(r"No registered '(\w+)' OpKernel for XLA")
_PLUMBING = frozenset({
    *("_XlaCompile", "_XlaRun", "_XlaMerge", "_FusedSwitch", "_SwitchN", "_Arg", "_Retval", "Const", "NoOp"),
    *("_Send", "_Recv", "_HostSend", "_HostRecv"),
    *("Identity", "IdentityN", "Switch", "Merge", "PartitionedCall", "StatefulPartitionedCall"),
})  # fmt: skip
"""Nodes that compute nothing of their own."""


def describe_error(reason: str, details: str, file: str, lines: Sequence[str]) -> LimitWay:
    """An error, with the line of the function's own file that it names, or else comes from.

    Args:
      file: the name of that file.
    """
    lacking = list(dict.fromkeys(name for name in _NO_KERNEL.findall(reason) if not name.startswith("_")))
    message = f"XLA has no kernel for {', '.join(lacking)}" if lacking else _FOLDER.sub("", _REST.sub("", reason))
    first_part = details.split(_TRACE)[:2][-1]
    places = [*_FRAME.findall(first_part), *_DEFINED.findall(details)]
    line_numbers = [int(line) for name, line in places if name == file]
    if not line_numbers or not 0 < line_numbers[-1] <= len(lines):
        return LimitWay(outcome=RAISES, told=message)
    return LimitWay(
        outcome=RAISES, told=message, place=f"{file}:{line_numbers[-1]}", code=lines[line_numbers[-1] - 1].strip()
    )


def gave(outputs: Arrays, eager: Arrays | None, is_padded: bool) -> LimitWay:
    """Results beside those of TensorFlow eager.

    Args:
      outputs: by position.
      eager: likewise; None where it raised, or for its own results.
      is_padded: whether only the part of that size counts.
    """
    if eager is None:
        return LimitWay(outcome=RUNS)
    difference = call_unlike(eager, outputs, "within" if is_padded else "whole")
    if difference:
        return LimitWay(outcome=OTHER, told=difference)
    trimmed_outputs = {name: outputs[name][tuple(slice(size) for size in array.shape)] for name, array in eager.items()}
    bit_equal = all(np.array_equal(_bits(eager[name]), _bits(trimmed_outputs[name])) for name in eager)
    return LimitWay(
        outcome=SAME, bit_equal=bit_equal, error=max(_error(eager[name], trimmed_outputs[name]) for name in eager)
    )


def _bits(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)


def _error(eager: np.ndarray, output: np.ndarray) -> float:
    before, after = eager.astype(np.float64), output.astype(np.float64)
    with np.errstate(invalid="ignore"):  # two infinities
        differences = np.nan_to_num(np.abs(before - after), nan=0.0)
    largest = float(np.max(np.abs(before), initial=0.0, where=np.isfinite(before)))
    error = float(np.max(differences, initial=0.0))
    return error / largest if largest else error


def count_clusters(calls: Sequence[Sequence[RanNode]]) -> tuple[int, tuple[str, ...]]:
    """How many clusters the last call ran, and the types of the operations that it ran outside of them."""
    operations = [node.name.rpartition(":")[2] for node in calls[-1]] if calls else []
    outside = dict.fromkeys(operation for operation in operations if operation not in _PLUMBING)
    return operations.count(RUN), tuple(outside)


def count_compilations(side_ledger: SideLedger) -> LimitWay:
    """How often a stream was traced and compiled; where a call gave no result, its error."""
    failure = next(
        (f"call {n}: {call.error}" for n, call in enumerate(side_ledger.calls, start=1) if call.error),
        side_ledger.error,
    )
    if failure:
        return LimitWay(told=failure, lost=side_ledger.lost)
    texts = counts(side_ledger.traces, side_ledger.compilations)
    return LimitWay(outcome=", ".join(texts), told=f"of {len(side_ledger.calls)} calls", counts=texts)


def cut(within: ClusteredGraph | None, beyond: ClusteredGraph | None) -> LimitWay:
    """The change of a function's clusters by a line.

    Args:
      within: the graph without it; None where none was logged.
    """
    if within is None or beyond is None:
        return LimitWay(told="no graph was logged")
    (share, clusters), (before, clusters_before) = _share(beyond), _share(within)
    return LimitWay(
        outcome=CUT if share < before or clusters > clusters_before else WHOLE,
        told=f"{share:.0%} of the nodes in {clusters} clusters, without the line {before:.0%} in {clusters_before}",
        clusters=clusters,
    )


def _share(graph: ClusteredGraph) -> tuple[float, int]:
    """The share of the nodes in clusters, and the number of clusters."""
    nodes = [node for node in graph.nodes if node.outside != BOUNDARY]
    return sum(bool(node.cluster) for node in nodes) / len(nodes) if nodes else 0.0, len(graph.clusters)


def agrees(limit: Limit, surprising: Collection[str]) -> bool | None:
    """Whether all that follows from the statement was seen; None where nothing does, or that is not known.

    Args:
      surprising: ways in which something came out otherwise than these versions are known to do: by another error than
        the one that is meant, a function would seem to do what is stated.
    """
    if not limit.says or any(not _outcome(limit, way) or way in surprising for way in limit.says):
        return None
    return all(is_as_stated(limit.ways[way], statement) for way, statement in limit.says.items())


def find_unexpected(limit: Limit, raises: Mapping[Way, Raised], outside: Sequence[str]) -> dict[str, str]:
    """By way, what came out otherwise than these versions are known to do.

    Args:
      raises: by way, the error that is known.
    """
    expected = {way: _other_outcome(limit, way) for way in limit.expected}
    surprises = {way: text for way, text in expected.items() if text}
    errors = {way: _other_error(limit.ways[way], error) for way, error in raises.items() if way not in surprises}
    surprises |= {way: text for way, text in errors.items() if text}
    if outside and "tf/autocluster" not in surprises:
        seen_operations = limit.ways["tf/autocluster"].outside
        lacking = [name for name in outside if name not in seen_operations]
        if lacking:
            seen_text = ", ".join(seen_operations) or "none"
            surprises["tf/autocluster"] = (
                f"expected {lacking[0]} outside of every cluster, not among those outside: {seen_text}"
            )
    return surprises


def _other_outcome(limit: Limit, way: str) -> str:
    expected, outcome = limit.expected[way], _outcome(limit, way)
    return "" if outcome == expected else f"expected {expected}, found {outcome or 'nothing'}"


def _other_error(outcome: LimitWay, expected_error: Raised) -> str:
    if expected_error.error not in outcome.told:
        return f"expected an error with {expected_error.error!r}, found {outcome.told!r}"
    return (
        ""
        if expected_error.line in outcome.code
        else f"expected a line with {expected_error.line!r}, found {outcome.code or 'none'!r}"
    )


def _outcome(limit: Limit, way: str) -> str:
    return limit.ways[way].outcome if way in limit.ways else ""
