"""Which weight an optimizer's state belongs to: each side has names of its own for both."""

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
      shape: of the state; a weight's own state has the weight's.
      weights: by canonical name.
    """
    flat = _flat(state)
    alike = {name: _flat(weight.name) for name, weight in weights.items() if weight.shape == shape}
    within = {name: own for name, own in alike.items() if own in flat}
    longest = max(map(len, within.values()), default=0)
    named = [name for name, own in within.items() if len(own) == longest]
    if len(named) != 1:
        return "", ""
    before, _, after = flat.rpartition(within[named[0]])
    return named[0], " ".join(part.strip("/") for part in (before, after)).strip()


def _flat(name: str) -> str:
    return f"/{_SEPARATORS.sub('/', name).strip('/')}/"
