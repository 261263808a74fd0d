"""The experiments of Grappler's passes: made only where the same switches give the same graph again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from graph_pairs import AFTER, BEFORE, Nodes

from compare.grappler import switches
from compare.grappler.aligning import align_nodes
from compare.prove import optimizing
from compare.record.grappler_part import Optimization, OptimizedNode
from compare.sides.workers import WorkerSet

FOUND = Optimization(before=BEFORE, after=AFTER, rewrites=align_nodes(BEFORE, AFTER))


def ascribed(monkeypatch: pytest.MonkeyPatch, again: Nodes, found: Optimization = FOUND) -> tuple[Optimization, int]:
    """What is found where the optimizer gives this graph with its own switches once more, and how often it ran."""
    asked: list[Mapping[str, object]] = []

    def tried(_: object, what: str, options: Mapping[str, object]) -> dict[str, OptimizedNode]:
        asked.append(options)
        return {node.name: node for node in (again if what == "a second run" else BEFORE)}

    monkeypatch.setattr(optimizing._Examination, "_try", tried)
    with WorkerSet(lambda name: pytest.fail(f"{name} was started")) as workers:
        return optimizing._Examination(workers, "forward", "case").with_causes(found), len(asked)


def test_no_pass_is_switched_off_where_the_same_switches_give_another_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    found, runs = ascribed(monkeypatch, again=BEFORE)
    assert found.same_again is False and found.passes == () and runs == 1


def test_every_pass_is_switched_off_where_they_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    found, runs = ascribed(monkeypatch, again=AFTER)
    assert found.same_again and found.passes == switches.PASSES and runs > len(switches.PASSES)
    unchanged, runs = ascribed(monkeypatch, BEFORE, Optimization(before=BEFORE, after=BEFORE))
    assert unchanged.passes == () and runs == 1
