"""TensorFlow's graphs in protobuf's text format, as it dumps them: nodes with what they read, and their clusters.

TensorFlow itself is not needed: the few fields that matter are declared here by the names and numbers of
tensorflow/core/framework/graph.proto, node_def.proto and attr_value.proto, and everything else is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format

from compare import files
from workloads.core.foreign import MEBIBYTE

MOST_BYTES = 256 * MEBIBYTE
"""The largest graph file; the training step of ResNet50 has a hundredth of it."""

_PACKAGE = "jaxport.graph"
_MESSAGES = {
    "GraphDef": ((1, "node", "NodeDef", True),),
    "NodeDef": ((1, "name", "", False), (2, "op", "", False), (3, "input", "", True), (5, "attr", "Attr", True)),
    "Attr": ((1, "key", "", False), (2, "value", "AttrValue", False)),
    "AttrValue": ((2, "s", "bytes", False),),
}
"""By message, its fields: number, name, type ("" of a string), and whether it is repeated."""

_CLUSTER = "_XlaCluster"
_A_GRAPH = files.Expected("a graph that TensorFlow dumped", "dump it again")


@dataclass(frozen=True)
class DumpedNode:
    """A node; `cluster` is empty where it is in none."""

    name: str
    op: str
    inputs: tuple[str, ...]
    cluster: str


def read_graph(path: Path) -> tuple[DumpedNode, ...]:
    """The nodes of a file, in its order.

    Raises:
      FileError: it cannot be read, or is no graph.
    """
    data = files.read(path, _A_GRAPH, MOST_BYTES)
    graph: Any = _GRAPH()
    try:
        text_format.Parse(data.decode(), graph, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        _A_GRAPH.refuse(path, f"no graph in protobuf's text format ({error})")
    return tuple(map(_node, graph.node))


def _node(node: Any) -> DumpedNode:
    by_name = {attribute.key: attribute.value.s for attribute in node.attr}
    inputs = tuple(source.partition(":")[0] for source in node.input)
    return DumpedNode(node.name, node.op, inputs, by_name.get(_CLUSTER, b"").decode(errors="replace"))


def _declare() -> Any:
    field = descriptor_pb2.FieldDescriptorProto
    file_proto = descriptor_pb2.FileDescriptorProto(name="jaxport_graph.proto", package=_PACKAGE, syntax="proto3")
    for message, fields in _MESSAGES.items():
        message_proto = file_proto.message_type.add(name=message)
        for number, name, kind, is_repeated in fields:
            label = field.LABEL_REPEATED if is_repeated else field.LABEL_OPTIONAL
            plain = {"": field.TYPE_STRING, "bytes": field.TYPE_BYTES}.get(kind)
            type_fields = {"type": plain} if plain else {"type": field.TYPE_MESSAGE, "type_name": f".{_PACKAGE}.{kind}"}
            message_proto.field.add(name=name, number=number, label=label, **type_fields)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_proto)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.GraphDef"))


_GRAPH = _declare()
