"""The command says what departs, and by its exit code whether anything does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compare import cli
from compare.commands import locate as command
from compare.prove import locating as run_locate
from compare.prove.locating import AGREES, DEPARTS, FAILED, NONE, Located


class TestCommand:
    @pytest.mark.parametrize(
        ("verdicts", "code"),
        [([AGREES, AGREES], 0), ([AGREES, NONE], 1), ([AGREES, DEPARTS], 1), ([FAILED, AGREES], 1)],
    )
    def test_the_exit_code_says_whether_anything_departs(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verdicts: list[str], code: int
    ) -> None:
        names: list[str] = ["forward", "gradients"]
        passes = {name: Located(verdict) for name, verdict in zip(names, verdicts, strict=True)}
        assert self.asked(monkeypatch, ["add", "--json"], passes) == code
        record = json.loads(capsys.readouterr().out)
        assert record["schema"] == 1
        assert [each["verdict"] for each in record["workloads"]["add"].values()] == verdicts

    def test_only_the_pass_asked_for_is_looked_at(self, monkeypatch: pytest.MonkeyPatch) -> None:
        choices: list[run_locate.Choice] = []
        self.asked(monkeypatch, ["add", "--pass", "gradients", "--size", "smoke"], {}, choices)
        assert choices == [run_locate.Choice(("gradients",), "smoke", None)]

    def test_several_passes_are_looked_at_in_their_order(self, monkeypatch: pytest.MonkeyPatch) -> None:
        choices: list[run_locate.Choice] = []
        self.asked(monkeypatch, ["add", "--pass", "step", "--pass", "forward"], {}, choices)
        assert choices == [run_locate.Choice(("forward", "step"), None, None)]

    def test_an_unknown_workload_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert cli.main(["locate", "no_such_workload"]) == 2
        assert capsys.readouterr().err.startswith("jaxport: expected the name of a workload")

    def test_what_stands_at_a_line_is_read_where_the_file_is_there(self, tmp_path: Path) -> None:
        (tmp_path / "m.py").write_text("a\n  b = 1\n")
        assert run_locate.text(f"{tmp_path}/m.py:2") == "b = 1"
        assert run_locate.text(f"{tmp_path}/m.py:9") == run_locate.text("/nowhere/m.py:1") == ""

    def asked(
        self,
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        found: dict[str, Located],
        choices: list[run_locate.Choice] | None = None,
    ) -> int:
        def instead(pool: object, workload: object, choice: run_locate.Choice, *_: object) -> dict[str, Located]:
            (choices if choices is not None else []).append(choice)
            return found

        class NoSides:
            def __init__(self, *_: object) -> None: ...
            def __enter__(self) -> NoSides:
                return self

            def __exit__(self, *_: object) -> None: ...

        monkeypatch.setattr(run_locate, "locate_workload", instead)
        monkeypatch.setattr(command, "Pool", NoSides)
        return cli.main(["locate", *arguments])
