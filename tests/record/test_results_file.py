"""Records written and read again: nothing changes, and what another version added stays where JSON is passed on."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from places import DATA

from compare.cli import main
from compare.history import store
from compare.plain_json import to_json
from compare.record.results_file import load, load_plain, save
from compare.record.workload_part import Workload

WRITTEN = (DATA / "record_full.json", DATA / "record_measured.json")
OLD = DATA / "record_small.json"


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_record_equals_itself_after_writing_and_reading(path: Path, tmp_path: Path) -> None:
    record = load(path)
    save(record, tmp_path / "results.json")
    assert load(tmp_path / "results.json") == record


def test_a_record_with_holes_is_written_as_it_is_read(tmp_path: Path) -> None:
    written = to_json(load(OLD))
    gates = written["workloads"]["mnist_mlp"]["parity"]["gates"].values()
    assert "nan" in [compared["error"] for gate in gates for compared in gate["comparisons"]]
    save(load(OLD), tmp_path / "results.json")
    assert load_plain(tmp_path / "results.json") == to_json(load(tmp_path / "results.json")) == written


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_a_golden_record_has_the_fields_that_a_run_writes(path: Path) -> None:
    """All of them and no other: a field that is added, or that one writes by hand, shows here."""
    assert to_json(load(path)) == load_plain(path), "run `make goldens`"


def test_the_measured_golden_record_holds_every_part() -> None:
    (part,) = load(DATA / "record_measured.json").workloads.values()
    missing = {name for name in Workload.__struct_fields__ if not getattr(part, name)}
    of_explain, of_clusters = {"clustering", "recompilation"}, {"node", "lost_on"}
    assert missing == {"compiler_options", "failures", "unrolled", *of_explain, *of_clusters}


def with_more(path: Path) -> dict[str, Any]:
    """The JSON of a record, with fields of another version."""
    plain = copy.deepcopy(load_plain(path)) | {"added_later": [1]}
    plain["workloads"]["mnist_mlp"]["timing"]["added_later"] = {"x": "inf"}
    return plain


def test_fields_of_another_version_are_kept_where_json_is_passed_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = with_more(DATA / "record_full.json")
    (tmp_path / "results.json").write_text(json.dumps(more))
    saved = store.save(load_plain(tmp_path / "results.json"), tmp_path / "history")
    assert load_plain(saved) == more
    assert main(["report", str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == more
