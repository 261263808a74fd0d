"""Pictures of optimized modules: what is computed together stands in one box. Drawn by Graphviz, from JSON alone."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import graphviz

from compare.files import Json
from compare.report.pages import Picture
from compare.report.showable import entries, part, printable, text
from compare.writing import write_atomically

WHOLE = 300
"""Up to so many values a picture shows each of them; beyond, a fusion is one box."""
DRAWN = 500
"""The most boxes or arrows: with more, Graphviz takes a minute and longer, and a reader finds nothing."""

MISSING_DOT = (
    "expected Graphviz's dot on the PATH, found none: apt-get install graphviz, then dot -Tsvg -O {name} draws it"
)
FAILED_DOT = (
    "expected Graphviz's dot to draw {name}, found that it ended with status {status}: try another version of it"
)
TOO_LARGE = (
    "expected at most {most} boxes and as many arrows, found {boxes} and {arrows}: only {name} is written, "
    "open it with a viewer that zooms"
)

_KINDS = {
    "matrix": ("#f6d5b8", "dot convolution cholesky triangular-solve"),
    "reduction": ("#d5e8c8", "reduce reduce-window sort select-and-scatter topk"),
    "indexing": ("#e3d6f0", "gather scatter dynamic-slice dynamic-update-slice"),
    "layout": (
        "#f3eab5",
        "copy transpose reshape bitcast broadcast concatenate slice pad reverse iota bitcast-convert",
    ),
    "library": ("#f2c9cf", "custom-call fft"),
    "control": ("#c9dcf2", "while conditional call"),
    "input": ("#e6e6e6", "parameter constant"),
}
ELEMENTWISE = ("#d3ecec", "elementwise")
_KIND_OF = {opcode: (color, kind) for kind, (color, opcodes) in _KINDS.items() for opcode in opcodes.split()}
_TELLING = ("library", "matrix", "control", "reduction", "indexing")
"""A kernel has the first of these kinds that its operations have."""

UNMATCHED = "#b3201c"
INK, SOFT, PAPER = "#1d2126", "#7a828c", "#ffffff"
_SOURCES = 20
FONT = {"fontname": "Helvetica,Arial,sans-serif", "fontsize": "10"}
GRAPH = {"bgcolor": PAPER, "rankdir": "TB", "tooltip": " "} | FONT


@dataclass(frozen=True)
class GraphFiles:
    """The written files, and the reason in one line if one is missing."""

    written: tuple[Path, ...]
    hint: str = ""


def write_picture(module: Json, stem: Path) -> GraphFiles:
    """Write stem.dot, and stem.svg where Graphviz is installed and the module is not too large for it.

    Args:
      stem: a path without its ending; its folder is made.
    """
    digraph, boxes = draw(printable(module))
    return save(digraph, boxes, stem)


def save(digraph: graphviz.Digraph, boxes: int, stem: Path) -> GraphFiles:
    """Write a drawing as stem.dot, and as stem.svg where Graphviz is installed and there is not too much in it.

    Args:
      stem: a path without its ending; its folder is made.
    """
    dot, svg = (stem.with_name(f"{stem.name}.{ending}") for ending in ("dot", "svg"))
    write_atomically(dot, digraph.source)
    arrows = sum(" -> " in line for line in digraph.body)
    if max(boxes, arrows) > DRAWN:
        return GraphFiles((dot,), TOO_LARGE.format(most=DRAWN, boxes=boxes, arrows=arrows, name=dot.name))
    try:
        data = digraph.pipe(format="svg")
    except graphviz.ExecutableNotFound:
        return GraphFiles((dot,), MISSING_DOT.format(name=dot.name))
    except graphviz.CalledProcessError as error:
        return GraphFiles((dot,), FAILED_DOT.format(status=error.returncode, name=dot.name))
    write_atomically(svg, data)
    return GraphFiles((dot, svg))


def keep(caption: str, drawing: tuple[graphviz.Digraph, int], stem: Path) -> Picture:
    """Write a drawing as `save` does; as what a page shows of it.

    Args:
      drawing: and how many boxes it has.
      stem: a path without its ending; its folder is made.
    """
    files = save(*drawing, stem)
    vector = next((path for path in files.written if path.suffix == ".svg"), None)
    data = base64.b64encode(vector.read_bytes()).decode() if vector else ""
    url = f"data:image/svg+xml;base64,{data}" if vector else ""
    return Picture(caption, (vector or files.written[0]).name, url, files.hint)


def draw(module: Json) -> tuple[graphviz.Digraph, int]:
    """The picture, and how many boxes it has."""
    nodes = _values(entries(module, "nodes"))
    kernels = _kernels(nodes)
    digraph = graphviz.Digraph("module", graph_attr={"label": _legend(module), "labelloc": "t"} | GRAPH)
    digraph.attr("node", shape="box", style="filled,rounded", color=SOFT, fontcolor=INK, **FONT)
    digraph.attr("edge", color=SOFT, fontcolor=SOFT, arrowsize="0.6", **(FONT | {"fontsize": "8"}))
    boxes = _draw_collapsed(digraph, kernels) if len(nodes) > WHOLE else _whole(digraph, kernels)
    _edges(digraph, nodes, boxes)
    _results(digraph, entries(module, "results"), boxes)
    return digraph, len(set(boxes.values()))


def _values(nodes: Sequence[Json]) -> list[Json]:
    """All values, those of loops and branches too, but not the tuple that only hands the results out."""
    read = {operand for node in nodes for operand in entries(node, "operands")}
    return [
        value for node in nodes if text(node, "op") != "tuple" or node["id"] in read for value in (node, *_bodies(node))
    ]


def _bodies(node: Json) -> Iterator[Json]:
    """The values of a loop's or branch's regions, each region a kernel of its own; reducers are left out."""
    if kind_of(node)[1] != "control":
        return
    for region in entries(node, "regions"):
        place = [*entries(node, "place"), f"{text(region, 'name')} of {text(node, 'name')}"]
        results = set(entries(region, "results"))
        for inner in _values(entries(region, "nodes")):
            own = {"place": [*place, *entries(inner, "place")], "matched": part(node, "matched")}
            yield {**inner, **own, **({"returned_to": node["id"]} if inner["id"] in results else {})}


@dataclass
class _Kernel:
    """Calls and fusions nested in each other, and the values that stand in each."""

    name: str
    nodes: list[Json] = field(default_factory=list)
    inner: dict[str, _Kernel] = field(default_factory=dict)

    def all(self) -> Iterator[Json]:
        """Its values, and those of what it calls."""
        yield from self.nodes
        for kernel in self.inner.values():
            yield from kernel.all()


def _kernels(nodes: Sequence[Json]) -> _Kernel:
    entry = _Kernel("")
    for node in nodes:
        kernel = entry
        for name in entries(node, "place"):
            kernel = kernel.inner.setdefault(str(name), _Kernel(str(name)))
        kernel.nodes.append(node)
    return entry


def kind_of(node: Json) -> tuple[str, str]:
    """The colour and the name of what kind of operation a value is."""
    return _KIND_OF.get(text(node, "op"), ELEMENTWISE)


def _kind_of_kernel(kernel: _Kernel) -> tuple[str, str]:
    kinds = {name: (color, name) for color, name in map(kind_of, kernel.all())}
    if "layout" in kinds and kinds.keys() <= {"layout", "input"}:
        return kinds["layout"]
    return next((kinds[name] for name in _TELLING if name in kinds), ELEMENTWISE)


def _whole(digraph: graphviz.Digraph, kernel: _Kernel, path: str = "cluster") -> dict[str, str]:
    """Draw every value, each kernel a box around its own; by value, its box."""
    boxes = {
        node["id"]: _box(digraph, f"v{node['id']}", _label(node), kind_of(node)[0], [node]) for node in kernel.nodes
    }
    for number, inner in enumerate(kernel.inner.values()):
        color, kind = _kind_of_kernel(inner)
        label = literally(f"{inner.name} ({kind})")
        # A name that starts with "cluster" is what makes Graphviz draw a box around.
        box = graphviz.Digraph(f"{path}_{number}")
        tooltip = _tooltip(list(inner.all()))
        box.attr(label=label, tooltip=tooltip, style="filled,rounded", fillcolor=f"{color}80", color=SOFT, **FONT)
        boxes |= _whole(box, inner, f"{path}_{number}")
        digraph.subgraph(box)
    return boxes


def _draw_collapsed(digraph: graphviz.Digraph, kernels: _Kernel) -> dict[str, str]:
    """Draw each outermost kernel as one box; by value, its box."""
    boxes = _whole(digraph, _Kernel("", kernels.nodes))
    for number, kernel in enumerate(kernels.inner.values()):
        inside = list(kernel.all())
        color, kind = _kind_of_kernel(kernel)
        often = Counter(text(value, "op") for value in inside).most_common(3)
        list_text = ", ".join(f"{count} {op}" for op, count in often)
        label = f"{kernel.name} ({kind})\n{len(inside)} value{'' if len(inside) == 1 else 's'}: {list_text}"
        key = _box(digraph, f"k{number}", label, color, inside)
        boxes |= {value["id"]: key for value in inside}
    return boxes


def _box(digraph: graphviz.Digraph, key: str, label: str, color: str, nodes: Sequence[Json]) -> str:
    is_matched = all(part(node, "matched") is not False for node in nodes)
    marks = {} if is_matched else {"color": UNMATCHED, "penwidth": "2", "style": "filled,rounded,dashed"}
    fill = color if is_matched else PAPER
    digraph.node(key, literally(label), fillcolor=fill, tooltip=_tooltip(nodes), **marks)
    return key


def literally(raw: str) -> str:
    """Text that means nothing to Graphviz: it would read backslashes, angle brackets and HTML's entities."""
    return graphviz.escape(raw.replace("&", "&amp;"))


def _label(node: Json) -> str:
    literal = text(node, "literal") if text(node, "op") == "constant" else ""
    name = text(node, "name") if text(node, "op") == "parameter" else literal
    return "\n".join(filter(None, (text(node, "op"), name[:40], text(node, "shape"))))


def _tooltip(nodes: Sequence[Json]) -> str:
    """The name and source of one value, or the sources in a kernel."""
    titles = [f"{text(node, 'name')} {text(node, 'source')}".strip() for node in nodes]
    texts = titles if len(nodes) == 1 else [text(node, "source") for node in nodes]
    lines = [line for line in dict.fromkeys(texts) if line]
    return literally("\n".join(lines[:_SOURCES])) or " "


def _edges(digraph: graphviz.Digraph, nodes: Sequence[Json], boxes: Mapping[str, str]) -> None:
    shapes = {node["id"]: text(node, "shape") for node in nodes}
    edges = {
        (boxes[operand], boxes[node["id"]]): shapes[operand]
        for node in nodes
        for operand in entries(node, "operands")
        if boxes[operand] != boxes[node["id"]]
    }
    for (start, end), shape in edges.items():
        digraph.edge(start, end, label=literally(shape))
    for node in nodes:
        end = boxes.get(text(node, "returned_to"), boxes[node["id"]])
        if end != boxes[node["id"]]:
            digraph.edge(boxes[node["id"]], end, style="dashed", constraint="false")


def _results(digraph: graphviz.Digraph, results: Sequence[str], boxes: Mapping[str, str]) -> None:
    for number, key in enumerate(results):
        digraph.node(f"r{number}", f"result {number}", shape="plaintext", style="", tooltip=" ")
        digraph.edge(boxes[key], f"r{number}")


def _legend(module: Json) -> str:
    """The module's name, and the kinds of operation in it in their colours."""
    nodes = entries(module, "nodes")
    kinds = {kind: color for color, kind in map(kind_of, nodes)}
    cells = "".join(f'<td bgcolor="{color}">{kind}</td>' for kind, color in kinds.items())
    if any(part(node, "matched") is False for node in nodes):
        cells += f'<td color="{UNMATCHED}" style="dashed">without a partner</td>'
    title = f'<tr><td border="0" colspan="{len(kinds) + 1}"><b>{escape(text(module, "name")) or "module"}</b></td></tr>'
    return f'<<table border="0" cellborder="1" cellspacing="4" color="{SOFT}">{title}<tr>{cells}</tr></table>>'
