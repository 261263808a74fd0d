"""A written call before the softmax or sigmoid that its outputs end in: Keras takes losses of what these are given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from compare.porting.class_text import Body, Line, Unchanged

_ACTIVATIONS = {"jax.nn.softmax": "softmax", "jax.nn.sigmoid": "sigmoid"}
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Logits:
    """The inputs of a call's activations.

    Attributes:
      activations: "softmax" or "sigmoid", by the place of an output in what is returned: "", "[0]", "['classes']".
      body: of the method that gives them.
      call: the lines of the call, which calls that method.
    """

    activations: Mapping[str, str]
    body: Body
    call: Sequence[str]


@dataclass(frozen=True)
class _Activated:
    at: int
    line: Line
    activation: str


def before_activations(body: Body, call_text: str) -> Logits | None:
    """The logits of a call; None where no output is that of a softmax or sigmoid.

    Args:
      call_text: how it calls the method that gives them: "self.logits(x)".
    """
    result = ast.parse(body.result, mode="eval").body
    places = list(_places(result, ""))
    read = {*_NAME.findall(body.penalty), *body.masks} | {
        inner.id
        for _, node in places
        if not isinstance(node, ast.Name)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name)
    }
    names = {place: node.id for place, node in places if isinstance(node, ast.Name) and node.id not in read}
    outputs = {place: output for place, name in names.items() if (output := _find_activation(body.lines, name))}
    if not outputs:
        return None
    activations = {place: output.activation for place, output in outputs.items()}
    lines = list(body.lines)
    for output in outputs.values():
        lines[output.at] = output.line
    if "" not in outputs:
        call = [f"before = {call_text}", f"return {_rebuild(result, '', activations)}"]
        return Logits(activations, replace(body, lines=lines), call)
    only, call = outputs[""], [f"return jax.nn.{activations['']}({call_text})"]
    if only.at < len(lines) - 1:
        return Logits(activations, replace(body, lines=lines), call)
    return Logits(
        activations, replace(body, lines=lines[:-1], result=f"{only.line.text}{only.line.comment_text}"), call
    )


def _find_activation(lines: Sequence[Line | Unchanged | str], name: str) -> _Activated | None:
    """The line that gives a variable an activation's value, which nothing else reads, without the activation."""
    places = [index for index, line in enumerate(lines) if name in _names_in(line, " = ")]
    line = lines[places[-1]] if places else ""
    if not isinstance(line, Line) or line.outputs != name:
        return None
    if any(name in _names_in(later) for later in lines[places[-1] + 1 :]):
        return None
    tree = ast.parse(line.text, mode="eval").body
    if not isinstance(tree, ast.Call) or tree.keywords or not tree.args:
        return None
    activation = _ACTIVATIONS.get(ast.unparse(tree.func), "")
    if not activation or [ast.unparse(argument) for argument in tree.args[1:]] not in ([], ["-1"]):
        return None
    return _Activated(places[-1], replace(line, text=ast.unparse(tree.args[0])), activation)


def _names_in(line: Line | Unchanged | str, until: str = "\0") -> list[str]:
    """The names in a line up to some text; none in a comment."""
    return [] if isinstance(line, Unchanged) else _NAME.findall(str(line).partition(until)[0])


def _places(node: ast.expr, place: str) -> Iterator[tuple[str, ast.expr]]:
    """The parts of a nest, each with the subscripts that reach it."""
    if not isinstance(node, ast.Dict | ast.List | ast.Tuple):
        yield place, node
        return
    for key, part in _inside(node):
        yield from _places(part, f"{place}[{key}]")


def _inside(node: ast.Dict | ast.List | ast.Tuple) -> list[tuple[str, ast.expr]]:
    if isinstance(node, ast.Dict):
        return [(ast.unparse(key), value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
    return [(str(index), part) for index, part in enumerate(node.elts)]


def _rebuild(node: ast.expr, place: str, activations: Mapping[str, str]) -> str:
    """A nest of what `before` holds, with the activations."""
    if not isinstance(node, ast.Dict | ast.List | ast.Tuple):
        text = f"before{place}"
        return f"jax.nn.{activations[place]}({text})" if place in activations else text
    parts = [(key, _rebuild(part, f"{place}[{key}]", activations)) for key, part in _inside(node)]
    if isinstance(node, ast.Dict):
        return f"{{{', '.join(f'{key}: {text}' for key, text in parts)}}}"
    texts = ", ".join(text for _, text in parts)
    return f"[{texts}]" if isinstance(node, ast.List) else f"({texts},)"
