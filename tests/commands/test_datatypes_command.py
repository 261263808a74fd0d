"""Functions that somebody else wrote, in every type that is asked for, in fresh processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compare import cli

pytestmark = pytest.mark.process

TF = """
import tensorflow as tf

def same(x): return tf.identity(x)

def half(x): return x / 2
"""

JAX = """
import jax.numpy as jnp

def same(x): return x + 0 if x.dtype != bool else x

def half(x): return x / (1.8 if x.dtype == jnp.bfloat16 else 2)
"""


def table(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and by type the rows of the one function."""
    code = cli.main(["datatypes", *given, "--json"])
    record = json.loads(capsys.readouterr().out)
    return code, {row["dtype"]: row for row in record["functions"][0]["rows"]}


def modes(row: dict[str, Any]) -> dict[str, str]:
    return {mode["mode"]: mode["status"] for mode in row["modes"]}


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.py").write_text(TF)
    Path("j.py").write_text(JAX)


@pytest.mark.usefixtures("functions")
def test_what_is_wrong_in_one_type_fails_in_that_type(capsys: pytest.CaptureFixture[str]) -> None:
    own = ("--tf", "t.py:half", "--jax", "j.py:half", "--input", "x=f32[4,8]")
    code, rows = table(capsys, *own, "--types", "bf16", "f32", "f64", "f8e5m2", "--markdown", "page.md")
    assert code == 1
    assert {status for mode, status in modes(rows["float32"]).items() if mode != "tf/eager"} == {"holds"}
    wrong = modes(rows["bfloat16"])
    assert wrong["jax/jit"] == wrong["jax/eager"] == "differs" and wrong["tf/jit"] == "holds"
    assert modes(rows["float64"])["jax/jit"] == "holds"
    assert modes(rows["float64"])["jax/jit without x64"] == "other type"
    narrow = {program["side"]: program["parameters"] for program in rows["float64"]["programs"]}
    assert narrow == {"tf": ["float64"], "jax": ["float64"], "jax without x64": ["float32"]}
    assert modes(rows["float8_e5m2"]) | {"jax/eager": "", "jax/jit": ""} == {
        **dict.fromkeys(("tf/eager", "tf/graph", "tf/autocluster", "tf/jit"), "refused"), "jax/eager": "", "jax/jit": ""
    }  # fmt: skip
    assert rows["float8_e5m2"]["reference"].startswith("tf in float64")
    page = Path("page.md").read_text()
    assert "| bf16 | reference" in page and "gives f32" in page


@pytest.mark.usefixtures("functions")
def test_integers_are_equal_or_a_mode_differs(capsys: pytest.CaptureFixture[str]) -> None:
    own = ("--tf", "t.py:same", "--jax", "j.py:same", "--input", "x=f32[4,8]")
    code, rows = table(capsys, *own, "--types", "s4", "i64", "bool")
    assert {*modes(rows["bool"]).values()} == {"reference", "holds"} and modes(rows["int64"])["tf/jit"] == "holds"
    assert modes(rows["int64"])["jax/jit"] == "holds"
    assert modes(rows["int64"])["jax/jit without x64"] == "other type"
    # TensorFlow 2.21 keeps an int4 a byte, and its XLA reads two.
    assert (modes(rows["int4"])["tf/eager"], modes(rows["int4"])["jax/jit"]) == ("reference", "holds")
    assert modes(rows["int4"])["tf/jit"] == "differs" and code == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--types", "f9"], "expected a type of f32"),
        (["mnist_mlp"], "expected a function of arrays, found mnist_mlp, which has weights"),
        (["nothing_of_the_kind"], "expected"),
    ],
)
def test_what_cannot_be_asked_is_one_line(capsys: pytest.CaptureFixture[str], given: list[str], message: str) -> None:
    assert cli.main(["datatypes", *given]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1]
