"""What is exported runs without the port's code: by jaxlib and NumPy alone, by jax.export, and by TensorFlow."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compare import cli
from compare.bundles import run_exported
from compare.bundles.exporting import npz
from compare.bundles.run_exported import arrays
from compare.sides.wire import DTYPES

pytestmark = pytest.mark.process

FUNCTIONS = """
import jax.numpy as jnp, tensorflow as tf

def f(x, half, n):
    return {"root": tf.linalg.cholesky(x @ tf.transpose(x) + tf.eye(4)), "half": half * half, "count": n + 1}

def g(x, half, n):
    return {"root": jnp.linalg.cholesky(x @ x.T + jnp.eye(4)), "half": half * half, "count": n + 1}
"""

WITHOUT_JAX = "import runpy, sys; sys.modules['jax'] = sys.modules['tensorflow'] = None; sys.argv[:] = sys.argv[1:]; " \
    "runpy.run_path(sys.argv[0], run_name='__main__')"  # fmt: skip

SAVED = """
import sys, numpy as np, tensorflow as tf
run = tf.saved_model.load(sys.argv[1] + "/saved_model").signatures["serving_default"]
example = np.load(sys.argv[1] + "/example.npz")
found = run(**{name[6:]: tf.constant(example[name]) for name in example.files if name.startswith("input/")})
print({name: float(abs(value - example["result/" + name]).numpy().max()) for name, value in found.items()})
"""

OF_JAX = """
import sys, jax
exported = jax.export.deserialize(bytearray(open(sys.argv[1] + "/program.jax_export", "rb").read()))
print(len(exported.in_avals), [str(each) for each in exported.out_avals])
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_JAX, str(folder / "run.py"), *arguments]
    return subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, timeout=120, check=False)


def test_an_older_jaxlib_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxlib.version.__version_info__", (0, 7, 2))
    monkeypatch.setattr("jaxlib.version.__version__", "0.7.2")
    with pytest.raises(SystemExit, match=r"expected jaxlib 0\.8 or newer, found 0\.7\.2: install one"):
        runpy.run_path(run_exported.__file__)


def said(code: str, folder: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=120, check=True
    )
    return ran.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "model"
    assert cli.main(["export", "mnist_mlp", "--size", "smoke", "-o", str(folder)]) == 0
    return folder


def test_a_model_runs_by_jaxlib_alone_by_tensorflow_and_by_jax(model: Path) -> None:
    assert (found := run(model)).returncode == 0 and "output: differs by" in found.stdout, found.stderr
    assert float(said(SAVED, model).partition(": ")[2].rstrip("}")) < 1e-5
    assert said(OF_JAX, model).endswith("['float32[32,10]']")


def test_another_weight_is_noticed(model: Path, tmp_path: Path) -> None:
    for file in model.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = dict(np.load(model / "weights.npz"))
    weights["weight/hidden/bias"] = weights["weight/hidden/bias"] + 1
    np.savez(tmp_path / "weights.npz", **weights)
    assert run(tmp_path).returncode == 1


def test_an_example_of_other_results_is_refused(model: Path, tmp_path: Path) -> None:
    for file in model.glob("*.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    example = dict(np.load(model / "example.npz"))
    result = example.pop("result/output")
    for planted in ({}, {"result/output": result[:1]}, {"result/output": result, "result/other": result}):
        np.savez(tmp_path / "example.npz", **example, **planted)
        refused = run(tmp_path)
        assert refused.returncode == 1 and refused.stderr.startswith(
            "expected in the example result/output of float32["
        )
        assert "Traceback" not in refused.stderr


def test_other_inputs_give_results_and_wrong_ones_a_line(model: Path, tmp_path: Path) -> None:
    shape = next(
        each["shape"]
        for each in json.loads((model / "export.json").read_text())["parameters"]
        if each["kind"] == "input"
    )
    np.savez(tmp_path / "given.npz", images=np.zeros(shape, np.float32))
    assert run(model, str(tmp_path / "given.npz"), str(tmp_path / "made.npz")).returncode == 0
    assert np.ptp(np.load(tmp_path / "made.npz")["output"], axis=0).max() == 0, "every example is the same"
    np.savez(tmp_path / "given.npz", images=np.zeros((2, 2), np.float32))
    refused = run(model, str(tmp_path / "given.npz"), str(tmp_path / "made.npz"))
    assert (
        refused.returncode == 1 and "expected images of float32" in refused.stderr and "Traceback" not in refused.stderr
    )


def test_calls_of_lapack_and_types_that_numpy_lacks_are_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "both.py").write_text(FUNCTIONS)
    given = [f"{tmp_path}/both.py:{name}" for name in "fg"]
    inputs = [part for spec in ("x=f32[4,4]", "half=bf16[3]", "n=i32[2]:0..9") for part in ("--input", spec)]
    folder = tmp_path / "exported"
    # TensorFlow's XLA has no such call of LAPACK: the SavedModel alone is missing, and a line says so.
    assert cli.main(["export", "--tf", given[0], "--jax", given[1], *inputs, "-o", str(folder)]) == 1
    assert "jaxport: tf: compile:" in capsys.readouterr().err and not (folder / "saved_model").exists()
    assert (found := run(folder)).returncode == 0, found.stdout + found.stderr
    example = arrays(folder / "example.npz")
    assert example["input/half"].dtype.name == "bfloat16" and example["result/count"].dtype == np.int32


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type_come_back_from_a_file(tmp_path: Path, dtype: str) -> None:
    array = np.array([[0, 1], [1, 0]]).astype(dtype)
    (tmp_path / "arrays.npz").write_bytes(npz({"x": array, "scalar": np.asarray(array[0, 1])}))
    found = arrays(tmp_path / "arrays.npz")
    assert found["x"].dtype == found["scalar"].dtype == array.dtype
    np.testing.assert_array_equal(found["x"], array)


def test_what_it_compiles_to_is_told_with_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "add", "-o", str(tmp_path / "add")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == str(tmp_path / "add") and any(line.startswith("  program.mlirbc: ") for line in shown)
    for side in ("jax", "tf"):
        assert any(
            re.fullmatch(rf"  compiled by the XLA of {side}: optimized module [\d.]+ \w+, "
                         r"serialized executable [\d.]+ \w+", line)
            for line in shown
        ), shown  # fmt: skip


def test_a_folder_that_is_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "add", "-o", str(tmp_path)]) == 2
    assert "expected a new path for the export" in capsys.readouterr().err
