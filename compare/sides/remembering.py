"""A side that is asked again and again of one function on one set of arrays, and computes it once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from compare.sides._side import Reply, Side, SideError
from compare.sides.pool import Pool, Source
from workloads._spec import Arrays

REMEMBERED = ("load", "outputs", "trajectory", "program")
"""What a function gives on its arrays is the same each time; what is timed, or tells of the process, is not."""

HARMLESS = ("environment", "imported", "changed")
"""What leaves a loaded function as it is; after anything else it is loaded anew before it is asked for again."""

_LOADED = ("target", "builds", "dimensions", "inputs", "cases", "sha256", "main_pass", "unrolled")
"""What decides what a worker has loaded: neither the name of the port nor the folder that its arrays lie in."""


class RememberingSide(Side):
    """A side whose worker keeps what it has loaded while the same function is asked for on the same arrays.

    What the function gave when it was freshly loaded is what it gives: requests between that may change it, as one that
    looks into its layers, are followed by a load.

    Args:
      side: that answers; another one has to be asked by an object of its own.
    """

    def __init__(self, side: Side) -> None:
        self.name = side.name
        self._side = side
        self._loaded = ""
        self._touched = False
        self._said: dict[str, Reply | SideError] = {}

    @property
    def answering(self) -> Side:
        """The side behind."""
        return self._side

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        """What was said to the same request since the function was loaded, else what the side says now."""
        if method == "load":
            self._load(json.dumps({name: parameters.get(name) for name in _LOADED}, sort_keys=True))
        if method not in REMEMBERED:
            self._touched |= method not in HARMLESS
            return self._side.call(method, parameters, arrays)
        key = method if method == "load" else _key(method, parameters, arrays)
        if key not in self._said:
            self._said[key] = self._ask(method, parameters, arrays)
        answer = self._said[key]
        if isinstance(answer, SideError):
            raise answer
        return answer

    def close(self) -> None:
        """Nothing: the worker belongs to who started it."""

    def _load(self, loading_key: str) -> None:
        if loading_key != self._loaded:
            self._said.clear()
            self._loaded = loading_key
        elif self._touched:
            self._said.pop("load", None)
        self._touched = False

    def _ask(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None) -> Reply | SideError:
        try:
            return self._side.call(method, parameters, arrays)
        except SideError as error:
            if error.lost or method == "load":
                self._load("")
                raise
            return error


class RememberingPool(Pool):
    """Sides for several ports of each function, one after the other.

    Args:
      sources: where each side comes from.
      scratch: a folder for arrays in transit and the workers' logs.
      timeout_s: how long a request may take.
      remembering: the sides whose function the ports share.
    """

    def __init__(
        self, sources: dict[str, Source], scratch: Path, timeout_s: float, remembering: Collection[str]
    ) -> None:
        super().__init__(sources, scratch, timeout_s)
        self._remembering = remembering
        self._kept: dict[str, RememberingSide] = {}

    def get(self, name: str) -> Side:
        """As of any pool; a worker in the place of another remembers nothing of that one."""
        side = super().get(name)
        if name not in self._remembering:
            return side
        if name not in self._kept or self._kept[name].answering is not side:
            self._kept[name] = RememberingSide(side)
        return self._kept[name]


def _key(method: str, parameters: Mapping[str, Any], arrays: Arrays | None) -> str:
    digest = hashlib.sha256(f"{method} {json.dumps(dict(parameters), sort_keys=True)}".encode())
    for name, array in sorted((arrays or {}).items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()
