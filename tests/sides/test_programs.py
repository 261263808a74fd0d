"""Programs run apart from what judges them: one that crashes, or never ends, costs itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import hlo_programs
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from fuzzed_bytes import said_of_damaged
from hlo_programs import exported
from interpreters import JAX_AS_TF, interpreter
from places import DATA

from compare import cli
from compare.bundles.replaying_dumps import replay_dump
from compare.hlo import bindings, executing
from compare.hlo.arrays.fingerprints import TOLERANCE, fingerprint
from compare.hlo.arrays.held import Places
from compare.hlo.arrays.layouts import Equal, Layout
from compare.hlo.artifacts import hlo_of_file
from compare.hlo.bindings import UnreadableProgram
from compare.hlo.executing import ProgramLost
from compare.progress import Silent
from compare.sides import processes, xla
from compare.sides.program_worker import ProgramWorker, programs_kept

pytestmark = pytest.mark.process

MATRIX = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)
ENDLESS = """
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %found = stablehlo.while(%a = %x) : tensor<f32>
    cond { %true = stablehlo.constant dense<true> : tensor<i1>
           stablehlo.return %true : tensor<i1> }
    do { %b = stablehlo.add %a, %a : tensor<f32>
         stablehlo.return %b : tensor<f32> }
  return %found : tensor<f32>
}"""

LAPACK = {
    "cholesky": "jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(3))",
    "triangular_solve": "jax.scipy.linalg.solve_triangular(jnp.tril(x) + 4 * jnp.eye(3), x, lower=True)",
    "svd": "jnp.linalg.svd(x, compute_uv=False)",
    "eigh": "jnp.linalg.eigvalsh(x + x.T)",
}


@pytest.mark.parametrize("name", LAPACK)
def test_a_port_that_calls_lapack_is_judged_like_any_other(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in ("original", "port"):
        (tmp_path / f"{side}.py").write_text(
            f"import jax\nimport jax.numpy as jnp\n\n\ndef f(x):\n    return {LAPACK[name]}\n"
        )
    asked = ["--tf", f"{tmp_path}/original.py:f", "--jax", f"{tmp_path}/port.py:f", "--input", "x=f32[3,3]"]
    python = interpreter(tmp_path, JAX_AS_TF)
    assert cli.main(["locate", *asked, "--tf-python", python, "--pass", "forward"]) == 0
    assert "forward: agrees" in capsys.readouterr().out


def test_the_worker_has_lapack_before_it_is_given_a_program_that_calls_it() -> None:
    artifact = exported(jnp.linalg.cholesky, MATRIX)
    (found,) = executing.compile_bytecode(artifact)([MATRIX])
    np.testing.assert_allclose(found, np.linalg.cholesky(MATRIX), rtol=1e-6)


def test_a_program_that_never_ends_is_given_up_and_the_next_one_runs() -> None:
    with programs_apart_from_others() as worker:
        endless = executing.compile_bytecode(bindings.artifact(ENDLESS))
        hurry(worker)
        with pytest.raises(ProgramLost, match="did not run the program: no answer within 2 s; raise --timeout"):
            endless([np.float32(1)])
        assert executing.compile_bytecode(doubling())([MATRIX])[0].tolist() == (2 * MATRIX).tolist()


def test_replay_gives_up_a_module_that_never_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "endless.mlirbc"
    path.write_bytes(bindings.artifact(ENDLESS))
    with programs_apart_from_others() as worker:
        executing.compile_bytecode(doubling())
        hurry(worker)
        assert cli.main(["replay", str(path), "--compilers", "here"]) == 1
    assert "here: XLA did not run the program: no answer within 2 s" in capsys.readouterr().out


def test_a_module_of_a_dump_that_never_ends_costs_its_own_row(tmp_path: Path) -> None:
    endless, whole = (bindings.hlo_of(bindings.parse(program)) for program in (bindings.artifact(ENDLESS), doubling()))
    for number, module in enumerate((endless, whole)):
        for stage in ("before_optimizations", "cpu_after_optimizations"):
            (tmp_path / f"module_{number:04}.jit_f.{stage}.hlo.pb").write_bytes(module)
    with programs_apart_from_others() as worker:
        executing.compile_bytecode(doubling())
        hurry(worker)
        lost, kept = replay_dump(tmp_path, 0, None, Silent()).modules
    assert "no answer within 2 s" in lost.failure and not kept.failure and kept.optimized_agrees


def test_what_was_compiled_before_a_crash_is_compiled_again_after_it() -> None:
    with programs_apart_from_others() as worker:
        kept = executing.compile_bytecode(doubling())
        endless = executing.compile_bytecode(bindings.artifact(ENDLESS))
        hurry(worker)
        with pytest.raises(ProgramLost):
            endless([np.float32(1)])
        assert kept([MATRIX])[0].tolist() == (2 * MATRIX).tolist()


def test_a_worker_that_died_idle_loses_nothing() -> None:
    with programs_apart_from_others() as worker:
        kept = executing.compile_bytecode(doubling())
        process = worker.current()._process
        process.kill()
        process.wait()
        assert kept([MATRIX])[0].tolist() == (2 * MATRIX).tolist()


def test_results_that_stay_with_the_worker_are_told_apart_there() -> None:
    lopsided = np.triu(MATRIX)
    calls = [[lopsided], [lopsided + 1]]
    with programs_apart_from_others():
        doubled = executing.compile_bytecode(doubling()).hold(calls, TOLERANCE)
        turned = executing.compile_bytecode(exported(lambda x: ((x + x).T, 3 * x), MATRIX)).hold(calls, TOLERANCE)
        told = executing.compare(doubled, turned, [Places(0, 0), Places(0, 1)], TOLERANCE)
    assert doubled.fingerprints == [[fingerprint(2 * array, TOLERANCE) for (array,) in calls]]
    assert told == [Equal(Layout(left=(1, 0)), 0.0), None]


def test_fingerprints_are_taken_of_results_that_do_not_stay_with_the_worker() -> None:
    calls = [[MATRIX], [MATRIX + 1]]
    with programs_apart_from_others() as worker:
        program = executing.compile_bytecode(doubling())
        fingerprints = program.fingerprints(calls, TOLERANCE)
        assert worker._released == []
        assert fingerprints == program.hold(calls, TOLERANCE).fingerprints
        assert program.fingerprints([[np.nan * MATRIX]], TOLERANCE)[0][0].special == (MATRIX.size, 0, 0)


def test_results_whose_worker_died_are_computed_again() -> None:
    with programs_apart_from_others() as worker:
        left, right = (executing.compile_bytecode(doubling()).hold([[MATRIX]], TOLERANCE) for _ in range(2))
        process = worker.current()._process
        process.kill()
        process.wait()
        assert executing.compare(left, right, [Places(0, 0)], TOLERANCE) == [Equal(Layout(), 0.0)]


def test_results_that_nobody_holds_any_more_leave_the_worker() -> None:
    with programs_apart_from_others() as worker:
        program = executing.compile_bytecode(doubling())
        held = program.hold([[MATRIX]], TOLERANCE)
        assert worker._released == []
        del held
        assert len(worker._released) == 1
        executing.let_go()
        assert worker._released == []
        with pytest.raises(UnreadableProgram, match="KeyError: 1"):
            worker.ask(worker.current(), "compare_held", {"left": 1, "right": 1, "pairs": [], "tolerance": TOLERANCE})


def test_workers_shared_by_several_commands_outlive_the_interruption_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_own_processes", processes._Started())
    with programs_apart_from_others():
        kept = executing.compile_bytecode(doubling())
        processes.end()
        processes.begin()
        assert kept([MATRIX])[0].tolist() == (2 * MATRIX).tolist()


def test_programs_that_nobody_holds_any_more_leave_the_worker() -> None:
    with programs_apart_from_others() as worker:
        held = [executing.compile_bytecode(doubling()) for _ in range(3)]
        assert len(worker._released) == 0
        held.clear()
        assert len(worker._released) == 3
        held.append(executing.compile_bytecode(doubling()))
        assert worker._released == []


FLIPPED = {
    "no answer within 2 s": (65, 1),
    "ended by signal SIG(SEGV|ABRT)": hlo_programs.DEADLY,
    "expected StableHLO": (4, 0),
}
"""What one flipped bit of that program's bytecode does to jaxlib 0.10.2's reader: the byte, and the bit."""


@pytest.mark.parametrize("end", FLIPPED)
def test_damaged_bytecode_costs_itself(end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.mlirbc").write_bytes(bindings.artifact(hlo_programs.ADDITION))
    (tmp_path / "damaged.mlirbc").write_bytes(hlo_programs.flipped(*FLIPPED[end]))
    with programs_apart_from_others() as worker:
        hurry(worker)
        assert cli.main(["replay", str(tmp_path / "damaged.mlirbc")]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert re.search(end, line)
        assert cli.main(["hlo", f"{tmp_path}/good.mlirbc", f"{tmp_path}/good.mlirbc", "-o", str(tmp_path)]) == 0


def test_a_text_that_ends_the_process_of_xla_costs_itself() -> None:
    """A parameter whose number is out of order: a failed check of XLA, which in this process would end the command."""
    text = b"HloModule m\n\nENTRY e {\n  a = f32[] parameter(4)\n  ROOT b = f32[] negate(a)\n}\n"
    with programs_apart_from_others():
        with pytest.raises(ProgramLost, match="XLA did not read the program: the worker ended by signal SIGABRT"):
            hlo_of_file(text)
        assert hlo_of_file(text.replace(b"parameter(4)", b"parameter(0)"))


def test_damaged_texts_are_read_or_refused_in_one_line() -> None:
    good = next((DATA / "dumps/tf_autocluster").glob("*.cpu_after_optimizations.txt")).read_bytes()
    with programs_apart_from_others():
        lines = [line for line in said_of_damaged(good, hlo_of_file, UnreadableProgram, 100) if line]
    assert len(lines) > 50
    # What XLA quotes of a text may hold any character: the terminal shows it escaped.
    assert [line for line in lines if "\n" in line or len(line) > 1000] == []
    assert [line for line in lines if not line.startswith(("expected", "XLA did not read the program"))] == []


def test_one_worker_is_asked_from_several_threads() -> None:
    with programs_apart_from_others(), ThreadPoolExecutor(4) as threads:
        programs = [doubling() for _ in range(16)]
        assert list(threads.map(executing.check_bytecode, programs)) == programs


def test_a_program_that_ends_the_worker_costs_no_other_thread_its_own() -> None:
    deadly, good = hlo_programs.flipped(*hlo_programs.DEADLY), doubling()

    def verdict(bytecode: bytes) -> str:
        try:
            executing.check_bytecode(bytecode)
        except ProgramLost:
            return "lost"
        return "read"

    with programs_apart_from_others(), ThreadPoolExecutor(2) as threads:
        programs = [good, deadly] * 5
        assert list(threads.map(verdict, programs)) == ["read", "lost"] * 5


def test_options_are_those_that_jit_takes() -> None:
    # DebugOptions of jaxlib has no attribute of this name.
    options = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"}
    (found,) = executing.compile_bytecode(doubling(), options)([MATRIX])
    assert found.tolist() == (2 * MATRIX).tolist()
    program = exported(lambda x: jnp.tanh(x) * 2 + x, MATRIX)
    modules = [executing.compile_bytecode(program, told) for told in ({}, {"xla_disable_hlo_passes": "fusion"})]
    # Without the pass every operation is a kernel of its own, which XLA writes as a fusion too.
    one, several = (bindings.hlo_text(module.optimized_module).count(" fusion(") for module in modules)
    assert one == 1 < several


def test_an_option_that_xla_does_not_have_is_refused() -> None:
    with pytest.raises(UnreadableProgram, match="xla_no_such_option"):
        executing.compile_bytecode(doubling(), {"xla_no_such_option": True})


@pytest.mark.parametrize("dtype", ["complex128", "int4", "float8_e4m3fn", "bfloat16", "bool", "int64"])
def test_arrays_of_any_dtype_travel(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    arrays = [np.array([[0, 1], [1, 0]]).astype(kind), np.array(1).astype(kind), np.empty((0, 3), kind)]
    calls = [arrays, arrays[::-1], []]
    described, packed = xla.pack_calls(calls)
    assert len(packed) == 2, "an array of several calls travels once, an empty one not at all"
    for found, given in zip(xla.unpack_calls(described, packed), calls, strict=True):
        assert [each.dtype for each in found] == [each.dtype for each in given]
        assert [(each.shape, each.tobytes()) for each in found] == [(each.shape, each.tobytes()) for each in given]


def test_without_an_executor_no_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executing, "_in_use", [])
    with pytest.raises(RuntimeError, match="expected an executor of programs, found none"):
        executing.compile_bytecode(doubling())


@contextmanager
def programs_apart_from_others() -> Iterator[ProgramWorker]:
    with ExitStack() as stack:
        worker = ProgramWorker(300, stack)
        stack.enter_context(executing.using(worker))
        yield worker


def hurry(worker: ProgramWorker) -> None:
    """Once it is started, which may take long on a busy machine, it is given two seconds a request."""
    side = worker.current()
    side.wait_until_started()
    side._timeout_s = 2


def doubling() -> bytes:
    return exported(lambda x: x * 2, MATRIX)


def test_a_kept_worker_serves_the_next_block_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executing, "_in_use", [])
    pids: list[int] = []
    for stopped in (False, True, False):
        with programs_kept(lambda: None, 300) as stop:
            executor = executing.current()
            assert isinstance(executor, ProgramWorker)
            executing.compile_bytecode(exported(jnp.sin, MATRIX))([MATRIX])
            pids.append(executor.current().pid)
            if stopped:
                stop()
    assert pids[0] == pids[1] != pids[2]
    assert not executing.in_use()


def test_a_check_that_is_interrupted_asks_a_kept_worker_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executing, "_in_use", [])

    def interrupted() -> None:
        raise KeyboardInterrupt

    with programs_kept(interrupted, 300), pytest.raises(KeyboardInterrupt):
        executing.compile_bytecode(exported(jnp.sin, MATRIX))
    with programs_kept(lambda: None, 300):
        executing.compile_bytecode(exported(jnp.sin, MATRIX))
