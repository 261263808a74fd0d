"""Sentence pairs: what is masked, what padding looks like, and that the grammar says what is to be learned."""

import numpy as np
import pytest

from workloads import _sentence_pairs
from workloads._sentence_pairs import MASK, PADDING, SEPARATOR, START, Lexicon
from workloads._transformer import Block
from workloads.core import registry
from workloads.core.precision import compute_dtype

BERT = registry.get("bert")
DIMENSIONS = {**BERT.sizes["smoke"], "length": 40, "predictions": 5, "vocabulary": 100}
EXAMPLES = _sentence_pairs.make(DIMENSIONS)


def test_examples_have_the_shapes_of_the_inputs_and_are_the_same_every_time() -> None:
    specs = BERT.input_specs(DIMENSIONS)
    for name, array in _sentence_pairs.make(DIMENSIONS).items():
        assert array.shape[1:] == specs[name].shape[1:]
        np.testing.assert_array_equal(array, EXAMPLES[name])


def test_a_pair_is_marked_and_padded() -> None:
    tokens, segments = EXAMPLES["tokens"], EXAMPLES["segments"]
    assert (tokens[:, 0] == START).all()
    assert ((tokens == SEPARATOR).sum(axis=1) == 2).all()
    assert (tokens == PADDING).any()
    assert (segments[tokens == PADDING] == 0).all()
    assert 0 < EXAMPLES["follows"].mean() < 1


def test_about_15_percent_of_the_words_are_to_be_guessed_and_most_of_them_hidden() -> None:
    tokens, positions, words = (EXAMPLES[name] for name in ("tokens", "positions", "words"))
    asked = EXAMPLES["weights"] > 0
    shown = np.take_along_axis(tokens, positions, axis=1)[asked]
    words_in_all = (tokens > SEPARATOR).sum()
    assert 0.1 < asked.sum() / words_in_all < 0.2
    assert 0.75 < (shown == MASK).mean() < 0.85
    assert 0.05 < (shown == words[asked]).mean() < 0.17
    assert (words[~asked] == 0).all()
    assert (words[asked] > MASK).all()


def test_words_of_a_lexicon_are_all_different() -> None:
    lexicon = Lexicon(100)
    parts = ("noun", "verb", "adjective")
    ids = [
        lexicon.word(topic, part, number, choice)
        for topic in range(_sentence_pairs.TOPICS)
        for part in parts
        for number in range(2)
        for choice in range(lexicon.choices)
    ]
    ids += [lexicon.determiner(number, choice) for number in range(2) for choice in range(2)]
    assert len(ids) == len(set(ids))
    assert MASK < min(ids) <= max(ids) < 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": 31}, "expected a vocabulary of at least 32, found 31"),
        ({"length": 7}, "expected a length of at least 8, found 7"),
    ],
)
def test_sizes_that_hold_no_pair_are_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _sentence_pairs.make({**DIMENSIONS, **change})


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="expected heads that divide the width 128, found 3: give each head"):
        BERT.weight_specs({**DIMENSIONS, "heads": 3})
    assert Block(32, 4, 64).depth == 8


def test_mixed_precision_is_for_float32_alone() -> None:
    assert compute_dtype({"bfloat16": 1}, "float32") == "bfloat16"
    assert compute_dtype({"float16": 1, "bfloat16": 0}, "float32") == "float16"
    assert compute_dtype({"float16": 1}, "float64") == "float64"
    assert compute_dtype({}, "float32") == "float32"
    with pytest.raises(ValueError, match="expected one narrow type"):
        compute_dtype({"float16": 1, "bfloat16": 1}, "float32")
