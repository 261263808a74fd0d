"""What is said of each mode of a function whose inputs were cast, on arrays small enough to reckon by hand."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

from compare.parity.evidence import Evidence
from compare.parity.type_verdicts import judged
from compare.record.datatypes_part import DIFFERS, HOLDS, OTHER_TYPE, REFERENCE, UNJUDGED, TypedMode

EXACT = np.array([1.0, -2.5, 4.0])
ONE_UP = np.array([1.0, -2.5, 4.0 * (1 + 2**-7)])
FAR = np.array([1.0, -2.5, 4.5])


def said(
    dtype: str,
    runs: Mapping[str, np.ndarray],
    reference: np.ndarray | None = EXACT,
    kept: Mapping[str, str] | None = None,
) -> dict[str, TypedMode]:
    """What is said of each mode, its result cast to the type, or to the one that `kept` names for it."""
    at = ("forward", "seed0")
    with np.errstate(over="ignore"):
        outputs = {(mode, *at): {"y": run.astype((kept or {}).get(mode, dtype))} for mode, run in runs.items()}
    doubles = {} if reference is None else {("tf", *at): {"y": reference}}
    return judged(Evidence("tiny", outputs, doubles), dtype)


def status(*given: object, **named: object) -> dict[str, str]:
    return {mode: each.status or "" for mode, each in said(*given, **named).items()}  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_a_mode_far_off_differs_and_the_others_hold(dtype: str) -> None:
    runs = {"tf/eager": EXACT, "tf/graph": EXACT, "tf/jit": FAR, "jax/jit": EXACT}
    found = status(dtype, runs)
    assert found == {"tf/eager": REFERENCE, "tf/graph": HOLDS, "tf/jit": DIFFERS, "jax/jit": HOLDS}
    assert status(dtype, {"tf/eager": EXACT, "jax/eager": FAR, "jax/jit": EXACT})["jax/eager"] == DIFFERS


def test_one_rounding_of_the_type_is_allowed_and_not_of_a_wider_one() -> None:
    for mode in ("tf/jit", "jax/jit"):
        assert status("bfloat16", {"tf/eager": EXACT, mode: ONE_UP})[mode] == HOLDS
        assert status("float16", {"tf/eager": EXACT, mode: ONE_UP})[mode] == DIFFERS


def test_how_far_tensorflow_itself_is_stands_beside_its_eager_mode() -> None:
    found = said("float32", {"tf/eager": FAR, "jax/jit": EXACT})
    assert found["tf/eager"].status == REFERENCE and found["tf/eager"].error == pytest.approx(0.125)
    assert found["jax/jit"].status == HOLDS


def test_another_type_than_tensorflows_is_named() -> None:
    found = said("float64", {"tf/eager": EXACT, "jax/jit": EXACT}, kept={"jax/jit": "float32"})["jax/jit"]
    assert found.status == OTHER_TYPE and found.dtypes == ("float32",)
    assert found.reason == "y is float32 where TensorFlow gives float64"
    alone = said("int4", {"jax/jit": EXACT}, None, {"jax/jit": "float32"})["jax/jit"]
    assert alone.reason == "y is float32 where the inputs are int4"


@pytest.mark.parametrize("dtype", ["int8", "uint64", "int4", "bool"])
def test_integers_and_booleans_are_equal_or_differ(dtype: str) -> None:
    zeros, ones = np.array([0, 0, 1]), np.array([0, 1, 1])
    found = status(dtype, {"tf/eager": zeros, "tf/jit": ones, "jax/jit": zeros, "jax/eager": ones}, None)
    assert found == {"tf/eager": REFERENCE, "tf/jit": DIFFERS, "jax/jit": HOLDS, "jax/eager": DIFFERS}


def test_without_tensorflow_floats_are_held_against_the_reference_alone() -> None:
    dtype = "float8_e4m3fn"
    assert status(dtype, {"jax/jit": EXACT}) == {"jax/jit": HOLDS}
    assert status(dtype, {"jax/jit": EXACT * 1.3}) == {"jax/jit": DIFFERS}
    assert status(dtype, {"jax/jit": EXACT}, None) == {"jax/jit": UNJUDGED}


def test_nan_holds_where_the_type_has_no_such_number_and_nowhere_else() -> None:
    dtype, large = "float8_e4m3fn", np.array([1.0, 2.0, 1000.0])
    assert np.isnan(large.astype(ml_dtypes.float8_e4m3fn)[2])
    assert status(dtype, {"jax/jit": large}, large) == {"jax/jit": HOLDS}
    found = said(dtype, {"jax/jit": np.array([1.0, np.nan, 1000.0])}, large)["jax/jit"]
    assert found.status == DIFFERS and found.reason == "y[1] is nan where float64 gives 2"


def test_a_reference_no_wider_than_the_type_judges_nothing() -> None:
    narrow = EXACT.astype(np.float32)
    assert status("float32", {"jax/jit": FAR}, narrow) == {"jax/jit": UNJUDGED}
    assert status("bfloat16", {"jax/jit": FAR}, narrow) == {"jax/jit": DIFFERS}
