"""`jaxport hlo`: which programs it takes, what it writes, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import exported

from compare import cli
from compare.hlo.artifacts import hlo_of_artifact

PORT = """
from workloads import ArraySpec, Workload
port = Workload(name="adds", tf="f.py:f", jax="f.py:f", inputs={"x": ArraySpec((3,))}, builds=False)
"""

X = np.linspace(-2.0, 2.0, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, the same with operands swapped, and one of another formula."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.mlirbc").write_bytes(exported(lambda x: jnp.mean(x**2 * 3 + jnp.sin(x)), X))
    (tmp_path / "swapped.mlirbc").write_bytes(exported(lambda x: jnp.mean(jnp.sin(x) + x**2 * 3), X))
    (tmp_path / "other.pb").write_bytes(hlo_of_artifact(exported(lambda x: jnp.mean(x**2 * 3.5 + jnp.sin(x)), X)))
    return tmp_path


def written(folder: Path) -> dict[str, Any]:
    (pair,) = json.loads((folder / "jaxport-hlo" / "hlo.json").read_text())["pairs"]
    return pair


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that says what is wrong; lines of progress may stand before it."""
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("jaxport: ")]
    return line


def test_two_files_are_aligned_at_every_level(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["hlo", "first.mlirbc", "swapped.mlirbc"]) == 0

    pair = written(programs)
    assert pair["labels"] == ["first.mlirbc", "swapped.mlirbc"]
    assert not pair["levels"]["raw"]["equal"]
    assert pair["levels"]["structural"]["equal"] and pair["levels"]["unfused"]["equal"]
    shown = capsys.readouterr().out
    assert "structural" in shown and "*" in shown
    for line in shown.splitlines()[-2:]:
        assert Path(line).exists() or "dot" in line
    assert list((programs / "jaxport-hlo").glob("*.html"))


def test_a_level_that_does_not_hold_is_exit_code_1(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["hlo", "first.mlirbc", "swapped.mlirbc", "--expect-equal", "structural"]) == 0
    assert cli.main(["hlo", "first.mlirbc", "other.pb", "--expect-equal", "algebraic"]) == 1

    assert "expected first.mlirbc and other.pb to be equal at algebraic" in complaint(capsys)
    frontier = written(programs)["levels"]["algebraic"]["frontier"]
    assert {entry["side"] for entry in frontier} == {"first.mlirbc", "other.pb"}


def test_one_level_alone_says_the_same_of_it_and_nothing_else(programs: Path) -> None:
    alone = ["--level", "structural", "--only-level", "--expect-equal", "structural"]
    for other, expected in (("swapped.mlirbc", 0), ("other.pb", 1)):
        assert cli.main(["hlo", "first.mlirbc", other]) == 0
        whole = written(programs)
        assert cli.main(["hlo", "first.mlirbc", other, *alone]) == expected
        pair = written(programs)
        assert pair["levels"] == {"structural": whole["levels"]["structural"]}


def test_a_level_that_is_not_looked_at_cannot_be_expected(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["hlo", "first.mlirbc", "other.pb", "--only-level", "--expect-equal", "raw"]
    assert cli.main(command) == 2
    assert complaint(capsys) == (
        "jaxport: expected --expect-equal algebraic, the level of --only-level, found raw: add --level raw"
    )
    assert not (programs / "jaxport-hlo" / "hlo.json").exists()


def test_the_reasons_stand_alike_on_the_terminal_in_the_json_and_on_the_page(
    programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["hlo", "first.mlirbc", "other.pb"]) == 0

    pair = written(programs)
    shown = pair["levels"]["algebraic"]
    headline = "the result is not equal; the programs differ in 2 places, all without a known reason"
    assert shown["headline"] == pair["view"]["headline"] == headline
    assert shown["reasons"] == pair["view"]["reasons"]
    assert [(reason["kind"], reason["name"]) for reason in shown["reasons"]] == [(None, "no reason known")]
    (page,) = (programs / "jaxport-hlo").glob("*.html")
    assert headline in page.read_text()
    printed = capsys.readouterr().out
    assert f"first.mlirbc and other.pb, algebraic: {headline}" in printed
    assert "no reason known, 2 places (1 in first.mlirbc, 1 in other.pb)" in printed
    assert "literal 3.0 -> 3.5" in printed


def test_json_is_all_that_stands_on_standard_output(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["hlo", "first.mlirbc", "swapped.mlirbc", "--json"])

    assert json.loads(capsys.readouterr().out)["pairs"][0]["levels"]["structural"]["matched"] > 0


def test_one_file_against_itself_has_two_names(programs: Path) -> None:
    cli.main(["hlo", "first.mlirbc", "first.mlirbc", "--expect-equal", "raw"])

    assert len(set(written(programs)["labels"])) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["first.mlirbc"], "expected two programs"),
        (["first.mlirbc", "swapped.mlirbc", "other.pb"], "expected two programs"),
        (["first.mlirbc", "add"], "expected two programs"),
        (["first.mlirbc", "./absent.pb"], "expected WORKLOAD:tf, WORKLOAD:jax, a file or a dump directory"),
        (["first.mlirbc", "notes.txt"], "expected a serialized HloModuleProto or HloProto, found 5 other bytes"),
        (
            ["first.mlirbc", "other.pb", "--level", "optimized"],
            "expected workloads with level optimized, found programs",
        ),
        (["first.mlirbc", "other.pb", "--expect-equal", "optimized"], "expected workloads with level optimized"),
        (["port.py", "sub/port.py"], "expected workloads of different names, found 'adds' twice"),
        (["add", "nothing"], "expected the name of a workload or a port file"),
        (["nothing"], "expected the name of a workload or a port file"),
        (["add:tf", "nothing:jax"], "expected the name of a workload or a port file"),
    ],
)
def test_what_names_no_program_is_one_line(
    programs: Path, given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (programs / "notes.txt").write_text("hello")
    (programs / "sub").mkdir()
    for port in (programs / "port.py", programs / "sub" / "port.py"):
        port.write_text(PORT)

    assert cli.main(["hlo", *given]) == 2

    assert said in complaint(capsys)
    assert not (programs / "jaxport-hlo").exists()


def test_sides_of_a_workload_are_programs(programs: Path) -> None:
    assert cli.main(["hlo", "running_example:tf", "running_example:jax", "--size", "smoke", "--pass", "forward"]) == 0

    pair = written(programs)
    assert pair["labels"] == ["running_example:tf", "running_example:jax"]
    assert pair["levels"]["unfused"]["equal"]
    assert "optimized" not in pair["levels"]


def test_a_workload_is_its_two_programs_and_what_their_compilers_made_of_them(programs: Path) -> None:
    assert cli.main(["hlo", "running_example", "--size", "smoke"]) == 0

    pair = written(programs)
    assert pair["labels"] == ["tf", "jax"]
    assert pair["levels"]["optimized"]["matched"] > 0
    assert any("tf_reference/running_example.py" in node["source"] for node in _nodes(pair, "left"))
    assert any("jaxport/running_example.py" in node["source"] for node in _nodes(pair, "right"))


def test_of_a_workload_at_one_level_no_side_compiles_anything(programs: Path) -> None:
    assert cli.main(["hlo", "add", "--size", "smoke", "--only-level"]) == 0
    pair = written(programs)
    assert list(pair["levels"]) == ["algebraic"] and pair["levels"]["algebraic"]["equal"]
    assert (pair["compiled"], pair["compilers"], pair["donation"]) == ({}, None, {})
    assert cli.main(["hlo", "add", "--size", "smoke", "--only-level", "--level", "optimized"]) == 0
    assert list(written(programs)["levels"]) == ["optimized"]


def test_two_functions_are_a_workload(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (programs / "t.py").write_text("import tensorflow as tf\ndef f(x): return tf.sin(x) * 2.0\n")
    (programs / "j.py").write_text("import jax.numpy as jnp\ndef g(x): return 2.0 * jnp.sin(x)\n")
    functions = ["--tf", "t.py:f", "--jax", "j.py:g", "--input", "x=f32[3,4]"]
    assert cli.main(["hlo", *functions, "--expect-equal", "structural"]) == 0

    assert written(programs)["name"] == "g"
    assert any("t.py:2" in node["source"] for node in _nodes(written(programs), "left"))
    for asked in ([*functions, "running_example"], functions[:2], functions[4:], []):
        assert cli.main(["hlo", *asked]) == 2
        assert "expected --tf and --jax" in (said := complaint(capsys)) or "or --tf and --jax, found none" in said


def _nodes(pair: dict[str, Any], side: str) -> list[dict[str, Any]]:
    return pair["view"][side]["nodes"]


def test_a_pass_that_a_workload_lacks_is_refused(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["hlo", "running_example", "--size", "smoke", "--pass", "step"]) == 2
    assert "expected a pass of running_example (forward, gradients), found 'step'" in capsys.readouterr().err


def test_a_dump_directory_is_a_program(programs: Path) -> None:
    code = "import jax; jax.jit(lambda x: (x**2 * 3 + jax.numpy.sin(x)).mean()).lower(jax.numpy.ones((3, 4))).compile()"
    _dumped(code, programs / "dump")

    assert cli.main(["hlo", "dump:jit__lambda", "swapped.mlirbc", "--expect-equal", "structural"]) == 0


def _dumped(code: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "XLA_FLAGS": f"--xla_dump_to={folder}"})


def test_regions_are_counted_and_the_open_ones_are_listed(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is run of programs from files, so that only what is one operation of the same values is cut."""
    assert cli.main(["hlo", "first.mlirbc", "other.pb", "--only-level", "--level", "structural", "--regions"]) == 0

    regions = written(programs)["regions"]
    assert regions["open"] == regions["distinct"] == len(regions["open_regions"]) == 1
    assert regions["open_regions"][0]["results"] == ["0"]
    assert regions["total"] == regions["structural"] + regions["algebraic"] + regions["open"]
    shown = capsys.readouterr().out
    assert f"structural {regions['headline']}" in shown
    assert "operations tf, jax" in shown
