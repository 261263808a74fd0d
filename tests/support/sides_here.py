"""JAX as a side without a worker, beside a TensorFlow that runs already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compare.sides._side import Reply, Side
from compare.sides.framework_host import Worker
from compare.sides.pool import Pool
from jaxport._framework import Jax
from workloads.core.spec import Arrays


class InThisProcess(Side):
    """JAX as a side, without a worker."""

    name = "jax"

    def __init__(self) -> None:
        self._host = Worker(Jax(), import_s=0.0)

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        return self._host.reply(method, parameters, arrays or {})

    def close(self) -> None:
        """Nothing is held."""


class BothSides(Pool):
    """A TensorFlow that is running already, and JAX in this process."""

    def __init__(self, tf: Side) -> None:
        self._both: dict[str, Side] = {"tf": tf, "jax": InThisProcess()}

    def get(self, name: str) -> Side:
        return self._both[name]

    def renew(self, *names: str, grown: bool = True) -> set[str]:
        """Both stay."""
        return set()
