"""Ports whose code is careless with its process, or hostile: refused, caught or told of, each in one line."""

from __future__ import annotations

import os
import select
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from compare.inputs.at_size import prepare
from compare.sides import requests
from compare.sides._side import SideError
from compare.sides.client import LiveSide
from compare.sides.replies import Changed
from workloads import ArraySpec, Workload

pytestmark = pytest.mark.process

HEAD = "import os\n\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n\n\n"
EVERY_FILE = """for file in range(3, 60):
        try:
            os.write(file, LINE)
        except OSError:
            pass"""


@pytest.fixture
def jax(tmp_path: Path) -> Iterator[LiveSide]:
    side = LiveSide("jax", tmp_path, timeout_s=60)
    yield side
    side.close()


def loaded(side: LiveSide, folder: Path, code: str) -> None:
    """The function `f` of a file, loaded."""
    (folder / "port.py").write_text(HEAD + code)
    workload = Workload("f", "port.py:f", "port.py:f", {"x": ArraySpec((3,))}, builds=False, folder=folder)
    requests.load(side, prepare(workload, "default", None, Path(tempfile.mkdtemp(dir=folder))).loading)


def outputs(side: LiveSide, mode: str = "jit") -> np.ndarray:
    return requests.outputs(side, mode, "forward", "seed0", "float32")["output"]


def test_a_child_that_a_port_forks_answers_nothing(jax: LiveSide, tmp_path: Path) -> None:
    loaded(jax, tmp_path, "def f(x):\n    return x * (0 if os.fork() == 0 else 2)\n")
    first = outputs(jax, "eager")
    for _ in range(3):
        np.testing.assert_array_equal(outputs(jax, "eager"), first)
    loaded(jax, tmp_path, "def f(x):\n    return x * 0 + 7\n")
    np.testing.assert_array_equal(outputs(jax), np.full(3, 7, np.float32))
    assert first.any()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux kills a child with its parent")
def test_a_child_that_hangs_with_the_lock_of_python_does_not_outlive_the_worker(jax: LiveSide, tmp_path: Path) -> None:
    code = """import ctypes


def f(x):
    child = os.fork()
    if child == 0:
        ctypes.PyDLL(None).pause()
    with open(os.path.join(os.path.dirname(__file__), "child"), "w") as file:
        file.write(str(child))
    return x * 2
"""
    loaded(jax, tmp_path, code)
    outputs(jax, "jit")
    child = os.pidfd_open(int((tmp_path / "child").read_text()))
    try:
        assert not select.select([child], [], [], 0)[0]
        jax.close()
        assert select.select([child], [], [], 30)[0]
    finally:
        os.close(child)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"ok": true, "value": {}, "arrays": true}\n', "found another one"),
        (b'{"ok": true, "value": {}, "arrays": false, "number": 99}\n', "found another one"),
        (b"chatter\n", "found 'chatter'"),
    ],
    ids=["without a number", "of another number", "no reply"],
)
def test_a_reply_that_a_port_writes_itself_is_not_taken(jax: LiveSide, tmp_path: Path, line: bytes, found: str) -> None:
    loaded(jax, tmp_path, f"LINE = {line!r}\n\n\ndef f(x):\n    {EVERY_FILE}\n    return x * 2\n")
    with pytest.raises(SideError, match=rf"expected the reply to this request, {found}: the port's code writes") as of:
        outputs(jax)
    assert of.value.lost


def test_arrays_that_a_port_removes_or_damages_are_not_taken(jax: LiveSide, tmp_path: Path) -> None:
    code = (
        "import compare.sides.wire as wire\nwire.save_file = lambda arrays, path: open(path, 'w').write('none')\n\n\n"
    )
    loaded(jax, tmp_path, f"{code}def f(x):\n    return x * 2\n")
    with pytest.raises(SideError, match="expected the reply to this request, found none that can be read"):
        outputs(jax)


def test_a_port_that_keeps_jax_from_compiling_has_no_compiled_mode(jax: LiveSide, tmp_path: Path) -> None:
    loaded(jax, tmp_path, "jax.config.update('jax_disable_jit', True)\n\n\ndef f(x):\n    return x * 2\n")
    with pytest.raises(SideError, match=r"expected jax\.jit to compile, found jax_disable_jit: take it out"):
        outputs(jax)


@pytest.mark.slow
def test_an_original_that_runs_functions_eagerly_has_no_traced_mode(tmp_path: Path) -> None:
    side = LiveSide("tf", tmp_path, timeout_s=120)
    try:
        head = (
            "import tensorflow as tf\ntf.config.run_functions_eagerly(True)\ntf.keras.backend.set_floatx('float64')\n"
        )
        loaded(side, tmp_path, f"{head}\n\ndef f(x):\n    return x * 2\n")
        with pytest.raises(SideError, match=r"expected tf\.function to trace, found run_functions_eagerly\(True\)"):
            outputs(side, "graph")
        changed = requests.changed(side).shared
        assert "keras floatx (from float32 to float64)" in changed
        assert "tf.config.functions_run_eagerly (from False to True)" in changed
    finally:
        side.close()


@pytest.mark.parametrize(
    "call",
    ["jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)", "_debugged(x)"],
    ids=["pure_callback", "debug.print"],
)
def test_a_port_that_calls_python_back_has_no_program(jax: LiveSide, tmp_path: Path, call: str) -> None:
    code = "def _debugged(x):\n    jax.debug.print('{}', x)\n    return x * 2\n\n\n"
    loaded(jax, tmp_path, f"{code}def f(x):\n    return {call}\n")
    with pytest.raises(SideError, match="expected a program that XLA runs alone, found a call back into Python"):
        requests.program(jax, "forward", "float32")


@pytest.mark.slow
def test_a_port_that_calls_tensorflow_has_no_program(jax: LiveSide, tmp_path: Path) -> None:
    code = "import tensorflow as tf\nfrom jax.experimental import jax2tf\nf = jax2tf.call_tf(lambda x: tf.tanh(x))\n"
    loaded(jax, tmp_path, code)
    with pytest.raises(SideError, match=r"expected a port in JAX, found TensorFlow, called by jax2tf\.call_tf"):
        requests.program(jax, "forward", "float32")


def test_what_a_port_changes_of_its_process_is_told(jax: LiveSide, tmp_path: Path) -> None:
    loaded(jax, tmp_path, "def f(x):\n    return jnp.tanh(x)\n")
    outputs(jax)
    outputs(jax, "eager")
    requests.program(jax, "forward", "float64")
    assert requests.changed(jax) == Changed()
    code = "jax.config.update('jax_enable_x64', True)\nos.chdir('/')\njnp.tanh = lambda x: x\nnp.array = lambda *a: 3\n"
    loaded(jax, tmp_path, f"{code}\n\ndef f(x):\n    return jnp.tanh(x)\n")
    changed = requests.changed(jax)
    assert [each.partition(" (")[0] for each in changed.shared] == ["jax.config.jax_enable_x64", "the current folder"]
    assert changed.replaced == ("jax.numpy.tanh", "numpy.array")
