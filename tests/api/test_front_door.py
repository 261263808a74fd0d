"""What `import jaxport` costs, and that its public names are found without the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FRAMEWORKS = ("tensorflow", "keras", "jax", "flax", "numpy", "compare", "workloads", "tf_reference")
IMPORTING = f"""
import sys, time
start = time.perf_counter()
import jaxport
seconds = time.perf_counter() - start
assert not set(sys.modules) & set({FRAMEWORKS}), set(sys.modules) & set({FRAMEWORKS})
jaxport.ArraySpec, jaxport.Workload, jaxport.Training, jaxport.Deviation, jaxport.RequestError, jaxport.check
jaxport.testing.assert_ports_match
assert not set(sys.modules) & {{"tensorflow", "keras", "jax", "flax"}}
print(seconds)
"""
BESIDE_OTHERS = """
import jax.numpy as jnp, tensorflow as tf
import compare, jaxport
assert jaxport.check(tf.tanh, jnp.tanh, {"x": "f32[2]"}).passed
assert compare.MINE and __import__("compare") is compare
"""


def run(script: str, folder: Path) -> str:
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-W", "error::ResourceWarning", "script.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and "ResourceWarning" not in done.stderr, done.stderr[-2000:]
    return done.stdout


@pytest.mark.process
def test_the_import_loads_no_framework_and_no_judge_and_takes_no_time(tmp_path: Path) -> None:
    assert min(float(run(IMPORTING, tmp_path)) for _ in range(3)) < 0.1


@pytest.mark.process
def test_a_project_whose_own_package_is_called_compare_checks_its_ports(tmp_path: Path) -> None:
    """With workers, and in a process that imports nothing of the tests."""
    (tmp_path / "compare.py").write_text("MINE = True\n")
    run(BESIDE_OTHERS, tmp_path)
