"""The whole ledger of functions that somebody else wrote, in fresh processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compare import cli

pytestmark = pytest.mark.process

JAX = """
import os
import jax
import jax.numpy as jnp

def mean(x):
    return jnp.mean(x)

def noisy(x):
    return x + os.getpid()

def fragile(x):
    if x.shape[0] == 3:
        raise ValueError("three is not allowed")
    if x.shape[0] == 4:
        os._exit(3)
    return x * 2

def scaled(x, factor):
    return x * factor
"""

TF = """
import keras
import tensorflow as tf

model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(2)])

def called(x, training=False):
    return model(x, training=training)

def repeated(x, times):
    return tf.repeat(x, times)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("j.py").write_text(JAX)
    Path("t.py").write_text(TF)


def ledger(capsys: pytest.CaptureFixture[str], *asked: str, code: int = 0) -> dict[str, Any]:
    assert cli.main(["compilation", "recompiles", *asked, "--json"]) == code
    return json.loads(capsys.readouterr().out)["ledger"]["sides"]


def cures(side: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {cure["cure"]: cure for cure in side["cures"]}


def test_a_cure_that_changes_results_is_found_out(capsys: pytest.CaptureFixture[str]) -> None:
    tried = cures(ledger(capsys, "--jax", "j.py:mean", "--call", "x=f32[N]", "--sizes", "N=5,6,9")["jax"])
    assert (tried["largest"]["compilations"], tried["largest"]["same_results"]) == (1, False)
    symbolic = tried["symbolic_shapes"]
    assert (symbolic["traces"], symbolic["compilations"], symbolic["same_results"]) == (1, 3, True)


def test_results_that_do_not_repeat_are_not_compared(capsys: pytest.CaptureFixture[str]) -> None:
    tried = cures(ledger(capsys, "--jax", "j.py:noisy", "--call", "x=f32[N]", "--sizes", "N=5,6")["jax"])
    assert tried["largest"]["same_results"] is None and "not compared" in tried["largest"]["results"]


def test_the_ledger_goes_on_after_a_call_that_fails_and_ends_with_the_worker(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("--jax", "j.py:fragile", "--call", "x=f32[N]", "--sizes", "N=2,3,5,4,2", "--no-cures")
    side = ledger(capsys, *asked, "--expect-compilations", "9", code=1)["jax"]
    first, raises, third, dies, never = side["calls"]
    assert first["why"] == "first call" and third["why"] == "x: f32[2] -> f32[5], dimension 0" and third["established"]
    assert "three is not allowed" in raises["error"] and "exit code 3" in dies["error"] and "ended" in never["error"]
    assert (side["failed"], side["compilations"]) == (3, 2)


def test_weak_types_and_dtypes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    texts = [f"x=f32[3], factor={factor}" for factor in ("1.0", "2.0", "f32(1)", "2")]
    asked = [word for text in texts for word in ("--call", text)]
    calls = ledger(capsys, "--jax", "j.py:scaled", *asked, "--no-cures")["jax"]["calls"]
    assert [call["traces"] for call in calls] == [1, 0, 1, 1]
    assert calls[2]["why"].endswith("a Python float -> an array, weak type")


def test_a_keras_model_with_a_last_partial_batch(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--tf", "t.py:called", "--call", "x=f32[B,16]", "--sizes", "B=8,8,5")
    side = ledger(capsys, *asked)["tf"]
    assert [(call["traces"], call["compilations"]) for call in side["calls"]] == [(1, 1), (0, 0), (1, 1)]
    tried = cures(side)
    assert tried["drop_last"]["compilations"] == tried["buckets"]["compilations"] == 1
    assert tried["input_signature"]["traces"] == 1 and tried["input_signature"]["compilations"] == 2
    assert all(cure["same_results"] for cure in tried.values() if not cure["refused"])


def test_a_constant_is_told_from_a_value_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("x=f32([1.0, 2.0]), times=i32(2)", "x=f32([1.0, 3.0]), times=i32(3)")
    asked = [word for text in texts for word in ("--call", text)]
    side = ledger(capsys, "--tf", "t.py:repeated", *asked, "--no-cures")["tf"]
    second = side["calls"][1]
    assert (second["traces"], second["compilations"], second["established"]) == (0, 1, True)
    assert second["why"].startswith("times: i32(2) -> i32(3)") and "constant" in second["why"]


def test_an_example_says_what_a_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compilation", "recompiles", "argmax", "--no-cures", "--expect-compilations", "1"]) == 1
    said = capsys.readouterr().out
    assert "The lecture TensorFlow XLA says:" in said
    assert said.count("4 calls, 2 traces, 2 compilations") == 2
    assert cli.main(["compilation", "recompiles", "--jax", "j.py:nothing_here", "--call", "x=1"]) == 2
