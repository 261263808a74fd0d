"""Computes the values of TensorFlow's program at cut points: the inputs of open regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compare.hlo import values
from compare.hlo.graph import Graph


class CutValues:
    """The values of TensorFlow's program at cut points."""

    def __init__(self, graph: Graph, prepare: Callable[..., values.PreparedGraph] = values.prepare_in_steps) -> None:
        self._graph, self._prepare = graph, prepare
        self._positions = {key: position for position, key in enumerate(graph.parameters)}
        self._prepared: dict[frozenset[int], values.PreparedGraph] = {}
        """By the ids of what each computes: what no value depends on does not run, and no other value is handed out."""

    def in_double(self) -> CutValues:
        """The values of the promoted program at cut points."""
        return CutValues(self._graph, values.prepare_in_double)

    def is_parameter(self, key: int) -> bool:
        """Whether a value is a parameter, with the same bits in both programs; computed values were rounded."""
        return key in self._positions

    def compute(self, keys: Sequence[int], calls: Sequence[Sequence[np.ndarray]]) -> list[dict[int, np.ndarray]]:
        """By id in the graph, the values of each call."""
        inner = frozenset(keys).difference(self._positions)
        if inner and inner not in self._prepared:
            self._prepared[inner] = self._prepare(self._graph, sorted(inner))
        runs = self._prepared[inner].each(calls) if inner else [{} for _ in calls]
        parameters = [key for key in keys if key in self._positions]
        return [
            {key: call[self._positions[key]] for key in parameters} | run for call, run in zip(calls, runs, strict=True)
        ]

    def compute_each(
        self, keys_by_call: Sequence[tuple[int, ...]], calls: Sequence[Sequence[np.ndarray]]
    ) -> list[dict[int, np.ndarray]]:
        """The values at other ids in each call."""
        values_by_place: dict[int, dict[int, np.ndarray]] = {}
        for keys in dict.fromkeys(keys_by_call):
            places = [place for place, of_call in enumerate(keys_by_call) if of_call == keys]
            values_by_place |= zip(places, self.compute(keys, [calls[place] for place in places]), strict=True)
        return [values_by_place[place] for place in range(len(calls))]
