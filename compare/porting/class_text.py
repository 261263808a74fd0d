"""The text of one class of a written module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compare.porting.identifiers import Names
from compare.porting.safe_expressions import tensors
from compare.porting.unwritten_places import Place
from workloads.protocol.architecture import Graph


@dataclass
class WrittenClass:
    """A class on its way.

    Attributes:
      graph: of the model.
      name: of the class.
      names: that are taken in it.
      attributes: by the path of a layer, where its module stands in this one.
      borrowed: modules that another class holds -> their classes; its constructor takes them.
      made: the lines of its constructor.
      modules: by the path of a layer of its own, what is added to its attribute's name -> the call that makes that.
      places: that are left to be written.
    """

    graph: Graph
    name: str
    names: Names
    attributes: dict[str, str] = field(default_factory=dict)
    borrowed: dict[str, str] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    modules: dict[str, Mapping[str, str]] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """One call: variables, expression, comment."""

    outputs: str
    text: str
    comment: str

    def __str__(self) -> str:
        return f"{self.outputs} = {self.text}{self.comment_text}"

    @property
    def comment_text(self) -> str:
        """Its comment, as it stands behind the call."""
        return f"  # {self.comment}" if self.comment else ""


@dataclass(frozen=True)
class Unchanged:
    """A call that changes nothing, as that of an Identity: a comment stands for it."""

    comment: str

    def __str__(self) -> str:
        return f"# {self.comment}: as it is"


@dataclass(frozen=True)
class Body:
    """The lines of a method, and what it returns; a line that is more than one call is text.

    Attributes:
      lines: in order.
      result: the expression that it returns.
      masks: the variables of the masks that what it returns carries, in order.
      penalty: that of what the call adds to the loss; "" where it adds nothing, or the lines sum it up.
    """

    lines: Sequence[Line | Unchanged | str]
    result: str
    penalty: str = ""
    masks: Sequence[str] = ()


def shape_text(shape: Sequence[int | None]) -> str:
    """A shape as comments have it."""
    sizes = [("batch" if axis == 0 else "any") if size is None else str(size) for axis, size in enumerate(shape)]
    return f"[{', '.join(sizes)}]"


def place_text(owner: WrittenClass, place: Place) -> str:
    """The lines of a class of which the call is left to be written: its modules have their weights."""
    title = f"To be written: the call of {place.subject}. What it is made of has its weights."
    return _text(owner, title, place.method())


def class_without_call(owner: WrittenClass) -> str:
    """The lines of a class that holds what a training step calls."""
    return _text(owner, "The models that the training step calls: it has no call of its own.")


def class_text(owner: WrittenClass, methods: Sequence[str], parameters: Mapping[str, str]) -> str:
    """The lines of a class.

    Args:
      methods: the lines of its call, and of what that calls.
      parameters: of its call, by the name of the input.
    """
    graph = owner.graph
    inputs_text = [
        f"{parameters[name]} {shape_text(graph.tensors[number].shape)}" for name, number in graph.inputs.items()
    ]
    outputs_text = [shape_text(graph.tensors[number].shape) for number in tensors(graph.outputs)]
    title = "A part of the model" if graph.model else "The model"
    lines = ["", *(f"    {line}" if line else "" for line in methods)]
    return _text(owner, f"{title}: {', '.join(inputs_text)} -> {', '.join(outputs_text)}.", lines)


def _text(owner: WrittenClass, title: str, methods: Sequence[str] = ()) -> str:
    borrowed_parameters = "".join(f"{attribute}: {module}, " for attribute, module in owner.borrowed.items())
    lines = [
        f"class {owner.name}(nnx.Module):",
        f'    """{title}"""',
        "",
        f"    def __init__(self, {borrowed_parameters}*, rngs: nnx.Rngs) -> None:",
        *(f"        {line}" for line in owner.made or ["pass"]),
        *methods,
        *(line for place in owner.places if place.owner == owner.name for line in place.method()),
    ]
    return "\n".join(lines)
