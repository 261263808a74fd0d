"""Names of layers as identifiers of Python, and as text of comments: nothing of them can become code."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

OF_MODULES = frozenset({
    "add_module", "copy", "eval", "init_cache", "is_initializing", "iter_children", "iter_modules", "logits", "param",
    "penalized", "perturb", "pop", "set_attributes", "set_mode", "sow", "train", "update", "variables",
})  # fmt: skip
"""Public attributes of nnx.Module and nnx.Pytree, which a layer of that name would hide, `logits` and `penalized`."""

OF_FILES = frozenset({"self", "jax", "jnp", "nnx", "nn", "optax", "jaxport", "rngs", "Any"})
"""Names that a written file has for something else."""

OF_SCRIPTS = frozenset({
    "ArraySpec", "CONSTANTS", "CUSTOM", "Console", "DataError", "EXAMPLES", "HERE", "Mapping", "ORIGINAL", "Path",
    "RECEIPT", "TRAINED", "TrainState", "Training", "Workload",
})  # fmt: skip
"""Names with a capital that a written file has for something else, beside classes of the model."""

_TAKEN = OF_MODULES | OF_FILES | {*keyword.kwlist, *keyword.softkwlist}
_TAKEN_BY_CLASSES = _TAKEN | OF_SCRIPTS | {*dir(builtins)}
_LONGEST = 60


def identifier(name: str, otherwise: str) -> str:
    """A name as an identifier in ASCII.

    Args:
      name: of a layer: any text.
    """
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:_LONGEST]
    if not re.search(r"[A-Za-z]", word):
        word = f"{otherwise}_{word}".strip("_")
    if word[0].isdigit():
        word = f"{otherwise}_{word}"
    return f"{word}_" if word in _TAKEN else word


def class_identifier(name: str) -> str:
    """A name as that of a class: "mobilenet_v2" -> "MobilenetV2"."""
    parts = [part for part in re.split(r"[^A-Za-z0-9]+", name) if part]
    camel_case = "".join(part[0].upper() + part[1:] for part in parts)[:_LONGEST]
    is_free = camel_case not in _TAKEN_BY_CLASSES and camel_case[:1].isalpha()
    return camel_case if is_free else f"Model{camel_case}"


def snake(class_name: str) -> str:
    """The name of a class as Keras names layers by it: "Conv2D" -> "conv2d"."""
    with_steps = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", class_name)
    word = re.sub(r"[^a-z0-9_]+", "_", with_steps.lower()).strip("_")
    return word if word.isidentifier() else f"layer_{word}".rstrip("_")


def comment_text(name: str) -> str:
    """A name as it may stand in a comment or docstring: on one line, with nothing that ends a string."""
    plain = name.isascii() and name.isprintable() and not set(name) & {'"', "\\"}
    return name if plain else ascii(name)[1:-1].replace("\\", "/").replace('"', "'")


class Names:
    """Identifiers that are each given once.

    Args:
      taken: those that are not given at all.
    """

    def __init__(self, names_taken: Iterable[str] = ()) -> None:
        self._given = {name.lower() for name in names_taken}

    def of(self, base: str) -> str:
        """The identifier, or with the first number that makes it new; case alone makes none new."""
        name, number = base, 1
        while name.lower() in self._given:
            number += 1
            name = f"{base}_{number}"
        self._given.add(name.lower())
        return name

    def give_back(self, name: str) -> None:
        """Make an identifier free again."""
        self._given.discard(name.lower())
