"""Runs steps: one small program an operation, each compiled once however often it occurs."""

from __future__ import annotations

import collections
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from compare.hlo import bindings
from compare.hlo.bindings import LoadedProgram
from compare.hlo.steps import Step, StepProgram, Steps
from workloads.protocol.framework import CompilerOptions

Reduced = TypeVar("Reduced")

_KEPT = 2048
"""Programs, of some tens of KiB each; what was not used for longest is let go."""


class StepPrograms:
    """Compiled programs of single operations, kept from one graph to the next: its other forms have the same ones."""

    def __init__(self, load: Callable[[bytes, CompilerOptions], LoadedProgram]) -> None:
        """`load` compiles a program with XLA's debug options."""
        self._load = load
        self._programs: collections.OrderedDict[bytes, LoadedProgram] = collections.OrderedDict()

    def load(self, steps: Steps) -> LoadedSteps:
        """The steps with all of their programs compiled.

        Raises:
          UnreadableProgram: XLA refuses one.
        """
        keys = [_key(program) for program in steps.programs]
        by_key = dict(zip(keys, steps.programs, strict=True))
        new = {key: program for key, program in by_key.items() if key not in self._programs}
        with ThreadPoolExecutor() as threads:
            programs = list(threads.map(lambda program: self._load(program.bytecode, program.options), new.values()))
        self._programs.update(zip(new, programs, strict=True))
        for key in by_key:
            self._programs.move_to_end(key)
        loaded_steps = LoadedSteps(steps, [self._programs[key] for key in keys])
        while len(self._programs) > _KEPT:
            self._programs.popitem(last=False)
        return loaded_steps


def _key(program: StepProgram) -> bytes:
    return hashlib.sha256(program.bytecode + repr(sorted(program.options.items())).encode()).digest()


class LoadedSteps:
    """Steps that can be run."""

    def __init__(self, steps: Steps, programs: Sequence[LoadedProgram]) -> None:
        self._steps, self._programs = steps, programs
        last = {place: index for index, step in enumerate(steps.steps) for place in (*step.reads, *step.makes)}
        self._unread: list[list[int]] = [[] for _ in steps.steps]
        for place, index in last.items():
            self._unread[index].append(place)

    def each(self, calls: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
        """Several calls side by side; what depends on arrays that they share alone is computed once."""
        results = dict(self._results(calls))
        return [[np.asarray(results[place][call]) for place in self._steps.results] for call in range(len(calls))]

    def reduce(self, calls: Sequence[Sequence[np.ndarray]], to: Callable[[np.ndarray], Reduced]) -> list[list[Reduced]]:
        """By result, what it is reduced to in each call; no result stays for longer than it is read."""
        reductions = {place: [to(np.asarray(array)) for array in arrays] for place, arrays in self._results(calls)}
        return [reductions[place] for place in self._steps.results]

    def _results(self, calls: Sequence[Sequence[np.ndarray]]) -> Iterator[tuple[int, list[Any]]]:
        """The arrays of each place that is returned, in each call, as soon as they are there."""
        places = set(self._steps.results)
        values = self._inputs(calls)
        for place in places.intersection(*values):
            yield place, [arrays[place] for arrays in values]
        for step, last_places in zip(self._steps.steps, self._unread, strict=True):
            self._run(step, values)
            for place in places.intersection(step.makes):
                yield place, [arrays[place] for arrays in values]
            for place in last_places:
                for arrays in values:
                    arrays.pop(place, None)

    def _inputs(self, calls: Sequence[Sequence[np.ndarray]]) -> list[dict[int, Any]]:
        """By place, the parameters and constants of each call."""
        arrays = {id(array): array for call in calls for array in call}
        device_arrays = dict(zip(arrays, bindings.place_arrays(list(arrays.values())), strict=True))
        constants = dict(
            zip(self._steps.constants, bindings.place_arrays(list(self._steps.constants.values())), strict=True)
        )
        return [
            constants | {position: device_arrays[id(array)] for position, array in enumerate(call)} for call in calls
        ]

    def _run(self, step: Step, values: Sequence[dict[int, Any]]) -> None:
        results: dict[tuple[int, ...], list[Any]] = {}
        for arrays in values:
            read = [arrays[place] for place in step.reads]
            # By identity, which holds for as long as `read` keeps them in `values`.
            key = tuple(map(id, read))
            if key not in results or not step.repeatable:
                results[key] = self._programs[step.program].execute(read)
            arrays.update(zip(step.makes, results[key], strict=True))
