"""The shape of an expression, which is its text without numbers, and the merger of expressions of one shape."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Hole = Callable[[str, tuple[str, ...]], str]
"""(the argument that contains the value, its text in each copy) -> the expression that replaces the value."""

_WITH_STEPS = ("nnx.Conv", "nnx.ConvTranspose", "nn.Conv", "nn.ConvTranspose")
"""Modules with the arguments `_STEPS`, which written code omits if all of their numbers are 1."""

_STEPS = ("strides", "kernel_dilation")

_WITH_WIDTHS = (*_WITH_STEPS, "nnx.Linear", "nnx.BatchNorm", "nnx.LayerNorm", "nnx.RMSNorm")
"""Modules whose first arguments are `_WIDTHS`."""

_WIDTHS = ("in_features", "out_features", "num_features")


@dataclass(frozen=True)
class Shape:
    """An expression in two parts: its text without numbers, and the numbers.

    Attributes:
      text: the text, with a placeholder for each number.
      values: the numbers in order, as Python writes them.
    """

    text: str
    values: tuple[str, ...]


def shape_of(text: str, *, with_texts: bool = False) -> Shape:
    """The shape of an expression.

    Args:
      with_texts: whether strings count as numbers do.
    """
    tree = _parse(text)
    values = tuple(ast.unparse(node) for node in _leaves(tree, with_texts))
    return Shape(ast.unparse(_Marked(with_texts).visit(tree)), values)


def merge(texts: Sequence[str], hole: Hole) -> str:
    """One expression for several of the same shape."""
    if len({*texts}) == 1:
        return texts[0]
    text = ast.unparse(_without_ones(_merge([_parse(text) for text in texts], "", hole)))
    # `ast.unparse` adds parentheses around a generator.
    return re.sub(r"^nnx\.List\(\((.*)\)\)$", r"nnx.List(\1)", text)


def with_positions(text: str) -> str:
    """The call of a constructor with its widths as positional arguments."""
    tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.Call) or tree.args or ast.unparse(tree.func) not in _WITH_WIDTHS:
        return text
    while tree.keywords and tree.keywords[0].arg in _WIDTHS:
        tree.args.append(tree.keywords.pop(0).value)
    return ast.unparse(tree)


def _parse(text: str) -> ast.expr:
    tree = ast.parse(text, mode="eval").body
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _write_steps(node)
    return tree


def _write_steps(call: ast.Call) -> None:
    """Add the steps of a convolution after its kernel, also if they are 1."""
    arguments = {keyword.arg: keyword.value for keyword in call.keywords}
    kernel = arguments.get("kernel_size")
    if ast.unparse(call.func) not in _WITH_STEPS or not isinstance(kernel, ast.Tuple):
        return
    steps = [
        ast.keyword(name, arguments.get(name) or ast.Tuple([ast.Constant(1) for _ in kernel.elts], ast.Load()))
        for name in _STEPS
    ]
    keywords = [keyword for keyword in call.keywords if keyword.arg not in _STEPS]
    place = next(index for index, keyword in enumerate(keywords) if keyword.arg == "kernel_size")
    call.keywords = [*keywords[: place + 1], *steps, *keywords[place + 1 :]]


def _without_ones(tree: ast.expr) -> ast.expr:
    """The expression without arguments `_STEPS` that are 1."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _WITH_STEPS:
            node.keywords = [keyword for keyword in node.keywords if not _is_of_ones(keyword)]
    return tree


def _is_of_ones(keyword: ast.keyword) -> bool:
    value = keyword.value
    return (
        keyword.arg in _STEPS
        and isinstance(value, ast.Tuple)
        and all(isinstance(size, ast.Constant) and size.value == 1 for size in value.elts)
    )


def _is_leaf(node: ast.AST, with_texts: bool) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return False
    return isinstance(node.value, int | float) or (with_texts and isinstance(node.value, str))


def _leaves(node: ast.AST, with_texts: bool) -> Iterator[ast.AST]:
    """The nodes of the numbers of an expression, in order."""
    if _is_leaf(node, with_texts):
        yield node
        return
    for inner in ast.iter_child_nodes(node):
        yield from _leaves(inner, with_texts)


class _Marked(ast.NodeTransformer):
    def __init__(self, with_texts: bool) -> None:
        self._with_texts = with_texts

    def visit(self, node: ast.AST) -> ast.AST:
        if not _is_leaf(node, self._with_texts):
            return self.generic_visit(node)
        return ast.Name("text__" if isinstance(getattr(node, "value", None), str) else "number__", ast.Load())


def _merge(nodes: Sequence[ast.expr], label: str, hole: Hole) -> ast.expr:
    texts = tuple(ast.unparse(node) for node in nodes)
    first = nodes[0]
    if len(set(texts)) == 1:
        return first
    if all(_is_leaf(node, with_texts=True) for node in nodes):
        return ast.parse(hole(label, texts), mode="eval").body
    for name, value in ast.iter_fields(first):
        others = [getattr(node, name) for node in nodes]
        if isinstance(value, list):
            parts = [_merge_part(part, label, hole) for part in zip(*others, strict=True)]
            setattr(first, name, parts)
        elif isinstance(value, ast.AST):
            setattr(first, name, _merge_part(tuple(others), label, hole))
    return first


def _merge_part(nodes: Sequence[ast.AST], label: str, hole: Hole) -> ast.AST:
    first = nodes[0]
    if isinstance(first, ast.keyword):
        first.value = _merge([node.value for node in nodes if isinstance(node, ast.keyword)], first.arg or "", hole)
        return first
    if isinstance(first, ast.expr):
        return _merge([node for node in nodes if isinstance(node, ast.expr)], label, hole)
    if isinstance(first, ast.comprehension):
        first.iter = _merge([node.iter for node in nodes if isinstance(node, ast.comprehension)], label, hole)
    return first
