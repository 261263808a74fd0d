"""Functions among the attributes of a saved module, such as `module.embed`: entries that no signature names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tf_reference._graph_entries import Entry, Tensor
from tf_reference._graph_nodes import dtype_name, shape_of
from workloads.protocol.framework import Unsupported

OBJECT = "_object"
"""The attribute of a node that stands for a variable: the number of its object."""

_DEEPEST, _MOST_OBJECTS = 4, 10_000
_LISTS = ("tuple_value", "list_value")


@dataclass(frozen=True)
class SavedMethod:
    """A function that an attribute names.

    Attributes:
      name: attributes that lead to it, by dots.
      traces: names of its concrete functions.
    """

    name: str
    traces: Sequence[str]


def methods(meta: Any) -> dict[str, SavedMethod]:
    """The functions that attributes lead to, by these."""
    nodes = meta.object_graph_def.nodes
    by_name: dict[str, SavedMethod] = {}
    open_, numbers_seen = [("", 0)], {0}
    for path, number in open_:
        for child in nodes[number].children if number < len(nodes) else ():
            name = f"{path}.{child.local_name}".lstrip(".")
            if child.node_id >= len(nodes) or not child.local_name.isidentifier():
                continue
            one = nodes[child.node_id]
            if one.HasField("function") and one.function.concrete_functions:
                by_name[name] = SavedMethod(name, sorted(one.function.concrete_functions))
            elif child.node_id not in numbers_seen and name.count(".") < _DEEPEST and len(numbers_seen) < _MOST_OBJECTS:
                numbers_seen.add(child.node_id)
                open_.append((name, child.node_id))
    return {name: one for name, one in by_name.items() if not any(part.startswith("_") for part in name.split("."))}


def entry_of(meta: Any, method: SavedMethod) -> tuple[Entry, Any]:
    """The entry of a function, and a graph that calls it alone.

    Raises:
      Unsupported: it has several traces, or takes what is no tensor.
    """
    objects = meta.object_graph_def
    library = {function.signature.name: function for function in meta.graph_def.library.function}
    traces = [name for name in method.traces if name in objects.concrete_functions and name in library]
    if len(traces) != 1:
        raise Unsupported(
            f"expected one trace of {method.name[:100]}, found {len(traces)}: save it with one input_signature, "
            "or name a signature"
        )
    (trace,) = traces
    about, function = objects.concrete_functions[trace], library[trace]
    specs = list(_tensors(about.canonicalized_input_signature))
    own = len(function.signature.input_arg) - len(about.bound_inputs)
    if own != len(specs):
        raise Unsupported(f"expected {own} tensors as arguments of {method.name[:100]}, found {len(specs)} declared")
    graph = type(meta.graph_def)()
    graph.versions.CopyFrom(meta.graph_def.versions)
    graph.library.CopyFrom(meta.graph_def.library)
    inputs = {}
    for number, (key, spec) in enumerate(specs):
        key = spec.name or key or f"input_{number}"
        key = key if key not in inputs else f"{key}_{number}"
        node = graph.node.add(op="Placeholder", name=f"argument_{number}")
        node.attr["dtype"].type = spec.dtype
        inputs[key] = Tensor(f"{node.name}:0", dtype_name(spec.dtype), shape_of(spec.shape))
    call = graph.node.add(op="StatefulPartitionedCall", name="StatefulPartitionedCall")
    call.attr["f"].func.name = trace
    call.input.extend([tensor.name for tensor in inputs.values()])
    call.input.extend([_capture(meta, graph, number) for number in about.bound_inputs])
    return Entry(method.name, inputs, _outputs(about.output_signature)), graph


def _outputs(signature: Any) -> dict[str, Tensor]:
    outputs = {}
    for number, (key, spec) in enumerate(_tensors(signature)):
        name = key if key and key not in outputs else f"output_{number}"
        outputs[name] = Tensor(f"StatefulPartitionedCall:{number}", dtype_name(spec.dtype), shape_of(spec.shape))
    return outputs


def _capture(meta: Any, graph: Any, number: int) -> str:
    """The node of what a function captures: a variable, a constant, or a resource that is no array."""
    nodes = meta.object_graph_def.nodes
    one = nodes[number] if 0 <= number < len(nodes) else None
    name = f"captured_{number}"
    if any(node.name == name for node in graph.node):
        return f"{name}:0"
    if one is not None and one.HasField("constant"):
        constant = next((node for node in meta.graph_def.node if node.name == one.constant.operation), None)
        if constant is not None:
            copy = graph.node.add()
            copy.CopyFrom(constant)
            copy.name = name
            return f"{name}:0"
    if one is not None and one.HasField("variable"):
        node = graph.node.add(op="VarHandleOp", name=name)
        node.attr["dtype"].type = one.variable.dtype
        node.attr["shape"].shape.CopyFrom(one.variable.shape)
        node.attr["shared_name"].s = one.variable.name.encode()
        node.attr[OBJECT].i = number
    else:
        node = graph.node.add(op="Placeholder", name=name)
        node.attr["dtype"].type = 20  # DT_RESOURCE
    return f"{name}:0"


def _tensors(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """The specs of tensors in a StructuredValue, in the order of tf.nest, each with the key that it stands under."""
    kind = value.WhichOneof("kind")
    match kind:
        case "tensor_spec_value":
            yield key, value.tensor_spec_value
        case "bounded_tensor_spec_value":
            yield key, value.bounded_tensor_spec_value
        case "dict_value":
            yield from _of_fields(value.dict_value.fields)
        case "named_tuple_value":
            for pair in value.named_tuple_value.values:
                yield from _tensors(pair.value, pair.key)
        case _ if kind in _LISTS:
            for item in getattr(value, kind).values:
                yield from _tensors(item, key)
        case "type_spec_value":
            raise Unsupported(
                "expected a function of tensors, found a sparse or ragged one: name a signature of tensors"
            )


def _of_fields(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in sorted(fields):
        yield from _tensors(fields[name], name)
