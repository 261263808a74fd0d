"""Describes Grappler's changes in sentences and rows, for the console and the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from compare.record.grappler_part import (
    CAME,
    FOLDED,
    Optimization,
    OptimizedNode,
    ResultsHeld,
)
from compare.report import numbers
from compare.report.cluster_rows import list_operations
from compare.report.grappler_changes import shown_node
from compare.report.numbers import count_of

ENDS = ("_Arg", "_DeviceArg", "_Retval")
_CALLING = (
    *("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf"),
    *("While", "StatelessWhile", "Case", "StatelessCase"),
)
_FUNCTIONS = ("f", "then_branch", "else_branch", "cond", "body", "branches")
"""Attributes of these that name functions."""
_CLUSTERED = ("_XlaCompile", "_XlaRun")
_MOST_KINDS = 12


def headline(optimization: Optimization) -> str:
    """How many nodes there were, are, and changed."""
    before, after = (len(nodes) for nodes in (optimization.before, optimization.after))
    if not optimization.rewrites:
        return f"Grappler changed none of {count_of(before, 'node')}"
    went = sum(rewrite.after is None for rewrite in optimization.rewrites)
    came = sum(rewrite.before is None for rewrite in optimization.rewrites)
    others = len(optimization.rewrites) - went - came
    return (
        f"{count_of(before, 'node')} before Grappler, {after:,} after: {went:,} went, {came:,} came, {others:,} changed"
    )


def traced_line(optimization: Optimization) -> str:
    """A line on the runtime's inlining and lowering without Grappler; empty if there is nothing to inline."""
    there = Counter(node.op for node in optimization.before)
    calling = [op for op in _CALLING if optimization.traced.get(op)]
    missing = {op: optimization.traced[op] - there[op] for op in calling if optimization.traced[op] > there[op]}
    remaining = {op: there[op] for op in calling if there[op]}
    if not calling:
        return ""
    count_text = f"; with Grappler switched off they run as {len(optimization.before):,}"
    inlining_text = (
        f": {list_operations(missing)} inlined or lowered by the runtime, which is not Grappler's doing"
        if missing
        else ""
    )
    stay = f"; left as calls: {list_operations(remaining)}" if remaining else ""
    return f"{count_of(sum(optimization.traced.values()), 'node')} traced{count_text}{inlining_text}{stay}"


def operation_rows(optimization: Optimization) -> list[tuple[str, int, int]]:
    """By operation whose number changed, how many there were and are, without arguments and results."""
    before, after = (Counter(node.op for node in nodes) for nodes in (optimization.before, optimization.after))
    changes = [(op, before[op], after[op]) for op in {**before, **after} if before[op] != after[op] and op not in ENDS]
    return sorted(changes, key=lambda row: (-abs(row[2] - row[1]), row[0]))


def operations_line(optimization: Optimization) -> str:
    """The changed numbers of operations in one line; empty if none changed."""
    rows = operation_rows(optimization)
    list_text = ", ".join(f"{op} {before} → {after}" for op, before, after in rows[:_MOST_KINDS])
    more = ", ..." if len(rows) > _MOST_KINDS else ""
    return f"operations: {list_text}{more}" if rows else ""


def constants(optimization: Optimization) -> list[OptimizedNode]:
    """The constants that Grappler computed, the largest first."""
    new_nodes = [rewrite.after for rewrite in optimization.rewrites if rewrite.kind in (FOLDED, CAME) and rewrite.after]
    with_values = [node for node in new_nodes if node.constant]
    return sorted(with_values, key=lambda node: -((node.constant and node.constant.bytes) or 0))


def constants_line(optimization: Optimization) -> str:
    """How much the computed constants hold; empty where there is none."""
    new_constants = constants(optimization)
    if not new_constants:
        return ""
    total = sum((node.constant and node.constant.bytes) or 0 for node in new_constants)
    sentence = f"{count_of(len(new_constants), 'constant')} computed by Grappler, {numbers.binary_bytes(total)} in all"
    return f"{sentence}; the largest is {new_constants[0].name}, {shown_node(new_constants[0])}"


def later_line(optimization: Optimization) -> str:
    """A line on the runtime's replacements after Grappler; empty without any."""
    ops = {node.name: node.op for node in optimization.after}
    pairs = Counter(f"{ops.get(name, '?')} → {op}" for name, op in optimization.replaced_later.items())
    return (
        f"replaced after Grappler, when the graph is placed: {list_operations(dict(pairs.most_common()))}"
        if pairs
        else ""
    )


def result_lines(optimization: Optimization) -> Iterator[str]:
    """Whether the results are the same with and without Grappler, and eager."""
    repeatable = optimization.repeatable
    if repeatable and not repeatable.bit_equal and not repeatable.reason:
        yield (
            f"results: not comparable: two calls of the same graph differ by {_by(repeatable)}, as they do with random "
            "numbers, or a variable that keeps what a call leaves"
        )
        return
    calls = ", where functions that it calls are graphs with Grappler," if _calls(optimization) else ""
    for results, what in (
        (optimization.results, "with and without Grappler"),
        (optimization.eager, f"eager{calls} and as a graph without Grappler"),
    ):
        if results is not None:
            yield f"results {what}: {_result_text(results)}"


def _calls(optimization: Optimization) -> bool:
    """Whether the function calls others that are staged: eager mode runs those as graphs too."""
    return any(optimization.traced.get(op) for op in ("PartitionedCall", "StatefulPartitionedCall"))


def _result_text(results: ResultsHeld) -> str:
    if results.bit_equal:
        return "equal to the last bit"
    return f"not comparable: {results.reason}" if results.reason else f"differ by {_by(results)}"


def _by(results: ResultsHeld) -> str:
    return f"{numbers.error(results.error)} of the largest value, in {results.leaf}"


def kernel_lines(optimization: Optimization) -> Iterator[str]:
    """The kernels of a call, by mode."""
    within = _calls(optimization)
    for mode, kernels in optimization.kernels.items():
        restriction = ", without those in functions that it calls" if within and mode == "eager" else ""
        list_text = f" ({list_operations(dict(kernels))})" if kernels else ""
        yield f"kernels of a call, {mode}{restriction}: {sum(kernels.values()):,}{list_text}"
    idle = idle_line(optimization)
    if idle:
        yield idle


def idle_line(optimization: Optimization) -> str:
    """A line on nodes of Grappler's graph that did not run; empty if all did."""
    ops = Counter(node.op for node in optimization.after if node.name in set(optimization.idle))
    if not ops:
        return ""
    return (
        f"{count_of(ops.total(), 'node')} of the graph after did not run in the call that was profiled "
        f"({list_operations(dict(ops.most_common()))}): why is not known: the runtime may compute constants itself, "
        "and does not take every branch"
    )


def _hidden_functions(optimization: Optimization) -> list[str]:
    """The functions that the graph after calls, and of which it has no node."""
    calls = [node for node in optimization.after if node.op in _CALLING]
    names = {
        name for node in calls for attribute in _FUNCTIONS for name in node.attributes.get(attribute, "").split(", ")
    }
    there = {node.name.partition("/")[0] for node in optimization.after}
    return sorted(names - there - {""})


def doubts(optimization: Optimization) -> Iterator[str]:
    """Reasons why changes cannot be attributed to passes."""
    hidden_functions = _hidden_functions(optimization)
    if hidden_functions:
        yield (
            f"what is in {', '.join(hidden_functions)} after Grappler is not known: TensorFlow shows the call and not "
            "the function; nodes that are there under another name count as gone"
        )
    if optimization.same_again is False:
        yield "no change is ascribed to a pass: the same switches gave another graph when they were set again"
    if any(node.op in _CLUSTERED for node in optimization.before):
        yield (
            "XLA's clusters stand in both graphs, in place of what Grappler rewrote: TF_XLA_FLAGS switches "
            "autoclustering on, unset it to see Grappler's work"
        )
    if optimization.same_again is None:
        yield "whether the same switches give the same graph is not known"
    for what, reason in optimization.failed.items():
        yield f"{what}: not known: {reason}"
