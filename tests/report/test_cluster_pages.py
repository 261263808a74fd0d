"""The pages and pictures of clusterings: what a program's names hold is text there, and nothing else."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from clusterings import graph, node, recorded

from compare.record.clustering_part import (
    NO_KERNEL,
    ClusteredGraph,
    Clustering,
    Clusterings,
    CompiledName,
    Launched,
    OneProgram,
)
from compare.report.cluster_pages import write_clusters, write_launch
from compare.report.cluster_pictures import draw
from compare.report.cluster_rows import launch_lines
from compare.report.page_console import print_page
from compare.report.pages import Page
from compare.report.terminal import PlainConsole

HOSTILE = '<script>alert(1)</script>\\N"\x1b[31m\u202e'


def shown(page: Page) -> str:
    console = PlainConsole(file=io.StringIO(), width=200)
    print_page(page, console)
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def test_the_picture_has_a_box_a_cluster_and_colours_what_is_outside() -> None:
    digraph, boxes = draw("f", recorded())
    assert digraph.source.count("subgraph cluster_") == 2 and boxes == 14
    assert "cluster_1 (5 nodes)" in digraph.source and "XLA has no kernel for it" in digraph.source


def test_a_large_graph_has_one_box_a_cluster() -> None:
    many = graph(*(node(f"n{number}", "Mul", "cluster_0") for number in range(400)), node("u", "Unique"))
    digraph, boxes = draw("f", many)
    assert boxes == 2 and "400 nodes" in digraph.source


def test_a_page_escapes_what_a_program_is_called(tmp_path: Path) -> None:
    named = graph(node(HOSTILE, HOSTILE, "", HOSTILE, NO_KERNEL), node("b", "Mul", "cluster_0"))
    record = Clusterings(clusterings=(Clustering(name=HOSTILE, graph=named),))
    data, paths = write_clusters(record, tmp_path)
    page = Path(paths[-1]).read_text()
    assert "<script>alert" not in page and "\x1b" not in page and "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in shown(data)


def test_the_console_says_what_is_outside_where_and_why(tmp_path: Path) -> None:
    clustering = Clustering(name="f", graph=recorded(), jit=OneProgram(reason="XLA has no kernel for PrintV2"))
    text = shown(write_clusters(Clusterings(clusterings=(clustering,)), tmp_path)[0])
    assert "f: 14 of 16 nodes in 2 clusters; 2 outside" in text
    assert "PrintV2: XLA has no kernel for it" in text and "model.py:8  tf.print(y)" in text
    assert "cluster_0 (at add) and cluster_1 (at mul_1) were not joined" in text
    assert "tf.function(jit_compile=True): none: XLA has no kernel for PrintV2" in text


def test_without_a_graph_nothing_is_claimed(tmp_path: Path) -> None:
    record = Clusterings(clusterings=(Clustering(name="f"),))
    data, paths = write_clusters(record, tmp_path)
    assert "nothing is known" in shown(data) and "nothing is known" in Path(paths[-1]).read_text()


@pytest.mark.parametrize(
    ("launched", "auto_jit", "expected"),
    [
        (Launched(exit_code=0), False, "XLA compiled nothing"),
        (Launched(exit_code=3), False, "the program failed with exit code 3"),
        (Launched(signal="SIGKILL"), False, "the program was ended by SIGKILL"),
        (Launched(graphs=(ClusteredGraph(),)), False, "--auto-jit switches autoclustering on"),
        (Launched(graphs=(ClusteredGraph(),)), True, "0 of 1 function have clusters"),
        (Launched(modules=("whole",)), False, "XLA compiled: 1 module dumped: whole"),
        (
            Launched(compiled={"__inference_f_1": CompiledName(times=2, seconds=0.5)}),
            False,
            "compiled whole, not by autoclustering: __inference_f_1, 2 times in 500 ms",
        ),
    ],
)
def test_what_is_said_of_a_launch(launched: Launched, auto_jit: bool, expected: str) -> None:
    assert any(expected in line for line in launch_lines(launched, auto_jit))


def test_the_functions_of_a_launch_stand_on_its_page(tmp_path: Path) -> None:
    launched = Launched(command=("python", "train.py"), exit_code=0, graphs=(recorded(),), modules=("cluster_0",))
    data, paths = write_launch(launched, tmp_path, auto_jit=False)
    page = Path(paths[-1]).read_text()
    assert "python train.py" in page and "__inference_print_in_the_middle" in page
    assert "14 of 16 nodes in 2 clusters" in shown(data)
