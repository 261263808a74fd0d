"""jaxport tune ablate: what it prints and writes, what it refuses, and a real compiler."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from compare import cli
from compare.ablation import live_ablation
from compare.record.ablation_part import (
    COMPARED,
    GATES_FAIL,
    LOST,
    NOT_RUN,
    SAME_CODE,
    AblatedKernel,
    AblatedProgram,
    Ablation,
    LeftOut,
)
from compare.record.timing_part import Ratio

TWICE = Ratio(pairs=5, rounds=50, ratio=2.0, ci95=(1.9, 2.1), verdict="slower")
FULL = AblatedProgram(
    kernels_run=4, kernels=4, bytes=2048.0, temp_bytes=1024, seconds=1e-3,
    codes=(AblatedKernel("a_fusion", "8 x float", 8, 4, 2, 10), AblatedKernel("copy", "", 1, None, 0, 0)),
)  # fmt: skip
HOSTILE = "<script>alert(1)</script>"
FOUND = Ablation(
    program="jax",
    size="default",
    pass_="step",
    environment={"jaxlib": "0.10.2", "device": "cpu"},
    threads=1,
    passes=("fusion", "cse"),
    full=FULL,
    rows=(
        LeftOut("cse", is_pass=True, outcome=SAME_CODE, reason="the same machine code"),
        LeftOut(
            "fusion", is_pass=True, outcome=COMPARED, time=TWICE, results=GATES_FAIL, difference=0.5,
            gate="rounding gate: y is 0.5 off",
            made=AblatedProgram(kernels_run=8, bytes=4096.0, temp_bytes=1024, codes=(AblatedKernel("a", "float", 1),)),
        ),
        LeftOut("needed", is_pass=True, outcome=LOST, reason=HOSTILE),
    ),
    null=Ratio(pairs=5, rounds=50, ratio=1.0, ci95=(0.99, 1.01), verdict="equivalent"),
    disassembler="objdump",
)  # fmt: skip


def asked(monkeypatch: pytest.MonkeyPatch, found: Ablation, *more: str) -> int:
    monkeypatch.setattr(live_ablation, "ablate_workload", lambda *_: found)
    return cli.main(["tune", "ablate", "add", *more])


def test_the_table_is_printed_the_dearest_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, FOUND) == 0
    lines = [re.sub(r" {2,}", " | ", line.strip()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "add: step of jax at size default, by jaxlib 0.10.2 on 1 thread"
    assert "nothing | 1.00 ms | 4 | 2.00 KiB | 1.00 KiB | 1 of 2, 8 x float, 4 a turn | 2 of 10" in lines
    row = "fusion | 2.00x [1.90, 2.10] | slower | 8 (+100 %) | 4.00 KiB (+100 %) | 1.00 KiB | gates fail (5.0e-01)"
    assert f"{row} | 0 of 1 | \u2013" in lines
    assert "Worth having: fusion (2.00x without)." in lines
    assert "Without fusion results are not the program's: rounding gate: y is 0.5 off" in lines
    assert "Made the same code, so that they buy this program nothing alone: cse" in lines


def test_page_record_and_markdown_hold_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    markdown = tmp_path / "tables.md"
    assert asked(monkeypatch, FOUND, "-o", str(tmp_path / "out"), "--markdown", str(markdown)) == 0
    page = (tmp_path / "out" / "ablation.html").read_text()
    assert "2.00x [1.90, 2.10]" in page and "Code of the full pipeline: 2 kernels" in page
    assert HOSTILE not in page and "&lt;script&gt;" in page
    assert "2.00x" in markdown.read_text() and HOSTILE not in markdown.read_text()
    written = json.loads((tmp_path / "out" / "ablation.json").read_text())
    assert written["ablations"]["add"]["pass"] == "step"
    assert written["ablations"]["add"]["rows"][1]["time"]["ratio"] == 2.0


def test_a_port_that_fails_by_itself_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, Ablation(full=FULL, reason="semantics gate: y is 7 off")) == 1
    assert "The port itself fails parity, so that no row could be judged: semantics gate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "expected a workload or a port file, found none"),
        (["add", "--without", "fusion+"], "expected --without PASS or PASS+PASS"),
        (["add", "--option", "fusion"], "expected --option NAME=VALUE"),
        (["add", "--sets", "0"], "--sets"),
        (["add", "-o", "/dev/null/out"], "expected a writable folder"),
        (["nothing_of_that_name"], "expected the name of a workload"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_out_is_one_line(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["tune", "ablate", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


@pytest.mark.process
def test_a_real_compiler_without_a_pass_a_feature_and_a_name_that_it_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.py").write_text("import jax.numpy as jnp\ndef f(x):\n    return jnp.tanh(x * 2 + 1) / (1 + jnp.abs(x))\n")
    command = ["tune", "ablate", "--tf", "f.py:f", "--jax", "f.py:f", "--input", "x=f32[64,64]", "--threads", "1"]
    more = ["--without", "fusion", "--without", "fusoin", "--option", "xla_backend_optimization_level=3,0"]
    assert cli.main([*command, *more, "--no-gates", "--sets", "1", "--budget", "0.1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["ablations"].values()
    fusion, misspelt, same, slow = found["rows"]
    assert fusion["outcome"] == COMPARED and fusion["made"]["kernels_run"] > found["full"]["kernels_run"]
    assert fusion["made"]["bytes"] > found["full"]["bytes"] and fusion["time"]["ratio"] > 0
    assert (misspelt["outcome"], misspelt["time"]) == (NOT_RUN, None)
    assert (same["outcome"], same["made"]) == (SAME_CODE, None)
    widths = [max(code["width"] for code in made["codes"]) for made in (found["full"], slow["made"])]
    assert widths[0] > widths[1] == 1
