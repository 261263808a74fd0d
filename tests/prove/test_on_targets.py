"""Programs compiled for devices that are not here: what is counted, what is held against each other, what is refused.

Needs the environment that `make targets` builds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare.devices import describing
from compare.devices.describing import Made
from compare.devices.ladder import ladders
from compare.devices.naming import device
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import Subject
from compare.sides._side import SideError
from compare.sides.device_worker import DeviceWorker, interpreter, missing

X = np.ones((512, 512), np.float32)


@pytest.fixture(scope="module")
def worker() -> Iterator[DeviceWorker]:
    with ExitStack() as stack:
        made = DeviceWorker(interpreter(None), 300, stack)
        assert not missing(made, device("H100")), "build the environment with `make targets`"
        yield made


@pytest.fixture
def compiled(worker: DeviceWorker, tmp_path: Path):
    """Compiles a function for a device; the module, and what is said of it."""

    def compile_(name: str, function, *arguments):
        artifact, where = exported(function, *arguments), device(name)
        folder = tmp_path / name.replace(":", "-")
        folder.mkdir()
        made = worker.compile(where, artifact, folder, {})
        on_gpu = where.platform == "gpu"
        assembled = worker.assemble(folder) if on_gpu else {}
        memory = {use: getattr(made.takes, f"{use}_bytes") for use in ("argument", "output", "temp", "alias", "code")}
        program = Subject("jax", hlo_of_artifact(artifact))
        whole = Made(
            artifact, program, Subject("jax@jax", made.module), memory, folder if on_gpu else None,
            {file: one.report for file, one in assembled.items()},
        )  # fmt: skip
        return whole, describing.describe(where, whole)

    return compile_


@pytest.mark.parametrize("name", ["H100", "A100", "V100", "T4"])
def test_a_reduction_of_everything_takes_a_second_kernel_on_a_gpu(compiled, name):
    _, cell = compiled(name, lambda x, y: jnp.mean(x**2 * 3 + y), X, X)
    assert cell.fusions == cell.kernels == cell.launches
    assert 2 <= (cell.launches or 0) <= 3
    first = cell.launched[0]
    assert first.registers and first.grid and first.occupancy and first.bytes
    assert cell.bound_by == "memory"
    # Both operands are read; what the kernels hand to each other is a few kilobytes.
    assert X.nbytes * 2 <= (cell.bytes or 0) <= X.nbytes * 2 + 1e5


@pytest.mark.parametrize("name", ["v2:2x2", "v4:2x2x1", "v5e:2x2", "v5e:1x1", "v5p:2x2x1", "v6e:2x2"])
def test_a_tpu_has_kernels_and_no_launches(compiled, name):
    _, cell = compiled(name, lambda x, y: jnp.mean(x**2 * 3 + y), X, X)
    assert cell.kernels and cell.launches is None and cell.launched == ()
    assert cell.bound_s and cell.fits


def test_a_product_is_a_librarys_where_triton_has_no_units_for_it(compiled):
    _, on_v100 = compiled("V100", lambda x, y: jax.nn.relu(x @ y), X, X)
    _, on_h100 = compiled("H100", lambda x, y: jax.nn.relu(x @ y), X, X)
    assert on_v100.library_calls == {"cuBLASLt": 1}
    assert on_h100.library_calls == {"Triton": 1}
    # The product is split along its contraction; XLA's own kernel adds the parts and applies the activation.
    assert [launch.library for launch in on_h100.launched] == ["Triton", ""]
    assert on_h100.flops == pytest.approx(2 * 512**3, rel=0.01)


def test_a_sort_is_one_operation_and_many_launches(compiled):
    _, cell = compiled("H100", lambda x: jnp.sort(x.reshape(-1)), X)
    assert (cell.launches or 0) > 10 * (cell.kernels or 99)


def test_a_loops_body_counts_once_and_a_note_says_so(compiled):
    _, cell = compiled("H100", lambda x: jax.lax.fori_loop(0, 100, lambda _, y: jnp.tanh(y @ x), x), X)
    assert (cell.launches or 99) < 20
    assert any("loop" in note for note in cell.notes)


def test_an_update_in_place_moves_a_row_and_no_more(compiled):
    def update(x, row):
        return jax.lax.fori_loop(0, 10, lambda i, y: y.at[i].set(row), x)

    _, cell = compiled("H100", update, X, X[0])
    updates = [launch for launch in cell.launched if "update" in launch.instruction]
    assert updates and all((launch.bytes or 1e9) < 4 * X[0].nbytes for launch in updates)


def test_a_kernel_is_shown_from_stablehlo_to_ptx(compiled):
    made, cell = compiled("H100", lambda x: jax.nn.softmax(x) * 2, X)
    ladder = ladders(made, cell.launched)[0]
    assert [level.name for level in ladder.levels][:4] == ["StableHLO", "HLO", "LLVM IR", "PTX"]
    texts = {level.name: level.text for level in ladder.levels}
    assert "stablehlo.exponential" in texts["StableHLO"]
    assert ladder.instruction in texts["HLO"]
    assert f".entry {ladder.kernel}" in texts["PTX"]


def test_what_does_not_fit_is_said(compiled):
    # 24 GiB of intermediates, of which a V100 has room for 16; nothing runs, so nothing is needed here.
    long = jax.ShapeDtypeStruct((80_000,), jnp.float32)
    _, cell = compiled("V100", lambda x: jnp.sort(x[:, None] * x[None, :], axis=0)[0], long)
    assert cell.fits is False
    assert (cell.peak_bytes or 0) > 24e9


def test_a_tpu_refuses_what_does_not_fit_and_the_next_program_is_compiled(worker, compiled, tmp_path):
    long = jax.ShapeDtypeStruct((80_000,), jnp.float32)
    program = exported(lambda x: jnp.sort(x[:, None] * x[None, :], axis=0), long)
    with pytest.raises(SideError) as refused:
        worker.compile(device("v5e:2x2"), program, tmp_path, {})
    assert "RESOURCE_EXHAUSTED" in refused.value.reason and "\n" not in refused.value.reason
    _, cell = compiled("v5e:2x2", jnp.tanh, X)
    assert cell.kernels


def test_damaged_bytes_cost_one_line(worker, tmp_path):
    with pytest.raises(SideError, match="expected StableHLO"):
        worker.compile(device("H100"), b"no program", tmp_path, {})


PAIR = """
import jax.numpy as jnp, tensorflow as tf
def tf_f(x): return tf.reduce_mean(x * x * 3.0 + x)
def jax_f(x): return jnp.mean(x * x * 3.0 + x)
def jax_other(x): return jnp.mean(x * x * 3.5 + x)
def jax_sorted(x): return jnp.mean(jnp.sort(x * x * 3.0 + x, axis=0))
"""


def hlo(folder: Path, *arguments: str) -> tuple[int, dict]:
    """The exit code of `jaxport hlo`, and what it says of each target."""
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "compare", "hlo", *arguments, "--json"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)["pairs"][0]["targets"]


def pair(folder: Path, jax_function: str, *arguments: str) -> tuple[int, dict]:
    (folder / "pair.py").write_text(PAIR)
    functions = ("--tf", "pair.py:tf_f", "--jax", f"pair.py:{jax_function}", "--input", "x=f32[256,128]")
    return hlo(folder, *functions, *arguments)


def test_both_frontends_programs_are_one_on_every_device(tmp_path):
    equal = ("--expect-equal", "optimized")
    code, targets = pair(tmp_path, "jax_f", "--target", "H100", "--target", "v5e:2x2", *equal)
    assert code == 0
    for target in targets.values():
        assert target["equal"] and not target["differences"]
        assert target["tf@jax"]["kernels"] == target["jax@jax"]["kernels"]
        assert target["tf@jax"]["launched"] is not None
    assert targets["H100"]["tf@jax"]["lowered_for"] == "gpu"


def test_a_sort_more_is_found_on_the_device(tmp_path):
    code, targets = pair(tmp_path, "jax_sorted", "--target", "H100", "--expect-equal", "optimized")
    assert code == 1
    h100 = targets["H100"]
    assert not h100["equal"]
    assert h100["tf@jax"]["launches"] < h100["jax@jax"]["launches"]
    assert any(line.startswith("launches: ") for line in h100["differences"])


def test_another_constant_is_found_where_all_figures_agree(tmp_path):
    code, targets = pair(tmp_path, "jax_other", "--target", "H100", "--expect-equal", "optimized")
    assert code == 1
    assert not targets["H100"]["equal"]
    assert targets["H100"]["tf@jax"]["launches"] == targets["H100"]["jax@jax"]["launches"]


def test_without_the_packages_each_target_says_what_to_install(tmp_path):
    python = ("--target-python", sys.executable)
    equal = ("--expect-equal", "optimized")
    code, targets = pair(tmp_path, "jax_f", "--target", "H100", "--target", "v5e", *python, *equal)
    # Nothing is known of either device: CI must not take that for equality.
    assert code == 1
    for target, package in ((targets["H100"], "jax-cuda12-pjrt"), (targets["v5e:2x2"], "libtpu")):
        assert package in target["jax@jax"]["reason"] and "make targets" in target["jax@jax"]["reason"]
        assert target["jax@jax"]["kernels"] is None


def test_the_largest_batch_fills_the_memory_of_the_device(tmp_path):
    of_t4 = device("T4")
    config = of_t4.topology["target_config"]
    small = config.replace(f"device_memory_size:{of_t4.memory_bytes}", "device_memory_size:8000000")
    assert small != config
    (tmp_path / "small.pbtxt").write_text(small)
    code, targets = hlo(tmp_path, "mnist_mlp", "--size", "smoke", "--target", "small.pbtxt", "--largest-batch")
    assert code == 0
    (target,) = targets.values()
    for cell in (target["tf@jax"], target["jax@jax"]):
        assert cell["fits"]
        assert 1000 < cell["largest_batch"] < cell["too_large_batch"] < 100_000


def test_a_training_step_overwrites_on_both_sides_what_it_updates(tmp_path):
    code, targets = hlo(tmp_path, "mnist_mlp", "--size", "smoke", "--target", "H100", "--target", "v5e:2x2")
    assert code == 0
    for target in targets.values():
        assert target["tf@jax"]["kernels"] and target["jax@jax"]["kernels"]
        assert not [line for line in target["differences"] if line.startswith("parameters updated in place")]
