"""Processes that are timed, and whose times the test owns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from compare.record.timing_part import Mode
from compare.sides._side import Reply, Side, SideError
from workloads.core.spec import Arrays

PHASES = dict.fromkeys(sorted(set(Mode.__struct_fields__) - {"median_s", "page_faults"}), 1.0)


class Owned(Side):
    """A process whose calls take what the test says: compiled code half of what the graph does, but for plants.

    Attributes:
      slow_beyond: from sizes beyond this on, compiled code of TensorFlow takes twice as long as the graph.
      second: how much slower the second process of a side is: identical code that differs.
      raising: a mode that fails.
    """

    slow_beyond: ClassVar[float] = math.inf
    second: ClassVar[float] = 1.0
    raising: ClassVar[str] = ""
    started: ClassVar[int] = 0
    alive = True

    def __init__(self, name: str, *_: object) -> None:
        self.name = name
        self.number = type(self).started
        type(self).started += 1
        self._random = np.random.default_rng((3, self.number))
        self.dimensions: dict[str, int] = {}

    def call(self, method: str, parameters: Mapping[str, Any], arrays: Arrays | None = None) -> Reply:
        match method:
            case "load":
                self.dimensions = dict(parameters["dimensions"])
                return Reply({"modes": {}})
            case "round":
                return Reply(self._seconds(**parameters))
            case "prepare" if f"{self.name}/{parameters['target']}" == self.raising:
                raise SideError(self.name, "prepare", "planted")
            case "counters":
                return Reply({})
            case "compile":
                return Reply({"handle": 0, "compile_s": 1.0})
            case "threads":
                return Reply([1e-3])
            case "processors":
                return Reply([0])
        return Reply(PHASES)

    def _seconds(self, target: str, calls: int, slowdown: float) -> list[float]:
        copy = self.second if self.number % 2 else 1.0
        noise = np.exp(self._random.normal(0, 0.01, calls))
        return (self.takes(target) * (1 + slowdown) * copy * noise).tolist()

    def takes(self, mode: str) -> float:
        """Seconds of a call."""
        (size,) = list(self.dimensions.values())[:1]
        graph = 1e-4 + 1e-8 * size
        slow = self.name == "tf" and mode == "jit" and size > self.slow_beyond
        return graph * (1.0 if mode == "graph" else 2.0 if slow else 0.5)

    def close(self) -> None:
        """Nothing runs."""


class OwnedBlocks(Owned):
    """A process of which each call of a compiled function costs `call_s` beside its layers.

    Attributes:
      layer_s: seconds of a layer that is compiled; it takes three times as long where it is not.
      call_s: seconds of a call of a compiled function.
    """

    layer_s: ClassVar[float] = 1e-5
    call_s: ClassVar[float] = 1e-5

    def takes(self, mode: str) -> float:
        """Seconds of a call."""
        layers, block = self.dimensions["layers"], self.dimensions["block"]
        if mode == "jit":
            return self.call_s + layers * self.layer_s
        if not block:
            return 3 * layers * self.layer_s
        return -(-layers // block) * self.call_s + layers * self.layer_s


class NoPool:
    """Judges nobody."""

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> NoPool:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def environments(self) -> dict[str, Any]:
        """Nothing is known of the sides."""
        return {}
