"""The variables that a call takes, in the types in which Keras takes them."""

from __future__ import annotations

from collections.abc import Mapping

from compare.porting.safe_expressions import tensors_of
from workloads.protocol.architecture import Call, Graph
from workloads.protocol.transfer import SourceLayer

_FLOATS = ("bfloat16", "float16", "float32", "float64")
"""From the narrowest to the widest."""


def indices(graph: Graph, variables: Mapping[int, str]) -> Mapping[int, str]:
    """The variables of an Embedding as integers, to which Keras casts them."""
    return {
        number: name if "int" in graph.tensors[number].dtype else f"{name}.astype(jnp.int32)"
        for number, name in variables.items()
    }


def cast(layer: SourceLayer, call: Call, graph: Graph, variables: Mapping[int, str]) -> Mapping[int, str]:
    """The variables of a layer without weights in a type no narrower than it computes in, to which Keras casts.

    Args:
      graph: that the call is in.
      variables: by the number of a tensor.
    """
    dtype = layer.compute_dtype
    if dtype not in _FLOATS or any(graph.tensors[number].dtype != dtype for number in call.outputs):
        return variables
    narrower = _FLOATS[: _FLOATS.index(dtype)]
    texts = dict(variables)
    for number in set(tensors_of(call)) & texts.keys():
        if graph.tensors[number].dtype in narrower:
            # In float64 it stays as wide as it is.
            texts[number] += f".astype(jnp.promote_types({texts[number]}.dtype, jnp.{dtype}))"
    return texts
