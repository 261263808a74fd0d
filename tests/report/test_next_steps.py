"""After a run the report says what to do next, by a command that jaxport takes."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from pages import decoded

from compare import cli
from compare.record.envelope import SCHEMA
from compare.report import overviews
from compare.report.next_steps import next_steps

FUNCTIONS = ["jaxport", "run", "--tf", "my_tf.py:f", "--jax", "my_jax.py:f", "--input", "x=f32[B,128]", "--no-timing"]


def workload(verdict: str, **parts: Any) -> dict[str, Any]:
    gates = {"semantics": {"verdict": verdict, "message": "another formula"}}
    return {"parity": {"verdict": verdict, "gates": gates}, **parts}


def commands(command: list[str], **workloads: Any) -> list[str]:
    record = decoded({"schema": SCHEMA, "command": command, "workloads": workloads})
    return [step for step, answer in next_steps(record, overviews.overview(record)) if answer]


def test_a_failure_of_two_functions_is_located_with_their_inputs() -> None:
    assert commands(FUNCTIONS, f=workload("fail")) == [
        "jaxport locate --tf my_tf.py:f --jax my_jax.py:f --input 'x=f32[B,128]'"
    ]


def test_a_port_file_keeps_its_path_and_failures_come_before_what_passes() -> None:
    found = commands(["jaxport", "run", "ports/a.py", "b"], a=workload("fail"), b=workload("pass"))
    assert found == ["jaxport locate ports/a.py", "jaxport next ports/a.py"]


def test_a_port_file_of_another_name_keeps_its_path_and_its_size() -> None:
    command = ["jaxport", "run", "examples/feed_forward/port.py", "--size=smoke", "--parity-only"]
    assert commands(command, feed_forward=workload("fail"))[0] == (
        "jaxport locate examples/feed_forward/port.py --size smoke"
    )
    two = ["jaxport", "run", "a/port.py", "b/port.py"]
    assert commands(two, a=workload("fail"), b=workload("fail")) == [], "which file is whose is not known"


@pytest.mark.parametrize("option", [["-o", "my_port"], ["--out", "my_port"], ["--out=my_port"]])
def test_what_init_wrote_is_named_by_its_folder(option: list[str]) -> None:
    found = commands(["jaxport", "init", "model.py:build", *option], functional=workload("fail"))
    assert found == ["jaxport locate my_port/port.py", "jaxport next my_port/port.py"]


def test_options_with_an_equals_sign_and_sizes_of_dimensions_are_kept() -> None:
    command = ["jaxport", "run", "--tf=a.py:f", "--jax=b.py:f", "--input=x=f32[B,4]", "--dimension", "B=1..8"]
    assert commands(command, f=workload("fail")) == [
        "jaxport locate --tf a.py:f --jax b.py:f --input 'x=f32[B,4]' --dimension B=1..8"
    ]


def test_what_passes_is_timed_and_compared() -> None:
    assert commands(["jaxport", "run", "add"], add=workload("pass")) == ["jaxport bench add", "jaxport hlo add"]
    with_programs = workload("pass", alignment={"level": "algebraic"})
    assert commands(["jaxport", "run", "add"], add=with_programs) == ["jaxport bench add"]


def test_a_suite_that_fails_names_a_few_workloads() -> None:
    assert len(commands(["jaxport", "run"], **{f"w{number}": workload("fail") for number in range(9)})) == 6


@pytest.mark.parametrize("verdict", ["pass", "fail"])
@pytest.mark.parametrize(
    "command",
    [
        FUNCTIONS,
        ["jaxport", "run", "add"],
        [],
        ["jaxport", "init", "model.py:build", "-o", "my_port"],
        ["jaxport", "run", "x/port.py", "--size", "smoke", "--tf-python", "python3"],
    ],
)
def test_every_command_is_one_that_jaxport_takes(verdict: str, command: list[str]) -> None:
    for step in commands(command, add=workload(verdict)):
        program, *words = shlex.split(step)
        assert program == "jaxport"
        cli.parse_options(words)


def test_nothing_judged_asks_for_nothing() -> None:
    assert commands(["jaxport", "run", "add"], add={}) == []
