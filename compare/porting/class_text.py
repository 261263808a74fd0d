"""The text of one class of a written module."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.porting.identifiers import Names
from compare.porting.safe_expressions import tensors
from compare.porting.unwritten_places import Place
from workloads._architecture import Graph


@dataclass
class WrittenClass:
    """A class on its way."""

    graph: Graph
    name: str
    names: Names
    attributes: dict[str, str] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """One call: variables, expression, comment."""

    outputs: str
    text: str
    comment: str

    def __str__(self) -> str:
        return f"{self.outputs} = {self.text}{self.told}"

    @property
    def told(self) -> str:
        """What stands behind it."""
        return f"  # {self.comment}" if self.comment else ""


@dataclass(frozen=True)
class Body:
    """The lines of a method, and what it returns; a line that is more than one call is text."""

    lines: Sequence[Line | str]
    result: str


def shape_text(shape: Sequence[int | None]) -> str:
    """A shape as comments have it."""
    sizes = [("batch" if at == 0 else "any") if size is None else str(size) for at, size in enumerate(shape)]
    return f"[{', '.join(sizes)}]"


def before_activation(body: Body) -> tuple[str, str]:
    """What the softmax or sigmoid that a model ends in is taken of, and which it is; empty of another model."""
    last = body.lines[-1] if body.lines else None
    if not isinstance(last, Line) or body.result != last.outputs:
        return "", ""
    tree = ast.parse(last.text, mode="eval").body
    if not isinstance(tree, ast.Call) or tree.keywords:
        return "", ""
    activation = {"jax.nn.softmax": "softmax", "jax.nn.sigmoid": "sigmoid"}.get(ast.unparse(tree.func), "")
    on_last_axis = [ast.unparse(each) for each in tree.args[1:]] in ([], ["-1"])
    return (ast.unparse(tree.args[0]), activation) if activation and on_last_axis else ("", "")


def place_text(written: WrittenClass, place: Place) -> str:
    """The lines of a class of which the call is left to be written: its modules have their weights.

    Args:
      written: what it is made of.
      place: that stands for it.
    """
    lines = [
        f"class {written.name}(nnx.Module):",
        f'    """To be written: the call of {place.named}. What it is made of has its weights."""',
        "",
        "    def __init__(self, *, rngs: nnx.Rngs) -> None:",
        *(f"        {each}" for each in written.made or ["pass"]),
        *place.method(),
        *(line for inner in written.places if inner.owner == written.name for line in inner.method()),
    ]
    return "\n".join(lines)


def class_text(written: WrittenClass, body: Body, parameters: Mapping[str, str], logits: str, activation: str) -> str:
    """The lines of a class.

    Args:
      written: what it is made of.
      body: of its call.
      parameters: of its call, by the name of the input.
      logits: what a softmax or sigmoid that it ends in is taken of; "" where there is none.
      activation: "softmax", "sigmoid" or "".
    """
    graph = written.graph
    given = [f"{parameters[name]} {shape_text(graph.tensors[number].shape)}" for name, number in graph.inputs.items()]
    made = [shape_text(graph.tensors[number].shape) for number in tensors(graph.outputs)]
    title = "A part of the model" if graph.model else "The model"
    named = ", ".join(parameters.values())
    typed = ", ".join(f"{each}: jax.Array" for each in parameters.values())
    last = body.lines[-1] if body.lines else None
    if activation and isinstance(last, Line):
        methods = [
            f"    def logits(self, {typed}) -> jax.Array:",
            f'        """What the {activation} is taken of."""',
            *(f"        {each}" for each in body.lines[:-1]),
            f"        return {logits}{last.told}",
            "",
            f"    def __call__(self, {typed}) -> jax.Array:",
            f"        return jax.nn.{activation}(self.logits({named}))",
        ]
    else:
        methods = [
            f"    def __call__(self, {typed}) -> Any:",
            *(f"        {each}" for each in body.lines),
            f"        return {body.result}",
        ]
    lines = [
        f"class {written.name}(nnx.Module):",
        f'    """{title}: {", ".join(given)} -> {", ".join(made)}."""',
        "",
        "    def __init__(self, *, rngs: nnx.Rngs) -> None:",
        *(f"        {each}" for each in written.made or ["pass"]),
        "",
        *methods,
        *(line for place in written.places if place.owner == written.name for line in place.method()),
    ]
    return "\n".join(lines)
