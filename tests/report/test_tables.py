"""Rows of the record: verdicts, times, programs and charts, from a whole record and from one with holes."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from pages import decoded, workload_of
from places import DATA

from compare.record.envelope import Record
from compare.record.results_file import load_plain
from compare.record.workload_part import Workload
from compare.report import numbers, overviews, program_texts, tables, verdicts
from compare.report.showable import printable
from workloads.core.spec import GATES

RECORD = load_plain(DATA / "record_small.json")


@pytest.fixture
def record() -> dict[str, Any]:
    """A whole copy, to be changed at will."""
    return copy.deepcopy(RECORD)


@pytest.fixture
def honest(record: dict[str, Any]) -> dict[str, Any]:
    """The workload that has every part."""
    return record["workloads"]["running_example"]


def only(workload: dict[str, Any]) -> Record:
    """A record of one workload."""
    return decoded({"workloads": {"one": workload}})


# The verdict of the run


def test_a_run_whose_every_workload_holds_passes(honest: dict[str, Any]) -> None:
    assert verdicts.headline(only(honest)) == verdicts.Headline("pass", "Parity holds in 1 of 1 workload", ())


@pytest.mark.parametrize(
    ("path", "value", "verdict"),
    [
        (("parity", "verdict"), "fail", "fail"),
        (("parity",), None, "incomplete"),
        (("failures",), [{"side": "tf", "doing": "profile", "reason": "no session"}], "incomplete"),
    ],
)
def test_a_run_does_not_pass_once_one_workload_fails_or_lacks_a_part(
    honest: dict[str, Any], path: tuple[str, ...], value: object, verdict: str
) -> None:
    place = honest
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    record = only(honest)
    assert verdicts.headline(record).verdict == verdict
    (row,) = overviews.overview(record)
    assert row.verdict != "pass", "the row of the table says what the exit code says"


def test_what_a_side_lacks_for_one_reason_is_told_in_one_line(honest: dict[str, Any]) -> None:
    reason, other = "a call back into Python", "no session"
    told = [("jax", "program forward", reason), ("tf", "program forward", reason), ("jax", "profile", other)]
    told += [("jax", "program gradients", reason)]
    honest["failures"] = [{"side": side, "doing": doing, "reason": why} for side, doing, why in told]
    assert [row.line for row in verdicts.failures(only(honest).workloads["one"])] == [
        f"jax: program forward, program gradients: {reason}", f"tf: program forward: {reason}", f"jax: profile: {other}"
    ]  # fmt: skip


def test_a_run_of_no_workload_does_not_pass() -> None:
    assert verdicts.headline(decoded({})).verdict == "incomplete"


@pytest.mark.parametrize("lost", [None, {}, {"parity": None}, {"parity": {"gates": {"structure": None}}}])
def test_a_workload_without_a_verdict_is_counted_and_never_passes(honest: dict[str, Any], lost: Any) -> None:
    record = decoded({"workloads": {"one": honest, "lost": lost}})
    assert verdicts.headline(record) == verdicts.Headline(
        "incomplete",
        "Parity holds in 1 of 2 workloads; the run is incomplete",
        ("1 of 2 workloads not judged for parity",),
    )
    assert [row.verdict for row in overviews.overview(record)] == ["pass", "not_judged"]


def test_the_headline_says_what_was_withheld_and_what_was_recorded_elsewhere(record: dict[str, Any]) -> None:
    record["environment"]["sides"]["tf"]["recorded"] = "tf-gpu.json"
    notes = verdicts.headline(decoded(record)).notes
    assert "1 of 4 workloads with time ratios withheld" in notes
    assert "tf was recorded elsewhere: tf-gpu.json" in notes


# Gates and leaves


def test_gates_come_in_the_order_of_the_contract_even_where_the_record_has_none() -> None:
    assert verdicts.gate_verdicts(Workload()) == dict.fromkeys(GATES, "not_judged")


def test_failing_leaves_come_apart_and_carry_the_message(record: dict[str, Any]) -> None:
    semantics = next(
        gate for gate in verdicts.gates(workload_of(record["workloads"]["mnist_mlp"])) if gate.name == "semantics"
    )
    (leaf,) = semantics.failing
    assert leaf.worst == "[3, 17]: 0.12345678, expected 0.123456791"
    assert leaf.used == "2,700"
    assert leaf.compared == "jax float64 vs tf float64"
    assert "leaf logits[3, 17]" in semantics.message


def test_a_leaf_without_a_verdict_is_not_among_those_that_pass(honest: dict[str, Any]) -> None:
    honest["parity"]["gates"]["rounding"]["comparisons"][5]["verdict"] = None
    rounding = next(gate for gate in verdicts.gates(workload_of(honest)) if gate.name == "rounding")
    assert [leaf.verdict for leaf in rounding.unjudged] == ["not_judged"]
    assert (len(rounding.passing), rounding.failing) == (13, ())


def test_a_gate_says_how_many_more_leaves_fail(record: dict[str, Any]) -> None:
    comparisons = record["workloads"]["mnist_mlp"]["parity"]["gates"]["semantics"]["comparisons"]
    comparisons.extend(copy.deepcopy([comparisons[1]] * 3))
    semantics = verdicts.gates(workload_of(record["workloads"]["mnist_mlp"]))[1]
    assert semantics.message.endswith("(and 3 more)")


def test_a_gate_that_fails_without_leaves_says_its_reason(record: dict[str, Any]) -> None:
    structure = verdicts.gates(workload_of(record["workloads"]["lstm"]))[0]
    assert structure.message == "lstm: structure gate: no evidence; tf: the process ended with signal 11; jax: ran"


def test_the_leaf_nearest_its_bound_comes_first_and_an_error_that_is_no_number_before_it(
    honest: dict[str, Any],
) -> None:
    comparisons = honest["parity"]["gates"]["rounding"]["comparisons"]
    comparisons[5]["error"], comparisons[9]["error"] = 4.7e-7, "nan"
    rounding = next(gate for gate in verdicts.gates(workload_of(honest)) if gate.name == "rounding")
    assert [row.error for row in rounding.passing[:2]] == ["nan", "4.7e-07"]


def test_structure_is_held_against_tf_and_the_rest_against_the_oracle(honest: dict[str, Any]) -> None:
    against = {gate.name: gate.against for gate in verdicts.gates(workload_of(honest))}
    assert against["structure"] == "JAX vs TF"
    assert against["rounding"] == "JAX vs oracle"


# Overview, times and ratios


def test_overview_of_a_whole_workload(record: dict[str, Any]) -> None:
    row = overviews.overview(decoded(record))[0]
    assert row.instructions == ("11", "9")
    assert row.kernels == ("4", "2", "1")
    assert row.ratio is not None
    assert (row.ratio.name, row.ratio.ratio, row.ratio.interval, row.ratio.verdict) == (
        "jax/jit vs tf/jit",
        "0.405x",
        "[0.384, 0.428]",
        "faster",
    )
    assert row.attribution == (("frontend", "1.00x"), ("compiler", "0.411x"), ("runtime", "0.983x"))


def test_the_best_tf_mode_is_the_fastest_and_not_the_one_that_flatters_jax(honest: dict[str, Any]) -> None:
    honest["timing"]["modes"]["tf/graph"]["median_s"] = 1e-4
    best = tables.against_best(workload_of(honest))
    assert best is not None
    assert best.name == "jax/jit vs tf/graph"


def test_a_withheld_ratio_stays_withheld_with_its_reason(record: dict[str, Any]) -> None:
    row = tables.against_best(workload_of(record["workloads"]["mnist_mlp"]))
    assert row is not None
    assert row.withheld.startswith("identical code against itself did not come out equal")


def test_null_rows_are_told_apart(honest: dict[str, Any]) -> None:
    assert [row.name for row in tables.ratios(workload_of(honest)) if row.null] == [
        "jax/jit vs itself",
        "tf/jit vs itself",
    ]


def test_where_tensorflow_was_not_timed_its_program_stands_for_it(honest: dict[str, Any]) -> None:
    ratio = {"ratio": 0.5, "ci95": [0.4, 0.6], "verdict": "faster", "pairs": 8}
    honest["timing"]["program_ratios"] = {"jax@jax vs tf@jax": ratio}
    assert tables.of_programs(workload_of(honest)) is None
    honest["timing"]["ratios"] = {}
    (row,) = overviews.overview(only(honest))
    assert row.ratio is None
    assert row.programs is not None
    assert (row.programs.name, row.programs.ratio, row.programs.verdict) == ("jax@jax vs tf@jax", "0.500x", "faster")
    assert "jax@jax vs tf@jax" in [each.name for each in tables.ratios(workload_of(honest))]


@pytest.mark.parametrize(
    ("jax", "tf", "median_s", "said"),
    [
        (12400, 2, 0.1, True),
        (12400, 1500, 0.1, False),
        (4000, 0, 0.1, False),
        (500, 0, 0.0001, False),
        (None, 2, 0.1, False),
        (12400, None, 0.1, False),
    ],
    ids=["told", "TF-too", "little-of-the-call", "less-than-a-large-page", "unknown", "unknown-in-TF"],
)
def test_many_page_faults_of_the_port_alone_are_told_with_their_remedy(
    honest: dict[str, Any], jax: float | None, tf: float | None, median_s: float, said: bool
) -> None:
    modes = honest["timing"]["modes"]
    modes["jax/jit"] |= {"page_faults": jax, "median_s": median_s}
    modes["tf/jit"]["page_faults"] = tf
    words = (
        "jax/jit takes 12,400 page faults a call, tf/jit 2, about a microsecond each: "
        "its memory is mapped anew each time. "
        "GLIBC_TUNABLES=glibc.malloc.hugetlb=1 in the environment asks for large pages"
    )
    assert tables.page_faults_in_words(workload_of(honest)) == (words if said else "")


def test_what_kept_memory_saves_is_told_beside_page_faults_where_it_was_measured(honest: dict[str, Any]) -> None:
    modes, ratios = honest["timing"]["modes"], honest["timing"]["ratios"]
    modes["jax/jit"] |= {"page_faults": 12400, "median_s": 0.1}
    modes["tf/jit"]["page_faults"] = 2
    modes["jax/retained"] = {"median_s": 0.08, "page_faults": 3}
    ratios["jax/retained vs jax/jit"] = ratios["jax/jit vs tf/jit"] | {"ratio": 0.8, "ci95": [0.78, 0.82]}
    words = tables.page_faults_in_words(workload_of(honest))
    assert "Where the C library keeps it there are 3, and the time is 0.800x [0.780, 0.820] of that." in words
    ratios["jax/retained vs jax/jit"]["withheld"] = "a second process of itself is missing"
    assert "Where the C library" not in tables.page_faults_in_words(workload_of(honest))


def test_a_row_of_the_matrix_is_a_frontend_and_a_column_a_compiler(honest: dict[str, Any]) -> None:
    names = [[cell.name for cell in cells] for _, cells in tables.matrix(workload_of(honest))]
    assert names == [["tf@tf", "tf@jax"], ["jax@tf", "jax@jax"]]


def test_a_cell_says_what_its_results_were_held_against(honest: dict[str, Any]) -> None:
    told = {"error": 2e-7, "held_against": "tf in float64"}
    cells = {"tf@tf": {"error": 0.0, "held_against": "tf@tf"}, "tf@jax": told}
    (_, (reference, exact)), _ = tables.matrix(workload_of({**honest, "compiled": cells}))
    assert reference.facts[-1] == ("difference from tf@tf", "the reference")
    assert exact.facts[-1] == ("difference from tf in float64", "2.0e-07")
    (_, (inexact, _)), _ = tables.matrix(workload_of({**honest, "compiled": {"tf@tf": {**told, "error": 0.009}}}))
    assert inexact.facts[-1] == ("difference from tf in float64", "9.0e-03")


def test_a_cell_that_could_not_be_compiled_says_why(honest: dict[str, Any]) -> None:
    (_, _), (_, (refused, _)) = tables.matrix(workload_of(honest))
    assert (refused.facts, refused.reason) == ((), honest["compiled"]["jax@tf"]["reason"])


def test_kernels_are_counted_by_name(record: dict[str, Any]) -> None:
    names = {row.mode: dict(row.names) for row in tables.kernels(workload_of(record["workloads"]["mnist_mlp"]))}
    assert names["tf/<script>alert(1)</script>"]["gemm_0"] == 4


def test_anchors_are_unique_and_harmless() -> None:
    found = overviews.anchors(["a b", "a/b", "a-b", '"><script>', "", "my_port"])
    assert len(set(found.values())) == 6
    assert all(re.fullmatch(r"[\w~-]+", anchor) for anchor in found.values())
    assert found["my_port"] == "workload-my_port"


# Programs


def test_operations_that_differ_come_first_and_their_lines_are_marked(honest: dict[str, Any]) -> None:
    assert [row.opcode for row in program_texts.opcodes(workload_of(honest)) if row.difference] == [
        "broadcast_in_dim",
        "constant",
        "divide",
        "power",
    ]
    tf, _ = program_texts.programs(workload_of(honest))
    assert [line.text.split()[2] for line in tf.lines if line.marked] == [
        *["stablehlo.constant"] * 4,
        "stablehlo.broadcast_in_dim",
        "stablehlo.power",
        "stablehlo.broadcast_in_dim",
    ]


def test_equal_counts_mark_nothing(honest: dict[str, Any]) -> None:
    honest["programs"]["tf"]["opcodes"] = honest["programs"]["jax"]["opcodes"]
    assert not any(line.marked for pane in program_texts.programs(workload_of(honest)) for line in pane.lines)


def test_lines_of_hlo_text_are_marked_too(honest: dict[str, Any]) -> None:
    text = 'ROOT %add.2 = f32[8,8]{1,0} add(%a, %b)\n%p = (f32[], s32[]) power(%a, %b), metadata={op_name="add"}'
    honest["programs"]["tf"]["text"] = text
    assert [line.marked for line in program_texts.programs(workload_of(honest))[0].lines] == [False, True]


def test_a_lone_program_differs_from_nothing(record: dict[str, Any]) -> None:
    lost = workload_of(record["workloads"]["lstm"])
    (pane,) = program_texts.programs(lost)
    assert not any(line.marked for line in pane.lines)
    assert [(row.tf, row.jax, row.difference) for row in program_texts.opcodes(lost)] == [(numbers.MISSING, "1", "")]


def test_a_text_too_long_for_a_page_is_cut_and_says_so(honest: dict[str, Any]) -> None:
    honest["programs"]["tf"]["text"] = "\n".join(["x" * 10_000] + ["y"] * (program_texts.MAX_LINES + 9))
    pane = program_texts.programs(workload_of(honest))[0]
    assert (len(pane.lines), pane.omitted) == (program_texts.MAX_LINES, 10)
    assert pane.lines[0].text.endswith("(9500 more characters)")


def test_a_stage_that_both_sides_offer_comes_once(honest: dict[str, Any]) -> None:
    stages = {name: [pane.title for pane in panes] for name, panes in program_texts.stages(workload_of(honest))}
    assert stages == {"hlo": ["TF"], "optimized_hlo": ["TF", "JAX"], "jaxpr": ["JAX"]}


@pytest.mark.parametrize(("tf", "jax", "same"), [("ab", "ab", True), ("ab", "cd", False), ("", "", False)])
def test_the_same_program_is_one_with_the_same_digest(tf: str, jax: str, same: bool) -> None:
    workload = {"programs": {"tf": {"sha256": tf}, "jax": {"sha256": jax}}}
    assert program_texts.same_program(workload_of(workload)) is same


# Strings


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x00b\x1b]0;title\x07", "a\ufffdb\ufffd]0;title\ufffd"),
        ("\ud800", "\ufffd"),
        ("\u202eevil", "\ufffdevil"),
        ("tab\tline\n", "tab\tline\n"),
    ],
)
def test_strings_lose_what_steers_a_terminal_and_keep_the_rest(raw: str, shown: str) -> None:
    assert printable({"key": [raw]}) == {"key": [shown]}


# The size


def test_a_size_too_large_for_parity_says_where_parity_was_judged(honest: dict[str, Any]) -> None:
    assert overviews.overview(only(honest | {"size": "paper", "parity_size": "paper"}))[0].size == "paper"
    assert (
        overviews.overview(only(honest | {"size": "paper", "parity_size": "smoke"}))[0].size == "paper, parity at smoke"
    )
