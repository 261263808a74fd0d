"""One module alone: run by several compilers on the same inputs, each compared with one reference."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ml_dtypes as ml_dtypes  # NumPy knows bfloat16 once it is imported
import numpy as np

from compare.bundles import interpreting
from compare.bundles.bundle import Module
from compare.bundles.distance import Difference, difference
from compare.errors import RequestError
from compare.hlo import bindings, executing, standalone
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.standalone import Signature
from compare.inputs.at_size import prepare
from compare.progress import Reporter
from compare.sides import requests
from compare.sides._side import SIDES, Missing, Side, SideError
from compare.sides.client import LiveSide
from compare.sides.workers import WorkerSet
from workloads.core import registry
from workloads.protocol.framework import Parameter, Program, Result

HERE, CHANGED, INTERPRETER = "here", "here, other options", "interpreter"
COMPILERS = (HERE, INTERPRETER, *SIDES)
RECORDED = "recorded "

TRIVIAL = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
"""A program that computes nothing, for what is to be tried before the first one."""
_LOADED = ("add", "smoke")


@dataclass(frozen=True)
class Request:
    """The compilers that run a module, and its inputs.

    Attributes:
      compilers: of COMPILERS.
      options: XLA's debug options for one more compilation in this process; none adds nothing.
      inputs: arguments by position, in place of recorded or random ones.
      seed: draws random inputs, in place of recorded ones.
      tolerance: of floats, relative to the largest value; None is that of the dtype.
    """

    compilers: Sequence[str] = (HERE, INTERPRETER)
    options: Mapping[str, int | bool | float | str] = field(default_factory=dict)
    inputs: Sequence[np.ndarray] | None = None
    seed: int | None = None
    tolerance: float | None = None
    pythons: Mapping[str, str | None] = field(default_factory=dict)
    timeout_s: float = 300


@dataclass(frozen=True)
class Compared:
    """One result of a module: by compiler, how far it is from the reference."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    differences: Mapping[str, Difference]


@dataclass(frozen=True)
class Replayed:
    """A module that was run again. `refused` says by compiler why it did not run it."""

    module: str
    inputs: str
    reference: str
    results: tuple[Compared, ...]
    refused: Mapping[str, str]

    @property
    def agrees(self) -> bool:
        """Whether every compiler ran it and came out at the reference; the interpreter may be unable to."""
        differences = [difference for result in self.results for difference in result.differences.values()]
        return all(difference.agrees for difference in differences) and not self.refused.keys() - {INTERPRETER}


def replay(modules: Sequence[Module], request: Request, scratch: Path, reporter: Reporter) -> list[Replayed]:
    """Run every module by every compiler.

    Raises:
      RequestError: the inputs do not fit, an option does not exist, or there is nothing to compare with.
      SideError: a framework that was asked for is not installed.
    """
    _check_options(request.options)

    def start(name: str) -> LiveSide:
        return LiveSide(name, scratch, request.pythons.get(name), request.timeout_s)

    with WorkerSet(start, lambda side: _load(side, scratch)) as workers:
        compilers = [name for name in SIDES if name in request.compilers]
        workers.start(compilers)
        _check_installed(workers, compilers)
        replays: list[Replayed] = []
        for module in modules:
            # A worker that died with one module, or idle after it, takes no other module with it.
            workers.replace_lost()
            replays.append(_replay_module(module, request, workers, reporter))
        return replays


def _load(side: Side, scratch: Path) -> None:
    """Load any workload: a worker runs programs once it has a twin, and what is replayed brings its own arrays."""
    workload, size = _LOADED
    folder = Path(tempfile.mkdtemp(prefix="loaded-", dir=scratch))
    requests.load(side, prepare(registry.get(workload), size, None, folder, one_case=True).loading)


def _check_installed(workers: WorkerSet, names: Sequence[str]) -> None:
    """Raise SideError where a worker cannot run any module; one that is lost is tried again by the first."""
    for name in names:
        try:
            workers.get(name)
        except SideError as error:
            if isinstance(error, Missing) or not error.lost:
                raise


def _replay_module(module: Module, request: Request, workers: WorkerSet, reporter: Reporter) -> Replayed:
    reporter.stage(f"{module.name}: replay", len(request.compilers) + bool(request.options))
    try:
        signature = standalone.signature(module.artifact)
    except UnreadableProgram as error:
        raise RequestError(f"{error}, in {module.name}") from error
    arrays, inputs_note = _inputs(module, request, signature)
    recordings = (
        {RECORDED + cell: list(values) for cell, values in module.recorded.items()} if _has_recording(request) else {}
    )
    results: dict[str, list[np.ndarray]] = {}
    refusals: dict[str, str] = {}
    for compiler in _compilers(request):
        reporter.step(compiler)
        try:
            results[compiler] = _run(compiler, module.artifact, signature, arrays, request, workers)
        except UnreadableProgram as error:
            refusals[compiler] = str(error)
        except SideError as error:
            refusals[compiler] = error.reason
    return _judge(module, signature, inputs_note, recordings, results, refusals, request.tolerance)


def _judge(
    module: Module,
    signature: Signature,
    inputs_note: str,
    recordings: Mapping[str, Sequence[np.ndarray]],
    computed_results: Mapping[str, Sequence[np.ndarray]],
    refusals: Mapping[str, str],
    tolerance: float | None,
) -> Replayed:
    values = {**recordings, **computed_results}
    # The recorded results, else those of the evaluator that shares no code with XLA, else the first.
    reference = next(iter([*recordings, *({INTERPRETER} & values.keys()), *values]), "")
    others = {label: arrays for label, arrays in values.items() if label != reference}
    if not others and not refusals.keys() - {INTERPRETER}:
        reason = "".join(f" ({why})" for why in refusals.values())
        raise RequestError(
            f"expected two results of {module.name} to compare, found only that of {reference}{reason}: "
            "add a compiler, as in --compilers here,jax, or replay a bug report"
        )
    names = module.results or tuple(map(str, range(len(signature.results))))
    _check_counts(module, {label: len(arrays) for label, arrays in values.items()}, len(names))
    results = tuple(
        Compared(
            name,
            shape,
            dtype,
            {label: difference(arrays[index], values[reference][index], tolerance) for label, arrays in others.items()},
        )
        for index, (name, (shape, dtype)) in enumerate(zip(names, signature.results, strict=True))
    )
    return Replayed(module.name, inputs_note, reference, results, refusals)


def _check_counts(module: Module, counts: Mapping[str, int], expected: int) -> None:
    for label, count in counts.items():
        if count != expected:
            raise RequestError(
                f"expected {expected} results of {module.name}, found {count} from {label}: write the report again"
            )


def _compilers(request: Request) -> Iterator[str]:
    """Every compiler in the order that they were asked for, changed options beside the plain ones."""
    yield from request.compilers
    if request.options:
        yield CHANGED


def _run(
    compiler: str,
    artifact: bytes,
    signature: Signature,
    arrays: Sequence[np.ndarray],
    request: Request,
    workers: WorkerSet,
) -> list[np.ndarray]:
    if compiler == INTERPRETER:
        return interpreting.interpret(artifact, arrays, request.timeout_s)
    if compiler in (HERE, CHANGED):
        return executing.compile_bytecode(artifact, request.options if compiler == CHANGED else None)(arrays)
    program = _program(artifact, signature, arrays)
    side = workers.get(compiler)
    results = requests.execute(side, requests.compile_program(side, program).handle, "seed0")
    return [results[result.name] for result in program.results]


def _program(artifact: bytes, signature: Signature, arrays: Sequence[np.ndarray]) -> Program:
    """A program that brings its own arguments."""
    return Program(
        artifact=artifact,
        parameters=tuple(
            Parameter("state", str(index), shape, dtype) for index, (shape, dtype) in enumerate(signature.parameters)
        ),
        results=tuple(Result(str(index), shape, dtype) for index, (shape, dtype) in enumerate(signature.results)),
        states={str(index): array for index, array in enumerate(arrays)},
    )


def _has_recording(request: Request) -> bool:
    return request.inputs is None and request.seed is None


def _inputs(module: Module, request: Request, signature: Signature) -> tuple[Sequence[np.ndarray], str]:
    """The arguments, and where they come from."""
    if request.inputs is not None:
        arrays, note = request.inputs, "as given"
    elif module.inputs is not None and _has_recording(request):
        arrays, note = module.inputs, "as recorded"
    else:
        seed = request.seed or 0
        arrays, note = random_inputs(signature, seed), f"random, seed {seed}"
    _check_inputs(module, arrays, signature)
    return arrays, note


def random_inputs(signature: Signature, seed: int) -> list[np.ndarray]:
    """Arrays of the signature's shapes and dtypes: standard normal floats, integers from 0 to 7, booleans.

    Args:
      signature: the shapes and dtypes of a module's parameters.
    """
    generator = np.random.default_rng(seed)

    def draw(shape: tuple[int, ...], dtype: str) -> np.ndarray:
        if np.dtype(dtype).kind in "biu":
            return generator.integers(0, 2 if dtype == "bool" else 8, shape).astype(dtype)
        return np.asarray(generator.standard_normal(shape)).astype(dtype)

    return [draw(shape, dtype) for shape, dtype in signature.parameters]


def _check_inputs(module: Module, arrays: Sequence[np.ndarray], signature: Signature) -> None:
    if len(arrays) != len(signature.parameters):
        raise RequestError(
            f"expected {len(signature.parameters)} inputs of {module.name}, found {len(arrays)}: give one each"
        )
    for index, (array, (shape, dtype)) in enumerate(zip(arrays, signature.parameters, strict=True)):
        if array.shape != shape or array.dtype.name != dtype:
            name = next(iter(module.parameters[index : index + 1]), str(index))
            raise RequestError(
                f"expected input {name!r} of {module.name} to be {dtype}{list(shape)}, found "
                f"{array.dtype.name}{list(array.shape)}: correct the file"
            )


def _check_options(options: Mapping[str, int | bool | float | str]) -> None:
    """Raise RequestError where XLA has no such option, or wants another type."""
    for name, value in options.items():
        try:
            executing.compile_bytecode(bindings.artifact(TRIVIAL), {name: value})
        except UnreadableProgram as error:
            raise RequestError(
                f"expected an XLA option with a value of its type, found {name}={value} ({error}): "
                "see DebugOptions in xla/xla.proto"
            ) from error
