"""Finds calls of a port that JAX does not compile: Python at run time, or TensorFlow."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import jax

_CALL_TF = re.compile(r"= call_tf\[")


def export_function(function: Any, arguments: Sequence[Any], platform: str) -> jax.export.Exported:
    """A function as jax.export has it.

    Raises:
      RuntimeError: the function calls Python back, or TensorFlow: neither is a port, and no other process could run it.
    """
    # Only a program that has imported it can call it: other jaxprs need not be searched.
    if "jax.experimental.jax2tf" in sys.modules and _CALL_TF.search(str(function.trace(*arguments).jaxpr)):
        raise RuntimeError("expected a port in JAX, found TensorFlow, called by jax2tf.call_tf: write that part in JAX")
    try:
        return jax.export.export(function, platforms=[platform])(*arguments)
    except NotImplementedError as error:
        if "host_callbacks" not in str(error):
            raise
        raise RuntimeError(
            "expected a program that XLA runs alone, found a call back into Python (pure_callback, io_callback or "
            "jax.debug): what is computed there is neither compiled nor compared"
        ) from error
