"""The worker that is asked about TensorFlow's own operations, of no model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from compare.sides.methods import request
from compare.sides.model_host import Models
from compare.sides.replaceable import Replaceable
from workloads.protocol.raw_operations import Expression, Registry, Tried


class OperationWorker:
    """One worker, started when it is first asked.

    Args:
      python: its interpreter; None is this one.
      timeout_s: how long a request may take.
    """

    def __init__(self, python: str | None, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("models", timeout_s, stack, python)

    def registry(self) -> Registry:
        """The operations that TensorFlow registers.

        Raises:
          SideError: TensorFlow is not there, or the worker is lost.
        """
        return request(Models.operations)(self._worker)

    def try_expressions(self, expressions: Sequence[Expression]) -> Tried:
        """The results of trying expressions, and of the operations in them.

        Raises:
          SideError: an expression cannot be traced, or the worker is lost.
        """
        return request(Models.try_expressions)(self._worker, tuple(expressions))
