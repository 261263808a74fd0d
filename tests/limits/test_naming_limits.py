"""Limits by name, and what is said of names that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compare import cli
from compare.errors import RequestError
from compare.limits.naming_limits import all_limits, choose


def test_a_theme_stands_for_its_limits_and_a_name_counts_once() -> None:
    limits = all_limits()
    of_theme = choose(["known_issues", "assertion"], limits)
    assert {limit.theme for limit in of_theme} == {"known_issues"} and len(of_theme) > 8
    assert [limit.name for limit in of_theme].count("assertion") == 1
    assert choose([], limits) == list(limits.values())


def test_a_name_that_is_none_is_one_line_with_the_nearest() -> None:
    with pytest.raises(RequestError, match="found 'uniqe': did you mean unique"):
        choose(["unique", "uniqe"], all_limits())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["lookup", "limits", "nothing_like_it"], "found 'nothing_like_it': `jaxport lookup limits` lists them"),
        (["lookup", "limits", "-o", "page.md"], "expected a NAME or --run with --out"),
        (["lookup", "limits", "unique", "-o", "."], "found a folder"),
        (["lookup", "limits", "unique", "--tf-python", "absent"], "--tf-python"),
        (["compilation", "clusters", "loop_over_a_tensr"], "did you mean loop_over_a_tensor?"),
        (
            ["compilation", "clusters", "NOTHING"],
            "`jaxport list` has the workloads, `jaxport lookup limits` the limits",
        ),
        (
            ["compilation", "grappler", "running_exampel"],
            "a port file or FILE.py:FUNCTION, found 'running_exampel': did you mean running",
        ),
        (["compilation", "grappler", "NOTHING"], "found 'NOTHING': `jaxport list` has the workloads"),
        (["compilation", "clusters", "unique"], "`jaxport lookup limits unique` runs that limit"),
        (
            ["compilation", "recompiles", "print_in_the_middle"],
            "`jaxport compilation clusters print_in_the_middle` runs that limit",
        ),
        (["compilation", "recompiles", "argmx"], "did you mean argmax"),
    ],
)
def test_what_cannot_be_carried_out_is_one_line(
    asked: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(asked) == 2
    lines = capsys.readouterr().err.splitlines()
    assert said in lines[-1] and len(lines) == 1


def test_the_list_runs_nothing_and_has_the_command_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lookup", "limits"]) == 0
    shown = capsys.readouterr().out
    assert all(limit.name in shown for limit in all_limits().values())
    assert cli.main(["lookup", "limits", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["limits"]
    assert {limit["name"]: limit["command"] for limit in listed}["argmax"] == "jaxport compilation recompiles argmax"
    assert all(limit["agrees"] is None and limit["ways"] == {} for limit in listed)
