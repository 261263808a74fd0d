"""The table of doors: what each cell names is there, and a test opens it; what is there has its cell."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType

import pytest
from places import ROOT

import jaxport
from compare.api.mcp_server import NAMES
from compare.api.tools import Tools
from compare.commands._names import COMMANDS, spell
from jaxport import _pytest_plugin

PAGE = ROOT / "docs/python-api.md"
DOORS = ("Python", "command line", "pytest", "MCP")
DASH = "\N{EN DASH}"
LOOP = "api/test_mcp_server.py::test_check_locate_edit_check_ends_in_a_proved_port"
REFUSED = "api/test_tools.py::test_what_an_agent_cannot_ask_for_is_refused_in_one_sentence"
TESTS: Mapping[str, str] = {
    "jaxport.check": "api/test_check.py::test_an_honest_port_passes_every_gate",
    "jaxport run": "run/test_main_pass.py::test_parity_alone_takes_no_pass",
    "port": "plugin/test_pytest_plugin.py::test_parity_alone_can_be_asked_for",
    "check": LOOP,
    "jaxport.locate": "api/test_doors.py::test_the_operation_to_blame_is_found_in_functions_of_this_process",
    "jaxport locate": "commands/test_locate_command.py::test_the_exit_code_says_whether_anything_departs",
    "locate": LOOP,
    "jaxport next": "ladder/test_next_command.py::test_a_port_whose_rungs_hold",
    "next": LOOP,
    "jaxport.bench": "api/test_bench.py::test_functions_of_a_module_are_timed_by_their_names",
    "jaxport bench": "run/test_main_pass.py::test_bench_times_the_pass_and_says_so_on_every_page",
    "port_benchmark": "plugin/test_pytest_plugin.py::test_a_port_stands_against_the_fastest_mode_of_the_original",
    "jaxport.compare_programs": "api/test_compare_programs.py::test_programs_that_differ_say_where",
    "jaxport hlo": "commands/test_hlo_command.py::test_two_files_are_aligned_at_every_level",
    "jaxport.doctor": "guide/test_guide.py::test_a_page_does_what_it_says",
    "jaxport doctor": "doctor/test_doctor_command.py::test_a_function_is_traced_and_its_lines_are_named",
    "doctor": REFUSED,
    "jaxport.write_port": "api/test_ports_written_from_python.py::"
    "test_a_model_of_this_process_is_ported_and_an_error_that_is_planted_in_the_port_fails",
    "jaxport init": "porting/test_init_command.py::test_a_file_is_written_and_kept_beside",
    "write_port": REFUSED,
    "jaxport.carry_weights": "api/test_check_weights.py::test_a_pair_is_judged_at_other_sizes",
    "jaxport weights": "weights/test_weights_command.py::test_weights_are_carried_loaded_and_brought_back",
    "jaxport lookup gotchas": "gotchas/test_gotchas_command.py::test_one_entry_is_shown_with_both_ports_and_the_reason",
    "gotchas": LOOP,
    "jaxport lookup ops": "commands/test_ops_command.py::test_few_operations_are_shown_in_full",
    "ops": LOOP,
}
"""By cell, a test that opens that door."""


def rows() -> list[dict[str, str]]:
    """The calls of each row by door, without what has none."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and "`" in line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in lines]
    return [{door: cell.strip("`") for door, cell in zip(DOORS, row, strict=True) if cell != DASH} for row in cells]


def calls(door: str) -> list[str]:
    return [row[door] for row in rows() if door in row]


@pytest.mark.parametrize("cell", [cell for row in rows() for cell in row.values()])
def test_a_cell_has_a_test_that_is_there(cell: str) -> None:
    file, _, name = TESTS[cell].partition("::")
    defined = ast.walk(ast.parse((ROOT / "tests" / file).read_text()))
    assert name in {node.name for node in defined if isinstance(node, ast.FunctionDef)}


def test_no_test_is_named_for_a_cell_that_is_not_there() -> None:
    assert set(TESTS) == {cell for row in rows() for cell in row.values()}


def test_every_public_function_has_its_cell() -> None:
    public = {name for name in jaxport._HOMES if isinstance(getattr(jaxport, name), FunctionType)}
    assert {f"jaxport.{name}" for name in public} == set(calls("Python"))


def test_every_tool_has_its_cell() -> None:
    assert sorted(calls("MCP")) == sorted(NAMES)
    methods = {name for name, _ in inspect.getmembers(Tools, inspect.isfunction) if not name.startswith("_")}
    assert methods == set(NAMES)


def test_commands_and_fixtures_of_the_table_are_there() -> None:
    assert set(calls("command line")) <= {spell(command) for command in COMMANDS}
    assert all(hasattr(_pytest_plugin, name) for name in calls("pytest"))


def test_functions_take_what_others_take_under_the_same_names() -> None:
    """One name everywhere: an argument that two functions have stands for the same thing."""
    check = inspect.signature(jaxport.check).parameters
    for function in (jaxport.locate, jaxport.compare_programs, jaxport.bench):
        taken = inspect.signature(function).parameters
        assert list(taken)[:3] == list(check)[:3]
        assert {name: taken[name].default for name in taken.keys() & check.keys()} == {
            name: check[name].default for name in taken.keys() & check.keys()
        }


def test_the_page_lists_every_public_name_of_the_api() -> None:
    page = Path(PAGE).read_text()
    own = {"ArraySpec", "Deviation", "Training", "Workload", "Model", "Parts"}
    missing = [name for name in jaxport._HOMES if name not in own and f":: jaxport.{name}\n" not in page]
    assert missing == []
