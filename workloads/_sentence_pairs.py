"""Pairs of sentences from a small grammar, masked as BERT masks them (Devlin et al. 2019, arXiv:1810.04805).

A sentence is made of clauses "determiner [adjective] noun verb determiner [adjective] noun". Determiners and verbs
agree with their noun in number, and all words of a pair are of one topic unless the second sentence does not
follow the first: every masked word and every label can be told from the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workloads.core.spec import Arrays, Dimensions

PADDING, START, SEPARATOR, MASK = range(4)
EXAMPLES = 512
TOPICS = 4
MASKED = 0.15
"""The share of words to be guessed: 80 % of them are hidden, 10 % replaced by any word, 10 % left."""

_FIRST_WORD = 4
_NUMBERS = 2
_DETERMINERS = 2
_PARTS = ("noun", "verb", "adjective")
_SEED = 7


@dataclass(frozen=True)
class Lexicon:
    """The ids of words: determiners by number, then per topic the parts of speech by number."""

    vocabulary: int

    def __post_init__(self) -> None:
        if self.choices < 1:
            least = self._first_of_topics + TOPICS * len(_PARTS) * _NUMBERS
            raise ValueError(
                f"expected a vocabulary of at least {least}, found {self.vocabulary}: each topic has words"
            )

    @property
    def choices(self) -> int:
        """Words of one part of speech, number and topic."""
        return (self.vocabulary - self._first_of_topics) // (TOPICS * len(_PARTS) * _NUMBERS)

    @property
    def _first_of_topics(self) -> int:
        return _FIRST_WORD + _NUMBERS * _DETERMINERS

    def determiner(self, number: int, choice: int) -> int:
        """A determiner that agrees with a noun of this number."""
        return _FIRST_WORD + number * _DETERMINERS + choice

    def word(self, topic: int, part: str, number: int, choice: int) -> int:
        """A word of a topic.

        Args:
          part: of speech, one of `_PARTS`.
        """
        kind = (topic * len(_PARTS) + _PARTS.index(part)) * _NUMBERS + number
        return self._first_of_topics + kind * self.choices + choice


def make(dimensions: Dimensions) -> Arrays:
    """Examples by code from a fixed seed, examples along the first axis.

    tokens, segments: i32[examples, length]; positions, words: i32[examples, predictions], where the masked words
    stand and what they were; weights: f32 of that shape, 0 where there are fewer; follows: i32[examples].

    Raises:
      ValueError: a length that holds no pair, or a vocabulary without words.
    """
    length, predictions = dimensions["length"], dimensions["predictions"]
    if length < 8:
        raise ValueError(f"expected a length of at least 8, found {length}: a pair has two sentences and three marks")
    generator = np.random.default_rng(_SEED)
    lexicon = Lexicon(dimensions["vocabulary"])
    rows = [_example(generator, lexicon, length, predictions) for _ in range(EXAMPLES)]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _example(generator: np.random.Generator, lexicon: Lexicon, length: int, predictions: int) -> Arrays:
    follows = int(generator.integers(2))
    topic = int(generator.integers(TOPICS))
    other = topic if follows else (topic + int(generator.integers(1, TOPICS))) % TOPICS
    first, second = (_sentence(generator, lexicon, subject, (length - 3) // 2) for subject in (topic, other))
    end = len(first) + len(second) + 3
    tokens = np.full(length, PADDING, np.int32)
    tokens[:end] = [START, *first, SEPARATOR, *second, SEPARATOR]
    segments = np.zeros(length, np.int32)
    segments[len(first) + 2 : end] = 1
    return {
        **_mask(generator, lexicon, tokens, predictions),
        "segments": segments,
        "follows": np.array(follows, np.int32),
    }


def _sentence(generator: np.random.Generator, lexicon: Lexicon, topic: int, most: int) -> list[int]:
    """Clauses until a length is reached that is drawn from the upper half of what there is room for."""
    length = int(generator.integers((most + 1) // 2, most + 1))
    words: list[int] = []
    while len(words) < length:
        words += _clause(generator, lexicon, topic)
    return words[:length]


def _clause(generator: np.random.Generator, lexicon: Lexicon, topic: int) -> list[int]:
    subject, object_ = (int(number) for number in generator.integers(_NUMBERS, size=2))
    verb = lexicon.word(topic, "verb", subject, int(generator.integers(lexicon.choices)))
    return [*_phrase(generator, lexicon, topic, subject), verb, *_phrase(generator, lexicon, topic, object_)]


def _phrase(generator: np.random.Generator, lexicon: Lexicon, topic: int, number: int) -> list[int]:
    determiner = lexicon.determiner(number, int(generator.integers(_DETERMINERS)))
    adjective, noun = (
        lexicon.word(topic, part, number, int(generator.integers(lexicon.choices))) for part in ("adjective", "noun")
    )
    return [determiner, adjective, noun] if generator.integers(2) else [determiner, noun]


def _mask(generator: np.random.Generator, lexicon: Lexicon, tokens: np.ndarray, predictions: int) -> Arrays:
    candidates = np.flatnonzero(tokens >= _FIRST_WORD)
    count = min(predictions, max(1, round(MASKED * len(candidates))))
    places = np.sort(generator.permutation(candidates)[:count])
    positions, words = np.zeros(predictions, np.int32), np.zeros(predictions, np.int32)
    positions[:count], words[:count] = places, tokens[places]
    fate = generator.uniform(size=count)
    anything = generator.integers(_FIRST_WORD, lexicon.vocabulary, count)
    tokens_shown = tokens.copy()
    tokens_shown[places] = np.where(fate < 0.8, MASK, np.where(fate < 0.9, anything, tokens[places]))
    return {
        "tokens": tokens_shown,
        "positions": positions,
        "words": words,
        "weights": (np.arange(predictions) < count).astype(np.float32),
    }
