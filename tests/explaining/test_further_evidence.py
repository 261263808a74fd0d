"""What explains a record and no run asks for: clusters, and calls at two sizes, each only where it means something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import clusterings
import pytest
from places import DATA

from compare.explaining import further_evidence
from compare.explaining.further_evidence import gather, share
from compare.inputs import functions
from compare.inputs.request import Request
from compare.progress import Silent
from compare.recompilation import keeping
from compare.record.clustering_part import Clustering, TimeSplit
from compare.record.envelope import Record
from compare.record.ledger_part import RecompilationLedger
from compare.record.parity_part import AtSize, Parity
from compare.record.results_file import load
from compare.record.timing_part import Timing
from compare.record.workload_part import Workload
from compare.run.record_parts import INTERRUPTED
from compare.sides._side import SIDES, SideError
from compare.sides.pool import Source
from workloads.core import registry
from workloads.core.device import Device

TIMED = Workload(timing=Timing(), parity=Parity(sizes=(
    AtSize({"B": 1}, "pass"), AtSize({"B": 6}, "pass"), AtSize({"B": 7}, "fail"), AtSize({"B": 200}, "pass"),
)))  # fmt: skip


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[keeping.Asked]:
    """The streams that were asked for; clusters are those of a recorded log."""
    found: list[keeping.Asked] = []

    def keep(asked: keeping.Asked, *_: Any) -> RecompilationLedger:
        found.append(asked)
        return RecompilationLedger(asked.name)

    monkeypatch.setattr(further_evidence, "examine", lambda *_: Clustering(graph=clusterings.recorded()))
    monkeypatch.setattr(keeping, "keep", keep)
    return found


def of_functions(folder: Path, *inputs: str) -> Request:
    file = folder / "f.py"
    file.write_text("")
    return Request([functions.from_functions(f"{file}:f", f"{file}:g", inputs)])


def test_a_share_keeps_what_stayed_outside_and_the_longest_nodes() -> None:
    time = TimeSplit(calls=5, compiled_s=1.0, outside_s=2.0, overhead_s=0.5, nodes={str(n): 1.0 for n in range(30)})
    found = share(Clustering(of_pass="forward", graph=clusterings.recorded(), time=time, minimum=4))
    assert (found.of_pass, found.clusters) == ("forward", 2)
    assert (
        found.nodes
        and found.clustered
        and found.nodes - found.clustered == sum(each.count or 0 for each in found.outside)
    )
    assert ("/home/me/model.py:8",) in [each.sources for each in found.outside]
    assert found.time and len(found.time.nodes) == further_evidence.LONGEST and found.time.outside_s == 2.0


def test_a_function_that_the_log_does_not_name_has_a_reason_and_no_numbers() -> None:
    found = share(Clustering(of_pass="forward"))
    assert found.nodes is None and "no graph" in found.reason


def test_two_sizes_are_called_by_turns_the_other_one_that_parity_holds_at(
    tmp_path: Path, kept: list[keeping.Asked]
) -> None:
    request = of_functions(tmp_path, "x=f32[B,4]", "n=i32[B]:0..3")
    part = gather(Record(schema=1, workloads={"g": TIMED}), request, Silent()).workloads["g"]
    ((asked),) = kept
    own, other = "x=f32[8,4], n=i32[8]:0..3", "x=f32[6,4], n=i32[6]:0..3"
    assert [call.text for call in asked.calls] == [own, other, own, other]
    assert asked.calls[1].arguments["n"].max() < 3 and not asked.with_cures
    assert part.clustering and part.clustering.clusters == 2 and part.recompilation


@pytest.mark.parametrize(
    ("part", "inputs"),
    [
        pytest.param(Workload(timing=Timing()), ["x=f32[B,4]"], id="no other size holds"),
        pytest.param(TIMED, ["x=f32[8,4]"], id="no named dimension"),
    ],
)
def test_nothing_is_called_where_there_is_no_other_size(
    tmp_path: Path, kept: list[keeping.Asked], part: Workload, inputs: list[str]
) -> None:
    sizes = part if "B" in inputs[0] else Workload(timing=Timing())
    found = gather(Record(schema=1, workloads={"g": sizes}), of_functions(tmp_path, *inputs), Silent())
    assert found.workloads["g"].recompilation is None and not kept


def test_a_model_that_is_built_anew_for_each_size_is_not_called_at_two(kept: list[keeping.Asked]) -> None:
    found = gather(Record(schema=1, workloads={"add": TIMED}), Request([registry.get("add")]), Silent())
    assert found.workloads["add"].clustering and not kept


def test_what_was_not_timed_or_ran_elsewhere_is_not_asked(tmp_path: Path, kept: list[keeping.Asked]) -> None:
    untimed = Record(schema=1, workloads={"g": Workload()})
    assert gather(untimed, of_functions(tmp_path, "x=f32[B,4]"), Silent()) == untimed
    on_gpu = Request([registry.get("add")], sources=dict.fromkeys(SIDES, Source(device=Device("gpu"))))
    timed = Record(schema=1, workloads={"add": TIMED})
    assert gather(timed, on_gpu, Silent()) == timed


@pytest.mark.parametrize(
    ("error", "reason"), [(SideError("tf", "profile", "it died"), "it died"), (KeyboardInterrupt(), INTERRUPTED)]
)
def test_clusters_that_cannot_be_had_leave_their_reason_and_the_record(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, reason: str
) -> None:
    def examine(*_: Any) -> Clustering:
        raise error

    monkeypatch.setattr(further_evidence, "examine", examine)
    found = gather(load(DATA / "record_add.json"), Request([registry.get("add")]), Silent())
    part = found.workloads["add"]
    assert part.clustering and reason in part.clustering.reason and part.clustering.nodes is None and part.timing
