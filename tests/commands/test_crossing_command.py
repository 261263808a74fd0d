"""`jaxport crossing` on somebody else's port: what differs at one size only is found there, and is not timed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from owned_sides import Owned

from compare import cli
from compare.measure import timed_sets

PORT = """
from workloads import ArraySpec, Workload

port = Workload("mine", "tf.py:f", "jax.py:f", {"x": ArraySpec(("n", 4))}, builds=False)
"""
TF = "import tensorflow as tf\ndef f(x): return tf.tanh(x) * 2\n"
JAX = "import jax.numpy as jnp\ndef f(x): return jnp.tanh(x) * (2 if x.shape[0] < 64 else 2.1)\n"


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("port.py", PORT), ("tf.py", TF), ("jax.py", JAX)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["crossing", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.process
def test_a_planted_difference_at_the_largest_size_is_found_there(
    port: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(timed_sets, "LiveSide", Owned)
    monkeypatch.setattr(Owned, "slow_beyond", 4)
    asked = [
        "crossing",
        "port.py",
        "--size",
        "n=16,4,64",
        "--pairs",
        "5",
        "--budget",
        "0.01",
        "--threads",
        "1",
        "--json",
    ]
    assert cli.main(asked) == 1
    (series,) = json.loads(capsys.readouterr().out)["series"]
    runs: list[dict[str, Any]] = series["runs"]
    assert [(run["size"], run["parity"]) for run in runs] == [(4, "pass"), (16, "pass"), (64, "fail")]
    assert "semantics" in runs[-1]["reason"] and not runs[-1]["seconds"]
    (crossing,) = series["crossings"]
    assert (crossing["ratio"], crossing["between"], crossing["becomes"]) == ("tf/jit vs tf/graph", [4, 16], "slower")
    assert json.loads((port / "jaxport-crossing/crossing.json").read_text())["series"] == [series]
    assert "mine" in (port / "jaxport-crossing/crossing.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["softmx"], "expected the name of a workload or a port file, found 'softmx'"),
        (["softmax", "--size", "64"], "expected --size NAME=N,N,... such as n=16,64,256, found '64'"),
        (["softmax", "--size", ""], "expected --size NAME=N,N,... such as n=16,64,256, found ''"),
        (["softmax", "--size", "elements=64"], "expected at least 2 sizes"),
        (["add"], "expected --size NAME=N,N,... for add, found none"),
        (["mnist_mlp", "--size", "batch=8,16"], "which trains"),
        (["softmax", "--tf", "f.py:f"], "expected --tf and --jax together and no WORKLOAD"),
        (["softmax", "--pairs", "0"], "expected a positive integer"),
        (["softmax", "--threads", "999"], "expected --threads of at most"),
        (["absent.py", "--size", "n=8,16"], "expected a port file at absent.py, found nothing"),
    ],
)
def test_what_cannot_be_timed_is_refused_in_one_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert expected in refused(capsys, *arguments, "-o", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
