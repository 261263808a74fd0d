"""`jaxport lookup gotchas`: few entries in full, many as a list, and an exit code that follows the gates."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from compare import cli
from compare.gotchas import trying
from compare.gotchas.trying import Attempt, Trial
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry

ENTRIES = _catalogue.entries()
DIFFER = sum(not entry.gotcha.is_control for entry in ENTRIES)


def test_one_entry_is_shown_with_both_ports_and_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lookup", "gotchas", "gelu"]) == 0
    shown = capsys.readouterr().out
    for expected in ("activations/gelu", "tf.nn.gelu(x)", "jax.nn.gelu(x)", "approximate=False", "semantics gate"):
        assert expected in shown
    assert shown.endswith("1 differ, 0 agree\n")


def test_an_entry_is_shown_with_what_it_refers_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lookup", "gotchas", "ragged_mean_of_all"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("tf helpers") < shown.index("SPLITS = (") < shown.index("def _to_ragged(x")
    assert shown.index("jax helpers") < shown.index("LENGTHS = np.array") < shown.index("def _sum(x")


def test_a_theme_is_a_list_and_all_of_them_are_counted_by_theme(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lookup", "gotchas", "activations"]) == 0
    listed = capsys.readouterr().out
    assert "activations/leaky_relu" in listed and "def leaky_relu" not in listed


def test_json_counts_what_differs_and_what_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lookup", "gotchas", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["counts"] == {"differ": DIFFER, "agree": len(ENTRIES) - DIFFER}
    assert len(record["gotchas"]) == len(ENTRIES)
    assert {entry["fails"] is None for entry in record["gotchas"] if entry["naive"] is None} == {True}


@pytest.mark.parametrize(("right", "code"), [(Attempt("pass", bit_equal=True), 0), (Attempt("fail", "rounding"), 1)])
def test_an_entry_that_comes_out_otherwise_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], right: Attempt, code: int
) -> None:
    def tried(entries: Sequence[Entry], *_: object) -> list[Trial]:
        return [Trial(entry, Attempt("fail", entry.gotcha.fails, "2e-4"), right) for entry in entries]

    monkeypatch.setattr(trying, "try_all", tried)
    assert cli.main(["lookup", "gotchas", "activations/gelu", "--run", "--json"]) == code
    record = json.loads(capsys.readouterr().out)
    assert record["counts"] == {
        "differ": 1, "agree": 0, "fixed": 1 - code, "bit_equal": 1 - code, "not_as_said": code,
    }  # fmt: skip
    assert record["gotchas"][0]["holds"] is not bool(code)
    assert cli.main(["lookup", "gotchas", "activations/gelu", "--run"]) == code
    assert ("2e-4" in capsys.readouterr().out) == bool(code)


def test_nothing_found_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lookup", "gotchas", "gleu"]) == 2
    assert "did you mean glu, gelu?" in capsys.readouterr().err
