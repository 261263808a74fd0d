"""`jaxport tune --target`: options screened for a device that is not here. Needs what `make targets` builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PAIR = """
import jax, tensorflow as tf
def tf_f(x): return tf.nn.relu(x @ x)
def jax_f(x): return jax.nn.relu(x @ x)
"""
FUNCTIONS = ("--tf", "pair.py:tf_f", "--jax", "pair.py:jax_f", "--input", "x=f32[256,256]")


def tune(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "pair.py").write_text(PAIR)
    command = [sys.executable, "-P", "-m", "compare", "tune", *FUNCTIONS, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_each_option_is_compiled_and_what_it_changes_is_counted(tmp_path: Path) -> None:
    options = ("--option", "xla_gpu_enable_triton_gemm=true,false", "--option", "xla_gpu_nonsense=true")
    ran = tune(tmp_path, "--target", "H100", *options, "--json")
    assert ran.returncode == 0, ran.stderr
    (workload,) = json.loads(ran.stdout)["workloads"].values()
    rows = {row["name"]: row for row in workload["targets"]["H100"]["rows"]}
    assert rows["default"]["cell"]["library_calls"] == {"Triton": 1}
    assert rows["xla_gpu_enable_triton_gemm=true"]["same"]
    assert rows["xla_gpu_enable_triton_gemm=false"]["cell"]["library_calls"] == {"cuBLASLt": 1}
    assert not rows["xla_gpu_enable_triton_gemm=false"]["same"]
    assert "xla_gpu_nonsense" in rows["xla_gpu_nonsense=true"]["cell"]["reason"]
    # What did not compile promises nothing.
    assert list(rows)[-1] == "xla_gpu_nonsense=true"


def test_it_says_that_it_is_a_screen(tmp_path: Path) -> None:
    ran = tune(tmp_path, "--target", "V100", "--option", "xla_gpu_enable_triton_gemm=false")
    assert ran.returncode == 0, ran.stderr
    assert "it says nothing of times" in ran.stdout


def test_without_options_for_a_platform_or_its_packages_one_line_says_so(tmp_path: Path) -> None:
    no_options = tune(tmp_path, "--target", "v5e:2x2")
    assert (no_options.returncode, no_options.stdout) == (2, "")
    assert "--option" in no_options.stderr.splitlines()[-1]
    no_packages = tune(tmp_path, "--target", "H100", "--target-python", sys.executable)
    assert (no_packages.returncode, no_packages.stdout) == (2, "")
    assert "make targets" in no_packages.stderr.splitlines()[-1]
