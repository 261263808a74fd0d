"""Protocol buffers that jaxport reads: declared by the numbers of their fields, and read by protobuf.

protobuf never reuses a number; a field that is not declared is kept when a message is written again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_SCALARS = {
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "uint32": descriptor_pb2.FieldDescriptorProto.TYPE_UINT32,
    "uint64": descriptor_pb2.FieldDescriptorProto.TYPE_UINT64,
    "float": descriptor_pb2.FieldDescriptorProto.TYPE_FLOAT,
    "double": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
}


def classes(package: str, messages: Mapping[str, str]) -> dict[str, Any]:
    """By name, the class of each message.

    Args:
      messages: by name, "number name type" of each field that is read, parted by ", ". A type with * is repeated. An
        enumeration is an int32, a map a repeated message of key and value: the same on the wire.
    """
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        file.message_type.add(name=name, field=[_field(package, *field.split()) for field in fields.split(", ")])
    # A pool of its own: TensorFlow registers messages of the same fields in the default one.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}


def _field(package: str, number: str, name: str, kind: str) -> descriptor_pb2.FieldDescriptorProto:
    is_repeated, kind = kind.endswith("*"), kind.rstrip("*")
    field = descriptor_pb2.FieldDescriptorProto(
        name=name,
        number=int(number),
        label=descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        if is_repeated
        else descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
        type=_SCALARS.get(kind, descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE),
    )
    if kind not in _SCALARS:
        field.type_name = f".{package}.{kind}"
    return field
