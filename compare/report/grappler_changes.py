"""The rewrites of Grappler as rows: what reads alike and is made by the same passes stands together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

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
)
from compare.report.cluster_rows import list_operations
from compare.report.numbers import count_of

_STANDING = (FOLDED, FUSED, REPLACED, CAME, ABSORBED)
"""Kinds of which the operations before and after are shown."""
_CONSTANT = "Const"
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


class Known(IntEnum):
    """How it is known which passes made a change; the surest first."""

    NEEDED = 0
    ALONE = 1
    UNKNOWN = 2


class _Form(IntEnum):
    """The words for changes, in the order of the rows."""

    BEFORE_AND_AFTER = 0
    NEW = 1
    KIND = 2
    HANDING_ON = 3


@dataclass(frozen=True)
class _Told:
    """Changes in words."""

    form: _Form
    text: str


def rewrite_rows(optimization: Optimization) -> list[RewriteRow]:
    """The changes, by the passes that made them; those with operations before and after come first."""
    rows: dict[tuple[tuple[Known, str], _Told], list[Sequence[NodeRewrite]]] = {}
    for members in _groups(optimization.rewrites):
        rows.setdefault((_made_by(members[0], optimization), _told_of(members)), []).append(members)
    entries = [(by, key, _row(by[1], key, groups)) for (by, key), groups in rows.items()]
    return [
        row
        for *_, row in sorted(entries, key=lambda entry: (entry[0], *_place(entry[1]), -entry[2].count, entry[2].what))
    ]


def _place(key: _Told) -> tuple[bool, bool]:
    return key.form is _Form.HANDING_ON, key.form is not _Form.BEFORE_AND_AFTER


def passes(rewrite: NodeRewrite, optimization: Optimization) -> str:
    """The passes that made a change, and the experiment that shows it."""
    return _made_by(rewrite, optimization)[1]


def _made_by(rewrite: NodeRewrite, optimization: Optimization) -> tuple[Known, str]:
    if optimization.same_again is False:
        return Known.UNKNOWN, "not known: not tried, since the same switches gave another graph"
    if rewrite.needs:
        return Known.NEEDED, f"{' with '.join(rewrite.needs)} (not made without)"
    if rewrite.alone:
        return Known.ALONE, f"{' or '.join(rewrite.alone)} (each makes it with all others off)"
    if rewrite.always:
        return Known.UNKNOWN, "not known: made with every pass switched off"
    if rewrite.differs:
        restriction = " of those that could be tried" if _lacks_trials(optimization) else ""
        without = ", ".join(rewrite.differs)
        return (
            Known.UNKNOWN,
            f"not known: no single pass{restriction} makes or undoes it; without {without} it comes out otherwise",
        )
    return Known.UNKNOWN, "not known: no pass that was switched off undoes it"


def _lacks_trials(optimization: Optimization) -> bool:
    """Whether an experiment with a pass gave no graph."""
    return any({f"without {name}", f"{name} alone"} & optimization.failed.keys() for name in optimization.passes)


def _groups(rewrites: Sequence[NodeRewrite]) -> Iterator[Sequence[NodeRewrite]]:
    """Rewrites of one group together; the others by kind."""
    standing: dict[int | None, list[NodeRewrite]] = {}
    for rewrite in rewrites:
        if rewrite.kind in _STANDING:
            standing.setdefault(rewrite.group, []).append(rewrite)
        else:
            yield [rewrite]
    # A node that went, and that no new one of the same passes stands for, is listed with those of its own kind.
    for members in standing.values():
        if all(rewrite.kind == ABSORBED for rewrite in members):
            yield from ([rewrite] for rewrite in members)
        else:
            yield members


def _told_of(members: Sequence[NodeRewrite]) -> _Told:
    if len(members) == 1 and members[0].kind not in (FOLDED, FUSED, REPLACED, CAME):
        node = members[0].before
        if node is not None and node.op in _PLUMBING:
            return _Told(_Form.HANDING_ON, _HANDING_ON)
        return _Told(_Form.KIND, KINDS.get(members[0].kind, members[0].kind))
    before = Counter(rewrite.before.op for rewrite in members if rewrite.before)
    telling = Counter({op: count for op, count in before.items() if op != _CONSTANT}) or before
    after = Counter(shown_node(rewrite.after) for rewrite in members if rewrite.after)
    if not before:
        return _Told(_Form.NEW, f"new: {list_operations(after)}")
    text = f"{list_operations(dict(telling.most_common()))} → {list_operations(dict(after.most_common()))}"
    return _Told(_Form.BEFORE_AND_AFTER, text)


def shown_node(node: OptimizedNode) -> str:
    """The operation of a node; of a constant what it holds, where that is short."""
    if node.constant is None:
        return node.op
    constant = node.constant
    shape = f"{constant.dtype}[{','.join(map(str, constant.shape))}]"
    return f"Const {shape}" if (constant.bytes or 0) > _SHOWN else f"Const {shape} {constant.text}"


_SHOWN = 64
"""Bytes of a constant up to which its value stands in a row."""


def _row(made_by: str, key: _Told, groups: Sequence[Sequence[NodeRewrite]]) -> RewriteRow:
    members = [rewrite for group in groups for rewrite in group]
    nodes = [node for rewrite in members if (node := rewrite.before or rewrite.after)]
    kinds = Counter(node.op for node in nodes)
    alone = all(len(group) == 1 for group in groups) and key.form in (_Form.KIND, _Form.HANDING_ON)
    times = f"{len(groups)} x " if len(groups) > 1 else ""
    alike = f"{count_of(len(members), 'node')} ({list_operations(dict(kinds.most_common()))}): "
    places = Counter((node.source, node.line) for node in nodes if node.source)
    what = (alike if alone else times) + key.text
    return RewriteRow(
        made_by, what, len(members), dict(places.most_common()), tuple(rewrite.name for rewrite in members)
    )
