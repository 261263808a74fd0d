"""The arrays of a twin's cases as tensors, each handed to TensorFlow once."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tf_reference._session import Session
from workloads.core.spec import dtype_in
from workloads.protocol.framework import FORWARD, UNROLLED, Program
from workloads.protocol.loaded import Loaded


class CaseTensors:
    """Every mode and every compiled program reads the same memory: at paper size one array is a gigabyte."""

    def __init__(self, holder: Loaded[Session, Any]) -> None:
        self._holder = holder
        self._tensors: dict[tuple[str, str, str], tf.Tensor] = {}

    def inputs(self, session: Session, case: str, pass_: str = FORWARD) -> list[tf.Tensor]:
        """The arguments of a pass.

        Args:
          session: in whose type floats are.
        """
        if pass_ == UNROLLED:
            return session.tensors(session.twin.first_batches)
        arrays = self._holder.twin.cases[case]
        return [
            self._input(case, name, dtype_in(arrays[name].dtype, session.dtype)) for name in self._holder.twin.inputs
        ]

    def arguments(self, program: Program, case: str) -> list[tf.Tensor]:
        """The arguments of a compiled program."""
        return [
            self._input(case, parameter.name, parameter.dtype)
            if parameter.kind == "input"
            else tf.constant(self._holder.twin.argument(parameter, case, program.states))
            for parameter in program.parameters
        ]

    def _input(self, case: str, name: str, dtype: str) -> tf.Tensor:
        # Another tensor each time, since a model may keep what it computed by the identity of a tensor.
        key = (case, name, dtype)
        if key not in self._tensors:
            self._tensors[key] = tf.constant(self._holder.twin.cases[case][name].astype(dtype, copy=False))
        return tf.identity(self._tensors[key])
