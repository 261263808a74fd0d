"""Parts of a body that no input changes: where they cannot be written, TensorFlow's result stands for all of them."""

from __future__ import annotations

from dataclasses import replace

from compare.porting.functions.written_types import CONTROL, LISTS, RULES, SAME, SIZES, TEMPLATES
from workloads.protocol.function_graph import Body

_WRITTEN = frozenset({*RULES, *TEMPLATES, *SAME, *SIZES, *LISTS, "Const"})


def without_constant_parts(body: Body) -> Body:
    """The body in which a constant part that has no rule takes nothing: its results are known.

    What has a rule stays an expression, as long as nothing without a rule leads to it: arange(8) says more than its
    eight numbers. A loop, a branch or a call of constants becomes what it gives.
    """
    cut = set[int]()
    for index, node in enumerate(body.nodes):
        # TensorFlow gives no results of a branch itself, only what stands for them behind it.
        is_after_cut = any(place[0] in cut or body.nodes[place[0]].type in CONTROL for place in node.inputs)
        if node.known and (is_after_cut or node.type not in _WRITTEN or node.type in CONTROL):
            cut.add(index)
    if not cut:
        return body
    nodes = (replace(node, inputs=()) if index in cut else node for index, node in enumerate(body.nodes))
    return replace(body, nodes=tuple(nodes))
