"""Ports that are right at one size only fail at the others; what the original does not take is not held against one."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from interpreters import JAX_AS_TF, interpreter

from compare import cli

ORIGINAL = """
import jax.numpy as jnp
def mean(x): return x.mean(0)
def last(x): return x[-1]
def pairs(x): return x.reshape(-1, 2)
def outer(x, y): return x[:, None] * y
def first(x): return x[:, 0]
"""
PORT = """
import os
import jax.numpy as jnp
def mean(x): return x.sum(0) / x.shape[0]
def mean_of_8(x): return x.sum(0) / 8
def eighth(x): return x[7]
def pairs(x): return jnp.stack([x[0::2], x[1::2]], 1)
def outer(x, y): return y * x[:, None]
def turned(x, y): return (y[:, None] * x).reshape(x.size, y.size)
def squeezed(x): return jnp.squeeze(x)
def even(x):
    if x.shape[0] % 2: raise ValueError("only even batches")
    return x.mean(0)
def dead(x):
    if x.shape[0] == 3: os._exit(7)
    return x.mean(0)
"""
BATCH, TWO = '{"x": ArraySpec(("B", 3))}', '{"x": ArraySpec(("B",)), "y": ArraySpec(("T",))}'
SIZED = 'lambda d: {"x": ArraySpec((d["B"], 3))}, sizes={"default": {"B": 8}}'
NARROW = ', ranges={{"B": ({}, {})}}'
"""A range takes few sizes: each is judged as a port of its own."""
NARROW_BOTH = ', ranges={"B": (7, 9), "T": (9, 11)}'
PORTS = {
    "mean": ("mean", BATCH),
    "mean_of_8": ("mean", BATCH + NARROW.format(7, 9)),
    "eighth": ("last", BATCH),
    "pairs": ("pairs", '{"x": ArraySpec(("B",))}' + NARROW.format(1, 4)),
    "outer": ("outer", TWO + NARROW_BOTH),
    "turned": ("outer", TWO + NARROW_BOTH),
    "squeezed": ("first", '{"x": ArraySpec(("B", 1))}' + NARROW.format(1, 3)),
    "even": ("mean", BATCH + NARROW.format(6, 8)),
    "dead": ("mean", BATCH + NARROW.format(3, 5)),
    "unseen": ("mean", SIZED),
    "ranged": ("mean", SIZED + ', ranges={"B": (2, 3)}'),
}
FUNCTIONS = {"unseen": "mean_of_8", "ranged": "mean_of_8"}


@dataclass(frozen=True)
class Judged:
    """One run over all ports, JAX standing for TensorFlow: the exit code, every port's parity, the console."""

    code: int
    parities: Mapping[str, Mapping[str, Any]]
    said: str

    def verdict(self, port: str) -> str:
        return self.parities[port]["verdict"]

    def sizes(self, port: str) -> dict[int, str]:
        """By size of B, the verdict."""
        return {each["dimensions"]["B"]: each["verdict"] for each in self.parities[port]["sizes"]}

    def line(self, start: str) -> str:
        return next((line for line in self.said.splitlines() if line.startswith(start)), "")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "original.py").write_text(ORIGINAL)
    (folder / "ported.py").write_text(PORT)
    for name, (original, inputs) in PORTS.items():
        functions = f'tf="original.py:{original}", jax="ported.py:{FUNCTIONS.get(name, name)}"'
        declared = f'Workload("{name}", {functions}, inputs={inputs}, builds=False)'
        (folder / f"{name}.py").write_text(f"from workloads import ArraySpec, Workload\nport = {declared}\n")
    common = ["--tf-python", interpreter(folder, JAX_AS_TF), "--parity-only", "-o", str(folder / "out")]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = cli.main(["run", *(str(folder / f"{name}.py") for name in PORTS), *common])
    parts = json.loads((folder / "out" / "results.json").read_text())["workloads"]
    return Judged(code, {name: part["parity"] for name, part in parts.items()}, said.getvalue())


def test_a_port_that_holds_at_every_size_passes_and_the_sizes_are_recorded(judged: Judged) -> None:
    assert judged.verdict("mean") == "pass"
    assert judged.sizes("mean") == dict.fromkeys((1, 2, 3, 7, 200), "pass")


def test_a_port_that_was_judged_at_one_size_says_so(judged: Judged) -> None:
    assert (judged.verdict("unseen"), judged.sizes("unseen")) == ("pass", {})
    assert judged.line("note unseen: judged at one size only")


def test_what_is_right_at_one_size_only_fails_at_each_other_one(judged: Judged) -> None:
    assert judged.code == 1
    assert judged.sizes("mean_of_8") == dict.fromkeys((7, 9), "fail")
    assert judged.verdict("mean_of_8") == "fail"
    assert judged.line("fail mean_of_8 at B=")


def test_one_size_that_fails_is_enough(judged: Judged) -> None:
    # JAX clamps an index: the eighth of fewer rows is their last.
    assert judged.sizes("eighth") == {1: "pass", 2: "pass", 3: "pass", 7: "pass", 200: "fail"}
    assert judged.verdict("eighth") == "fail"


def test_dimensions_of_sizes_are_judged_between_the_ends_of_their_range(judged: Judged) -> None:
    assert judged.sizes("ranged") == {2: "fail", 3: "fail"}


def test_a_shape_that_differs_at_one_size_fails_there_alone(judged: Judged) -> None:
    assert {size for size, verdict in judged.sizes("squeezed").items() if verdict == "fail"} == {1}
    assert judged.line("fail squeezed at B=1: structure gate")


def test_a_port_that_raises_at_a_size_that_the_original_takes_fails(judged: Judged) -> None:
    assert judged.sizes("even") == {6: "pass", 7: "fail"}
    line = judged.line("fail even at B=7: structure gate: TensorFlow computes it, the port does not")
    assert "only even batches" in line


def test_a_size_that_the_original_refuses_is_not_held_against_the_port(judged: Judged) -> None:
    refused = {size for size, verdict in judged.sizes("pairs").items() if verdict == "not_applicable"}
    assert (judged.verdict("pairs"), refused) == ("pass", {1, 3})
    assert "--dimension B=2..64" in judged.line("note pairs: nothing is judged at B=1; B=3: ")


def test_two_dimensions_that_are_confused_fail(judged: Judged) -> None:
    assert (judged.verdict("outer"), judged.verdict("turned")) == ("pass", "fail")


def test_a_port_that_ends_its_process_at_a_size_fails_there_and_the_others_are_judged(judged: Judged) -> None:
    assert judged.sizes("dead") == {3: "fail", 5: "pass"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--input", "x=f32[8,3]", "--dimension", "B=1..4"], "expected a dimension that an --input names (none does)"),
        (["--input", "x=f32[B,3]", "--dimension", "B=4..1"], "expected B=LOW..HIGH with sizes from 1 that rise"),
        (["--input", "x=f32[B,3]", "--dimension", "B=x"], "expected a dimension like B=1..64 or B=32, found 'B=x'"),
        (["--input", "x=f32[None,3]"], "found 'None'"),
    ],
)
def test_dimensions_that_are_none_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert cli.main(["run", "--tf", "m:f", "--jax", "m:g", *options, "-o", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
