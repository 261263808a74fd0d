"""What TensorFlow compiled once is not compiled again when the mode is switched."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import tempfile
from pathlib import Path
import tensorflow as tf
from tf_reference import _framework, _mode_calls, _private

framework = _framework.TensorFlow() if {settled} else None
staged = tf.function(lambda x: tf.sin(x) * x, jit_compile=True)
argument = tf.ones(4)
staged(argument)
with tempfile.TemporaryDirectory() as folder:
    with _mode_calls.switch("jit"), tf.profiler.experimental.Profile(folder):
        staged(argument)
    (trace,) = Path(folder).rglob("*.xplane.pb")
    print(sum(event.name.endswith("Compiler::RunBackend") for event in _private.events(trace.read_bytes())))
"""


@pytest.mark.process
@pytest.mark.parametrize(("settled", "compilations"), [(True, "0"), (False, "1")])
def test_a_side_settles_the_switch_before_it_compiles(settled: bool, compilations: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(settled=settled)], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split()[-1] == compilations
