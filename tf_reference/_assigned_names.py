"""The variables that a line of a user's file assigns to: read from its source, nothing is run."""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path


def find_targets(line: str) -> tuple[str, ...]:
    """The names that the innermost statement of a line assigns to, in order; none where it returns, say.

    Args:
      line: FILE:LINE.
    """
    file, _, number = line.rpartition(":")
    return _by_line(file).get(int(number), ()) if file else ()


@lru_cache(maxsize=64)
def _by_line(file: str) -> dict[int, tuple[str, ...]]:
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        # A function of a notebook or of a text that was executed has no file.
        return {}
    by_line: dict[int, tuple[str, ...]] = {}
    # Breadth first: an inner statement comes after what it stands in.
    for node in ast.walk(tree):
        names = _names(node)
        if names:
            first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
            by_line |= dict.fromkeys(range(first, last + 1), names)
    return by_line


def _names(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return _targets(node.targets[0])
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return _targets(node.target)
    return ()


def _targets(target: ast.expr) -> tuple[str, ...]:
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Attribute):
        return (target.attr,)
    if isinstance(target, ast.Tuple | ast.List):
        names = [element.id if isinstance(element, ast.Name) else "" for element in target.elts]
        return tuple(names) if all(names) else ()
    return ()
