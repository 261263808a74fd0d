"""Records the attributes of a layer that its writer reads: an unread one would be lost silently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from compare.porting.safe_expressions import UnwritableError
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import KERAS_LAYERS, SourceLayer

OF_WEIGHTS = frozenset({
    "units", "filters", "kernel_size", "depth_multiplier", "input_dim", "output_dim", "key_dim", "value_dim",
    "head_dim", "num_key_value_heads", "output_shape", "bias_axes", "shared_axes",
})  # fmt: skip
"""The shapes of the weights say these."""

OF_LAYERS_WITHIN = frozenset({"layer", "backward_layer", "cell", "cells"})
"""Layers that are written for themselves."""

OF_VALUES = ("_initializer", "_regularizer", "_constraint")
"""How such attributes end: the weights are carried as they are, and the training is written of the penalties and
constraints of the model."""

WITHOUT_EFFECT = frozenset({
    # What the training writes of what is trained; a seed of draws that no other framework repeats.
    "trainable", "seed", "weights", "unit_forget_bias",
    # Ways to compute the same.
    "use_cudnn", "unroll", "implementation", "flash_attention", "autocast", "synchronized",
    # What a masked step counts as is among the arguments of calls; penalties of an ActivityRegularization are the loss.
    "mask_zero", "l1", "l2",
    # Where a model starts.
    "batch_shape", "batch_input_shape",
})  # fmt: skip

_NOTHING_SAID = frozenset({("data_format", "channels_last")})
"""Attributes with what Keras makes of a default that is None."""


class ReadAttributes(dict[str, Plain]):
    """The attributes of a layer; it notes which are read.

    Attributes:
      read: the names of these.
    """

    def __init__(self, config: Mapping[str, Plain], read: set[str] | None = None) -> None:
        super().__init__(config)
        self.read = set[str]() if read is None else read

    def __getitem__(self, name: str) -> Plain:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Like dict.get."""
        self.read.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)


def with_changes(config: Mapping[str, Plain], changes: Mapping[str, Plain]) -> Mapping[str, Plain]:
    """The attributes of a layer with some that are others; what is read of them is noted for the layer.

    Args:
      changes: by name.
    """
    content = {**dict(config.items()), **changes}
    return ReadAttributes(content, config.read) if isinstance(config, ReadAttributes) else content


def check_all_read(whole: SourceLayer, within: Iterable[SourceLayer]) -> None:
    """Raise where a layer has an attribute that nothing read, which is not what its class has by default.

    Raises:
      UnwritableError: the attribute with its value.
    """
    for layer in (whole, *within):
        for name, value in _find_unread(layer):
            where = f" in {layer.step} ({layer.class_name})" if layer is not whole else ""
            raise UnwritableError(f"it has {name}={str(value)[:40]}{where}, which is not known here")


def _find_unread(layer: SourceLayer) -> Iterator[tuple[str, Plain]]:
    if layer.module != KERAS_LAYERS or not isinstance(layer.config, ReadAttributes):
        return
    read_names = layer.config.read | set(layer.defaults) | OF_WEIGHTS | OF_LAYERS_WITHIN | WITHOUT_EFFECT
    for name, value in layer.config.items():
        is_unread = name not in read_names and not name.endswith(OF_VALUES)
        if is_unread and not (isinstance(value, str) and (name, value) in _NOTHING_SAID):
            yield name, value
