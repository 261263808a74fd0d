"""Autoclustering asked of TensorFlow itself: clusters that were cut, nothing compiled, and the line that did it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from compare import cli

pytestmark = pytest.mark.process

CODE = """
import tensorflow as tf

def whole(x):
    y = tf.tanh(x * 2.0) + 1.0
    z = tf.reduce_sum(y)
    return tf.nn.softmax(x * z + tf.tanh(y))

def cut(x):
    y = tf.tanh(x * 2.0) + 1.0
    z = tf.reduce_sum(tf.unique(tf.reshape(y, [-1]))[0])
    return tf.nn.softmax(x * z + tf.tanh(y))

def small(x):
    return tf.tanh(x) * 2.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "f.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "jaxport-clusters" / "clusters.json").read_text())


def test_a_cliff_is_found_with_the_line_that_made_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(["compilation", "clusters", "f.py:whole", "f.py:cut", "--input", "x=f32[16,16]", "--expect", "90%"])
        == 0
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert "f.py:whole against f.py:cut: 1 cluster before, 2 after" in shown
    assert "only in the second, and outside: Unique: TensorFlow does not compile it: Unique op f.py:11" in shown
    before, after = record(folder)["clusterings"]
    assert {node["cluster"] for node in before["graph"]["nodes"] if node["op"] != "_Arg"} <= {"cluster_0", ""}
    assert [node["op"] for node in after["graph"]["nodes"] if node["outside"] == "refused"] == ["Unique"]
    assert after["graph"]["unread"] == [] and after["jit"]["instructions"] and after["jax"] is None
    assert after["time"]["compiled_s"] > 0 and after["time"]["nodes"]["Unique"] > 0
    assert all(cluster["compilations"] == 1 and cluster["kernels"] for cluster in after["graph"]["clusters"])
    page = (folder / "jaxport-clusters" / "f.py_whole-against-f.py_cut.html").read_text()
    assert "Unique op" in page and "tf.unique" in page


def test_a_function_of_which_nothing_is_compiled_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compilation", "clusters", "f.py:small", "--input", "x=f32[16,16]", "--expect", "50%"]) == 1
    captured = capsys.readouterr()
    assert "f.py:small: nothing was compiled: none of 3 nodes is in a cluster" in captured.out
    assert "jaxport: expected 50% of the nodes of f.py:small in clusters, found 0%" in captured.err
    assert record(folder)["clusterings"][0]["time"]["compiled_s"] == 0


def test_the_workload_s_step_is_run_and_jax_s_program_stands_beside(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compilation", "clusters", "mnist_mlp", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["clusterings"]
    assert found["pass"] == "step" and found["graph"]["clusters"]
    assert found["jit"]["instructions"] and found["jax"]["instructions"] and found["jax"]["kernels"]
    assert any(node["source"].endswith(".py:" + node["source"].rpartition(":")[2]) and node["line"]
               for node in found["graph"]["nodes"] if node["source"])  # fmt: skip


PROGRAM = """
import sys
import tensorflow as tf

@tf.function
def f(x):
    y = tf.tanh(x * 2.0) + 1.0
    z = tf.reduce_sum(tf.unique(tf.reshape(y, [-1]))[0])
    return tf.nn.softmax(x * z + tf.tanh(y))

print(f(tf.ones([16, 16])).shape)
print("to stderr", file=sys.stderr)
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize(("code", "flags"), [("0", ["--auto-jit", "--profile"]), ("4", [])])
def test_a_program_is_launched_and_what_it_left_is_read(
    folder: Path, capfd: pytest.CaptureFixture[str], code: str, flags: list[str]
) -> None:

    (folder / "train.py").write_text(PROGRAM)
    expected = 0 if code == "0" else 1
    assert cli.main(["compilation", "launch", *flags, "-o", "out", "--", sys.executable, "train.py", code]) == expected
    captured = capfd.readouterr()
    assert "(16, 16)" in captured.out and "to stderr" in captured.err
    assert "mark_for_compilation_pass" not in captured.err
    launched = json.loads((folder / "out" / "launch.json").read_text())
    assert launched["exit_code"] == int(code)
    (graph,) = [graph for graph in launched["graphs"] if graph["function"].startswith("__inference_f_")]
    assert len(graph["clusters"]) == (2 if flags else 0)
    if flags:
        assert launched["modules"] == ["cluster_0", "cluster_1"]
        assert set(launched["compiled"]) == {"cluster_0", "cluster_1"}
        (unique,) = [node for node in graph["nodes"] if node["op"] == "Unique"]
        assert unique["source"].endswith("train.py:8") and "tf.unique" in unique["line"]
        assert launched["profiled"]["processes"] == 1 and launched["profiled"]["time"]["compiled_s"] > 0
        assert any(node["source"].endswith("train.py:8") for node in launched["profiled"]["longest"])
        assert "time in operations: " in captured.out and "profiler_session" not in captured.err
    else:
        assert "the program failed with exit code 4" in captured.out
        assert "was clustered; --auto-jit switches autoclustering on" in captured.out
        assert {node["outside"] for node in graph["nodes"]} == {"off", "boundary"}
