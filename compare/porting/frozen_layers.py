"""The layers that are not trained: where their modules stand, and the filter that leaves them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compare.porting.written_classes import Written
from workloads.protocol.architecture import Architecture
from workloads.protocol.transfer import SourceLayer


def frozen_places(architecture: Architecture, source: Written) -> Sequence[str]:
    """The modules of which nothing is trained; one that holds others stands for these."""
    kept_layers = [layer for layer in architecture.source.layers if layer.leaves and layer.path not in source.uncalled]
    having = [layer.path for layer in kept_layers]
    still = [layer.path for layer in kept_layers if all(_are_frozen(architecture, layer))]
    layers = {layer.path: layer for layer in architecture.source.layers}
    whole = [path for path in layers if _below(path, having) and set(_below(path, having)) <= set(still)]
    first = [path for path in whole if not any(path.startswith(f"{other}/") for other in whole)]
    return [place for path in first for place in _modules(source, path, layers[path].container)]


def find_partly_frozen(architecture: Architecture) -> str:
    """A layer that trains some of what it keeps, and not all; empty without one."""
    for layer in architecture.source.layers:
        flags = list(_are_frozen(architecture, layer))
        if any(flags) and not all(flags):
            return layer.subject
    return ""


def _are_frozen(architecture: Architecture, layer: SourceLayer) -> Iterator[bool]:
    """Whether each leaf is frozen; weights of inner layers have their names as a prefix: "query/kernel"."""
    return (f"{layer.path}/{leaf.name}" in architecture.frozen for leaf in layer.leaves)


def _modules(source: Written, path: str, container: bool) -> list[str]:
    """Where a layer stands; a separable convolution is two modules."""
    parts = [] if container else [place for name, place in source.names.items() if name.startswith(f"{path}/")]
    return parts or [source.names.get(path, path.replace("/", "."))]


def _below(path: str, having: Sequence[str]) -> list[str]:
    return [other for other in having if other == path or other.startswith(f"{path}/")]


def frozen_constant(places_text: str) -> list[str]:
    """The constant with the paths of frozen modules, and the empty lines behind it."""
    return [f"FROZEN = ({places_text})", '"""Where the modules stand that are not trained."""', "", ""]


def trained_filter(places_frozen: Sequence[str]) -> list[str]:
    """The filter of what is trained; nothing where all of it is."""
    if not places_frozen:
        return []
    # nnx counts what is in a list.
    steps = ([int(step) if step.isdigit() else step for step in place.split(".")] for place in places_frozen)
    places = "".join(f"({', '.join(map(repr, path))},), " for path in steps)
    return [
        *frozen_constant(places),
        "def is_frozen(path: tuple[Any, ...], value: Any) -> bool:",
        '    """Whether a variable is in one of these, for filters of nnx."""',
        "    return any(path[: len(place)] == place for place in FROZEN)",
        "",
        "",
        "TRAINED = nnx.All(nnx.Param, nnx.Not(is_frozen))",
    ]
