"""The units of a written call: calls of layers, of blocks, and of lists of blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.porting.class_text import Line, Unchanged
from compare.porting.code_shapes import shape_of
from compare.porting.repeats import Step
from compare.porting.variable_names import Variables
from compare.weights.matching import join_path

_OWN, _TENSOR = "own__", "tensor__"
"""Placeholders for names that each class chooses itself: the module of the unit, and tensors by their numbers."""

_LINE, _INDENT = 120, 8


@dataclass(frozen=True)
class Unit:
    """A layer with its call, a block with its call, or a list of blocks with the loop over them.

    Attributes:
      name: its name in the model; "" if Keras numbered it.
      kind: the kind of layer or block, as an identifier.
      modules: the suffix of an attribute -> the call that makes the module of this attribute.
      text: the text of its call, with `own()` for its attribute and `tensor()` for its arguments.
      comment: the comment on the call.
      reads: the numbers of the tensors that it reads, in order.
      writes: the numbers of the tensors that it returns.
      path: the path of the layer; "" for a block.
      inner: for each block, and for a model that has the class of a block: its units with their attributes.
      looped: the tensor that the loop over a list of blocks replaces in each turn; None for other units.
      stands_alone: whether no block may contain it.
    """

    name: str
    kind: str
    modules: Mapping[str, str]
    text: str
    comment: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    path: str = ""
    inner: tuple[tuple[tuple[Unit, str], ...], ...] = ()
    looped: int | None = None
    stands_alone: bool = False

    def step(self) -> Step:
        """The unit as a step of the sequence in which jaxport looks for repeats."""
        if self.stands_alone:
            return Step("", self.reads, self.writes)
        call = shape_of(self.shape_text())
        constructors = [shape_of(constructor, with_texts=True) for constructor in self.modules.values()]
        texts = (str(self.looped is not None), call.text, *self.modules, *(shape.text for shape in constructors))
        values = (*(value for shape in constructors for value in shape.values), *call.values)
        lines = 1 + (self.looped is not None) + sum(map(_lines_of, self.modules.values()))
        return Step("\n".join(texts), self.reads, self.writes, values, lines, self.name)

    def shape_text(self) -> str:
        """The text of its call, with the positions of tensors in `reads` in place of their numbers."""
        return re.sub(rf"\b{_TENSOR}(\d+)\b", lambda match: f"{_TENSOR}at_{self.reads.index(int(match[1]))}", self.text)

    def paths(self) -> list[str]:
        """The paths of the layers that it contains."""
        inside = [path for units in self.inner for unit, _ in units for path in unit.paths()]
        return [self.path] if self.path else inside

    def names(self, attribute: str, holder: str) -> dict[str, str]:
        """The path of a layer, or of a part of a layer -> the path of its module.

        Args:
          attribute: the attribute of the unit.
          holder: the path of the module that has this attribute.
        """
        place = join_path(holder, attribute)
        if self.path and not self.inner:
            apart = {f"{self.path}/{suffix[1:]}": f"{place}{suffix}" for suffix in self.modules if suffix}
            return {self.path: holder, **apart} if apart else ({self.path: place} if self.modules else {})
        names = {self.path: place} if self.path else {}
        for index, units in enumerate(self.inner):
            for unit, inner in units:
                names |= unit.names(inner, place if self.looped is None else f"{place}.{index}")
        return names


def own(suffix: str = "") -> str:
    """The placeholder for the module of a unit, in the text of its call."""
    return f"self.{_OWN}{suffix}"


def tensor(number: int) -> str:
    """The placeholder for a tensor in the text of a call."""
    return f"{_TENSOR}{number}"


def renumber(text: str, numbers: Mapping[int, int]) -> str:
    """The text of a call with other numbers of its tensors."""
    return re.sub(rf"\b{_TENSOR}(\d+)\b", lambda match: tensor(numbers[int(match[1])]), text)


def fill(text: str, attribute: str, names: Mapping[int, str]) -> str:
    """The text of a call with names in place of its placeholders.

    Args:
      names: the names of variables, by the numbers of tensors.
    """
    text = text.replace(own(), f"self.{attribute}")
    return re.sub(rf"\b{_TENSOR}(\d+)\b", lambda match: names[int(match[1])], text)


def _lines_of(constructor: str) -> int:
    """The number of lines that the call of a constructor takes, as ruff breaks it."""
    if _INDENT + len(constructor) + 24 <= _LINE:
        return 1
    inside = constructor.partition("(")[2]
    return 3 if _INDENT + 4 + len(inside) <= _LINE else 2 + inside.count("=")


def calls_of(
    units: Sequence[tuple[Unit, str]], inputs: Mapping[int, str], outputs: Sequence[int]
) -> tuple[list[tuple[Unit, list[Line | Unchanged | str], dict[int, str]]], Mapping[int, str]]:
    """For each unit the lines of its call and the variables of its outputs; and the variables at the end.

    Args:
      units: the units with their attributes.
      inputs: the parameters of the method, by the numbers of tensors.
    """
    uses = Counter(number for unit, _ in units for number in unit.reads)
    uses.update(outputs)
    variables = Variables(inputs, uses)
    calls: list[tuple[Unit, list[Line | Unchanged | str], dict[int, str]]] = []
    for unit, attribute in units:
        lines, targets = lines_of(unit, attribute, variables)
        calls.append((unit, lines, dict(zip(unit.writes, targets, strict=True))))
    return calls, variables.names


def lines_of(unit: Unit, attribute: str, variables: Variables) -> tuple[list[Line | Unchanged | str], list[str]]:
    """The lines of a call, and the variables of its outputs."""
    alive = variables.names
    if unit.looped is not None:
        variables.read([unit.looped])
        targets = variables.assign(unit.writes, [unit.looped])
        variables.read([number for number in unit.reads if number != unit.looped])
        return _loop(unit, attribute, alive, targets[0]), targets
    variables.read(unit.reads)
    targets = variables.assign(unit.writes, unit.reads)
    text, names = fill(unit.text, attribute, alive), ", ".join(targets)
    # An Identity, or a padding by zero elements, changes no variable.
    return [Unchanged(unit.comment) if text == names else Line(names, text, unit.comment)], targets


def _loop(unit: Unit, attribute: str, alive: Mapping[int, str], target: str) -> list[Line | Unchanged | str]:
    """The lines of a loop over blocks."""
    assert unit.looped is not None
    names = {**alive, unit.looped: target}
    one = next(name for name in ("block", "layer", "one") if name not in names.values())
    start = [] if alive[unit.looped] == target else [Line(target, alive[unit.looped], "")]
    text = fill(unit.text, attribute, names).replace(f"self.{attribute}", one, 1)
    comment = f"  # {unit.comment}" if unit.comment else ""
    return [*start, f"for {one} in self.{attribute}:", f"    {target} = {text}{comment}"]
