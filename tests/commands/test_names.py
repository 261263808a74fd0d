"""The names of commands: few at the top level, groups whose help names their members, old names that still run."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys

import pytest
from places import ROOT

from compare import cli
from compare.commands._names import COMMANDS, OLD_NAMES, TOP, Command, Group, module_of

GROUPS = {name: entry for name, entry in TOP.items() if isinstance(entry, Group)}
DEFAULTS = {name: group.default for name, group in GROUPS.items() if group.default}

OPERANDS = {
    "ablate": ["add"], "clusters": ["add"], "compare": ["1", "2"], "grappler": ["add"], "launch": ["--", "true", "--"],
    "profile": ["logs"], "recompiles": ["argmax", "--no-cures"], "requirements": ["jax"], "results": ["-o", "r.md"],
}  # fmt: skip
"""By old name, what the command needs at least."""

PAGE = (ROOT / "docs/command-line.md").read_text()


def test_a_new_user_can_survey_the_top_level() -> None:
    assert len(TOP) <= 25


def test_every_module_of_a_command_has_one_name() -> None:
    modules = [module_of(command).rpartition(".")[2] for command in COMMANDS]
    files = {path.stem for path in (ROOT / "compare/commands").glob("*.py") if not path.name.startswith("_")}
    assert len(modules) == len(files) and set(modules) == files


def help_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as caught:
        cli.main([*words, "--help"])
    assert caught.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    return " ".join(out.split())


@pytest.mark.parametrize("name", GROUPS)
def test_the_help_of_a_group_names_its_members_with_their_summaries(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = help_of([name], capsys)
    assert all(f" {member} {entry.summary}" in said for member, entry in GROUPS[name].members.items())
    assert f"{GROUPS[name].summary}: {', '.join(GROUPS[name].members)} " in help_of([], capsys)


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_group_with_a_default_is_called_by_its_own_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = help_of([name], capsys)
    assert said == help_of([name, DEFAULTS[name]], capsys)
    assert said.startswith(f"usage: jaxport {name} [options]") and f"usage: jaxport {name} {DEFAULTS[name]}" not in said
    assert cli.parse_options([name, "--debug"]) == cli.parse_options([name, DEFAULTS[name], "--debug"])


def test_an_operand_of_a_default_is_no_subcommand() -> None:
    assert cli.parse_options(["tune", "add", "ablate"]).workloads == ["add", "ablate"]
    assert cli.parse_options(["history", "./compare"]).command == "history show"
    assert cli.parse_options(["history", "compare", "1", "2"]).command == "history compare"


@pytest.mark.parametrize("old", OLD_NAMES)
def test_an_old_name_runs_the_same_and_says_the_new_one(
    old: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parsed_options: list[argparse.Namespace] = []
    monkeypatch.setattr(importlib.import_module(module_of(OLD_NAMES[old])), "main", parsed_options.append)
    assert old not in TOP
    operands = OPERANDS.get(old, [])
    assert cli.main([old, *operands]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        f'jaxport: "jaxport {old}" is now "jaxport {OLD_NAMES[old]}"; the old name goes in the next release\n',
    )
    assert cli.main([*OLD_NAMES[old].split(), *operands]) == 0
    assert capsys.readouterr() == ("", "")
    first, second = parsed_options
    assert first == second and first.command == OLD_NAMES[old]


@pytest.mark.process
@pytest.mark.parametrize(("arguments", "code"), [(["jax"], 0), (["torch"], 2)])
def test_an_old_name_ends_and_prints_the_same_in_a_process(arguments: list[str], code: int) -> None:
    old, new = (
        subprocess.run(
            [sys.executable, "-m", "compare", *words, *arguments],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            check=False,
        )
        for words in (["requirements"], ["list", "requirements"])
    )
    assert (old.returncode, old.stdout) == (new.returncode, new.stdout)
    assert old.returncode == code and bool(old.stdout) == (code == 0)
    line, *rest = old.stderr.splitlines()
    assert "is now" in line and rest == new.stderr.splitlines()


def test_the_page_lists_groups_and_old_names() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `jaxport ([\w ]+)` \|$", PAGE, re.MULTILINE)
    assert dict(rows) == OLD_NAMES
    groups = re.findall(
        r"^\| `jaxport (\w+)` \| ([`\w, -]+) \| (?:`jaxport \w+ (\w+)`|is refused) \|$", PAGE, re.MULTILINE
    )
    assert [(name, re.findall(r"[\w-]+", members), default) for name, members, default in groups] == [
        (name, list(group.members), group.default) for name, group in GROUPS.items()
    ]


def test_what_zsh_is_given_beside_shtabs_script_fits_it() -> None:
    script = cli._completion("zsh")
    for name, default in DEFAULTS.items():
        function = f"_shtab_jaxport_{name}"
        assert script.count(f"\n{function}() {{") == 2
        assert f"\n{function}_commands() {{" in script and f"\n{function}_{default}_options=(" in script


def test_a_command_is_no_group() -> None:
    assert all(isinstance(entry, Command) for entry in COMMANDS.values())
