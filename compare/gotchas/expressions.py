"""The code of an entry, read from the files of its twins without importing a framework."""

from __future__ import annotations

import ast
import functools
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from workloads.gotchas._catalogue import Entry
from workloads.gotchas._gotcha import NAIVE


@dataclass(frozen=True)
class Code:
    """The three texts of an entry; `naive` is empty of a control."""

    tensorflow: str
    naive: str
    jax: str


def code_of(entry: Entry) -> Code:
    """What an entry computes in TensorFlow, and its ports."""
    name = entry.gotcha.name
    ported = functions("jaxport", entry.theme)
    naive = "" if entry.gotcha.is_control else ported[f"{NAIVE}{name}"]
    return Code(functions("tf_reference", entry.theme)[name], naive, ported[name])


@functools.cache
def functions(side: str, theme: str) -> dict[str, str]:
    """The source of every function at the top of a theme's file, by name.

    Args:
      side: the package of a side.
      theme: the name of the file.
    """
    text = _file(side, theme).read_text()
    lines = text.splitlines()
    return {
        node.name: "\n".join(lines[_first(node) - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def _first(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _file(side: str, theme: str) -> Path:
    package = importlib.util.find_spec(side)
    if package is None or package.origin is None:
        raise ModuleNotFoundError(f"expected the package {side}, found none: install jaxport again")
    return Path(package.origin).parent / "gotchas" / f"{theme}.py"
