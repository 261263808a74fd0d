"""Grappler asked of TensorFlow itself: what it changes, by which pass, and what it may not be asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compare import cli

pytestmark = pytest.mark.process

CODE = """
import tensorflow as tf

weights = tf.Variable(tf.ones([4, 4]))

@tf.function
def inner(x):
    return tf.sin(x) * 2.0

def fused(x):
    y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights), tf.ones([4])))
    if tf.reduce_sum(y) > 1e9:
        y = inner(y)
    return y + tf.transpose(tf.transpose(x)) + tf.constant(2.0) * 3.0

def eager_only(x):
    return tf.constant(x.numpy())

@tf.function(experimental_attributes={"_noinline": True})
def kept(x, k):
    return tf.identity(tf.sin(x) * k, name="handed_on")

def calling(x):
    return kept(x, tf.constant(2.0)) + x * 1.0

def random(x):
    return x + tf.random.normal([4, 4])

tf.config.optimizer.set_experimental_options({"implementation_selector": False})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "f.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changes(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in record["rewrites"]}


def test_the_power_of_the_running_example_is_a_square(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compilation", "grappler", "running_example", "--expect-bit-equal"]) == 0
    text = capsys.readouterr().out
    assert "arithmetic_optimization (not made without)\n    Pow → Square\n      running_example.py" in text
    assert "results with and without Grappler: equal to the last bit" in text
    record = json.loads((folder / "jaxport-grappler" / "grappler.json").read_text())
    found = changes(record)
    assert found["pow"]["after"]["op"] == "Square" and found["pow"]["needs"] == ["arithmetic_optimization"]
    assert found["Identity"]["needs"] == [] and "dependency_optimization" in found["Identity"]["alone"]
    assert record["same_again"] and record["failed"] == {}
    assert record["kernels"]["eager"]["Pow"] == 1 and record["kernels"]["graph"]["Square"] == 1
    assert "Square" in (folder / "jaxport-grappler" / "running_example.html").read_text()


def test_fusing_folding_and_inlining_each_by_what_shows_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compilation", "grappler", "f.py:fused", "--input", "x=f32[4,4]", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    found = changes(record)
    assert found["Relu"]["kind"] == "fused" and found["Relu"]["needs"] == ["remapping"]
    assert found["MatMul"]["into"] == ["Relu"] and "tf.matmul" in found["MatMul"]["before"]["line"]
    assert found["mul"]["kind"] == "folded" and found["mul"]["after"]["constant"]["text"] == "6.0"
    assert found["mul"]["needs"] == ["constant_folding"]
    assert found["transpose_1"]["needs"] == ["arithmetic_optimization"] and found["transpose_1"]["after"] is None
    # The file itself has switched it off: to switch it off once more is no experiment.
    assert set(record["failed"]) <= {"without implementation_selector", "implementation_selector alone"}
    assert "its own code sets them" in record["failed"]["without implementation_selector"]
    # The runtime inlines and lowers: without Grappler there is no call either.
    assert record["traced"]["StatelessIf"] == 1 and record["traced"]["PartitionedCall"] == 1
    assert not {node["op"] for node in record["before"]} & {"StatelessIf", "PartitionedCall"}


def test_a_function_that_is_left_as_a_call_has_results_and_what_it_became_is_not_known(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compilation", "grappler", "f.py:calling", "--input", "x=f32[4,4]"]) == 0
    text = capsys.readouterr().out
    assert "nothing read it" not in text and "after Grappler is not known: TensorFlow shows the call" in text
    record = json.loads((folder / "jaxport-grappler" / "grappler.json").read_text())
    body = {each["name"]: each for each in record["before"] if "_kept_" in each["name"]}
    returned = next(each for each in body.values() if each["op"] == "_Retval")
    assert returned["inputs"][0].partition(":")[0] in body
    assert {changes(record)[name]["kind"] for name in body} == {"gone"}


def test_random_numbers_are_not_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compilation", "grappler", "f.py:random", "--input", "x=f32[4,4]", "--expect-bit-equal"]) == 1
    captured = capsys.readouterr()
    assert "results: not comparable: two calls of the same graph differ" in captured.out
    assert "expected results of f.py:random equal to the last bit, found results: not comparable" in captured.err


def test_what_cannot_be_traced_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compilation", "grappler", "f.py:eager_only", "--input", "x=f32[4,4]"]) == 2
    assert "object has no attribute 'numpy'" in capsys.readouterr().err
    assert cli.main(["compilation", "grappler", "running_example", "--input", "x=f32[4,4]"]) == 2
    assert "expected FILE.py:FUNCTION with --input, found running_example: drop --input" in capsys.readouterr().err
