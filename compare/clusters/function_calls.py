"""Calls of functions in graphs that TensorFlow dumped: which must be compiled, and how each is to run.

TensorFlow itself is not needed: the few fields that matter are declared here by the names and numbers of
tensorflow/core/framework/graph.proto, function.proto, attr_value.proto and tensorflow/core/protobuf/config.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from compare import files, protobufs
from compare.clusters.graph_file import MOST_BYTES

MUST_COMPILE, CONFIG, EXECUTOR = "_XlaMustCompile", "config_proto", "executor_type"
"""Attributes of a call, as TensorFlow names them."""

_FUNCTION = "f"
_A_GRAPH = files.Expected("a graph that TensorFlow dumped", "dump it again")
_CLASSES = protobufs.classes(
    "jaxport.calls",
    {
        "GraphDef": "1 node NodeDef*, 2 library Library",
        "Library": "1 function FunctionDef*",
        "FunctionDef": "1 signature OpDef, 3 node_def NodeDef*, 5 attr Attr*",
        "OpDef": "1 name string",
        "NodeDef": "1 name string, 2 op string, 5 attr Attr*",
        "Attr": "1 key string, 2 value AttrValue",
        "AttrValue": "2 s bytes, 5 b bool, 10 func Named",
        "Named": "1 name string",
        "ConfigProto": "1 device_count Count*, 2 intra_op_parallelism_threads int32, "
        "5 inter_op_parallelism_threads int32, 6 gpu_options Options, 7 allow_soft_placement bool, "
        "8 log_device_placement bool, 10 graph_options GraphOptions, 16 experimental Options, "
        "18 pluggable_device_options Options",
        "Count": "1 key string, 2 value int32",
        "Options": "9 experimental Options",
        "GraphOptions": "3 optimizer_options OptimizerOptions",
        "OptimizerOptions": "1 do_common_subexpression_elimination bool, 2 do_constant_folding bool, "
        "3 opt_level int32, 4 do_function_inlining bool, 5 global_jit_level int32",
    },
)


@dataclass(frozen=True)
class FunctionCall:
    """A call of a function, as graphs have it.

    Attributes:
      function: that is called.
      caller: whose node it is; "" of the graph itself.
      node: its name.
      op: of the node.
      must_compile: what `_XlaMustCompile` says, of the node or else of the function; None where neither says anything.
      config: `config_proto` in protobuf's text format, None where the node has none.
      executor: `executor_type`; "" is the default, None where the node has none.
      file: the first that has it, by name.
      files: how many have it.
    """

    function: str
    caller: str
    node: str
    op: str
    must_compile: bool | None
    config: str | None
    executor: str | None
    file: str
    files: int = 1


def calls_of_files(paths: Mapping[str, Path]) -> tuple[tuple[FunctionCall, ...], dict[str, str]]:
    """Every distinct call in some graphs, and why a file could not be read, by its name.

    Args:
      paths: of the files, by name.
    """
    distinct: dict[FunctionCall, FunctionCall] = {}
    reasons: dict[str, str] = {}
    for name, path in sorted(paths.items()):
        try:
            calls = dict.fromkeys(_calls(path))
        except files.FileError as error:
            reasons[name] = str(error)
            continue
        for call in calls:
            first = distinct.get(call, replace(call, file=name, files=0))
            distinct[call] = replace(first, files=first.files + 1)
    return tuple(distinct.values()), reasons


def _calls(path: Path) -> Iterator[FunctionCall]:
    """The calls of one file, in its order, of which no file is named."""
    graph = _CLASSES["GraphDef"]()
    try:
        text_format.Parse(files.read(path, _A_GRAPH, MOST_BYTES).decode(), graph, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        _A_GRAPH.refuse(path, f"no graph in protobuf's text format ({error})")
    if not graph.ListFields():  # the text of any other message reads as an empty one
        _A_GRAPH.refuse(path, "neither `node` nor `library`")
    functions = {function.signature.name: _attributes(function) for function in graph.library.function}
    callers = [("", graph.node), *((function.signature.name, function.node_def) for function in graph.library.function)]
    for caller, nodes in callers:
        for node in nodes:
            attributes = _attributes(node)
            function = attributes[_FUNCTION].func.name if _FUNCTION in attributes else node.op
            says = attributes.keys() & {MUST_COMPILE, CONFIG, EXECUTOR}
            if says and (_FUNCTION in attributes or function in functions):
                yield _call(function, caller, node, attributes, functions.get(function, {}))


def _attributes(message: Any) -> dict[str, Any]:
    return {attribute.key: attribute.value for attribute in message.attr}


def _call(
    function: str, caller: str, node: Any, attributes: Mapping[str, Any], of_function: Mapping[str, Any]
) -> FunctionCall:
    says = attributes.get(MUST_COMPILE, of_function.get(MUST_COMPILE))
    return FunctionCall(
        function=function,
        caller=caller,
        node=node.name,
        op=node.op,
        must_compile=None if says is None else says.b,
        config=_config(attributes[CONFIG].s) if CONFIG in attributes else None,
        executor=attributes[EXECUTOR].s.decode(errors="replace") if EXECUTOR in attributes else None,
        file="",
    )


def _config(data: bytes) -> str:
    """A ConfigProto as text; fields that are not declared here by their numbers."""
    config = _CLASSES["ConfigProto"]()
    try:
        config.ParseFromString(data)
    except DecodeError:
        return f"no ConfigProto: {len(data)} bytes"
    return text_format.MessageToString(config, as_one_line=True, print_unknown_fields=True)
