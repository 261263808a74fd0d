"""The user's line behind every operation of a traced function, under the names that XLA's metadata gives them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from workloads.core.frames import is_framework, is_machinery

_HERE = Path(__file__).parent
_BRANCHES = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"})
_TAPE = "gradient_tape/"
_GRADIENT = re.compile(r"_(\w+?)Grad(?:V\d+)?$")
_VERSION = re.compile(r"V\d+$")


def sources(graph: Any) -> dict[str, str]:
    """By the op_name of HLO metadata, "file:line" of the user's innermost line.

    An operation is named by the calls that lead to it, "StatefulPartitionedCall/Sin"; loops and
    branches add nothing, for their operations carry the loop's scope already. An operation without a
    line of its own, such as one of a function that was read from a file, has that of the call that it
    stands in. A gradient has the line that called the tape; where that is none of the user's, the line
    shared by all forward operations that it can belong to, by scope and type. Names that stand for
    different lines, and operations without any, are left out.
    """
    by_name: dict[str, set[str]] = {}
    for name, line in _Walk().name_lines(graph, "", ""):
        by_name.setdefault(name, set()).add(line)
    return {name: lines.pop() for name, lines in by_name.items() if len(lines) == 1 and "" not in lines}


class _Walk:
    """One walk through a function and all that it calls; a function that is called twice is read once."""

    def __init__(self) -> None:
        self._lines: dict[int, dict[str, str]] = {}

    def name_lines(self, graph: Any, calls: str, caller: str) -> Iterator[tuple[str, str]]:
        """Yield every operation's name in HLO and its line, those of `graph` before those of its callees."""
        if id(graph) not in self._lines:
            self._lines[id(graph)] = _lines(graph)
        lines = self._lines[id(graph)]
        for name, line in lines.items():
            yield calls + name, line or caller
        yield from _results(graph, lines, calls, caller)
        for operation in graph.get_operations():
            inner = "" if operation.type in _BRANCHES else f"{calls}{operation.name}/"
            for _, callee in callees(graph, operation):
                yield from self.name_lines(callee, inner, lines[operation.name] or caller)


def _results(graph: Any, lines: dict[str, str], calls: str, caller: str) -> Iterator[tuple[str, str]]:
    """Name the results of a function too: "mul_0" is the first output of "mul"."""
    for tensor in graph.outputs:
        name = f"{tensor.op.name}_{tensor.value_index}"
        if name not in lines:
            yield calls + name, lines[tensor.op.name] or caller


def callees(graph: Any, operation: Any) -> Iterator[tuple[str, Any]]:
    """The functions that an operation's attributes name, with their graphs."""
    for value in operation.node_def.attr.values():
        for function in [value.func, *value.list.func]:
            # No public name leads from a node to the graph of what it calls, only to its definition.
            function_called = graph._get_function(function.name) if function.name else None
            callee = getattr(function_called, "graph", None)
            if callee is not None:
                yield function.name, callee


def _lines(graph: Any) -> dict[str, str]:
    """By operation, its line, "" where nothing tells it."""
    operations = graph.get_operations()
    own = {operation.name: users_line(operation.traceback or ()) for operation in operations}
    forward = _forward(operations, own)
    return {operation.name: own[operation.name] or _of_scope(operation, forward) for operation in operations}


def users_line(traceback: Iterable[Any]) -> str:
    """FILE:LINE of the innermost frame in the user's own code, "" of none. The outermost frame comes first."""
    return line_of(users_frames(traceback))


def line_of(frames: Sequence[Any]) -> str:
    """FILE:LINE of the last frame, "" of none."""
    return f"{os.path.realpath(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def users_frames(traceback: Iterable[Any]) -> list[Any]:
    """The frames in the user's own code, the outermost first."""
    frames = list(traceback)
    # The caller of jaxport is no model: a test, a notebook, a script.
    entry = next((index for index, frame in enumerate(frames) if _is_machinery(frame.filename)), -1)
    return [frame for frame in frames[entry + 1 :] if _is_users(frame.filename)]


@cache
def _is_users(file: str) -> bool:
    return not _is_machinery(file) and not is_framework(file)


@cache
def _is_machinery(file: str) -> bool:
    beside = os.path.dirname(file) == str(_HERE)
    return is_machinery(file) or (beside and os.path.basename(file).startswith("_"))


def _forward(operations: Sequence[Any], own: Mapping[str, str]) -> dict[str, set[tuple[str, str]]]:
    """By scope, type and line of the operations in it that have a line; "" is the scope of all."""
    by_scope: dict[str, set[tuple[str, str]]] = {}
    for operation in operations:
        for scope in _scopes(operation.name) if own[operation.name] else ():
            by_scope.setdefault(scope, set()).add((operation.type, own[operation.name]))
    return by_scope


def _of_scope(operation: Any, forward: Mapping[str, set[tuple[str, str]]]) -> str:
    """The one line in the nearest scope with any, or that of the operations there that this one differentiates."""
    scopes = _scopes(operation.name.removeprefix(_TAPE))[1:]
    nearest = next((forward[scope] for scope in scopes if scope in forward), set())
    lines = {line for _, line in nearest}
    if len(lines) > 1:
        forward_kind = _differentiated_kind(operation.traceback or ())
        lines = {line for kind, line in nearest if _VERSION.sub("", kind) == forward_kind}
    return lines.pop() if len(lines) == 1 else ""


def _differentiated_kind(traceback: Iterable[Any]) -> str:
    """The operation, such as "Softmax" of what _SoftmaxGrad in TensorFlow's nn_grad.py made; "" of anything else."""
    matches = [_GRADIENT.match(frame.name) for frame in traceback if frame.filename.endswith("_grad.py")]
    return next((match[1] for match in matches if match), "")


def _scopes(name: str) -> list[str]:
    """All that an operation is in: "a/b" is in "a/b", "a" and ""."""
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(len(parts), -1, -1)]
