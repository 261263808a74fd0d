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

def to_float(n): return tf.cast(n, tf.float32)

def third(x): return x * x // 3

def best(x): return tf.argmax(x, axis=-1)
"""

JAX = """
import os

import jax.numpy as jnp

def to_float(n): return n.astype(jnp.float32)

def other_float(n): return n.astype(jnp.float32) * 100 + 7

def third(x): return x * x // 3

def best(x): return jnp.argmax(x, axis=-1)

def broken(x): return undefined_name(x)

def dies(x):
    if x.dtype == jnp.bfloat16:
        os._exit(3)
    return x / 2

def same(x): return x + 0 if x.dtype != bool else x

def half(x): return x / (1.8 if x.dtype == jnp.bfloat16 else 2)
"""


def table(capsys: pytest.CaptureFixture[str], *given: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and by type the rows of the one function."""
    code = cli.main(["lookup", "datatypes", *given, "--json"])
    record = json.loads(capsys.readouterr().out)
    return code, {row["dtype"]: row for row in record["functions"][0]["rows"]}


def modes(row: dict[str, Any]) -> dict[str, str]:
    return {title(mode, mode["mode"]): mode["status"] for mode in row["modes"]}


def title(part: dict[str, Any], name: str) -> str:
    return f"{name} without x64" if part["without_x64"] else name


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
    narrow = {title(program, program["side"]): program["parameters"] for program in rows["float64"]["programs"]}
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


@pytest.mark.usefixtures("functions")
def test_floats_of_integers_are_held_against_float64(capsys: pytest.CaptureFixture[str]) -> None:
    own = ("--tf", "t.py:to_float", "--input", "n=i32[4,8]", "--types", "i32", "i4")
    code, rows = table(capsys, *own, "--jax", "j.py:other_float")
    assert code == 1 and modes(rows["int32"])["jax/jit"] == "differs"
    # TensorFlow casts no int4, and its int64 is no verdict on one.
    assert modes(rows["int4"])["tf/eager"] == "refused" and modes(rows["int4"])["jax/jit"] == "not judged"
    code, rows = table(capsys, *own, "--jax", "j.py:to_float")
    assert code == 0 and modes(rows["int32"])["jax/jit"] == modes(rows["int4"])["jax/jit"] == "holds"


@pytest.mark.usefixtures("functions")
def test_int64_in_the_place_of_a_refused_type_is_named_and_tells_nobody_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = ("--tf", "t.py:third", "--jax", "j.py:third", "--input", "x=i32[4,8]", "--types", "i4", "i8")
    code, rows = table(capsys, *own, "--markdown", "page.md")
    assert code == 0 and modes(rows["int4"])["jax/jit"] == "not judged" and modes(rows["int8"])["jax/jit"] == "holds"
    assert "- i4: TensorFlow's int64" in Path("page.md").read_text()


@pytest.mark.usefixtures("functions")
def test_a_lost_worker_and_a_function_without_a_verdict_fail(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = table(
        capsys, "--tf", "t.py:half", "--jax", "j.py:dies", "--input", "x=f32[4,8]", "--types", "bf16", "f32"
    )
    assert code == 1 and modes(rows["float32"])["jax/jit"] == "holds"
    lost = {mode["mode"]: (mode["status"], mode["reason"]) for mode in rows["bfloat16"]["modes"]}
    assert lost["jax/eager"] == lost["jax/jit"] == ("lost", "the worker ended with exit code 3")
    code, rows = table(capsys, "--tf", "t.py:best", "--jax", "j.py:best", "--input", "x=f32[4,8]", "--types", "f8e5m2")
    assert code == 1 and modes(rows["float8_e5m2"])["jax/jit"] == "not judged"


@pytest.mark.usefixtures("functions")
def test_a_port_that_does_not_run_as_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    own = ("--tf", "t.py:half", "--jax", "j.py:broken", "--input", "x=f32[4,8]", "--types", "bf16")
    assert cli.main(["lookup", "datatypes", *own]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "found that no mode of jax does: NameError: name 'undefined_name'" in said


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--types", "f9"], "expected a type of f32"),
        (["mnist_mlp"], "expected a function of arrays, found mnist_mlp, which has weights"),
        (["nothing_of_the_kind"], "expected"),
    ],
)
def test_what_cannot_be_asked_is_one_line(capsys: pytest.CaptureFixture[str], given: list[str], message: str) -> None:
    assert cli.main(["lookup", "datatypes", *given]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert message in said[-1]
