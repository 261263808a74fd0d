"""Names of blocks, of what is in them and of their parameters: by what they do, and by what layer names share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compare.porting.identifiers import class_identifier, identifier, snake
from compare.porting.repeats import common_start

_MARKS = re.compile(r"[^A-Za-z0-9]+")
_FEATURES = ("in_features", "out_features", "num_features", "features", "num_embeddings", "feature_group_count")
"""Arguments of modules that are a width."""


def attribute_name(names: Sequence[str], kind: str) -> str:
    """The attribute of a layer of a block.

    Args:
      names: that the layer has in each copy, without what those of one copy share.
      kind: of it.
    """
    shared = shared_words(names)
    # What counts the layers of a block comes last: "1_conv" is conv_1.
    number, rest = re.fullmatch(r"(\d*)_?(.*)", shared, re.DOTALL).groups()  # pyright: ignore[reportOptionalMemberAccess]
    word = "_".join(part for part in (rest.lower(), number) if part)
    return identifier(word, kind) if rest else identifier(f"{kind}_{number}" if number else kind, kind)


def shared_words(names: Sequence[str]) -> str:
    """What names share: all of one, or the words that stand in each of them, without numbers."""
    if len(set(names)) == 1:
        return _MARKS.sub("_", names[0]).strip("_")
    words = [_words(name) for name in names]
    return "_".join(word for word in words[0] if all(word in others for others in words))


def _words(name: str) -> list[str]:
    """The words of a name without the numbers that end them: "conv2_block1a" -> conv, block."""
    parts = (re.sub(r"\d+[a-z]?$", "", part) for part in _MARKS.split(name))
    return [part for part in parts if part]


def block_class(prefixes: Sequence[str], does: str, model: str) -> str:
    """The class of a block.

    Args:
      prefixes: what the names of the layers of each copy begin with; "" where that is nothing.
      does: what it does, where its names do not say.
      model: the name of the model, which says nothing.
    """
    words = shared_words([prefix.removeprefix(model) for prefix in prefixes]) if all(prefixes) else ""
    words = re.sub(r"\d+", "", words).strip("_")
    if words.lower() in ("", "block", "layer"):
        return f"{does}{class_identifier(words or 'block')}"
    return class_identifier(words if len(words) > 1 else f"{words}_block")


def common_name(prefixes: Sequence[str], model: str) -> str:
    """What the names of several blocks begin with, without the number of one and the name of the model."""
    if len(prefixes) == 1:
        return prefixes[0].removeprefix(model).strip("_./-")
    start = common_start(prefixes)
    return re.sub(r"[\d_./-]*$", "", start.removeprefix(model).lstrip("_./-"))


def plural(name: str) -> str:
    """The name of a list of blocks."""
    word = re.sub(r"_?\d+$", "", name).rstrip("_")
    return word if word.endswith("s") else f"{word}s"


def kind_of(constructors: Iterable[str], otherwise: str) -> str:
    """What a layer is, by the class of its module: "batch_norm"."""
    first = next(iter(constructors), "")
    return snake(first.partition("(")[0].rpartition(".")[2]) if first else snake(otherwise)


def parameter_name(uses: Sequence[tuple[str, str, bool, bool]]) -> str:
    """A parameter of a block.

    Args:
      uses: for each argument that it is, the attribute of the module, the argument's name, whether it is a width of
        what the block is given, and whether it is one of what it returns.
    """
    given = any(is_first and label in ("in_features", "num_features") for _, label, is_first, _ in uses)
    returned = any(is_last and label in ("out_features", "num_features", "features") for _, label, _, is_last in uses)
    if given or returned:
        return "features" if given and returned else "in_features" if given else "out_features"
    attribute, label = next(
        ((attribute, label) for attribute, label, _, _ in uses if label and label != "in_features"), uses[0][:2]
    )
    if label in _FEATURES:
        return f"{attribute}_features"
    return label or f"{attribute}_size"
