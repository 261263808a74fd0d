"""Entries of the catalogue by identifier, theme, name or any word of theirs."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from compare.errors import RequestError
from workloads.gotchas._catalogue import Entry


def matching(entries: Sequence[Entry], words: Sequence[str]) -> list[Entry]:
    """The entries that match every word; all of them where none is given.

    A word that is an identifier, a name or a theme stands for that alone; any other is looked for, in small letters,
    in identifiers, explanations and the operations that are concerned.

    Raises:
      RequestError: nothing matches; the nearest names are offered.
    """
    matches = list(entries)
    for word in words:
        matches = _of_word(matches, word.lower())
    if not matches:
        raise RequestError(f"expected an entry about {' '.join(words)!r}, found none: {_offer(entries, words)}")
    return matches


def _of_word(entries: Sequence[Entry], word: str) -> list[Entry]:
    exact = [entry for entry in entries if word in (entry.id, entry.gotcha.name)]
    return exact or [entry for entry in entries if word == entry.theme] or [e for e in entries if word in _text(e)]


def _text(entry: Entry) -> str:
    return " ".join((entry.id, entry.gotcha.why, *entry.gotcha.concerns)).lower()


def _offer(entries: Sequence[Entry], words: Sequence[str]) -> str:
    names = [name for entry in entries for name in (entry.theme, entry.gotcha.name)]
    near = dict.fromkeys(name for word in words for name in difflib.get_close_matches(word.lower(), names, n=2))
    return f"did you mean {', '.join(near)}?" if near else "`jaxport lookup gotchas` lists them"
