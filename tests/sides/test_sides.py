"""A side lives in a process of its own: what befalls it costs that side of that workload, and is said in one line."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interpreters import ABSENT, JAX_AS_TF, STARTED, failing_first, interpreter, is_running

from compare.cli import main
from compare.inputs.at_size import prepare
from compare.sides import renewal, requests
from compare.sides._side import BadTarget, Missing, SideError, Unavailable
from compare.sides.client import STARTS, LiveSide
from compare.sides.pool import Pool, Source
from compare.sides.replies import Changed
from compare.sides.workers import GIVES_UP
from workloads import ArraySpec, Workload
from workloads.core import arrays

pytestmark = pytest.mark.process

FUNCTIONS = """
import os
import signal
import sys

def noted():
    with open(os.path.join(os.path.dirname(__file__), "processes"), "a") as file:
        print(os.getpid(), file=file)

def doubles(x):
    noted()
    return x * 2

def prints(x):
    print("a line of chatter")
    os.write(1, b"and one past Python\\n")
    return x * 2

def reads(x):
    return x * len(sys.stdin.read())

def raises(x):
    raise LookupError("first line\\nsecond line")

def crashes(x):
    noted()
    os.kill(os.getpid(), signal.SIGSEGV)

def exits(x):
    sys.exit(7)

def quits(x):
    os._exit(7)

def waits(x):
    signal.pause()
"""

PORT = """
from workloads import ArraySpec, Workload
port = Workload(
    name="{0}", tf="functions.py:doubles", jax="functions.py:{0}", inputs={{"x": ArraySpec((3,))}}, builds=False
)
"""


def line_of(text: str) -> int:
    """Where FUNCTIONS has a text, counted from 1."""
    return FUNCTIONS[: FUNCTIONS.index(text)].count("\n") + 1


def written(path: Path) -> Path:
    """The folder, with FUNCTIONS and a port file of two of them in it."""
    (path / "functions.py").write_text(FUNCTIONS)
    for name in ("crashes", "doubles"):
        (path / f"{name}.py").write_text(PORT.format(name))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("sides"))


@pytest.fixture(scope="module")
def crash_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("crash"))


Start = Callable[..., LiveSide]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    sides: list[LiveSide] = []

    def started(*arguments: Any, **options: Any) -> LiveSide:
        sides.append(LiveSide(arguments[0], tmp_path, *arguments[1:], **options))
        return sides[-1]

    yield started
    for side in sides:
        side.close()


@pytest.fixture(scope="module")
def jax(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSide]:
    side = LiveSide("jax", tmp_path_factory.mktemp("jax"))
    yield side
    side.close()


def process_of(side: LiveSide) -> int:
    return side._process.pid


def ask(side: LiveSide, folder: Path, function: str) -> Any:
    """Load a function of FUNCTIONS and call it once; x and what came back."""
    workload = Workload(
        name=function,
        tf=f"functions.py:{function}",
        jax=f"functions.py:{function}",
        inputs={"x": ArraySpec((3,))},
        builds=False,
        folder=folder,
    )
    requests.load(side, prepare(workload, "default", None, Path(tempfile.mkdtemp(dir=folder))).loading)
    given = arrays.draw(workload.input_specs({})["x"], "x", seed=0)
    return given, requests.outputs(side, "eager", "forward", "seed0", "float32")["output"]


def one_line(reason: str) -> bool:
    return bool(reason) and "\n" not in reason


# A worker that does not come up.


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(
            ABSENT,
            "expected TensorFlow in the worker's interpreter, found ModuleNotFoundError: ",
            id="lacks its framework",
        ),
        pytest.param("exit 3", "the worker ended with exit code 3", id="exits"),
        pytest.param("echo no libraries >&2; exit 4", "ended with exit code 4: no libraries", id="exits, saying why"),
        pytest.param("kill -9 $$", "the worker ended by signal SIGKILL", id="is killed"),
        pytest.param("echo welcome; exec sleep 60", "found 'welcome' on standard output", id="prints"),
        pytest.param("echo 3; exec sleep 60", "found '3' on standard output", id="prints JSON"),
        pytest.param("echo; exec sleep 60", "found '' on standard output", id="prints nothing"),
    ],
)
def test_a_worker_that_does_not_come_up_says_why(start: Start, tmp_path: Path, script: str, reason: str) -> None:
    side = start("tf", interpreter(tmp_path, script))
    with pytest.raises(SideError) as caught:
        side.wait_until_started()
    assert reason in caught.value.reason
    assert one_line(caught.value.reason)
    assert caught.value.lost
    assert (caught.value.side, caught.value.doing) == ("tf", "import TensorFlow")


UP = f"{STARTED}exec sleep 60"
ENDS = ["kill -9 $$", "kill -TERM $$", "kill -ABRT $$", "exit 3", "kill -STOP $$"]


@pytest.mark.parametrize("end", ENDS)
def test_a_worker_killed_or_stalled_while_it_imports_is_started_again(start: Start, tmp_path: Path, end: str) -> None:
    stalls = "STOP" in end
    script = failing_first(end, tmp_path, 1 if stalls else STARTS - 1, UP)
    side = start("tf", interpreter(tmp_path, script), timeout_s=1 if stalls else 60)
    side.wait_until_started()
    assert side.alive


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Callable[[str], Pool]]:
    pools: list[Pool] = []

    def made(script: str) -> Pool:
        sources = {"tf": Source(interpreter(tmp_path, script)), "jax": Source()}
        pools.append(Pool(sources, tmp_path, 60))
        return pools[-1]

    yield made
    for each in pools:
        each.close()


def test_a_side_that_came_up_for_no_start_of_one_workload_comes_up_for_the_next(
    tmp_path: Path, pool: Callable[[str], Pool]
) -> None:
    found = pool(failing_first("kill -9 $$", tmp_path, STARTS, UP))
    with pytest.raises(SideError, match="ended by signal SIGKILL") as caught:
        found.get("tf")
    assert not isinstance(caught.value, Missing)
    assert found.environments()["tf"] == {"missing": caught.value.reason}
    assert isinstance(found.get("tf"), LiveSide)


@pytest.mark.parametrize(("script", "starts"), [("exit 3", GIVES_UP * STARTS), (ABSENT, 1)], ids=["exits", "absent"])
def test_a_side_that_never_comes_up_is_started_so_often_and_no_more(
    tmp_path: Path, pool: Callable[[str], Pool], script: str, starts: int
) -> None:
    found = pool(failing_first(script, tmp_path, 1000, UP))
    reasons = set()
    for _ in range(GIVES_UP + 2):
        with pytest.raises(SideError) as caught:
            found.get("tf")
        reasons.add(caught.value.reason)
    assert len(reasons) == 1
    assert (tmp_path / "starts").read_text().count("\n") == starts


def test_a_worker_that_died_idle_is_replaced_before_the_next_workload_asks_it(
    monkeypatch: pytest.MonkeyPatch, pool: Callable[[str], Pool]
) -> None:
    monkeypatch.setattr(renewal, "changed_by", lambda side: Changed())  # this one answers nothing
    found = pool(UP)
    side = found.get("tf")
    assert isinstance(side, LiveSide)
    assert not found.renew("tf")
    os.kill(process_of(side), signal.SIGKILL)
    side._process.wait()
    assert found.renew("tf")
    assert found.get("tf") is not side


def test_a_death_is_seen_though_a_child_of_the_worker_holds_its_pipes(start: Start, tmp_path: Path) -> None:
    side = start("tf", interpreter(tmp_path, f"sleep 60 & echo $! > {tmp_path}/child\n{STARTED}read line; kill -9 $$"))
    with pytest.raises(SideError, match="profile jit: the worker ended by signal SIGKILL"):
        requests.profile(side, "jit")
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


@pytest.mark.parametrize(("said", "doing"), [("", "import TensorFlow"), (STARTED, "profile jit")])
def test_a_worker_that_hangs_is_stopped_when_its_time_is_up(
    start: Start, tmp_path: Path, said: str, doing: str
) -> None:
    side = start("tf", interpreter(tmp_path, f"{said}exec sleep 60"), timeout_s=1)
    with pytest.raises(SideError, match=r"no answer within 1 s; raise --timeout") as caught:
        requests.profile(side, "jit")
    assert caught.value.doing == doing
    assert caught.value.lost
    assert not is_running(process_of(side))


def test_a_worker_that_was_stopped_answers_no_more_and_says_so(start: Start, tmp_path: Path) -> None:
    side = start("tf", interpreter(tmp_path, f"{STARTED}exec sleep 60"))
    side.wait_until_started()
    side.close()
    with pytest.raises(SideError, match=r"profile jit: the worker was stopped before") as caught:
        requests.profile(side, "jit")
    assert caught.value.lost


def test_where_native_code_crashed_is_read_off_the_thread_that_crashed(start: Start, tmp_path: Path) -> None:
    dump = "\n".join(
        [
            "Fatal Python error: Segmentation fault",
            "Current thread 0x01 (most recent call first):",
            '  File "model.py", line 5 in mine',
            "Thread 0x02 (most recent call first):",
            '  File "threading.py", line 9 in wait',
        ]
    )
    side = start("tf", interpreter(tmp_path, f"cat >&2 <<'END'\n{dump}\nEND\nkill -SEGV $$"))
    with pytest.raises(SideError, match=r'by signal SIGSEGV at File "model.py", line 5 in mine$'):
        side.wait_until_started()


# A worker that is up, and the user's code in it.


@pytest.mark.parametrize("function", ["doubles", "prints"])
def test_what_the_users_code_prints_is_not_in_the_way(jax: LiveSide, folder: Path, function: str) -> None:
    given, found = ask(jax, folder, function)
    np.testing.assert_array_equal(found, given * 2)


def test_the_users_code_reads_an_empty_input_and_no_request(jax: LiveSide, folder: Path) -> None:
    given, found = ask(jax, folder, "reads")
    np.testing.assert_array_equal(found, given * 0)


def test_what_the_users_code_raises_is_one_line_and_the_worker_lives(jax: LiveSide, folder: Path) -> None:
    with pytest.raises(SideError) as caught:
        ask(jax, folder, "raises")
    assert caught.value.reason == "LookupError: first line; second line"
    assert caught.value.doing == "outputs eager forward seed0 float32"
    assert f'functions.py", line {line_of("raise LookupError")}, in raises' in caught.value.details
    assert not caught.value.lost
    ask(jax, folder, "doubles")


def test_a_function_that_does_not_exist_is_told_apart(jax: LiveSide, folder: Path) -> None:
    with pytest.raises(BadTarget, match=r"expected a function 'absent' in .*functions.py, found crashes, doubles"):
        ask(jax, folder, "absent")


def test_what_a_side_cannot_do_is_told_apart(jax: LiveSide, folder: Path) -> None:
    ask(jax, folder, "doubles")
    with pytest.raises(Unavailable, match="the workload has no step pass"):
        requests.program(jax, "step", "float32")


def test_code_that_calls_sys_exit_costs_its_request(jax: LiveSide, folder: Path) -> None:
    with pytest.raises(SideError, match=r"SystemExit: 7 \(File .*functions.py") as caught:
        ask(jax, folder, "exits")
    assert not caught.value.lost
    ask(jax, folder, "doubles")


def test_code_that_quits_takes_the_worker_with_it_and_no_more(start: Start, folder: Path) -> None:
    with pytest.raises(SideError, match="the worker ended with exit code 7") as caught:
        ask(start("jax"), folder, "quits")
    assert caught.value.lost


# Whole runs.


@pytest.fixture(scope="module")
def after_a_crash(crash_folder: Path) -> dict[str, Any]:
    out = crash_folder / "report"
    tf = interpreter(crash_folder, JAX_AS_TF)
    ports = [str(crash_folder / "crashes.py"), str(crash_folder / "doubles.py")]
    assert main(["run", *ports, "--tf-python", tf, "--no-timing", "--json", "-o", str(out)]) == 1
    return json.loads((out / "results.json").read_text())["workloads"]


def test_a_crash_names_the_users_line_and_costs_one_side_of_one_workload(after_a_crash: dict[str, Any]) -> None:
    lost = after_a_crash["crashes"]
    (failure,) = lost["failures"]
    assert failure["side"] == "jax"
    assert failure["reason"].startswith("the worker ended by signal SIGSEGV at File ")
    assert failure["reason"].endswith(f'functions.py", line {line_of("os.kill")} in crashes')
    assert lost["parity"]["verdict"] == "not_judged"
    assert set(lost["profile"]) == {"tf/eager", "tf/jit"}
    assert set(lost["programs"]) == {"tf"}
    assert lost["compiled"]["tf@tf"]["kernels"] == 1
    empty = lost["compiled"]["jax@jax"]
    assert empty["reason"] == "the jax side is missing" and empty["kernels"] is None


def test_the_next_workload_is_judged_whole_on_a_fresh_worker(after_a_crash: dict[str, Any]) -> None:
    kept = after_a_crash["doubles"]
    assert kept["failures"] == []
    assert kept["parity"]["verdict"] == "pass"
    assert set(kept["profile"]) == {"tf/eager", "tf/jit", "jax/eager", "jax/jit"}
    assert all(cell["kernels"] == 1 for cell in kept["compiled"].values())


def test_no_worker_outlives_its_run(after_a_crash: dict[str, Any], crash_folder: Path) -> None:
    processes = {int(line) for line in (crash_folder / "processes").read_text().split()}
    assert len(processes) >= 3
    assert not any(is_running(each) for each in processes)


def test_a_side_that_is_not_installed_leaves_the_other_side_s_part(folder: Path) -> None:
    out = folder / "without"
    tf = interpreter(folder, ABSENT)
    assert main(["run", str(folder / "doubles.py"), "--tf-python", tf, "--json", "-o", str(out)]) == 1
    record = json.loads((out / "results.json").read_text())
    found = record["workloads"]["doubles"]
    (failure,) = found["failures"]
    assert (failure["side"], failure["doing"]) == ("tf", "import TensorFlow")
    assert "tensorflow" in failure["reason"]
    assert record["environment"]["sides"]["tf"] == {"missing": failure["reason"]}
    assert found["parity"]["verdict"] == "not_judged"
    assert set(found["profile"]) == {"jax/eager", "jax/jit"}
    assert found["compiled"]["jax@jax"]["kernels"] == 1
    assert found["timing"] is None


def test_closing_a_side_ends_its_process_whatever_it_does(start: Start, tmp_path: Path) -> None:
    busy = start("tf", interpreter(tmp_path, "while :; do :; done"))
    idle = start("tf", interpreter(tmp_path, f"{STARTED}exec sleep 60"))
    idle.wait_until_started()
    for side in (busy, idle):
        assert is_running(process_of(side))
        side.close()
        side.close()
        assert not is_running(process_of(side))


def test_a_worker_killed_while_idle_is_lost_and_can_still_be_closed(tmp_path: Path) -> None:
    side = LiveSide("jax", tmp_path)
    side.wait_until_started()
    os.kill(process_of(side), signal.SIGKILL)
    side._process.wait()
    with pytest.raises(SideError, match="ended by signal SIGKILL") as caught:
        side.call("environment", {})
    assert caught.value.lost
    assert not side.alive
    side.close()


def test_a_users_file_of_our_own_name_does_not_hide_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "compare.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    side = LiveSide("jax", tmp_path)
    assert "jax" in requests.environment(side)
    side.close()
