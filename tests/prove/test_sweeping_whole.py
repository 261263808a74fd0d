"""A sweep of whole programs: what broke stays broken, whatever becomes of the next input."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from compare.hlo.bindings import UnreadableProgram
from compare.hlo.pair import Pair
from compare.parity.breaks import Reached
from compare.progress import Silent
from compare.prove import sweeping
from compare.record.vocabulary import FAIL
from workloads import ArraySpec

BROKEN = Reached("x", "forward", FAIL, ())


class Pass:
    """Breaks in one input; the next cannot be run."""

    findings = ()

    def __init__(self, *_: Any) -> None:
        pass

    def reach(self, _: Any) -> Iterator[Reached]:
        yield BROKEN
        raise UnreadableProgram("XLA refuses the arguments")


def test_an_input_that_breaks_fails_though_the_next_cannot_be_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "sweep_regions", lambda *_: None)
    monkeypatch.setattr(sweeping, "_Pass", Pass)
    loading = SimpleNamespace(dimensions={})
    instance = SimpleNamespace(inputs={"x": ArraySpec((3,)), "y": ArraySpec((3,))}, loading=loading)
    sides: Any = SimpleNamespace(
        instance=instance,
        pool=None,
        deliveries={},
        reporter=Silent(),
        programs=lambda _: Pair(None, None),
        doubles=SimpleNamespace(programs={("tf", pass_): object() for pass_ in ("forward", "gradients")}),
    )
    swept = sweeping.sweep(sides, {})
    assert swept.reached == (BROKEN, BROKEN)
    assert "not swept" in swept.reason
