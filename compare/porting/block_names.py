"""Names of blocks, their attributes and their parameters, from the names of layers and from what a block does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from compare.porting.identifiers import class_identifier, identifier, snake
from compare.porting.repeats import common_start

_MARKS = re.compile(r"[^A-Za-z0-9]+")
_FEATURES = ("in_features", "out_features", "num_features", "features", "num_embeddings", "feature_group_count")
"""Arguments of modules that are numbers of features."""
INPUT_FEATURES = ("in_features", "num_features")
"""Arguments that are the number of features of the input."""
_OUTPUTS = ("out_features", "num_features", "features")
"""Arguments that are the number of features of the output."""


def attribute_name(names: Sequence[str], kind: str) -> str:
    """The name of an attribute of a block.

    Args:
      names: the name of the layer in each copy, without the prefix of the copy.
    """
    words = shared_words(names)
    # The number of a layer in its block comes last: "1_conv" is conv_1.
    number, rest = re.fullmatch(r"(\d*)_?(.*)", words, re.DOTALL).groups()  # pyright: ignore[reportOptionalMemberAccess]
    word = "_".join(part for part in (rest.lower(), number) if part)
    return identifier(word, kind) if rest else identifier(f"{kind}_{number}" if number else kind, kind)


def shared_words(names: Sequence[str]) -> str:
    """The words that all names contain, without numbers; the whole name if all names are equal."""
    if len(set(names)) == 1:
        return _MARKS.sub("_", names[0]).strip("_")
    words = [_words(name) for name in names]
    return "_".join(word for word in words[0] if all(word in others for others in words))


def _words(name: str) -> list[str]:
    """The words of a name without their final numbers: "conv2_block1a" -> conv, block."""
    parts = (re.sub(r"\d+[a-z]?$", "", part) for part in _MARKS.split(name))
    return [part for part in parts if part]


def block_class(prefixes: Sequence[str], role: str, model: str) -> str:
    """The name of the class of a block.

    Args:
      prefixes: the common prefix of the layer names of each copy; "" if they have none.
      model: the name of the model, which is no part of the name.
    """
    words = shared_words([prefix.removeprefix(model) for prefix in prefixes]) if all(prefixes) else ""
    words = re.sub(r"\d+", "", words).strip("_")
    if words.lower() in ("", "block", "layer"):
        return f"{role}{class_identifier(words or 'block')}"
    return class_identifier(words if len(words) > 1 else f"{words}_block")


def common_name(prefixes: Sequence[str], model: str) -> str:
    """The common start of the prefixes of several copies, without a number and without the name of the model."""
    if len(prefixes) == 1:
        return prefixes[0].removeprefix(model).strip("_./-")
    start = common_start(prefixes)
    return re.sub(r"[\d_./-]*$", "", start.removeprefix(model).lstrip("_./-"))


def plural(name: str) -> str:
    """The name of a list of blocks."""
    word = re.sub(r"_?\d+$", "", name).rstrip("_")
    return word if word.endswith("s") else f"{word}s"


def kind_of(constructors: Iterable[str], otherwise: str) -> str:
    """The kind of a layer, from the class of its first module: "batch_norm"; `otherwise` if it has no module."""
    first = next(iter(constructors), "")
    return snake(first.partition("(")[0].rpartition(".")[2]) if first else snake(otherwise)


def parameter_name(uses: Sequence[tuple[str, str, bool, bool]]) -> str:
    """The name of a parameter of a block.

    Args:
      uses: for each argument of a module that has the value of the parameter: the attribute of the module, the name of
        the argument, whether the module reads an input of the block, and whether it is the last one with features.
    """
    is_of_input = any(is_first and label in INPUT_FEATURES for _, label, is_first, _ in uses)
    is_of_output = any(is_last and label in _OUTPUTS for _, label, _, is_last in uses)
    if is_of_input and is_of_output:
        return "features"
    if is_of_input or is_of_output:
        return "in_features" if is_of_input else "out_features"
    attribute, label = next(
        ((attribute, label) for attribute, label, _, _ in uses if label and label != "in_features"), uses[0][:2]
    )
    if label in _FEATURES:
        return f"{attribute}_features"
    return label or f"{attribute}_size"
