"""Operations by name: of the table, of the rows that are about them, and of other versions of one operation."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.counterparts import rows
from compare.counterparts.raw_operations import RawOperation
from compare.counterparts.rows import Row
from compare.errors import RequestError

_VERSION = re.compile(r"V\d+$")


@dataclass(frozen=True)
class Found:
    """One operation with all that is known of it.

    Attributes:
      name: of the operation.
      operation: what the table says; None where it lacks the operation.
      version: the one of its versions that the rows are about: what GatherV2 is in JAX, Gather is.
      about: the rows of the map about it.
    """

    name: str
    operation: RawOperation | None
    version: str
    about: tuple[Row, ...]

    @property
    def gotchas(self) -> tuple[str, ...]:
        """Identifiers of the entries that concern its rows; those of layers where only layers are about it."""
        plain = [row for row in self.about if isinstance(row, rows.Operation)]
        return tuple(dict.fromkeys(identifier for row in plain or self.about for identifier in rows.gotchas(row)))


class Finder:
    """Looks up operations of a table."""

    def __init__(self, operations: Mapping[str, RawOperation]) -> None:
        self._operations = operations
        self._versions: dict[str, list[str]] = {}
        for name, operation in operations.items():
            if operation.counterparts:
                self._versions.setdefault(_plain(name), []).append(name)

    def find(self, name: str) -> Found:
        """The facts about an operation; the table may lack it."""
        operation = self._operations.get(name)
        own = [name] if operation and operation.counterparts else self._versions.get(_plain(name), [])
        version = own[-1] if own else name
        return Found(name, operation, version, self._operations[version].counterparts if own else ())

    def matching(self, words: Sequence[str]) -> list[str]:
        """The names of those that match any of the words; of all where none is given.

        A word that is the name of an operation, or of a row ("tf.nn.relu"), stands for that alone; any other is looked
        for in both, whatever its case.

        Raises:
          RequestError: a word matches nothing; the nearest names are offered.
        """
        if not words:
            return list(self._operations)
        return list(dict.fromkeys(name for word in words for name in self._of_word(word)))

    def _of_word(self, word: str) -> list[str]:
        low = word.lower()
        ways = (
            lambda name: name == word,
            lambda name: name.lower() == low,
            lambda name: word in self._operations[name].rows,
            lambda name: low in " ".join((name, *self._operations[name].rows)).lower(),
        )
        for way in ways:
            names = [name for name in self._operations if way(name)]
            if names:
                return names
        near = difflib.get_close_matches(word, self._operations, n=3)
        advice = f"did you mean {', '.join(near)}?" if near else "`jaxport lookup ops --all` lists them"
        raise RequestError(f"expected an operation like {word!r}, found none: {advice}")


def _plain(name: str) -> str:
    """A name without its version: TensorFlow never changes an operation, it adds another version."""
    return _VERSION.sub("", name)
