"""What Grappler did, in sentences and rows: the console and the page show the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.record.grappler_part import (
    ABSORBED,
    CAME,
    FOLDED,
    FUSED,
    KINDS,
    REPLACED,
    NodeRewrite,
    Optimization,
    OptimizedNode,
    ResultsHeld,
)
from compare.report import numbers
from compare.report.cluster_rows import listed
from compare.report.numbers import counted

ENDS = ("_Arg", "_DeviceArg", "_Retval")
_CALLING = (
    *("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf"),
    *("While", "StatelessWhile", "Case", "StatelessCase"),
)
_FUNCTIONS = ("f", "then_branch", "else_branch", "cond", "body", "branches")
"""Attributes of these that name functions."""
_CLUSTERED = ("_XlaCompile", "_XlaRun")
_STANDING = (FOLDED, FUSED, REPLACED, CAME, ABSORBED)
"""Kinds that are told as operations before and operations after."""
_CONSTANT = "Const"
_MOST_KINDS = 12
_PLUMBING = frozenset(
    {
        *("_Retval", "Identity", "IdentityN", "NoOp", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"),
        *("_SwitchN",),
    }
)
"""Operations that only hand values on."""
_HANDING_ON = "gone, or read or wait for others: they only hand values on"


@dataclass(frozen=True)
class RewriteRow:
    """Changes that read alike, made by the same passes."""

    passes: str
    """Which, and what shows it."""
    what: str
    count: int
    places: Mapping[tuple[str, str], int]
    """By FILE:LINE and the text of that line."""
    names: tuple[str, ...]


def headline(found: Optimization) -> str:
    """How many nodes there were, are, and changed."""
    before, after = (len(nodes) for nodes in (found.before, found.after))
    if not found.rewrites:
        return f"Grappler changed none of {counted(before, 'node')}"
    went = sum(each.after is None for each in found.rewrites)
    came = sum(each.before is None for each in found.rewrites)
    changed = len(found.rewrites) - went - came
    return (
        f"{counted(before, 'node')} before Grappler, {after:,} after: {went:,} went, {came:,} came, {changed:,} changed"
    )


def traced_line(found: Optimization) -> str:
    """What the runtime does without Grappler: inlining and lowering; empty where there is nothing to inline."""
    there = Counter(node.op for node in found.before)
    calling = [op for op in _CALLING if found.traced.get(op)]
    gone = {op: found.traced[op] - there[op] for op in calling if found.traced[op] > there[op]}
    left = {op: there[op] for op in calling if there[op]}
    if not calling:
        return ""
    made = f"; with Grappler switched off they run as {len(found.before):,}"
    inlined = f": {listed(gone)} inlined or lowered by the runtime, which is not Grappler's doing" if gone else ""
    stay = f"; left as calls: {listed(left)}" if left else ""
    return f"{counted(sum(found.traced.values()), 'node')} traced{made}{inlined}{stay}"


def rewrite_rows(found: Optimization) -> list[RewriteRow]:
    """The changes, by the passes that made them; what is told as operations before and after first."""
    rows: dict[tuple[str, str], list[Sequence[NodeRewrite]]] = {}
    for members in _groups(found.rewrites):
        rows.setdefault((passes(members[0], found), _what(members)), []).append(members)
    made = [_row(*key, groups) for key, groups in rows.items()]
    order = {each.passes: number for number, each in enumerate(sorted(made, key=_order))}
    return sorted(made, key=lambda row: (order[row.passes], *_last(row), -row.count, row.what))


def _last(row: RewriteRow) -> tuple[bool, bool]:
    return row.what.endswith(_HANDING_ON), " → " not in row.what


def _order(row: RewriteRow) -> tuple[bool, bool, str]:
    return row.passes.startswith("not known"), not row.passes.endswith(_NEEDED), row.passes


_NEEDED = "(not made without)"


def passes(rewrite: NodeRewrite, found: Optimization) -> str:
    """Which passes made a change, and by which experiment that is known.

    Args:
      rewrite: the change.
      found: what it is a change of, with the experiments that were made.
    """
    if found.same_again is False:
        return "not known: not tried, since the same switches gave another graph"
    if rewrite.needs:
        return f"{' with '.join(rewrite.needs)} {_NEEDED}"
    if rewrite.alone:
        return f"{' or '.join(rewrite.alone)} (each makes it with all others off)"
    if rewrite.always:
        return "not known: made with every pass switched off"
    if rewrite.differs:
        tried = " of those that could be tried" if _untried(found) else ""
        without = ", ".join(rewrite.differs)
        return f"not known: no single pass{tried} makes or undoes it; without {without} it comes out otherwise"
    return "not known: no pass that was switched off undoes it"


def _untried(found: Optimization) -> bool:
    """Whether an experiment with a pass gave no graph."""
    return any({f"without {name}", f"{name} alone"} & found.failed.keys() for name in found.passes)


def _groups(rewrites: Sequence[NodeRewrite]) -> Iterator[Sequence[NodeRewrite]]:
    """Those that stand for each other together; of the others each kind together."""
    standing: dict[int | None, list[NodeRewrite]] = {}
    for each in rewrites:
        if each.kind in _STANDING:
            standing.setdefault(each.group, []).append(each)
        else:
            yield [each]
    # A node that went, and that no new one of the same passes stands for, is told like those of its own kind.
    for members in standing.values():
        if all(each.kind == ABSORBED for each in members):
            yield from ([each] for each in members)
        else:
            yield members


def _what(members: Sequence[NodeRewrite]) -> str:
    if len(members) == 1 and members[0].kind not in (FOLDED, FUSED, REPLACED, CAME):
        node = members[0].before
        if node is not None and node.op in _PLUMBING:
            return _HANDING_ON
        return KINDS.get(members[0].kind, members[0].kind)
    before = Counter(each.before.op for each in members if each.before)
    telling = Counter({op: count for op, count in before.items() if op != _CONSTANT}) or before
    after = Counter(_told(each.after) for each in members if each.after)
    return (
        f"{listed(dict(telling.most_common()))} → {listed(dict(after.most_common()))}"
        if before
        else f"new: {listed(after)}"
    )


def _told(node: OptimizedNode) -> str:
    if node.constant is None:
        return node.op
    held = node.constant
    shape = f"{held.dtype}[{','.join(map(str, held.shape))}]"
    return f"Const {shape}" if (held.bytes or 0) > _SHOWN else f"Const {shape} {held.text}"


_SHOWN = 64
"""Bytes of a constant up to which its value stands in a row."""


def _row(made_by: str, what: str, groups: Sequence[Sequence[NodeRewrite]]) -> RewriteRow:
    members = [each for group in groups for each in group]
    nodes = [node for each in members if (node := each.before or each.after)]
    kinds = Counter(node.op for node in nodes)
    alone = all(len(group) == 1 for group in groups) and " → " not in what and not what.startswith("new: ")
    times = f"{len(groups)} x " if len(groups) > 1 else ""
    said = f"{counted(len(members), 'node')} ({listed(dict(kinds.most_common()))}): {what}" if alone else times + what
    places = Counter((node.source, node.line) for node in nodes if node.source)
    return RewriteRow(made_by, said, len(members), dict(places.most_common()), tuple(each.name for each in members))


def operation_rows(found: Optimization) -> list[tuple[str, int, int]]:
    """By operation whose number changed, how many there were and are, without arguments and results."""
    before, after = (Counter(node.op for node in nodes) for nodes in (found.before, found.after))
    changed = [(op, before[op], after[op]) for op in {**before, **after} if before[op] != after[op] and op not in ENDS]
    return sorted(changed, key=lambda row: (-abs(row[2] - row[1]), row[0]))


def operations_line(found: Optimization) -> str:
    """The same in one line; empty where no number changed."""
    rows = operation_rows(found)
    said = ", ".join(f"{op} {before} → {after}" for op, before, after in rows[:_MOST_KINDS])
    more = ", ..." if len(rows) > _MOST_KINDS else ""
    return f"operations: {said}{more}" if rows else ""


def constants(found: Optimization) -> list[OptimizedNode]:
    """The constants that Grappler computed, the largest first."""
    made = [each.after for each in found.rewrites if each.kind in (FOLDED, CAME) and each.after]
    held = [node for node in made if node.constant]
    return sorted(held, key=lambda node: -((node.constant and node.constant.bytes) or 0))


def constants_line(found: Optimization) -> str:
    """How much the computed constants hold; empty where there is none."""
    made = constants(found)
    if not made:
        return ""
    total = sum((node.constant and node.constant.bytes) or 0 for node in made)
    said = f"{counted(len(made), 'constant')} computed by Grappler, {numbers.binary_bytes(total)} in all"
    return f"{said}; the largest is {made[0].name}, {_told(made[0])}"


def later_line(found: Optimization) -> str:
    """What the runtime replaced after Grappler; empty where it did nothing."""
    ops = {node.name: node.op for node in found.after}
    pairs = Counter(f"{ops.get(name, '?')} → {op}" for name, op in found.replaced_later.items())
    return f"replaced after Grappler, when the graph is placed: {listed(dict(pairs.most_common()))}" if pairs else ""


def result_lines(found: Optimization) -> Iterator[str]:
    """Whether the results are the same with and without Grappler, and eager."""
    repeatable = found.repeatable
    if repeatable and not repeatable.bit_equal and not repeatable.reason:
        yield (
            f"results: not comparable: two calls of the same graph differ by {_by(repeatable)}, as they do with random "
            "numbers, or a variable that keeps what a call leaves"
        )
        return
    calls = ", where functions that it calls are graphs with Grappler," if _calls(found) else ""
    for held, what in (
        (found.results, "with and without Grappler"),
        (found.eager, f"eager{calls} and as a graph without Grappler"),
    ):
        if held is not None:
            yield f"results {what}: {_said(held)}"


def _calls(found: Optimization) -> bool:
    """Whether the function calls others that are staged: eager mode runs those as graphs too."""
    return any(found.traced.get(op) for op in ("PartitionedCall", "StatefulPartitionedCall"))


def _said(held: ResultsHeld) -> str:
    if held.bit_equal:
        return "equal to the last bit"
    return f"not comparable: {held.reason}" if held.reason else f"differ by {_by(held)}"


def _by(held: ResultsHeld) -> str:
    return f"{numbers.error(held.error)} of the largest value, in {held.leaf}"


def kernel_lines(found: Optimization) -> Iterator[str]:
    """The kernels of a call, by mode."""
    within = _calls(found)
    for mode, kernels in found.kernels.items():
        uncounted = ", without those in functions that it calls" if within and mode == "eager" else ""
        said = f" ({listed(dict(kernels))})" if kernels else ""
        yield f"kernels of a call, {mode}{uncounted}: {sum(kernels.values()):,}{said}"
    idle = idle_line(found)
    if idle:
        yield idle


def idle_line(found: Optimization) -> str:
    """What stands in the graph after Grappler and did not run; empty where all did."""
    ops = Counter(node.op for node in found.after if node.name in set(found.idle))
    if not ops:
        return ""
    return (
        f"{counted(ops.total(), 'node')} of the graph after did not run in the call that was profiled "
        f"({listed(dict(ops.most_common()))}): why is not known: the runtime may compute constants itself, and "
        "does not take every branch"
    )


def _unseen(found: Optimization) -> list[str]:
    """The functions that the graph after calls, and of which it has no node."""
    calls = [node for node in found.after if node.op in _CALLING]
    names = {
        name for node in calls for attribute in _FUNCTIONS for name in node.attributes.get(attribute, "").split(", ")
    }
    there = {node.name.partition("/")[0] for node in found.after}
    return sorted(names - there - {""})


def doubts(found: Optimization) -> Iterator[str]:
    """What keeps changes from being ascribed."""
    unseen = _unseen(found)
    if unseen:
        yield (
            f"what is in {', '.join(unseen)} after Grappler is not known: TensorFlow shows the call and not the "
            "function; nodes that are there under another name count as gone"
        )
    if found.same_again is False:
        yield "no change is ascribed to a pass: the same switches gave another graph when they were set again"
    if any(node.op in _CLUSTERED for node in found.before):
        yield (
            "XLA's clusters stand in both graphs, in place of what Grappler rewrote: TF_XLA_FLAGS switches "
            "autoclustering on, unset it to see Grappler's work"
        )
    if found.same_again is None:
        yield "whether the same switches give the same graph is not known"
    for what, reason in found.failed.items():
        yield f"{what}: not known: {reason}"
