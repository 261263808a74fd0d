"""A function as a mode runs it: staged, with autoclustering switched on or off, called until all its work is done."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from tf_reference import _compiler_stages, _device
from workloads.protocol.framework import (
    Analysis,
    Unsupported,
)

EAGER, GRAPH, AUTOCLUSTER, JIT = "eager", "graph", "autocluster", "jit"

_NO_KERNEL = re.compile(r"No registered '(\w+)' OpKernel for XLA")
"""TensorFlow's message where it cannot compile. The class of the error depends on how a function is compiled."""
_NO_KERNEL_HERE = re.compile(
    r"Could not find device for node: .*? = (\w+)\[|No OpKernel was registered to support Op '(\w+)'"
)
"""Its message where it cannot run, op by op and in a graph."""


@contextmanager
def compilable() -> Iterator[None]:
    """Inside, an operation that XLA or this device lacks is a refusal: nothing is wrong with the twin.

    Raises:
      Unsupported: names the operations.
    """
    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError, ValueError) as error:
        lacking = sorted(set(_NO_KERNEL.findall(str(error))))
        if lacking:
            raise Unsupported(f"XLA has no kernel for {', '.join(lacking)}") from error
        lacking = sorted({eager or graph for eager, graph in _NO_KERNEL_HERE.findall(str(error))})
        if not lacking:
            raise
        raise Unsupported(
            f"TensorFlow has no kernel for {', '.join(lacking)} with these types on this device"
        ) from error


@contextmanager
def switch(mode: str) -> Iterator[None]:
    """Autoclustering on or off: a switch of the runtime that acts on every call, not on what was traced."""
    tf.config.optimizer.set_jit(mode == AUTOCLUSTER)
    try:
        yield
    finally:
        tf.config.optimizer.set_jit(False)


def in_mode(function: Callable[..., Any], mode: str, tensors: Sequence[tf.Tensor]) -> Any:
    """The function as that mode runs it, traced where the mode traces.

    Args:
      function: takes tensors by position.
      mode: "eager" returns the function itself; all others stage it.

    Raises:
      RuntimeError: `run_functions_eagerly` is set, so that all modes would be mode "eager".
    """
    if mode == EAGER:
        return function
    if tf.config.functions_run_eagerly():
        raise RuntimeError("expected tf.function to trace, found run_functions_eagerly(True): take it out of the code")
    stage = tf.function(function, jit_compile=True if mode == JIT else None)
    stage.get_concrete_function(*tensors)
    return stage


def analyse_lowering(function: Any, tensors: Sequence[tf.Tensor]) -> Analysis:
    """Times a separate lowering: the lowering in the first call cannot be distinguished from compiling."""
    lower = function.experimental_get_compiler_ir(*tensors)
    start = time.perf_counter()
    lower(stage="hlo_serialized")
    lower_s = time.perf_counter() - start
    return Analysis(lower_s, _compiler_stages.memory(lower))


def finish(function: Callable[..., Any], *arguments: tf.Tensor) -> Any:
    """One call and all of its work."""
    result = function(*arguments)
    _device.finish()
    return result
