"""The parallel corpus, what translation workloads refuse, and the scan whose kernels' gradients are one product."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxport import recurrent
from workloads import _parallel_text, seq2seq, translation, translation_decode
from workloads._parallel_text import END, PAD, START, Clause, Lexicon, Phrase

SMOKE = translation.WORKLOAD.sizes["smoke"]


@pytest.fixture(scope="module")
def corpus() -> dict[str, np.ndarray]:
    return _parallel_text.pairs(112, 20, 200)


def test_the_corpus_is_the_same_every_time_and_its_sentences_differ(corpus: dict[str, np.ndarray]) -> None:
    for name, array in _parallel_text.pairs(112, 20, 200).items():
        np.testing.assert_array_equal(array, corpus[name])
    assert len(np.unique(corpus["source"], axis=0)) > 190


def test_sentences_start_end_and_are_padded_to_one_length(corpus: dict[str, np.ndarray]) -> None:
    source, target = corpus["source"], corpus["target"]
    assert source.shape == (200, 20)
    assert target.shape == (200, 21)
    assert (target[:, 0] == START).all()
    for sentences in (source, target):
        assert ((sentences == END).sum(1) == 1).all()
        ended = np.cumsum(sentences == END, 1) - (sentences == END) > 0
        np.testing.assert_array_equal(sentences == PAD, ended)
        assert sentences.max() < 112
    assert (source != PAD).all(1).any()


def test_a_clause_is_reordered_and_its_words_agree() -> None:
    lexicon = Lexicon(10)
    clause = Clause(Phrase(3, 1, (4,)), 5, Phrase(2, 0, ()), negated=True)
    adjective, nouns = lexicon.target_adjective(4, 1), (lexicon.target_noun(3, 1), lexicon.target_noun(2, 0))
    articles = 6 + 2 * 1 + 1, 6
    assert _parallel_text._source(lexicon, [clause]) == [
        3, lexicon.source_adjective(4), lexicon.source_noun(3, 1), 4, lexicon.source_verb(5), 3,
        lexicon.source_noun(2, 0), END,
    ]  # fmt: skip
    assert _parallel_text._target(lexicon, [clause]) == [
        articles[0], nouns[0], adjective, articles[1], nouns[1], lexicon.target_verb(5, 1), 10, END,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: seq2seq.inputs({**seq2seq.WORKLOAD.sizes["smoke"], "vocabulary": 31}), "expected a vocabulary of at"),
        (lambda: translation.inputs({**SMOKE, "length": 5}), "expected a length of at least 6 tokens"),
        (lambda: translation.inputs({**SMOKE, "heads": 3}), "expected heads that divide the width 8, found 3"),
        (
            lambda: translation_decode.inputs({**translation_decode.WORKLOAD.sizes["smoke"], "beams": 0}),
            "expected 1 to 32 beams, as many as words at most, found 0",
        ),
        (
            lambda: translation_decode.inputs({**translation_decode.WORKLOAD.sizes["smoke"], "vocabulary": 2}),
            "expected a vocabulary of at least 32 tokens",
        ),
        (lambda: translation.inputs({**SMOKE, "heads": 0}), "expected heads that divide the width 8, found 0"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_positions_are_sines_and_cosines_in_turn() -> None:
    found = translation.positions(5, 6)
    np.testing.assert_allclose(found[3, :2], [np.sin(3), np.cos(3)], rtol=1e-15)
    np.testing.assert_allclose(found[3, 4], np.sin(3 / 10000 ** (4 / 6)), rtol=1e-15)


def test_the_gradient_of_a_scan_is_that_of_jax() -> None:
    generator = np.random.default_rng(0)
    kernel, state, xs = (jnp.asarray(generator.standard_normal(shape)) for shape in ((4, 4), (3, 4), (5, 3, 4)))

    def step(product: recurrent.Product, bias: jax.Array, state: jax.Array, x: jax.Array) -> tuple:
        state = jnp.tanh(product("state", state) + x + bias)
        return state, state

    def plain(kernel: jax.Array, bias: jax.Array, state: jax.Array, xs: jax.Array) -> jax.Array:
        last, outputs = jax.lax.scan(lambda state, x: step(lambda _, value: value @ kernel, bias, state, x), state, xs)
        return (outputs**3).sum() + last.sum()

    def ours(kernel: jax.Array, bias: jax.Array, state: jax.Array, xs: jax.Array) -> jax.Array:
        last, outputs = recurrent.scan(step, {"state": kernel}, bias, state, xs)
        return (outputs**3).sum() + last.sum()

    arguments = kernel, jnp.ones(4), state, xs
    expected, found = (jax.grad(function, argnums=(0, 1, 2, 3))(*arguments) for function in (plain, ours))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("products", "message"),
    [(("state", "state"), "expected one product a step with state, found two"), ((), "found none with state")],
)
def test_a_kernel_that_is_not_multiplied_once_a_step_is_refused(products: tuple[str, ...], message: str) -> None:
    def step(product: recurrent.Product, _: None, state: jax.Array, x: jax.Array) -> tuple:
        return sum((product(name, state) for name in products), x), x

    with pytest.raises(ValueError, match=message):
        recurrent.scan(step, {"state": jnp.eye(4)}, None, jnp.ones((3, 4)), jnp.ones((5, 3, 4)))
