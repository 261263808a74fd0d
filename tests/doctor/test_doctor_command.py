"""`jaxport doctor` as it is used: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compare import cli
from compare.report.doctor_page import page_stem

CODE = """
import numpy as np
import tensorflow as tf

@tf.function(input_signature=[tf.TensorSpec([None, 4]), tf.TensorSpec([None], tf.string)])
def f(x, words):
    tf.print("called")
    drawn = np.random.rand()
    length = tf.strings.length(words)
    return tf.nn.leaky_relu(x) * drawn, tf.unique(length), tf.numpy_function(np.sin, [x], tf.float32)
"""


@pytest.mark.process
def test_a_function_is_traced_and_its_lines_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["doctor", "mine.py:f", "--strict", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["inputs"] == [{"name": "x", "type": "float32[?,4]"}, {"name": "words", "type": "string[?]"}]
    lines = {
        (each["severity"], each["subject"], place["source"].rpartition("/")[2])
        for each in found["findings"]
        for place in each["places"]
    }
    assert {
        ("blocker", "PrintV2", "mine.py:7"),
        ("attention", "Python", "mine.py:8"),
        ("blocker", "StringLength", "mine.py:9"),
        ("attention", "LeakyRelu", "mine.py:10"),
        ("attention", "Unique", "mine.py:10"),
        ("blocker", "PyFunc", "mine.py:10"),
    } <= lines
    page = (tmp_path / "jaxport-doctor" / "mine.f.html").read_text()
    assert "PyFunc" in page and "mine.py:10" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "expected the folder of a SavedModel, a .keras or .h5 file or FILE.py:NAME, found 'nowhere'"),
        (["model.keras", "--input", "x=f32[3]"], "expected --input with FILE.py:NAME"),
        (["my.py:f", "--input", "x=f32[3]", "--input", "x=f32[3]"], "found 'x' twice"),
        (["my.py:f", "--input", "x"], "expected an input like"),
        (["my.py:f", "--tf-python", "nowhere"], "--tf-python"),
    ],
)
def test_what_cannot_be_carried_out_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["doctor", *arguments]) == 2
    out, error = capsys.readouterr()
    assert out == "" and len(error.splitlines()) == 1 and said in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "stem"),
    [
        ("a/b/model.keras", "model"),
        ("my_tf.py:f", "my_tf.f"),
        ("a/saved_model/", "saved_model"),
        ("../x y.keras", "x_y"),
    ],
)
def test_the_page_has_the_name_of_the_model(target: str, stem: str) -> None:
    assert page_stem(target) == stem
