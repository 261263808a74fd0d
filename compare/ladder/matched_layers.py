"""Matches calls of modules in the port with calls of layers in the original, by name alone."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workloads.protocol.layer_calls import LayerCalls

_NO_NAME = re.compile(r"[^0-9A-Za-z_]+")


def match_calls(original: LayerCalls, port: LayerCalls, names: Mapping[str, str]) -> dict[int, int]:
    """By position of a call in the original, that of the call in the port.

    Args:
      names: path of a layer -> that of its module, where something else than the names says so.
    """
    modules = modules_of(original, port, names)
    positions = {(call.path, call.number): index for index, call in enumerate(port.calls)}
    counterparts = {
        index: positions.get((modules[call.path], call.number))
        for index, call in enumerate(original.calls)
        if call.path in modules
    }
    return {index: other for index, other in counterparts.items() if other is not None}


def modules_of(original: LayerCalls, port: LayerCalls, names: Mapping[str, str]) -> dict[str, str]:
    """By path of a layer, the path of its module: the same names, or else a last name that both sides have once."""
    layers = list(dict.fromkeys(call.path for call in original.calls if call.path))
    modules = list(dict.fromkeys(call.path for call in port.calls if call.path))
    plain = {plain_path(module): module for module in modules}
    matches: dict[str, str] = {}
    for layer in layers:
        module_name = names.get(layer, layer)
        if plain_path(module_name) in plain:
            matches[layer] = plain[plain_path(module_name)]
    remaining_layers = [layer for layer in layers if layer not in matches and layer not in names]
    free = [module for module in modules if module not in matches.values()]
    for layer in remaining_layers:
        alike = [module for module in free if _last(module) == _last(layer)]
        if len(alike) == 1 and sum(_last(other) == _last(layer) for other in remaining_layers) == 1:
            matches[layer] = alike[0]
    return matches


def plain_path(path: str) -> str:
    """A path with each name as an identifier: "block 1/conv-2" -> "block_1/conv_2"."""
    return "/".join(_NO_NAME.sub("_", step).strip("_") for step in path.split("/"))


def _last(path: str) -> str:
    return plain_path(path).rpartition("/")[2]


def find_exchanges(original: LayerCalls, port: LayerCalls, modules: Mapping[str, str]) -> list[str]:
    """Lines that prove that weights lie in another layer's module.

    Weights are known by their values, in whatever order: those of one layer alone, found in one module alone, and not
    in the module of that layer's name.

    Args:
      modules: path of a layer -> that of its module.
    """
    owners = _owners(original)
    holders = _owners(port)
    layers = {module: layer for layer, module in modules.items()}
    lines: dict[str, None] = {}
    for digest, owner in owners.items():
        holder = holders.get(digest)
        if owner is None or holder is None or modules.get(owner, holder) == holder or holder not in layers:
            continue
        lines[f"weights of layer {owner} lie in module {holder}, which has the name of layer {layers[holder]}"] = None
    return [*lines]


def _owners(calls: LayerCalls) -> dict[str, str | None]:
    """By digest, whose weight it is; None of what several have."""
    owners: dict[str, str | None] = {}
    for path, digests in calls.weights.items():
        for digest in digests:
            owners[digest] = path if owners.get(digest, path) == path else None
    return owners
