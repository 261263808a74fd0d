"""A SavedModel read from its protocol buffers: nothing is loaded, nothing is run, and no file outside is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from tf_reference import _graph_nodes, _private, _saved_layers
from workloads.core import foreign
from workloads.core.foreign import Unusable
from workloads.protocol.framework import Unsupported
from workloads.protocol.inspection import Inspection, Value

FILE = "saved_model.pb"
MOST_BYTES = (1 << 31) - 1
"""No protocol buffer is longer."""

_NAME_FOLDER = f"name the folder with {FILE}"
_SERVE = "serve"
_OWN_SIGNATURES = ("__saved_model_init_op", "__saved_model_train_op")
_PLUMBING = ("__inference__traced_", "__inference__creator_", "__inference__initializer_", "__inference__destroyer_",
             "__inference__create_resource", "__inference__initialize_", "__inference__destroy_resource",
             "__inference_restore", "__inference_save", "__inference__restored_resource")  # fmt: skip
"""Functions by which a model is saved and restored, and its tables are made: no part of what it computes."""

_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})


def inspect(folder: Path) -> Inspection:
    """Read the signatures and variables of a SavedModel.

    Raises:
      Unsupported: there is none, it is no SavedModel, or a link leads out of the folder.
    """
    meta = read_graph(folder)
    signatures = {name: signature for name, signature in meta.signature_def.items() if name not in _OWN_SIGNATURES}
    functions = [] if signatures else _functions(meta)
    outputs = [name for signature in signatures.values() for name in _tensors(signature.outputs.values())]
    # Without an entry the graph is all there is, as one that was frozen.
    roots = outputs if signatures or functions else None
    bodies = _graph_nodes.reach(meta.graph_def, roots, functions)
    layers = tuple(_saved_layers.layers(folder))
    return Inspection(
        kind="saved model",
        operations=_graph_nodes.operations(bodies, _saved_layers.places(folder, layers)),
        layers=layers,
        entries=tuple(sorted(signatures)) or tuple(functions) or ("the whole graph",),
        inputs=tuple(dict.fromkeys(_values(signature.inputs for signature in signatures.values()))),
        outputs=tuple(dict.fromkeys(_values(signature.outputs for signature in signatures.values()))),
        variables=tuple({variable.name: variable for variable in _variables(meta)}.values()),
        versions={"tensorflow": meta.meta_info_def.tensorflow_version} if meta.meta_info_def.tensorflow_version else {},
    )


def read_graph(folder: Path) -> Any:
    """The MetaGraphDef of a SavedModel that serves, else its first.

    Raises:
      Unsupported: there is none, it is no SavedModel, or a link leads out of the folder.
    """
    saved_model = _read(folder)
    if not saved_model.meta_graphs:
        raise Unsupported(f"expected a SavedModel in {folder}, found one without a graph: save it again")
    graphs_with_tag = [graph for graph in saved_model.meta_graphs if _SERVE in graph.meta_info_def.tags]
    return (graphs_with_tag or list(saved_model.meta_graphs))[0]


def _read(folder: Path) -> Any:
    path = folder / FILE
    try:
        if not os.path.lexists(path) and (folder / "saved_model.pbtxt").exists():
            raise Unusable("saved_model.pbtxt, the form in text, which is not read")
        if os.path.realpath(path) != os.path.join(os.path.realpath(folder), FILE):
            raise Unusable("a link that leads elsewhere")
    except Unusable as error:
        raise Unsupported(f"expected a SavedModel at {path}, found {error}: {_NAME_FOLDER}") from error
    message = _private.protocol("saved_model_pb2", "SavedModel")
    return read_message(path, message, "a SavedModel", _NAME_FOLDER, "save the model again")


def read_message(path: Path, message: Any, name: str, if_unusable: str, if_damaged: str) -> Any:
    """The protocol buffer in a file.

    Args:
      name: what the file should be, for messages.
      if_unusable: what to do if there is no such file, or it is none to be read.
      if_damaged: what to do if it is something else.

    Raises:
      Unsupported: there is no such file, or it is something else.
    """
    try:
        return message.FromString(foreign.read(path, MOST_BYTES))
    except Unusable as error:
        raise Unsupported(f"expected {name} at {path}, found {error}: {if_unusable}") from error
    except (DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Unsupported(
            f"expected {name} at {path}, found a protocol buffer that is damaged, or of something else: {if_damaged}"
        ) from error


def _tensors(infos: Iterable[Any]) -> Iterator[str]:
    """The names of tensors; a sparse or ragged one has several."""
    for info in infos:
        match info.WhichOneof("encoding"):
            case "name":
                yield info.name
            case "coo_sparse":
                sparse = info.coo_sparse
                yield from (sparse.values_tensor_name, sparse.indices_tensor_name, sparse.dense_shape_tensor_name)
            case "composite_tensor":
                yield from _tensors(info.composite_tensor.components)


def _values(groups: Iterable[Any]) -> Iterator[Value]:
    for infos in groups:
        for name, info in sorted(infos.items()):
            yield Value(name, _graph_nodes.dtype_name(info.dtype), _graph_nodes.shape_of(info.tensor_shape))


def _functions(meta: Any) -> list[str]:
    """The functions of a model without signatures, those left out by which it is saved and restored."""
    names = {
        name
        for node in meta.object_graph_def.nodes
        for name in (
            *node.function.concrete_functions,
            *([node.bare_concrete_function.concrete_function_name] if node.HasField("bare_concrete_function") else []),
        )
    }
    return sorted(name for name in names if not name.startswith(_PLUMBING))


def _variables(meta: Any) -> Iterator[Value]:
    """Variables by the object graph; of a model of TensorFlow 1 by the graph."""
    variables = [node.variable for node in meta.object_graph_def.nodes if node.HasField("variable")]
    for variable in variables:
        yield Value(
            variable.name,
            _graph_nodes.dtype_name(variable.dtype),
            _graph_nodes.shape_of(variable.shape),
            bool(variable.trainable),
        )
    if not variables:
        for node in meta.graph_def.node:
            if node.op in _VARIABLES:
                shape = _graph_nodes.shape_of(node.attr["shape"].shape)
                yield Value(node.name, _graph_nodes.dtype_name(node.attr["dtype"].type), shape)
