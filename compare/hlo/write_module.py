"""Writes a graph of values as a serialized HLO module, with any of its values as results: so it can be run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compare.hlo import proto
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import UNDECLARED, Graph, Node, Shape

_NUMBERS = {name: number for number, name in proto.DTYPES.items()}
_LITERAL_FIELDS = {
    "pred": "preds", "s32": "s32s", "s64": "s64s", "u32": "u32s", "u64": "u64s", "f32": "f32s", "f64": "f64s",
    "c64": "c64s", "c128": "c128s",
}  # fmt: skip
# The precision config, which is a hint, holds it.
_SAID_ELSEWHERE = ("algorithm",)
# The other literals are written as their bytes.
_BYTES_FIELD = "{}s"


def write_graph(graph: Graph, results: Sequence[int] | None = None) -> bytes:
    """A serialized HloModuleProto whose entry computation is the graph.

    Args:
      results: the values to return, as a tuple in this order; by default the graph's own.
    """
    writer = _Writer()
    entry = writer.computation(graph, tuple(graph.results if results is None else results), always_tuple=True)
    module = writer.module
    module.name, module.entry_computation_id, module.entry_computation_name = "written", entry.id, entry.name
    module.host_program_shape.CopyFrom(entry.program_shape)
    return module.SerializeToString()


class _Writer:
    def __init__(self) -> None:
        self.module = proto.new("HloModuleProto")
        self._last = 0
        self._written: dict[Graph, Any] = {}

    def _number(self) -> int:
        self._last += 1
        return self._last

    def computation(self, graph: Graph, results: tuple[int, ...], always_tuple: bool) -> Any:
        """Append a computation and, before it, those that it calls.

        Args:
          always_tuple: whether a single result is returned as a tuple.
        """
        regions = {region: self._region(node, region) for node in graph for region in node.regions}
        target = proto.new("HloComputationProto")
        target.id = self._number()
        target.name = f"computation.{target.id}"
        ids: dict[int, int] = {}
        for node in graph:
            ids[node.id] = self._instruction(node, target, ids, [regions[region] for region in node.regions])
        shapes = [graph.nodes[key].shape for key in results]
        target.root_id = ids[results[0]] if results else 0
        if always_tuple or len(results) != 1:
            target.root_id = self._tuple(target, [ids[key] for key in results], shapes)
        _fill_shape(target.program_shape.result, _result_shape(shapes, always_tuple))
        for key in graph.parameters:
            _fill_shape(target.program_shape.parameters.add(), graph.nodes[key].shape)
            target.program_shape.parameter_names.append(f"parameter.{ids[key]}")
        self.module.computations.append(target)
        return target

    def _region(self, node: Node, region: Graph) -> int:
        if region not in self._written:
            always_tuple = _returns_tuple(node, region)
            self._written[region] = self.computation(region, region.results, always_tuple)
        return self._written[region].id

    def _instruction(self, node: Node, target: Any, ids: dict[int, int], regions: list[int]) -> int:
        instruction = target.instructions.add()
        instruction.id = self._number()
        instruction.name, instruction.opcode = f"{node.opcode}.{instruction.id}", node.opcode
        instruction.operand_ids.extend(ids[key] for key in node.operands)
        instruction.called_computation_ids.extend(regions)
        # What stands outside of the program wants the layouts that it was called with; all else takes any.
        _fill_shape(instruction.shape, node.shape, own_layout=node.opcode == "custom-call")
        for name, value in node.attributes + node.hints:
            if name == "layouts":
                _check_layouts(node, value)
            elif name == "literal":
                instruction.literal.ParseFromString(value)
            elif name not in _SAID_ELSEWHERE:
                _fill(instruction, name, value)
        if node.literal is not None:
            _fill_literal(instruction.literal, node)
        return instruction.id

    def _tuple(self, target: Any, parts: list[int], shapes: list[Shape]) -> int:
        instruction = target.instructions.add()
        instruction.id = self._number()
        instruction.name, instruction.opcode = f"tuple.{instruction.id}", "tuple"
        instruction.operand_ids.extend(parts)
        _fill_shape(instruction.shape, Shape("tuple", parts=tuple(shapes)))
        return instruction.id


def _returns_tuple(node: Node, region: Graph) -> bool:
    """Whether a region returns a tuple even of one part, as loops do, and branches of a choice between tuples."""
    if node.shape.dtype != "tuple" or (node.opcode == "while" and region is not node.regions[0]):
        return False
    return [region.nodes[key].shape for key in region.results] == list(node.shape.parts)


def _check_layouts(node: Node, layouts: tuple[tuple[int, ...], ...]) -> None:
    """Check layouts: the written module has default layouts, and with others a bitcast would move elements."""
    if any(layout and layout != tuple(reversed(range(len(layout)))) for layout in layouts):
        raise UnreadableProgram(
            f"expected no layouts, found those of {node.name}: spell it out by the structural rules"
        )


def _result_shape(shapes: Sequence[Shape], always_tuple: bool) -> Shape:
    return shapes[0] if len(shapes) == 1 and not always_tuple else Shape("tuple", parts=tuple(shapes))


def _fill_shape(message: Any, shape: Shape, own_layout: bool = False) -> None:
    message.element_type = _NUMBERS[shape.dtype]
    message.dimensions.extend(shape.dimensions)
    message.is_dynamic_dimension.extend([False] * len(shape.dimensions))
    for part in shape.parts:
        _fill_shape(message.tuple_shapes.add(), part, own_layout)
    if shape.is_array:
        layout = shape.layout if own_layout and shape.layout else reversed(range(len(shape.dimensions)))
        message.layout.minor_to_major.extend(layout)


def _fill(message: Any, name: str, value: Any) -> None:
    """Set a field to a value that compare.hlo.read_module has frozen."""
    if name.startswith(UNDECLARED):
        raise UnreadableProgram(f"expected fields of HLO that jaxport knows, found {name}: its XLA is newer")
    if not isinstance(value, tuple):
        setattr(message, name, value)
        return
    field = message.DESCRIPTOR.fields_by_name[name]
    target = getattr(message, name)
    if field.message_type is None:
        target.extend(value)
    elif hasattr(target, "add"):  # repeated: protobuf 5 and 7 have no other way to ask in common
        for item in value:
            _fill_message(target.add(), item)
    else:
        target.SetInParent()
        _fill_message(target, value)


def _fill_message(message: Any, fields: tuple[tuple[str, Any], ...]) -> None:
    for name, value in fields:
        _fill(message, name, value)


def _fill_literal(message: Any, node: Node) -> None:
    literal = np.ascontiguousarray(node.literal)
    _fill_shape(message.shape, node.shape)
    field = _LITERAL_FIELDS.get(node.shape.dtype)
    if field is None:
        setattr(message, _BYTES_FIELD.format(node.shape.dtype), literal.tobytes())
    elif np.iscomplexobj(literal):
        getattr(message, field).extend(
            part for number in literal.ravel().tolist() for part in (number.real, number.imag)
        )
    else:
        getattr(message, field).extend(literal.ravel().tolist())
