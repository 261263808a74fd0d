"""Finds the pass that made each change, from graphs that were optimized without one pass or with one pass alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from compare.grappler.node_states import Graph, is_as
from compare.record.grappler_part import NodeRewrite


def needing(rewrites: Sequence[NodeRewrite], without: Mapping[str, Graph]) -> tuple[NodeRewrite, ...]:
    """The rewrites, each with the passes that it needs: without one of them, the optimizer does not make the change.

    Args:
      without: by pass, the graph that was optimized without it.
    """
    return tuple(
        replace(
            rewrite,
            needs=tuple(
                name for name, graph in without.items() if is_as(graph.get(rewrite.name), rewrite.before, rewrite.kind)
            ),
        )
        for rewrite in rewrites
    )


def made_alone(
    rewrites: Sequence[NodeRewrite], without: Mapping[str, Graph], alone: Mapping[str, Graph], none: Graph | None
) -> tuple[NodeRewrite, ...]:
    """The rewrites that need no single pass, each with the passes that make it without the others.

    Args:
      without: by pass, the graph that was optimized without it.
      alone: by pass, the graph that was optimized with it alone.
      none: the graph that was optimized without any pass: no pass made the changes in it. None if unknown.
    """
    return tuple(
        rewrite if rewrite.needs or none is None else _find_maker(rewrite, without, alone, none) for rewrite in rewrites
    )


def _find_maker(
    rewrite: NodeRewrite, without: Mapping[str, Graph], alone: Mapping[str, Graph], none: Graph
) -> NodeRewrite:
    if _is_made(rewrite, none):
        return replace(rewrite, always=True)
    making = tuple(name for name, graph in alone.items() if _is_made(rewrite, graph))
    if making:
        return replace(rewrite, alone=making)
    return replace(rewrite, differs=tuple(name for name, graph in without.items() if not _is_made(rewrite, graph)))


def _is_made(rewrite: NodeRewrite, graph: Graph) -> bool:
    return is_as(graph.get(rewrite.name), rewrite.after, rewrite.kind)
