"""Results of TensorFlow as arrays: a scalar in bfloat16 too, whichever request asks for it."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from compare import cli
from tf_reference._attempting import attempt
from tf_reference._host_arrays import on_host

CODE = """
import tensorflow as tf

def small(x):
    return tf.cast(tf.reduce_sum(x**2), tf.bfloat16)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scalar_of_few_bits.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_copy_of_a_scalar_in_bfloat16() -> None:
    array = on_host(tf.constant(1.5, tf.bfloat16))
    assert array.dtype == ml_dtypes.bfloat16 and array.shape == () and float(array) == 1.5
    assert on_host(2.0) == 2.0


def test_what_is_tried_may_give_one() -> None:
    found = attempt("scalar_of_few_bits:small", None, {"x": np.full(4, 2.0, np.float32)}, profile=False)
    assert float(found.outputs["0"]) == 16.0


@pytest.mark.process
def test_with_and_without_grappler_it_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["grappler", "scalar_of_few_bits.py:small", "--input", "x=f32[8]", "--expect-bit-equal"]
    assert cli.main(asked) == 0
    assert "results with and without Grappler: equal to the last bit" in capsys.readouterr().out
