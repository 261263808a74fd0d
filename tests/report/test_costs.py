"""The parts of a record beyond parity and ratios: threads, power, peers, phases, limits and batches."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from typing import Any

import pytest
from pages import Page, decodable, decoded, holes, texts, workload_of
from places import DATA

from compare.record.envelope import SCHEMA, Record
from compare.record.results_file import load_plain
from compare.report import cost_charts, costs, drawing, results_page, rooflines, timing_notes
from compare.report.html import render
from compare.report.numbers import MISSING
from compare.report.page_html import TEMPLATES

RECORD = load_plain(DATA / "record_full.json")
OLD = load_plain(DATA / "record_small.json")


@pytest.fixture
def workload() -> dict[str, Any]:
    """The workload that has every part, to be changed at will."""
    return copy.deepcopy(RECORD["workloads"]["mnist_mlp"])


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts cost most of the time, and the tests of charts draw them."""
    monkeypatch.setattr(drawing, "svg", lambda chart: "<svg></svg>")


# Threads, power, peers


def test_threads_say_what_was_asked_for_and_what_each_side_computed_on(workload: dict[str, Any]) -> None:
    found = timing_notes.threads(workload_of(workload))
    assert found is not None and found.equal
    assert found.sentence == (
        "2 threads requested; TF used 1.9 threads on 2 processors; JAX used 2 threads on 2 processors"
    )


def test_unequal_threads_are_told_with_their_reason(undrawn: None) -> None:
    shown = " ".join(Page(render(decoded(RECORD))).text.split())
    assert "withheld Threads: 2 threads requested; TF used 1.9 threads on 2 processors; JAX used 1 " in shown
    assert "tf computes on 2 threads and jax on 1: expected equal ones." in shown


def test_threads_that_nobody_counted_are_not_guessed() -> None:
    found = timing_notes.threads(
        workload_of({"timing": {"threads": {"asked": None, "sides": {"tf": {"processors": [3]}}}}})
    )
    assert found is not None
    assert found.sentence == (
        "as many threads as the frameworks choose; TF used an unknown number of threads on 1 processor"
    )


def test_where_a_gpu_computed_threads_only_launched() -> None:
    on_gpu = {"asked": 2, "equal": True, "sides": {"jax": {"processors": [0, 1]}}}
    found = timing_notes.threads(workload_of({"timing": {"threads": on_gpu}}))
    assert found is not None and found.sentence == "2 threads requested; JAX launched from 2 processors"


def test_power_is_what_was_planted_and_the_smallest_that_is_called(workload: dict[str, Any]) -> None:
    assert [(row.name, row.ratio, row.verdict) for row in timing_notes.planted_rows(workload_of(workload))][2:] == [
        ("jax/jit +5 %", "1.05x", "inconclusive"),
        ("jax/jit +10 %", "1.10x", "slower"),
    ]
    assert timing_notes.smallest(workload_of(workload)) == (
        ("tf/jit", "none below a factor of 100"),
        ("jax/jit", "7.4 %"),
    )


def test_speed_ups_are_over_the_fewest_threads(workload: dict[str, Any]) -> None:
    workload["by_threads"] = {key: workload["by_threads"][key] for key in ("2", "1")}
    workload["by_threads"]["10"] = {"modes": {"tf/jit": {"median_s": 1e-3}}}
    found = timing_notes.by_threads(workload_of(workload))
    assert found is not None
    assert found.counts == ("1", "2", "10")
    rows = dict(found.rows)
    assert rows["tf/jit"] == (("3.23 ms", "1.00x"), ("1.90 ms", "1.70x"), ("1.00 ms", "3.23x"))
    assert rows["jax/jit"][2] == (MISSING, MISSING)
    assert [row and (row.ratio, row.withheld[:6]) for row in dict(found.ratios)["jax/jit vs tf/graph"]] == [
        (MISSING, "A/A ch"),
        ("0.596x", ""),
        None,
    ]


@pytest.mark.parametrize("by_threads", [None, {}, {"2": {"modes": {}}}])
def test_one_number_of_threads_is_no_table(by_threads: Any) -> None:
    assert timing_notes.by_threads(workload_of({"by_threads": by_threads})) is None


def test_a_peer_says_whether_it_computes_the_same_before_how_fast_it_is(workload: dict[str, Any]) -> None:
    passing, failing, absent = timing_notes.peers(workload_of(workload))
    assert (passing.verdict, passing.reason, passing.median) == ("pass", "", "1.32 ms")
    assert passing.ratio is not None and passing.ratio.verdict == "equivalent"
    assert (failing.verdict, failing.reason) == ("fail", "rounding: leaf loss is 3.1e-05 off, bound 1.9e-06")
    assert (absent.verdict, absent.version, absent.ratio) == ("unavailable", MISSING, None)


# Costs


def test_phases_come_cold_and_then_cached_where_there_is_a_cache(workload: dict[str, Any]) -> None:
    rows = costs.phases(workload_of(workload)).compact()[1]
    assert [(row[0].text, row[1].text, bool(row[6].note)) for row in rows] == [
        ("tf/eager", "cold", False),
        ("tf/jit", "cold", True),
        ("tf/jit", "cached", True),
        ("jax/jit", "cold", False),
        ("jax/jit", "cached", False),
    ]
    seconds = ["9.80 s", "420 ms", MISSING, MISSING, MISSING, "310 ms", "21.0 ms"]
    assert [cell.text for cell in rows[0]][2:9] == seconds


def test_a_mode_that_compiled_nothing_says_so_where_it_has_no_times(undrawn: None) -> None:
    record = copy.deepcopy(RECORD)
    workload = record["workloads"]["mnist_mlp"]
    workload["profile"]["tf/autocluster"]["same_as"] = "tf/graph"
    sentence = "compiled nothing: the same as tf/graph, not timed again."
    kernels, startup = Page(render(decoded(record))).text.split("Startup", 1)
    assert sentence in kernels and f"tf/autocluster {sentence}" not in kernels
    assert startup.count(f"tf/autocluster {sentence}") == 1
    del workload["timing"]["modes"]["tf/autocluster"]
    timed, _ = Page(render(decoded(record))).text.split("Startup", 1)
    assert timed.count(f"tf/autocluster {sentence}") == 1
    assert results_page.page(decoded(record)).count(f"\ntf/autocluster {sentence}\n") == 1


def test_a_derived_compile_time_is_marked(undrawn: None) -> None:
    page = render(decoded(RECORD))
    assert page.count('<span class="note">derived</span>') == 2
    assert "since the framework does not time it" in page


def test_a_mode_without_cache_or_code_says_why(workload: dict[str, Any]) -> None:
    eager, jit, jax = texts(costs.storage(workload_of(workload)))
    assert [reason.partition(":")[0] for reason in eager[-1].split("; ")] == [
        "the process wrote nothing into the cache",
        "XLA wrote no object file",
    ]
    assert (jit[-1], jit[5], jit[7]) == ("", "2.29 MiB", "60.0 KiB")
    assert jax[6] == "977 KiB"


def test_a_batch_fits_below_the_limit_and_not_above(workload: dict[str, Any]) -> None:
    rows = {(row[0], row[1]): row for row in texts(costs.batches(workload_of(workload)))}
    assert rows["jax/jit", "16,384"][3] == "yes"
    assert rows["tf/jit", "16,384"][3] == "no"
    assert (rows["tf/eager", "16,384"][3], rows["tf/eager", "16,384"][-1]) == (
        "no",
        "the worker ended by signal SIGKILL",
    )
    assert dict(costs.largest_batches(workload_of(workload)))["tf/graph"] == "no batch that was tried fits"


def test_a_batch_of_unknown_memory_is_not_said_to_fit_or_not(workload: dict[str, Any], undrawn: None) -> None:
    workload["batches"]["rows"] = [{"mode": "tf/jit", "batch": 32, "steady_s": 0.001}]
    (row,) = texts(costs.batches(workload_of(workload)))
    assert (row[3], row[2]) == (MISSING, MISSING)
    page = render(decoded({"workloads": {"one": workload}}))
    assert f'<td class="number strong">{MISSING}</td><td>{MISSING}</td>' in page


def test_dispatch_is_told_with_and_without_what_users_call(workload: dict[str, Any]) -> None:
    eager, jit, _ = texts(costs.dispatch(decoded(RECORD)))
    assert eager[1:] == ["55.0 µs", MISSING]
    assert jit[1:] == ["401 µs", "205 µs"]


# Limits


def test_the_machine_is_told_by_threads_with_who_measured_it() -> None:
    rows = texts(rooflines.machine(decoded(RECORD)))
    assert [row[:4] for row in rows][3:5] == [
        ["matrix product f32", "tf", "1", "116 GFLOP/s"],
        ["read", "numpy", "2", "19.6 GB/s"],
    ]


def test_the_roofline_says_what_limits_and_how_near_a_mode_comes(workload: dict[str, Any]) -> None:
    found = rooflines.roofline(workload_of(workload))
    assert found is not None
    assert found.sentence == (
        "Lower bound of a call on this machine: about 790 µs, from arithmetic "
        "(threads: 2, 9.16 MiB in use, triad traffic at 19.0 GB/s by jax)"
    )
    assert texts(found.modes)[1:3] == [
        ["tf/graph", "not timed on 2 threads", MISSING],
        ["tf/jit", "", "42 %"],
    ]


# Charts


DRAWINGS = (cost_charts.batches, cost_charts.roofline)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_chart_of_costs_is_well_formed_deterministic_and_in_the_colours_of_the_page(
    workload: dict[str, Any], draw: Any
) -> None:
    workload["timing"]["modes"]["tf/<script>"] = {"median_s": 1e-3}
    workload["batches"]["rows"].append({"mode": "tf/<script>", "batch": 64, "peak_bytes": 2**20})
    drawn = draw(workload_of(workload))
    assert draw(workload_of(workload)) == drawn
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(drawn).iter()}
    assert tags <= {"svg", "g", "path", "text", "line", "rect"}
    style = (TEMPLATES / "report.css").read_text()
    assert all(f"[{paint}]" in style for paint in re.findall(r'(?:fill|stroke)="#[0-9a-f]+"', drawn))
    assert all(f">{mode}<" in drawn for mode in ("tf/eager", "tf/jit", "jax/jit", "tf/&lt;script&gt;"))


def test_names_in_a_chart_do_not_overlap(workload: dict[str, Any]) -> None:
    for mode in workload["timing"]["modes"].values():
        mode["median_s"] = 1e-3
    drawn = cost_charts.roofline(workload_of(workload))
    heights = sorted(
        float(found)
        for found in re.findall(r'transform="translate\([\d.]+,([\d.]+)\)"[^>]*>(?:tf|jax|tf2jax|keras_jax)/', drawn)
    )
    assert len(heights) == len(workload["timing"]["modes"])
    assert min(after - before for before, after in pairwise(heights)) > 13


@pytest.mark.parametrize("path", ["cost/flops", "roofline/bandwidth_bytes_per_s", "roofline/bounds/compute_s"])
def test_without_a_limit_no_roof_is_drawn(workload: dict[str, Any], path: str) -> None:
    *keys, last = path.split("/")
    place = workload
    for key in keys:
        place = place[key]
    place[last] = None
    assert cost_charts.roofline(workload_of(workload)) == ""


def test_the_dispatch_limit_is_drawn_where_it_matters(workload: dict[str, Any]) -> None:
    assert ">dispatch<" not in cost_charts.roofline(workload_of(workload))
    workload["roofline"]["bounds"]["dispatch_s"] = 1e-3
    assert ">dispatch<" in cost_charts.roofline(workload_of(workload))


# The page


def test_an_old_record_renders_without_the_new_parts(undrawn: None) -> None:
    shown = Page(render(decoded(OLD))).text
    for title in (
        *("Statistical power", "By number of threads", "Peers", "Startup", "Roofline", "Batch sizes"),
        "Machine limits",
    ):
        assert title not in shown
        assert title in Page(render(decoded(RECORD))).text


@pytest.mark.parametrize("part", ["phases", "roofline", "peers", "batches", "by_threads", "threads", "power"])
def test_the_page_comes_out_whatever_new_part_is_missing_or_null(part: str, undrawn: None) -> None:
    whole = copy.deepcopy(RECORD["workloads"]["mnist_mlp"])
    inside = whole["timing"] if part in ("threads", "power") else whole
    inside[part] = _short(inside[part])
    changes = [None, *holes(inside[part])]
    small = {"timing": whole["timing"], "cost": whole["cost"]}
    copies = [
        small | ({"timing": whole["timing"] | {part: changed}} if inside is not whole else {part: changed})
        for changed in changes
    ]
    workloads = {str(number): holed for number, holed in enumerate(decodable(copies))}
    assert len(workloads) > len(copies) / 2
    assert render(Record(SCHEMA, workloads)).count('<section class="workload"') == len(workloads)


def _short(value: Any) -> Any:
    """The value with two items a mapping and a list: more with a hole teach no more, and take longer."""
    if isinstance(value, dict):
        kept = list(value.items())[: 2 if any(isinstance(item, dict) for item in value.values()) else None]
        return {key: _short(item) for key, item in kept}
    return [_short(item) for item in value[:2]] if isinstance(value, list) else value


@pytest.mark.parametrize("part", ["machine", "dispatch"])
def test_the_page_comes_out_whatever_of_the_machine_is_missing(part: str, undrawn: None) -> None:
    for changed in (None, *holes(RECORD[part])):
        assert Page(render(decoded({part: changed}))).tags
