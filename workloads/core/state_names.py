"""Finds the weight that an optimizer's state belongs to: each side has its own names for both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True)
class Own:
    """A weight as a side has it: its own name, and the shape."""

    name: str
    shape: tuple[int, ...]


def owner_and_part(state: str, shape: tuple[int, ...], weights: Mapping[str, Own]) -> tuple[str, str]:
    """The weight that a state belongs to, and what is left of the state's name; both empty where that is not clear.

    "momentum/blocks/0/kernel" is the "momentum" of the weight that its side calls "blocks/0/kernel".

    Args:
      state: as the side calls it; the weight's name stands in it, with separators of any kind.
      weights: by canonical name.
    """
    flat = _flat(state)
    own = {name: _flat(weight.name) for name, weight in weights.items() if weight.shape == shape}
    within = {name: text if text in flat else _end_within(text, flat) for name, text in own.items()}
    longest = max(map(len, within.values()), default=0)
    candidates = [name for name, text in within.items() if longest and len(text) == longest]
    # Of two as long the one whose whole name it is: the other has more in front, which does not stand there.
    candidates = [name for name in candidates if own[name] == within[name]] or candidates
    if len(candidates) != 1:
        return "", ""
    before, _, after = flat.rpartition(within[candidates[0]])
    return candidates[0], " ".join(part.strip("/") for part in (before, after)).strip()


def _end_within(own: str, flat: str) -> str:
    """The longest end of a weight's own name, of two words at least, that stands in a state's; else empty.

    An optimizer is often given a part of the parameters: the weight "0/blocks/0/kernel" has the state
    "momentum/blocks/0/kernel".
    """
    words = own.strip("/").split("/")
    ends = (f"/{'/'.join(words[first:])}/" for first in range(1, len(words) - 1))
    return next((end for end in ends if end in flat), "")


def _flat(name: str) -> str:
    return f"/{_SEPARATORS.sub('/', name).strip('/')}/"
