"""The worker that is asked about TensorFlow's own operations, of no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import msgspec

from compare.sides.replaceable import Replaceable
from workloads._raw_operations import Expression, Registry, Tried


class OperationWorker:
    """One worker, started when it is first asked.

    Args:
      python: its interpreter; None is this one.
      timeout_s: how long a request may take.
      stack: closes the worker.
    """

    def __init__(self, python: str | None, timeout_s: float, stack: ExitStack) -> None:
        self._worker = Replaceable("models", timeout_s, stack, python)

    def registry(self) -> Registry:
        """The operations that TensorFlow registers.

        Raises:
          SideError: TensorFlow is not there, or the worker is lost.
        """
        return msgspec.convert(self._ask("operations", {}), Registry)

    def try_expressions(self, expressions: Sequence[Expression]) -> Tried:
        """What becomes of expressions, and of the operations in them.

        Raises:
          SideError: an expression cannot be traced, or the worker is lost.
        """
        return msgspec.convert(self._ask("try_expressions", {"expressions": msgspec.to_builtins(expressions)}), Tried)

    def _ask(self, method: str, parameters: Mapping[str, Any]) -> Any:
        with self._worker.asking:
            return self._worker.call(self._worker.started(), method, parameters).value
