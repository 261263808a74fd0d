"""Programs of two sides as subjects of an alignment, with the arrays to run them on."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from compare.hlo import levels
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.graph import Graph
from compare.hlo.levels import Subject
from compare.inputs.at_size import Prepared
from compare.prove.shared_parameters import Slots, pair_slots
from compare.sides import mapped, wire
from workloads.core.spec import ArraySpec
from workloads.protocol.framework import Parameter, Program, Twin

Arguments = tuple[Sequence[np.ndarray], Sequence[np.ndarray]]


@dataclass(frozen=True)
class Readable:
    """One side's program. Its graph is read once, at the first use: a model's takes seconds."""

    side: str
    program: Program

    @cached_property
    def graph(self) -> Graph:
        """The program's values by position.

        Raises:
          UnreadableProgram: XLA does not take it.
        """
        return levels.read(subject(self.side, self.program))


def subject(label: str, program: Program) -> Subject:
    """One program, its parameters and results by position.

    Raises:
      UnreadableProgram: XLA does not take it.
    """
    return Subject(label, hlo_of_artifact(program.artifact), sources=program.sources)


def subjects(
    left: Program, right: Program, labels: tuple[str, str] = ("tf", "jax"), slots: Sequence[Slots] | None = None
) -> tuple[Subject, Subject]:
    """Two programs of one workload.

    Args:
      slots: names of their parameters and results, equal for the same array; None pairs them by name and role.

    Raises:
      UnreadableProgram: XLA does not take one of them.
    """
    slots = slots or pair_slots((left, right))
    both = [
        dataclasses.replace(subject(label, program), parameters=names.parameters, results=names.results)
        for label, program, names in zip(labels, (left, right), slots, strict=True)
    ]
    return both[0], both[1]


def cases(left: Program, right: Program, instance: Prepared, most: int = 2) -> list[Arguments]:
    """The first random cases of a workload as arguments of both programs.

    States of both are drawn, small and not negative: optimizers start from zeros, which cannot be distinguished. A
    state of one side only, such as a learning rate in a variable, keeps its value.

    Args:
      most: how many cases are taken.
    """
    loading, twin = instance.loading, twin_of(instance)
    slots = pair_slots((left, right))
    common = set(slots[0].parameters) & set(slots[1].parameters)

    def arguments(program: Program, names: Sequence[str], case: str) -> list[np.ndarray]:
        return [
            _state(parameter, name, case)
            if parameter.kind == "state" and name in common
            else twin.argument(parameter, case, program.states)
            for parameter, name in zip(program.parameters, names, strict=True)
        ]

    return [
        (arguments(left, slots[0].parameters, case), arguments(right, slots[1].parameters, case))
        for case in loading.cases[:most]
    ]


def twin_of(instance: Prepared) -> Twin:
    """The arrays of a workload, as either side gets them."""
    loading = instance.loading
    header = {"cases": loading.cases, "inputs": loading.inputs, "target": "", "builds": loading.builds}
    return wire.unpack_twin(header | {"dimensions": loading.dimensions}, mapped.load(loading.arrays))


def first_inputs(twin: Twin, specs: Mapping[str, ArraySpec]) -> dict[str, np.ndarray]:
    """The inputs of the first case, without the weights that a case may change."""
    first = next(iter(twin.cases.values()))
    return {name: first[name] for name in specs}


def _state(parameter: Parameter, slot: str, case: str) -> np.ndarray:
    # One slot has one array on both sides, whatever its dtype there.
    seed = int.from_bytes(hashlib.blake2b(f"{slot} {case}".encode(), digest_size=8).digest(), "big")
    generator = np.random.default_rng(seed)
    if np.dtype(parameter.dtype).kind in "iu":
        return generator.integers(1, 8, parameter.shape).astype(parameter.dtype)
    return (0.1 * np.abs(generator.standard_normal(parameter.shape))).astype(parameter.dtype)
