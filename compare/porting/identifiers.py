"""Names of layers as identifiers of Python, and as text of comments: nothing of them can become code."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

OF_MODULES = frozenset({
    "add_module", "copy", "eval", "init_cache", "is_initializing", "iter_children", "iter_modules", "logits", "param",
    "penalized", "perturb", "pop", "set_attributes", "set_mode", "sow", "train", "update", "variables",
})  # fmt: skip
"""Public attributes of nnx.Module and nnx.Pytree, which a layer of that name would hide, `logits` and `penalized`."""

OF_FILES = frozenset({"self", "jax", "jnp", "nnx", "optax", "jaxport", "rngs", "Any"})
"""Names that a written file has for something else."""

_TAKEN = OF_MODULES | OF_FILES | {*keyword.kwlist, *keyword.softkwlist}
_LONGEST = 60


def identifier(name: str, otherwise: str) -> str:
    """A name as an identifier in ASCII.

    Args:
      name: of a layer: any text.
      otherwise: what stands in where nothing of it can be kept.
    """
    kept = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:_LONGEST]
    if not re.search(r"[A-Za-z]", kept):
        kept = f"{otherwise}_{kept}".strip("_")
    if kept[0].isdigit():
        kept = f"{otherwise}_{kept}"
    return f"{kept}_" if kept in _TAKEN else kept


def class_identifier(name: str) -> str:
    """A name as that of a class: "mobilenet_v2" -> "MobilenetV2"."""
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", name) if part]
    joined = "".join(part[0].upper() + part[1:] for part in parts)[:_LONGEST]
    return joined if joined and joined[0].isalpha() and joined not in _TAKEN else f"Model{joined}"


def snake(class_name: str) -> str:
    """The name of a class as Keras names layers by it: "Conv2D" -> "conv2d"."""
    stepped = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", class_name)
    kept = re.sub(r"[^a-z0-9_]+", "_", stepped.lower()).strip("_")
    return kept if kept.isidentifier() else f"layer_{kept}".rstrip("_")


def commented(name: str) -> str:
    """A name as it may stand in a comment or docstring: on one line, with nothing that ends a string."""
    plain = name.isascii() and name.isprintable() and not set(name) & {'"', "\\"}
    return name if plain else ascii(name)[1:-1].replace("\\", "/").replace('"', "'")


class Names:
    """Identifiers that are each given once.

    Args:
      taken: those that are not given at all.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._given = {name.lower() for name in taken}

    def of(self, wanted: str) -> str:
        """The identifier, or with the first number that makes it new; case alone makes none new."""
        name, number = wanted, 1
        while name.lower() in self._given:
            number += 1
            name = f"{wanted}_{number}"
        self._given.add(name.lower())
        return name

    def give_back(self, name: str) -> None:
        """Make an identifier free again."""
        self._given.discard(name.lower())
