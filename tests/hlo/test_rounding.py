"""Which constants of a float64 program look rounded to float32, and how far that rounding reaches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import Function, distance, executed, exported

from compare.hlo.open_constants import move_constants, open_constants
from compare.hlo.promote import promote

X = np.random.default_rng(7).normal(size=(6, 5)).astype(np.float32)


def rounded_constants(artifact: bytes) -> tuple[float, ...]:
    """The values that moving the constants moves, in program order."""
    values = open_constants(artifact).values
    pairs = zip(map(np.atleast_1d, values), map(np.atleast_1d, move_constants(values, 0)), strict=True)
    return tuple(value for array, others in pairs for value in array[array != others].tolist())


class TestRoundedConstants:
    @pytest.mark.parametrize("value", [0.1, -0.7, 1e-12, 2 / 3, 3.4e38, np.pi, 4097.0])
    def test_found(self, value: float) -> None:
        rounded = float(np.float32(value))
        assert rounded_constants(promote(exported(lambda x: x + value, X))) == (rounded,)

    @pytest.mark.parametrize("value", [0.0, 0.5, -3.0, 768.0, 4095.0, 2.0**-30, np.inf, np.nan])
    def test_simple_ones_are_not(self, value: float) -> None:
        assert rounded_constants(promote(exported(lambda x: x + value, X))) == ()

    def test_one_written_in_float64_is_not(self) -> None:
        with jax.enable_x64(True):
            assert rounded_constants(exported(lambda x: x + 0.1, X.astype(np.float64))) == ()
            rounded = exported(lambda x: x + np.float64(np.float32(0.1)), X.astype(np.float64))
        assert rounded_constants(rounded) == (float(np.float32(0.1)),)

    def test_each_element_counts(self) -> None:
        table = np.array([0.1, 0.5, 0.3, 0.1, 2.0], np.float32)
        found = rounded_constants(promote(exported(lambda x: x * table, X)))
        assert found == tuple(float(table[i]) for i in (0, 2, 3))

    def test_narrow_programs_have_none_in_float64(self) -> None:
        assert rounded_constants(exported(lambda x: x + 0.1, X)) == ()


TABLE = np.array([0.1, 0.5, 0.3, 0.1, 2.0], np.float32)


def moved(artifact: bytes, seed: int, *arguments: np.ndarray) -> np.ndarray:
    """The first result where the rounded constants are moved."""
    opened = open_constants(artifact)
    return executed(opened.artifact, *arguments, *move_constants(opened.values, seed))


def looped(x: jax.Array) -> jax.Array:
    """Constants in the body and the condition of a loop, in a function that it calls twice, and in a branch."""
    wave = jax.jit(lambda value: jnp.sin(value * 0.3) + 0.7)

    def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        at, value = state
        return at + 0.9, jax.lax.cond(at > 1.1, lambda: wave(value) * 0.1, lambda: wave(value + 0.6))

    return jax.lax.while_loop(lambda state: state[0] < 3.3, step, (jnp.float32(0), x))[1]


class TestOpenConstants:
    ARTIFACT = promote(exported(lambda x: x * TABLE + 0.7, X))

    @pytest.mark.parametrize("function", [lambda x: x * TABLE + 0.7, looped, lambda x: x + 1])
    def test_its_own_constants_give_what_the_program_gives(self, function: Function) -> None:
        artifact = promote(exported(function, X))
        opened = open_constants(artifact)
        assert rounded_constants(opened.artifact) == ()
        np.testing.assert_array_equal(executed(opened.artifact, X, *opened.values), executed(artifact, X))

    def test_every_constant_of_loops_branches_and_calls_is_a_parameter(self) -> None:
        opened = open_constants(promote(exported(looped, X)))
        found = sorted(float(value) for value in opened.values)
        assert found == sorted(float(np.float32(value)) for value in (0.1, 0.3, 0.6, 0.7, 0.9, 1.1, 3.3))
        for at in range(len(found)):
            changed = [value * (1.7 if at == place else 1) for place, value in enumerate(opened.values)]
            assert distance(executed(opened.artifact, X, *changed), executed(opened.artifact, X, *opened.values)) > 1e-3

    def test_one_in_the_body_of_a_reduction_stays(self) -> None:
        artifact = promote(exported(lambda x: jax.lax.reduce(x, 0.3, lambda a, b: a + b * 0.7, (1,)), X))
        opened = open_constants(artifact)
        assert opened.values == (np.float32(0.3),)
        np.testing.assert_array_equal(executed(opened.artifact, X, *opened.values), executed(artifact, X))

    def test_one_in_a_function_that_the_body_of_a_reduction_calls_stays(self) -> None:
        inner = jax.jit(lambda a, b: a + b * 0.7)
        artifact = promote(exported(lambda x: jax.lax.reduce(inner(x, x), 0.3, inner, (1,)), X))
        opened = open_constants(artifact)
        assert opened.values == (np.float32(0.3), np.float32(0.7))  # that of the call outside
        np.testing.assert_array_equal(executed(opened.artifact, X, *opened.values), executed(artifact, X))

    def test_they_move_within_the_rounding_of_float32(self) -> None:
        original = executed(self.ARTIFACT, X)
        runs = [moved(self.ARTIFACT, seed, X) for seed in range(4)]
        assert all(0 < distance(one, original) <= 2**-24 * 2 for one in runs)
        assert len({one.tobytes() for one in runs}) == 4

    def test_they_move_the_same_way_for_one_seed(self) -> None:
        values = open_constants(self.ARTIFACT).values
        one, same, other = (np.concatenate([*map(np.ravel, move_constants(values, seed))]) for seed in (3, 3, 4))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)

    def test_simple_elements_and_programs_without_others_stay(self) -> None:
        row = moved(promote(exported(lambda x: x * TABLE, X)), 0, np.ones_like(X))[0]
        np.testing.assert_array_equal(row == TABLE.astype(np.float64), [False, True, False, False, True])
        assert row[0] != row[3]
        assert open_constants(promote(exported(lambda x: jax.nn.softmax(x) * 0.5, X))).values == ()

    def test_explains_rounded_constants_and_not_a_wrong_epsilon(self) -> None:
        """The judgement that this serves: an honest port within a few spreads, an epsilon off by 1e-3 far out."""

        def normalize(epsilon: float) -> Function:
            return lambda x: x / jnp.sqrt((x**2).mean(-1, keepdims=True) + epsilon)

        with jax.enable_x64(True):
            native = executed(exported(normalize(1e-2), X.astype(np.float64)), X)
        promoted = promote(exported(normalize(1e-2), X))
        own = executed(promoted, X)
        spread = max(distance(moved(promoted, seed, X), own) for seed in range(8))
        wrong = executed(promote(exported(normalize(1e-2 * 1.001), X)), X)
        assert 0 < distance(own, native) < 4 * spread
        assert distance(wrong, native) > 1000 * spread
