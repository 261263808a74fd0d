"""A bug report holds all that another machine needs to run a workload's programs again, and nothing of this one."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt
from places import ROOT

from compare.bundles import bundle, gathering, readme
from compare.commands import bugreport as command
from compare.commands import replay as replay_command
from compare.commands._conclusion import conclude
from compare.commands._parser import Parser
from compare.errors import RequestError
from compare.hlo import proto
from compare.record.vocabulary import CELLS
from compare.sides import wire
from compare.sides.settings import Settings

PORT = """
from workloads import ArraySpec, Workload
port = Workload(name="broken", inputs={"x": ArraySpec((4, 5))}, tf="t.py:f", jax="j.py:f", builds=False)
"""


def run(module: Any, *arguments: object) -> int:
    """The exit code of a command."""
    parser = Parser(prog="jaxport")
    module.add_arguments(parser)
    options = parser.parse_args(list(map(str, arguments)))
    return conclude(module.main(options), quiet=getattr(options, "json", False))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of the running example, written with flags of every kind in the environment."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_dump_max_hlo_modules=20")
        patch.setenv("SECRET_OF_THE_USER", "hunter2")
        assert run(command, "running_example", "--size", "smoke", "-o", folder / "r") == 0
    return folder / "r"


@pytest.fixture
def index(report: Path) -> dict[str, Any]:
    return json.loads((report / "bundle.json").read_text())


def test_both_programs_and_all_four_optimized_modules_are_there(report: Path, index: dict[str, Any]) -> None:
    modules = {each["name"]: each for each in index["modules"]}
    assert set(modules) == {"tf", "jax", *CELLS}
    for name, each in modules.items():
        assert (report / each["text"]).read_text().startswith("module" if each["kind"] == "program" else "HloModule")
        if name in CELLS:
            assert proto.read_module((report / each["file"]).read_bytes()).computations
    assert index["dimensions"] == {"side": 64}
    assert index["failures"] == []


def test_inputs_and_results_of_every_cell_and_mode_are_there(report: Path, index: dict[str, Any]) -> None:
    x, y = bundle.load_arrays(report / "inputs/tf.safetensors")
    expected = np.mean(x.astype(np.float64) ** 2 * 3 + y)
    for cell in CELLS:
        (found,) = bundle.load_arrays(report / f"outputs/{cell}.safetensors")
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert {"tf/eager", "tf/autocluster", "tf/jit", "jax/eager", "jax/jit"} <= set(index["modes"])
    for file in index["modes"].values():
        np.testing.assert_allclose(wire.load_arrays(report / file)[0]["output"], expected, rtol=1e-5)


def test_both_sides_dumped_and_tensorflow_said_how_it_clusters(report: Path, index: dict[str, Any]) -> None:
    for side in ("tf", "jax"):
        assert list((report / "dumps" / side).glob("*before_optimizations.txt"))
    annotated = [name for name in index["clustering"] if name.startswith("mark_for_compilation_annotated")]
    assert any("cluster_" in (report / "clustering" / name).read_text() for name in annotated)


def test_the_readme_says_what_differs_and_how_to_replay_every_module(report: Path, index: dict[str, Any]) -> None:
    text = (report / "README.md").read_text()
    assert text.startswith(r"# running_example: mean(x\*\*2 \* 3 + y)")
    assert {each["cell"] for each in index["differences"]} == set(CELLS) - {"tf@tf"}
    for each in index["modules"]:
        assert f"jaxport replay {each['file']}\n" in text
    assert "| `jax@jax` | `output` |" in text


def test_nothing_of_the_machine_stands_in_what_people_read(report: Path, index: dict[str, Any]) -> None:
    for name in ("README.md", "bundle.json"):
        text = (report / name).read_text()
        assert str(ROOT) not in text
        assert str(report.parent) not in text
        assert "SECRET" not in text and "hunter2" not in text
    assert index["environment"]["flags"]["XLA_FLAGS"] == "--xla_dump_max_hlo_modules=20"
    (program,) = [each for each in index["modules"] if each["name"] == "tf"]
    assert program["sources"]["Mean"].startswith("running_example.py:")


def test_a_report_is_replayed_whole_and_a_wrong_recorded_result_fails(report: Path, tmp_path: Path) -> None:
    assert run(replay_command, report) == 0
    kept = (report / "outputs/jax@jax.safetensors").read_bytes()
    try:
        bundle.save_arrays([np.array(17, np.float32)], report / "outputs/jax@jax.safetensors")
        assert run(replay_command, report) == 1
        assert run(replay_command, report / "optimized/jax@jax.hlo.pb") == 1
        assert run(replay_command, report / "programs/tf.mlirbc") == 0
    finally:
        (report / "outputs/jax@jax.safetensors").write_bytes(kept)


@pytest.mark.parametrize("cell", CELLS)
def test_every_optimized_module_is_replayed_alone(report: Path, cell: str) -> None:
    assert run(replay_command, report / f"optimized/{cell}.hlo.pb", "--compilers", "here") == 0


def test_a_side_that_fails_costs_its_part_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("import tensorflow as tf\ndef f(x): return tf.sin(x)")
    (tmp_path / "j.py").write_text("def f(x): raise LookupError('no such luck')")
    (tmp_path / "port.py").write_text(PORT)
    out = tmp_path / "report.zip"
    assert run(command, tmp_path / "port.py", "-o", out) == 1
    with zipfile.ZipFile(out) as archive:
        index = json.loads(archive.read("report/bundle.json"))
        readme = archive.read("report/README.md").decode()
    assert any(each["side"] == "jax" and "no such luck" in each["reason"] for each in index["failures"])
    assert "no such luck" in readme
    assert {each["name"] for each in index["modules"]} == {"tf", "tf@tf", "tf@jax"}
    assert index["cells"]["jax@jax"] == {"reason": "no program from the jax side"}
    assert run(replay_command, out) == 0
    beside = {each.name for each in tmp_path.iterdir()} - {"__pycache__"}
    assert beside == {"t.py", "j.py", "port.py", "report.zip"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected one workload, found none"),
        (["add", "running_example"], "expected one workload, found 2: write one bug report for each"),
        (["add", "-o", "taken"], "expected a new path for the bug report, found that .*taken exists: remove it"),
        (["add", "--tf-python", "/no/python"], "expected a Python interpreter at /no/python"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_side_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    monkeypatch.setattr(gathering, "collect", lambda *_: pytest.fail("a side was started"))
    with pytest.raises(RequestError, match=message):
        run(command, *arguments)
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/ann/models/net.py:7", "net.py:7"),
        ("--xla_dump_to=/tmp/dump --xla_x=1", "--xla_dump_to=dump --xla_x=1"),
        ("weights/hidden/kernel", "weights/hidden/kernel"),
        ("cannot read '/etc/hosts', sorry", "cannot read 'hosts', sorry"),
    ],
)
def test_paths_lose_their_folders_and_names_do_not(text: str, expected: str) -> None:
    assert bundle.without_folders({"k": [text]}) == {"k": [expected]}


def test_only_flags_of_the_frameworks_are_told() -> None:
    assert gathering.flags({"XLA_FLAGS": "--a", "HOME": "/root", "TF_CONFIG": "x", "AWS_SECRET": "y"}) == {
        "XLA_FLAGS": "--a"
    }


def test_clustering_dumps_add_to_the_flags_that_were_there(tmp_path: Path) -> None:
    inherited = {"TF_XLA_FLAGS": "--tf_xla_cpu_global_jit"}
    found = Settings(clustering=tmp_path, compilation_cache=tmp_path / "c").variables("tf", inherited)
    assert found["TF_DUMP_GRAPH_PREFIX"] == str(tmp_path)
    flags = found["TF_XLA_FLAGS"].split()
    assert flags[0] == "--tf_xla_cpu_global_jit" and flags[-1] == "--tf_xla_clustering_debug" and len(flags) == 3
    assert Settings(clustering=tmp_path).variables("jax", {}) == {}


def test_a_difference_beyond_the_tolerance_is_marked_in_the_readme(index: dict[str, Any]) -> None:
    wrong = index["differences"][0] | {"agrees": False, "relative": "inf", "alike": False}
    text = readme.text(index | {"differences": [wrong]})
    assert "| inf | " in text and "| differ | differs |" in text


def test_no_string_of_a_bug_report_becomes_markup() -> None:
    evil = "<b>|[x](javascript:1) `t` *e*\n\n# h\x1b[31m"
    difference = {
        "cell": evil,
        "result": evil,
        "absolute": "nan",
        "relative": 1.0,
        "ulp": evil,
        "alike": 0,
        "agrees": 0,
    }
    index = {
        "workload": evil, "summary": evil, "size": evil, "dimensions": {evil: evil}, "differences": [difference],
        "failures": [{"side": evil, "doing": evil, "reason": evil}], "modules": [],
        "environment": {evil: evil, "sides": {evil: {evil: evil}}, "flags": {evil: evil}},
    }  # fmt: skip
    text = readme.text(index)
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = {child.type for token in tokens for child in (token, *(token.children or ()))}
    assert not kinds & {"html_block", "html_inline", "link_open", "em_open"}
    assert text.count("\n# ") == 0 and "<" not in text and "\x1b" not in text
    assert "&lt;b&gt;\\|\\[x\\](javascript:1)" in text
