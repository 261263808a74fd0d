"""Files that Google's Model Explorer opens: both programs as graphs, which values belong together, times and ULPs.

Its formats, as of ai-edge-model-explorer 0.1.34: graph collections and node data as its graph_builder.py and
node_data_builder.py declare them; sync navigation (two panes that follow each other) as its web application reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compare.files import Json
from compare.report import numbers
from compare.report.showable import entries, mapping, part, printable, text
from compare.writing import write_atomically

SIDES = ("left", "right")
_ATTRIBUTES = ("shape", "attributes", "literal", "hints", "source", "name", "op_name", "class", "kernel")
_STYLES = {"changed": "#fff1c4", "only here": "#f6c9c5", "rewritten": "#e3d6f0"}
"""Backgrounds by class; a value that is unchanged keeps Model Explorer's own."""
_GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#e8590c"}]


def write_model_explorer(view: Json, folder: Path) -> list[Path]:
    """Write the files for a view of `compare.hlo.showing.view` into a folder, making it; returns their paths.

    `graphs.json` holds both programs, `sync.json` which of their values belong together, `times.json` and `ulps.json`
    numbers that colour them, each of the two only where there are any.
    """
    safe = printable(view)
    files = {
        "graphs.json": graph_collection(safe),
        "sync.json": sync_navigation(safe),
        "times.json": times(safe),
        "ulps.json": ulps(safe),
    }
    paths = [folder / name for name, data in files.items() if data]
    for path in paths:
        write_atomically(path, json.dumps(files[path.name], allow_nan=False) + "\n")
    return paths


def graph_collection(view: Json) -> Json:
    """Both programs, a graph each, regions as layers below the values that they belong to."""
    labels = " and ".join(map(str, entries(view, "labels")))
    return {
        "label": f"{labels}, {text(view, 'level')}",
        "graphs": [
            {"id": graph_id(view, side), "nodes": list(_nodes(entries(view, side, "nodes"), ""))} for side in SIDES
        ],
    }


def graph_id(view: Json, side: str) -> str:
    """The name of one program's graph: its label, with the side if both sides have the same."""
    own, other = (text(view, either, "label") for either in (side, SIDES[side == "left"]))
    return own if own != other else f"{own} ({side})"


def sync_navigation(view: Json) -> Json:
    """Pairs of values: selecting one selects its partner on the other side.

    Values that are matched with several are one entry with all of them: a value may stand in one entry only.
    """
    return {
        "type": "sync_navigation",
        "disableMappingFallback": True,
        "showDiffHighlights": True,
        "mappingEntries": [
            {"leftNodeIds": left, "rightNodeIds": right}
            for left, right in _together([*entries(view, "matches"), *entries(view, "alike")])
        ],
    }


def times(view: Json) -> Json:
    """Microseconds of the kernel that each value is computed in, by graph; empty where nothing was timed."""
    by_side = {side: mapping(view, side, "kernels") for side in SIDES}
    return {
        graph_id(view, side): _node_data(
            "kernel time (µs)",
            {node["id"]: 1e6 * kernels[text(node, "kernel")] for node in _all(entries(view, side, "nodes"))
             if text(node, "kernel") in kernels},
        )
        for side, kernels in by_side.items()
        if kernels
    }  # fmt: skip


def ulps(view: Json) -> Json:
    """The distance of each value from its partner in units in the last place, by graph; empty where none was run."""
    distances = [
        (match, ulp) for match in entries(view, "matches") if (ulp := numbers.finite(part(match, "ulp"))) is not None
    ]
    if not distances:
        return {}
    # The first match of a value is the one that it is shown with.
    return {
        graph_id(view, side): _node_data("ULP", {text(match, side): ulp for match, ulp in reversed(distances)})
        for side in SIDES
    }


def _node_data(name: str, values: Mapping[str, float]) -> Json:
    return {"name": name, "results": {key: {"value": value} for key, value in values.items()}, "gradient": _GRADIENT}


def _all(nodes: Sequence[Json]) -> Iterator[Json]:
    for node in nodes:
        yield node
        for region in entries(node, "regions"):
            yield from _all(entries(region, "nodes"))


def _nodes(nodes: Sequence[Json], above: str) -> Iterator[Json]:
    for node in nodes:
        layers = _layers(node, above)
        yield {
            "id": text(node, "id"),
            "label": text(node, "op"),
            "namespace": layers,
            "attrs": _attributes(node),
            "incomingEdges": [
                {"sourceNodeId": operand, "sourceNodeOutputId": "0", "targetNodeInputId": str(place)}
                for place, operand in enumerate(entries(node, "operands"))
            ],
            "outputsMetadata": [{"id": "0", "attrs": [{"key": "shape", "value": text(node, "shape")}]}],
            **_style(node),
        }
        for region in entries(node, "regions"):
            inner = f"{_layer(text(node, 'op'))} %{text(node, 'id')}/{_layer(text(region, 'name'))}"
            yield from _nodes(entries(region, "nodes"), f"{layers}/{inner}".strip("/"))


def _layers(node: Json, above: str) -> str:
    """The layer that a value stands in: its region's, or the fusions around it, or else what the frontend named."""
    if above:
        return above
    place = [_layer(str(name)) for name in entries(node, "place")]
    return "/".join(place or text(node, "op_name").split("/")[:-1])


def _layer(name: str) -> str:
    # A slash would begin another layer.
    return name.replace("/", "_")


def _attributes(node: Json) -> list[dict[str, str]]:
    attributes = {name: text(node, name) for name in _ATTRIBUTES} | {
        "rules": ", ".join(map(str, entries(node, "rules"))),
        "stack": "\n".join(map(str, entries(node, "frames"))),
    }
    return [{"key": name, "value": value} for name, value in attributes.items() if value]


def _style(node: Json) -> Json:
    color = _STYLES.get(text(node, "class"))
    return {"style": {"backgroundColor": color}} if color else {}


def _together(pairs: Sequence[Json]) -> Iterator[tuple[list[str], list[str]]]:
    """Values that matches connect, however many steps apart: those of the left, those of the right."""
    neighbours: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for pair in pairs:
        ends = [(side, text(pair, side)) for side in SIDES]
        for end, other in (ends, ends[::-1]):
            neighbours.setdefault(end, []).append(other)
    seen_ends: set[tuple[str, str]] = set()
    for start in neighbours:
        if start in seen_ends:
            continue
        seen_ends.add(start)
        group = [start]
        for end in group:
            fresh = [other for other in dict.fromkeys(neighbours[end]) if other not in seen_ends]
            seen_ends.update(fresh)
            group += fresh
        left, right = ([key for side, key in group if side == wanted_side] for wanted_side in SIDES)
        yield left, right
