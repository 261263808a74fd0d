"""The ratio as a product: what it says, and that no factor is blamed which costs nothing on one of its two ways."""

from __future__ import annotations

from typing import Any

import pytest
from pages import workload_of
from places import DATA

from compare.record.results_file import load_plain
from compare.report import attributions

FRONTEND = ("jax@jax", "tf@jax"), ("jax@tf", "tf@tf")
COMPILER = ("jax@jax", "jax@tf"), ("tf@jax", "tf@tf")


@pytest.fixture
def honest() -> dict[str, Any]:
    """A workload that has every part."""
    return load_plain(DATA / "record_small.json")["workloads"]["running_example"]


def with_cells(honest: dict[str, Any], **seconds: float) -> dict[str, Any]:
    """The record with these times of cells, by "program_compiler", and the factors that they make."""
    cells = {name.replace("_", "@"): time for name, time in seconds.items()}
    swaps = [[cells[over] / cells[under] for over, under in pairs] for pairs in (FRONTEND, COMPILER)]
    frontend, compiler = ((one * other) ** 0.5 for one, other in swaps)
    honest["timing"]["cells"] = {name: {"median_s": time} for name, time in cells.items()}
    return {**honest, "attribution": {"frontend": frontend, "compiler": compiler, "runtime": 1.0}}


def test_in_words(honest: dict[str, Any]) -> None:
    words = "jax/jit takes 0.406x of tf/jit's time: frontend 1.00x, compiler 0.411x, runtime 0.983x"
    assert attributions.in_words(workload_of(honest)) == words


def test_a_hole_claims_no_total(honest: dict[str, Any]) -> None:
    honest["attribution"]["compiler"] = None
    assert attributions.in_words(workload_of(honest)).startswith("jax/jit takes an unknown part of tf/jit's time")


def said(plain: dict[str, Any]) -> str:
    return attributions.costliest_in_words(workload_of(plain))


def test_what_costs_on_both_ways_is_named(honest: dict[str, Any]) -> None:
    plain = with_cells(honest, tf_tf=1.0, jax_jax=1.5, tf_jax=1.4, jax_tf=1.1)
    (frontend, compiler, runtime) = attributions.factors(workload_of(plain))
    assert frontend.swaps == pytest.approx((1.5 / 1.4, 1.1))
    assert compiler.swaps == pytest.approx((1.5 / 1.1, 1.4))
    assert runtime.swaps is None
    assert said(plain) == "against tf/jit the compiler costs the most, 1.38x (medians, no interval)"


MASK_RCNN = {"tf_tf": 26.8, "jax_jax": 25.7, "tf_jax": 50.8, "jax_tf": 25.9}
"""Of a training step, in ms: one kernel of TensorFlow's program takes 13 by JAX's XLA."""
DISPUTED = "the compiler is 0.992x on the port's program and 1.90x on TF's"


def test_a_compiler_that_is_slow_on_the_original_alone_is_not_blamed_for_the_port(honest: dict[str, Any]) -> None:
    plain = with_cells(honest, **MASK_RCNN)
    assert said(plain) == f"against tf/jit no factor costs it alone: {DISPUTED} (medians, no interval)"
    other = "the frontend is 0.506x under JAX's XLA and 0.966x under TF's"
    assert attributions.in_words(workload_of(plain)).endswith(f"compiler 1.37x, runtime 1.00x; {other}; {DISPUTED}")


def test_what_costs_beside_it_is_named(honest: dict[str, Any]) -> None:
    plain = with_cells(honest, **MASK_RCNN)
    plain["attribution"]["runtime"] = 1.3
    assert said(plain) == f"against tf/jit the runtime costs it, 1.30x (medians, no interval); {DISPUTED}"


def test_a_factor_that_one_swap_makes_is_not_blamed(honest: dict[str, Any]) -> None:
    plain = with_cells(honest, tf_tf=1.0, jax_jax=2.014, tf_jax=0.6, jax_tf=1.06)
    told = (
        "the frontend is 3.36x under JAX's XLA and 1.06x under TF's, "
        "the compiler is 1.90x on the port's program and 0.600x on TF's"
    )
    assert said(plain) == f"against tf/jit no factor costs it alone: {told} (medians, no interval)"


@pytest.mark.parametrize("missing", ["tf@jax", "jax@tf"])
def test_nothing_is_blamed_where_there_is_one_way_alone(missing: str, honest: dict[str, Any]) -> None:
    plain = with_cells(honest, tf_tf=1.0, jax_jax=1.5, tf_jax=1.4, jax_tf=1.1)
    del plain["timing"]["cells"][missing]
    assert not any(factor.swaps for factor in attributions.factors(workload_of(plain)))
    assert not said(plain)


def test_nothing_is_blamed_beside_a_factor_that_is_not_known(honest: dict[str, Any]) -> None:
    plain = with_cells(honest, tf_tf=1.0, jax_jax=1.5, tf_jax=1.4, jax_tf=1.1)
    plain["attribution"]["runtime"] = None
    assert not said(plain)


def test_noise_is_no_dispute_and_no_cost(honest: dict[str, Any]) -> None:
    plain = with_cells(honest, tf_tf=1.0, jax_jax=1.0, tf_jax=0.97, jax_tf=1.03)
    assert "under" not in attributions.in_words(workload_of(plain)) and not said(plain)
    wide = with_cells(honest, tf_tf=1.0, jax_jax=1.12, tf_jax=1.1, jax_tf=1.02)
    assert "the compiler costs the most, 1.10x" in said(wide)
    wide["timing"]["margin"] = 0.145
    assert not said(wide)


def test_nothing_is_blamed_where_every_factor_gains(honest: dict[str, Any]) -> None:
    plain = with_cells(honest, tf_tf=1.0, jax_jax=0.5, tf_jax=0.7, jax_tf=0.7)
    assert not said(plain)
    assert not said({**plain, "attribution": None})
