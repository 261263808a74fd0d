"""The page of results: it claims what verdicts say, names what is not ahead and why, and shows any string as text."""

from __future__ import annotations

import copy
import io
import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from history_records import compare_all, history_of
from hostile_records import planted_record
from markdown_it import MarkdownIt
from pages import decodable, decoded, holes, shortened, workload_of
from places import DATA
from rich.console import Console

from compare.commands._conclusion import Conclusion
from compare.commands.compare import conclude
from compare.history.moves import Recurrence
from compare.record.envelope import SCHEMA, Record
from compare.record.results_file import load_plain
from compare.report import markdown
from compare.report.changes import print_changes
from compare.report.numbers import MISSING
from compare.report.results_page import page
from compare.report.standings import standing

RECORD = load_plain(DATA / "record_full.json")
OLD = load_plain(DATA / "record_small.json")


@pytest.fixture
def workload() -> dict[str, Any]:
    """The workload in which jax/jit is ahead, to be changed at will."""
    return copy.deepcopy(RECORD["workloads"]["mnist_mlp"])


def section(text: str, title: str) -> str:
    """What stands under a heading of the second level."""
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def of(*plain: dict[str, Any]) -> str:
    """The page of records as JSON."""
    return page(*map(decoded, plain))


def sentence(workload: dict[str, Any]) -> str:
    return standing("one", markdown.escape(workload_of(workload))).sentence


# Ahead, and not ahead


def test_a_workload_is_in_one_list_and_only_there() -> None:
    text = of(RECORD)
    ahead, behind = section(text, "Ahead"), section(text, "Not ahead")
    assert "**mnist_mlp**" in ahead and "**mnist_mlp**" not in behind
    for name in ("withheld", "behind"):
        assert f"**{name}**" in behind and f"**{name}**" not in ahead


def test_ahead_is_said_of_the_fastest_tf_mode(workload: dict[str, Any]) -> None:
    assert sentence(workload) == "0.690x [0.676, 0.703] of the time of tf/jit, the fastest TF mode"
    workload["timing"]["modes"]["tf/graph"]["median_s"] = 1e-9
    assert "tf/graph, the fastest TF mode" in sentence(workload)


@pytest.mark.parametrize("mode", ["tf/eager", "tf/graph", "tf/autocluster", "tf/jit"])
@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"verdict": "slower"}, "slower than"),
        ({"verdict": "equivalent"}, "equivalent to"),
        ({"verdict": "inconclusive"}, "inconclusive against"),
        ({"verdict": "faster", "withheld": "the null missed 1"}, "withheld: the null missed 1"),
        (None, "no ratio in the record"),
    ],
)
def test_one_tf_mode_that_is_not_beaten_by_verdict_is_enough(
    workload: dict[str, Any], mode: str, row: dict[str, Any] | None, said: str
) -> None:
    ratios = workload["timing"]["ratios"]
    ratios[f"jax/jit vs {mode}"] = None if row is None else ratios[f"jax/jit vs {mode}"] | row
    told = standing("one", workload_of(workload))
    assert not told.ahead
    assert said in told.sentence and mode in told.sentence
    assert "**one**" in section(of({"workloads": {"one": workload}}), "Not ahead")


@pytest.mark.parametrize(
    ("mode", "how"),
    [
        ("jax/donated", "updating its state in place, as TensorFlow does,"),
        ("jax/tuned", "with its compiler options"),
        ("jax/retained", "with memory that the C library keeps"),
        ("jax/synchronous", "without asynchronous dispatch"),
    ],
)
def test_another_compiled_mode_of_the_port_is_told_against_the_fastest_tf_mode(
    workload: dict[str, Any], mode: str, how: str
) -> None:
    ratios, modes = workload["timing"]["ratios"], workload["timing"]["modes"]
    modes[mode] = modes["jax/jit"]
    ratios |= {f"{mode} vs {tf}": ratios[f"jax/jit vs {tf}"] for tf in ("tf/graph", "tf/jit")}
    assert sentence(workload) == (
        "0.690x [0.676, 0.703] of the time of tf/jit, the fastest TF mode; "
        f"{how} {mode} vs tf/jit: 0.690x [0.676, 0.703] faster"
    )
    ratios[f"{mode} vs tf/jit"] |= {"withheld": "the null missed 1"}
    assert sentence(workload).endswith(f"{how} {mode} vs tf/jit: withheld")


def test_medians_alone_claim_nothing(workload: dict[str, Any]) -> None:
    workload["timing"]["modes"]["jax/jit"]["median_s"] = 1e-9
    workload["timing"]["ratios"] = {}
    assert not standing("one", workload_of(workload)).ahead


@pytest.fixture
def behind() -> dict[str, Any]:
    """A workload whose compiler costs 1.30x, whichever program it compiles."""
    behind = copy.deepcopy(RECORD["workloads"]["behind"])
    cells = {"tf@tf": 1.0, "jax@tf": 1.0, "tf@jax": 1.3, "jax@jax": 1.3}
    behind["timing"]["cells"] = {name: {"median_s": seconds} for name, seconds in cells.items()}
    return behind


def test_the_factor_that_costs_the_most_is_the_reason(behind: dict[str, Any]) -> None:
    assert sentence(behind) == (
        "equivalent to tf/graph, 0.962x [0.943, 0.981]; slower than tf/autocluster, 1.12x [1.09, 1.16]; "
        "equivalent to tf/jit, 1.01x [0.990, 1.03]; "
        "against tf/jit the compiler costs the most, 1.30x (medians, no interval)"
    )


def test_what_tf_jit_does_otherwise_is_no_reason_where_it_is_beaten(behind: dict[str, Any]) -> None:
    behind["timing"]["ratios"]["jax/jit vs tf/jit"] |= {"verdict": "faster", "ratio": 0.5, "ci95": [0.4, 0.6]}
    assert "costs the most" not in sentence(behind)


@pytest.mark.parametrize(
    "attribution",
    [
        None,
        {},
        {"frontend": 0.9, "compiler": None, "runtime": 0.8},
        {"frontend": 1.004, "compiler": 0.9, "runtime": 1.0},
    ],
)
def test_where_no_factor_costs_none_is_blamed(attribution: Any, behind: dict[str, Any]) -> None:
    told = sentence(behind | {"attribution": attribution})
    assert "costs the most" not in told and "costs it" not in told


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"timing": None, "failures": []}, "not timed: no TF mode has a time in the record"),
        ({"timing": None, "parity": {"verdict": "fail"}}, "not timed: parity fails"),
        (
            {"timing": None, "failures": [{"side": "tf", "reason": "died\nof *thirst*"}]},
            r"not timed: died of \*thirst\*",
        ),
    ],
)
def test_what_was_not_timed_says_why(workload: dict[str, Any], changes: dict[str, Any], said: str) -> None:
    assert sentence(workload | changes) == said


@pytest.mark.parametrize(
    ("margin", "said"),
    [(0.05, "Differences below 5.0 % count as equivalent."), (0.379, "no ratio here is called equivalent.")],
)
def test_a_margin_that_allows_no_verdict_of_equivalence_says_so(margin: float, said: str) -> None:
    workload = RECORD["workloads"]["behind"]
    text = of({"workloads": {"behind": workload | {"timing": workload["timing"] | {"margin": margin}}}})
    assert said in text


def test_nobody_ahead_is_said() -> None:
    text = of({"workloads": {"behind": RECORD["workloads"]["behind"]}})
    assert section(text, "Ahead").rstrip().endswith("- none")


# What else the page holds


@pytest.mark.parametrize(
    "line",
    [
        "| date | 2026-11-20T12:00:00+00:00 |",
        "| command | `jaxport bench mnist_mlp --threads 2,1` |",
        "| machine | Example CPU @ 2.50GHz, Linux-6.1-x86_64 |",
        "| cores | 2 |",
        "| tf/jit | faster | 1.90 ms | 0.690x | [0.676, 0.703] | 2 |",
        f"| jax/jit | {MISSING} | 1.31 ms | {MISSING} | {MISSING} | 12,400 |",
        "jax/jit takes 0.689x of tf/jit's time: frontend 0.950x, compiler 0.710x, runtime 1.02x.",
        "| tf/jit vs itself | equivalent | 1.01x | [0.987, 1.03] |",
        "| jax/jit +10 % | slower | 1.10x | [1.08, 1.12] |",
        "Smallest slowdown detected with 95 % probability: tf/jit none below a factor of 100, jax/jit 7.4 %.",
        "Differences below 5.0 % count as equivalent.",
        "| tf/jit | 3.23 ms (1.00x) | 1.90 ms (1.70x) |",
        "| jax/jit vs tf/graph | withheld | 0.596x [0.584, 0.608] faster |",
        "| tf2jax 0.3.8 | pass | 1.32 ms | 0.992x [0.973, 1.01] equivalent |",
        f"| jax2tf {MISSING} | unavailable: no module named jax2tf: install it | {MISSING} | {MISSING} |",
        "| jax/jit | cold | 2.40 s | 210 ms | 90.0 ms | 40.0 ms | 310 ms | 440 ms | 1.31 ms | 245 MiB | 310 MiB |",
        "| jax/jit |  | 60 % |",
        "| triad | jax | 2 | 19.0 GB/s | 384 MiB |",
        "| tf/jit | 401 µs | 205 µs |",
        "| jax/jit | batch 16,384 at 248,242 examples/s |",
    ],
)
def test_the_page_holds_the_line(line: str) -> None:
    assert line in of(RECORD).splitlines()


def test_several_runs_make_one_page() -> None:
    text = of(RECORD, {"created": "another day", "workloads": {"other": RECORD["workloads"]["behind"]}})
    assert f"## Run 1: {', '.join(RECORD['workloads'])}" in text.replace("\\", "")
    assert "| date | another day |" in section(text, "Run 2: other")
    ahead, behind = section(text, "Ahead"), section(text, "Not ahead")
    assert "**mnist_mlp**" in ahead and "**other**" in behind
    assert "\n## other\n" in text


def test_a_workload_that_two_runs_have_is_told_apart_by_its_run() -> None:
    again = {"workloads": {"mnist_mlp": RECORD["workloads"]["behind"]}}
    text = of(RECORD, again)
    assert "**mnist_mlp (run 1)**" in section(text, "Ahead")
    assert "**mnist_mlp (run 2)**" in section(text, "Not ahead")
    assert "\n## mnist_mlp (run 1)\n" in text and "\n## mnist_mlp (run 2)\n" in text
    assert "**withheld**" in section(text, "Not ahead")


def test_every_median_stands_in_one_table() -> None:
    head, _, *rows = [line for line in section(of(RECORD), "Times").splitlines() if line.startswith("|")]
    assert len(rows) == len(RECORD["workloads"])
    modes = [mode.strip() for mode in head.strip("|").split("|")]
    fastest = dict(zip(modes, [cell.strip() for cell in rows[0].strip("|").split("|")], strict=True))
    assert fastest["tf/jit"] == "1.90 ms"


def test_an_old_record_gives_a_page_without_the_parts_that_it_lacks() -> None:
    text = of(OLD)
    assert "| threads | not recorded |" in text
    for part in ("Machine limits", "| peer |", "| dispatch of one call", "Lower bound of a call", "largest batch"):
        assert part not in text


def test_the_same_record_gives_the_same_page() -> None:
    assert of(copy.deepcopy(RECORD)) == of(RECORD)


def test_every_row_of_a_table_has_as_many_cells_as_its_title() -> None:
    lines = of(RECORD).splitlines()
    for before, line in pairwise(lines):
        if line.startswith("|") and before.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == len(re.findall(r"(?<!\\)\|", before)), line


PAYLOADS = (
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!--", "</td></table>", "&lt;b&gt;", "&#60;b>"),
    *("[a](javascript:alert(1))", "![a](x)", "<https://a.example>", "[a]: javascript:1", "a|b", "\\|", "\\", "a\\\n"),
    *("a\n\n# b", "\n- b", "- b", "1. b", "2) b", "+ b", "---", "===", "> b", "    b", "\r\n***\r\n"),
    *("`b`<i>", "```\n<i>", "~~~", "*b*", "_b_", "__b__ _c_", "~~b~~", "x\x1b[31m\u202e\u2028\x9b"),
)


@dataclass(frozen=True)
class Parsed:
    """What CommonMark with tables makes of a page."""

    kinds: frozenset[str]
    """Of its parts."""
    foreign: tuple[str, ...]
    """HTML, links and emphases: what no string of a record may become."""
    headings: tuple[str, ...]
    """The levels of its titles, in order."""


def parsed(text: str) -> Parsed:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    parts = [*tokens, *(child for token in tokens for child in token.children or ())]
    foreign = ("html_block", "html_inline", "link_open", "image", "em_open", "s_open", "hr", "fence", "code_block")
    return Parsed(
        frozenset(part.type for part in parts),
        tuple(part.content for part in parts if part.type in foreign),
        tuple(token.tag for token in tokens if token.type == "heading_open"),
    )


@cache
def kinds_of_an_honest_page() -> frozenset[str]:
    return parsed(of(RECORD)).kinds


@pytest.mark.parametrize("left_out", [(), ("withheld", "failures")], ids=["withheld", "stated"])
@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_no_string_of_the_record_becomes_markup(payload: str, left_out: tuple[str, ...]) -> None:
    text = page(decoded(planted_record(payload, left_out)), decoded(RECORD))
    shown = parsed(text)
    assert shown.foreign == ()
    assert shown.kinds <= kinds_of_an_honest_page()
    assert "<" not in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028]", text)
    assert [line for line in text.splitlines() if line.startswith("# ")] == ["# Results"]
    assert shown.headings.count("h1") == 1
    assert text.count(markdown.plain(payload)) > 50


def test_names_are_escaped_too() -> None:
    name = "<i>|x|\n# y"
    record = {"workloads": {name: RECORD["workloads"]["mnist_mlp"]}}
    record["workloads"][name] = copy.deepcopy(record["workloads"][name])
    modes = record["workloads"][name]["timing"]["modes"]
    modes["tf/<i>|"] = modes["tf/jit"]
    text = of(record)
    assert "<i>" not in text
    assert "## &lt;i&gt;\\|x\\| \\# y" in text


@pytest.mark.parametrize(
    ("given", "shown"),
    [("a [b] _c_", "`a [b] _c_`"), ("a`b", "a\\`b"), ("a|b", "a\\|b"), ("<i>", "&lt;i&gt;"), ("", "")],
)
def test_code_holds_what_cannot_end_it(given: str, shown: str) -> None:
    assert markdown.code(given) == shown


def test_an_empty_table_is_none() -> None:
    assert markdown.table(("a", "b"), []) == []


PARTS = ("timing", "by_threads", "phases", "roofline", "peers", "batches", "attribution", "parity", "dimensions")


@pytest.mark.parametrize("part", PARTS)
def test_the_page_comes_out_whatever_part_is_missing_or_null(part: str) -> None:
    workload = shortened(RECORD["workloads"]["mnist_mlp"])
    copies = [workload | {part: changed} for changed in (None, *holes(workload[part]))]
    workloads = {f"{part} {number}": holed for number, holed in enumerate(decodable(copies))}
    assert len(workloads) > len(copies) / 2
    assert page(Record(SCHEMA, workloads)).count(f"\n## {part} ") == len(workloads)


@pytest.mark.parametrize("part", ["environment", "machine", "dispatch", "created", "command"])
def test_the_page_comes_out_without_what_stands_above_the_workloads(part: str) -> None:
    for changed in (None, *(holes(RECORD[part]) if isinstance(RECORD[part], dict) else ())):
        assert of(RECORD | {"workloads": {"bare": None}} | {part: changed}).startswith("# Results\n")


# What `jaxport history compare` prints


def printed(*recurrences: Recurrence, terminal: bool = False) -> str:
    file = io.StringIO()
    print_changes(recurrences, Console(file=file, force_terminal=terminal, width=100))
    return file.getvalue()


def compared(*ratios: float) -> tuple[Recurrence, ...]:
    """What `compare_all` says of runs whose one ratio is that."""
    return compare_all(history_of(*ratios))


def test_a_confirmed_regression_has_its_row_its_line_and_the_last_word() -> None:
    lines = printed(*compared(0.6, 0.7, 0.66)).splitlines()
    cells = [*["add", "jax/jit vs tf/jit", "regression confirmed", "0.600x", "0.660x", "1.10x", "[1.07, 1.13]"]]
    assert re.split(r"\s{2,}", lines[1].strip()) == cells
    assert (
        "confirmed add: jax/jit vs tf/jit: medians, for context: "
        "jax/jit 600 µs then 660 µs, tf/jit 1.00 ms then 1.00 ms" in lines
    )
    assert conclude(compared(0.6, 0.7, 0.66)) == Conclusion("fail", "1 confirmed regression in 1 ratio")


def test_a_regression_seen_once_asks_for_another_run() -> None:
    changes = compared(0.6, 0.7)
    assert "regressed, not confirmed" in printed(*changes)
    said = "0 confirmed regressions in 1 ratio; 1 seen once: run again to confirm"
    assert conclude(changes) == Conclusion("pass", said)


def test_what_was_not_compared_says_why_and_never_steers_the_terminal() -> None:
    shown = printed(
        Recurrence("[red]x\x1b[2J", "a vs b", "not compared", False, (), (), "two\nlines"),
        terminal=True,
    )
    assert "not compared [red]x" in shown and "two lines" in shown
    assert "\x1b[2J" not in shown
