"""A small parallel corpus made by a grammar: sentences and their translations, in which words agree and change places.

| | source | target |
|---|---|---|
| order | subject verb object | subject object verb |
| article | one | agrees with its noun in gender and number |
| adjective | before the noun | after it, agrees in gender |
| noun | singular or plural | singular or plural; the word decides the gender |
| verb | one form | agrees with the subject in number |
| negation | before the verb | ends the clause |

So a model has to learn order and agreement, not a word list. Both languages share one range of token ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

PAD, START, END = 0, 1, 2
_THE, _NOT, _AND = 3, 4, 5
_ARTICLES, _NEGATION, _CONJUNCTION, _OPEN = 6, 10, 11, 12
_CLASSES = 10
_SEED = 2017
_SHORTEST = 6
"""The noun, verb, the noun, and the end of the sentence."""


@dataclass(frozen=True)
class Lexicon:
    """Token ids of words, `words` to a class: four classes of source words, six of target words."""

    words: int

    def source_noun(self, noun: int, plural: int) -> int:
        return self._id(plural, noun)

    def source_adjective(self, adjective: int) -> int:
        return self._id(2, adjective)

    def source_verb(self, verb: int) -> int:
        return self._id(3, verb)

    def target_noun(self, noun: int, plural: int) -> int:
        return self._id(4 + plural, noun)

    def target_adjective(self, adjective: int, gender: int) -> int:
        return self._id(6 + gender, adjective)

    def target_verb(self, verb: int, plural: int) -> int:
        return self._id(8 + plural, verb)

    def _id(self, kind: int, word: int) -> int:
        return _OPEN + kind * self.words + word


@dataclass(frozen=True)
class Phrase:
    """A noun with its article and adjectives."""

    noun: int
    plural: int
    adjectives: tuple[int, ...]

    @property
    def gender(self) -> int:
        """Every other noun is of the other gender."""
        return self.noun % 2


@dataclass(frozen=True)
class Clause:
    """A clause: subject, verb, object, and whether it is negated."""

    subject: Phrase
    verb: int
    object: Phrase
    negated: bool


def pairs(vocabulary: int, length: int, examples: int) -> dict[str, np.ndarray]:
    """source: i32[examples, length], words, END, padding; target: i32[examples, length + 1], START before the same.

    Args:
      vocabulary: how many tokens there are.

    Raises:
      ValueError: a vocabulary or a length that no sentence fits into.
    """
    check(vocabulary, length)
    lexicon = Lexicon((vocabulary - _OPEN) // _CLASSES)
    generator = np.random.default_rng(_SEED)
    sentences = [_sentence(generator, lexicon.words, length - 1) for _ in range(examples)]
    return {
        "source": _pad((_source(lexicon, sentence) for sentence in sentences), length),
        "target": _pad(([START, *_target(lexicon, sentence)] for sentence in sentences), length + 1),
    }


def check(vocabulary: int, length: int) -> None:
    """Whether sentences can be made at this size.

    Raises:
      ValueError: a vocabulary or a length that no sentence fits into.
    """
    smallest = _OPEN + 2 * _CLASSES
    if vocabulary < smallest:
        raise ValueError(
            f"expected a vocabulary of at least {smallest} tokens, two words of each of {_CLASSES} classes, "
            f"found {vocabulary}: raise vocabulary"
        )
    if length < _SHORTEST:
        raise ValueError(
            f"expected a length of at least {_SHORTEST} tokens, the shortest sentence, found {length}: raise length"
        )


def _sentence(generator: np.random.Generator, words: int, room: int) -> list[Clause]:
    """Clauses of at most `room` words, "and" between them."""
    clauses: list[Clause] = []
    room += 1
    while room >= _SHORTEST and (not clauses or generator.random() < 0.75):
        clauses.append(_clause(generator, words, room - _SHORTEST))
        room -= len(_source_clause(Lexicon(words), clauses[-1])) + 1
    return clauses


def _clause(generator: np.random.Generator, words: int, extras: int) -> Clause:
    """A clause with at most `extras` words that it could do without."""
    is_negated = bool(extras and generator.random() < 0.5)
    adjectives = generator.integers(0, min(extras - is_negated, 4) + 1)
    before = generator.integers(0, adjectives + 1)
    words_drawn = tuple(int(word) for word in generator.integers(0, words, adjectives))
    subject = Phrase(int(generator.integers(words)), int(generator.integers(2)), words_drawn[:before])
    acted_on = Phrase(int(generator.integers(words)), int(generator.integers(2)), words_drawn[before:])
    return Clause(subject, int(generator.integers(words)), acted_on, is_negated)


def _source(lexicon: Lexicon, sentence: Sequence[Clause]) -> list[int]:
    return [*_join((_source_clause(lexicon, clause) for clause in sentence), _AND), END]


def _source_clause(lexicon: Lexicon, clause: Clause) -> list[int]:
    def phrase(part: Phrase) -> list[int]:
        adjectives = [lexicon.source_adjective(adjective) for adjective in part.adjectives]
        return [_THE, *adjectives, lexicon.source_noun(part.noun, part.plural)]

    negation = [_NOT] if clause.negated else []
    return [*phrase(clause.subject), *negation, lexicon.source_verb(clause.verb), *phrase(clause.object)]


def _target(lexicon: Lexicon, sentence: Sequence[Clause]) -> list[int]:
    return [*_join((_target_clause(lexicon, clause) for clause in sentence), _CONJUNCTION), END]


def _target_clause(lexicon: Lexicon, clause: Clause) -> list[int]:
    def phrase(part: Phrase) -> list[int]:
        article = _ARTICLES + 2 * part.gender + part.plural
        adjectives = [lexicon.target_adjective(adjective, part.gender) for adjective in part.adjectives]
        return [article, lexicon.target_noun(part.noun, part.plural), *adjectives]

    verb = lexicon.target_verb(clause.verb, clause.subject.plural)
    negation = [_NEGATION] if clause.negated else []
    return [*phrase(clause.subject), *phrase(clause.object), verb, *negation]


def _join(clauses: Iterable[list[int]], conjunction: int) -> list[int]:
    sentence: list[int] = []
    for clause in clauses:
        sentence += [conjunction, *clause] if sentence else clause
    return sentence


def _pad(sentences: Iterable[Sequence[int]], length: int) -> np.ndarray:
    return np.array([[*sentence, *[PAD] * (length - len(sentence))] for sentence in sentences], np.int32)
