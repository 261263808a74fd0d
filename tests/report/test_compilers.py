"""What two compilers made of two programs, as lists on a page."""

from __future__ import annotations

import pytest
from pages import workload_of

from compare.report.compilers import of_pair, of_workload
from compare.report.numbers import MISSING

PAIR = {
    "compilers": {
        "frontend": [
            {"kind": "operation", "text": "tf: convert", "sources": []},
            {"kind": "rule", "text": "powers: tf 1", "sources": ["model.py:3"]},
        ],
        "compiler": [],
        "partitions": ["jax@jax's fusion does what is 3 kernels in tf@tf"],
    },
    "passes": {"lines": ["first equal after algsimp"], "steps": []},
    "donation": {
        "tf": {"holds": True, "donated": 4, "bytes_in_place": 2048, "bytes_missed": 0, "missed": []},
        "jax": {
            "holds": False, "donated": 4, "bytes_in_place": 1024, "bytes_missed": 1024,
            "missed": ["weight kernel: donated, not overwritten"],
        },
    },
}  # fmt: skip


def test_every_part_is_a_group_in_the_order_of_the_question() -> None:
    assert [group.title for group in of_pair(PAIR)] == ["Frontend", "Compiler", "Kernels", "Pass by pass", "Donation"]


def test_operations_are_left_to_the_frontier() -> None:
    frontend, compiler, *_ = of_pair(PAIR)

    assert [(item.kind, item.sources) for item in frontend.items] == [("rule", ("model.py:3",))]
    assert compiler.items == () and compiler.none == "no difference"


def test_programs_in_which_nothing_differs_say_so() -> None:
    made = of_pair({"compilers": {"frontend": [], "compiler": [], "partitions": []}})

    assert [(group.title, group.items, group.none) for group in made] == [
        ("Frontend", (), "no difference"),
        ("Compiler", (), "no difference"),
        ("Kernels", (), "no difference"),
    ]


def test_what_was_donated_in_vain_is_named() -> None:
    texts = [f"{item.kind}: {item.text}" for item in of_pair(PAIR)[-1].items]

    assert texts == [
        "tf: 4 arrays donated: all donated arrays are overwritten; 2.00 KiB updated in place",
        "jax: 4 arrays donated: 1 are not overwritten; 1.00 KiB updated in place",
        "jax: weight kernel: donated, not overwritten",
    ]


@pytest.mark.parametrize("holds", [{}, {"holds": None}])
def test_a_donation_without_a_verdict_is_not_told_as_one_that_holds_or_fails(holds: dict[str, None]) -> None:
    (group,) = of_pair({"donation": {"tf": {"donated": 4, **holds}}})

    assert group.items[0].text == f"4 arrays donated: not known whether all are overwritten; {MISSING} updated in place"


def test_a_workload_of_a_run_keeps_its_donation_with_its_alignment() -> None:
    (group,) = of_workload(workload_of({"alignment": {"donation": PAIR["donation"]}}))

    assert group.title == "Donation"


def test_kernels_come_with_time_share_and_lines_and_small_ones_in_a_row() -> None:
    kernel = {"name": "fusion", "seconds": 0.002, "calls": 1, "share": 0.8, "opcode": "fusion", "sources": ["m.py:3"]}
    run = {"first": 1, "names": ["add", "multiply"], "seconds": 2e-6, "sources": ["m.py:4", "m.py:5"]}
    longest, small = of_workload(workload_of({"compiled": {"jax@jax": {"times": [kernel], "small_runs": [run]}}}))

    assert (longest.title, small.title) == ("Time in jax@jax", "Small kernels in jax@jax")
    assert [(item.kind, item.text, item.sources) for item in longest.items] == [
        ("2.00 ms", "fusion, 80 % of the time", ("m.py:3",))
    ]
    assert [(item.text, item.sources) for item in small.items] == [("add, multiply", ("m.py:4", "m.py:5"))]


def test_kernels_of_a_training_step_stand_under_their_phase() -> None:
    times = [
        {"name": "dot", "seconds": 0.006, "share": 0.6, "phase": "backward"},
        {"name": "add", "seconds": 0.003, "share": 0.3, "phase": "forward"},
        {"name": "copy", "seconds": 0.001, "share": 0.1},
    ]
    *phases, _ = of_workload(workload_of({"compiled": {"jax@jax": {"times": times}}}))
    assert [(group.title, len(group.items)) for group in phases] == [
        ("Time in jax@jax, backward: 6.00 ms, 60 %", 1),
        ("Time in jax@jax, forward: 3.00 ms, 30 %", 1),
        ("Time in jax@jax, phase unknown: 1.00 ms, 10 %", 1),
    ]


def test_what_was_not_looked_at_is_left_out_and_what_failed_says_why() -> None:
    assert of_workload(workload_of({})) == ()
    (group,) = of_pair({"compilers": {"reason": "expected a module tf@tf, found none"}})
    assert [item.text for item in group.items] == ["expected a module tf@tf, found none"]
