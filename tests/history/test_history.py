"""A history: runs kept without loss, found again, and refused where they are unlike."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from history_records import change_of, changed, compare_all, decoded, record, stated
from places import ROOT

from compare.history import likeness, moves, store
from compare.record.results_file import RecordError, load_plain

# The folder


def test_runs_are_numbered_in_the_order_in_which_they_were_saved(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    paths = [store.save(record(stated(0.6), minute), folder) for minute in (5, 3)]
    assert [path.name for path in paths] == ["0001-20261120T100500Z.json", "0002-20261120T100300Z.json"]
    assert [(run.number, run.saved, run.path) for run in store.runs(folder)] == [
        (1, "20261120T100500Z", paths[0]),
        (2, "20261120T100300Z", paths[1]),
    ]
    assert load_plain(paths[1])["created"] == "2026-11-20T10:03:00+00:00"
    assert sorted(path.name for path in folder.iterdir()) == [path.name for path in paths]


def test_a_saved_run_keeps_the_fields_that_this_version_does_not_know(tmp_path: Path) -> None:
    run = record(stated(0.6)) | {"weather": {"sun": True}}
    run["workloads"]["add"]["timing"]["moon"] = [1, None]
    path = store.save(run, tmp_path)
    assert json.loads(path.read_text()) == run
    assert store.load(path).workloads["add"].timing == decoded(record(stated(0.6))).workloads["add"].timing


def test_threads_that_save_at_once_overwrite_nothing(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda minute: store.save(record(stated(0.6), minute % 2), tmp_path), range(24)))
    assert len(set(paths)) == 24
    assert [run.number for run in store.runs(tmp_path)] == list(range(1, 25))


@pytest.mark.process
def test_processes_that_save_at_once_overwrite_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, json, pathlib; from compare.history import store\n"
        "for _ in range(10): store.save(json.loads(sys.argv[2]), pathlib.Path(sys.argv[1]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path), json.dumps(record({}))]
    started = [subprocess.Popen(command, cwd=ROOT) for _ in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert [run.number for run in store.runs(tmp_path)] == list(range(1, 31))


def test_a_number_that_another_process_holds_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / ".0001.claim").touch()
    assert store.save(record(stated(0.6)), tmp_path).name.startswith("0002-")


def test_a_number_taken_between_listing_and_claiming_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store.save(record(stated(0.6)), tmp_path)
    listed, stale = store._list_runs, [[]]
    monkeypatch.setattr(store, "_list_runs", lambda folder: stale.pop() if stale else listed(folder))
    second = store.save(record(stated(0.7)), tmp_path)
    assert (first.name[:4], second.name[:4]) == ("0001", "0002")


def test_a_run_that_cannot_be_written_leaves_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, value: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(store, "write_json", full)
    with pytest.raises(OSError, match="no space left"):
        store.save(record(stated(0.6)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_files_in_the_folder_are_no_runs(tmp_path: Path) -> None:
    for name in ("notes.json", "0001.json", "0001-20261120T100000Z.json.part", "README.md"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(RecordError, match="found none: save one with `jaxport bench --save`"):
        store.runs(tmp_path)


def test_a_record_without_its_time_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="expected a UTC time in `created`, found 'yesterday'"):
        store.save(changed("created", "yesterday"), tmp_path)


@pytest.mark.parametrize(("reference", "number"), [("last", 3), ("last~0", 3), ("last~2", 1), ("2", 2), ("0002", 2)])
def test_a_run_is_found_by_number_or_from_the_end(tmp_path: Path, reference: str, number: int) -> None:
    paths = [store.save(record(stated(0.6), minute), tmp_path) for minute in range(3)]
    assert store.find(reference, tmp_path) == paths[number - 1]


def test_a_path_names_a_record_or_the_folder_of_a_run(tmp_path: Path) -> None:
    assert store.find(str(tmp_path), Path("unused")) == tmp_path / "results.json"
    assert store.find("elsewhere.json", Path("unused")) == Path("elsewhere.json")


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("last~3", "expected last~3 among the saved runs in .*, found 3 runs: name a later one"),
        ("7", "expected run 7 in .*, found 3 runs, 1 to 3: choose one of them"),
    ],
)
def test_a_run_that_is_not_there_is_named_with_what_is(tmp_path: Path, reference: str, said: str) -> None:
    for minute in range(3):
        store.save(record(stated(0.6), minute), tmp_path)
    with pytest.raises(RecordError, match=said):
        store.find(reference, tmp_path)


# Which runs may be compared

HOST = [f"environment/{key}" for key in likeness.HOST]
TF = [f"environment/sides/tf/{key}" for key in ("tensorflow", "keras", "numpy", "python", "device", "threads")]
JAX = [f"environment/sides/jax/{key}" for key in ("jax", "jaxlib", "flax", "optax", "numpy", "recorded")]
OF_WORKLOAD = [f"workloads/add/{key}" for key in ("size", "dtype", "sha256", "timing/threads/asked")]
DEEP = ["workloads/add/timing/threads/sides/tf/processors", "workloads/add/peers/tf2jax/version"]
OF_NUMBERS: dict[str, Any] = {"cores": 64, "asked": 7, "processors": [5]}


@pytest.mark.parametrize("path", [*HOST, *TF, *JAX, *OF_WORKLOAD, *DEEP])
def test_whatever_a_ratio_depends_on_refuses_the_comparison_and_is_named(path: str) -> None:
    before = record(stated(0.6))
    old = before
    for key in path.split("/"):
        old = old[key]
    value = OF_NUMBERS.get(path.rpartition("/")[2], "unlike")
    with pytest.raises(RecordError) as refused:
        compare_all([before, changed(path, value)])
    shown = "not recorded" if old is None else str(old)
    assert path.rpartition("/")[2] in str(refused.value)
    assert f"{shown}, then {value}" in str(refused.value)


def test_a_refusal_names_every_key_with_both_values_in_one_line() -> None:
    after = changed("environment/cpu", "Intel\nXeon")
    after = changed("environment/sides/jax/jaxlib", "0.10.3", of=after)
    after = changed("environment/sides/tf/keras", None, of=after)
    after = changed("workloads/add/dimensions", {"side": 200}, of=after)
    after = changed("workloads/add/sha256", "cd", of=after)
    after = changed("workloads/add/timing/threads/asked", 1, of=after)
    with pytest.raises(RecordError) as refused:
        compare_all([record(stated(0.6)), after])
    assert str(refused.value) == (
        "expected runs of one machine with the same versions, threads, sizes and passes, found cpu: AMD EPYC, "
        "then Intel Xeon; "
        "tf.keras: 3.15.1, then not recorded; jax.jaxlib: 0.10.2, then 0.10.3; "
        "dimensions of add: side=100, then side=200; sha256 of add: ab, then cd; threads.asked of add: 2, then 1: "
        "run both again alike"
    )


def test_runs_of_different_passes_are_refused_and_an_older_one_is_of_the_pass_that_it_always_was() -> None:
    step, forward = (changed("workloads/add/main_pass", pass_) for pass_ in ("step", "forward"))
    with pytest.raises(RecordError, match=r"passes, found main_pass of add: step, then forward: run both again alike"):
        compare_all([step, forward])
    older = record(stated(0.6))
    assert compare_all([older, forward])
    trained = changed("workloads/add/trajectory", {"tf/jit": {"loss": [1.0]}})
    assert compare_all([trained, step])
    with pytest.raises(RecordError, match="main_pass of add: step, then forward"):
        compare_all([trained, forward])


def test_workloads_that_differ_alike_are_named_together() -> None:
    before = record(stated(0.6))
    before["workloads"]["lstm"] = copy.deepcopy(before["workloads"]["add"])
    after = copy.deepcopy(before)
    for workload in after["workloads"].values():
        workload["size"] = "smoke"
    assert [each.line for each in likeness.differences(decoded(before), decoded(after))] == [
        "size of add, lstm: default, then smoke"
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("environment/jaxport", "0.2.0"),
        ("created", "2027-01-01T00:00:00+00:00"),
        ("workloads/add/summary", "words"),
        ("workloads/add/timing/threads/sides/tf/parallelism", 1.7),
    ],
)
def test_what_a_history_is_kept_to_see_is_no_reason_to_refuse(path: str, value: Any) -> None:
    assert change_of(record(stated(0.6)), changed(path, value)).verdict == moves.UNCHANGED


def test_runs_without_a_workload_in_common_are_refused() -> None:
    after = record(stated(0.6))
    after["workloads"] = {"lstm": after["workloads"]["add"]}
    with pytest.raises(RecordError, match="expected runs with a workload in common, found add and then lstm"):
        compare_all([record(stated(0.6)), after])
