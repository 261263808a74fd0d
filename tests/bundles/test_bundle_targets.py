"""Bug reports and replay with programs compiled for devices that are not here.

Needs the environment that `make targets` builds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from test_replay import UNKNOWN, told, written

from compare.commands import bugreport
from compare.commands._conclusion import conclude
from compare.commands._parser import Parser

pytestmark = [pytest.mark.process, pytest.mark.slow]

DEVICES = ("--target", "H100", "--target", "v5e")


def reported(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    parser = Parser(prog="jaxport bugreport")
    bugreport.add_arguments(parser)
    code = conclude(bugreport.main(parser.parse_args(["add", "--size", "smoke", *arguments, "-o", str(folder)])))
    return code, json.loads((folder / "bundle.json").read_text())


def test_a_bug_report_holds_what_xla_makes_of_both_programs_for_a_device(tmp_path, capsys):
    code, index = reported(tmp_path / "report", *DEVICES)
    assert code == 0
    assert [target["equal"] for target in index["targets"].values()] == [True, True]
    of_h100 = tmp_path / "report" / "targets" / "H100"
    for side in ("tf", "jax"):
        assert "HloModule" in (of_h100 / f"{side}@jax.txt").read_text()
        assert (of_h100 / f"{side}@jax.hlo.pb").read_bytes()
        assert list((of_h100 / side).glob("*.ptx"))
    readme = (tmp_path / "report" / "README.md").read_text()
    assert "On H100, XLA makes 1 launch of either program" in readme
    assert "On v5e:2x2, XLA makes 1 kernel of either program" in readme

    capsys.readouterr()
    code, replayed = told(capsys, tmp_path / "report", *DEVICES)
    assert code == 0
    assert [list(program["targets"]) for program in replayed] == [["H100", "v5e:2x2"]] * 2
    assert all(program["targets"]["H100"]["launches"] == 1 for program in replayed)


def test_a_bug_report_without_the_packages_says_so_and_is_not_complete(tmp_path):
    code, index = reported(tmp_path / "report", "--target", "H100", "--target-python", sys.executable)
    assert code == 1
    assert [failure["doing"] for failure in index["failures"]] == ["compile for H100"] * 2
    assert "jax-cuda12-pjrt" in (tmp_path / "report" / "README.md").read_text()


def test_a_module_that_xla_refuses_for_a_device_fails(tmp_path, capsys):
    code, (replayed,) = told(capsys, written(tmp_path, UNKNOWN), *DEVICES, "--compilers", "here")
    assert code == 1
    assert {"no_such_target" in cell["reason"] for cell in replayed["targets"].values()} == {True}


def test_a_module_that_agrees_here_fails_where_nothing_is_known_of_the_device(tmp_path, capsys):
    code, (replayed,) = told(capsys, written(tmp_path), "--target", "H100", "--target-python", sys.executable)
    assert replayed["agrees"]
    assert code == 1
