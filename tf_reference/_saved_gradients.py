"""Gradients of a saved graph that are not the derivatives of what it computes (tf.custom_gradient)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import tensorflow as tf

from tf_reference._graph_nodes import node_of

NOT_CARRIED = "jaxport: a custom gradient that is not carried"
"""The name that a custom gradient has then: TensorFlow gives no other in its place."""

_GRADIENT = "_gradient_op_type"
_MOST_NAMES = 12


def mark(graph: Any) -> tuple[str, ...]:
    """Mark operations with gradients of their own, in place, so that none is taken as if they had none; remarks.

    TensorFlow's own swish, whose gradient is the derivative, is an operation like others.
    """
    names: list[str] = []
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        by_name = {node.name: node for node in nodes}
        for node in nodes:
            if _GRADIENT not in node.attr:
                continue
            if _is_swish(node, by_name):
                node.attr.pop(_GRADIENT)
                continue
            names.append(node.name[:100])
            node.attr[_GRADIENT].s = NOT_CARRIED.encode()
    if not names:
        return ()
    names_text = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
    return (f"the custom gradient is not carried, and gradients cannot be judged: {names_text}",)


@tf.RegisterGradient(NOT_CARRIED)
def _refuse(operation: Any, *_: Any) -> NoReturn:
    # Not a LookupError, by which TensorFlow says that an operation has no gradient, which is no missing result.
    raise NotImplementedError(f"the custom gradient of {operation.name[:100]} is not carried")


def _is_swish(node: Any, by_name: Mapping[str, Any]) -> bool:
    """Whether this is x * sigmoid(beta * x), as tf.nn.silu makes it."""
    tensors = [_source(tensor, by_name) for tensor in node.input if not tensor.startswith("^")]
    product = by_name.get(node_of(tensors[0])) if len(tensors) in (2, 3) else None
    if product is None or product.op != "Mul":
        return False
    x = tensors[1]
    factors = [_source(tensor, by_name) for tensor in product.input[:2]]
    if x not in factors:
        return False
    factors.remove(x)
    sigmoid = by_name.get(node_of(factors[0]))
    if sigmoid is None or sigmoid.op != "Sigmoid":
        return False
    inside = _source(sigmoid.input[0], by_name)
    if inside == x:
        return True
    multiple = by_name.get(node_of(inside))
    return multiple is not None and multiple.op == "Mul" and x in {_source(one, by_name) for one in multiple.input[:2]}


def _source(tensor: str, by_name: Mapping[str, Any]) -> str:
    """The tensor that this one is, without the nodes that hand it on."""
    names_seen = set[str]()
    while (node := by_name.get(node_of(tensor))) is not None and node.op == "Identity" and node.name not in names_seen:
        names_seen.add(node.name)
        tensor = node.input[0]
    return tensor.removesuffix(":0").removesuffix(":z").removesuffix(":y").removesuffix(":output")
