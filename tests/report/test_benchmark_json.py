"""A record through pytest-benchmark's JSON and back: nothing is lost but long texts, and medians are those measured."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
from pages import decoded
from places import DATA
from rich.console import Console

from compare.plain_json import write_json
from compare.record.envelope import SCHEMA
from compare.record.results_file import RecordError, load_plain
from compare.report import benchmark_json
from compare.report.console import print_overview
from compare.report.html import render
from workloads.core.modes import TF_GRAPH

FULL = load_plain(DATA / "record_full.json")
SMALL = load_plain(DATA / "record_small.json")
NAME = "running_example"
MODES = tuple(SMALL["workloads"][NAME]["timing"]["modes"])


def benchmark(mode: str, seconds: float, size: str = "default") -> dict[str, Any]:
    """As pytest-benchmark writes one."""
    workload = SMALL["workloads"][NAME] | {"size": size}
    extra = json.loads(json.dumps(benchmark_json.extra_info(NAME, workload, mode)))
    return {"name": f"test[{mode}]", "stats": {"median": seconds}, "extra_info": extra}


def written(*benchmarks: dict[str, Any], machine: dict[str, Any] | None = None) -> dict[str, Any]:
    told = {"jaxport": SMALL["environment"]} if machine is None else machine
    return {"machine_info": told, "benchmarks": list(benchmarks), "datetime": "2026-01-01T00:00:00+00:00"}


def of_benchmarks(plain: dict[str, Any]) -> dict[str, Any]:
    return benchmark_json.record_of(plain, Path("benchmark.json"))


def overview(record: dict[str, Any]) -> str:
    out = io.StringIO()
    print_overview(decoded(record), Console(file=out, width=300))
    return out.getvalue()


def test_benchmarked_modes_have_the_medians_that_were_measured() -> None:
    seconds = {mode: 0.001 * (place + 1) for place, mode in enumerate(MODES)}
    found = of_benchmarks(written(*(benchmark(mode, each) for mode, each in seconds.items())))
    timed = found["workloads"][NAME]["timing"]["modes"]
    assert {mode: each["median_s"] for mode, each in timed.items()} == seconds
    assert timed["tf/jit"]["compile_s"] == 0.061


def test_one_benchmark_brings_all_of_its_workload() -> None:
    expected, found = SMALL["workloads"][NAME], of_benchmarks(written(benchmark("jax/jit", 0.5)))
    part = found["workloads"][NAME]
    assert part["timing"]["modes"].pop("jax/jit")["median_s"] == 0.5
    assert part["timing"]["modes"] == {mode: expected["timing"]["modes"][mode] for mode in MODES if mode != "jax/jit"}
    for key in ("ratios", "null", "cells"):
        assert part["timing"][key] == expected["timing"][key]
    assert part["parity"]["verdict"] == "pass" and set(part["parity"]["gates"]) == set(expected["parity"]["gates"])
    assert part["profile"]["tf/eager"]["kernels"] == expected["profile"]["tf/eager"]["kernels"]
    assert part["attribution"] == expected["attribution"]
    assert found["environment"] == SMALL["environment"]
    assert (found["schema"], found["created"], found["size"]) == (SCHEMA, "2026-01-01T00:00:00+00:00", "default")


@pytest.mark.parametrize("name", FULL["workloads"])
def test_long_texts_stay_in_the_run_s_own_record(name: str) -> None:
    kept = json.dumps(benchmark_json.extra_info(name, FULL["workloads"][name], "jax/jit"))
    for key in ("comparisons", "stages", "text", "kernel_names"):
        assert f'"{key}"' not in kept


def test_reading_changes_nothing_that_was_written() -> None:
    given = written(benchmark("jax/jit", 0.5))
    before = copy.deepcopy(given)
    of_benchmarks(given)
    assert given == before


def test_one_workload_at_two_sizes_stands_twice() -> None:
    found = of_benchmarks(written(benchmark("jax/jit", 1.0, "smoke"), benchmark("jax/jit", 2.0)))
    medians = {name: part["timing"]["modes"]["jax/jit"]["median_s"] for name, part in found["workloads"].items()}
    assert medians == {f"{NAME} at smoke": 1.0, f"{NAME} at default": 2.0}


def test_one_workload_timed_on_two_passes_stands_twice() -> None:
    step, forward = benchmark("jax/jit", 1.0), benchmark("jax/jit", 2.0)
    for each, main_pass in ((step, "step"), (forward, "forward")):
        each["extra_info"]["jaxport"]["part"] |= {"main_pass": main_pass, "passes": ["forward", "gradients", "step"]}
    found = of_benchmarks(written(step, forward))["workloads"]
    medians = {name: part["timing"]["modes"]["jax/jit"]["median_s"] for name, part in found.items()}
    assert medians == {f"{NAME} at default": 1.0, f"{NAME} at default, forward pass": 2.0}


def test_two_ports_of_one_name_are_not_taken_for_one() -> None:
    """Two files with a function `forward` each: the slower one's median must not stand beside the other's parity."""
    other = benchmark("jax/jit", 2.0)
    other["extra_info"]["jaxport"]["part"]["programs"]["jax"]["sha256"] = "0123456789abcdef"
    found = of_benchmarks(written(benchmark("jax/jit", 1.0), other))["workloads"]
    medians = {name: part["timing"]["modes"]["jax/jit"]["median_s"] for name, part in found.items()}
    own = SMALL["workloads"][NAME]["programs"]["jax"]["sha256"][:8]
    assert medians == {f"{NAME} at default, program {own}": 1.0, f"{NAME} at default, program 01234567": 2.0}


def test_console_and_page_show_it_with_what_is_missing_as_missing() -> None:
    found = of_benchmarks(written(benchmark("jax/jit", 0.5), machine={"python_version": "3.12.1"}))
    row = overview(found).splitlines()[-1]
    assert "0.405x [0.384, 0.428] faster (tf/jit)" in row
    page = render(decoded(found))
    assert "3.12.1" in page and "500 ms" in page


@pytest.mark.parametrize(
    ("mode", "ratio_of"),
    [
        ("jax/jit", "jax/jit vs tf/jit"),
        ("tf/graph", "jax/jit vs tf/graph"),
        ("jax/eager", "jax/jit vs jax/eager"),
        ("jax/donated", ""),
    ],
)
def test_each_mode_names_the_ratio_that_it_is_told_by(mode: str, ratio_of: str) -> None:
    found = benchmark_json.extra_info(NAME, SMALL["workloads"][NAME], mode)
    assert found["ratio_of"] == ratio_of
    assert found["ratio"] == SMALL["workloads"][NAME]["timing"]["ratios"].get(ratio_of, {"ratio": None})["ratio"]


def test_a_baseline_is_what_every_mode_is_held_against() -> None:
    timed = SMALL["workloads"][NAME]
    held = timed | {
        "timing": timed["timing"] | {"ratios": {"tf/jit vs tf/graph": timed["timing"]["ratios"]["jax/jit vs tf/jit"]}}
    }
    found = benchmark_json.extra_info(NAME, held, "tf/jit", TF_GRAPH)
    assert (found["ratio_of"], found["ratio"]) == ("tf/jit vs tf/graph", 0.405)
    assert benchmark_json.extra_info(NAME, held, "tf/autocluster", TF_GRAPH)["ratio_of"] == ""


def test_a_ratio_that_is_withheld_says_why() -> None:
    found = benchmark_json.extra_info("mnist_mlp", SMALL["workloads"]["mnist_mlp"], "jax/jit")
    assert (found["ratio"], found["ci95"]) == (None, None)
    assert found["withheld"].startswith("identical code against itself did not come out equal")


def test_what_was_not_timed_has_no_times() -> None:
    untimed = SMALL["workloads"][NAME] | {"timing": None}
    found = benchmark_json.extra_info(NAME, untimed, "jax/jit")
    assert (found["kernels"], found["compile_s"], found["ratio_of"], found["ratio"]) == (1, None, "", None)


NEWER = benchmark("jax/jit", 1.0)
NEWER["extra_info"]["jaxport"]["schema"] = SCHEMA + 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            written({"name": "test_other", "stats": {}, "extra_info": {}}),
            "expected benchmarks of ports, found 1 of other",
        ),
        (written(), "expected benchmarks of ports, found 0 of other"),
        (written(NEWER), f"expected benchmarks of schema {SCHEMA} or older, found {SCHEMA + 1}: upgrade jaxport"),
        ({"results": []}, "expected a results.json at .*other.json, found object missing required field `schema`"),
        ([], "expected a results.json at .*other.json, found `array` where `object` is expected"),
    ],
    ids=["of other tests", "none", "newer", "other JSON", "a list"],
)
def test_other_json_is_refused_in_one_line(tmp_path: Path, given: object, message: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(given))
    with pytest.raises(RecordError, match=message) as caught:
        benchmark_json.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [("{", "found invalid JSON"), (None, "expected a results.json at")])
def test_a_broken_or_missing_file_is_refused_as_a_record_is(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "file.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RecordError, match=message):
        benchmark_json.load(path)


def test_a_results_json_is_read_as_it_is(tmp_path: Path) -> None:
    write_json(tmp_path / "results.json", SMALL)
    assert benchmark_json.load(tmp_path / "results.json") == SMALL
