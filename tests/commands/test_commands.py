"""The commands around `run`: what they ask of it, and what they make of saved runs."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from history_records import measured, record
from interpreters import ABSENT, JAX_AS_TF, interpreter
from pages import decoded
from places import DATA

from compare import cli
from compare.commands._option_types import thread_counts
from compare.history import store
from compare.plain_json import to_json
from compare.report import tables
from compare.run import recording_sides, whole_run
from compare.run.whole_run import Request, RunResult
from compare.sides import mapped, wire
from compare.sides.recorded import RecordedSide
from compare.sides.settings import available_processors
from compare.writing import PARTIAL, UnwrittenError
from workloads.core.modes import JAX_RETAINED, JAX_SYNCHRONOUS

FULL = DATA / "record_full.json"
PAIR = {"name": "add", "view": {}, "pictures": {}, **dict.fromkeys(("compilers", "compiled", "passes", "donation"))}

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

    def instead(request: Request, _: object, **__: object) -> RunResult:
        found.append(request)
        return RunResult(decoded(record(measured(1))))

    monkeypatch.setattr(whole_run, "run", instead)
    monkeypatch.chdir(tmp_path)
    return found


def test_bench_times_on_all_threads_and_on_one_with_everything_beside(asked: list[Request]) -> None:
    options = ["--batches", "64,32,64", "--memory-limit", "2M", "--precision", "3%", "--thorough"]
    cli.main(["bench", "mnist_mlp", *options])
    (request,) = asked
    main, *others = request.plans
    assert [plan.threads for plan in request.plans] == list(dict.fromkeys([available_processors(), 1]))
    assert (main.pairs, main.most_pairs, main.precision, main.peers) == (12, 24, 0.03, True)
    assert not any(plan.peers for plan in others)
    extras = request.extras
    assert (extras.limits, extras.phases, extras.peers) == (True, 3, True)
    assert (extras.batches, extras.memory_limit) == ((64, 32), 2 << 20)


THREADS, PHASES = "other numbers of threads (--threads all,1)", "the phases of a start (--phases 3)"


@pytest.mark.parametrize(
    ("options", "threads", "phases", "omissions"),
    [
        ([], "all", 0, [THREADS, PHASES]),
        (["--phases", "0"], "all", 0, [THREADS]),
        (["--threads", "all"], "all", 0, [PHASES]),
        (["--phases", "3", "--threads", "1"], "1", 3, []),
        (["--thorough"], "all,1", 3, []),
        (["--thorough", "--phases", "0", "--threads", "1"], "1", 0, []),
    ],
)
def test_bench_names_what_it_leaves_out_where_nobody_chose_so(
    asked: list[Request],
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    threads: str,
    phases: int,
    omissions: list[str],
) -> None:
    cli.main(["bench", "mnist_mlp", *options])
    (request,) = asked
    assert [plan.threads for plan in request.plans] == thread_counts(threads) and request.extras.phases == phases
    recorded = json.loads(Path("jaxport-report/results.json").read_text())
    assert recorded["omissions"] == omissions
    line = f"not measured: {'; '.join(omissions)}"
    assert (line in capsys.readouterr().out) == bool(omissions)
    assert (line.capitalize() in Path("jaxport-report/report.html").read_text()) == bool(omissions)


def test_bench_times_with_kept_memory_on_all_threads_alone_and_only_where_glibc_is(
    asked: list[Request], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: ("glibc", "2.36"))
    cli.main(["bench", "add", "--threads", "2,1", "--allocator", "retain"])
    (request,) = asked
    assert [plan.other_processes for plan in request.plans] == [[JAX_RETAINED], ()]
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    assert cli.main(["bench", "add", "--allocator", "retain"]) == 2
    assert "expected glibc for --allocator retain, found another C library: drop it" in capsys.readouterr().err


def test_bench_times_calls_that_no_other_thread_is_handed_on_all_threads_alone_and_only_on_a_cpu(
    asked: list[Request], capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["bench", "add", "--threads", "2,1", "--dispatch", "synchronous"])
    (request,) = asked
    assert [plan.other_processes for plan in request.plans] == [[JAX_SYNCHRONOUS], ()]
    assert cli.main(["bench", "add", "--dispatch", "synchronous", "--device", "gpu"]) == 2
    assert "expected a CPU with --dispatch synchronous, found --device gpu: drop it" in capsys.readouterr().err


def test_bench_leaves_out_what_is_not_wanted(asked: list[Request]) -> None:
    cli.main(["bench", "add", "--threads", "1", "--phases", "0", "--no-limits", "--no-peers", "--max-pairs", "12"])
    (request,) = asked
    assert [(plan.threads, plan.most_pairs) for plan in request.plans] == [(1, 12)]
    assert (request.extras.limits, request.extras.phases, request.extras.peers) == (False, 0, False)


def test_run_times_on_all_threads_or_not_at_all(asked: list[Request]) -> None:
    cli.main(["run", "add"])
    cli.main(["run", "add", "--no-timing"])
    first, second = asked
    assert [(plan.pairs, plan.most_pairs, plan.threads) for plan in first.plans] == [(7, 7, available_processors())]
    assert second.plans == ()


def test_a_saved_run_is_found_by_its_number(
    asked: list[Request], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["bench", "add", "--save"])
    kept = store.find("1", tmp_path / ".jaxport/history")
    assert json.loads(kept.read_text()) == json.loads((tmp_path / "jaxport-report/results.json").read_text())
    assert "saved as .jaxport/history/0001-" in capsys.readouterr().err


# A disk that is full


def full(monkeypatch: pytest.MonkeyPatch, refused: Callable[[Path], bool]) -> None:
    """From here on no file that is refused can be written."""
    replace = os.replace

    def instead(source: str, target: Path) -> None:
        if refused(Path(target)):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(os, "replace", instead)


def kept_elsewhere(error: str) -> dict[str, Any]:
    """The record that a line says is kept; it is removed."""
    (path,) = (Path(line.rpartition(" ")[2]) for line in error.splitlines() if "results kept as" in line)
    found = json.loads(path.read_text())
    shutil.rmtree(path.parent)
    return found


@pytest.mark.parametrize("file", ["results.json", "report.html", "hlo.json", ".jaxport/history/0001-"])
def test_a_full_disk_is_named_and_what_was_judged_is_not_lost(
    asked: list[Request], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    """Told apart by what is written there: the file itself, or another after the record."""
    monkeypatch.setattr(whole_run, "run", lambda *_: RunResult(decoded(record(measured(1))), (PAIR,)))
    full(monkeypatch, lambda path: file in str(path) and tmp_path in (tmp_path / path).parents)
    assert cli.main(["bench", "add", "--save", "--thorough"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(rf"jaxport: expected to write .*{file}.*, found No space left on device: make room, or", err)
    expected = to_json(decoded(record(measured(1))))
    found = (
        kept_elsewhere(err) if file == "results.json" else json.loads(Path("jaxport-report/results.json").read_text())
    )
    assert found == expected
    assert not list(tmp_path.rglob(f"{PARTIAL}*"))


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_where_no_disk_takes_the_record_it_is_printed(
    asked: list[Request], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], as_json: list[str]
) -> None:
    full(monkeypatch, lambda path: True)
    assert cli.main(["run", "add", *as_json]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == to_json(decoded(record(measured(1))))
    assert "jaxport-report/results.json, found No space left on device" in err and "results kept" not in err


@pytest.mark.process
def test_a_recorded_side_is_kept_where_its_place_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recording_sides, "record_side", lambda *_: [])
    full(monkeypatch, lambda path: path.name == "x.side" and tmp_path in (tmp_path / path).parents)
    asked = ["record", "add", "--side", "tf", "-o", "x.side", "--python", interpreter(tmp_path, JAX_AS_TF)]
    assert cli.main(asked) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "results kept as" in line)
    path = Path(line.rpartition(" ")[2])
    assert RecordedSide("tf", path).call("environment", {}).value
    shutil.rmtree(path.parent)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")
def test_a_disk_that_is_really_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no mount here")
    try:
        assert cli.main(["report", str(FULL), "-o", str(small / "out")]) == 2
        assert cli.main(["report", "markdown", str(FULL), "-o", str(small / "ok.md")]) == 0
        with pytest.raises(UnwrittenError, match=r"small/x, found a disk that took less"):
            mapped.save({"x": np.zeros(1 << 16)}, small / "x")
        with pytest.raises(UnwrittenError, match=r"small/y.*No space left on device"):
            wire.save_arrays({"y": np.zeros(1 << 16)}, small / "y")
        left = {path.name for path in small.rglob("*")}
    finally:
        subprocess.run(["umount", small], check=True)
    assert "small/out/report.html, found No space left on device: make room" in capsys.readouterr().err
    assert {"ok.md"} <= left and not {"report.html"} & left


# Nothing is written before everything was read


@pytest.mark.parametrize(
    "command", [["report", "r.json", "-o", "new/out"], ["report", "markdown", "r.json", "-o", "new/r.md"]]
)
def test_a_record_that_cannot_be_shown_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for place in (["environment"], ["workloads", "mnist_mlp", "timing", "modes"], ["workloads", "mnist_mlp", "parity"]):
        broken = json.loads(FULL.read_text())
        part = broken
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = 7
        monkeypatch.setattr(tables, "modes", raising(ValueError("no such mode")))
        (tmp_path / "r.json").write_text(json.dumps(broken))
        assert cli.main(command) == 2
        assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert capsys.readouterr().out == ""


def raising(error: Exception) -> Callable[..., Any]:
    def instead(*_: object) -> None:
        raise error

    return instead


IN_THE_WAY = {
    "a dangling link": "a broken symbolic link",
    "a pipe": "a device, pipe or socket",
    "n" * 300: "a name that is too long",
}


@pytest.mark.parametrize("name", IN_THE_WAY, ids=lambda name: name[:9])
def test_what_is_in_the_way_is_refused_before_anything_is_asked(
    asked: list[Request], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "a dangling link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "a pipe")
    (tmp_path / "r.json").write_text(FULL.read_text())
    files = [
        ["record", "add", "--side", "jax"],
        ["report", "markdown", "r.json"],
        ["tune", "add"],
        ["bench", "calibrate", "add"],
    ]
    folders = [["run", "add"], ["bench", "add"], ["hlo", "add"], ["report", "r.json"], ["bugreport", "add"]]
    before = sorted(path.name for path in tmp_path.iterdir())
    for command in (*files, *folders):
        assert cli.main([*command, "-o", name]) == 2
        out, err = capsys.readouterr()
        (line,) = err.splitlines()
        assert line.startswith("jaxport: expected ") and len(line) < 2000
        assert out == "" and (IN_THE_WAY[name] in line or command in folders)
    for command in (["run", f"{name}.py"], ["report", name], ["replay", name], ["hlo", f"{name}.py"], ["dump", name]):
        if "pipe" not in name:
            assert cli.main(command) == 2
            assert len(capsys.readouterr().err.splitlines()) == 1
    assert asked == [] and sorted(path.name for path in tmp_path.iterdir()) == before


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
    assert cli.main(["history", "compare", *runs]) == code
    assert verdict in capsys.readouterr().out
    assert cli.main(["history", "compare", *runs, "--json"]) == code
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
    assert cli.main(["history", "compare", "1", "other.json"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cpu" in line and "another" in line and "0.11.0" in line


def test_history_draws_every_run_and_judges_the_last_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, (0, 0, 0.3, 0.3))
    assert cli.main(["history"]) == 1
    page, last = capsys.readouterr().out.splitlines()[-2:]
    assert page == ".jaxport/history/trend.html"
    assert last == "fail 1 confirmed regression in 1 ratio"
    assert "<svg" in (tmp_path / ".jaxport/history/trend.html").read_text()


def test_results_are_a_page_of_the_last_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, (0,))
    assert cli.main(["report", "markdown", "last", "-o", "docs/results.md"]) == 0
    page = (tmp_path / "docs/results.md").read_text()
    assert "AMD EPYC" in page and "jax/jit" in page


@pytest.mark.slow
@pytest.mark.process
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


@pytest.mark.parametrize(
    "command",
    [
        ["run"],
        ["bench"],
        ["tune"],
        ["bench", "calibrate"],
        ["hlo"],
        ["locate"],
        ["bugreport"],
        ["record", "--side", "jax", "-o", "x"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_that_takes_a_workload_takes_two_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main([*command, "--tf", "absent.py:f", "--jax", "absent.py:g", "--input", "x=f32[2]"]) == 2
    assert "expected a Python file at absent.py for --tf, found nothing" in capsys.readouterr().err
    assert cli.main([*command, "add", "--tf", "absent.py:f", "--jax", "absent.py:g"]) == 2
    assert "expected --tf and --jax together and no WORKLOAD, found --tf and --jax and add" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.process
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
    asked = ["bench", "calibrate", "port.py", "--runs", "1", "--pairs", "3", "--max-pairs", "3", "--budget", "0.05"]
    return cli.main([*asked, "--tf-python", interpreter(folder, tf), "-o", "c.json"])
