"""What is said of Grappler on the console and on the page: what an experiment shows, and text as text."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import pytest
from graph_pairs import AFTER, BEFORE, constant, node
from msgspec.structs import replace

from compare.grappler.aligning import align_nodes, explain_rewrites, group_rewrites
from compare.record.grappler_part import NodeRewrite, Optimization, ResultsHeld
from compare.report.grappler_changes import passes, rewrite_rows
from compare.report.grappler_pages import write_optimization
from compare.report.grappler_pictures import draw
from compare.report.grappler_rows import constants_line, headline, kernel_lines, result_lines, traced_line
from compare.report.page_console import print_page
from compare.report.terminal import PlainConsole

HOSTILE = '<script>alert(1)</script>\\N"\x1b[31m\u202e'


def ascribed(**told: object) -> Optimization:
    rewrites = [replace(each, **told) for each in explain_rewrites(align_nodes(BEFORE, AFTER), BEFORE, AFTER)]
    return Optimization(name="f", before=BEFORE, after=AFTER, rewrites=group_rewrites(rewrites), same_again=True)


def shown(found: Optimization) -> str:
    console = PlainConsole(file=io.StringIO(), width=200)
    with tempfile.TemporaryDirectory() as folder:
        print_page(write_optimization(found, Path(folder))[0], console)
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def test_the_console_tells_each_change_under_its_pass() -> None:
    text = shown(ascribed(needs=("arithmetic_optimization",)))
    assert "f: 8 nodes before Grappler, 6 after: 2 went, 0 came, 3 changed" in text
    assert "operations: Const 2 → 1, Identity 1 → 0, Pow 1 → 0, Square 0 → 1" in text
    assert "  arithmetic_optimization (not made without)\n    Pow → Square\n      model.py:7  x**2" in text
    assert "1 node (Mul): reads the same in another order" in text and "not known" not in text


@pytest.mark.parametrize(
    ("rewrite", "expected"),
    [
        (NodeRewrite(needs=("a", "b")), "a with b (not made without)"),
        (NodeRewrite(alone=("a", "b")), "a or b (each makes it with all others off)"),
        (NodeRewrite(always=True), "not known: made with every pass switched off"),
        (NodeRewrite(differs=("a",)), "not known: no single pass makes or undoes it; without a it comes out otherwise"),
        (NodeRewrite(), "not known: no pass that was switched off undoes it"),
    ],
)
def test_by_which_pass_is_said_as_the_experiments_show_it(rewrite: NodeRewrite, expected: str) -> None:
    assert passes(rewrite, Optimization(same_again=True)) == expected


def test_what_was_not_tried_is_not_said_to_be() -> None:
    other = Optimization(same_again=False)
    assert passes(NodeRewrite(), other) == "not known: not tried, since the same switches gave another graph"
    assert "no pass that was switched off" not in shown(replace(ascribed(), same_again=False))
    failed = Optimization(same_again=True, passes=("a", "b"), failed={"b alone": "it died"})
    assert passes(NodeRewrite(differs=("a",)), failed).startswith(
        "not known: no single pass of those that could be tried makes or undoes it; without a it"
    )
    kernels = replace(failed, failed={"kernels of graph": "it died"})
    assert "could be tried" not in passes(NodeRewrite(differs=("a",)), kernels)


def test_where_no_experiment_tells_the_pass_is_not_known() -> None:
    assert {row.passes.partition(":")[0] for row in rewrite_rows(ascribed())} == {"not known"}
    assert "no change is ascribed to a pass" in shown(replace(ascribed(), same_again=False))
    assert "remapping alone: not known: it died" in shown(replace(ascribed(), failed={"remapping alone": "it died"}))


def test_a_graph_of_clusters_is_said_to_be_one() -> None:
    clustered = Optimization(before=(node("run", "_XlaRun"),), same_again=True)
    assert "TF_XLA_FLAGS switches autoclustering on" in shown(clustered)
    assert "TF_XLA_FLAGS" not in shown(ascribed())


def test_a_function_that_is_called_and_not_shown_is_named() -> None:
    call, body = node("call", "PartitionedCall", "x", f="inner_specialized"), node("inner_specialized/sin", "Sin", "x")
    said = "what is in inner_specialized after Grappler is not known"
    assert said in shown(Optimization(after=(call,), same_again=True))
    assert said not in shown(Optimization(after=(call, body), same_again=True))


def test_what_did_not_run_is_told_without_a_reason() -> None:
    line = next(kernel_lines(Optimization(after=AFTER, idle=("pow", "mul"))))
    assert line.startswith("2 nodes of the graph after did not run in the call that was profiled (Square, Mul): why is")
    assert list(kernel_lines(Optimization(after=AFTER))) == []


def test_equal_graphs_are_called_unchanged_and_no_others() -> None:
    same = Optimization(before=BEFORE, after=BEFORE, rewrites=align_nodes(BEFORE, BEFORE))
    assert headline(same) == "Grappler changed none of 8 nodes"
    assert headline(ascribed()) != headline(same)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Optimization(results=ResultsHeld(bit_equal=True)), "results with and without Grappler: equal to the last bit"),
        (
            Optimization(results=ResultsHeld(error=1e-7, leaf="y")),
            "results with and without Grappler: differ by 1.0e-07 of the largest value, in y",
        ),
        (
            Optimization(results=ResultsHeld(reason="it died")),
            "results with and without Grappler: not comparable: it died",
        ),
        (
            Optimization(repeatable=ResultsHeld(error=0.5, leaf="y"), results=ResultsHeld(error=0.5, leaf="y")),
            "results: not comparable: two calls of the same graph differ by 5.0e-01",
        ),
        (
            Optimization(eager=ResultsHeld(bit_equal=True), traced={"PartitionedCall": 1}),
            "results eager, where functions that it calls are graphs with Grappler,",
        ),
    ],
)
def test_what_is_said_of_results(found: Optimization, expected: str) -> None:
    (line,) = result_lines(found)
    assert line.startswith(expected)


def test_inlining_is_not_put_down_to_grappler() -> None:
    found = Optimization(before=BEFORE, traced={"PartitionedCall": 2, "StatelessWhile": 1, "Mul": 3})
    assert "2 PartitionedCall, StatelessWhile inlined or lowered by the runtime, which is not" in traced_line(found)
    kept = Optimization(before=(node("f", "PartitionedCall"),), traced={"PartitionedCall": 1})
    assert traced_line(kept).endswith("they run as 1; left as calls: PartitionedCall")
    assert traced_line(Optimization(before=BEFORE, traced={"Mul": 8})) == ""


def test_a_computed_constant_is_shown_with_its_size() -> None:
    before, after = (constant("a", "2.0"), node("mul", "Mul", "a", "a")), (constant("mul", "4.0"),)
    found = Optimization(
        before=before, after=after, rewrites=group_rewrites(explain_rewrites(align_nodes(before, after), before, after))
    )
    assert (
        constants_line(found) == "1 constant computed by Grappler, 4 B in all; the largest is mul, Const float32[] 4.0"
    )
    assert [row.what for row in rewrite_rows(found)] == ["Mul → Const float32[] 4.0"]


def test_both_graphs_are_drawn_with_what_changed_in_colour() -> None:
    before, boxes = draw("before", BEFORE, ascribed())
    assert boxes == 7 and "gone after" in before.source and before.source.count('fillcolor="#f2c9cf"') == 2
    after, boxes = draw("after", AFTER, ascribed())
    assert boxes == 5 and "Square" in after.source and "style=dashed" in after.source


def test_of_a_large_graph_only_what_changed_is_drawn() -> None:
    many = tuple(node(f"n{number}", "Mul") for number in range(400))
    assert draw("before", (*many, *BEFORE), Optimization(rewrites=(NodeRewrite(name="pow"),)))[1] == 1


def test_a_page_escapes_what_a_function_is_called(tmp_path: Path) -> None:
    before = (node(HOSTILE, HOSTILE, line=HOSTILE), node("r", "_Retval", HOSTILE))
    rewrites = explain_rewrites(align_nodes(before, ()), before, ())
    found = Optimization(name=HOSTILE, before=before, rewrites=group_rewrites(rewrites), failed={HOSTILE: HOSTILE})
    page = Path(write_optimization(found, tmp_path)[1][-1]).read_text()
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in shown(found)


def test_the_page_has_every_change(tmp_path: Path) -> None:
    page = Path(write_optimization(ascribed(needs=("arithmetic_optimization",)), tmp_path)[1][-1]).read_text()
    assert page.count("arithmetic_optimization (not made without)") >= len(ascribed().rewrites)
    assert "Pow(x, pow/y)" in page and "Square(x)" in page
