"""A worker that dies while a bundle is written or replayed is one line: no half-written bundle, and no process left."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreters import JAX_AS_TF, interpreter
from mortals import KILLED, Mortals

from compare.bundles import bundle, replaying
from compare.bundles.bundle import Module
from compare.cli import main
from compare.hlo import bindings
from compare.progress import Silent
from compare.sides._side import Missing, SideError
from compare.sides.workers import GIVES_UP

pytestmark = pytest.mark.process

PORT = """
from workloads import ArraySpec, Workload
port = Workload(name="doubled", inputs={"x": ArraySpec((4, 5))}, tf="f.py:f", jax="f.py:f", builds=False)
"""

DYING = f"""exec {sys.executable} -P -c "import os, signal, sys; sys.argv = ['', 'jax']
from compare.sides import worker
answer = worker.answer
def dying(host, request):
    if request['method'] == '@': os.kill(os.getpid(), signal.SIGKILL)
    return answer(host, request)
worker.answer = dying
worker.main()" """
"""JAX's own worker, until it is asked for a method."""


def reported(folder: Path, jax: str, tf: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a bug report, and its index. Nothing but the report is left beside it."""
    (folder / "here").mkdir()
    (folder / "f.py").write_text("def f(x): return 2 * x")
    (folder / "port.py").write_text(PORT)
    out = folder / "here" / "report"
    pythons = ["--jax-python", jax, "--tf-python", tf]
    code = main(["bugreport", str(folder / "port.py"), "-o", str(out), *pythons])
    assert [path.name for path in (folder / "here").iterdir()] == ["report"]
    index = json.loads((out / "bundle.json").read_text())
    for module in index["modules"]:
        files = [module["file"], module["text"], module["inputs"], *module["outputs"].values()]
        assert all((out / file).is_file() for file in files)
    assert "## " in (out / "README.md").read_text()
    return code, index


@pytest.mark.parametrize("moment", ["import", "load", "after load"])
def test_a_bug_report_whose_workers_die_before_they_answer_is_whole_and_says_so(
    mortals: Mortals, tmp_path: Path, moment: str
) -> None:
    python = mortals.dying(moment)
    code, index = reported(tmp_path, python, python)
    assert code == 1
    assert index["modules"] == []
    assert {failure["side"] for failure in index["failures"]} == {"tf", "jax"}
    assert all(failure["reason"].startswith(KILLED) for failure in index["failures"])
    asked = [(failure["side"], failure["doing"]) for failure in index["failures"]]
    assert len(asked) == len(set(asked))
    if moment != "after load":
        assert len(asked) == 2


@pytest.mark.parametrize(
    ("method", "missing"),
    [("program", {"jax", "jax@jax", "jax@tf"}), ("compile", {"jax@jax", "tf@jax"}), ("execute", set())],
)
def test_a_bug_report_lacks_what_a_worker_died_at_and_nothing_else(
    tmp_path: Path, method: str, missing: set[str]
) -> None:
    tf, jax = interpreter(tmp_path, JAX_AS_TF), interpreter(tmp_path, DYING.replace("@", method))
    code, index = reported(tmp_path, jax, tf)
    assert code == 1
    (failure,) = index["failures"]
    assert (failure["side"], failure["doing"].split()[0]) == ("jax", method)
    assert failure["reason"].startswith(KILLED)
    whole = {"tf", "jax", "tf@tf", "jax@jax", "tf@jax", "jax@tf"}
    assert {module["name"] for module in index["modules"]} == whole - missing


def module() -> Module:
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    return Module("m", bindings.artifact(text), recorded={"tf@tf": [np.float32(1)]}, inputs=[np.float32(1)])


@pytest.mark.parametrize("moment", ["import", "load", "after load", "compile", "after compile", "execute"])
def test_a_replay_whose_worker_dies_says_so_of_each_module_and_runs_the_other_compilers(
    mortals: Mortals, tmp_path: Path, moment: str
) -> None:
    request = replaying.Request((replaying.HERE, "jax"), pythons={"jax": mortals.dying(moment)}, timeout_s=60)
    replays = replaying.replay([module()] * (GIVES_UP + 1), request, tmp_path, Silent())
    for replayed in replays:
        assert replayed.refused.keys() == {"jax"}
        assert replayed.refused["jax"].startswith(KILLED)
        assert replayed.results[0].differences.keys() == {replaying.HERE}
        assert not replayed.agrees


def test_a_replay_whose_worker_dies_exits_with_one_line_and_code_1(
    mortals: Mortals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle.save_arrays([np.float32(1)], tmp_path / "x")
    (tmp_path / "m.mlirbc").write_bytes(module().artifact)
    asked = ["replay", str(tmp_path / "m.mlirbc"), "--compilers", "here,jax", "--jax-python", mortals.dying("load")]
    assert main(asked) == 1
    assert capsys.readouterr().out.count(KILLED) == 1


def test_a_replay_without_its_framework_is_refused(tmp_path: Path) -> None:
    absent = interpreter(
        tmp_path, """echo '{"ok": false, "kind": "missing", "reason": "ModuleNotFoundError: no", "details": ""}'"""
    )
    request = replaying.Request((replaying.HERE, "jax"), pythons={"jax": absent}, timeout_s=60)
    with pytest.raises(Missing, match="expected JAX in the worker's interpreter") as caught:
        replaying.replay([module()], request, tmp_path, Silent())
    assert isinstance(caught.value, SideError)
