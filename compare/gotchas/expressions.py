"""The code of an entry, read from the files of its twins without importing a framework."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from workloads.gotchas._catalogue import Entry
from workloads.gotchas._gotcha import JAX, NAIVE, TENSORFLOW


@dataclass(frozen=True)
class Code:
    """The three texts of an entry; `naive` is empty of a control."""

    tensorflow: str
    naive: str
    jax: str


@dataclass(frozen=True)
class _Definition:
    """A statement at the top of a file: what it defines, if anything, what it refers to, and its text."""

    names: tuple[str, ...]
    reads: frozenset[str]
    text: str
    is_function: bool


def code_of(entry: Entry) -> Code:
    """The code of an entry: TensorFlow's, and that of its ports."""
    gotcha = entry.gotcha
    originals, ports = (gotcha.functions(side) or functions(side, entry.theme) for side in (TENSORFLOW, JAX))
    naive = "" if gotcha.is_control else ports[f"{NAIVE}{gotcha.name}"]
    return Code(originals[gotcha.name], naive, ports[gotcha.name])


def shared_source(side: str, entries: Sequence[Entry]) -> str:
    """The source of what entries of one theme refer to in its file: constants, layers and private functions."""
    (theme,) = {entry.theme for entry in entries}
    names = {f"{prefix}{entry.gotcha.name}" for entry in entries for prefix in ("", NAIVE)}
    texts = [text for entry in entries for text in entry.gotcha.functions(side).values()]
    reads = names.union(*(_names_read(ast.parse(text)) for text in texts))
    definitions = [one for one in _reach(_definitions(side, theme), reads) if not names & set(one.names)]
    # Constants stand together, as in the file.
    sources = [one.text if not one.is_function else f"\n\n{one.text}\n\n" for one in definitions]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(sources)).strip()


def _reach(definitions: Sequence[_Definition], names: Collection[str]) -> list[_Definition]:
    """The definitions of these names, and of what they refer to, in the order of the file."""
    other_names = {name for one in definitions for name in one.names} - set(names)
    reached_names, selection = set(names), list[_Definition]()
    while True:
        # A statement that defines nothing may change what is defined.
        more = [
            one
            for one in definitions
            if reached_names & set(one.names) or (not one.names and reached_names & other_names & one.reads)
        ]
        if more == selection:
            return selection
        selection, reached_names = more, reached_names.union(*(one.reads for one in more))


@functools.cache
def functions(side: str, theme: str) -> dict[str, str]:
    """The source of every function at the top of a theme's file, by name.

    Args:
      theme: the name of the file.
    """
    return {one.names[0]: one.text for one in _definitions(side, theme) if one.is_function}


@functools.cache
def _definitions(side: str, theme: str) -> tuple[_Definition, ...]:
    path = _file(side, theme)
    text = path.read_text() if path.exists() else ""  # every entry of the theme may be an expression
    lines = text.splitlines()
    return tuple(
        _Definition(
            names=_names_defined(node),
            reads=_names_read(node),
            text="\n".join(lines[_first(node) - 1 : node.end_lineno]),
            is_function=isinstance(node, ast.FunctionDef),
        )
        for node in ast.parse(text).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
    )


def _names_read(node: ast.AST) -> frozenset[str]:
    return frozenset(inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _names_defined(node: ast.stmt) -> tuple[str, ...]:
    """The names of a function, a class, or an assignment; none of any other statement."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return tuple(inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name))
    return ()


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _file(side: str, theme: str) -> Path:
    package = importlib.util.find_spec(side)
    if package is None or package.origin is None:
        raise ModuleNotFoundError(f"expected the package {side}, found none: install jaxport again")
    return Path(package.origin).parent / "gotchas" / f"{theme}.py"
