"""The commands around `run`: what they ask of it, and what they make of saved runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from history_records import measured, record
from interpreters import ABSENT, JAX_AS_TF, interpreter

from compare import cli
from compare.bench.history import store
from compare.run import run
from compare.run.run import Request
from compare.sides.settings import available_processors

PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="adds", tf="functions.py:adds", jax="functions.py:adds", inputs={"x": ArraySpec((3,))}, builds=False
)
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Request]:
    """What was asked of a run; the record that comes back is made by hand."""
    found: list[Request] = []

    def instead(request: Request, _: object) -> dict[str, Any]:
        found.append(request)
        return record(measured(1))

    monkeypatch.setattr(run, "run", instead)
    monkeypatch.chdir(tmp_path)
    return found


def test_bench_times_on_all_threads_and_on_one_with_everything_beside(asked: list[Request]) -> None:
    cli.main(["bench", "mnist_mlp", "--batches", "64,32,64", "--memory-limit", "2M", "--precision", "3%"])
    (request,) = asked
    main, *others = request.plans
    assert [plan.threads for plan in request.plans] == list(dict.fromkeys([available_processors(), 1]))
    assert (main.pairs, main.most_pairs, main.precision, main.peers) == (12, 24, 0.03, True)
    assert not any(plan.peers for plan in others)
    extras = request.extras
    assert (extras.limits, extras.phases, extras.peers) == (True, 3, True)
    assert (extras.batches, extras.memory_limit) == ((64, 32), 2 << 20)


def test_bench_leaves_out_what_is_not_wanted(asked: list[Request]) -> None:
    cli.main(["bench", "add", "--threads", "1", "--phases", "0", "--no-limits", "--no-peers", "--most-pairs", "12"])
    (request,) = asked
    assert [(plan.threads, plan.most_pairs) for plan in request.plans] == [(1, 12)]
    assert (request.extras.limits, request.extras.phases, request.extras.peers) == (False, 0, False)


def test_run_times_on_all_threads_or_not_at_all(asked: list[Request]) -> None:
    cli.main(["run", "add"])
    cli.main(["run", "add", "--no-timing"])
    first, second = asked
    assert [(plan.pairs, plan.most_pairs, plan.threads) for plan in first.plans] == [(8, 8, available_processors())]
    assert second.plans == ()


def test_a_saved_run_is_found_by_its_number(
    asked: list[Request], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["bench", "add", "--save"])
    kept = store.find("1", tmp_path / ".jaxport/history")
    assert json.loads(kept.read_text()) == json.loads((tmp_path / "jaxport-report/results.json").read_text())
    assert "kept as .jaxport/history/0001-" in capsys.readouterr().err


def saved(folder: Path, slowdowns: Sequence[float]) -> None:
    """A history of runs whose port is so much slower than it was."""
    for number, slowdown in enumerate(slowdowns):
        store.save(record(measured(number, slowdown), minute=number), folder / ".jaxport/history")


@pytest.mark.parametrize(
    ("slowdowns", "runs", "code", "verdict"),
    [
        ((0, 0.3), ("1", "2"), 0, "regressed, not confirmed"),
        ((0, 0.3, 0.3), ("last~2", "last~1", "last"), 1, "regression confirmed"),
        ((0, 0.3, 0), ("1", "2", "3"), 0, "unchanged"),
    ],
)
def test_compare_fails_only_where_a_regression_recurs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    slowdowns: Sequence[float],
    runs: Sequence[str],
    code: int,
    verdict: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, slowdowns)
    assert cli.main(["compare", *runs]) == code
    assert verdict in capsys.readouterr().out
    assert cli.main(["compare", *runs, "--json"]) == code
    assert json.loads(capsys.readouterr().out)[0]["verdict"] == verdict


def test_unlike_runs_are_refused_with_every_key_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, (0,))
    other = record(measured(1))
    other["environment"]["cpu"] = "another"
    other["environment"]["sides"]["jax"]["jax"] = "0.11.0"
    (tmp_path / "other.json").write_text(json.dumps(other))
    assert cli.main(["compare", "1", "other.json"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cpu" in line and "another" in line and "0.11.0" in line


def test_history_draws_every_run_and_judges_the_last_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, (0, 0, 0.3, 0.3))
    assert cli.main(["history"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == ".jaxport/history/trend.html"
    assert "<svg" in (tmp_path / ".jaxport/history/trend.html").read_text()


def test_results_are_a_page_of_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, (0,))
    assert cli.main(["results", "last", "-o", "docs/results.md"]) == 0
    page = (tmp_path / "docs/results.md").read_text()
    assert "AMD EPYC" in page and "jax/jit" in page


def test_calibrate_counts_what_identical_code_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three pairs give no interval: nothing is called, and the exit code says so."""
    assert calibrated(tmp_path, monkeypatch, JAX_AS_TF) == 1
    kept = json.loads((tmp_path / "c.json").read_text())
    assert kept["modes"].keys() == {"tf/jit", "jax/jit"} and kept["failures"] == []
    for mode in kept["modes"].values():
        assert mode["planted"] == {"+5 %": 1, "+10 %": 1} and mode["called"] == {"+5 %": 0, "+10 %": 0}
    assert "1/1" in capsys.readouterr().out


def test_calibrate_fails_and_says_why_where_a_side_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrated(tmp_path, monkeypatch, ABSENT) == 1
    assert json.loads((tmp_path / "c.json").read_text())["modes"].keys() == {"jax/jit"}
    assert "jaxport: tf: timing: import TensorFlow: expected TensorFlow" in capsys.readouterr().err


def calibrated(folder: Path, monkeypatch: pytest.MonkeyPatch, tf: str) -> int:
    """One run of a port of JAX functions, the TensorFlow side by another interpreter."""
    monkeypatch.chdir(folder)
    (folder / "functions.py").write_text("def adds(x): return x + 1\n")
    (folder / "port.py").write_text(PORT)
    asked = ["calibrate", "port.py", "--runs", "1", "--pairs", "3", "--most-pairs", "3", "--budget", "0.05"]
    return cli.main([*asked, "--tf-python", interpreter(folder, tf), "-o", "c.json"])
