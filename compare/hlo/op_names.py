"""Names that frontends give to operations, "jit(f)/transpose(jvp(encoder))/dot": the only place that takes them apart.

XLA joins the names of operations that it merged by ";", and puts those of callers before a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from compare.record.vocabulary import BACKWARD, FORWARD, OPTIMIZER

_WRAPPED = re.compile(r"^(?:(?:transpose|jvp|vmap|remat|checkpoint|rematted_computation)\(+)+")
_NO_LAYER = re.compile(
    r"p?jit\(.*|p?jit|(?:Stateful)?PartitionedCall(?:_\d+)?|gradient_tape|while|body|cond|branch_\d+_fun|"
    r"(?:closed|core)_call|custom_[jv][vj]p_call(?:_jaxpr)?|transpose|jvp|vmap|shard_map"
)
"""Parts of such a name that are frameworks' own."""
_GRADIENT = ("transpose(", "jvp", "vjp", "gradient")
_SOFTMAX = ("softmax",)
_BACKWARD = re.compile(r"transpose\(|(?:^|[/;])(?:gradient_tape|gradients)/")
_FORWARD = re.compile(r"jvp\(")
_OPTIMIZER = re.compile(
    r"(?:^|[/;])(?:adam|adamw|adamax|nadam|sgd|momentum|rmsprop|adagrad|adadelta|adafactor|ftrl|lion|lamb|muon|"
    r"optimizer|apply_gradients|apply_updates)(?:_\d+)?/",
    re.IGNORECASE,
)
"""Scopes that Keras's optimizers open around what they compute, and what people call such scopes."""
_REIMPORTED = "XlaCallModule/"


def scope(op_name: str) -> str:
    """The layers that an operation stands in, "encoder/layer_1"."""
    *layers, _ = op_name.partition(";")[0].split("/")
    inner = [_WRAPPED.sub("", layer).strip("()") for layer in layers]
    return "/".join(layer for layer in inner if layer and not _NO_LAYER.fullmatch(layer))


def in_gradient(op_names: Iterable[str]) -> bool:
    """Whether any of these operations is part of a gradient."""
    return _mentions(op_names, _GRADIENT)


def in_softmax(op_names: Iterable[str]) -> bool:
    """Whether any of these operations is part of a softmax."""
    return _mentions(op_names, _SOFTMAX)


def phase(op_name: str) -> str:
    """The phase of a training step that a name alone tells: one of vocabulary.PHASES; "" where it tells none.

    JAX names what it differentiates jvp(...), and the way back transpose(jvp(...)); TensorFlow names what a tape adds
    gradient_tape/..., and Keras's optimizers open a scope of their name.
    """
    if _BACKWARD.search(op_name):
        return BACKWARD
    if _FORWARD.search(op_name):
        return FORWARD
    return OPTIMIZER if _OPTIMIZER.search(op_name) else ""


def _mentions(op_names: Iterable[str], words: Iterable[str]) -> bool:
    lower = [op_name.lower() for op_name in op_names]
    return any(word in op_name for word in words for op_name in lower)


def without_callers(op_name: str) -> Iterator[str]:
    """The names of all operations that were merged, the longest first, each whole and then caller by caller shorter."""
    for name in sorted(op_name.split(";"), key=lambda one: -one.count("/")):
        while name:
            yield name
            name = name.partition("/")[2]


def reimport_name(op_name: str) -> str:
    """The name that TensorFlow's XLA gives to an operation of a program that it did not trace."""
    return _REIMPORTED + op_name
