"""The graph of a function as Grappler leaves it, with switches of Grappler's set: read as data."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tf_reference import _graph_nodes, _private, _sources
from workloads.protocol.framework import Unsupported
from workloads.protocol.rewriting import ConstantValue, OptimizerOptions, Rewritten, RewrittenNode

_MOST_TEXT = 80
_MOST_ELEMENTS = 8

_RESULT = "_Retval"

_ENDS = ("Placeholder", "_Arg", "_DeviceArg")
"""An argument is a node of the first kind as it is traced, and of another as it runs."""


def run_grappler(concrete: Any, call: Callable[[], object], options: OptimizerOptions) -> Rewritten:
    """The graph that a call runs, with these switches.

    Args:
      concrete: the ConcreteFunction; it was not called with these switches before.
      call: one call of it, and all of its work.

    Raises:
      Unsupported: TensorFlow hands over no graph of this function.
    """
    with _private.optimizer_options(options):
        graphs = _private.graphs_run(call)
    own = [graph for graph in graphs if _is_of(graph.pre_optimization_graph, concrete)]
    if not own:
        raise Unsupported(
            "TensorFlow made no graph of this function anew: it ran with these switches before, or "
            "its own code sets them"
        )
    final = own[-1].post_optimization_graph
    ops = {node.name: node.op for node in final.node}
    nodes_placed = ((node.name, node.op) for part in own[-1].partition_graphs for node in part.node)
    return Rewritten(
        nodes=tuple(_nodes(final)),
        traced=dict(_count_operations(own[-1].pre_optimization_graph).most_common()),
        kernels={name: op for name, op in nodes_placed if name in ops and ops[name] != op},
        sources=_sources.sources(concrete.graph),
    )


def outputs(call: Callable[[], Any], options: OptimizerOptions) -> Any:
    """The results of a call with these options."""
    with _private.optimizer_options(options):
        return call()


def _is_of(graph: Any, concrete: Any) -> bool:
    """Whether a graph that ran is that of a function: all of its operations are there."""
    there = {(node.name, node.op) for node in graph.node}
    traced = (
        (operation.name, operation.type) for operation in concrete.graph.get_operations() if operation.type not in _ENDS
    )
    return set(traced) <= there


def _count_operations(graph: Any) -> Counter[str]:
    bodies, results = _graph_nodes.reach(graph, None), _results(graph)
    counts = Counter(node.op for body in bodies for node in body.nodes)
    return counts + Counter(_RESULT for body in bodies for _ in results.get(body.name, ()))


def _nodes(graph: Any) -> Iterator[RewrittenNode]:
    results = _results(graph)
    for body in _graph_nodes.reach(graph, None):
        prefix = f"{body.name}/" if body.name else ""
        own = {node.name for node in body.nodes}
        for node in body.nodes:
            yield _node(node, prefix, own)
        for name, tensor in sorted(results.get(body.name, {}).items()):
            yield RewrittenNode(f"{prefix}{name}_RetVal", _RESULT, (_input(tensor, prefix, own),))


def _results(graph: Any) -> dict[str, dict[str, str]]:
    """By function, its results by name: of the graph itself they are nodes, of a function they stand beside these."""
    return {function.signature.name: dict(function.ret) for function in graph.library.function}


def _node(node: Any, prefix: str, own: Iterable[str]) -> RewrittenNode:
    return RewrittenNode(
        name=prefix + node.name,
        op=node.op,
        inputs=tuple(_input(tensor, prefix, own) for tensor in node.input),
        attributes=dict(_attributes(node)),
        constant=_constant(node.attr["value"].tensor) if node.op == "Const" else None,
    )


def _input(tensor: str, prefix: str, own: Iterable[str]) -> str:
    """An input under the name that its node has here; an argument of a function is no node."""
    waits, name = ("^", tensor[1:]) if tensor.startswith("^") else ("", tensor)
    return f"{waits}{prefix}{name}" if name.partition(":")[0] in own else tensor


def _attributes(node: Any) -> Iterator[tuple[str, str]]:
    """The attributes that define the computation, without the runtime's notes ("_...")."""
    plain = _graph_nodes.attributes(node)
    for name, value in sorted(node.attr.items()):
        functions = [function.name for function in (value.func, *value.list.func) if function.name]
        if name in plain:
            yield name, str(plain[name])
        elif functions and not name.startswith("_"):
            yield name, ", ".join(functions)


def _constant(tensor: Any) -> ConstantValue:
    array = np.asarray(tf.make_ndarray(tensor))
    data = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
    shape = tuple(int(size) for size in array.shape)
    dtype = _graph_nodes.dtype_name(tensor.dtype)
    digest = hashlib.sha256(f"{dtype}{shape}".encode() + data).hexdigest()
    size = sum(map(len, array.ravel())) if array.dtype == object else len(data)
    return ConstantValue(dtype, shape, size, digest, _text(array))


def _text(array: np.ndarray) -> str:
    if array.size > _MOST_ELEMENTS:
        first = ", ".join(str(element) for element in array.ravel()[:2].tolist())
        return f"{first}, ..."[:_MOST_TEXT]
    return str(array.tolist())[:_MOST_TEXT]
