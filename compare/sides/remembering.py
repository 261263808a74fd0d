"""A side that is asked again and again of one function on one set of arrays, and computes it once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from compare.sides._side import Parameters, Reply, Side, SideError
from compare.sides.pool import Pool, Source
from workloads.core.spec import Arrays

REMEMBERED = ("load", "outputs", "trajectory", "program")
"""Methods with the same result each time; times and facts about the process differ."""

HARMLESS = ("environment", "imported", "changed")
"""Methods that do not change a loaded function; after others it is loaded again."""

_LOADED = ("target", "builds", "dimensions", "inputs", "cases", "sha256", "main_pass", "unrolled")
"""Parameters that identify a loaded function: neither the port's name nor the folder of its arrays."""


MOST_BYTES = 1 << 30
"""The most bytes of arrays that one side remembers; it forgets the function first that was loaded longest ago."""


class RememberingSide(Side):
    """A side that answers a request from memory if the same function got it before on the same arrays.

    A function that is loaded again is loaded in the worker only once a request comes that is not remembered. What the
    function gave when it was freshly loaded is what it gives: requests between that may change it, as one that looks
    into its layers, are followed by a load.
    """

    def __init__(self, side: Side) -> None:
        self.name = side.name
        self._side = side
        self._current = self._in_worker = ""
        """Keys of what was asked to be loaded last, and of what the worker has loaded."""
        self._loading: Mapping[str, Any] = {}
        self._is_touched = False
        self._answers: dict[str, dict[str, Reply | SideError]] = {}
        self._bytes = Counter[str]()
        """How many bytes the arrays of the answers take, by function."""
        self._changes: dict[str, Reply] = {}

    @property
    def answering(self) -> Side:
        """The side behind."""
        return self._side

    def replace_worker(self, side: Side) -> None:
        """Ask another worker from now on, which has nothing loaded; what the last one answered stays remembered.

        Args:
          side: of the same name, with the same files.
        """
        if side is not self._side:
            self._side, self._in_worker, self._is_touched = side, "", False

    def call(self, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """The answer to the same request since the function was loaded first, else what the side answers now."""
        if method == "load":
            self._begin(parameters)
        if method == "changed":
            return self._ask_for_changes(parameters)
        if method not in REMEMBERED:
            if method not in HARMLESS:
                self._load_in_worker()
                self._is_touched = True
            return self._side.call(method, parameters, arrays)
        answers = self._answers.setdefault(self._current, {})
        key = method if method == "load" else _key(method, parameters, arrays)
        if key not in answers:
            answers[key] = self._ask(method, parameters, arrays)
            self._bytes[self._current] += _count_bytes(answers[key])
            self._forget_oldest()
        answer = answers[key]
        if isinstance(answer, SideError):
            raise answer
        return answer

    def close(self) -> None:
        """Nothing: the worker belongs to who started it."""

    def _ask_for_changes(self, parameters: Parameters) -> Reply:
        """The changes of the function to the process of any worker that ran it."""
        earlier = self._changes.get(self._current)
        if earlier is not None and self._current != self._in_worker:
            return earlier
        reply = self._side.call("changed", parameters)
        self._changes[self._current] = reply if earlier is None else Reply(_merge(earlier.value, reply.value))
        return self._changes[self._current]

    def _begin(self, parameters: Parameters) -> None:
        """Go on with another function, or with the same one as it was when it was loaded."""
        self._current = json.dumps({name: parameters.get(name) for name in _LOADED}, sort_keys=True)
        self._loading = parameters
        if self._is_touched and self._current == self._in_worker:
            self._in_worker = ""
        self._is_touched = False

    def _load_in_worker(self) -> None:
        if self._current != self._in_worker:
            self._side.call("load", self._loading)
            self._in_worker = self._current

    def _ask(self, method: str, parameters: Parameters, arrays: Arrays | None) -> Reply | SideError:
        try:
            if method != "load":
                self._load_in_worker()
            reply = self._side.call(method, parameters, arrays)
        except SideError as error:
            if error.lost or method == "load":
                self._in_worker = ""
                self._forget(self._current)
                raise
            return error
        self._in_worker = self._current
        return reply

    def _forget_oldest(self) -> None:
        while len(self._answers) > 1 and self._bytes.total() > MOST_BYTES:
            self._forget(next(key for key in self._answers if key != self._current))

    def _forget(self, function: str) -> None:
        self._answers.pop(function, None)
        del self._bytes[function]


class RememberingPool(Pool):
    """Sides for several ports of each function, one after the other.

    Args:
      timeout_s: how long a request may take.
      remembering: the sides whose function the ports share.
    """

    def __init__(
        self, sources: dict[str, Source], scratch: Path, timeout_s: float, remembering: Collection[str]
    ) -> None:
        super().__init__(sources, scratch, timeout_s)
        self._remembering = remembering
        self._kept: dict[str, RememberingSide] = {}

    def forget(self, names: Collection[str]) -> None:
        """Close workers whose files changed, with all that they said; another one starts when it is asked for."""
        self._workers.close(names)
        for name in names:
            self._kept.pop(name, None)

    def get(self, name: str) -> Side:
        """See the base class. The replacement of a worker that was lost, or had grown too large, has the same files."""
        side = super().get(name)
        if name not in self._remembering:
            return side
        remembering = self._kept.setdefault(name, RememberingSide(side))
        remembering.replace_worker(side)
        return remembering


def _merge(one: Mapping[str, Sequence[str]], other: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Names by what became of them, each once."""
    return {key: [*dict.fromkeys([*one.get(key, ()), *other.get(key, ())])] for key in (*one, *other)}


def _key(method: str, parameters: Parameters, arrays: Arrays | None) -> str:
    digest = hashlib.sha256(f"{method} {json.dumps(dict(parameters), sort_keys=True)}".encode())
    for name, array in sorted((arrays or {}).items()):
        digest.update(f"{name} {array.dtype} {array.shape} ".encode() + array.tobytes())
    return digest.hexdigest()


def _count_bytes(answer: Reply | SideError) -> int:
    return sum(array.nbytes for array in answer.arrays.values()) if isinstance(answer, Reply) else 0
