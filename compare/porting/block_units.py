"""What a written call is a sequence of: calls of layers, and of blocks that stand for several of them."""

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
"""Names for what has another name in each class: the unit's own module, and tensors by their numbers."""

_LINE, _INDENT = 120, 8


@dataclass(frozen=True)
class Unit:
    """A layer with its call, or a block of such, or a list of blocks with the loop over them.

    Attributes:
      name: that the model has for it; "" where nobody chose one.
      kind: what it is, as an identifier.
      modules: what is added to its attribute's name -> the call that makes the module.
      text: of its call, with `own()` for its attribute and `tensor()` for what it is given.
      comment: on that.
      reads: the numbers of the tensors that it is given, in order.
      writes: the numbers of those that it returns.
      path: of the layer; "" of a block.
      inner: of each block, or of a model that has the class of a block, its units with their attributes.
      looped: the tensor that goes through the blocks of a list one after the other; None of all else.
      stands_alone: whether no block may hold it.
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
        """It as a step of a sequence in which repeats are looked for."""
        if self.stands_alone:
            return Step("", self.reads, self.writes)
        call = shape_of(self.shape_text())
        made = [shape_of(constructor, with_texts=True) for constructor in self.modules.values()]
        texts = (str(self.looped is not None), call.text, *self.modules, *(shape.text for shape in made))
        values = (*(value for shape in made for value in shape.values), *call.values)
        lines = 1 + (self.looped is not None) + sum(map(_lines_of, self.modules.values()))
        return Step("\n".join(texts), self.reads, self.writes, values, lines, self.name)

    def shape_text(self) -> str:
        """Its call with the places of its tensors for their numbers."""
        return re.sub(rf"\b{_TENSOR}(\d+)\b", lambda match: f"{_TENSOR}at_{self.reads.index(int(match[1]))}", self.text)

    def paths(self) -> list[str]:
        """The layers that it stands for."""
        inside = [path for units in self.inner for unit, _ in units for path in unit.paths()]
        return [self.path] if self.path else inside

    def names(self, attribute: str, holder: str) -> dict[str, str]:
        """The path of a layer, or of a part of one -> the path of its module.

        Args:
          attribute: of it.
          holder: the path of the module that it is an attribute of.
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
    """The module of a unit in the text of its call."""
    return f"self.{_OWN}{suffix}"


def tensor(number: int) -> str:
    """A tensor in the text of a call."""
    return f"{_TENSOR}{number}"


def renumber(text: str, numbers: Mapping[int, int]) -> str:
    """The text of a call with other numbers for its tensors."""
    return re.sub(rf"\b{_TENSOR}(\d+)\b", lambda match: tensor(numbers[int(match[1])]), text)


def fill(text: str, attribute: str, names: Mapping[int, str]) -> str:
    """The text of a call in a class.

    Args:
      text: of it.
      attribute: of its module there.
      names: of variables, by the numbers of tensors.
    """
    text = text.replace(own(), f"self.{attribute}")
    return re.sub(rf"\b{_TENSOR}(\d+)\b", lambda match: names[int(match[1])], text)


def _lines_of(constructor: str) -> int:
    """The lines that a module takes where it is made, as ruff breaks them."""
    if _INDENT + len(constructor) + 24 <= _LINE:
        return 1
    inside = constructor.partition("(")[2]
    return 3 if _INDENT + 4 + len(inside) <= _LINE else 2 + inside.count("=")


def calls_of(
    units: Sequence[tuple[Unit, str]], inputs: Mapping[int, str], outputs: Sequence[int]
) -> tuple[list[tuple[Unit, list[Line | Unchanged | str], dict[int, str]]], Mapping[int, str]]:
    """The lines of a call, by unit, each with the variables of what the unit returns; then those of what is left.

    Args:
      units: with their attributes.
      inputs: the parameters, by the numbers of tensors.
      outputs: the tensors that are returned.
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
    """The lines of a call, and the variables of what it returns.

    Args:
      unit: that is called.
      attribute: of it.
      variables: of the method, in which it is noted what the call reads and returns.
    """
    alive = variables.names
    if unit.looped is not None:
        variables.read([unit.looped])
        targets = variables.assign(unit.writes, [unit.looped])
        variables.read([number for number in unit.reads if number != unit.looped])
        return _loop(unit, attribute, alive, targets[0]), targets
    variables.read(unit.reads)
    targets = variables.assign(unit.writes, unit.reads)
    text, names = fill(unit.text, attribute, alive), ", ".join(targets)
    # An Identity, or a padding of nothing, changes no variable.
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
