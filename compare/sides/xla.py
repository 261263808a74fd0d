"""Runs programs in a worker that has XLA alone, so that a program that crashes does not end a judge."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import ml_dtypes as ml_dtypes  # NumPy knows bfloat16 once it is imported
import numpy as np
from typing_extensions import override

from compare.hlo import artifacts, bindings
from compare.hlo.arrays.fingerprints import Fingerprint, fingerprint
from compare.hlo.arrays.held import HeldResults, Places, compare_results, hold_results
from compare.hlo.arrays.layouts import Equal, Layout
from compare.hlo.stepping import LoadedSteps, StepPrograms
from compare.hlo.steps import Step, StepProgram, Steps
from compare.sides import freeing
from compare.sides._host import Host
from compare.sides._side import Parameters, Reply
from compare.sides.replies import Described, EqualAs, Print
from workloads.core.spec import Arrays
from workloads.protocol.framework import Scalar, Size, Unsupported

PROGRAM = "program"

Calls = tuple[tuple[Described, ...], ...]
"""By call, the arguments."""


@dataclass(frozen=True)
class PackedSteps:
    """A graph operation by operation.

    Attributes:
      options: by program, XLA's debug options by name; each program travels as an array of bytes.
      taken: how many parameters the graph takes.
      places: of the constants.
      constants: that stand there.
      steps: by step its program, the places of what it reads and of what it makes, and whether what it made of the same
        arrays before may stand for it.
      results: their places.
    """

    options: tuple[dict[str, Scalar], ...]
    taken: Size
    places: tuple[Size, ...]
    constants: tuple[Described, ...]
    steps: tuple[tuple[Size, tuple[Size, ...], tuple[Size, ...], bool], ...]
    results: tuple[Size, ...]


def create() -> Host:
    """XLA, with what its programs call already loaded."""
    bindings.dispatch_synchronously()
    bindings.initialize_libraries()
    return Programs()


class Programs(Host):
    """XLA of jaxlib, which compiles and runs programs. A request first releases the handles in `released`."""

    host = "xla"

    def __init__(self) -> None:
        super().__init__()
        self._loaded: dict[int, bindings.LoadedProgram | LoadedSteps] = {}
        self._held: dict[int, HeldResults] = {}
        self._operations = StepPrograms(bindings.load_bytecode)

    @override
    def reply(self, name: str, parameters: Parameters, arrays: Arrays) -> Reply:
        """The reply to one request, whose parameter `released` has the handles that are no longer needed."""
        for handle in parameters.get("released", ()):
            self._loaded.pop(handle, None)
            self._held.pop(handle, None)
        rest = {parameter: value for parameter, value in parameters.items() if parameter != "released"}
        return super().reply(name, rest, arrays)

    def read(self, arrays: Arrays) -> None:
        """Check that every reader of programs can read this one."""
        try:
            artifacts.hlo_of_artifact(arrays[PROGRAM].tobytes())
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error

    def read_text(self, arrays: Arrays) -> Annotated[bytes, "program"]:
        """Return the HLO module of a text."""
        try:
            return bindings.hlo_from_text(arrays[PROGRAM].tobytes().decode(errors="replace"))
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error

    def compile(self, handle: int, options: dict[str, Scalar], arrays: Arrays) -> None:
        """Compile a program under a handle.

        Args:
          options: XLA's debug options by name.
          arrays: the program as bytes.
        """
        try:
            self._loaded[handle] = bindings.load_bytecode(arrays[PROGRAM].tobytes(), options)
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error

    def compile_steps(self, graph: PackedSteps, /, handle: int, arrays: Arrays) -> None:
        """Compile each operation of a graph, but for those of earlier graphs, and keep all under one handle.

        Args:
          graph: operation by operation.
          arrays: its programs as bytes, and its constants.
        """
        try:
            self._loaded[handle] = self._operations.load(unpack_steps(graph, arrays))
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error

    def optimized(self, handle: int) -> Annotated[bytes, "program"]:
        """Return the optimized HLO module of a compiled program."""
        program = self._loaded[handle]
        assert isinstance(program, bindings.LoadedProgram)
        return program.optimized_module

    def run(self, handle: int, calls: Calls, arrays: Arrays) -> tuple[list[list[Described]], Arrays]:
        """Call a compiled program on each of several sets of arguments.

        Args:
          calls: by call the dtype, shape and place of each argument.
        """
        return pack_calls(self._loaded[handle].each(unpack_calls(calls, arrays)))

    def fingerprint(self, handle: int, calls: Calls, tolerance: float, arrays: Arrays) -> list[list[Print]]:
        """Call it likewise, and return the fingerprint of each result in each call.

        Args:
          calls: by call the dtype, shape and place of each argument.
          tolerance: of the fingerprints for float32.
        """
        return pack_fingerprints(take_fingerprints(self._loaded[handle], unpack_calls(calls, arrays), tolerance))

    def hold(self, handle: int, calls: Calls, tolerance: float, results: int, arrays: Arrays) -> list[list[Print]]:
        """Call it likewise, and keep the results.

        Args:
          calls: by call the dtype, shape and place of each argument.
          tolerance: of the fingerprints for float32.
        """
        self._held[results] = hold_results(self._loaded[handle].each(unpack_calls(calls, arrays)), tolerance)
        return pack_fingerprints(self._held[results].fingerprints)

    def compare_held(
        self, left: int, right: int, pairs: tuple[tuple[Size, Size], ...], tolerance: float
    ) -> list[EqualAs | None]:
        """Report by pair of kept results how they are equal in every call; null if they are not.

        Args:
          pairs: which of them are compared, by position.
          tolerance: for float32.
        """
        places = [Places(*pair) for pair in pairs]
        return pack_equal(compare_results(self._held[left], self._held[right], places, tolerance))

    def release(self) -> None:
        """Release programs and results, and their memory."""
        freeing.trim()


def take_fingerprints(
    program: bindings.LoadedProgram | LoadedSteps, calls: Sequence[Sequence[np.ndarray]], tolerance: float
) -> Sequence[Sequence[Fingerprint]]:
    """By result, its fingerprint in each call. In steps, each is taken as soon as its array exists.

    Args:
      tolerance: float32's.
    """
    if isinstance(program, LoadedSteps):
        return program.reduce(calls, lambda array: fingerprint(array, tolerance))
    return hold_results(program.each(calls), tolerance).fingerprints


def pack_steps(steps: Steps) -> tuple[PackedSteps, dict[str, np.ndarray]]:
    """Steps as plain data and arrays."""
    (constants,), arrays = pack_calls([list(steps.constants.values())])
    description = PackedSteps(
        options=tuple(dict(program.options) for program in steps.programs),
        taken=steps.parameters,
        places=tuple(steps.constants),
        constants=tuple(constants),
        steps=tuple((step.program, tuple(step.reads), tuple(step.makes), step.repeatable) for step in steps.steps),
        results=tuple(steps.results),
    )
    programs = {
        _program(index): np.frombuffer(program.bytecode, np.uint8) for index, program in enumerate(steps.programs)
    }
    return description, arrays | programs


def unpack_steps(description: PackedSteps, arrays: Arrays) -> Steps:
    """The steps that were packed."""
    (constants,) = unpack_calls([description.constants], arrays)
    return Steps(
        programs=tuple(
            StepProgram(arrays[_program(index)].tobytes(), options) for index, options in enumerate(description.options)
        ),
        parameters=description.taken,
        constants=dict(zip(description.places, constants, strict=True)),
        steps=tuple(Step(*step) for step in description.steps),
        results=description.results,
    )


def _program(index: int) -> str:
    return f"{PROGRAM} {index}"


def pack_calls(calls: Sequence[Sequence[np.ndarray]]) -> tuple[list[list[Described]], dict[str, np.ndarray]]:
    """Arrays of any dtype as dtypes and shapes, and bytes by position: programs have types that safetensors has not.

    An array that several calls share travels once.
    """
    contents: dict[str, np.ndarray] = {}
    places: dict[int, str] = {}

    def place(array: np.ndarray) -> Described:
        row = np.asarray(array, order="C")
        # By identity, which is valid while `calls` holds the arrays.
        where = places.setdefault(id(array), str(len(places)))
        # An empty view cannot change its type.
        if row.size and where not in contents:
            contents[where] = row.reshape(-1).view(np.uint8)
        return _name(row.dtype), row.shape, where

    return [[place(array) for array in arrays] for arrays in calls], contents


@functools.cache
def _name(dtype: np.dtype) -> str:
    """A cached name of a type: NumPy computes it at each access, and calls have thousands of arrays."""
    return dtype.name


def unpack_calls(calls: Sequence[Sequence[Described]], contents: Arrays) -> list[list[np.ndarray]]:
    """The calls that were packed; calls may share an array."""
    cache: dict[tuple[str, tuple[int, ...], str], np.ndarray] = {}

    def array(name: str, shape: Sequence[int], where: str) -> np.ndarray:
        key = name, tuple(shape), where
        if key not in cache:
            dtype = np.dtype(name)
            cache[key] = contents[where].view(dtype).reshape(shape) if where in contents else np.empty(shape, dtype)
        return cache[key]

    return [[array(*row) for row in call] for call in calls]


def pack_fingerprints(results: Sequence[Sequence[Fingerprint]]) -> list[list[Any]]:
    """Fingerprints as plain data."""
    return [[[*dataclasses.astuple(entry)[:-1], entry.content.hex()] for entry in calls] for calls in results]


def unpack_fingerprints(rows: Sequence[Sequence[Sequence[Any]]]) -> list[list[Fingerprint]]:
    """The fingerprints that were packed."""
    return [[_fingerprint(row) for row in calls] for calls in rows]


def _fingerprint(row: Sequence[Any]) -> Fingerprint:
    elements, kind, exact, special, scale, spread, bits, content = row
    return Fingerprint(elements, kind, exact, tuple(special), scale, tuple(spread), bits, bytes.fromhex(content))


def pack_equal(equalities: Sequence[Equal | None]) -> list[Any]:
    """Pack comparisons as plain data."""
    return [None if equal is None else [*dataclasses.astuple(equal.layout), equal.ulp] for equal in equalities]


def unpack_equal(rows: Sequence[Any]) -> list[Equal | None]:
    """Unpack comparisons."""
    return [None if row is None else Equal(Layout(tuple(row[0]), tuple(row[1]), row[2]), row[3]) for row in rows]
