"""Port files of strangers: whatever their code does costs that port alone, and never passes by accident."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreters import JAX_AS_TF, interpreter

from compare import cli
from compare.errors import RequestError
from compare.inputs import port_files
from compare.parity import Evidence
from compare.prove import judging
from compare.record.parity_part import Parity
from compare.sides.client import LiveSide
from workloads.core import registry

pytestmark = pytest.mark.process

PORT = """
from workloads import ArraySpec, Workload
{before}
port = Workload(name={name!r}, tf="twins.py:{tf}", jax="twins.py:{jax}", builds=False{more})
"""
TWINS = """
import os, sys
import jax.numpy as jnp

def double(x): return x * 2
def twice(x): return x + x
def nest(x): return {"doubled": x * 2}
def nothing(x): return None
def leaves(x): sys.exit()
def ends(x): os._exit(0)
"""
INPUTS = ', inputs={"x": ArraySpec((2,))}'

ENDINGS = {
    "sys.exit()": r"SystemExit: no message \(File .*port\.py\", line \d+",
    "sys.exit(0)": r"SystemExit: 0 \(File .*port\.py\", line \d+",
    "os._exit(0)": "its code ended with exit code 0",
    "raise_(BaseException('no'))": "BaseException: no",
    "raise_(KeyboardInterrupt())": "KeyboardInterrupt: no message",
    "raise_(RuntimeError('no'))": "RuntimeError.*no",
    "os.kill(os.getpid(), 9)": "its code ended by signal SIGKILL",
}
HELPERS = """
import os, sys
def raise_(error): raise error
"""


def write(folder: Path, name: str, before: str = "", tf: str = "double", jax: str = "twice", more: str = INPUTS) -> str:
    (folder / "twins.py").write_text(TWINS)
    path = folder / f"{name}.py"
    path.write_text(PORT.format(before=HELPERS + before, name=name, tf=tf, jax=jax, more=more))
    return str(path)


def files_in(folder: Path) -> set[Path]:
    """What lies in a folder but for the bytecode that Python keeps of what it imports."""
    return {path for path in folder.iterdir() if path.name != "__pycache__"}


@pytest.mark.parametrize("command", ["run", "locate"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_code_that_ends_its_process_is_refused_in_one_line(
    command: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "port", before=ending)
    given = files_in(tmp_path)
    assert cli.main([command, path]) == 2
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert said.out == ""
    assert re.search(rf"^jaxport: expected a .*port\.py, found.*{ENDINGS[ending]}", line), line
    assert files_in(tmp_path) == given


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("where", ["inputs", "weights", "cost"])
def test_functions_that_end_their_process_are_refused_in_one_line(ending: str, where: str, tmp_path: Path) -> None:
    workload = port_files.get(write(tmp_path, "port", more=ending_in(where, ending)))
    with pytest.raises(RequestError, match=rf"^expected a workload in .*port\.py, found.*{ENDINGS[ending]}"):
        port_files.prepare_both(workload, None, None, tmp_path)


@pytest.mark.parametrize("command", ["run", "locate"])
def test_a_command_refuses_functions_that_end_their_process(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "port", more=ending_in("inputs", "sys.exit()"))
    given = files_in(tmp_path)
    assert cli.main([command, path]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("jaxport: expected a workload in") and len(said.err.splitlines()) == 1
    assert files_in(tmp_path) == given


def ending_in(where: str, ending: str) -> str:
    """The arguments of a Workload whose function ends the process when it is called."""
    return f", {where}=lambda dimensions: {ending}" + (INPUTS if where != "inputs" else "")


@pytest.mark.slow
def test_a_defect_of_the_judge_costs_one_workload_of_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(evidence: Evidence, *held: Any) -> Parity:
        if evidence.workload == "second":
            raise ZeroDivisionError("by chance")
        return real(evidence, *held)

    real = judging.judge_held
    monkeypatch.setattr(judging, "judge_held", judge)
    asked = [write(tmp_path, name) for name in ("first", "second", "third")]
    common = ["--tf-python", interpreter(tmp_path, JAX_AS_TF), "--parity-only", "-o", str(tmp_path / "out")]
    assert cli.main(["run", *asked, *common]) == 1
    judged = json.loads((tmp_path / "out/results.json").read_text())["workloads"]
    assert [judged[name]["parity"] is not None for name in ("first", "second", "third")] == [True, False, True]
    assert "expected no ZeroDivisionError here, found one: by chance" in judged["second"]["failures"][0]["reason"]
    assert cli.main(["run", asked[1], *common]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_one_bad_port_of_many_costs_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {
        "no_function": write(tmp_path, "no_function", jax="no_such_function"),
        "other_nest": write(tmp_path, "other_nest", jax="nest"),
        "returns_none": write(tmp_path, "returns_none", jax="nothing"),
        "exits": write(tmp_path, "exits", jax="leaves"),
        "ends": write(tmp_path, "ends", jax="ends"),
        "raising_weights": write(tmp_path, "raising_weights", more=INPUTS + ", weights=lambda dimensions: 1 / 0"),
        "huge_weights": write(
            tmp_path, "huge_weights", more=INPUTS + ', weights={"w": ArraySpec((1 << 20, 1 << 20, 1 << 10))}'
        ),
        "raising_cost": write(tmp_path, "raising_cost", more=INPUTS + ", cost=lambda dimensions: 1 / 0"),
    }
    unreadable = {
        "summary": write(tmp_path, "summary", more=INPUTS + ", summary=3"),
        "syntax": write(tmp_path, "syntax", before="def broken(:"),
    }
    good = [write(tmp_path, "first"), write(tmp_path, "last")]
    out = tmp_path / "out"
    asked = [good[0], *bad.values(), *unreadable.values(), good[1]]
    options = ["--parity-only", "--tf-python", interpreter(tmp_path, JAX_AS_TF), "-o", str(out)]
    assert cli.main(["run", *asked, *options]) == 1
    found = json.loads((out / "results.json").read_text())["workloads"]
    assert {name: found[name]["parity"]["verdict"] for name in ("first", "last")} == {"first": "pass", "last": "pass"}
    assert not found["first"]["failures"] and not found["last"]["failures"]
    wrong = {name: part for name, part in found.items() if name not in ("first", "last")}
    assert len(wrong) == len(bad) + len(unreadable)
    assert all(part["failures"] for part in wrong.values())
    assert not [name for name, part in wrong.items() if (part["parity"] or {}).get("verdict") == "pass"]


def test_a_size_that_is_not_there_is_refused_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sized = write(tmp_path, "sized", more=INPUTS + ', sizes={"smoke": {}, "default": {}}')
    assert cli.main(["run", write(tmp_path, "port"), sized, "--size", "huge"]) == 2
    assert "expected a size of port (default), found 'huge'" in capsys.readouterr().err


def test_what_a_port_file_prints_or_changes_stays_in_its_process(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = "import numpy as np, warnings\nprint('chatter')\nnp.seterr(all='raise')\nnp.float64 = np.float32\n"
    assert port_files.get(write(tmp_path, "loud", before=before)).name == "loud"
    assert capfd.readouterr().out == ""
    assert np.float64 is not np.float32
    assert np.geterr()["under"] == "ignore"


def test_a_file_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_files, "_in_use", [])
    with port_files.ports_apart():
        assert port_files.get(write(tmp_path, "first")).name == "first"
        hurry(port_files._in_use[-1]._worker.current_worker())
        with pytest.raises(registry.RegistryError, match=r"found code that does not finish: no answer within 2 s"):
            port_files.get(write(tmp_path, "endless", before="while True: pass"))
        assert port_files.get(write(tmp_path, "next")).name == "next"


def hurry(side: LiveSide) -> None:
    """Once it is started, which may take long on a busy machine, it is given two seconds a request."""
    side.wait_until_started()
    side._timeout_s = 2
