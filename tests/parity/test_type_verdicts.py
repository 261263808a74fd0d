"""What is said of each mode of a function whose inputs were cast, on arrays small enough to reckon by hand."""

from __future__ import annotations

from collections.abc import Mapping

import ml_dtypes
import numpy as np
import pytest

from compare.parity.evidence import Evidence
from compare.parity.type_verdicts import judge_modes
from compare.record.datatypes_part import DIFFERS, HOLDS, OTHER_TYPE, REFERENCE, UNJUDGED, TypedMode

EXACT = np.array([1.0, -2.5, 4.0])
ONE_UP = np.array([1.0, -2.5, 4.0 * (1 + 2**-7)])
FAR = np.array([1.0, -2.5, 4.5])


def said(
    dtype: str,
    runs: Mapping[str, np.ndarray],
    reference: np.ndarray | None = EXACT,
    kept: Mapping[str, str] | None = None,
    stand_in: bool = False,
) -> dict[str, TypedMode]:
    """What is said of each mode, its result cast to the type, or to the one that `kept` names for it."""
    at = ("forward", "seed0")
    with np.errstate(over="ignore"):
        outputs = {(mode, *at): {"y": run.astype((kept or {}).get(mode, dtype))} for mode, run in runs.items()}
    doubles = {} if reference is None else {("tf", *at): {"y": reference}}
    return judge_modes(Evidence("tiny", outputs, doubles), dtype, stand_in)


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


def test_a_float_of_integers_is_held_against_float64_and_without_it_against_nothing() -> None:
    floats = dict.fromkeys(("tf/eager", "jax/jit"), "float32")
    runs = {"tf/eager": EXACT, "jax/jit": FAR}
    found = said("int32", runs, EXACT, floats)["jax/jit"]
    assert found.status == DIFFERS and found.error == pytest.approx(0.125)
    assert status("int32", {"tf/eager": EXACT, "jax/jit": EXACT}, EXACT, floats)["jax/jit"] == HOLDS
    for dtype in ("int32", "bool", "float32"):
        found = said(dtype, runs, None, floats)["jax/jit"]
        assert found.status == UNJUDGED and "no float64 result" in (found.reason or "")


def test_a_compiled_mode_of_tensorflow_that_is_wrong_excuses_no_port() -> None:
    runs = {"tf/eager": EXACT, "tf/jit": FAR, "jax/jit": FAR}
    assert status("float32", runs) == {"tf/eager": REFERENCE, "tf/jit": DIFFERS, "jax/jit": DIFFERS}
    assert status("float8_e4m3fn", {"tf/jit": EXACT * 1.3, "jax/jit": EXACT * 1.3})["jax/jit"] == DIFFERS


def test_places_and_comparisons_of_floats_that_tensorflow_refuses_are_not_judged() -> None:
    at, places = ("forward", "seed0"), {"y": np.array([0, 2])}
    for found in (places, {"y": np.array([True, False])}):
        alone = Evidence("tiny", {("jax/jit", *at): found}, {("tf", *at): places})
        assert judge_modes(alone, "float8_e5m2")["jax/jit"].status == UNJUDGED
    beside = {"y": np.array([0, 2]), "z": EXACT.astype(ml_dtypes.float8_e5m2)}
    both = Evidence("tiny", {("jax/jit", *at): beside}, {("tf", *at): places | {"z": EXACT}})
    assert judge_modes(both, "float8_e5m2")["jax/jit"].status == UNJUDGED
    wrong = {**beside, "z": (EXACT * 2).astype(ml_dtypes.float8_e5m2)}
    both = Evidence("tiny", {("jax/jit", *at): wrong}, {("tf", *at): places | {"z": EXACT}})
    assert judge_modes(both, "float8_e5m2")["jax/jit"].status == DIFFERS


def test_what_disagrees_with_int64_in_place_of_a_type_is_not_judged() -> None:
    zeros, ones = np.array([0, 0, 1]), np.array([0, 1, 1])
    runs = {"tf/eager": zeros, "jax/jit": zeros, "jax/eager": ones}
    found = said("int4", runs, None, stand_in=True)
    assert (found["jax/jit"].status, found["jax/eager"].status) == (HOLDS, UNJUDGED)
    assert "tf/eager" not in found["jax/eager"].reason and "int64 stands in" in found["jax/eager"].reason
    assert status("int4", runs, None)["jax/eager"] == DIFFERS
    wider = said("int4", runs, None, {"jax/jit": "int32", "jax/eager": "float32"}, stand_in=True)
    assert (wider["jax/jit"].status, wider["jax/eager"].status) == (UNJUDGED, OTHER_TYPE)
