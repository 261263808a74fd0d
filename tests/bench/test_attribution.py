"""The time ratio split into frontend, compiler and runtime."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.bench.attribution import attribute
from compare.record.timing_part import Attribution

CELLS = {"tf@tf": 4.0, "jax@jax": 1.0, "tf@jax": 1.0, "jax@tf": 4.0}
seconds = st.floats(1e-9, 1e3)


@given(seconds, seconds, seconds, seconds, seconds, seconds)
def test_the_factors_multiply_to_the_public_ratio(
    a: float, b: float, c: float, d: float, tf: float, jax: float
) -> None:
    found = attribute({"tf@tf": a, "jax@jax": b, "tf@jax": c, "jax@tf": d}, tf, jax)
    assert found is not None
    assert math.isclose(found.frontend * found.compiler, b / a, rel_tol=1e-9)
    assert math.isclose(found.frontend * found.compiler * found.runtime, jax / tf, rel_tol=1e-9)


@given(seconds, seconds, seconds, seconds)
def test_swapping_the_sides_inverts_the_factors(a: float, b: float, c: float, d: float) -> None:
    there = attribute({"tf@tf": a, "jax@jax": b, "tf@jax": c, "jax@tf": d}, a, b)
    back = attribute({"tf@tf": b, "jax@jax": a, "tf@jax": d, "jax@tf": c}, b, a)
    assert there is not None
    assert back is not None
    assert math.isclose(there.frontend * back.frontend, 1, rel_tol=1e-9)
    assert math.isclose(there.compiler * back.compiler, 1, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("cells", "tf_public", "jax_public", "expected"),
    [
        pytest.param(CELLS, 4.0, 1.0, Attribution(1.0, 0.25, 1.0), id="all compiler"),
        pytest.param(CELLS | {"tf@jax": 4.0, "jax@tf": 1.0}, 4.0, 1.0, Attribution(0.25, 1.0, 1.0), id="all frontend"),
        pytest.param(dict.fromkeys(CELLS, 1.0), 2.0, 6.0, Attribution(1.0, 1.0, 3.0), id="all runtime"),
        pytest.param(
            {"tf@tf": 1.0, "jax@jax": 4.0, "tf@jax": 2.0, "jax@tf": 2.0}, 1, 4, Attribution(2, 2, 1), id="even"
        ),
    ],
)
def test_the_part_that_differs_gets_the_factor(
    cells: dict[str, float], tf_public: float, jax_public: float, expected: Attribution
) -> None:
    assert attribute(cells, tf_public, jax_public) == expected


@pytest.mark.parametrize("missing", CELLS)
def test_nothing_without_every_cell(missing: str) -> None:
    assert attribute({name: time for name, time in CELLS.items() if name != missing}, 4.0, 1.0) is None
    assert attribute(CELLS | {missing: None}, 4.0, 1.0) is None


@pytest.mark.parametrize(("tf_public", "jax_public"), [(None, 1.0), (4.0, None)])
def test_nothing_without_the_public_times(tf_public: float | None, jax_public: float | None) -> None:
    assert attribute(CELLS, tf_public, jax_public) is None


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
def test_refuses_what_is_no_time(time: float) -> None:
    with pytest.raises(ValueError, match="expected positive times"):
        attribute(CELLS | {"tf@jax": time}, 4.0, 1.0)
