"""Which pass made a change: shown by graphs in which one pass was switched off, or was the only one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from compare.grappler.node_states import Graph, is_as
from compare.record.grappler_part import NodeRewrite


def needing(rewrites: Sequence[NodeRewrite], without: Mapping[str, Graph]) -> tuple[NodeRewrite, ...]:
    """The same with the passes that each change needs: it is not there where one of these alone is switched off.

    Args:
      without: by pass, the graph after the optimizer with this pass switched off.
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
    """The same with the passes that make a change by themselves, where no single one is needed.

    Args:
      without: by pass, the graph after the optimizer with this pass switched off.
      alone: by pass, the graph after the optimizer with all others switched off.
      none: the graph with every pass switched off: what is changed there no pass made. None where it is not known.
    """
    return tuple(
        rewrite if rewrite.needs or none is None else _alone(rewrite, without, alone, none) for rewrite in rewrites
    )


def _alone(rewrite: NodeRewrite, without: Mapping[str, Graph], alone: Mapping[str, Graph], none: Graph) -> NodeRewrite:
    if _is_made(rewrite, none):
        return replace(rewrite, always=True)
    making = tuple(name for name, graph in alone.items() if _is_made(rewrite, graph))
    if making:
        return replace(rewrite, alone=making)
    return replace(rewrite, differs=tuple(name for name, graph in without.items() if not _is_made(rewrite, graph)))


def _is_made(rewrite: NodeRewrite, graph: Graph) -> bool:
    return is_as(graph.get(rewrite.name), rewrite.after, rewrite.kind)
