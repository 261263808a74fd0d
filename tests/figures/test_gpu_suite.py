"""`jaxport bench gpu-suite`: what is kept, what is left, and what a machine that is taken away leaves behind."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from places import ROOT

from compare import cli
from compare.commands import gpu_suite as command
from compare.errors import RequestError
from compare.figures import gpu_runs, kept_rows
from compare.figures.all_rows import ROWS, choose
from compare.figures.gpu_runs import GATES_FIGURE, TASKS, Session, Task, find_open, find_recording, run_suite
from compare.figures.holding_figures import judge_rows
from compare.progress import Silent
from compare.record.envelope import SCHEMA, Environment
from compare.record.figure_part import Figure, MeasuredExperiment, MeasuredRow
from compare.record.vocabulary import FAIL, PASS
from compare.report.verdicts import INCOMPLETE

ADD, SOFTMAX = Task("add", "smoke", ("S4",)), Task("softmax", "smoke")
HERE = Environment(cpu="a processor", sides={"jax": {"device": "gpu a"}})


def kept(*experiments: MeasuredExperiment) -> MeasuredRow:
    return MeasuredRow(SCHEMA, "gpu", HERE, experiments)


def ran(task: Task, reason: str = "") -> MeasuredExperiment:
    figures = () if reason else (Figure(GATES_FIGURE, "", 5), Figure("kernels of jax/jit", "", 1))
    return MeasuredExperiment(("jaxport run",), "2026-11-26T14:06:08+00:00", 1.0, 0.5, figures, reason, task.name)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    recordings = tmp_path / "recordings"
    (recordings / "2").mkdir(parents=True)
    for task in (ADD, SOFTMAX):
        (recordings / "2" / task.recording).touch()
    return Session(tmp_path, recordings, "cpu", time.monotonic() + 600, Silent())


class Runs:
    """Runs that end as planned, without a process: a return code each, or None for one that is cut off."""

    def __init__(self, *codes: int | None) -> None:
        self.codes = iter(codes)
        self.words: list[Sequence[str]] = []

    def __call__(
        self, words: Sequence[str], folder: Path, timeout_s: float | None, lock: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        self.words.append(words)
        code = next(self.codes)
        if code is None:
            raise subprocess.TimeoutExpired(words, timeout_s or 0)
        if code in (0, 1):
            out = Path(words[words.index("-o") + 1])
            out.mkdir(exist_ok=True)
            (out / "results.json").write_text(json.dumps(record(words[words.index("run") + 1])))
        return subprocess.CompletedProcess(words, code, "", "jaxport: planted\n")


def record(name: str, device: str = "gpu a") -> dict[str, object]:
    gates = {"structure": {"verdict": "pass"}, "semantics": {"verdict": "pass"}}
    part = {"size": "smoke", "parity": {"gates": gates}, "profile": {"jax/jit": {"kernels": 3}}}
    return {
        "schema": SCHEMA, "workloads": {name: part},
        "environment": {"cpu": "a processor", "sides": {"jax": {"device": device}}},
    }  # fmt: skip


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    planned = Runs()
    monkeypatch.setattr(gpu_runs, "run_program", planned)
    return planned


def test_each_run_is_kept_as_soon_as_it_ends_and_the_cut_off_one_is_continued(session: Session, runs: Runs) -> None:
    runs.codes = iter([0, None])
    first = run_suite((ADD, SOFTMAX), session)
    assert [one.task for one in first.experiments] == ["add-smoke"]
    assert kept_rows.load_row("gpu", session.folder) == first
    runs.codes = iter([0])
    second = run_suite((ADD, SOFTMAX), session)
    assert [one.task for one in second.experiments] == ["add-smoke", "softmax-smoke"]
    assert all("--resume" in words for words in runs.words)
    assert run_suite((ADD, SOFTMAX), session) == second


def test_a_failed_run_says_why_loses_nothing_else_and_is_tried_again_last(session: Session, runs: Runs) -> None:
    runs.codes = iter([2, 0])
    result = run_suite((ADD, SOFTMAX), session)
    reasons = {one.task: one.reason for one in result.experiments}
    assert "ended with 2 and said: planted" in reasons["add-smoke"] and not reasons["softmax-smoke"]
    assert find_open((ADD, SOFTMAX, *TASKS[:1]), result) == [TASKS[0], ADD]


def test_what_was_read_is_a_figure_and_what_is_missing_a_reason(session: Session, runs: Runs) -> None:
    runs.codes = iter([1])
    (experiment,) = run_suite((ADD,), session).experiments
    figures = {figure.name: figure for figure in experiment.figures}
    assert figures[GATES_FIGURE].value == 2 and figures["kernels of jax/jit"].value == 3
    assert figures["time of jax/jit"].reason == "the record has no timing"
    assert experiment.commands == (
        "jaxport run add --size smoke --parity-size smoke --modes tf/jit jax/eager jax/jit --tf-recorded "
        "add-smoke.side --device cpu --pairs 5 --budget 0.8 --no-alignment",
    )


def test_a_run_without_its_recording_is_left(session: Session, runs: Runs) -> None:
    assert run_suite((Task("bert", "smoke"),), session).experiments == () and runs.words == []


def test_no_run_begins_without_time_to_stop(session: Session, runs: Runs) -> None:
    assert run_suite((ADD,), replace(session, end=time.monotonic() + 15)).experiments == () and runs.words == []


def test_figures_of_two_machines_are_not_mixed(session: Session, runs: Runs) -> None:
    elsewhere = replace_device("gpu b")
    kept_rows.keep(elsewhere, session.folder)
    runs.codes = iter([0])
    with pytest.raises(RequestError, match=r"expected figures of gpu b .* found gpu a .*: choose another --out"):
        run_suite((SOFTMAX,), session)
    assert kept_rows.load_row("gpu", session.folder) == elsewhere


def replace_device(device: str) -> MeasuredRow:
    return MeasuredRow(SCHEMA, "gpu", Environment(cpu="a processor", sides={"jax": {"device": device}}), (ran(ADD),))


def test_two_suites_do_not_share_a_folder(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_runs, "_STOPPING_S", 0.0)
    with (
        gpu_runs._hold_folder(session.folder),
        pytest.raises(RequestError, match="expected no other suite"),
        gpu_runs._hold_folder(session.folder),
    ):
        pass


def test_a_damaged_file_of_figures_is_one_line(session: Session) -> None:
    (session.folder / "gpu.json").write_text('{"row": "gpu", "experiments": 7}')
    with pytest.raises(kept_rows.KeptError, match="experiments"):
        run_suite((ADD,), session)


def test_recordings_fill_loads_in_order_and_a_larger_one_is_refused(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"a": 40, "b": 30, "c": 20, "d": 61}
    tasks = tuple(Task(name, "smoke") for name in sizes)

    def write(words: Sequence[str], *_: object) -> subprocess.CompletedProcess[str]:
        path = Path(words[words.index("-o") + 1])
        path.write_bytes(bytes(sizes[path.name[0]]))
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(gpu_runs, "run_program", write)
    monkeypatch.setattr(gpu_runs, "MOST_CARRIED", 60)
    (missing,) = gpu_runs.record_sides(tasks, session, "gpu")
    assert missing.startswith("d-smoke: it takes")
    places = {task.workload: find_recording(task, session.recordings) for task in tasks}
    loads = {name: path and path.parent.name for name, path in places.items()}
    assert loads == {"a": "1", "b": "2", "c": "1", "d": None}


def test_the_verdict_says_what_is_left_or_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TASKS", (ADD, SOFTMAX))
    assert command.conclude(kept(ran(ADD), ran(SOFTMAX))).verdict == PASS
    assert command.conclude(kept(ran(ADD), ran(SOFTMAX, "lost"))).verdict == INCOMPLETE
    wrong = replace_figures(ran(SOFTMAX), Figure(GATES_FIGURE, reason="semantics does not hold"))
    conclusion = command.conclude(kept(ran(ADD), wrong))
    assert conclusion.verdict == FAIL and "softmax-smoke" in conclusion.sentence


def replace_figures(experiment: MeasuredExperiment, *figures: Figure) -> MeasuredExperiment:
    return MeasuredExperiment(experiment.commands, experiment.date, 1.0, 0.5, figures, "", experiment.task)


def test_figures_stand_beside_the_rows_that_they_belong_to() -> None:
    figures = judge_rows(choose(["S1", "S2"]), {}, kept(ran(TASKS[0]), ran(TASKS[2], "lost")))
    first, second = figures.rows
    assert [figure.value for figure in first.stated[-1].ours] == [5, 1]
    assert first.stated[-1].why == "running_example at size paper on gpu a of a host with a processor, 2026-11-26"
    assert all(stated.documents for stated in second.stated)


def test_every_row_of_a_task_exists() -> None:
    assert {row for task in TASKS for row in task.rows} <= {row.name for row in ROWS}


def test_a_suite_without_recordings_is_incomplete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "gpu-suite", "-o", str(tmp_path), "--device", "cpu", "--recordings", "none"]) == 1
    assert "incomplete 0 of 24 runs are kept" in capsys.readouterr().out


def test_the_kept_figures_are_those_of_the_page_of_that_run() -> None:
    row = kept_rows.load_row("gpu", ROOT / "docs/results/figures")
    assert row is not None
    page = (ROOT / "docs/results/gpu.md").read_text().partition("## running_example (run 2)")[2]
    figures = {figure.name: figure for figure in row.experiments[0].figures}
    ratio = figures["jax/jit faster than jax/eager"]
    assert ratio.value is not None and ratio.ci95 is not None
    low, high = (1 / end for end in reversed(ratio.ci95))
    assert f"| jax/eager | faster | 2.34 ms | {1 / ratio.value:.3f}x | [{low:.3f}, {high:.3f}] |" in page
    assert "| running_example, 16384 x 16384 | pass | 3 | 3 |" in (ROOT / "docs/gpu.md").read_text()
    assert figures["kernels of jax/jit"].value == 3
