"""Statements of single operations as lines: an expression that is read once stands where it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from compare.porting.functions.body_writer import MOST_IN_LINE
from compare.porting.functions.call_loops import count_reads
from compare.porting.functions.holes import TENSOR, Hole, fill_text
from compare.porting.functions.statements import Definition, Line, Statement


def fold(
    statements: Sequence[Statement], results: Sequence[str], helpers: Sequence[str] = ()
) -> tuple[list[Statement], list[str]]:
    """Statements, and what they return, with fewer variables.

    Args:
      helpers: functions whose calls stand in a line of their own, or are what is returned.
    """
    reads, foldable = count_reads(statements, results), _reads_of_lines(statements, results)
    # A call within a call is read from inside out.
    starts = tuple(f"{name}(" for name in helpers)
    by_calls = _reads_of_lines([one for one in statements if _is_call(one, starts)], [])
    pending, lines = dict[str, str](), list[Statement]()
    for statement in statements:
        if isinstance(statement, Definition):
            body, (result,) = fold(statement.body, [statement.result])
            lines.append(replace(statement, body=tuple(body), result=result))
            continue
        if not isinstance(statement, Line) or not statement.defines:
            lines.append(statement)
            continue
        text, token = _substitute(statement.text, pending), statement.defines[0].token
        is_once = len(statement.defines) == 1 and reads[token] == foldable[token] == 1
        may_fold = statement.folds and is_once and not (_is_call(statement, starts) and by_calls[token])
        if may_fold and (len(text) <= MOST_IN_LINE or token in results):
            pending[token] = text
        else:
            lines.append(replace(statement, text=text))
    return lines, [_substitute(text, pending) for text in results]


def _is_call(statement: Statement, starts: tuple[str, ...]) -> bool:
    return isinstance(statement, Line) and bool(starts) and statement.text.startswith(starts)


def _reads_of_lines(statements: Sequence[Statement], results: Sequence[str]) -> Counter[str]:
    """How often each variable is read, other than for a size, and not in a function or a loop."""
    counts = Counter[str]()

    def count(hole: Hole) -> str:
        counts[hole.token] += hole.kind == TENSOR
        return hole.text

    for text in (*(one.text for one in statements if isinstance(one, Line) and one.defines), *results):
        fill_text(text, count)
    return counts


def _substitute(text: str, pending: dict[str, str]) -> str:
    return fill_text(text, lambda hole: pending.get(hole.token, hole.text) if hole.kind == TENSOR else hole.text)
