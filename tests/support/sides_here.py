"""JAX as a side without a worker, beside a TensorFlow that runs already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compare.sides import mapped, wire
from compare.sides._side import Reply, Side
from compare.sides.pool import Pool
from jaxport._framework import Jax
from workloads._spec import Arrays


class InThisProcess(Side):
    """JAX as a side, without a worker."""

    name = "jax"

    def __init__(self) -> None:
        self._framework = Jax()

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        if method == "load":
            given = mapped.load(Path(parameters["arrays"]))
            return Reply(self._framework.load(wire.unpack_twin(parameters, given)))
        assert method == "program"
        return wire.pack_program(self._framework.program(**parameters))

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
