"""The classes of a module: which calls may be part of blocks, and where the modules of their layers are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compare.porting.block_classes import NAME, block_of, constructor_call
from compare.porting.block_folding import Classes, fold
from compare.porting.block_names import block_class, plural
from compare.porting.block_units import Unit, own, tensor
from compare.porting.class_text import WrittenClass, shape_text
from compare.porting.code_shapes import with_positions
from compare.porting.identifiers import Names, identifier, snake
from compare.porting.patterns import Column, Occurrence, Pattern
from compare.porting.penalties import Penalties
from compare.porting.repeats import Copy
from compare.porting.safe_expressions import tensors, tensors_of
from compare.porting.unwritten_places import Place
from compare.porting.written_operations import MODULE
from compare.weights.matching import join_path
from workloads.protocol.architecture import Architecture, Call, Graph
from workloads.protocol.transfer import SourceLayer

CallText = Callable[[str, Call, Mapping[int, str]], tuple[str, str]]
"""(path of a layer, its call, the texts of tensors) -> the expression of the call, a comment."""


@dataclass
class Blocks:
    """The state that the classes of a module share.

    Attributes:
      architecture: the architecture of the model.
      layers: the layers by path.
      penalties: the penalties of activities.
      class_names: the names of the classes and tables.
      classes: the texts of the classes and tables.
      texts: the text of a class or table, without its name -> its name.
      names: the path of a layer -> the path of its module.
      users: the name of the class of an inner model -> the paths of the models with this class.
      inside: the path of a model -> its units with their attributes.
    """

    architecture: Architecture
    layers: Mapping[str, SourceLayer]
    penalties: Penalties
    class_names: Names
    classes: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    users: dict[str, set[str]] = field(default_factory=dict)
    inside: dict[str, Sequence[tuple[Unit, str]]] = field(default_factory=dict)

    def canonical(self, path: str) -> str:
        """The first path of a layer, which may have several."""
        for alias, first in self.architecture.source.shared.items():
            if path == alias or path.startswith(f"{alias}/"):
                return f"{first}{path[len(alias) :]}"
        return path

    def fold(
        self, owner: WrittenClass, places: Sequence[Place], parameters: Mapping[str, str], write: CallText
    ) -> Sequence[Unit]:
        """The units of a class with blocks in place of repeats; empty if nothing repeats.

        Args:
          parameters: the parameters of its call.
          write: returns the text of a call.
        """
        graph = owner.graph
        units = self._units(owner, self._layers_alone(owner, places), write)
        self.inside[graph.model] = [(unit, owner.attributes.get(unit.path, "")) for unit in units]
        inputs = {number: parameters[name] for name, number in graph.inputs.items()}
        comments = {number: shape_text(variable.shape) for number, variable in enumerate(graph.tensors)}
        widths = {number: variable.shape[-1] for number, variable in enumerate(graph.tensors) if variable.shape}
        classes = Classes(self._add_class, self._add_table, self.architecture.name, inputs, comments, widths)
        with_merged_models = self._merge_models(units)
        with_blocks = fold(with_merged_models, tensors(graph.outputs), classes)
        return with_blocks if len(with_blocks) < len(units) or with_merged_models != units else ()

    def _units(self, owner: WrittenClass, alone: set[str], write: CallText) -> list[Unit]:
        graph, units = owner.graph, list[Unit]()
        places, texts = (
            {place.layer for place in owner.places},
            {number: tensor(number) for number in graph.inputs.values()},
        )
        for call in graph.calls:
            path = self.canonical(call.layer)
            layer, attribute, modules = self.layers[path], owner.attributes.get(path, ""), owner.modules.get(path, {})
            # A mask that Keras made outside the graph is not one of its tensors.
            reads = tuple(number for number in tensors_of(call) if number in texts)
            text, comment = write(path, call, texts)
            if path in places:
                text = f"{own()}({', '.join(map(tensor, dict.fromkeys(reads)))})"
            for suffix in modules:
                text = re.sub(rf"\bself\.{attribute}{suffix}\b", own(suffix), text)
            kind = snake(layer.class_name)
            is_numbered = layer.module == MODULE or re.fullmatch(rf"{kind}(_\d+)?", layer.step)
            unit = Unit("" if is_numbered else layer.step, kind, modules, text, comment, reads, call.outputs, path)
            units.append(replace(unit, stands_alone=path in alone or "self." in text.replace(own(), "")))
            texts |= {number: tensor(number) for number in call.outputs}
        return units

    def _layers_alone(self, owner: WrittenClass, places: Sequence[Place]) -> set[str]:
        """The layers that no block may contain: places, and layers with several calls or with parts elsewhere."""
        counts = Counter(self.canonical(call.layer) for call in owner.graph.calls)
        elsewhere = {*self.architecture.source.shared.values(), *(place.layer for place in (*places, *owner.places))}
        tied_keys = {leaf.tied for layer in self.layers.values() for leaf in layer.leaves if leaf.tied}
        constructors = "\n".join(text for modules in owner.modules.values() for text in modules.values())
        lent = {
            path
            for path, attribute in owner.attributes.items()
            if re.search(rf"\bself\.{re.escape(attribute)}(?!\w)", constructors)
        }
        called_again = {path for path, count in counts.items() if count > 1}
        not_first = {
            self.canonical(call.layer) for call in owner.graph.calls if self.canonical(call.layer) != call.layer
        }
        without_modules = owner.attributes.keys() - owner.modules.keys()
        alone = lent | called_again | not_first | without_modules
        for path in counts:
            below = {path, *(other for other in self.layers if other.startswith(f"{path}/"))}
            leaves = [leaf for inner in below for leaf in self.layers[inner].leaves]
            is_tied = any(leaf.tied or leaf.key in tied_keys for leaf in leaves)
            if below & elsewhere or is_tied or self.penalties.counts(path):
                alone.add(path)
        return alone

    def _add_class(self, preferred_name: str, text: str) -> str:
        """Add a class and return its name; if an earlier class has the same text, only return the name of that one."""
        earlier = self.texts.get(text)
        if earlier:
            return earlier
        name = self.texts[text] = self.class_names.of(preferred_name)
        self.classes.append(text.replace(NAME, name))
        return name

    def _add_table(self, preferred_name: str, text: str) -> str:
        """Add a table of arguments and return its name; if an earlier table is the same, only return its name."""
        earlier = self.texts.get(text)
        if earlier:
            return earlier
        name = self.texts[text] = self.class_names.of(preferred_name)
        self.classes.append(f"{name} = {text}")
        return name

    def _merge_models(self, units: Sequence[Unit]) -> list[Unit]:
        """The units with one class for inner models that differ only in names and numbers."""
        groups: dict[object, list[int]] = {}
        for index, unit in enumerate(units):
            if unit.path in self.inside and not unit.stands_alone:
                groups.setdefault(self._shape_of_model(unit.path), []).append(index)
        result = list(units)
        for indices in groups.values():
            paths = [units[index].path for index in indices]
            written_names = {units[index].modules[""].partition("(")[0] for index in indices}
            users = {user for name in written_names for user in self.users.get(name, ())}
            if len(written_names) > 1 and users <= {*paths}:
                for name in written_names:
                    self._remove_class(name)
                result = self._with_one_class(result, indices)
        return result

    def _graph(self, path: str) -> Graph:
        return next(graph for graph in self.architecture.graphs if graph.model == path)

    def _shape_of_model(self, path: str) -> object:
        """A value that is equal for models that differ only in names and numbers."""
        units, graph = self.inside[path], self._graph(path)
        numbers: dict[int, int] = {}
        for number in (*graph.inputs.values(), *(number for unit, _ in units for number in unit.writes)):
            numbers[number] = len(numbers)
        steps = [
            (unit.step().shape, tuple(numbers[number] for number in unit.reads), len(unit.writes)) for unit, _ in units
        ]
        outputs = [numbers[number] for number in tensors(graph.outputs)]
        is_whole = all(shape for shape, *_ in steps) and len(outputs) == 1
        return (tuple(steps), outputs[0], len(graph.inputs)) if is_whole else path

    def _with_one_class(self, units: list[Unit], indices: Sequence[int]) -> list[Unit]:
        """The units with one class for the models at some indices."""
        all_units, copies = list[Unit](), list[Occurrence]()
        for index in indices:
            path = units[index].path
            start, inner = len(all_units), [unit for unit, _ in self.inside[path]]
            all_units += inner
            inputs = tuple(self._graph(path).inputs.values())
            copy = Copy(start, len(inner), inputs, tensors(self._graph(path).outputs)[0])
            copies.append(Occurrence(copy, tuple(range(start, len(all_units)))))
        first = copies[0].copy
        columns = tuple(Column(unit.step().shape, unit.reads, unit.writes) for unit in all_units[: first.length])
        block = block_of(all_units, Pattern(columns, (), first.inputs, first.result, tuple(copies)), {}, {})
        steps = [self.layers[units[index].path].step for index in indices]
        class_name = self._add_class(block_class(steps, "", self.architecture.name), block.text)
        for index, row, inner in zip(indices, block.rows, block.units, strict=True):
            units[index] = replace(units[index], modules={"": constructor_call(row, class_name)}, inner=(inner,))
        return units

    def _remove_class(self, name: str) -> None:
        """Remove the class of an inner model, which another class replaces."""
        self.classes[:] = [text for text in self.classes if not text.startswith(f"class {name}(")]
        for text in [text for text, other in self.texts.items() if other == name]:
            del self.texts[text]
        self.class_names.give_back(name)

    def place(self, owner: WrittenClass, units: Sequence[Unit], target: str) -> list[tuple[Unit, str]]:
        """The units with their attributes; changes the constructor of the class so that it makes the blocks.

        Args:
          units: its units.
          target: the path of its module.
        """
        lines = {
            path: [f"self.{owner.attributes[path]}{suffix} = {text}" for suffix, text in modules.items()]
            for path, modules in owner.modules.items()
        }
        # For each line of the constructor, the unit that replaces it.
        units_by_line = {line: unit for unit in units for path in unit.paths() for line in lines.get(path, ())}
        for unit in units:
            for path in unit.paths() if not unit.path else ():
                if path in owner.attributes:
                    owner.names.give_back(owner.attributes.pop(path))
        units_with_attributes = [(unit, self._attribute(owner, unit)) for unit in units]
        lines_of_blocks = {
            id(unit): [f"self.{attribute}{suffix} = {text}" for suffix, text in unit.modules.items()]
            for unit, attribute in units_with_attributes
            if unit.inner
        }
        constructor: dict[str, None] = {}
        for line in owner.made:
            unit = units_by_line.get(line)
            constructor |= dict.fromkeys(lines_of_blocks.get(id(unit), [line]))
        constructor |= dict.fromkeys(line for group in lines_of_blocks.values() for line in group)
        owner.made = [_with_positions(line) for line in constructor]
        for unit, attribute in units_with_attributes:
            if unit.inner:
                self._move(unit.names(attribute, target))
        self.inside[owner.graph.model] = units_with_attributes
        return units_with_attributes

    def _attribute(self, owner: WrittenClass, unit: Unit) -> str:
        if unit.path:
            return owner.attributes.get(unit.path, "")
        name = plural(unit.name) if unit.looped is not None and unit.name else unit.name
        return owner.names.of(identifier(name, unit.kind).lower() if name else unit.kind)

    def _move(self, names: Mapping[str, str]) -> None:
        """Record the paths of modules in blocks, and with them the paths of the modules inside those."""
        for path, place in names.items():
            before = self.names.get(path, path.replace("/", "."))
            for inner, inner_place in self.names.items():
                if inner_place.startswith(f"{before}.") and inner.startswith(f"{path}/") and inner not in names:
                    self.names[inner] = join_path(place, inner_place.removeprefix(f"{before}."))
            self.names[path] = place


def _with_positions(line: str) -> str:
    target, _, constructor = line.partition(" = ")
    return f"{target} = {with_positions(constructor)}"
