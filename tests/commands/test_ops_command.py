"""`jaxport lookup ops`: what it prints of operations, and of a model."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path

import pytest

from compare import cli
from compare.counterparts import raw_operations

FUNCTION = """
import tensorflow as tf


def f(x, n):
    y = tf.math.segment_max(x, n)
    tf.print(y)
    return tf.nn.relu(y), tf.image.non_max_suppression(x, x[:, 0], 3)
"""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["lookup", "ops", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_counts_stand_beside_those_of_documents(capsys) -> None:
    said = printed(capsys)
    counts = raw_operations.read().counts
    assert f"registered {counts['public']:,} {counts['operations']:,} ~1500" in said
    assert f"with a kernel for XLA {counts['public_xla_kernel']} {counts['xla_kernel']} ~500" in said
    assert f"{counts['hlo_opcodes']} ~50" in said


def test_few_operations_are_shown_in_full(capsys) -> None:
    said = printed(capsys, "tf.gather", "Spence")
    assert "tf.gather(x, n, axis=1): jnp.take(x, n, axis=1)" in said and "indexing/gather_beyond" in said
    assert "XLA compiled a call by itself" in said and "constants axis: known at compile time" in said
    assert "cannot compile it: there is no kernel for XLA_CPU_JIT" in said


def test_many_are_a_list(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    said = printed(capsys, "segment", "--not-compilable")
    assert "SegmentSum yes no kernel yes jax.ops.segment_sum" in said and "UnsortedSegmentSum" not in said
    assert "UnsortedSegmentSum" in printed(capsys, "segment", "--compilable")


def test_those_that_are_not_public_are_shown_where_they_are_asked_for(capsys) -> None:
    assert "_FusedConv2D" not in printed(capsys, "--compilable")
    assert "_FusedConv2D" in printed(capsys, "--compilable", "--all")
    assert "no: tf.raw_ops does not have it" in printed(capsys, "_FusedConv2D")


def test_json_has_all_that_is_known(capsys) -> None:
    cli.main(["lookup", "ops", "Conv2D", "MatMul", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["versions"]["tensorflow"] and said["counts"] == raw_operations.read().counts
    convolution = said["operations"][0]
    assert (convolution["name"], convolution["xla"], convolution["gradient"]) == ("Conv2D", "compiled", "registered")
    assert convolution["opcodes"] == ["convolution", "reshape"] and "tf.nn.conv2d" in convolution["counterparts"]
    assert "float32" in convolution["kernels"]["XLA_CPU_JIT"]["T"] and convolution["gotchas"]


def test_another_version_that_is_installed_is_told(capsys, monkeypatch) -> None:
    of = raw_operations.read().versions["tensorflow"]
    assert printed(capsys, "MatMul").endswith(f"TensorFlow {of}")
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.99")
    assert printed(capsys, "MatMul").endswith("TensorFlow 2.99 is installed: --installed reads that one")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["Matmull"], "expected an operation like 'Matmull', found none: did you mean MatMul"),
        (["MatMul", "--missing", "m"], "expected --missing TARGET alone"),
        (["--strict"], "expected --strict with --missing TARGET"),
        (["--input", "x=f32[3]"], "expected --input with --missing FILE.py:NAME"),
        (["--missing", "no_such_folder"], "expected the folder of a SavedModel, a .keras or .h5 file or FILE.py:NAME"),
        (["--missing", "m", "--tf-python", "no/such"], "expected a Python interpreter"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(capsys, arguments: list[str], line: str) -> None:
    assert cli.main(["lookup", "ops", *arguments]) == 2
    said = capsys.readouterr()
    assert line in said.err and said.err.count("\n") == 1 and not said.out


@pytest.mark.process
def test_what_a_function_lacks_is_told_with_the_lines(capsys, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(FUNCTION)
    asked = [
        "lookup",
        "ops",
        "--missing",
        f"{file}:f",
        "--input",
        "x=f32[4,4]",
        "--input",
        "n=i32[4]",
        "--json",
        "--strict",
    ]
    assert cli.main(asked) == 1
    said = json.loads(capsys.readouterr().out)
    found = {(each["type"], each["lacks"]): each for each in said["missing"]}
    assert found["SegmentMax", "compile"]["places"] == [f"{file}:6"]
    assert found["PrintV2", "compile"]["count"] == 1 and "debug.print" in found["PrintV2", "counterpart"]["why"]
    assert found["NonMaxSuppressionV3", "counterpart"]["why"] == "the map has no row of it"
    assert not {kind for kind, _ in found} & {"Relu", "Placeholder", "StridedSlice", "Identity"}


@pytest.mark.process
def test_a_function_that_lacks_nothing_passes_strictly(capsys, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("import tensorflow as tf\ndef f(x):\n    return tf.tanh(x) + 1.0\n")
    assert cli.main(["lookup", "ops", "--missing", f"{file}:f", "--input", "x=f32[4]", "--strict"]) == 0
    assert cli.main(["lookup", "ops", "--missing", f"{file}:f", "--input", "x=f32[4]"]) == 0
