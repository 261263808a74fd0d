"""The float64 self of a program: what it computes, what it refuses, and how far its constants may be off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hlo_programs import Function, distance, executed, exported, written
from places import DATA
from scipy import special

from compare.hlo import executing, stablehlo_text
from compare.hlo.align import align
from compare.hlo.artifacts import hlo_of_artifact
from compare.hlo.levels import Subject
from compare.hlo.open_constants import open_constants
from compare.hlo.portable import portable
from compare.hlo.promote import PromotionError, is_double, narrow_computation, promote

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(6, 5)).astype(np.float32)
W = RANDOM.normal(size=(5, 5)).astype(np.float32)
IMAGE = RANDOM.normal(size=(2, 4, 4, 3)).astype(np.float32)
KERNEL = RANDOM.normal(size=(3, 3, 3, 2)).astype(np.float32)
VECTORS = [RANDOM.normal(size=3).astype(np.float32) for _ in range(3)]
INDICES = np.array([4, 0, 2, 2], np.int32)
TABLE = RANDOM.normal(size=(5, 3)).astype(np.float32)


def layer_norm(x: Any, w: Any, numpy: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered / numpy.sqrt((centered**2).mean(-1, keepdims=True) + 0.125) @ w


def softmax(x: Any, numpy: Any) -> Any:
    exponentials = numpy.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def recurrence(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    for _ in range(7):
        x = np.tanh(x @ w)
    return x


def convolution(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(1, 2))
    return np.einsum("nhwcij,ijco->nhwo", windows, kernel)


def jax_convolution(image: jax.Array, kernel: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(image, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def jax_recurrence(x: jax.Array, w: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ w), None), x, None, length=7)[0]


def mixed(x: jax.Array, w: jax.Array) -> jax.Array:
    narrow = (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32)
    return narrow.astype(jnp.float16) * jnp.float16(0.5) + jnp.asarray([0.5, 1.25, 2.0, -3.0, 0.75], jnp.bfloat16)


EXACT = [
    pytest.param(lambda x, w: layer_norm(x, w, jnp), (X, W), lambda x, w: layer_norm(x, w, np), id="layer norm"),
    pytest.param(lambda x: softmax(x, jnp), (X,), lambda x: softmax(x, np), id="softmax"),
    pytest.param(jax_recurrence, (X, W), recurrence, id="scan"),
    pytest.param(
        lambda x: jax.lax.while_loop(lambda c: c.sum() < 1e3, lambda c: c * c + 1, x),
        (X,),
        lambda x: next(c for c in iterate(lambda c: c * c + 1, x) if c.sum() >= 1e3),
        id="while on a float",
    ),
    pytest.param(jax_convolution, (IMAGE, KERNEL), convolution, id="convolution"),
    pytest.param(lambda t, i: t.at[i].get(mode="clip") * 3, (TABLE, INDICES), lambda t, i: t[i] * 3, id="gather"),
    pytest.param(
        lambda t: t @ TABLE.T[:, :3], (TABLE,), lambda t: t @ TABLE.T[:, :3].astype(float), id="large constant"
    ),
    pytest.param(lambda x: jnp.var(jnp.sort(x)), (X,), lambda x: x.var(), id="calls"),
    pytest.param(lambda x: jax.lax.top_k(x, 2)[0], (X,), lambda x: -np.sort(-x)[:, :2], id="composite"),
    pytest.param(
        lambda x: jax.lax.cond(x.sum() > 0, jnp.exp, jnp.sin, x),
        (X,),
        lambda x: np.exp(x) if x.sum() > 0 else np.sin(x),
        id="case",
    ),
    pytest.param(
        mixed, (X, W), lambda x, w: x @ w * 0.5 + [0.5, 1.25, 2.0, -3.0, 0.75], id="bfloat16 and float16 in between"
    ),
    pytest.param(lambda x: jax.lax.reduce_precision(x, 5, 3) * 2, (X,), lambda x: x * 2, id="reduce_precision"),
    pytest.param(
        lambda x, w: jax.lax.dot(x, w, precision=jax.lax.DotAlgorithmPreset.BF16_BF16_F32),
        (X, W),
        np.matmul,
        id="algorithm",
    ),
    pytest.param(lambda x: jnp.abs(jnp.fft.rfft(x)), (X,), lambda x: np.abs(np.fft.rfft(x)), id="complex in between"),
    pytest.param(
        lambda x: jnp.abs(x * jnp.asarray([1j, 2, 3 - 0.5j, 4, 5], jnp.complex64)),
        (X,),
        lambda x: np.abs(x * np.array([1j, 2, 3 - 0.5j, 4, 5])),
        id="complex constant",
    ),
    pytest.param(
        lambda x: jnp.imag(jnp.sqrt(-jnp.square(x) * jnp.complex64(1 + 0j) + jnp.complex64(complex(0, -0.0)))),
        (X,),
        lambda x: np.imag(np.sqrt(-np.square(x) * (1 + 0j) + complex(0, -0.0))),
        id="complex splats, one of a zero below the cut",
    ),
]


def iterate(step: Function, value: np.ndarray) -> Any:
    while True:
        yield value
        value = step(value)


class TestPromote:
    @pytest.mark.parametrize(("function", "arguments", "reference"), EXACT)
    def test_computes_in_float64(
        self, function: Function, arguments: tuple[np.ndarray, ...], reference: Function
    ) -> None:
        artifact = exported(function, *arguments)
        promoted = promote(artifact)
        found = executed(promoted, *arguments)
        expected = reference(*(a.astype(np.float64) if a.dtype == np.float32 else a for a in arguments))
        assert found.dtype == np.float64
        assert distance(found, expected) < 1e-13
        assert is_double(promoted)
        assert not is_double(artifact)

    @pytest.mark.parametrize(("function", "arguments", "reference"), EXACT)
    def test_takes_arguments_in_their_own_types_and_computes_the_same(
        self, function: Function, arguments: tuple[np.ndarray, ...], reference: Function
    ) -> None:
        artifact = exported(function, *arguments)
        (found,) = executing.compile_bytecode(promote(artifact, takes_narrow=True))(arguments)
        (expected,) = executing.compile_bytecode(promote(artifact))(
            [one.astype(np.float64) if one.dtype == np.float32 else one for one in arguments]
        )
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)

    def test_keeps_the_rounding_of_constants_and_no_other(self) -> None:
        """JAX expands erf by a float32 polynomial: in float64 that polynomial is what remains."""
        found = executed(promote(exported(lambda x: jax.nn.gelu(x, approximate=False), X)), X)
        wide = X.astype(np.float64)
        assert 1e-12 < distance(found, 0.5 * wide * (1 + special.erf(wide / np.sqrt(2)))) < 1e-6

    @pytest.mark.parametrize("function", [lambda x: jnp.argmax(x, 1), lambda x: jnp.argsort(x, 1)])
    def test_leaves_integers_alone(self, function: Function) -> None:
        artifact = exported(function, X)
        assert executed(promote(artifact), X).dtype == np.int32
        np.testing.assert_array_equal(executed(promote(artifact), X), np.asarray(jax.jit(function)(X)))

    def test_keeps_what_an_infinity_and_a_nan_are(self) -> None:
        found = executed(
            promote(exported(lambda x: x + np.array([np.inf, -np.inf, np.nan, 0.0, 1.5], np.float32), X)), X
        )
        np.testing.assert_array_equal(np.isfinite(found).all(0), [False, False, False, True, True])
        assert np.isnan(found[:, 2]).all()
        assert (found[:, 0] == np.inf).all()

    def test_drops_the_algorithm_that_was_chosen_for_narrow_operands(self) -> None:
        """XLA's CPU backend ignores it on float64; others refuse."""
        artifact = exported(lambda x: jax.lax.dot(x, W, precision=jax.lax.DotAlgorithmPreset.BF16_BF16_F32), X)
        assert "algorithm" in stablehlo_text.describe(artifact).text
        assert "algorithm" not in stablehlo_text.describe(promote(artifact)).text

    def test_of_the_promoted_changes_nothing(self) -> None:
        promoted = promote(exported(lambda x: softmax(x, jnp), X))
        assert stablehlo_text.describe(promote(promoted)) == stablehlo_text.describe(promoted)

    def test_widens_dead_functions_too(self) -> None:
        assert is_double(promote((DATA / "running_example_tf.mlirbc").read_bytes()))

    @pytest.mark.parametrize(
        ("function", "named"),
        [
            pytest.param(lambda x: jax.lax.bitcast_convert_type(x, jnp.int32), "bitcast_convert", id="bits of a float"),
            pytest.param(lambda x: jnp.linalg.qr(x)[0], "custom_call", id="a library's call"),
            pytest.param(lambda x: x.astype(jnp.float8_e5m2fnuz), "f8E5M2FNUZ", id="float8 without zero"),
            pytest.param(
                lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32),
                "arithmetic in it",
                id="rounded to float8 and back",
            ),
            pytest.param(lambda x: x.astype(jnp.float8_e5m2) * 2, "arithmetic in it", id="computed with in float8"),
        ],
    )
    def test_refuses_what_depends_on_the_width(self, function: Function, named: str) -> None:
        with pytest.raises(PromotionError, match=rf"^expected[^\n]*found[^\n]*{named}[^\n]*$"):
            promote(exported(function, X))

    def test_widens_float8_that_is_given_or_returned(self) -> None:
        assert is_double(promote(exported(lambda x: x.astype(jnp.float8_e4m3fn), X)))
        given = X.astype(jnp.float8_e4m3fn)
        assert is_double(promote(exported(lambda x: (x.astype(jnp.float32) * 2).astype(x.dtype) + x, given)))

    def test_refuses_a_draw_of_the_old_kind(self) -> None:
        draw = written("""func.func @main(%low: tensor<f32>, %high: tensor<f32>) -> tensor<2xf32> {
          %shape = stablehlo.constant dense<2> : tensor<1xi64>
          %draw = stablehlo.rng %low, %high, %shape, distribution = UNIFORM
            : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>
          return %draw : tensor<2xf32> }""")
        with pytest.raises(PromotionError, match="found rng"):
            promote(draw)

    def test_refuses_what_has_its_type_in_an_attribute(self) -> None:
        hidden = written("""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
          %0 = arith.constant 1.0 : f32
          return %x : tensor<2xf32> }""")
        with pytest.raises(PromotionError, match=r"^expected operations[^\n]*found[^\n]*arith.constant[^\n]*$"):
            promote(hidden)

    @pytest.mark.parametrize("draw", [jax.random.uniform, jax.random.normal, jax.random.gumbel])
    def test_a_float_made_of_bits_is_the_same_number(self, draw: Callable[..., jax.Array]) -> None:
        def drawn(x: jax.Array) -> jax.Array:
            return x * 0 + draw(jax.random.key(3), (5,), jnp.float32)

        narrow, wide = np.asarray(drawn(jnp.asarray(X))), executed(promote(exported(drawn, X)), X)
        assert (narrow.dtype, wide.dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(wide, narrow, rtol=1e-5)
        assert len(np.unique(wide)) == 5

    def test_the_bits_of_a_narrow_float_are_widened_exactly(self) -> None:
        bits = np.array([0x3F99999A, 0x00800000, 0xC0490FDB], np.uint32)
        artifact = exported(lambda b: jax.lax.bitcast_convert_type(b, jnp.float32), bits)
        wide = executed(promote(artifact), bits)
        np.testing.assert_array_equal(wide, bits.view(np.float32).astype(np.float64), strict=True)

    def test_bits_of_integers_are_fine(self) -> None:
        artifact = exported(lambda x: x + jax.lax.bitcast_convert_type(INDICES[0], jnp.uint32).astype(jnp.float32), X)
        assert is_double(promote(artifact))


class TestCopies:
    """TensorFlow copies what it assigns to a variable; no portable artifact can say so."""

    COPYING = written("""func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = stablehlo.sine %x : tensor<2xf32>
      %1 = mhlo.copy %0 : tensor<2xf32>
      return %1 : tensor<2xf32> }""")

    def test_are_dropped_and_nothing_else(self) -> None:
        assert stablehlo_text.describe(self.COPYING).opcodes == {"copy": 1, "sine": 1}
        assert stablehlo_text.describe(portable(self.COPYING)).opcodes == {"sine": 1}

    def test_are_no_difference(self) -> None:
        copying, without = (Subject("f", hlo_of_artifact(each)) for each in (self.COPYING, portable(self.COPYING)))
        assert align(copying, without).is_equal

    def test_are_no_hindrance_to_promotion(self) -> None:
        x = X[0, :2]
        promoted = promote(self.COPYING)
        assert distance(executed(promoted, x), np.sin(x.astype(np.float64))) < 1e-15
        assert open_constants(self.COPYING).values == ()

    def test_a_program_without_any_comes_back_as_it_was(self) -> None:
        artifact = exported(jnp.sin, X)
        assert portable(artifact) is artifact


class TestIsDouble:
    @pytest.mark.parametrize(
        "body",
        [
            "%0 = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xf32>",
            "%0 = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xbf16>",
            "%0 = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xf16>",
            "%0 = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xf8E4M3FN>",
            "%0 = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xcomplex<f32>>",
            "%0 = stablehlo.constant dense<1.0> : tensor<f32>",
        ],
    )
    def test_one_narrow_value_that_nobody_uses_is_enough(self, body: str) -> None:
        function = "func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {{ {} \n return %x : tensor<2xf64> }}"
        assert not is_double(written(function.format(body)))
        assert is_double(written(function.format("%0 = stablehlo.convert %x : (tensor<2xf64>) -> tensor<2xi32>")))

    def test_knows_native_float64(self) -> None:
        with jax.enable_x64(True):
            assert is_double(exported(jnp.sin, X.astype(np.float64)))
            assert not is_double(exported(lambda x: jnp.sin(x.astype(np.float32)), X.astype(np.float64)))


class TestBatchNorm:
    """TensorFlow's batch_norm operations against the textbook, with the epsilon that float32 makes of 0.001."""

    def normalized(self, x: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return (x - mean) / np.sqrt(variance + np.float64(np.float32(1e-3)))

    def test_inference(self) -> None:
        artifact = promote((DATA / "batch_norm_inference_tf.mlirbc").read_bytes())
        scale, offset, mean = VECTORS
        variance = mean**2 + np.float32(0.5)
        x, s, o, m, v = (a.astype(np.float64) for a in (IMAGE, scale, offset, mean, variance))
        found = executed(artifact, IMAGE, scale, offset, mean, variance)
        assert distance(found, self.normalized(x, m, v) * s + o) < 1e-14

    def test_training(self) -> None:
        artifact = promote((DATA / "batch_norm_training_tf.mlirbc").read_bytes())
        scale, offset, _ = VECTORS
        x, s, o = (a.astype(np.float64) for a in (IMAGE, scale, offset))
        expected = self.normalized(x, x.mean((0, 1, 2)), x.var((0, 1, 2))) * s + o
        assert distance(executed(artifact, IMAGE, scale, offset), expected) < 1e-14

    def test_gradient(self) -> None:
        artifact = promote((DATA / "batch_norm_grad_tf.mlirbc").read_bytes())
        scale, offset, _ = VECTORS

        def loss(x: jax.Array, s: jax.Array, o: jax.Array) -> jax.Array:
            epsilon = np.float64(np.float32(1e-3))
            normalized = (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + epsilon)
            return ((normalized * s + o) ** 3).sum()

        with jax.enable_x64(True):
            expected = jax.grad(loss)(*(a.astype(np.float64) for a in (IMAGE, scale, offset)))
        assert distance(executed(artifact, IMAGE, scale, offset), np.asarray(expected)) < 1e-13

    @pytest.mark.parametrize("kind", ["inference", "training", "grad"])
    def test_epsilon_becomes_a_constant_that_can_be_opened(self, kind: str) -> None:
        promoted = promote((DATA / f"batch_norm_{kind}_tf.mlirbc").read_bytes())
        opened = open_constants(promoted)
        assert np.float32(1e-3) in opened.values
        assert open_constants(opened.artifact).values == ()


class TestNarrowComputation:
    """With 64-bit types: what is exported here is of float32 unless it says otherwise."""

    @pytest.mark.parametrize(
        ("function", "first"),
        [
            pytest.param(lambda x: jax.nn.softmax(x.astype(jnp.float32)).astype(x.dtype), "convert", id="softmax"),
            pytest.param(lambda x: x.astype(jnp.bfloat16).astype(x.dtype), "convert", id="rounded and back"),
            pytest.param(lambda x: x * jnp.float32(0.1), "", id="a rate in float32"),
            pytest.param(lambda x: x * jnp.exp(jnp.float32(0.1)), "", id="arithmetic of scalars"),
            pytest.param(lambda x: x * x, "", id="all of float64"),
            pytest.param(lambda x: (x > 0).astype(jnp.int32), "", id="integers"),
        ],
    )
    def test_names_the_first_array_of_a_narrower_type(self, function: Function, first: str) -> None:
        with jax.enable_x64(True):
            assert narrow_computation(exported(function, X.astype(np.float64))) == first
