"""Reads a serialized HLO module into a graph of values."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from google.protobuf.unknown_fields import UnknownFieldSet

from compare.hlo import op_names, proto
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.graph import UNDECLARED, Attributes, Graph, Node, Shape
from workloads.core.frames import is_framework, is_library, is_machinery

# Fields of an instruction on which its value depends.
_ATTRIBUTES = frozenset({
    "parameter_number", "tuple_index", "dimensions", "window", "convolution_dimension_numbers", "slice_dimensions",
    "exponent_bits", "mantissa_bits", "dynamic_slice_sizes", "padding_config", "distribution", "epsilon",
    "feature_index", "custom_call_target", "dot_dimension_numbers", "fft_type", "fft_length",
    "gather_dimension_numbers", "gather_slice_sizes", "scatter_dimension_numbers", "feature_group_count",
    "batch_group_count", "triangular_solve_options", "is_stable", "cholesky_options", "comparison_direction",
    "comparison_type", "delta", "rng_algorithm", "k", "largest", "is_reverse", "num_carries", "replica_groups",
    "source_target_pairs", "use_global_device_ids", "collective_device_list", "iota_collective_device_list",
    "mesh_axes_replica_group_list", "infeed_config", "outfeed_config", "padding_type", "dot_sparsity",
    "ragged_dot_dimension_numbers", "result_accuracy",
})  # fmt: skip
_OF_CUSTOM_CALLS = frozenset({"constrain_layout", "operand_shapes_with_layout"})
_HINTS = frozenset({
    "precision_config", "fusion_kind", "indices_are_sorted", "unique_indices", "custom_call_has_side_effect",
    "custom_call_api_version", "channel_id",
})  # fmt: skip
# Undeclared fields on which no value depends: outfeed_shape, all_reduce_id, is_host_transfer, the shardings of domains
# and parameters, frontend_attributes, what prefetches, aliases and schedules, statistics_viz, original_value and
# is_composite.
_OF_NO_VALUE = frozenset({29, 45, 47, 54, 55, 61, 68, 73, 74, 76, 79, 80, 82, 88, 89})
# Zero means something for these: the first parameter, the first part of a tuple, dimension 0.
_ALWAYS = {
    "parameter": ("parameter_number",),
    "get-tuple-element": ("tuple_index",),
    "iota": ("dimensions",),
    "rng": ("distribution",),
}
_DEFAULT_COMPARISONS = ("FLOAT", "SIGNED", "UNSIGNED")

_LITERALS = {
    "pred": ("preds", np.bool_), "s8": ("s8s", np.int8), "s16": ("s16s", np.int16), "s32": ("s32s", np.int32),
    "s64": ("s64s", np.int64), "u8": ("u8s", np.uint8), "u16": ("u16s", np.uint16), "u32": ("u32s", np.uint32),
    "u64": ("u64s", np.uint64), "f16": ("f16s", np.float16), "bf16": ("bf16s", ml_dtypes.bfloat16),
    "f32": ("f32s", np.float32), "f64": ("f64s", np.float64), "c64": ("c64s", np.complex64),
    "c128": ("c128s", np.complex128), "f8e5m2": ("f8e5m2s", ml_dtypes.float8_e5m2),
    "f8e4m3fn": ("f8e4m3fns", ml_dtypes.float8_e4m3fn), "s4": ("s4s", np.int8), "u4": ("u4s", np.uint8),
}  # fmt: skip

NOBODYS = ("tensorflow/python/framework/ops.py", "dummy_file_name")
"""The source files that TensorFlow gives to every operation, and to every one of a cluster: never the user's."""


def read(data: bytes, sources: Mapping[str, str] | None = None) -> Graph:
    """The entry computation of a serialized HloModuleProto or HloProto, as it stands.

    Args:
      sources: "file:line" of operations by the name that the frontend gave them, where the module does
        not say it itself.

    Raises:
      UnreadableProgram: the bytes are neither.
    """
    return read_message(proto.read_module(data), sources)


def read_message(module: Any, sources: Mapping[str, str] | None = None, places: Any = None) -> Graph:
    """The graph of a message; `places` has by instruction id its position before calls were inlined.

    Args:
      sources: "file:line" of operations by the name that the frontend gave them.
      places: by instruction id, where it stood before calls were inlined.
    """
    return _Reader(module, sources or {}, places or {}).graph(module.entry_computation_id)


class _Reader:
    """Reads one module; a computation that is used twice becomes one graph."""

    def __init__(self, module: Any, sources: Mapping[str, str], places: Mapping[int, tuple[str, ...]]) -> None:
        self._computations = {computation.id: computation for computation in module.computations}
        self._index, self._sources, self._places = module.stack_frame_index, sources, places
        self._graphs: dict[int, Graph] = {}
        self._shapes: dict[bytes, Shape] = {}
        self._frames: dict[int, tuple[tuple[str, ...], str]] = {}

    def graph(self, key: int) -> Graph:
        """One computation by its id."""
        if key not in self._graphs:
            if key not in self._computations:
                raise UnreadableProgram(f"expected a computation {key} in the module, found none: it is incomplete")
            self._graphs[key] = self._read(self._computations[key])
        return self._graphs[key]

    def _read(self, computation: Any) -> Graph:
        nodes = {instruction.id: self._node(instruction) for instruction in computation.instructions}
        for node in [candidate for candidate in nodes.values() if candidate.opcode == "bitcast"]:
            # Which element goes where is said by the layouts of both, and by nothing else.
            layouts = ("layouts", (nodes[node.operands[0]].shape.layout, node.shape.layout))
            nodes[node.id] = node.but(attributes=(*node.attributes, layouts))
        parameters = {
            instruction.parameter_number: instruction.id
            for instruction in computation.instructions
            if instruction.opcode == "parameter"
        }
        results = _results(nodes, nodes[computation.root_id])
        return Graph(computation.name, nodes, tuple(parameters[number] for number in sorted(parameters)), results)

    def _node(self, instruction: Any) -> Node:
        frames, line = self._stack(instruction.metadata.stack_frame_id)
        op_name = instruction.metadata.op_name
        fields = {field.name: value for field, value in instruction.ListFields()}
        return Node(
            id=instruction.id,
            name=instruction.name,
            opcode=instruction.opcode,
            shape=self._shape(instruction.shape),
            operands=tuple(instruction.operand_ids),
            attributes=_attributes(instruction, fields),
            literal=_literal(instruction),
            regions=tuple(self.graph(key) for key in instruction.called_computation_ids),
            hints=_frozen(fields, _HINTS),
            op_name=op_name,
            source=line_of(self._sources, op_name) or line or _line(instruction.metadata),
            frames=frames,
            place=self._places.get(instruction.id, ()),
        )

    def _shape(self, message: Any) -> Shape:
        """One shape for all values that have it."""
        key = message.SerializeToString()
        if key not in self._shapes:
            self._shapes[key] = shape(message)
        return self._shapes[key]

    def _stack(self, frame: int) -> tuple[tuple[str, ...], str]:
        """Lines of the call stack, innermost first, and the model's; frames are numbered from 1.

        The outermost frame is its own parent.
        """
        if frame not in self._frames:
            frames = self._walk(frame)
            self._frames[frame] = frames, users_line(frames)
        return self._frames[frame]

    def _walk(self, frame: int) -> tuple[str, ...]:
        lines: list[str] = []
        seen_frames: set[int] = set()
        while 0 < frame <= len(self._index.stack_frames) and frame not in seen_frames:
            seen_frames.add(frame)
            stack_frame = self._index.stack_frames[frame - 1]
            location = _item(self._index.file_locations, stack_frame.file_location_id)
            name = _item(self._index.file_names, location.file_name_id) if location else None
            if location and name:
                lines.append(f"{name}:{location.line}")
            frame = stack_frame.parent_frame_id
        return tuple(lines)


def _item(items: Sequence[Any], number: int) -> Any:
    """One of a list that is numbered from 1; None where there is no such."""
    return items[number - 1] if 0 < number <= len(items) else None


def _results(nodes: dict[int, Node], root: Node) -> tuple[int, ...]:
    """The values that a root hands out; of one that has several parts, each is taken out by a value added here."""
    if root.opcode == "tuple" or root.shape.dtype != "tuple":
        return root.operands if root.opcode == "tuple" else (root.id,)
    first = max(nodes) + 1
    for position, part in enumerate(root.shape.parts):
        name, index = f"{root.name}.{position}", (("tuple_index", position),)
        nodes[first + position] = root.but(
            id=first + position, name=name, opcode="get-tuple-element", shape=part, operands=(root.id,),
            attributes=index, literal=None, regions=(), hints=(),
        )  # fmt: skip
    return tuple(range(first, first + len(root.shape.parts)))


def users_line(frames: tuple[str, ...]) -> str:
    """The innermost line of a model: outside of frameworks and jaxport. Without one, the library's or a framework's.

    "" of none.
    """
    inner = itertools.dropwhile(_is_machinery, frames)
    # The code that calls jaxport, such as a test or a notebook, is no part of the model.
    outside_lines = list(itertools.takewhile(lambda line: not _is_machinery(line), inner))
    own = [line for line in outside_lines if not is_framework(_file(line))]
    models = [line for line in own if not is_library(_file(line))]
    return next(iter(models or own or outside_lines), "")


def _is_machinery(line: str) -> bool:
    return is_machinery(_file(line))


def _file(line: str) -> str:
    return line.rpartition(":")[0]


def line_of(sources: Mapping[str, str], op_name: str) -> str:
    """The line of an operation by its name in metadata; "" where the metadata has none."""
    names = op_names.without_callers(op_name) if sources else ()
    return next((sources[name] for name in names if name in sources), "")


def _line(metadata: Any) -> str:
    if not metadata.source_file or metadata.source_file.endswith(NOBODYS):
        return ""
    return f"{metadata.source_file}:{metadata.source_line}"


def shape(message: Any) -> Shape:
    """A ShapeProto."""
    return Shape(
        dtype=proto.DTYPES.get(message.element_type, f"type{message.element_type}"),
        dimensions=tuple(message.dimensions),
        parts=tuple(map(shape, message.tuple_shapes)),
        layout=tuple(message.layout.minor_to_major),
    )


def _attributes(instruction: Any, fields: Mapping[str, Any]) -> Attributes:
    always = tuple((name, frozen(getattr(instruction, name))) for name in _ALWAYS.get(instruction.opcode, ()))
    attributes = dict(always + _frozen(fields, _ATTRIBUTES))
    attributes |= _undeclared_fields(instruction, _OF_NO_VALUE)
    if attributes.get("comparison_type") in _DEFAULT_COMPARISONS:
        del attributes["comparison_type"]
    if "precision_config" in fields and instruction.precision_config.algorithm:
        # A precision is a wish, an algorithm says what is computed.
        attributes["algorithm"] = instruction.precision_config.algorithm
    if instruction.opcode == "constant" and instruction.HasField("literal") and _literal(instruction) is None:
        # Of a type that NumPy lacks: what it is takes part all the same.
        attributes["literal"] = instruction.literal.SerializeToString()
    if instruction.opcode == "custom-call":
        # Elsewhere these say how to compute; of a call, what.
        attributes["backend_config"] = instruction.backend_config
        attributes |= dict(_frozen(fields, _OF_CUSTOM_CALLS))
    return tuple(sorted(attributes.items()))


def _frozen(fields: Mapping[str, Any], names: Collection[str]) -> Attributes:
    return tuple([(name, frozen(value)) for name, value in fields.items() if name in names])


def _undeclared_fields(message: Any, but: Collection[int] = ()) -> dict[str, Any]:
    """Fields of a later XLA that this file does not know: operations that differ in them are not equal."""
    data: dict[str, tuple[Any, ...]] = {}
    for field in UnknownFieldSet(message):
        if field.field_number not in but:
            name = f"{UNDECLARED}{field.field_number}"
            data[name] = (*data.get(name, ()), field.data)
    # One empty message is what a version writes that knows of it, and says nothing.
    return {name: values for name, values in data.items() if values not in ((b"",), (0,))}


def frozen(value: Any) -> Any:
    """A protobuf value as something hashable: a message as the (name, value) of every field that is set."""
    if hasattr(value, "ListFields"):
        fields = tuple((field.name, frozen(part)) for field, part in value.ListFields())
        return (*fields, *_undeclared_fields(value).items())
    if isinstance(value, (str, bytes, bool, int, float)):
        return value
    return tuple(map(frozen, value))


def _literal(instruction: Any) -> np.ndarray | None:
    if instruction.opcode != "constant" or not instruction.HasField("literal"):
        return None
    dimensions = tuple(instruction.literal.shape.dimensions)
    name, dtype = _LITERALS.get(proto.DTYPES.get(instruction.literal.shape.element_type, ""), ("", None))
    if dtype is None:
        return None
    try:
        return _array(getattr(instruction.literal, name), dtype).reshape(dimensions)
    except ValueError as error:
        raise UnreadableProgram(
            f"expected a constant {instruction.name} as large as its shape, found {error}"
        ) from error


def _array(values: Any, dtype: type[Any]) -> np.ndarray:
    if isinstance(values, bytes):
        return np.frombuffer(values, dtype)
    if np.issubdtype(dtype, np.complexfloating):
        return np.array(values, np.float32 if dtype is np.complex64 else np.float64).view(dtype)
    return np.array(values, dtype)
