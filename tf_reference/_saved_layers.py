"""The metadata of a SavedModel beside its graph: layers of Keras 2, and source lines."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from tf_reference import _keras_2_config, _keras_config, _private
from tf_reference._graph_nodes import Place
from workloads.core import foreign, frames
from workloads.core.foreign import MEBIBYTE, Unusable
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Config, Layer

METADATA, LINES = "keras_metadata.pb", os.path.join("debug", "saved_model_debug_info.pb")
MOST_BYTES = 256 * MEBIBYTE
"""The largest size of either file: a model of a thousand layers has 2 MiB."""

MOST_NESTING = 200
_KERAS, _METRIC, _ROOT = "_tf_keras_", "_tf_keras_metric", "root"
_TUPLES = ("__tuple__", "TensorShape")
_OF_ROOT = re.compile(r"root\.[^.]+")


def layers(folder: Path) -> Iterator[Layer]:
    """The layers that Keras 2 wrote down, each once; none where there is no such file, as of Keras 3.

    Raises:
      Unsupported: the file is damaged, or a link leads out of the folder.
    """
    data = _beside(folder, METADATA)
    if data is None:
        return
    try:
        nodes = _METADATA.FromString(data).nodes
    except DecodeError as error:
        raise _damage(folder / METADATA) from error
    saved_nodes = {node.node_path: node for node in nodes if node.identifier.startswith(_KERAS)}
    root = _describe(saved_nodes[_ROOT].metadata, folder) if _ROOT in saved_nodes else {}
    if _keras_config.is_container(root) and isinstance(root.get("config"), Mapping) and root["config"].get("layers"):
        yield from _keras_config.layers(root)
        return
    # A subclass says nothing of itself: its attributes are layers. What lies deeper is within one of them.
    for path, node in saved_nodes.items():
        description = _describe(node.metadata, folder) if _OF_ROOT.fullmatch(path) else {}
        if description and node.identifier != _METRIC:
            yield from _keras_config.layers(description, "")


def _describe(metadata: str, folder: Path) -> Config:
    try:
        layer = json.loads(metadata)
    except (ValueError, RecursionError) as error:
        raise _damage(folder / METADATA) from error
    if not isinstance(layer, Mapping) or not isinstance(layer.get("class_name"), str):
        return {}
    if foreign.is_deeper(layer, MOST_NESTING):
        raise Unsupported(
            f"expected layers in {folder / METADATA}, found one nested more than {MOST_NESTING} levels deep: "
            "save the model again"
        )
    layer_facts = {key: layer.get(key) for key in ("class_name", "config", "name", "registered_name")}
    return _keras_2_config.complete(_without_tuples(layer_facts))


def _without_tuples(value: Any) -> Any:
    """A config with lists for tuples and shapes, which Keras 2 writes as objects here, and as lists elsewhere."""
    if isinstance(value, list):
        return [_without_tuples(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if value.get("class_name") in _TUPLES and isinstance(value.get("items"), list):
        return [_without_tuples(item) for item in value["items"]]
    return {key: _without_tuples(item) for key, item in value.items()}


def places(folder: Path, layers: Iterable[Layer]) -> Callable[[str, str], Place]:
    """By function and node the user's line, where the model was saved with `save_debug_info`, and whose it is.

    Raises:
      Unsupported: the file is damaged, or a link leads out of the folder.
    """
    owners = {tuple(layer.name.split("/")): layer.module == _keras_config.KERAS_LAYERS for layer in layers}
    data = _beside(folder, LINES)
    if data is None:
        return lambda function, name: ("", _in_layer(name, owners))
    try:
        info = _private.debug_info(data)
    except DecodeError as error:
        raise _damage(folder / LINES) from error

    def place(function: str, name: str) -> Place:
        return _line(info, f"{name}@{function}"), _in_layer(name, owners)

    return place


def _in_layer(name: str, owners: Mapping[tuple[str, ...], bool]) -> bool:
    """Whether a node is a layer of Keras' own: its scope is that of the layer, behind that of the model or first."""
    scope = name.split("/")[:-1]
    for end in range(len(scope), 0, -1):
        answers = [owners[path] for start in (1, 0) if (path := tuple(scope[start:end])) in owners]
        if answers:
            return answers[0]
    return False


def _line(info: Any, key: str) -> str:
    """FILE:LINE of the innermost frame that is no framework's; the outermost comes first in a trace."""
    number = info.name_to_trace_id.get(key, 0)
    numbers = info.traces_by_id[number].frame_id if number in info.traces_by_id else ()
    for frame in (info.frames_by_id[frame_id] for frame_id in reversed(numbers) if frame_id in info.frames_by_id):
        file = info.files[frame.file_index] if 0 <= frame.file_index < len(info.files) else ""
        if file and not frames.is_framework(file):
            return f"{file}:{frame.line}"
    return ""


def _beside(folder: Path, name: str) -> bytes | None:
    path = folder / name
    if not os.path.lexists(path):
        return None
    try:
        if os.path.realpath(path) != os.path.join(os.path.realpath(folder), name):
            raise Unusable("a link that leads elsewhere")
        return foreign.read(path, MOST_BYTES)
    except Unusable as error:
        raise Unsupported(f"expected a SavedModel with {path}, found {error}: remove that file") from error


def _damage(path: Path) -> Unsupported:
    return Unsupported(f"expected a SavedModel with {path}, found a file that is damaged: remove it")


def _declare() -> Any:
    """keras/protobuf/saved_metadata.proto, as far as it matters: Keras 3 has it no longer."""
    field = descriptor_pb2.FieldDescriptorProto
    file_proto = descriptor_pb2.FileDescriptorProto(
        name="jaxport_saved_metadata.proto", package="jaxport.metadata", syntax="proto3"
    )
    message_proto = file_proto.message_type.add(name="SavedObject")
    for number, name in ((3, "node_path"), (4, "identifier"), (5, "metadata")):
        message_proto.field.add(name=name, number=number, label=field.LABEL_OPTIONAL, type=field.TYPE_STRING)
    file_proto.message_type.add(name="SavedMetadata").field.add(
        name="nodes", number=1, label=field.LABEL_REPEATED, type=field.TYPE_MESSAGE,
        type_name=".jaxport.metadata.SavedObject",
    )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_proto)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("jaxport.metadata.SavedMetadata"))


_METADATA = _declare()
