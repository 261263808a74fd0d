"""The pairs of pairs.toml against real TensorFlow: honest ports pass, unstable and wrong ones fail."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from runs import IN_ZOO, ZOO, record_of

from compare.parity.stability import BETTER
from workloads.core.modes import TF_JIT
from workloads.core.spec import STABILITY

PAIRS: Mapping[str, Mapping[str, Mapping[str, Any]]] = tomllib.loads(Path(__file__).with_name("pairs.toml").read_text())
TF = "import tensorflow as tf\n"
JAX = """import jax
import jax.numpy as jnp
import optax

def ab(x): return x * jax.lax.stop_gradient(jnp.sign(x))

def l2(x):
    squares = jnp.sum(x * x, -1, keepdims=True)
    return x * jax.lax.rsqrt(jnp.where(squares >= 1e-12, squares, 1e-12))
"""
PORT = """
from compare.inputs.functions import from_functions
port = from_functions("{folder}/original.py:{name}", "{folder}/port.py:{name}", {inputs})
"""
NAMES = {kind: sorted(pairs) for kind, pairs in PAIRS.items()}
FEW = NAMES["honest"][::12]
"""Honest ports that `make slow` judges too: all of them take ten minutes longer."""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory, programs_here: None) -> dict[str, Any]:
    """The parity of every pair, in one run and one mode a side: what is judged here are the gates."""
    folder = tmp_path_factory.mktemp("pairs")
    sources = {"original": TF, "port": JAX}
    paths: list[str] = []
    for kind, pairs in PAIRS.items():
        for short, pair in pairs.items():
            if kind == "honest" and short not in FEW and not ZOO:
                continue
            name = f"{kind}_{short}"
            arguments = ", ".join(each.partition("=")[0] for each in pair["inputs"])
            sources["original"] += f"def {name}({arguments}): return {pair['tf']}\n"
            sources["port"] += f"def {name}({arguments}): return {pair['jax']}\n"
            path = folder / f"{name}.py"
            path.write_text(PORT.format(folder=folder, name=name, inputs=pair["inputs"]))
            paths.append(str(path))
    for name, text in sources.items():
        (folder / f"{name}.py").write_text(text)
    workloads = record_of(*paths, plans=(), modes=(TF_JIT,), parity_only=True)["workloads"]
    return {name: part["parity"] for name, part in workloads.items()}


def failing(parity: Mapping[str, Any]) -> dict[str, list[str]]:
    """By gate that fails, its messages."""
    return {
        name: [each["message"] for each in gate["comparisons"] if each["verdict"] == "fail"] or [gate["reason"]]
        for name, gate in parity["gates"].items()
        if gate["verdict"] == "fail"
    }


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in FEW else IN_ZOO) for name in NAMES["honest"]])
def test_an_honest_port_passes(judged: dict[str, Any], name: str) -> None:
    assert failing(judged[f"honest_{name}"]) == {}


@pytest.mark.parametrize("name", NAMES["unstable"])
def test_an_unstable_port_fails(judged: dict[str, Any], name: str) -> None:
    # Or in a case that makes it decide the other way, in float64 already.
    assert failing(judged[f"unstable_{name}"]).keys() & {STABILITY, "semantics"}


@pytest.mark.parametrize("name", NAMES["better"])
def test_a_port_that_is_more_stable_than_the_original_passes_and_it_is_said(judged: dict[str, Any], name: str) -> None:
    parity = judged[f"better_{name}"]
    assert failing(parity) == {}
    assert BETTER in {call["said"] for each in parity["reach"] for span in each["spans"] for call in span["calls"]}


@pytest.mark.parametrize("name", NAMES["wrong"])
def test_a_port_that_is_wrong_where_inputs_are_rarely_drawn_fails(judged: dict[str, Any], name: str) -> None:
    assert failing(judged[f"wrong_{name}"]).keys() & {"semantics", "gradients"}
