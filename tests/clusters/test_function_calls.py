"""What graphs that TensorFlow dumped say of calls: which function must be compiled, and how it is to run."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import DATA

from compare import cli
from compare.clusters.function_calls import FunctionCall, calls_of_files

pytestmark = pytest.mark.process

PROGRAM = """
import tensorflow as tf

@tf.function(jit_compile=True)
def compiled(x): return tf.sin(x) * 2.0

@tf.function(jit_compile=False, experimental_attributes={"_noinline": True})
def refused(x): return tf.cos(x) * 2.0

@tf.function(experimental_attributes={"_noinline": True})
def free(x): return tf.tan(x) * 2.0

@tf.function
def outer(x): return compiled(x) + refused(x) + free(x) + tf.unique(x)[0]

tf.config.set_soft_device_placement(False)
outer(tf.ones(8))
"""


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dumped")
    (folder / "program.py").write_text(PROGRAM)
    variables = {
        "TF_XLA_FLAGS": "--tf_xla_clustering_debug",
        "TF_DUMP_GRAPH_PREFIX": str(folder / "graphs"),
        "XLA_FLAGS": f"--xla_dump_to={folder / 'xla'}",
    }
    subprocess.run(
        [sys.executable, folder / "program.py"], env={**os.environ, **variables}, capture_output=True, check=True
    )
    return folder


def calls(graphs: Path) -> dict[str, FunctionCall]:
    """The first call of each function, by its name in the program."""
    found, unread = calls_of_files({path.name: path for path in graphs.glob("*.pbtxt")})
    assert not unread
    return {re.sub(r"__inference_(\w+?)_\d+", r"\1", call.function): call for call in reversed(found)}


def test_a_call_says_whether_its_function_must_be_compiled(dumped: Path) -> None:
    found = calls(dumped / "graphs")
    assert [found[name].must_compile for name in ("compiled", "refused", "free")] == [True, False, None]
    assert {found[name].executor for name in ("compiled", "refused", "free")} == {""}
    for name in ("compiled", "refused", "free"):
        config = found[name].config or ""
        assert 'device_count { key: "CPU" value: 1 }' in config and "allow_soft_placement" not in config, config


def test_a_planted_change_of_each_attribute_is_seen(dumped: Path, tmp_path: Path) -> None:
    planted = Path(shutil.copytree(dumped / "graphs", tmp_path / "graphs"))
    for path in planted.glob("*.pbtxt"):
        text = path.read_text()
        text = re.sub(r'(key: "_XlaMustCompile"\s+value \{\s+b: )true', r"\1false", text)
        text = re.sub(r'(key: "executor_type"\s+value \{\s+s: )""', r'\1"SINGLE_THREADED_EXECUTOR"', text)
        path.write_text(re.sub(r'(key: "config_proto"\s+value \{\s+s: )".*"', r'\1"\\020\\003"', text))
    found = calls(planted)["compiled"]
    assert (found.must_compile, found.executor) == (False, "SINGLE_THREADED_EXECUTOR")
    assert found.config == "intra_op_parallelism_threads: 3"


def test_the_command_shows_calls_and_names_what_is_no_graph(
    dumped: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graphs = Path(shutil.copytree(dumped / "graphs", tmp_path / "graphs"))
    (graphs / "broken.pbtxt").write_text("node { name: ")
    (graphs / "module.pbtxt").write_text('name: "a module"\ncomputations { name: "main" }\n')
    (graphs / "empty.pbtxt").write_text("")
    given = ["dump", str(dumped / "xla"), "-o", str(tmp_path / "out")]
    assert cli.main([*given, "--graphs", str(graphs)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(r"__inference_compiled_\d+ true default device_count", printed), printed
    assert "not read: broken.pbtxt: expected a graph" in printed
    assert re.search(r"not read: module.pbtxt: expected a graph .*, found neither `node` nor `library`", printed)
    record = json.loads((tmp_path / "out" / "dump.json").read_text())
    assert sorted(record["graphs_not_read"]) == ["broken.pbtxt", "empty.pbtxt", "module.pbtxt"]
    assert len(record["calls"]) >= 3
    assert "_XlaMustCompile" in (tmp_path / "out" / "index.html").read_text()
    assert cli.main([*given, "--graphs", str(tmp_path)]) == 2
    assert "expected graphs, files *.pbtxt" in capsys.readouterr().err


def test_graphs_in_the_dump_itself_are_read_without_being_named(dumped: Path, tmp_path: Path) -> None:
    both = Path(shutil.copytree(dumped / "xla", tmp_path / "both"))
    shutil.copytree(dumped / "graphs", both, dirs_exist_ok=True)
    assert cli.main(["dump", str(both), "-o", str(tmp_path / "out")]) == 0
    record = json.loads((tmp_path / "out" / "dump.json").read_text())
    assert True in [call["must_compile"] for call in record["calls"]]


def test_the_name_of_a_module_says_what_its_call_said(tmp_path: Path) -> None:
    assert cli.main(["dump", str(DATA / "dumps" / "tf_jit"), "-o", str(tmp_path / "out")]) == 0
    (module,) = json.loads((tmp_path / "out" / "dump.json").read_text())["modules"]
    assert module["attributes"] == {
        "_XlaMustCompile": "true",
        "config_proto": "fingerprint 13561319589895757934",
        "executor_type": "default",
    }
    assert "fingerprint 13561319589895757934" in next((tmp_path / "out").glob("module_*.html")).read_text()
