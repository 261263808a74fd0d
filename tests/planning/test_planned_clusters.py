"""The largest model that fits a device, and tables of rows without figures."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compare.devices.cluster import cluster
from compare.errors import RequestError
from compare.planning import planned_clusters, sized_steps
from compare.planning.mesh_layouts import Layout
from compare.planning.planned_clusters import Asked, check_hosts, plan_cluster
from compare.planning.sized_steps import SizedSteps
from compare.progress import Silent
from compare.record.base import require
from compare.record.plan_part import Planned, PlannedCluster, PlannedLayout, PlannedStep
from compare.report import markdown
from compare.report.page_console import print_page
from compare.report.plan_page import page
from compare.report.terminal import PlainConsole
from compare.sides._side import SideError
from workloads.core import registry

GIB = 1 << 30
T4 = cluster("T4:1x2")


class Steps:
    """Of a model whose step is its number of layers."""

    size = "base"

    def __init__(self, most: int) -> None:
        self._most = most

    def step_for(self, platform: str, batch: int, layers: int | None = None) -> int:
        return layers or 12

    def layers(self) -> int:
        return 12

    def most_layers(self) -> int:
        return self._most

    def parameters(self, layers: int | None = None) -> int:
        return 1000 * (layers or 12)


def row(monkeypatch: pytest.MonkeyPatch, peak: Callable[[int], float], most: int = 500) -> PlannedLayout:
    """The one row of a plan in which so many layers take so many bytes."""

    def compiled(cluster: Any, name: str, step: int, worker: Any) -> Any:
        figures = dict.fromkeys(
            ("inside_bytes", "between_bytes", "argument_bytes", "temp_bytes", "flops", "bytes", "compile_s"), 1.0
        )
        found = Layout("data", {"data": 2})
        return planned_clusters._Compiled(found, {**figures, "peak_bytes": peak(step)}, frozenset(), ())

    monkeypatch.setattr(planned_clusters, "_compile", compiled)
    monkeypatch.setattr(planned_clusters, "missing", lambda worker, device: "")
    steps: Any = Steps(most)
    (found,) = plan_cluster(T4, steps, Asked(("data",), deepening=True), None, Silent()).layouts  # pyright: ignore
    return found


def test_the_most_layers_that_fit_are_found_whatever_memory_does_between(monkeypatch: pytest.MonkeyPatch) -> None:
    assert T4.device.memory_bytes is not None
    fits = T4.device.memory_bytes // (GIB // 8)
    found = row(monkeypatch, lambda layers: layers * GIB / 8)
    assert found.largest_layers is not None and found.too_large_layers is not None
    assert found.largest_layers <= fits < found.too_large_layers
    assert found.too_large_layers - found.largest_layers <= max(1, found.largest_layers // 32)
    assert found.largest_parameters == 1000 * found.largest_layers
    jumps = row(monkeypatch, lambda layers: (1 if layers < 77 else 100) * GIB)
    assert jumps.largest_layers is not None and 74 <= jumps.largest_layers < 77


def test_what_the_compiler_refuses_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def peak(layers: int) -> float:
        if layers > 40:
            raise SideError("devices", "compile_for", "RESOURCE_EXHAUSTED: out of memory")
        return GIB

    found = row(monkeypatch, peak)
    assert found.largest_layers is not None and 39 <= found.largest_layers <= 40


def test_a_model_that_this_machine_cannot_hold_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = row(monkeypatch, lambda layers: GIB, most=30)
    assert (found.largest_layers, found.too_large_layers) == (30, None)
    assert "30 layers or more, 30,000 parameters" in markdown.render(page(record(found)))


def test_a_batch_that_this_machine_cannot_draw_is_told_by_the_line() -> None:
    def shown(**found: int) -> str:
        layout = PlannedLayout("data", axes={"data": 2}, batch=64, peak_bytes=1.0, **found)  # pyright: ignore
        return markdown.render(page(record(layout)))

    assert "| 420 or more, about 5,100 by the line |" in shown(largest_batch=420, expected_batch=5100)
    assert "| 420 |" in shown(largest_batch=420, too_large_batch=430)


@pytest.mark.process
def test_no_more_examples_are_drawn_than_fit_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sized_steps, "MOST_INPUT_BYTES", 1000)
    steps = SizedSteps(None, registry.get("mnist_mlp"), "smoke", None, tmp_path)  # pyright: ignore
    with steps._draw(1, None) as one:
        of_one = sum(math.prod(spec.shape) * np.dtype(spec.dtype).itemsize for spec in one.inputs.values())
    assert steps.most_examples() == 1000 // of_one > 1


def record(*layouts: PlannedLayout) -> Planned:
    return Planned(1, steps=(PlannedStep("bert", "base", clusters=(PlannedCluster("T4:1x2", layouts=layouts),)),))


@pytest.mark.parametrize(("size", "layers"), [("base", 72), ("large", 39), ("smoke", sized_steps.MOST_LAYERS)])
def test_so_many_layers_are_tried_as_this_machine_can_draw(size: str, layers: int, tmp_path: Path) -> None:
    pool: Any = None
    steps = SizedSteps(pool, registry.get("bert"), size, None, tmp_path)
    assert steps.most_layers() == layers
    if layers < sized_steps.MOST_LAYERS:
        fits, more = (require(steps.parameters(count)) * sized_steps.WIDTH for count in (layers, layers + 1))
        assert fits <= sized_steps.MOST_WEIGHT_BYTES < more


def test_devices_that_are_not_numbered_host_by_host_are_refused() -> None:
    gpus = cluster("H100:2x2")
    check_hosts(gpus, (0, 0, 1, 1))
    with pytest.raises(RequestError, match=r"H100:2x2 numbered host by host, found hosts \[0, 1"):
        check_hosts(gpus, (0, 1, 0, 1))
    # Which hosts the chips of a slice are in changes nothing: it is one network.
    check_hosts(cluster("v5e:2x4"), (0, 0, 0, 0, 1, 1, 1, 1))


def test_without_a_row_that_has_figures_there_is_no_table() -> None:
    refused = record(PlannedLayout("data", reason="expected a batch that 2 divides, found 3: choose --batch"))
    console = PlainConsole(file=io.StringIO(), width=200)
    print_page(page(refused), console)
    assert isinstance(console.file, io.StringIO)
    shown, written = console.file.getvalue(), markdown.render(page(refused))
    assert "T4:1x2, data: expected a batch" in shown and "T4:1x2, data: expected a batch" in written
    assert "largest bound" not in shown and "largest bound" not in written
    there = record(PlannedLayout("data", axes={"data": 2}, peak_bytes=1.0, batch=64, bound_by="memory"))
    assert "largest bound" in markdown.render(page(there))
