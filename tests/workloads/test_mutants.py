"""Ports with one planted error each, run whole: parity must fail, at the right gate and place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from places import ROOT
from runs import record_of

from workloads.core.modes import TF_JIT

EXAMPLE = ROOT / "examples" / "feed_forward"

RESULT = 'x + hidden @ weights["contract/kernel"] + weights["contract/bias"]'

MUTANTS = {
    "honest": ("", ""),
    "epsilon": ("variance + 1e-3", "variance + 1.001e-3"),
    "tanh": ("approximate=False", "approximate=True"),
    "swapped": ('* weights["norm/gamma"] + weights["norm/beta"]', '* weights["norm/beta"] + weights["norm/gamma"]'),
    "no_bias": ('+ weights["contract/bias"]', ""),
    "dtype": (RESULT, f"({RESULT}).astype(jnp.float16)"),
    "narrow": ("normed @", "normed.astype(jnp.bfloat16).astype(x.dtype) @"),
    "shape": (RESULT, f"({RESULT})[:1]"),
    "nan": (RESULT, f"jnp.log(jnp.maximum(0, 2.5 - x)) * 0 + {RESULT}"),
    "axis": ("x.mean(axis=-1", "x.mean(axis=-2"),
}

GATES = {
    "epsilon": "semantics",
    "tanh": "semantics",
    "swapped": "semantics",
    "no_bias": "semantics",
    "dtype": "structure",
    "narrow": "rounding",
    "shape": "structure",
    "nan": "structure",
    "axis": "semantics",
}


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("mutants")
    (folder / "model_tf.py").write_text((EXAMPLE / "model_tf.py").read_text())
    for name, (old, new) in MUTANTS.items():
        text = (EXAMPLE / "model_jax.py").read_text()
        assert old in text
        (folder / f"jax_{name}.py").write_text(text.replace(old, new) if old else text)
        port = (EXAMPLE / "port.py").read_text().replace("model_jax.py", f"jax_{name}.py")
        (folder / f"{name}.py").write_text(port.replace('name="feed_forward"', f'name="{name}"'))
    ports = (str(folder / f"{name}.py") for name in MUTANTS)
    return record_of(*ports, one_original=True, plans=(), modes=(TF_JIT,), parity_only=True)["workloads"]


def failing(judged: dict[str, Any], gate: str) -> list[dict[str, Any]]:
    return [each for each in judged["parity"]["gates"][gate]["comparisons"] if each["verdict"] == "fail"]


def test_the_honest_port_passes(mutants: dict[str, Any]) -> None:
    assert mutants["honest"]["parity"]["verdict"] == "pass"
    # tf.nn.gelu rounds a constant to float32 even in float64: derived and said, not declared by hand.
    assert any(each["gate"] == "semantics" for each in mutants["honest"]["parity"]["deviations"])


@pytest.mark.parametrize(("name", "gate"), GATES.items())
def test_a_planted_error_fails_at_its_gate_and_is_named(mutants: dict[str, Any], name: str, gate: str) -> None:
    found = failing(mutants[name], gate)
    assert mutants[name]["parity"]["verdict"] == "fail"
    assert found
    for each in found:
        assert each["message"].startswith(f"{name}: {gate} gate, ")
        assert f", leaf {each['leaf']}" in each["message"]


def test_an_epsilon_off_by_a_thousandth_is_seen_in_float64_and_not_in_float32(mutants: dict[str, Any]) -> None:
    assert failing(mutants["epsilon"], "semantics")
    assert mutants["epsilon"]["parity"]["gates"]["rounding"]["verdict"] == "pass"


def test_a_narrow_type_inside_is_rounding_and_not_semantics(mutants: dict[str, Any]) -> None:
    assert "jax promoted" in mutants["narrow"]["parity"]["oracle"]["forward"]
    assert not failing(mutants["narrow"], "semantics")
