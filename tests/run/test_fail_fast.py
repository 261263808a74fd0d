"""A run with --fail-fast: it stops at the first pass that fails, and names the line of the port that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from places import ROOT
from runs import record_of

from compare.inputs.request import Plan
from workloads.core.modes import TF_JIT

pytestmark = pytest.mark.process

TF, JAX, WORKLOAD = (
    (ROOT / folder / "mnist_mlp.py").read_text() for folder in ("tf_reference", "jaxport", "workloads")
)

PLANTED = {
    "forward": ("nnx.relu(self", "jax.nn.leaky_relu(self"),
    "gradients": ("nnx.relu(self.hidden(images))", "nnx.relu(jax.lax.stop_gradient(self.hidden(images)))"),
    "step": ("optimizers.adam(1e-3)", "optimizers.adam(1.1e-3)"),
}
"""By the first pass that an error is seen in, what is replaced in the port."""

GATES_OF_PASS = {"forward": {"semantics", "rounding"}, "gradients": {"gradients"}, "step": {"training"}}
UNASKED = {"forward": {"gradients", "training"}, "gradients": {"training"}, "step": set[str]()}


def write_port(folder: Path, name: str, old: str, new: str) -> str:
    """A port file whose JAX side has one line replaced."""
    (folder / "original.py").write_text(TF)
    assert JAX.count(old) == 1
    (folder / f"jax_{name}.py").write_text(JAX.replace(old, new))
    port = WORKLOAD.replace('name="mnist_mlp"', f'name="{name}"')
    port = port.replace("tf_reference.mnist_mlp:", "original.py:").replace("jaxport.mnist_mlp:", f"jax_{name}.py:")
    (folder / f"{name}.py").write_text(port)
    return str(folder / f"{name}.py")


def run(*ports: str, fail_fast: bool = True) -> Mapping[str, Any]:
    record = record_of(*ports, size="smoke", plans=(), modes=(TF_JIT,), parity_only=True, fail_fast=fail_fast)
    return record["workloads"]


def names(gates: Mapping[str, Any], verdict: str) -> set[str]:
    return {name for name, gate in gates.items() if gate["verdict"] == verdict}


@pytest.mark.parametrize("pass_", PLANTED)
def test_the_first_pass_that_fails_is_located_and_no_later_one_is_judged(tmp_path: Path, pass_: str) -> None:
    old, new = PLANTED[pass_]
    part = run(write_port(tmp_path, pass_, old, new))[pass_]
    parity = part["parity"]
    assert parity["verdict"] == "fail"
    assert names(parity["gates"], "fail") == GATES_OF_PASS[pass_]
    assert names(parity["gates"], "not_judged") == UNASKED[pass_]
    assert all("fail-fast stops" in parity["gates"][name]["reason"] for name in UNASKED[pass_])
    assert {place["pass"] for place in parity["places"]} == {pass_}
    source = JAX.replace(old, new).splitlines()
    wrong_line = next(number for number, line in enumerate(source, 1) if new in line)
    lines = {place["jax_line"].rpartition(":")[2] for place in parity["places"]}
    # What an optimizer computes stands in its own file: there the values are named, not the line.
    assert str(wrong_line) in lines or (pass_ == "step" and "0.0011" in parity["places"][0]["difference"])


def test_a_port_that_holds_is_judged_as_without_the_option(tmp_path: Path) -> None:
    port = write_port(tmp_path, "right", "import optax", "import optax")
    whole, fast = (run(port, fail_fast=fail_fast)["right"]["parity"] for fail_fast in (False, True))
    assert fast["verdict"] == "pass"
    assert fast == whole


def test_workloads_after_the_first_failure_are_named_as_missing(tmp_path: Path) -> None:
    wrong = write_port(tmp_path, "wrong", *PLANTED["forward"])
    parts = run(wrong, write_port(tmp_path, "later", "import optax", "import optax"))
    assert list(parts) == ["wrong"]
    reasons = [failure["reason"] for failure in parts["wrong"]["failures"]]
    assert reasons == ["stopped at the first failure after 1 of 2 workloads; not in this record: later"]


FUNCTIONS = """
import jax, tensorflow as tf

def original(x):
    return tf.tanh(x)

def right(x):
    return jax.numpy.tanh(x)

def wrong(x):
    return jax.numpy.sin(x)
"""

PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="{0}", tf="functions.py:original", jax="functions.py:{0}", inputs={{"x": ArraySpec((8,))}}, builds=False
)
"""


def test_what_holds_before_the_failure_says_that_it_is_not_timed(tmp_path: Path) -> None:
    """Programs are compared and times are asked for: what was judged before the failure has its programs."""
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    for name in ("right", "wrong"):
        (tmp_path / f"{name}.py").write_text(PORT.format(name))
    ports = (str(tmp_path / f"{name}.py") for name in ("right", "wrong"))
    parts = record_of(*ports, plans=(Plan(1, 1, budget_s=0.01),), fail_fast=True)["workloads"]
    right, wrong = parts["right"], parts["wrong"]
    assert (right["parity"]["verdict"], wrong["parity"]["verdict"]) == ("pass", "fail")
    assert [(failure["doing"], failure["reason"]) for failure in right["failures"]] == [
        ("timing", "stopped at the first failure")
    ]
    assert (right["timing"], wrong["failures"]) == (None, [])
    assert right["programs"].keys() == {"tf", "jax"}
    assert [place["jax_line"].rpartition(":")[2] for place in wrong["parity"]["places"]] == ["11"]
