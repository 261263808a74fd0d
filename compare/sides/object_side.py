"""A side whose functions are objects of this process: the protocol of a worker, answered without one."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from compare.sides import mapped, requests, wire
from compare.sides._side import Parameters, Reply, Side
from compare.sides.callers_thread import CallersThread
from compare.sides.client import failure, request_name
from compare.sides.framework_host import Worker
from compare.sides.older_programs import as_stablehlo
from compare.sides.pool import Pool
from compare.sides.replies import Load, Loaded
from compare.sides.worker import HOSTED, describe_failure
from workloads.core.spec import Arrays
from workloads.protocol.framework import Scalar


class _Host(Worker):
    """Answers as a worker does, and measures nothing of a process that is not its own."""

    def load(self, loading: Load, /) -> Loaded:
        """Build the twin on the arrays of a file."""
        arrays = mapped.load(loading.arrays)
        return Loaded(**self._framework.load(wire.unpack_twin(vars(loading), arrays)))


class ObjectSide(Side):
    """One framework of this process. Everything that it is asked runs in the caller's thread.

    Args:
      name: "tf" or "jax".

    Attributes:
      errors: by mode and pass, what the user's code raised first.
      reads_variables: whether a program of it reads what is neither an input nor a weight of the workload.
    """

    def __init__(self, name: str, thread: CallersThread) -> None:
        self.name, self._thread = name, thread
        self._host = _Host(importlib.import_module(HOSTED[name]).in_callers_process(), 0.0)
        self.errors: dict[tuple[str, str], Exception] = {}
        self.reads_variables = False

    def call(self, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """Ask for something.

        Raises:
          SideError: it did not come, and why.
          KeyboardInterrupt: the caller was interrupted.
        """
        return self._thread.run(partial(self._reply, method, _plain(parameters), arrays or {}))

    def close(self) -> None:
        """Nothing is held but what the caller holds."""

    def _reply(self, method: str, parameters: Parameters, arrays: Arrays) -> Reply:
        try:
            reply = self._host.reply(method, parameters, arrays)
            wire.contiguous(reply.arrays)  # refuses what no worker can send either
        except Exception as error:
            place = str(parameters.get("mode", "")), str(parameters.get("pass_", ""))
            self.errors.setdefault(place, error)
            raise failure(self.name, request_name(method, parameters), describe_failure(error)).of(
                parameters
            ) from error
        plain = Reply(_plain(reply.value), reply.arrays)
        if method != "program":
            return plain
        self.reads_variables |= any(parameter["kind"] == "state" for parameter in plain.value["parameters"])
        return as_stablehlo(self.name, plain)


class ObjectPool(Pool):
    """Both sides in this process: none is started, lost or replaced.

    Args:
      sides: by name.
    """

    def __init__(self, sides: Mapping[str, Side]) -> None:
        self._of = sides

    def get(self, name: str) -> Side:
        """The side of a name."""
        return self._of[name]

    def renew(self, *names: str, grown: bool = True) -> set[str]:
        """Both stay."""
        return set()

    def close(self) -> None:
        """Nothing was started."""

    def close_grown(self) -> None:
        """Nothing was started."""

    def environments(self) -> dict[str, dict[str, Scalar]]:
        """By side its environment."""
        return {name: requests.environment(side) | {"recorded": None} for name, side in self._of.items()}


def _plain(value: Any) -> Any:
    """The value as a worker would get it, or send it."""
    return json.loads(wire.encode(value))
