"""What TensorFlow's own profiler writes of a training step is read: as a graph and compiled whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compare.profiles.finding_profiles import find
from compare.profiles.reading import read_profile
from compare.record.profile_part import INSTRUCTION, NODE, ReadProfile

SCRIPT = """
import sys
import tensorflow as tf

weight = tf.Variable(tf.ones((256, 256)))


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.tanh(tf.matmul(x, weight)))
    weight.assign_sub(0.1 * tape.gradient(loss, weight))


x = tf.ones((128, 256))
for folder, compiled in (("graph", None), ("jit", True)):
    call = tf.function(step, jit_compile=compiled)
    call(x)
    tf.profiler.experimental.start(folder)
    for _ in range(3):
        call(x)
    tf.profiler.experimental.stop()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=folder, check=True, capture_output=True)
    return folder


def phases(profile: ReadProfile) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for kernel in profile.kernels:
        found.setdefault(kernel.phase, set()).add(kernel.opcode)
    return found


@pytest.mark.process
def test_nodes_of_a_graph_and_instructions_of_a_module_stand_under_their_phases(recorded: Path) -> None:
    graph, jit = (read_profile(find(recorded / name)) for name in ("graph", "jit"))
    assert {kernel.kind for kernel in graph.kernels} == {NODE} and {kernel.kind for kernel in jit.kernels} == {
        INSTRUCTION
    }
    products = [kernel for kernel in graph.kernels if "MatMul" in kernel.opcode]
    assert {kernel.phase for kernel in products} == {"forward", "backward"}
    assert all(kernel.runs == 3 for kernel in products)
    assert {"forward", "backward", "optimizer"} <= phases(jit).keys()
    assert "dot" in phases(jit)["forward"] and "dot" in phases(jit)["backward"]
    assert any("no module names a line" in note for note in jit.notes) and not jit.lines
