"""The part of a saved graph for texts, tables and files: it stays in TensorFlow, and a port starts behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tf_reference._flat_graph import scope_of
from tf_reference._graph_entries import Entry, Tensor, result_dtypes
from tf_reference._graph_nodes import find_needed, node_of

_NO_ARRAYS = ("string", "resource", "variant")
_OF_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_STARTS = frozenset({"Const", "Placeholder"})
_OF_PIPELINES = ("HashTable", "Reader", "Iterator", "Queue")
"""Parts of the names of operations whose resource is of an input pipeline: TensorArrays and stacks are of loops."""


def behind_texts(entry: Entry, graph: Any) -> tuple[Entry, tuple[str, ...]]:
    """The entry with the numbers that texts are turned into in the place of the texts, and a remark on each.

    What is computed from variables or floats, such as the text of a predicted class, is not cut off.
    """
    by_name = {node.name: node for node in graph.node}
    texts = _text_nodes(by_name)
    of_numbers = _behind_numbers(entry, by_name)
    cut = texts - of_numbers
    ends = [tensor.name for tensor in entry.outputs.values()]
    uses = [(tensor, node.name) for node in graph.node for tensor in node.input] + [(end, "") for end in ends]
    starts, names_cut = dict[str, Tensor](), set[str]()
    remarks: list[str] = []
    for tensor, reader in uses:
        name = node_of(tensor)
        if tensor.startswith("^") or name not in cut or reader in texts or by_name[name].op in _STARTS:
            continue
        full = f"{name}:{tensor.partition(':')[2] or 0}"
        dtype = result_dtypes(by_name[name])[int(full.rpartition(":")[2])]
        if dtype not in _NO_ARRAYS and full not in names_cut:
            names_cut.add(full)
            key = _key(by_name[name], {*starts, *entry.inputs})
            starts[key] = Tensor(full, dtype, None)
            remarks.append(_remark(key, by_name[name], entry, graph))
    nodes_cut = set(map(node_of, names_cut))
    rest = find_needed((node for node in graph.node if node.name not in nodes_cut), ends)
    names_needed = {node.name for node in rest}
    inputs = {
        key: tensor
        for key, tensor in entry.inputs.items()
        if node_of(tensor.name) in names_needed or not (starts or tensor.dtype in _NO_ARRAYS)
    }
    return replace(entry, inputs={**inputs, **starts}), tuple(remarks)


def _text_nodes(by_name: Mapping[str, Any]) -> set[str]:
    """The nodes that take or give texts, tables or files, and lists of these."""
    texts: set[str] = set()
    before = -1
    while len(texts) > before:
        before = len(texts)
        for name, node in by_name.items():
            if name not in texts and (
                _gives_text(node) or any(_is_text(tensor, by_name, texts) for tensor in node.input)
            ):
                texts.add(name)
    return texts


def _gives_text(node: Any) -> bool:
    dtypes = result_dtypes(node)
    return "string" in dtypes or ("resource" in dtypes and any(part in node.op for part in _OF_PIPELINES))


def _is_text(tensor: str, by_name: Mapping[str, Any], texts: Iterable[str]) -> bool:
    name, _, number = tensor.partition(":")
    if tensor.startswith("^") or name not in texts:
        return False
    dtypes = result_dtypes(by_name[name])
    place = int(number or 0)
    return place < len(dtypes) and dtypes[place] in _NO_ARRAYS


def _behind_numbers(entry: Entry, by_name: Mapping[str, Any]) -> set[str]:
    """The nodes that depend on a variable, or on an input of floats."""
    floats = {node_of(tensor.name) for tensor in entry.inputs.values() if _is_float(tensor.dtype)}
    of_numbers = floats | {name for name, node in by_name.items() if node.op in _OF_VARIABLES}
    before = -1
    while len(of_numbers) > before:
        before = len(of_numbers)
        of_numbers |= {
            name for name, node in by_name.items() if any(node_of(tensor) in of_numbers for tensor in node.input)
        }
    return of_numbers


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat", "complex"))


def _key(node: Any, keys: set[str]) -> str:
    """A name for what a node makes: the scope that it stands in, else what it does."""
    scopes = scope_of(node.name)
    key = base = scopes[-2] if len(scopes) > 1 else scopes[-1] if scopes else node.op
    number = 1
    while key in keys:
        number += 1
        key = f"{base}_{number}"
    return key


def _remark(key: str, node: Any, entry: Entry, graph: Any) -> str:
    before = {one.name for one in find_needed(graph.node, [node.name])}
    sources = [name for name, tensor in entry.inputs.items() if node_of(tensor.name) in before]
    of = f" of {', '.join(sources)}" if sources else ""
    return f"{node.op} stays in TensorFlow's input pipeline: the port takes as {key} what it makes{of}"
