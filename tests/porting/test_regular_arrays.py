"""Constants as the calls that make them: each gives the very array; what has no rule keeps its elements."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from compare.porting.regular_arrays import keep, regular
from compare.porting.safe_expressions import argument, with_kept
from workloads.protocol.architecture import Call

INT, FLOAT, BOOL = "int32", "float32", "bool"

REGULAR = {
    "jnp.arange(10, dtype=jnp.int32)": np.arange(10, dtype=INT),
    "jnp.arange(3, 11, 2, dtype=jnp.float32)": np.arange(3, 11, 2, dtype=FLOAT),
    "jnp.arange(6, 0, -1, dtype=jnp.int32)": np.arange(6, 0, -1, dtype=INT),
    "jnp.arange(6, dtype=jnp.int32).reshape((2, 3))": np.arange(6, dtype=INT).reshape(2, 3),
    "jnp.zeros((3, 4), jnp.float32)": np.zeros((3, 4), FLOAT),
    "jnp.ones((5,), jnp.int32)": np.ones(5, INT),
    "jnp.full((2, 2), 0.5, jnp.float32)": np.full((2, 2), 0.5, FLOAT),
    "jnp.full((4,), True, bool)": np.full(4, True),
    "jnp.eye(3, dtype=jnp.float32)": np.eye(3, dtype=FLOAT),
    "jnp.eye(2, 4, k=1, dtype=jnp.int32)": np.eye(2, 4, 1, dtype=INT),
    "jnp.tri(4, dtype=bool)": np.tri(4, dtype=BOOL),
    "jnp.tri(3, 5, k=-1, dtype=jnp.float32)": np.tri(3, 5, -1, dtype=FLOAT),
}
IRREGULAR = (
    np.array([0, 1, 2, 4], INT),
    np.array([0.5, 1.5, 2.5, 3.5], FLOAT),
    np.array([1, 2], INT),
    np.array([[0, 1], [1, 0]], INT),
    np.array([0.0, 1.0, 2.0, np.nan], FLOAT),
    np.array([np.inf] * 5, FLOAT),
    np.array([2**25 + each for each in range(5)], FLOAT),
)


def literal(value: Any) -> str:
    return repr(value.item())


def dtype_of(array: Any) -> str:
    return "bool" if array.dtype == bool else f"jnp.{array.dtype}"


@pytest.mark.parametrize("text", REGULAR)
def test_a_regular_array_is_the_call_that_makes_it(text: str) -> None:
    array = REGULAR[text]
    assert regular(array, dtype_of(array), literal) == text
    made = eval(text, {"jnp": jnp})
    assert made.dtype == array.dtype and np.array_equal(made, array)


@pytest.mark.parametrize("array", IRREGULAR, ids=str)
def test_what_no_call_makes_is_none(array: Any) -> None:
    assert regular(array, dtype_of(array), literal) == ""


@pytest.mark.parametrize("place", range(10))
def test_one_element_that_is_another_is_no_range(place: int) -> None:
    array = np.arange(10, dtype=INT)
    array[place] += 1
    assert "arange" not in regular(array, "jnp.int32", literal)


def test_what_is_kept_twice_has_one_name_and_others_have_their_own() -> None:
    kept: dict[str, Any] = {}
    table = np.arange(100.0)
    names = [keep(kept, each, "table") for each in (table, table.copy(), table + 1, table.astype(FLOAT))]
    assert names == ["table", "table", "table_2", "table_3"] and [*kept] == ["table", "table_2", "table_3"]


def test_the_same_number_of_elements_is_text_wherever_a_constant_stands() -> None:
    few, many = ([each * each for each in range(count)] for count in (64, 65))
    given = [{"constant": {"shape": [len(each)], "values": each}} for each in (few, many)]
    kept: dict[str, Any] = {}
    one, other = with_kept(Call("layer", (given[0], [given[1]]), {}, ()), kept).arguments
    assert argument(one, {}).startswith("jnp.asarray([0, 1, 4, ")
    assert argument(other, {}) == "[jnp.asarray(CONSTANTS['constant'])]"
    assert kept["constant"].dtype == INT and kept["constant"][8] == 64
