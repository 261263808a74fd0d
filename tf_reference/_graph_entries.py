"""Inputs and outputs of a saved graph: the signatures of a SavedModel, or the ends of a graph without signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tf_reference._graph_nodes import definition, dtype_name, find_needed, node_of, shape_of
from workloads.protocol.framework import Unsupported

_OWN = ("__saved_model_init_op", "__saved_model_train_op")
_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
_NO_ENDS = frozenset({"NoOp", "Const", "Assert", "Assign", "AssignVariableOp", "VarHandleOp", "VariableV2", "SaveV2"})
_MOST_NAMES = 12

Shape = tuple[int | None, ...] | None
"""The sizes of the axes; None for an unknown rank and for a size that is not fixed."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a graph.

    Attributes:
      name: "node:0".
      dtype: of it.
      shape: likewise.
    """

    name: str
    dtype: str
    shape: Shape


@dataclass(frozen=True)
class Entry:
    """A part of a graph that can be called.

    Attributes:
      name: of the signature, or of what is computed.
      inputs: what stands for the arguments, by their names.
      outputs: what is returned, by name.
    """

    name: str
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]


def signatures(meta: Any) -> list[str]:
    """The names of the signatures of a SavedModel."""
    return [name for name, one in sorted(meta.signature_def.items()) if name not in _OWN and one.outputs]


def of_signature(meta: Any, name: str) -> Entry:
    """The entry of a signature.

    Raises:
      Unsupported: it takes or returns what is no tensor.
    """
    one_signature = meta.signature_def[name]
    return Entry(name, _tensors(one_signature.inputs, name), _tensors(one_signature.outputs, name))


def of_ends(graph: Any, outputs: Sequence[str], name: str) -> Entry:
    """The entry of a graph from its placeholders to these tensors, or else to the tensors that nothing reads.

    Raises:
      Unsupported: one is not in the graph, or the graph has no end.
    """
    by_name = {node.name: node for node in graph.node}
    names_taken = {node_of(tensor) for node in graph.node for tensor in node.input}
    ends = outputs or [
        node.name
        for node in graph.node
        if node.name not in names_taken and node.op not in _NO_ENDS | _PLACEHOLDERS and result_dtypes(node)
    ]
    _check_names(ends, by_name)
    if not ends:
        raise Unsupported("expected a graph that computes something, found none: name what is returned by --output")
    starts = [node.name for node in find_needed(graph.node, ends) if node.op in _PLACEHOLDERS]
    return Entry(
        name,
        {start: _tensor_of(by_name[start], start) for start in starts},
        {end.removesuffix(":0"): _tensor_of(by_name[node_of(end)], end) for end in ends},
    )


def _check_names(names: Sequence[str], by_name: Mapping[str, Any]) -> None:
    for name in names:
        if node_of(name) not in by_name:
            raise Unsupported(
                f"expected a node {name[:100]} in the graph, found {list_names(_last(by_name))}: name one"
            )


def _last(by_name: Mapping[str, Any]) -> list[str]:
    """The last nodes of a graph that have results, without those that save it."""
    names = [name for name, node in by_name.items() if node.op not in _NO_ENDS and result_dtypes(node)]
    return [name for name in names if not name.startswith("save") and "/Read/" not in name][-_MOST_NAMES:]


def _tensor_of(node: Any, tensor: str) -> Tensor:
    number = int(tensor.partition(":")[2] or 0) if tensor.partition(":")[2].isdecimal() or ":" not in tensor else -1
    dtypes = result_dtypes(node)
    if not 0 <= number < len(dtypes):
        raise Unsupported(f"expected a tensor of the {len(dtypes)} of {node.name[:100]}, found {tensor[:100]}")
    shape = shape_of(node.attr["shape"].shape) if "shape" in node.attr else None
    if shape is None and "_output_shapes" in node.attr:
        shapes = node.attr["_output_shapes"].list.shape
        shape = shape_of(shapes[number]) if number < len(shapes) else None
    return Tensor(f"{node.name}:{number}", dtypes[number], shape)


def result_dtypes(node: Any) -> list[str]:
    """The dtypes of a node's results, as its definition derives them."""
    op_definition = definition(node.op)
    dtypes: list[str] = []
    for argument in op_definition.output_arg if op_definition else ():
        if argument.type_list_attr:
            dtypes += map(dtype_name, node.attr[argument.type_list_attr].list.type)
            continue
        dtype = dtype_name(argument.type or _type_of(node, op_definition, argument.type_attr))
        dtypes += [dtype] * (node.attr[argument.number_attr].i if argument.number_attr else 1)
    return dtypes


def _type_of(node: Any, op_definition: Any, name: str) -> int:
    """The number of a type among a node's attributes; its default, which saving leaves out, where there is none."""
    if name in node.attr and node.attr[name].type:
        return node.attr[name].type
    return next((attribute.default_value.type for attribute in op_definition.attr if attribute.name == name), 0)


def _tensors(infos: Mapping[str, Any], signature: str) -> dict[str, Tensor]:
    tensors = {}
    for key, info in sorted(infos.items()):
        if info.WhichOneof("encoding") != "name":
            raise Unsupported(
                f"expected tensors in the signature {signature}, found {key} in parts, a sparse or ragged one: name a "
                "signature of tensors"
            )
        name = info.name if ":" in info.name else f"{info.name}:0"
        tensors[key] = Tensor(name, dtype_name(info.dtype), shape_of(info.tensor_shape))
    return tensors


def list_names(names: Sequence[str]) -> str:
    """The first names, for a sentence."""
    if not names:
        return "none"
    return ", ".join(name[:100] for name in names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
