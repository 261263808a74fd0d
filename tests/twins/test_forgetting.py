"""What TensorFlow keeps of one twin is gone before the next: files of AutoGraph, which would grow with every port."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
import tensorflow as tf

from tf_reference import _forgetting


def doubled(x: tf.Tensor) -> tf.Tensor:
    if tf.reduce_sum(x) > 0:
        return x * 2
    return x


def test_files_that_autograph_wrote_are_gone_and_what_it_converted_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    converted = tf.function(doubled)
    assert converted(tf.ones(3)).numpy().tolist() == [2.0] * 3
    written = {path.stem for path in tmp_path.glob(f"{_forgetting.GENERATED}*")}
    assert written and written <= sys.modules.keys(), "AutoGraph names them otherwise now"
    (tmp_path / f"{_forgetting.GENERATED}_of_another_process.py").touch()
    _forgetting.forget()
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == [f"{_forgetting.GENERATED}_of_another_process.py"]
    assert converted(-tf.ones(4)).numpy().tolist() == [-1.0] * 4, "traced anew, from what was converted"
    _forgetting.forget()
