"""The page and the console: everything that the record says is there, escaped, whatever is missing."""

from __future__ import annotations

import copy
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hostile_records import planted_record
from pages import Page, decodable, decoded, holes, shortened
from places import DATA
from rich.console import Console

from compare.record.envelope import SCHEMA, Record
from compare.record.results_file import load_plain
from compare.report import drawing, report_words, verdicts
from compare.report.console import print_overview
from compare.report.html import render, write_report
from compare.report.overviews import anchors
from compare.report.page_html import TEMPLATES
from workloads.core.spec import GATES

SMALL = DATA / "record_small.json"
RECORD = load_plain(SMALL)


@pytest.fixture(scope="module")
def html() -> str:
    """The page of the whole small record."""
    return render(decoded(RECORD))


@pytest.fixture(scope="module")
def parsed(html: str) -> Page:
    """The same, parsed."""
    return Page(html)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts cost most of the time, and the tests of charts draw them."""
    monkeypatch.setattr(drawing, "svg", lambda chart: "<svg></svg>")


@pytest.mark.parametrize("broken", ["<p><b></p>", "<div>", "</div>"])
def test_the_parser_refuses_what_does_not_nest(broken: str) -> None:
    with pytest.raises(AssertionError):
        Page(broken)


def test_every_workload_has_its_section_and_every_link_its_target(parsed: Page) -> None:
    identifiers = parsed.values("id")
    assert len(identifiers) == len(set(identifiers))
    assert set(anchors(RECORD["workloads"]).values()) <= set(identifiers)
    links = parsed.values("href")
    assert all(link.startswith("#") or link == "data:," for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= set(identifiers)


def test_every_failing_message_and_every_failure_is_on_the_page(parsed: Page) -> None:
    shown = " ".join(parsed.text.split())
    for workload in decoded(RECORD).workloads.values():
        messages = [leaf.message for gate in verdicts.gates(workload) for leaf in gate.failing]
        fallback = [gate.message for gate in verdicts.gates(workload) if gate.verdict == "fail"]
        reasons = [re.sub(r"\x1b\[\d+m", "", failure.reason) for failure in verdicts.failures(workload)]
        for sentence in [*messages, *fallback, *reasons]:
            assert " ".join(sentence.split()) in shown


def test_no_string_of_the_record_becomes_an_element(html: str, parsed: Page) -> None:
    assert parsed.tags.count("script") == 1
    assert not {"img", "b", "i"} & set(parsed.tags)
    assert "<script>alert(1)</script>" in parsed.text
    assert "</pre></script><script>window.hacked=1</script>" in parsed.text
    assert html.count("</script>") == 1


@pytest.mark.parametrize("left_out", [(), ("withheld", "reason", "failures")], ids=["withheld", "stated"])
def test_no_string_of_any_field_reaches_the_page_as_it_stands(left_out: tuple[str, ...]) -> None:
    evil = "EVIL<q onclick='x'>&amp;\x1b[2J\x07\u202e\ud800"
    html = render(decoded(planted_record(evil, left_out)))
    page = Page(html)
    assert "q" not in page.tags and not page.values("onclick")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", html)
    assert page.text.count("EVIL<q onclick='x'>&amp;\ufffd[2J\ufffd\ufffd\ufffd") > 500
    assert html.count("<svg") >= (2 if "withheld" in left_out else 1)


@pytest.mark.parametrize("left_out", [(), ("withheld", "reason", "failures")], ids=["withheld", "stated"])
def test_no_string_of_any_field_reaches_the_console_as_it_stands(left_out: tuple[str, ...]) -> None:
    shown = printed(planted_record("EVIL[red]\x1b[2J\x9b\u202e\ud800\nEVIL line", left_out), terminal=False)
    assert shown.count("EVIL[red]\ufffd[2J\ufffd\ufffd\ufffd EVIL line") > 5
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", shown)
    assert not [line for line in shown.splitlines() if line.startswith("EVIL line")]


def test_the_page_fetches_nothing(parsed: Page) -> None:
    assert not parsed.values("src")
    policy = next(value for value in parsed.values("content") if "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline'; script-src 'sha256-" in policy


def test_status_is_never_told_by_colour_alone(parsed: Page) -> None:
    for word in ("pass", "fail", "not judged", "faster", "withheld"):
        assert word in parsed.text


def test_headers_of_tables_have_a_scope(html: str) -> None:
    headers = re.findall(r"<th\b[^>]*>", html)
    assert headers
    assert all("scope=" in header for header in headers)


def test_many_passing_leaves_are_folded_and_failing_ones_never(undrawn: None) -> None:
    workload = copy.deepcopy(RECORD["workloads"]["running_example"])
    rounding = workload["parity"]["gates"]["rounding"]
    assert "<summary>14 passing leaves</summary>" in render(decoded({"workloads": {"one": workload}}))
    rounding["comparisons"][3] |= {"verdict": "fail", "message": "leaf output is off"}
    failing = render(decoded({"workloads": {"one": workload}}))
    assert failing.index("leaf output is off") < failing.index("<summary>13 passing leaves</summary>")
    rounding["comparisons"] = rounding["comparisons"][:12]
    assert "passing leaves</summary>" not in render(decoded({"workloads": {"one": workload}}))


def test_a_leaf_without_a_verdict_is_never_folded_among_those_that_pass(undrawn: None) -> None:
    workload = copy.deepcopy(RECORD["workloads"]["running_example"])
    workload["parity"]["gates"]["rounding"]["comparisons"][3]["verdict"] = None
    html = render(decoded({"workloads": {"one": workload}}))
    assert "<summary>13 passing leaves</summary>" in html
    assert html.index("not judged</span></th>") < html.index("<summary>13 passing leaves</summary>")


def test_every_special_word_is_explained_where_it_stands(html: str) -> None:
    explained = re.findall(r'<abbr title="([^"]+)">([^<]+)</abbr>', html)
    words = {word for _, word in explained}
    assert {"case", "leaf", "JAX vs oracle", "error", "bound", "error ÷ bound", "TF eager vs TF XLA"} <= words
    assert ("random inputs, drawn from the seed of this number", "seed0") in explained
    cases = {comparison.case for workload in decoded(RECORD).workloads.values() if workload.parity
             for gate in workload.parity.gates.values() for comparison in gate.comparisons}  # fmt: skip
    assert cases <= words and all(report_words.explain_case(case) for case in cases)
    assert set(report_words.GATES) == set(GATES)


def test_a_column_that_is_empty_in_every_leaf_is_left_out(undrawn: None) -> None:
    record = copy.deepcopy(RECORD)
    gates = record["workloads"]["running_example"]["parity"]["gates"]
    for gate in gates.values():
        for comparison in gate["comparisons"]:
            comparison |= {"noise": None, "worst_index": [], "expected": None, "found": None}
    record["workloads"] = {"running_example": record["workloads"]["running_example"]}
    page = render(decoded(record))
    assert "error ÷ bound" in page and "TF eager vs TF XLA" not in page and "worst element" not in page


def test_a_part_that_is_missing_says_so(undrawn: None) -> None:
    shown = Page(render(decoded({"workloads": {"bare": {}}}))).text
    for sentence in (
        "Parity was not judged: it is not in the record.",
        "No program was lowered",
        "Nothing was compiled",
        "No mode was profiled",
        "Nothing was timed",
    ):
        assert sentence in shown


@pytest.mark.parametrize("part", sorted(RECORD["workloads"]["mnist_mlp"]))
def test_the_page_comes_out_whatever_part_is_missing_or_null(part: str, undrawn: None) -> None:
    whole = shortened(RECORD["workloads"]["mnist_mlp"])
    copies = [whole | {part: changed} for changed in (None, *holes(whole[part]))]
    workloads = {f"{part} {number}": workload for number, workload in enumerate(decodable(copies))}
    assert len(workloads) > len(copies) / 2
    record = Record(SCHEMA, workloads)
    assert render(record).count('<section class="workload"') == len(workloads)
    print_overview(record, Console(file=io.StringIO()))


@pytest.mark.parametrize("part", ["created", "command", "size", "environment"])
def test_the_page_comes_out_without_what_stands_above_the_workloads(part: str, undrawn: None) -> None:
    for changed in (None, *(holes(RECORD[part]) if part == "environment" else ())):
        page = render(decoded(RECORD | {"workloads": {"bare": None}} | {part: changed}))
        Page(page)
        assert "bare" in page


def test_the_charts_of_a_record_with_holes_are_drawn() -> None:
    timing = copy.deepcopy(RECORD["workloads"]["running_example"]["timing"])
    timing["modes"]["tf/graph"] = None
    timing["modes"]["tf/eager"]["median_s"] = "nan"
    timing["ratios"]["jax/jit vs tf/jit"]["ci95"] = None
    timing["ratios"]["jax/jit vs tf/eager"]["ci95"] = [0, "inf"]
    assert render(decoded({"workloads": {"one": {"timing": timing}}})).count("<svg") == 2


def test_the_same_record_gives_the_same_page(html: str) -> None:
    assert render(decoded(json.loads(SMALL.read_text()))) == html


def test_the_report_is_written_whole_beside_the_record(tmp_path: Path, html: str) -> None:
    path = write_report(decoded(RECORD | {"size": "\ud800 odd"}), tmp_path / "run")
    assert path == tmp_path / "run" / "report.html"
    assert path.read_text() == html.replace("size default</span>", "size \ufffd odd</span>")
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


# Contrast: WCAG 2.2, success criterion 1.4.3, https://www.w3.org/TR/WCAG22/#contrast-minimum


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb."""
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") < 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ink", ["ink", "soft", "pass", "fail", "warn", "tf", "jax", "null"])
def test_text_has_contrast_in_both_schemes(scheme: int, ink: str) -> None:
    blocks = re.findall(r":root \{(.*?)\}", (TEMPLATES / "report.css").read_text(), flags=re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[scheme]))
    papers = ("paper", "panel", "fail-paper", *(("mark",) if ink == "ink" else ()))
    assert all(contrast(colours[ink], colours[paper]) >= 4.5 for paper in papers)


# The console


def printed(record: dict[str, Any], *, terminal: bool = False, width: int = 80) -> str:
    """What the console shows."""
    file = io.StringIO()
    print_overview(decoded(record), Console(file=file, force_terminal=terminal, width=width))
    return file.getvalue()


def test_off_a_terminal_the_console_is_plain_and_never_folded() -> None:
    shown = printed(RECORD)
    assert "\x1b" not in shown
    row = next(line for line in shown.splitlines() if line.startswith("running_example"))
    for cell in ("default", "pass", "11 / 9", "4 → 2 → 1", "0.405x [0.384, 0.428] faster (tf/jit)", "0.983x"):
        assert cell in row


COLUMNS = {
    "programs": (("instructions",), {"programs", "alignment", "compiled"}),
    "profile": (("kernels",), {"profile"}),
    "timing": (("fastest TF mode", "is due to"), {"timing", "attribution", "trajectory"}),
}
"""By part of a workload: what the heads of its columns say on the page, and what goes with it."""


@pytest.mark.parametrize("part", COLUMNS)
@pytest.mark.usefixtures("undrawn")
def test_an_overview_has_no_column_that_is_empty_in_every_row(part: str) -> None:
    heads, parts = COLUMNS[part]
    whole = RECORD["workloads"]["running_example"]
    without = {key: value for key, value in whole.items() if key not in parts}
    for row, is_shown in (({"one": whole, "two": without}, True), ({"two": without}, False)):
        table = render(decoded({"workloads": row})).partition("</thead>")[0].partition("<thead>")[2]
        assert [head in table for head in heads] == [is_shown] * len(heads)
        head = printed({"workloads": row}, width=250).partition("\n")[0]
        assert any(word in head for word in ("instructions", "kernels tf", "time of jax")), head
        console_head = {"programs": "instructions", "profile": "kernels", "timing": "time of"}[part]
        assert (console_head in head) == is_shown


def test_a_narrow_terminal_keeps_the_verdicts_and_leaves_the_rest_to_the_page() -> None:
    wide, narrow = (printed(RECORD, terminal=True, width=width) for width in (250, 80))
    assert "instructions" in wide
    assert "instructions" not in narrow
    assert all(name in narrow for name in ("running_example", "workload", "parity", "0.405x"))


def test_the_console_has_one_line_for_each_failing_gate_and_each_failure() -> None:
    lines = printed(RECORD).splitlines()
    for name, workload in decoded(RECORD).workloads.items():
        for gate in verdicts.gates(workload):
            assert lines.count(f"fail {gate.message}") == (gate.verdict == "fail")
        for failure in verdicts.failures(workload):
            assert any(line.startswith(f"missing {name}: {failure.side}: {failure.doing}") for line in lines)


def test_the_console_of_a_run_that_holds_has_no_line_that_fails() -> None:
    assert "fail" not in printed({"workloads": {"one": RECORD["workloads"]["running_example"]}})


def test_the_console_notes_once_what_qualifies_verdicts_that_hold() -> None:
    def holding(reason: str, verdict: str = "pass") -> dict[str, Any]:
        gate = {"verdict": verdict, "reason": reason, "comparisons": []}
        return {"parity": {"verdict": verdict, "gates": {"structure": gate}}}

    names = {name: holding("one size only") for name in "abcde"}
    others = {"f": holding("no training step", "not_applicable"), "g": holding("it differs", "fail")}
    lines = printed({"workloads": {**names, **others}}).splitlines()
    assert [line for line in lines if line.startswith("note")] == ["note a, b, c and 2 more: one size only"]


def test_a_name_is_never_markup_and_never_steers_the_terminal() -> None:
    shown = printed({"workloads": {"[red]x[/red]\x1b[2J": {}}}, terminal=True, width=200)
    assert "[red]x[/red]" in shown
    assert "\x1b[2J" not in shown
