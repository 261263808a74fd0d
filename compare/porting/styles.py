"""The interfaces of Flax that a module is written in."""

from __future__ import annotations

from typing import Literal, TypeAlias

Style: TypeAlias = Literal["nnx", "linen"]

NNX: Style = "nnx"
LINEN: Style = "linen"
STYLES: tuple[Style, ...] = (NNX, LINEN)
