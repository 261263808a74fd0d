"""Runs programs in a worker: XLA and nothing else, so that a program which ends its process ends no judge."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import ml_dtypes as ml_dtypes  # NumPy knows bfloat16 once it is imported
import msgspec
import numpy as np

from compare.hlo import artifacts, bindings
from compare.hlo.arrays.fingerprints import Fingerprint, fingerprint
from compare.hlo.arrays.held import HeldResults, Places, compared, held
from compare.hlo.arrays.layouts import Equal, Layout
from compare.hlo.stepping import LoadedSteps, StepPrograms
from compare.hlo.steps import Step, Steps
from compare.sides import freeing
from compare.sides._host import Host
from compare.sides._side import Reply
from compare.sides.host_parameters import (
    CompareHeld,
    CompileBytecode,
    CompileSteps,
    Hold,
    Released,
    ReleasedHandle,
    Run,
    RunForFingerprints,
)
from compare.sides.protocol import Method
from workloads._framework import Unsupported
from workloads._spec import Arrays

PROGRAM = "program"


def create() -> Host:
    """XLA, with what its programs call already loaded."""
    bindings.dispatch_synchronously()
    bindings.initialize_libraries()
    return Programs()


class Programs(Host):
    """Programs by handle, until they are let go."""

    host = "xla"

    def __init__(self) -> None:
        super().__init__()
        self._loaded: dict[int, bindings.LoadedProgram | LoadedSteps] = {}
        self._held: dict[int, HeldResults] = {}
        self._operations = StepPrograms(bindings.load_bytecode)

    def read(self, parameters: Released, arrays: Arrays) -> Reply:
        """Read a program that may be damaged, by all that reads it elsewhere."""
        try:
            artifacts.hlo_of_artifact(arrays[PROGRAM].tobytes())
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        return Reply()

    def read_text(self, parameters: Released, arrays: Arrays) -> Reply:
        """Read HLO text that may be damaged."""
        try:
            module = bindings.hlo_from_text(arrays[PROGRAM].tobytes().decode(errors="replace"))
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        return Reply(arrays={PROGRAM: np.frombuffer(module, np.uint8)})

    def compile(self, parameters: CompileBytecode, arrays: Arrays) -> Reply:
        """Compile a program under a handle that the caller chose."""
        try:
            program = bindings.load_bytecode(arrays[PROGRAM].tobytes(), parameters.options)
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        self._loaded[parameters.handle] = program
        return Reply()

    def compile_steps(self, parameters: CompileSteps, arrays: Arrays) -> Reply:
        """Compile each operation of a graph; those that an earlier graph had are there."""
        try:
            steps = self._operations.load(unpack_steps(parameters, arrays), parameters.options)
        except bindings.UnreadableProgram as error:
            raise Unsupported(str(error)) from error
        self._loaded[parameters.handle] = steps
        return Reply()

    def optimized(self, parameters: ReleasedHandle, arrays: Arrays) -> Reply:
        """What XLA made of a program."""
        program = self._loaded[parameters.handle]
        assert isinstance(program, bindings.LoadedProgram)
        return Reply(arrays={PROGRAM: np.frombuffer(program.optimized, np.uint8)})

    def run(self, parameters: Run, arrays: Arrays) -> Reply:
        """Calls of a program, one after the other."""
        program = self._loaded[parameters.handle]
        value, packed = pack_calls(program.each(unpack_calls(parameters.calls, arrays)))
        return Reply(value, packed)

    def hold(self, parameters: Hold, arrays: Arrays) -> Reply:
        """Calls of a program whose results stay here."""
        program = self._loaded[parameters.handle]
        results = held(program.each(unpack_calls(parameters.calls, arrays)), parameters.tolerance)
        self._held[parameters.results] = results
        return Reply(pack_fingerprints(results.fingerprints))

    def fingerprint(self, parameters: RunForFingerprints, arrays: Arrays) -> Reply:
        """Calls of a program of whose results nothing stays but fingerprints."""
        program, calls = self._loaded[parameters.handle], unpack_calls(parameters.calls, arrays)
        return Reply(pack_fingerprints(fingerprinted(program, calls, parameters.tolerance)))

    def compare_held(self, parameters: CompareHeld, arrays: Arrays) -> Reply:
        """How results that stay here are equal."""
        left, right = self._held[parameters.left], self._held[parameters.right]
        pairs = [Places(*pair) for pair in parameters.pairs]
        return Reply(pack_equal(compared(left, right, pairs, parameters.tolerance)))

    def release(self, parameters: Released, arrays: Arrays) -> Reply:
        """Nothing more: what is released was, and what it took goes back to the kernel."""
        freeing.trim()
        return Reply()

    def _answer(self, method: Method, parameters: msgspec.Struct, arrays: Arrays) -> Reply:
        assert isinstance(parameters, Released)
        for handle in parameters.released:
            self._loaded.pop(handle, None)
            self._held.pop(handle, None)
        return super()._answer(method, parameters, arrays)


def fingerprinted(
    program: bindings.LoadedProgram | LoadedSteps, calls: Sequence[Sequence[np.ndarray]], tolerance: float
) -> Sequence[Sequence[Fingerprint]]:
    """By result, its fingerprint in each call; of steps each is taken as soon as its array is there.

    Args:
      program: compiled whole, or in steps.
      calls: the arguments of each.
      tolerance: float32's.
    """
    if isinstance(program, LoadedSteps):
        return program.reduced(calls, lambda array: fingerprint(array, tolerance))
    return held(program.each(calls), tolerance).fingerprints


Described = Sequence[Sequence[Sequence[Any]]]


def pack_steps(steps: Steps) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Steps as plain data, and arrays."""
    (constants,), packed = pack_calls([list(steps.constants.values())])
    described = {
        "programs": len(steps.programs),
        "taken": steps.parameters,
        "places": list(steps.constants),
        "constants": constants,
        "steps": [[step.program, step.reads, step.makes, step.repeatable] for step in steps.steps],
        "results": steps.results,
    }
    programs = {_program(at): np.frombuffer(program, np.uint8) for at, program in enumerate(steps.programs)}
    return described, packed | programs


def unpack_steps(parameters: CompileSteps, arrays: Arrays) -> Steps:
    """The steps that were packed."""
    (constants,) = unpack_calls([parameters.constants], arrays)
    return Steps(
        programs=tuple(arrays[_program(at)].tobytes() for at in range(parameters.programs)),
        parameters=parameters.taken,
        constants=dict(zip(parameters.places, constants, strict=True)),
        steps=tuple(Step(*step) for step in parameters.steps),
        results=parameters.results,
    )


def _program(at: int) -> str:
    return f"{PROGRAM} {at}"


def pack_calls(calls: Sequence[Sequence[np.ndarray]]) -> tuple[Described, dict[str, np.ndarray]]:
    """Arrays of any dtype as dtypes and shapes, and bytes by position: programs have types that safetensors has not.

    An array that several calls share travels once.
    """
    packed: dict[str, np.ndarray] = {}
    places: dict[int, str] = {}

    def place(array: np.ndarray) -> list[Any]:
        row = np.asarray(array, order="C")
        # By identity, which holds for as long as `calls` keeps them.
        where = places.setdefault(id(array), str(len(places)))
        # An empty view cannot change its type.
        if row.size and where not in packed:
            packed[where] = row.reshape(-1).view(np.uint8)
        return [_name(row.dtype), list(row.shape), where]

    return [[place(array) for array in arrays] for arrays in calls], packed


@functools.cache
def _name(dtype: np.dtype) -> str:
    """NumPy makes the name of a type anew whenever it is asked for, and calls have thousands of arrays."""
    return dtype.name


def unpack_calls(described: Described, packed: Arrays) -> list[list[np.ndarray]]:
    """The calls that were packed; what they share is one array."""
    known: dict[tuple[str, tuple[int, ...], str], np.ndarray] = {}

    def array(name: str, shape: Sequence[int], at: str) -> np.ndarray:
        key = name, tuple(shape), at
        if key not in known:
            dtype = np.dtype(name)
            known[key] = packed[at].view(dtype).reshape(shape) if at in packed else np.empty(shape, dtype)
        return known[key]

    return [[array(*row) for row in call] for call in described]


def pack_fingerprints(results: Sequence[Sequence[Fingerprint]]) -> list[list[Any]]:
    """Fingerprints as plain data."""
    return [[[*dataclasses.astuple(told)[:-1], told.content.hex()] for told in calls] for calls in results]


def unpack_fingerprints(rows: Sequence[Sequence[Sequence[Any]]]) -> list[list[Fingerprint]]:
    """The fingerprints that were packed."""
    return [[_fingerprint(*row) for row in calls] for calls in rows]


def _fingerprint(
    elements: int, kind: str, exact: int, special: Any, scale: float, spread: Any, bits: float, content: str
) -> Fingerprint:
    return Fingerprint(elements, kind, exact, tuple(special), scale, tuple(spread), bits, bytes.fromhex(content))


def pack_equal(compared: Sequence[Equal | None]) -> list[Any]:
    """What was compared as plain data."""
    return [None if equal is None else [*dataclasses.astuple(equal.layout), equal.ulp] for equal in compared]


def unpack_equal(rows: Sequence[Any]) -> list[Equal | None]:
    """What was packed."""
    return [None if row is None else Equal(Layout(tuple(row[0]), tuple(row[1]), row[2]), row[3]) for row in rows]
