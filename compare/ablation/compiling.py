"""Compile one program by JAX's XLA in a worker, with the caller's options, and report on it there."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from compare.hlo import compiled, kernel_times, proto, read_module
from compare.hlo.dumps import directory, grammar, vector_code
from compare.hlo.dumps.directory import DumpedModule
from compare.hlo.portable import portable
from compare.inputs.at_size import Prepared
from compare.measure.phase_processes import Workers
from compare.record.ablation_part import AblatedKernel, AblatedProgram
from compare.sides import requests
from compare.sides._side import Side
from compare.sides.workers import WorkerSet
from compare.tuning.candidate_options import Options
from workloads.core.spec import Arrays
from workloads.protocol.framework import Optimized, Program, Scalar, default_pass

COMPILER = "jax"
"""The side whose XLA takes options for one compilation."""

_DISASSEMBLY_S = 60
"""Seconds for one file, of which most take a hundredth."""

_DISASSEMBLERS = ("objdump", "llvm-objdump")


@dataclass(frozen=True)
class Made:
    """One compilation.

    Attributes:
      digest: equal where the code is, names included; empty if unknown.
      code: equal where XLA wrote the same code under whatever names, and as many instructions of the same kind run in
        the same order on arrays of the same shapes.
      passes: that changed the program, in the order in which each first did.
      figures: what is counted.
      results: by case, all that the program returns.
    """

    digest: str
    code: str
    passes: tuple[str, ...]
    figures: AblatedProgram
    results: Mapping[str, Arrays]


class Compiler:
    """Compiles the program of one workload, in a worker that is replaced after a compilation has ended it."""

    def __init__(self, instance: Prepared, workers: Workers, side: str) -> None:
        self._instance, self._workers = instance, workers
        self._running = WorkerSet(workers.start, self._load)
        self.disassembler = find_disassembler()
        self.pass_, self.program = self._program(side)

    def __enter__(self) -> Compiler:
        return self

    def __exit__(self, *_: object) -> None:
        self.rest()

    def rest(self) -> None:
        """End the worker: the machine is to be quiet."""
        self._running.close()

    def environment(self) -> dict[str, Scalar]:
        """Versions and device of the compiler."""
        return requests.environment(self._running.get(COMPILER))

    def _load(self, side: Side) -> None:
        requests.load(side, self._instance.loading)

    def _program(self, side: str) -> tuple[str, Program]:
        """The training step, or else the forward pass, as the side hands it to XLA."""
        with WorkerSet(self._workers.start) as workers:
            side_worker = workers.get(side)
            pass_ = default_pass(requests.load(side_worker, self._instance.loading))
            program = requests.program(side_worker, pass_, "float32")
            return pass_, dataclasses.replace(program, artifact=portable(program.artifact))

    def make(self, options: Options) -> Made:
        """Compile, dump, run on every case, and profile.

        Raises:
          SideError: XLA does not take an option or the program, or the worker ended.
        """
        folder = self._workers.folder("ablation-")
        try:
            return self._make(options, folder)
        finally:
            shutil.rmtree(folder)

    def _make(self, options: Options, folder: Path) -> Made:
        side = self._running.get(COMPILER)
        dump = {"xla_dump_to": str(folder), "xla_dump_hlo_pass_re": ".*", "xla_dump_hlo_as_proto": True}
        program = requests.compile_program(side, self.program, {**options, **dump})
        cases = self._instance.loading.cases
        results = {case: requests.execute(side, program.handle, case) for case in cases}
        ran = kernel_times.profile(requests.profile(side, program.handle)).kernels
        module = directory.modules(folder)[0]
        optimized_module = requests.optimized(side, program.handle)
        return Made(
            digest=requests.digest(side, program.handle),
            code=f"{vector_code.fingerprint(module)} {_sequence(optimized_module.module)}",
            passes=_passes(module),
            figures=_figures(optimized_module, ran, program.compile_s, self._codes(module)),
            results=results,
        )

    def _codes(self, module: DumpedModule) -> tuple[AblatedKernel, ...]:
        objects = [file.path for file in module.of(grammar.OBJECT)]
        texts = disassemble(self.disassembler, objects)
        return tuple(
            AblatedKernel(code.kernel, code.vector, code.width, code.unroll, code.fused, code.arithmetic)
            for code in vector_code.kernels(module, texts)
        )

    def ready(self, side: Side, options: Options) -> partial[list[float]]:
        """Compile in a worker that has loaded the workload; what then times some calls.

        Raises:
          SideError: as `made` raises it.
        """
        program = requests.compile_program(side, self.program, options)
        requests.prepare(side, program.handle)
        return partial(requests.time_round, side, program.handle)


def _passes(module: DumpedModule) -> tuple[str, ...]:
    files = sorted(module.of(grammar.PASS), key=lambda file: file.details["order"])
    names = (file.details["after"] for file in files)
    return tuple(dict.fromkeys(name for name in names if name != "pipeline-start"))


def _sequence(module: bytes) -> str:
    """List what runs, in order: each instruction's kind, or its library, and the shape of its result."""
    entry = read_module.read_message(proto.read_module(module))
    libraries = {call.name: call.target for call in compiled.describe(module).custom_calls}
    return ";".join(f"{libraries.get(node.name, node.opcode)} {node.shape}" for node in compiled.kernels(entry))


def _figures(result: Optimized, ran: int, compile_s: float, codes: tuple[AblatedKernel, ...]) -> AblatedProgram:
    summary = compiled.describe(result.module, result.temp_bytes)
    return AblatedProgram(
        kernels_run=ran,
        kernels=summary.kernels,
        fusions=summary.fusions,
        bytes=summary.bytes,
        flops=summary.flops,
        temp_bytes=summary.temp_bytes,
        code_bytes=result.executable_bytes,
        compile_s=compile_s,
        codes=codes,
    )


def find_disassembler() -> str:
    """Where the disassembler is; empty where there is none."""
    return next(filter(None, map(shutil.which, _DISASSEMBLERS)), "")


def disassemble(program: str, files: Iterable[Path]) -> Mapping[str, str]:
    """By name, what the disassembler says of each object file; without those that it does not read.

    Args:
      program: as `find_disassembler` finds it; empty reads none.
    """
    return {path.name: text for path in files if program and (text := _disassembly(program, path))}


def _disassembly(program: str, path: Path) -> str:
    try:
        ran = subprocess.run(
            [program, "-d", "--no-show-raw-insn", "--", str(path.resolve())],
            capture_output=True, text=True, errors="replace", timeout=_DISASSEMBLY_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if ran.returncode else ran.stdout
