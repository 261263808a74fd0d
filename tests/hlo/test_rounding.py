"""Which constants of a float64 program look rounded to float32, and how far that rounding reaches."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import Function, distance, executed, exported

from compare.hlo import stablehlo_text
from compare.hlo.promote import perturb, promote, rounded_constants

X = np.random.default_rng(7).normal(size=(6, 5)).astype(np.float32)


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


class TestPerturb:
    ARTIFACT = promote(exported(lambda x: x * np.array([0.1, 0.5, 0.3, 0.1, 2.0], np.float32) + 0.7, X))

    def test_moves_within_the_rounding_of_float32(self) -> None:
        original = executed(self.ARTIFACT, X)
        moved = [executed(perturb(self.ARTIFACT, seed), X) for seed in range(4)]
        assert all(0 < distance(one, original) <= 2**-24 * 2 for one in moved)
        assert len({one.tobytes() for one in moved}) == 4

    def test_is_the_same_for_one_seed(self) -> None:
        assert perturb(self.ARTIFACT, 3) == perturb(self.ARTIFACT, 3) != perturb(self.ARTIFACT, 4)

    def test_leaves_simple_constants_and_programs_without_others_alone(self) -> None:
        table = np.array([0.1, 0.5, 0.3, 0.1, 2.0], np.float32)
        ones = np.ones_like(X)
        moved = executed(perturb(promote(exported(lambda x: x * table, X)), 0), ones)[0]
        np.testing.assert_array_equal(moved == table.astype(np.float64), [False, True, False, False, True])
        assert moved[0] != moved[3]
        plain = promote(exported(lambda x: jax.nn.softmax(x) * 0.5, X))
        assert stablehlo_text.describe(perturb(plain, 0)) == stablehlo_text.describe(plain)

    def test_explains_rounded_constants_and_not_a_wrong_epsilon(self) -> None:
        """The judgement that this serves: an honest port within a few spreads, an epsilon off by 1e-3 far out."""

        def normalize(epsilon: float) -> Function:
            return lambda x: x / jnp.sqrt((x**2).mean(-1, keepdims=True) + epsilon)

        with jax.enable_x64(True):
            native = executed(exported(normalize(1e-2), X.astype(np.float64)), X)
        promoted = promote(exported(normalize(1e-2), X))
        own = executed(promoted, X)
        spread = max(distance(executed(perturb(promoted, seed), X), own) for seed in range(8))
        wrong = executed(promote(exported(normalize(1e-2 * 1.001), X)), X)
        assert 0 < distance(own, native) < 4 * spread
        assert distance(wrong, native) > 1000 * spread
