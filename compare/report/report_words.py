"""Explains the words of a report, each in a sentence at the place of the word."""

from __future__ import annotations

import re

GATES = {
    "structure": "Names, shapes, dtypes and integers are the same, and NaN and infinities are in the same places.",
    "semantics": "In float64, where rounding is small, the port computes what TensorFlow computes, also at ties.",
    "rounding": "In float32, the port is about as close to the float64 result as TensorFlow's own modes are.",
    "gradients": "The rules of semantics and rounding, for the gradients.",
    "training": "Rules like these two, for losses and weights over the steps of a training run.",
    "stability": "For extreme inputs, the port is finite and right wherever TensorFlow is.",
}

COLUMNS = {
    "case": "one set of inputs on which both sides are compared",
    "leaf": "one array of a result, such as an output or the gradient of a weight",
    "JAX vs oracle": "the oracle is TensorFlow's model in float64, the reference",
    "error": "the largest difference in the leaf, divided by the leaf's largest value",
    "bound": "the largest error that the gate allows",
    "error ÷ bound": "above 1 the leaf fails",
    "worst element": "the place of the largest difference, with the value of the port and the expected one",
    "TF eager vs TF XLA": "how far two of TensorFlow's own modes are from each other: what no port can do better",
}

_CASES = {
    "seed": "random inputs, drawn from the seed of this number",
    "kinks": "inputs at which values tie, vanish or lie on an edge, where a derivative may not exist",
    "constants": "numbers that a program compares its inputs with, and numbers on both sides of them",
    "integers": "integers drawn by the use that the programs make of them",
    "conditions": "inputs that turn a comparison of a program the other way",
    "example": "the call that the port file gives",
    "trajectory": "a training run",
}
"""By the beginning of a case's name."""


def explain_case(case: str) -> str:
    """The inputs of a case, in words.

    Args:
      case: its name, such as `seed0` or `kinks`.
    """
    return _CASES.get(re.split(r"[^a-z]", case, maxsplit=1)[0], COLUMNS["case"])
