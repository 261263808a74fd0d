"""A side kept in one safetensors file: every request with its reply, replayed where the framework is not."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save

from compare.records import write_atomically
from compare.sides import wire
from compare.sides._side import Reply, Side, SideError, Unavailable
from workloads._spec import Arrays

FORMAT = 1
METADATA_KEY = "jaxport.side"


class RecordedSideError(Exception):
    """A recorded side that cannot be used: one line with what was expected, found, and what to do."""


class RecordingSide(Side):
    """A live side whose replies are kept."""

    def __init__(self, side: Side) -> None:
        self.name = side.name
        self._side = side
        self._scope = ""
        self._numbers = itertools.count()
        self._kept: dict[str, dict[str, Any]] = {}
        self._arrays: dict[str, np.ndarray] = {}

    def follow(self, side: Side) -> None:
        """Go on with another worker, after the first was lost."""
        self._side.close()
        self._side = side

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        """Pass the request on, and keep its reply or its refusal."""
        if method == "load":
            self._scope = _scope(parameters)
        key = _key(self._scope, method, parameters, arrays)
        try:
            reply = self._side.call(method, parameters, arrays)
        except SideError as error:
            self._kept[key] = {"error": type(error).__name__, "reason": error.reason, "doing": error.doing}
            raise
        number = next(self._numbers)
        self._kept[key] = {"value": reply.value, "arrays": {name: f"{number}/{name}" for name in reply.arrays}}
        self._arrays |= {f"{number}/{name}": array for name, array in reply.arrays.items()}
        return reply

    def close(self) -> None:
        """Close the live side."""
        self._side.close()

    def save(self, path: Path) -> None:
        """Write the file whole or not at all."""
        head = json.dumps({"format": FORMAT, "side": self.name, "replies": self._kept})
        data = save(wire.contiguous(self._arrays), {METADATA_KEY: head})
        write_atomically(path, data)


class RecordedSide(Side):
    """A side replayed from its file.

    Raises:
      RecordedSideError: the file is absent, broken, of another side or a newer format.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self._scope = ""
        expected = f"expected a recorded {name} side at {path}"
        again = f"write it with `jaxport record --side {name} -o {path}`"
        try:
            self._arrays, metadata = wire.load_arrays(path)
            head = json.loads(metadata[METADATA_KEY])
            format_, side = int(head["format"]), head["side"]
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise RecordedSideError(f"{expected}, found {_short(error)}: {again}") from error
        if format_ > FORMAT:
            raise RecordedSideError(f"{expected} of format {FORMAT}, found format {format_}: upgrade jaxport")
        if side != name:
            raise RecordedSideError(f"{expected}, found a recorded {side} side: {again}")
        self._kept: dict[str, dict[str, Any]] = head["replies"]

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        """The reply that the live side gave to the same request on the same arrays."""
        if method == "load":
            self._scope = _scope(parameters)
        kept = self._kept.get(_key(self._scope, method, parameters, arrays))
        if kept is None:
            what = "this workload with these inputs, weights and size" if method == "load" else "this request"
            raise SideError(self.name, method, f"the recorded side {self.path.name} does not hold {what}")
        if "error" in kept:
            # What the side cannot do is no failure of it, in a replay as little as in the run that was recorded.
            kind = Unavailable if kept["error"] == Unavailable.__name__ else SideError
            raise kind(self.name, kept["doing"], kept["reason"])
        return Reply(kept["value"], {name: self._arrays[where] for name, where in kept["arrays"].items()})

    def close(self) -> None:
        """Nothing is open."""


def _scope(parameters: Mapping[str, Any]) -> str:
    # The arrays' digest stands for the file that they travel in; the twin's own path may differ between machines.
    named = {key: parameters[key] for key in ("workload", "dimensions", "inputs", "cases", "sha256")}
    return json.dumps(named, sort_keys=True)


def _key(scope: str, method: str, parameters: Mapping[str, Any], arrays: Arrays | None) -> str:
    digest = hashlib.sha256()
    if method == "environment":
        scope = ""
    request = "" if method == "load" else json.dumps(dict(parameters), sort_keys=True)
    for part in (scope, method, request):
        digest.update(part.encode() + b"\0")
    for name in sorted(arrays or {}):
        digest.update(name.encode() + b"\0" + (arrays or {})[name].tobytes())
    return digest.hexdigest()


def _short(error: Exception) -> str:
    if isinstance(error, (KeyError, TypeError)):
        return "a safetensors file of something else"
    return (str(error).splitlines() or [type(error).__name__])[0]
